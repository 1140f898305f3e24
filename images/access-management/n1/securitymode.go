package n1

// SecurityModeCommand of TS 24.501 8.2.25.
type SecurityModeCommand struct {
	Algorithms Algorithms
	KeySet     KeySet
	// Replayed is what the UE said in its Registration Request.
	Replayed UESecurityCapability
	// AskIMEISV: the UE is to say it.
	AskIMEISV bool
	// EPS are the algorithms that it uses in EPS after a move there.
	EPS        *Algorithms
	Additional *AdditionalSecurity
	EAP        []byte
	ABBA       []byte
	// S1 is the replayed S1 UE security capability, as it is.
	S1 []byte
}

// Type of the message.
func (*SecurityModeCommand) Type() MessageType { return SecurityModeCommandType }

func (m *SecurityModeCommand) elements(c *codec) {
	algorithms(c, &m.Algorithms)
	nibble(c, &m.KeySet)
	lv(c, &m.Replayed)
	flag(c, ieiIMEISVRequest, &m.AskIMEISV)
	optional(c, ieiEPSAlgorithms, &m.EPS)
	optional(c, ieiAdditionalSecurity, &m.Additional)
	octets(c, ieiEAP, &m.EAP, leastEAP)
	octets(c, ieiABBA, &m.ABBA, 2)
	octets(c, ieiS1SecurityCapability, &m.S1, 2)
}

func algorithms(c *codec, a *Algorithms) {
	nibbles(c, &a.Integrity, &a.Ciphering)
	a.Integrity, a.Ciphering = a.Integrity&7, a.Ciphering&7
}

// SecurityModeComplete of TS 24.501 8.2.26.
type SecurityModeComplete struct {
	IMEISV IMEISV
	// Container is the NAS message container: the whole initial message.
	Container []byte
	// PEI is an equipment identity that is no IMEISV.
	PEI Identity
}

// Type of the message.
func (*SecurityModeComplete) Type() MessageType { return SecurityModeCompleteType }

func (m *SecurityModeComplete) elements(c *codec) {
	nonzero(c, ieiIdentity, &m.IMEISV)
	octets(c, ieiNASContainer, &m.Container, 1)
	identity(c, ieiPEI, &m.PEI)
}

// SecurityModeReject of TS 24.501 8.2.27.
type SecurityModeReject struct{ Cause Cause }

// Type of the message.
func (*SecurityModeReject) Type() MessageType { return SecurityModeRejectType }

func (m *SecurityModeReject) elements(c *codec) { octet(c, &m.Cause) }
