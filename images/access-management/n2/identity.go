package n2

import (
	"fmt"
	"net/netip"
)

// AMFUEID is the AMF UE NGAP ID of TS 38.413 9.3.3.1: 40 bits, the AMF's name of a UE's connection.
type AMFUEID uint64

// RANUEID is the RAN UE NGAP ID of TS 38.413 9.3.3.2, the NG-RAN node's name of a UE's connection.
type RANUEID uint32

// UEIDs are the two names of a UE's connection.
type UEIDs struct {
	AMF AMFUEID
	RAN RANUEID
}

// UEConnection is a UE-associated logical NG-connection, as an NG Reset names it (TS 38.413 9.3.3.25): by either or both.
type UEConnection struct {
	AMF            AMFUEID
	RAN            RANUEID
	HasAMF, HasRAN bool
}

// PLMN is a PLMN Identity as it travels (TS 38.413 9.3.3.5): digits in nibbles, 0xF for the third digit of an MNC of two.
type PLMN [3]byte

// MakePLMN makes it of an MCC of three digits and an MNC of two or three.
func MakePLMN(mcc, mnc string) (PLMN, error) {
	if len(mcc) != 3 || len(mnc) != 2 && len(mnc) != 3 {
		return PLMN{}, fmt.Errorf("PLMN %q/%q: an MCC has 3 digits, an MNC has 2 or 3", mcc, mnc)
	}
	third := byte(0xf)
	for _, digit := range mcc + mnc {
		if digit < '0' || digit > '9' {
			return PLMN{}, fmt.Errorf("PLMN %q/%q: digits are 0 to 9", mcc, mnc)
		}
	}
	if len(mnc) == 3 {
		third = mnc[2] - '0'
	}
	return PLMN{(mcc[1]-'0')<<4 | mcc[0] - '0', third<<4 | mcc[2] - '0', (mnc[1]-'0')<<4 | mnc[0] - '0'}, nil
}

// MCC is the mobile country code, three digits.
func (p PLMN) MCC() string { return digits(p[0], p[0]>>4, p[1]) }

// MNC is the mobile network code, two or three digits.
func (p PLMN) MNC() string {
	if p[1]>>4 == 0xf {
		return digits(p[2], p[2]>>4)
	}
	return digits(p[2], p[2]>>4, p[1]>>4)
}

// String is MCC and MNC with a dash between them.
func (p PLMN) String() string { return p.MCC() + "-" + p.MNC() }

// Valid tells whether all digits are 0 to 9.
func (p PLMN) Valid() bool {
	third := p[1] >> 4
	return p[0]&0xf < 10 && p[0]>>4 < 10 && p[1]&0xf < 10 && (third < 10 || third == 0xf) && p[2]&0xf < 10 && p[2]>>4 < 10
}

func digits(nibbles ...byte) string {
	const hex = "0123456789abcdef"
	out := make([]byte, len(nibbles))
	for n, nibble := range nibbles {
		out[n] = hex[nibble&0xf]
	}
	return string(out)
}

// TAC is a tracking area code of 24 bits (TS 38.413 9.3.3.10).
type TAC uint32

// TAI is a tracking area (TS 38.413 9.3.3.11).
type TAI struct {
	PLMN PLMN
	TAC  TAC
}

// SNSSAI is a slice (TS 38.413 9.3.1.24). An SD of FFFFFF, which means none (TS 23.003 28.4.2), is read as none.
type SNSSAI struct {
	SST uint8
	// SD has 24 bits, and is 0 where there is none.
	SD    uint32
	HasSD bool
}

// GUAMI names an AMF (TS 38.413 9.3.3.3): region of 8 bits, set of 10, pointer of 6.
type GUAMI struct {
	PLMN    PLMN
	Region  uint8
	Set     uint16
	Pointer uint8
}

// FiveGSTMSI is a 5G-S-TMSI (TS 38.413 9.3.3.20).
type FiveGSTMSI struct {
	Set     uint16
	Pointer uint8
	TMSI    uint32
}

// RANNodeKind tells the sorts of NG-RAN nodes apart, and with them the lengths of their IDs.
type RANNodeKind uint8

// The sorts (TS 38.413 9.3.1.5 to 9.3.1.8).
const (
	GNB RANNodeKind = iota + 1
	MacroNgENB
	ShortMacroNgENB
	LongMacroNgENB
	N3IWF
)

// RANNode is a Global RAN Node ID (TS 38.413 9.3.1.5).
type RANNode struct {
	Kind RANNodeKind
	PLMN PLMN
	ID   uint32
	// Bits of the ID: 22 to 32 of a gNB, 20, 18 and 21 of the ng-eNBs, 16 of an N3IWF. The same number in another length is another node.
	Bits uint8
}

// Radio is what a cell sends with.
type Radio uint8

// The radios.
const (
	NR Radio = iota + 1
	EUTRA
)

// Cell is an NR CGI or an E-UTRA CGI (TS 38.413 9.3.1.73).
type Cell struct {
	Radio Radio
	PLMN  PLMN
	// ID has 36 bits of NR, 28 of E-UTRA.
	ID uint64
}

// Address is a Transport Layer Address (TS 38.413 9.3.2.4): IPv4, IPv6, or both.
type Address struct{ IPv4, IPv6 netip.Addr }

// Slices that an NG-RAN node or an AMF serves in a PLMN (TS 38.413 9.2.6.1, 9.3.3.x "PLMN Support Item").
type PLMNSlices struct {
	PLMN   PLMN
	Slices []SNSSAI
}

// SupportedTA is a tracking area of an NG-RAN node (TS 38.413 9.2.6.1).
type SupportedTA struct {
	TAC TAC
	// PLMNs are those that are broadcast, 1 to 12.
	PLMNs []PLMNSlices
}

// ServedGUAMI is one that an AMF serves, with the name of the AMF that takes over, "" where none is said.
type ServedGUAMI struct {
	GUAMI  GUAMI
	Backup string
}

// UnavailableGUAMI of an AMF Status Indication (TS 38.413 9.2.6.10).
type UnavailableGUAMI struct {
	GUAMI GUAMI
	// Timer: the NG-RAN node waits until UEs move of themselves (Timer Approach for GUAMI Removal).
	Timer  bool
	Backup string
}
