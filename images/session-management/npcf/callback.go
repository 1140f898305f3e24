package npcf

import (
	"encoding/json"
	"net/http"

	"core5g.dev/core5g/images/nf/sbi"
)

// ReadNotification reads SmPolicyNotification (TS 29.512 5.6.2.5): what a PCF changes by itself.
func ReadNotification(req *http.Request) (Decision, error) {
	content, err := sbi.ReadContent(req)
	if err != nil {
		return Decision{}, err
	}
	raw, there, err := sbi.Optional[json.RawMessage](content, "smPolicyDecision")
	if err != nil || !there {
		return Decision{}, err
	}
	d, err := DecodeDecision(raw)
	if err != nil {
		return d, sbi.BadRequest("OPTIONAL_IE_INCORRECT", "smPolicyDecision: "+err.Error())
	}
	return d, nil
}

// ReadTermination reads TerminationNotification (TS 29.512 5.6.2.21), and gives its cause, such as UE_SUBSCRIPTION.
func ReadTermination(req *http.Request) (string, error) {
	content, err := sbi.ReadContent(req)
	if err != nil {
		return "", err
	}
	cause, err := sbi.Mandatory[sbi.Text](content, "cause")
	return string(cause), err
}

// Report is what a PCF hears of rules that could not be put in force (PartialSuccessReport and ErrorReport, TS 29.512
// 5.6.2.33, 5.6.2.28).
type Report struct {
	Rules        []RuleReport        `json:"ruleReports,omitempty"`
	SessionRules []SessionRuleReport `json:"sessRuleReports,omitempty"`
}

// Empty: everything is in force.
func (r Report) Empty() bool { return len(r.Rules) == 0 && len(r.SessionRules) == 0 }
