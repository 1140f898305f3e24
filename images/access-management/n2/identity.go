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
	return PLMN{nibbles(mcc[1], mcc[0]), third<<4 | nibbles('0', mcc[2]), nibbles(mnc[1], mnc[0])}, nil
}

// nibbles are two digits in an octet.
func nibbles(high, low byte) byte { return (high-'0')<<4 | (low - '0') }

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

// The sorts (TS 38.413 9.3.1.5).
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

// String writes it for people.
func (a Address) String() string {
	switch {
	case !a.IPv6.IsValid():
		return a.IPv4.String()
	case !a.IPv4.IsValid():
		return a.IPv6.String()
	}
	return a.IPv4.String() + "/" + a.IPv6.String()
}

// PLMNSlices are those that an NG-RAN node or an AMF serves in a PLMN, 1 to 1024, and with an extension more.
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

func codeAMFUEID(c *coder, v *AMFUEID) { number(c, v, 0, 1<<40-1) }

func codeRANUEID(c *coder, v *RANUEID) { number(c, v, 0, 1<<32-1) }

// mostConnections is maxnoofNGConnectionsToReset.
const mostConnections = 65536

func codeUEConnections(c *coder, v *[]UEConnection) {
	longList(c, v, 1, mostConnections, codeUEConnection)
}

func codeUEConnection(c *coder, v *UEConnection) {
	s := c.sequence(v.HasAMF, v.HasRAN)
	if set(c, &v.HasAMF, s.has(0)); s.has(0) {
		codeAMFUEID(c, &v.AMF)
	}
	if set(c, &v.HasRAN, s.has(1)); s.has(1) {
		codeRANUEID(c, &v.RAN)
	}
	c.finish(s)
}

func codePLMN(c *coder, v *PLMN) {
	c.fixed(v[:])
	if c.writing && !v.Valid() {
		c.fail("%s is no PLMN", v)
	}
}

func codeTAC(c *coder, v *TAC) { set(c, v, TAC(c.number24(uint64(*v)))) }

func codeTAI(c *coder, v *TAI) {
	s := c.sequence()
	codePLMN(c, &v.PLMN)
	codeTAC(c, &v.TAC)
	c.finish(s)
}

// noSD is the SD of slices that have none (TS 23.003 28.4.2).
const noSD = 0xffffff

func codeSNSSAI(c *coder, v *SNSSAI) {
	if c.writing && !v.HasSD && v.SD != 0 {
		c.fail("SD %06x, and HasSD is not set", v.SD)
	}
	s := c.sequence(v.HasSD)
	set(c, &v.SST, uint8(c.bits(uint64(v.SST), 8)))
	if set(c, &v.HasSD, s.has(0)); s.has(0) {
		set(c, &v.SD, uint32(c.number24(uint64(v.SD))))
		if !c.writing && v.SD == noSD {
			v.SD, v.HasSD = 0, false
		}
	}
	c.finish(s)
}

func codeWrappedSNSSAI(c *coder, v *SNSSAI) { wrapped(c, v, codeSNSSAI) }

// Most slices (maxnoofSliceItems, maxnoofAllowedS-NSSAIs, maxnoofExtSliceItems).
const mostSlices, mostAllowed, mostExtendedSlices = 1024, 8, 65535

func codeAllowed(c *coder, v *[]SNSSAI) { list(c, v, 1, mostAllowed, codeWrappedSNSSAI) }

// codePLMNSlices has more slices than fit in the extension of this ID.
func codePLMNSlices(c *coder, v *PLMNSlices, extended IE) {
	first, more := v.Slices, []SNSSAI(nil)
	if len(first) > mostSlices {
		first, more = first[:mostSlices], first[mostSlices:]
	}
	s := c.sequenceExt(len(more) > 0)
	codePLMN(c, &v.PLMN)
	list(c, &first, 1, mostSlices, codeWrappedSNSSAI)
	c.finish(s, extension{extended, Reject, len(more) > 0, func() { list(c, &more, 1, mostExtendedSlices, codeWrappedSNSSAI) }})
	if !c.writing {
		v.Slices = append(first, more...)
	}
}

// Most PLMNs (maxnoofPLMNs, maxnoofBPLMNs), tracking areas (maxnoofTACs), GUAMIs (maxnoofServedGUAMIs).
const mostPLMNs, mostTAs, mostGUAMIs = 12, 256, 256

func codePLMNSupport(c *coder, v *[]PLMNSlices) {
	list(c, v, 1, mostPLMNs, func(c *coder, v *PLMNSlices) { codePLMNSlices(c, v, ieExtendedSliceSupport) })
}

func codeSupportedTAs(c *coder, v *[]SupportedTA) { list(c, v, 1, mostTAs, codeSupportedTA) }

func codeSupportedTA(c *coder, v *SupportedTA) {
	s := c.sequence()
	codeTAC(c, &v.TAC)
	list(c, &v.PLMNs, 1, mostPLMNs, func(c *coder, v *PLMNSlices) { codePLMNSlices(c, v, ieExtendedTAISliceSupport) })
	c.finish(s)
}

func codeGUAMI(c *coder, v *GUAMI) {
	s := c.sequence()
	codePLMN(c, &v.PLMN)
	set(c, &v.Region, uint8(c.bitString(uint64(v.Region), 8)))
	codeAMFSet(c, &v.Set)
	codeAMFPointer(c, &v.Pointer)
	c.finish(s)
}

func codeAMFSet(c *coder, v *uint16) { set(c, v, uint16(c.bitString(uint64(*v), 10))) }

func codeAMFPointer(c *coder, v *uint8) { set(c, v, uint8(c.bitString(uint64(*v), 6))) }

func codeServedGUAMIs(c *coder, v *[]ServedGUAMI) { list(c, v, 1, mostGUAMIs, codeServedGUAMI) }

func codeServedGUAMI(c *coder, v *ServedGUAMI) {
	s := c.sequence(v.Backup != "")
	codeGUAMI(c, &v.GUAMI)
	if s.has(0) {
		printableString(c, &v.Backup)
	}
	c.finish(s)
}

func codeUnavailableGUAMIs(c *coder, v *[]UnavailableGUAMI) {
	list(c, v, 1, mostGUAMIs, codeUnavailableGUAMI)
}

func codeUnavailableGUAMI(c *coder, v *UnavailableGUAMI) {
	s := c.sequence(v.Timer, v.Backup != "")
	codeGUAMI(c, &v.GUAMI)
	if s.has(0) {
		flag(c, &v.Timer)
	}
	if s.has(1) {
		printableString(c, &v.Backup)
	}
	c.finish(s)
}

func codeFiveGSTMSI(c *coder, v *FiveGSTMSI) {
	s := c.sequence()
	codeAMFSet(c, &v.Set)
	codeAMFPointer(c, &v.Pointer)
	c.align()
	set(c, &v.TMSI, uint32(c.bits(uint64(v.TMSI), 32)))
	c.finish(s)
}

// The alternatives of a Global RAN Node ID, and those of the IDs within, in the order of TS 38.413 9.4.5; the last is
// choice-Extensions.
const (
	nodeGNB, nodeNgENB, nodeN3IWF, nodeAlternatives = 0, 1, 2, 4
	gnbAlternatives, n3iwfAlternatives              = 2, 2
	ngENBAlternatives                               = 4
	gnbLeast, gnbMost                               = 22, 32
)

// ngENBBits are the lengths of an ng-eNB's IDs, by alternative: macro, short macro, long macro.
func ngENBBits(alternative int) uint8 { return [...]uint8{20, 18, 21}[alternative] }

const n3iwfBits = 16

// alternative is that of the node.
func (v *RANNode) alternative() int {
	switch v.Kind {
	case GNB:
		return nodeGNB
	case MacroNgENB, ShortMacroNgENB, LongMacroNgENB:
		return nodeNgENB
	case N3IWF:
		return nodeN3IWF
	}
	return nodeAlternatives - 1
}

func codeRANNode(c *coder, v *RANNode) {
	switch c.choice(v.alternative(), nodeAlternatives) {
	case nodeGNB:
		set(c, &v.Kind, GNB)
		codeGNB(c, v)
	case nodeNgENB:
		codeNgENB(c, v)
	case nodeN3IWF:
		set(c, &v.Kind, N3IWF)
		s := c.sequence()
		codePLMN(c, &v.PLMN)
		if c.choice(0, n3iwfAlternatives) == 0 {
			v.nodeID(c, n3iwfBits)
		}
		c.finish(s)
	}
}

func codeGNB(c *coder, v *RANNode) {
	s := c.sequence()
	codePLMN(c, &v.PLMN)
	if c.choice(0, gnbAlternatives) == 0 {
		number(c, &v.Bits, gnbLeast, gnbMost)
		if c.writing && uint64(v.ID)>>v.Bits != 0 {
			c.fail("gNB ID %d does not fit into %d bits", v.ID, v.Bits)
		}
		c.align()
		set(c, &v.ID, uint32(c.bits(uint64(v.ID), uint(v.Bits))))
	}
	c.finish(s)
}

func codeNgENB(c *coder, v *RANNode) {
	s := c.sequence()
	codePLMN(c, &v.PLMN)
	if n := c.choice(int(v.Kind-MacroNgENB), ngENBAlternatives); n >= 0 {
		set(c, &v.Kind, MacroNgENB+RANNodeKind(n))
		v.nodeID(c, ngENBBits(n))
	}
	c.finish(s)
}

// nodeID is an ID of fixed length.
func (v *RANNode) nodeID(c *coder, n uint8) {
	if c.writing && v.Bits != n {
		c.fail("an ID of %d bits, there are %d", v.Bits, n)
	}
	set(c, &v.Bits, n)
	set(c, &v.ID, uint32(c.bitString(uint64(v.ID), uint(n))))
}

const (
	bitsNRCell, bitsEUTRACell = 36, 28
	cellNR, cellEUTRA         = 0, 1
	cellAlternatives          = 3
)

func codeCell(c *coder, v *Cell) {
	index := cellAlternatives - 1
	switch v.Radio {
	case NR:
		index = cellNR
	case EUTRA:
		index = cellEUTRA
	}
	switch c.choice(index, cellAlternatives) {
	case cellNR:
		codeCellOf(c, v, NR)
	case cellEUTRA:
		codeCellOf(c, v, EUTRA)
	}
}

// codeCellOf is an NR CGI or an E-UTRA CGI.
func codeCellOf(c *coder, v *Cell, radio Radio) {
	if c.writing && v.Radio != radio {
		c.fail("a cell of another radio")
	}
	set(c, &v.Radio, radio)
	s := c.sequence()
	codePLMN(c, &v.PLMN)
	n := uint(bitsNRCell)
	if radio == EUTRA {
		n = bitsEUTRACell
	}
	set(c, &v.ID, c.bitString(v.ID, n))
	c.finish(s)
}

// Lengths of a Transport Layer Address in bits (TS 38.414 5.3): one of 160 is the IPv4 address, then the IPv6 address.
const bitsIPv4, bitsIPv6, bitsBoth, bitsMost = 32, 128, 160, 160

func codeAddress(c *coder, v *Address) {
	if c.writing {
		putAddress(c, v)
		return
	}
	var n uint
	if c.boolean(false) {
		n = uint(c.length())
	} else {
		n = uint(c.integer(0, 1, bitsMost))
	}
	c.align()
	if n != bitsIPv4 && n != bitsIPv6 && n != bitsBoth {
		c.skip(n)
		c.strange = true
		return
	}
	b := c.take(n / 8)
	if c.err != nil {
		return
	}
	if n != bitsIPv6 {
		v.IPv4, b = netip.AddrFrom4([4]byte(b)), b[4:]
	}
	if n != bitsIPv4 {
		v.IPv6 = netip.AddrFrom16([16]byte(b))
	}
}

func putAddress(c *coder, v *Address) {
	var b []byte
	if v.IPv4.IsValid() {
		if !v.IPv4.Is4() {
			c.fail("%s is no IPv4 address", v.IPv4)
		}
		b = v.IPv4.AsSlice()
	}
	if v.IPv6.IsValid() {
		if v.IPv6.Is4() || v.IPv6.Zone() != "" {
			c.fail("%s is no IPv6 address that others can use", v.IPv6)
		}
		b = append(b, v.IPv6.AsSlice()...)
	}
	if len(b) == 0 {
		c.fail("no address: there is an IPv4 address, an IPv6 address, or both")
		return
	}
	c.boolean(false)
	c.integer(uint64(len(b))*8, 1, bitsMost)
	c.give(b)
}
