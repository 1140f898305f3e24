package procedure

import (
	"fmt"

	"core5g.dev/core5g/images/session-management/record"
)

func policyWords(e AskPolicy) string {
	out := fmt.Sprintf("policy: %s", map[PolicyOperation]string{CreatePolicy: "create", UpdatePolicy: "update", DeletePolicy: "delete", ReadPolicy: "read"}[e.Operation])
	if r := e.Resource; r != nil {
		out += fmt.Sprintf(" resource operation %d rule %q %d filters 5qi %d", r.Operation, r.Rule, len(r.Filters), r.FiveQI)
	}
	if e.Subscription != nil {
		out += " subscription"
	}
	if c := e.Session.Control; c != nil && e.Operation == UpdatePolicy {
		out += fmt.Sprintf(" triggers %#x%s", c.Due, failureWords(c.Failed))
	}
	return out
}

func failureWords(list []record.Failure) (out string) {
	for _, f := range list {
		out += fmt.Sprintf(" %s: %s", f.Rule, f.Code)
	}
	return out
}

func controlWords(c *record.Control) string {
	out := "pcf"
	if c.Anew {
		out += " anew"
	}
	if c.Rests {
		out += " rests"
	}
	if c.Unread {
		out += " unread"
	}
	if c.Due != 0 {
		out += fmt.Sprintf(" due %#x", c.Due)
	}
	return out + failureWords(c.Failed)
}
