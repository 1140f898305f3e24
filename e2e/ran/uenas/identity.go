package uenas

import "fmt"

// TMSI is a 5G-S-TMSI (TS 23.003 2.11): what paging and service requests name a UE by.
type TMSI struct {
	AMFSetID   uint16 // 10 bits
	AMFPointer uint8  // 6 bits
	TMSI       [4]byte
}

// GUTI is a 5G-GUTI as its mobile identity octets (TS 24.501 9.11.3.4): type, PLMN (3), AMF region,
// AMF set and pointer (2), 5G-TMSI (4).
type GUTI [11]byte

// TMSI cuts the 5G-S-TMSI out of the GUTI.
func (g GUTI) TMSI() TMSI {
	t := TMSI{AMFSetID: uint16(g[5])<<2 | uint16(g[6]>>6), AMFPointer: g[6] & 0x3F}
	copy(t.TMSI[:], g[7:])
	return t
}

func (g GUTI) String() string {
	t := g.TMSI()
	return fmt.Sprintf("%02x%03x%02x%x", g[4], t.AMFSetID, t.AMFPointer, t.TMSI)
}

// identity encodes the 5G-S-TMSI as a 5GS mobile identity.
func (t TMSI) identity() []byte {
	const type5GSTMSI = 4
	return append([]byte{0xF0 | type5GSTMSI, byte(t.AMFSetID >> 2), byte(t.AMFSetID<<6) | t.AMFPointer}, t.TMSI[:]...)
}

// SNSSAI is a network slice's name (TS 23.003 28.4.2). HasSD tells "no SD" from an SD of zero.
type SNSSAI struct {
	SST   uint8
	SD    [3]byte
	HasSD bool
}

func (s SNSSAI) String() string {
	if !s.HasSD {
		return fmt.Sprintf("%d", s.SST)
	}
	return fmt.Sprintf("%d-%x", s.SST, s.SD)
}

// value is the S-NSSAI's contents without a length (TS 24.501 9.11.2.8).
func (s SNSSAI) value() []byte {
	if !s.HasSD {
		return []byte{s.SST}
	}
	return []byte{s.SST, s.SD[0], s.SD[1], s.SD[2]}
}

// ParseNSSAI reads a list of S-NSSAI values; mapped HPLMN parts are skipped.
func ParseNSSAI(b []byte) ([]SNSSAI, error) {
	var out []SNSSAI
	for len(b) > 0 {
		n := int(b[0])
		if n < 1 || n > 8 || len(b) < 1+n {
			return nil, fmt.Errorf("S-NSSAI of length %d in %d octets", n, len(b))
		}
		s := SNSSAI{SST: b[1]}
		if n >= 4 { // SST+SD, alone or before the mapped part
			s.HasSD = true
			copy(s.SD[:], b[2:5])
		}
		out = append(out, s)
		b = b[1+n:]
	}
	return out, nil
}

// imeisv encodes 16 digits as a mobile identity of type IMEISV.
func imeisv(digits string) []byte {
	const typeIMEISV, even = 5, 0
	out := []byte{(digits[0]-'0')<<4 | even<<3 | typeIMEISV}
	rest := digits[1:]
	for i := 0; i < len(rest); i += 2 {
		high := byte(0xF)
		if i+1 < len(rest) {
			high = rest[i+1] - '0'
		}
		out = append(out, high<<4|(rest[i]-'0'))
	}
	return out
}
