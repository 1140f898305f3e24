package n1

// IdentityRequest of TS 24.501 8.2.21. A type that is not known is read as that of a SUCI.
type IdentityRequest struct{ Requested IdentityType }

// Type of the message.
func (*IdentityRequest) Type() MessageType { return IdentityRequestType }

func (m *IdentityRequest) elements(c *codec) {
	nibble(c, &m.Requested)
	if m.Requested &= 7; !c.writing && m.Requested == IdentityNone {
		m.Requested = IdentitySUCI
	}
}

// IdentityResponse of TS 24.501 8.2.22.
type IdentityResponse struct{ Identity Identity }

// Type of the message.
func (*IdentityResponse) Type() MessageType { return IdentityResponseType }

func (m *IdentityResponse) elements(c *codec) { lve(c, anIdentity{&m.Identity}) }
