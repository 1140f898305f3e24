package pfcp

import (
	"fmt"
	"strconv"

	"github.com/wmnsk/go-pfcp/ie"
)

// RuleRef names a rule in a Failed Rule ID (TS 29.244 8.2.80).
type RuleRef struct {
	Type uint8 // ie.RuleIDTypePDR …
	ID   uint32
}

// Reject is a request's refusal: what the answer says, and why in words for the log.
type Reject struct {
	Cause     uint8    // TS 29.244 8.2.1
	Offending uint16   // type of the offending IE, 0 when there is none
	Rule      *RuleRef // the rule that failed, nil when there is none
	Detail    string
}

func (r *Reject) Error() string {
	s := "cause " + CauseName(r.Cause)
	if r.Offending != 0 {
		s += fmt.Sprintf(", offending IE %d", r.Offending)
	}
	if r.Rule != nil {
		s += fmt.Sprintf(", rule type %d id %d", r.Rule.Type, r.Rule.ID)
	}
	return s + ": " + r.Detail
}

// IEs are the elements of the answer that tell the peer: Cause first.
func (r *Reject) IEs() []*ie.IE {
	ies := []*ie.IE{ie.NewCause(r.Cause)}
	if r.Offending != 0 {
		ies = append(ies, ie.NewOffendingIE(r.Offending))
	}
	if r.Rule != nil {
		ies = append(ies, ie.NewFailedRuleID(r.Rule.Type, r.Rule.ID))
	}
	return ies
}

// Missing refuses a request that lacks a mandatory IE.
func Missing(ieType uint16, of string) *Reject {
	return &Reject{Cause: ie.CauseMandatoryIEMissing, Offending: ieType, Detail: of + " lacks a mandatory IE"}
}

// Incorrect refuses a request because of the content of an IE.
func Incorrect(ieType uint16, format string, args ...any) *Reject {
	return &Reject{Cause: ie.CauseMandatoryIEIncorrect, Offending: ieType, Detail: fmt.Sprintf(format, args...)}
}

// RuleFailure refuses a request because a rule of it cannot be had.
func RuleFailure(ieType uint16, ruleType uint8, id uint32, format string, args ...any) *Reject {
	return &Reject{
		Cause:     ie.CauseRuleCreationModificationFailure,
		Offending: ieType,
		Rule:      &RuleRef{ruleType, id},
		Detail:    fmt.Sprintf(format, args...),
	}
}

// Causes of TS 29.244 8.2.1 that go-pfcp has no name for.
const (
	CauseAllAddressesOccupied  uint8 = 79
	CauseUnknownPredefinedRule uint8 = 80
	CauseUnknownApplicationID  uint8 = 81
)

var causeNames = [256]string{
	CauseAllAddressesOccupied:               "all_dynamic_addresses_occupied",
	CauseUnknownPredefinedRule:              "unknown_predefined_rule",
	CauseUnknownApplicationID:               "unknown_application_id",
	ie.CauseRequestAccepted:                 "request_accepted",
	ie.CauseRequestRejected:                 "request_rejected",
	ie.CauseSessionContextNotFound:          "session_context_not_found",
	ie.CauseMandatoryIEMissing:              "mandatory_ie_missing",
	ie.CauseConditionalIEMissing:            "conditional_ie_missing",
	ie.CauseInvalidLength:                   "invalid_length",
	ie.CauseMandatoryIEIncorrect:            "mandatory_ie_incorrect",
	ie.CauseInvalidForwardingPolicy:         "invalid_forwarding_policy",
	ie.CauseInvalidFTEIDAllocationOption:    "invalid_f_teid_allocation_option",
	ie.CauseNoEstablishedPFCPAssociation:    "no_established_pfcp_association",
	ie.CauseRuleCreationModificationFailure: "rule_creation_modification_failure",
	ie.CausePFCPEntityInCongestion:          "pfcp_entity_in_congestion",
	ie.CauseNoResourcesAvailable:            "no_resources_available",
	ie.CauseServiceNotSupported:             "service_not_supported",
	ie.CauseSystemFailure:                   "system_failure",
	ie.CauseRedirectionRequested:            "redirection_requested",
}

// CauseName is the cause in words, as metrics and logs have it.
func CauseName(c uint8) string {
	if n := causeNames[c]; n != "" {
		return n
	}
	return fmt.Sprintf("cause_%d", c)
}

// Hex is a SEID as logs and listings have it.
func Hex(seid uint64) string { return "0x" + strconv.FormatUint(seid, 16) }
