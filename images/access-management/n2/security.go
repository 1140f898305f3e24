package n2

// SecurityCapabilities of a UE (TS 38.413 9.3.1.86): the first of 16 bits is NEA1 or NIA1, 128-EEA1 or 128-EIA1.
type SecurityCapabilities struct {
	NREncryption, NRIntegrity       uint16
	EUTRAEncryption, EUTRAIntegrity uint16
}

// SecurityKey is a K_gNB (TS 38.413 9.3.1.87).
type SecurityKey [32]byte

// SecurityContext is the next hop for a handover (TS 38.413 9.3.1.88).
type SecurityContext struct {
	// NCC is 0 to 7.
	NCC uint8
	NH  SecurityKey
}

func codeSecurityCapabilities(c *coder, v *SecurityCapabilities) {
	s := c.sequence()
	for _, algorithms := range []*uint16{&v.NREncryption, &v.NRIntegrity, &v.EUTRAEncryption, &v.EUTRAIntegrity} {
		set(c, algorithms, uint16(c.bitStringExt(uint64(*algorithms), 16)))
	}
	c.finish(s)
}

func codeSecurityKey(c *coder, v *SecurityKey) { c.fixed(v[:]) }

func codeSecurityContext(c *coder, v *SecurityContext) {
	s := c.sequence()
	number(c, &v.NCC, 0, 7)
	codeSecurityKey(c, &v.NH)
	c.finish(s)
}
