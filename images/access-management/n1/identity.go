package n1

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// IdentityType is a 5GS identity type (TS 24.501 9.11.3.3).
type IdentityType uint8

// The identity types.
const (
	IdentityNone   IdentityType = 0
	IdentitySUCI   IdentityType = 1
	IdentityGUTI   IdentityType = 2
	IdentityIMEI   IdentityType = 3
	IdentitySTMSI  IdentityType = 4
	IdentityIMEISV IdentityType = 5
	IdentityMAC    IdentityType = 6
	IdentityEUI64  IdentityType = 7
)

// Identity is a 5GS mobile identity (TS 24.501 9.11.3.4): a NoIdentity, SUCI, GUTI, IMEI, STMSI, IMEISV, MAC or EUI64,
// none of them by pointer.
type Identity interface {
	IdentityType() IdentityType
	append(b []byte) []byte
	check() error
}

// NoIdentity is what a UE says that lacks the one it was asked for.
type NoIdentity struct{}

// SUPIFormat of a SUCI.
type SUPIFormat uint8

// The SUPI formats.
const (
	FormatIMSI SUPIFormat = 0
	FormatNAI  SUPIFormat = 1 // network specific identifier
	FormatGCI  SUPIFormat = 2 // of a cable access
	FormatGLI  SUPIFormat = 3 // of a wireline access
)

// Protection schemes of a SUCI; 3 to 11 are reserved, 12 to 15 the operator's.
const (
	SchemeNull     uint8 = 0
	SchemeProfileA uint8 = 1
	SchemeProfileB uint8 = 2
)

// SUCI is a subscription concealed identifier.
type SUCI struct {
	Format SUPIFormat
	// Of FormatIMSI: the home network; Routing, one to four digits; Scheme, 0 to 15; HomeKey, the home network public key's
	// identifier; Output, the scheme's: with SchemeNull the MSIN's digits in text, else octets.
	Home    PLMN
	Routing string
	Scheme  uint8
	HomeKey uint8
	MSIN    string
	Output  []byte
	// NAI is, of the other formats, the SUCI as a network access identifier (TS 23.003 28.7.3, 28.15, 28.16).
	NAI string
}

// GUTI is a 5G globally unique temporary identity.
type GUTI struct {
	PLMN   PLMN
	Region uint8
	// Set is the AMF Set ID, 10 bits, Pointer the AMF Pointer, 6 bits.
	Set     uint16
	Pointer uint8
	TMSI    uint32
}

// STMSI is a 5G-S-TMSI.
type STMSI struct {
	Set     uint16
	Pointer uint8
	TMSI    uint32
}

// STMSI is the GUTI's shorter form.
func (g GUTI) STMSI() STMSI { return STMSI{Set: g.Set, Pointer: g.Pointer, TMSI: g.TMSI} }

// IMEI is an equipment's number, 15 digits; IMEISV one with its software's version, 16.
type (
	IMEI   string
	IMEISV string
)

// MAC address of a wireline equipment. Unusable: not to be taken for an equipment identity (MAURI).
type MAC struct {
	Address  [6]byte
	Unusable bool
}

// EUI64 of an equipment.
type EUI64 [8]byte

// IdentityType is the identity's.
func (NoIdentity) IdentityType() IdentityType { return IdentityNone }

// IdentityType is the identity's.
func (SUCI) IdentityType() IdentityType { return IdentitySUCI }

// IdentityType is the identity's.
func (GUTI) IdentityType() IdentityType { return IdentityGUTI }

// IdentityType is the identity's.
func (STMSI) IdentityType() IdentityType { return IdentitySTMSI }

// IdentityType is the identity's.
func (IMEI) IdentityType() IdentityType { return IdentityIMEI }

// IdentityType is the identity's.
func (IMEISV) IdentityType() IdentityType { return IdentityIMEISV }

// IdentityType is the identity's.
func (MAC) IdentityType() IdentityType { return IdentityMAC }

// IdentityType is the identity's.
func (EUI64) IdentityType() IdentityType { return IdentityEUI64 }

// ---- text ------------------------------------------------------------------------------------------------

// String is the SUCI in the form of SupiOrSuci in TS 29.571 5.3.2, as the AUSF takes it. "" of an NAI that is none.
func (s SUCI) String() string {
	if s.Format != FormatIMSI {
		return s.naiText()
	}
	output := s.MSIN
	if s.Scheme != SchemeNull {
		output = hex.EncodeToString(s.Output)
	}
	return "suci-0-" + s.Home.String() + "-" + s.Routing + "-" + strconv.FormatUint(uint64(s.Scheme), 16) + "-" +
		strconv.Itoa(int(s.HomeKey)) + "-" + output
}

// naiText takes a SUCI's NAI apart: "type1.rid678.schid0.useriduser17@example.com", or with a scheme
// "type1.rid678.schid1.hnkey27.ecckey….cip….mac…@example.com" (TS 23.003 28.7.3).
func (s SUCI) naiText() string {
	user, realm, is := strings.Cut(s.NAI, "@")
	if !is || realm == "" {
		return ""
	}
	labels := strings.SplitN(user, ".", 4)
	if len(labels) != 4 || labels[0] != "type"+strconv.Itoa(int(s.Format)) {
		return ""
	}
	routing, hasRouting := strings.CutPrefix(labels[1], "rid")
	scheme, hasScheme := strings.CutPrefix(labels[2], "schid")
	if !hasRouting || !hasScheme {
		return ""
	}
	key, output := "0", ""
	if name, isNull := strings.CutPrefix(labels[3], "userid"); isNull {
		output = name
	} else {
		k, rest, _ := strings.Cut(labels[3], ".")
		if k, isKey := strings.CutPrefix(k, "hnkey"); isKey {
			key, output = k, rest
		}
	}
	if output == "" {
		return ""
	}
	return "suci-" + strconv.Itoa(int(s.Format)) + "-" + realm + "-" + routing + "-" + scheme + "-" + key + "-" + output
}

// PEI is the permanent equipment identifier in the form of TS 29.571 5.3.2; "" of an identity that is none.
func PEI(i Identity) string {
	switch i := i.(type) {
	case IMEI:
		return "imei-" + string(i)
	case IMEISV:
		return "imeisv-" + string(i)
	case MAC:
		text := "mac-" + strings.ToUpper(strings.Join(octetsInHex(i.Address[:]), "-"))
		if i.Unusable {
			text += "-untrusted"
		}
		return text
	case EUI64:
		return "eui-" + strings.ToUpper(strings.Join(octetsInHex(i[:]), "-"))
	}
	return ""
}

func octetsInHex(b []byte) (s []string) {
	for _, o := range b {
		s = append(s, hex.EncodeToString([]byte{o}))
	}
	return s
}

// String is "20893-ca-3f8-00-0000002a": PLMN, region and set and pointer and TMSI in hexadecimal.
func (g GUTI) String() string {
	return fmt.Sprintf("%s-%02x-%s", g.PLMN.Digits(), g.Region, g.STMSI())
}

// String is "3f8-00-0000002a": set, pointer and TMSI in hexadecimal.
func (s STMSI) String() string { return fmt.Sprintf("%03x-%02x-%08x", s.Set, s.Pointer, s.TMSI) }

// ---- octets ----------------------------------------------------------------------------------------------

const (
	gutiLength, stmsiLength = 11, 7
	suciHeader              = 8 // up to the scheme's output, of FormatIMSI
	maxSet, maxPointer      = 1<<10 - 1, 1<<6 - 1
	oddDigits               = 1 << 3
	filler                  = 0xf
)

// readIdentity reads a 5GS mobile identity's content; nil: it is wrong.
func readIdentity(b []byte) Identity {
	if len(b) == 0 {
		return nil
	}
	switch IdentityType(b[0] & 7) {
	case IdentityNone:
		return NoIdentity{}
	case IdentitySUCI:
		if s, is := readSUCI(b); is {
			return s
		}
	case IdentityGUTI:
		var g GUTI
		if g.read(b) {
			return g
		}
	case IdentitySTMSI:
		var s STMSI
		if s.read(b) {
			return s
		}
	case IdentityIMEI:
		if digits := readDigits(b); len(digits) == 15 {
			return IMEI(digits)
		}
	case IdentityIMEISV:
		if digits := readDigits(b); len(digits) == 16 {
			return IMEISV(digits)
		}
	case IdentityMAC:
		if len(b) >= 7 {
			return MAC{Address: [6]byte(b[1:7]), Unusable: b[0]&oddDigits != 0}
		}
	case IdentityEUI64:
		if len(b) >= 9 {
			return EUI64(b[1:9])
		}
	}
	return nil
}

func readSUCI(b []byte) (s SUCI, is bool) {
	s.Format = SUPIFormat(b[0] >> 4 & 7)
	if s.Format != FormatIMSI {
		s.NAI = string(b[1:])
		return s, s.Format <= FormatGLI && s.NAI != ""
	}
	if len(b) < suciHeader {
		return s, false
	}
	copy(s.Home[:], b[1:])
	s.Routing = readBCD(b[4:6], 0)
	s.Scheme, s.HomeKey = b[6]&0xf, b[7]
	if output := b[suciHeader:]; s.Scheme == SchemeNull {
		s.MSIN = readBCD(output, 0)
		is = len(s.MSIN) > 0 && len(s.MSIN) <= 10
	} else {
		s.Output = output
		is = len(output) > 0
	}
	return s, is && s.Routing != "" && s.Home.Valid()
}

// readBCD reads digits, the lower half first, from a half octet on, until a filler, which none may follow; "": a half
// octet is neither.
func readBCD(b []byte, from int) string {
	var room [32]byte
	digits := room[:0]
	ended := false
	for i := from; i < 2*len(b); i++ {
		d := b[i/2] >> (4 * (i % 2)) & 0xf
		switch {
		case d == filler:
			ended = true
		case d > 9 || ended:
			return ""
		default:
			digits = append(digits, '0'+d)
		}
	}
	return string(digits)
}

// appendBCD writes digits, the lower half first, and a filler behind an odd number of them.
func appendBCD(b []byte, digits string) []byte {
	for i := 0; i < len(digits); i += 2 {
		o := digits[i] - '0' | filler<<4
		if i+1 < len(digits) {
			o = digits[i] - '0' | (digits[i+1]-'0')<<4
		}
		b = append(b, o)
	}
	return b
}

// readDigits of an IMEI or IMEISV: the first stands in the upper half of the octet that says the type.
func readDigits(b []byte) string {
	if len(b) > 9 {
		return ""
	}
	digits := readBCD(b, 1)
	if b[0]&oddDigits != 0 != (len(digits)%2 == 1) {
		return ""
	}
	return digits
}

func isDigits(s string, least, most int) bool {
	if len(s) < least || len(s) > most {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

func appendDigits(b []byte, t IdentityType, digits string) []byte {
	o := byte(t) | (digits[0]-'0')<<4
	if len(digits)%2 == 1 {
		o |= oddDigits
	}
	return appendBCD(append(b, o), digits[1:])
}

func (NoIdentity) append(b []byte) []byte { return append(b, byte(IdentityNone)) }
func (NoIdentity) check() error           { return nil }

func (s SUCI) append(b []byte) []byte {
	b = append(b, byte(IdentitySUCI)|byte(s.Format)<<4)
	if s.Format != FormatIMSI {
		return append(b, s.NAI...)
	}
	b = append(b, s.Home[:]...)
	routing := [2]byte{0xff, 0xff}
	copy(routing[:], appendBCD(nil, s.Routing))
	b = append(b, routing[0], routing[1], s.Scheme, s.HomeKey)
	if s.Scheme == SchemeNull {
		return appendBCD(b, s.MSIN)
	}
	return append(b, s.Output...)
}

func (s SUCI) check() error {
	switch {
	case s.Format > FormatGLI:
		return errors.New("a SUCI's format is 0 to 3")
	case s.Format != FormatIMSI && s.NAI == "":
		return errors.New("a SUCI of this format needs a network access identifier")
	case s.Format != FormatIMSI:
		return nil
	case !s.Home.Valid() || !isDigits(s.Routing, 1, 4) || s.Scheme > 15:
		return errors.New("a SUCI needs a home network, a routing indicator of one to four digits, and a scheme of 0 to 15")
	case s.Scheme == SchemeNull && !isDigits(s.MSIN, 1, 10):
		return errors.New("a SUCI of the null scheme needs an MSIN of one to ten digits")
	case s.Scheme != SchemeNull && len(s.Output) == 0:
		return errors.New("a SUCI needs its scheme's output")
	}
	return nil
}

func (g *GUTI) read(b []byte) bool {
	if len(b) < gutiLength || IdentityType(b[0]&7) != IdentityGUTI {
		return false
	}
	copy(g.PLMN[:], b[1:])
	g.Region = b[4]
	g.Set, g.Pointer, g.TMSI = readAMF(b[5:])
	return g.PLMN.Valid()
}

func (g GUTI) append(b []byte) []byte {
	b = append(append(b, 0xf0|byte(IdentityGUTI)), g.PLMN[:]...)
	return appendAMF(append(b, g.Region), g.Set, g.Pointer, g.TMSI)
}

func (g *GUTI) write(b []byte) []byte { return g.append(b) }

func (g GUTI) check() error {
	if !g.PLMN.Valid() {
		return errors.New("a 5G-GUTI needs a PLMN")
	}
	return g.STMSI().check()
}

func (s *STMSI) read(b []byte) bool {
	if len(b) < stmsiLength || IdentityType(b[0]&7) != IdentitySTMSI {
		return false
	}
	s.Set, s.Pointer, s.TMSI = readAMF(b[1:])
	return true
}

func (s STMSI) append(b []byte) []byte {
	return appendAMF(append(b, 0xf0|byte(IdentitySTMSI)), s.Set, s.Pointer, s.TMSI)
}

func (s *STMSI) write(b []byte) []byte { return s.append(b) }

func (s STMSI) check() error {
	if s.Set > maxSet || s.Pointer > maxPointer {
		return errors.New("an AMF set is at most 1023, an AMF pointer at most 63")
	}
	return nil
}

func readAMF(b []byte) (set uint16, pointer uint8, tmsi uint32) {
	v := binary.BigEndian.Uint16(b)
	return v >> 6, uint8(v & maxPointer), binary.BigEndian.Uint32(b[2:])
}

func appendAMF(b []byte, set uint16, pointer uint8, tmsi uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, set<<6|uint16(pointer)), tmsi)
}

func (i IMEI) append(b []byte) []byte   { return appendDigits(b, IdentityIMEI, string(i)) }
func (i IMEISV) append(b []byte) []byte { return appendDigits(b, IdentityIMEISV, string(i)) }

func (i IMEI) check() error {
	if !isDigits(string(i), 15, 15) {
		return errors.New("an IMEI has 15 digits")
	}
	return nil
}

func (i IMEISV) check() error {
	if !isDigits(string(i), 16, 16) {
		return errors.New("an IMEISV has 16 digits")
	}
	return nil
}

func (i *IMEISV) read(b []byte) bool {
	v, is := readIdentity(b).(IMEISV)
	*i = v
	return is
}

func (i *IMEISV) write(b []byte) []byte { return i.append(b) }

func (m MAC) append(b []byte) []byte {
	return append(append(b, byte(IdentityMAC)|bit(m.Unusable, 3)), m.Address[:]...)
}
func (m MAC) check() error { return nil }

func (e EUI64) append(b []byte) []byte { return append(append(b, byte(IdentityEUI64)), e[:]...) }
func (e EUI64) check() error           { return nil }

// anIdentity is an identity as an element.
type anIdentity struct{ of *Identity }

func (i anIdentity) read(b []byte) bool {
	*i.of = readIdentity(b)
	return *i.of != nil
}

func (i anIdentity) check() error {
	if *i.of == nil {
		return errors.New("a message needs an identity")
	}
	return (*i.of).check()
}

func (i anIdentity) write(b []byte) []byte {
	return (*i.of).append(b)
}

// identity is an optional element of any kind of identity.
func identity(c *codec, iei byte, field *Identity) {
	if c.writing {
		if *field != nil {
			c.put(iei, anIdentity{field})
		}
		return
	}
	if content, is := c.content(iei); is {
		*field = readIdentity(content)
	}
}
