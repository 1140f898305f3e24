package gnb

import (
	"encoding/json"
	"errors"
	"slices"
)

// Identities are PDU session or QoS flow identities: numbers in JSON, where Go would write octets.
type Identities []uint8

// MarshalJSON writes a list of numbers.
func (l Identities) MarshalJSON() ([]byte, error) {
	out := make([]int, 0, len(l))
	for _, n := range l {
		out = append(out, int(n))
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads a list of numbers.
func (l *Identities) UnmarshalJSON(b []byte) error {
	var in []int
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*l = nil
	for _, n := range in {
		if n < 0 || n > 255 {
			return errors.New("an identity is a number of 0 to 255")
		}
		*l = append(*l, uint8(n))
	}
	return nil
}

// Behaviour is what the gNB does otherwise than a good one. The zero value is a good one.
type Behaviour struct {
	// RefuseSessions are PDU session identities whose resources are not set up; RefuseAllSessions: of any.
	RefuseSessions    Identities `json:"refuse_sessions,omitempty"`
	RefuseAllSessions bool       `json:"refuse_all_sessions,omitempty"`
	// RefuseFlows are QoS flows that are not set up, added or changed.
	RefuseFlows Identities `json:"refuse_flows,omitempty"`
	// RefuseHandover answers Handover Request with Handover Failure, and fails Xn handover hither.
	RefuseHandover bool `json:"refuse_handover,omitempty"`
	// SilentHandover leaves Handover Request without an answer.
	SilentHandover bool `json:"silent_handover,omitempty"`
	// SilentResources leaves PDU Session Resource Setup and Modify Requests without an answer.
	SilentResources bool `json:"silent_resources,omitempty"`
}

func (b Behaviour) refusesSession(psi uint8) bool {
	return b.RefuseAllSessions || slices.Contains(b.RefuseSessions, psi)
}

// Check says what is wrong with it.
func (b Behaviour) Check() error {
	for _, psi := range b.RefuseSessions {
		if psi < 1 || psi > 15 {
			return errors.New("refuse_sessions: write PDU session identities, 1 to 15")
		}
	}
	for _, qfi := range b.RefuseFlows {
		if qfi > 63 {
			return errors.New("refuse_flows: write QoS flow identifiers, 0 to 63")
		}
	}
	return nil
}

// Behave changes the gNB's behaviour from the next message on.
func (g *GNB) Behave(b Behaviour) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.behaviour = b
}

// Behaviour is how the gNB behaves.
func (g *GNB) Behaviour() Behaviour {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.behaviour
}
