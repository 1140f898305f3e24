package procedure

import "core5g.dev/core5g/images/access-management/n1"

// Said is a NAS message that a UE has sent, or is sent, as it is without protection. A first message that is taken for a stranger's, or later, is said when it
// is handled.
type Said struct {
	Direction n1.Direction
	Plain     []byte
}

// Type of the message.
func (s Said) Type() n1.MessageType {
	t, _ := n1.TypeOf(s.Plain)
	return t
}

func (t *turn) says(d n1.Direction, plain []byte) {
	t.out.NAS = append(t.out.NAS, Said{d, plain})
}

// registrationType of a Registration Request that was read (TS 24.501 9.11.3.7).
func registrationType(plain []byte) n1.RegistrationType {
	if k, ok := n1.TypeOf(plain); !ok || k != n1.RegistrationRequestType || len(plain) < 4 {
		return 0
	}
	if t := n1.RegistrationType(plain[3] & 7); t <= n1.EmergencyRegistration && t > 0 {
		return t
	}
	return n1.InitialRegistration
}
