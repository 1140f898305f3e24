package procedure

import (
	"slices"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/record"
)

// Sessions of type Ethernet (TS 23.501 5.6.10.2) are sessions as others are, without addresses: nobody chooses any, the accept has none, and what the
// UE asks for of configuration is the MTU of its frames. Who is behind the UE the unit says.

// heardMACs keeps what the unit has said of the devices behind the UE.
func (t *turn) heardMACs(list []Measured) {
	if t.s.Type != n1.Ethernet {
		return
	}
	for _, m := range list {
		if len(m.Detected)+len(m.Removed) == 0 {
			continue
		}
		if t.s.Ethernet == nil {
			t.s.Ethernet = &record.Ethernet{}
		}
		t.s.Ethernet.Seen(m.Detected, m.Removed)
	}
}

// onlyOf is the cause that tells a UE which type it would get, where it has asked for one that packets of the allowed ones cannot be (TS 24.501 6.4.1.4.1).
func onlyOf(allowed []n1.SessionType) n1.Cause {
	if len(allowed) == 1 {
		if cause, is := map[n1.SessionType]n1.Cause{
			n1.IPv4: n1.CauseIPv4Only, n1.IPv6: n1.CauseIPv6Only, n1.IPv4v6: n1.CauseIPv4v6Only, n1.Unstructured: n1.CauseUnstructuredOnly, n1.Ethernet: n1.CauseEthernetOnly,
		}[allowed[0]]; is {
			return cause
		}
	}
	return n1.CauseUnknownPDUSessionType
}

// hasFrames says whether filters look at frames: in a session of IP there are none.
func hasFrames(list []n1.Filter) bool { return slices.ContainsFunc(list, n1.Filter.OfFrames) }
