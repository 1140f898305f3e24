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
