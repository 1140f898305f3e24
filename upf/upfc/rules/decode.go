package rules

import (
	"fmt"
	"slices"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/pfcp"
)

// Each sort of rule is decoded in its own file. The functions change a rule that the caller made or
// copied, so that one function serves Create and Update: an IE that is absent leaves its part as it
// was, and one of length 0 in an Update takes it away (TS 29.244 5.6.3).

// named is a rule, as it is named where it is refused; of no kind where no Failed Rule ID can name it.
type named struct {
	kind *kind
	id   uint32
}

func (n named) ref() *pfcp.RuleRef {
	if n.kind == nil {
		return nil
	}
	return n.kind.ref(n.id)
}

// refuse says that a rule cannot be had.
func refuse(ref named, ieType uint16, format string, args ...any) error {
	return &pfcp.Reject{Cause: ie.CauseRuleCreationModificationFailure, Offending: ieType, Rule: ref.ref(), Detail: fmt.Sprintf(format, args...)}
}

// unsupported refuses a group because of an IE that asks for what this UPF cannot do.
func unsupported(group pfcp.Elements, list []uint16, ref named) error {
	for i := range group {
		if slices.Contains(list, group[i].Type) {
			return refuse(ref, group[i].Type, "IE of type %d asks for what this UPF does not support", group[i].Type)
		}
	}
	return nil
}

// ruleID reads the ID of a grouped IE's rule.
func ruleID(group pfcp.Elements, k *kind, verb string) (uint32, error) {
	e := group.First(k.id)
	if e == nil {
		return 0, pfcp.Missing(k.id, verb+" "+k.name)
	}
	switch k.id {
	case ie.PDRID:
		v, err := e.Uint16()
		return uint32(v), err
	case ie.BARID, ie.TrafficEndpointID:
		v, err := e.Uint8()
		return uint32(v), err
	}
	return e.Uint32()
}
