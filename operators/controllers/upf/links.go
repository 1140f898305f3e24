package upf

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/upf/upfc/topology"
)

// upf-u looks at its links twice a second; a ready unit is asked for them every linkPoll. A unit whose cable
// is out stays where it is and keeps its sessions, for another would hang at the same switch: the condition,
// the event that it makes and Core5GUPFPortDown call a person.

// linkPoll is how often a unit's links are asked for.
const linkPoll = 10 * time.Second

// nameOfPort as people write it: N3, or N6 (ims).
func nameOfPort(p topology.Port) string {
	if p.NetworkInstance == "" {
		return strings.ToUpper(p.Interface)
	}
	return fmt.Sprintf("%s (%s)", strings.ToUpper(p.Interface), p.NetworkInstance)
}

// observeLinks says whether the interfaces of all ready units have a link.
func (s *scope) observeLinks() {
	var down, silent, up []string
	for _, u := range s.units {
		if u.asked {
			return // what was known stays until there is an answer
		}
		if u.pod == nil || !u.wanted || u.status.State != api.UnitReady {
			continue
		}
		told := false
		for _, p := range u.ports {
			told = told || p.Link != topology.LinkUnknown
			if p.Link == topology.LinkDown {
				down = append(down, fmt.Sprintf("%s of %s (%s on node %s)", nameOfPort(p), u.status.Name, p.Device, u.pod.Spec.NodeName))
			}
		}
		switch {
		case told:
			up = append(up, u.status.Name)
		case u.silent != "":
			silent = append(silent, u.status.Name+": "+u.silent)
		default:
			silent = append(silent, u.status.Name+" does not say how its links are")
		}
	}
	switch {
	case len(down) > 0:
		s.conditions.No(api.ConditionLinksUp, api.ReasonLinkDown, fmt.Sprintf(
			"no link on %s: packets there are lost, PDU sessions stay; look at the cable and the switch port, or at the bridge on the node: docs/runbooks/Core5GUPFPortDown.md",
			strings.Join(down, ", ")))
	case len(silent) > 0:
		s.conditions.Unknown(api.ConditionLinksUp, api.ReasonNotReported, strings.Join(silent, "; "))
	case len(up) > 0:
		s.conditions.Yes(api.ConditionLinksUp, api.ReasonReady, "all interfaces of "+strings.Join(up, ", ")+" have a link")
	default: // nobody is there who could know
		meta.RemoveStatusCondition(&s.upf.Status.Conditions, api.ConditionLinksUp)
	}
}

// observeGateways says whether both gateways answer, where an interface of a ready unit has two of an IP version. The
// unit goes on with one.
func (s *scope) observeGateways() {
	var silent, unknown, answering []string
	for _, u := range s.units {
		if u.asked {
			return // what was known stays until there is an answer
		}
		if u.pod == nil || !u.wanted || u.status.State != api.UnitReady {
			continue
		}
		for _, p := range u.ports {
			for _, g := range p.Gateways {
				what := fmt.Sprintf("%s on %s of %s", g.Address, nameOfPort(p), u.status.Name)
				switch g.State {
				case topology.GatewaySilent:
					silent = append(silent, what)
				case topology.GatewayAnswers:
					answering = append(answering, what)
				default:
					unknown = append(unknown, what)
				}
			}
		}
	}
	switch {
	case len(silent) > 0:
		s.conditions.No(api.ConditionGatewaysAnswer, api.ReasonGatewaySilent, fmt.Sprintf(
			"no answer from gateway %s: packets go by the other one while that answers; look at the router and at the way to it: docs/runbooks/Core5GUPFGatewayDown.md",
			strings.Join(silent, ", ")))
	case len(unknown) > 0:
		s.conditions.Unknown(api.ConditionGatewaysAnswer, api.ReasonNotReported, "not known yet: gateway "+strings.Join(unknown, ", "))
	case len(answering) > 0:
		s.conditions.Yes(api.ConditionGatewaysAnswer, api.ReasonReady, "gateway "+strings.Join(answering, ", ")+" answers")
	default: // there are no two, or nobody is there who could know
		meta.RemoveStatusCondition(&s.upf.Status.Conditions, api.ConditionGatewaysAnswer)
	}
}
