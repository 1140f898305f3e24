package n1

// DeregistrationRequestFromUE of TS 24.501 8.2.12.
type DeregistrationRequestFromUE struct {
	SwitchOff bool
	Access    Access
	KeySet    KeySet
	Identity  Identity
}

// Type of the message.
func (*DeregistrationRequestFromUE) Type() MessageType { return DeregistrationRequestFromUEType }

func (m *DeregistrationRequestFromUE) elements(c *codec) {
	kind := byte(m.Access)&3 | bit(m.SwitchOff, 3)
	nibbles(c, &kind, &m.KeySet)
	m.Access, m.SwitchOff = Access(kind&3), kind&8 != 0
	lve(c, anIdentity{&m.Identity})
}

// DeregistrationAcceptToUE of TS 24.501 8.2.13.
type DeregistrationAcceptToUE struct{}

// Type of the message.
func (*DeregistrationAcceptToUE) Type() MessageType { return DeregistrationAcceptToUEType }

func (*DeregistrationAcceptToUE) elements(*codec) {}

// DeregistrationRequestToUE of TS 24.501 8.2.14.
type DeregistrationRequestToUE struct {
	// Reregister: the UE is to register again.
	Reregister         bool
	Access             Access
	Cause              Cause
	T3346              *Timer2
	Rejected           RejectedNSSAI
	ClosedAccessGroups []byte
}

// Type of the message.
func (*DeregistrationRequestToUE) Type() MessageType { return DeregistrationRequestToUEType }

func (m *DeregistrationRequestToUE) elements(c *codec) {
	kind := byte(m.Access)&3 | bit(m.Reregister, 2)
	nibble(c, &kind)
	m.Access, m.Reregister = Access(kind&3), kind&4 != 0
	nonzero(c, ieiCause, &m.Cause)
	optional(c, ieiT3346, &m.T3346)
	list(c, ieiDeregRejectedNSSAI, &m.Rejected)
	octets(c, ieiCAG, &m.ClosedAccessGroups, 1)
}

// DeregistrationAcceptFromUE of TS 24.501 8.2.15.
type DeregistrationAcceptFromUE struct{}

// Type of the message.
func (*DeregistrationAcceptFromUE) Type() MessageType { return DeregistrationAcceptFromUEType }

func (*DeregistrationAcceptFromUE) elements(*codec) {}
