package n1

import (
	"errors"
	"time"
	"unicode/utf16"
)

// Name is a network's, full or short (TS 24.501 9.11.3.35, TS 24.008 10.5.3.5a). Written is GSM's alphabet of seven bits
// where the text has nothing else, else UCS2.
type Name struct {
	Text string
	// Country: the UE is to add the country's initials.
	Country bool
}

const (
	namePresent         = 0x80
	codingGSM, codingU2 = 0, 1
	maxName             = 254 // octets behind the first
)

func (n *Name) read(b []byte) bool {
	if len(b) < 1 || b[0]&namePresent == 0 {
		return false
	}
	n.Country = b[0]&8 != 0
	coding, spare, text := b[0]>>4&7, int(b[0]&7), b[1:]
	switch coding {
	case codingGSM:
		if spare > 8*len(text) {
			return false
		}
		n.Text = readGSM(text, (8*len(text)-spare)/7)
	case codingU2:
		if len(text)%2 != 0 {
			return false
		}
		units := make([]uint16, len(text)/2)
		for i := range units {
			units[i] = uint16(text[2*i])<<8 | uint16(text[2*i+1])
		}
		n.Text = string(utf16.Decode(units))
	default:
		return false
	}
	return true
}

func (n *Name) write(b []byte) []byte {
	head := namePresent | bit(n.Country, 3)
	if septets, is := septetsOf(n.Text); is {
		packed := packGSM(septets)
		spare := 8*len(packed) - 7*len(septets)
		return append(append(b, head|codingGSM<<4|byte(spare)), packed...)
	}
	b = append(b, head|codingU2<<4)
	for _, u := range utf16.Encode([]rune(n.Text)) {
		b = append(b, byte(u>>8), byte(u))
	}
	return b
}

func (n *Name) check() error {
	size := 2 * len(utf16.Encode([]rune(n.Text)))
	if septets, is := septetsOf(n.Text); is {
		size = len(packGSM(septets))
	}
	if size > maxName {
		return errors.New("a network's name is longer than 290 characters of GSM's alphabet, or 127 others")
	}
	return nil
}

// The default alphabet of TS 23.038 6.2.1, and the table behind escape (6.2.1.1).
const escape = 0x1b

func alphabet() []rune {
	return []rune("@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞ\x1bÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà")
}

func extension() map[byte]rune {
	return map[byte]rune{0x0a: '\f', 0x14: '^', 0x28: '{', 0x29: '}', 0x2f: '\\', 0x3c: '[', 0x3d: '~', 0x3e: ']', 0x40: '|', 0x65: '€'}
}

// septetsOf is the text in GSM's alphabet; false: it has other characters.
func septetsOf(text string) (septets []byte, is bool) {
	letters := alphabet()
next:
	for _, r := range text {
		for i, l := range letters {
			if l == r && r != escape {
				septets = append(septets, byte(i))
				continue next
			}
		}
		for code, l := range extension() {
			if l == r {
				septets = append(septets, escape, code)
				continue next
			}
		}
		return nil, false
	}
	return septets, true
}

func packGSM(septets []byte) []byte {
	b := make([]byte, (7*len(septets)+7)/8)
	for i, s := range septets {
		at, shift := 7*i/8, 7*i%8
		b[at] |= s << shift
		if shift > 1 {
			b[at+1] |= s >> (8 - shift)
		}
	}
	return b
}

func readGSM(b []byte, n int) string {
	letters, escaped := alphabet(), false
	var text []rune
	for i := range n {
		at, shift := 7*i/8, 7*i%8
		s := b[at] >> shift
		if shift > 1 {
			s |= b[at+1] << (8 - shift)
		}
		switch s &= 0x7f; {
		case escaped:
			r, is := extension()[s]
			if !is {
				r = letters[s] // TS 23.038 6.2.1.1: what is not in the table is the letter without escape
			}
			if r == escape {
				r = ' '
			}
			text, escaped = append(text, r), false
		case s == escape:
			escaped = true
		default:
			text = append(text, letters[s])
		}
	}
	return string(text)
}

// Zone is a local time zone: quarters of an hour east of Greenwich, daylight saving time counted (TS 24.501 9.11.3.52).
type Zone int8

// ZoneOf a time, rounded towards Greenwich.
func ZoneOf(t time.Time) Zone {
	_, offset := t.Zone()
	return Zone(offset / (15 * 60))
}

const maxZone = 79

func swapped(n byte) byte { return n/10 | n%10<<4 }

// fromSwapped reads two digits, the lower half first.
func fromSwapped(o byte) int { return int(o&0xf)*10 + int(o>>4) }

func (z Zone) octet() byte {
	if z < 0 {
		return swapped(byte(-z)) | 8
	}
	return swapped(byte(z))
}

func zoneOf(o byte) Zone {
	z := Zone(fromSwapped(o &^ 8))
	if o&8 != 0 {
		return -z
	}
	return z
}

func (z *Zone) read(b []byte) bool {
	if len(b) < 1 || b[0]>>4 > 9 {
		return false
	}
	*z = zoneOf(b[0])
	return true
}

func (z *Zone) write(b []byte) []byte { return append(b, z.octet()) }

func (z *Zone) check() error {
	if *z > maxZone || *z < -maxZone {
		return errors.New("a time zone is at most 79 quarters of an hour from Greenwich")
	}
	return nil
}

// Clock is universal time and the local time zone (TS 24.501 9.11.3.53): seconds, of the years 2000 to 2099, in a zone of
// quarters of an hour.
type Clock struct{ time.Time }

func (c *Clock) read(b []byte) bool {
	if len(b) < 7 {
		return false
	}
	for i, o := range b[:7] {
		if (o&0xf > 9 && i < 6) || o>>4 > 9 {
			return false
		}
	}
	zone := zoneOf(b[6])
	utc := time.Date(2000+fromSwapped(b[0]), time.Month(fromSwapped(b[1])), fromSwapped(b[2]),
		fromSwapped(b[3]), fromSwapped(b[4]), fromSwapped(b[5]), 0, time.UTC)
	// Date normalises what is none, such as the 30th of February.
	if int(utc.Month()) != fromSwapped(b[1]) || utc.Day() != fromSwapped(b[2]) || utc.Hour() != fromSwapped(b[3]) ||
		utc.Minute() != fromSwapped(b[4]) || utc.Second() != fromSwapped(b[5]) {
		return false
	}
	c.Time = utc.In(time.FixedZone("", int(zone)*15*60))
	return true
}

func (c *Clock) write(b []byte) []byte {
	t := c.UTC()
	for _, n := range []int{t.Year() % 100, int(t.Month()), t.Day(), t.Hour(), t.Minute(), t.Second()} {
		b = append(b, swapped(byte(n)))
	}
	return append(b, ZoneOf(c.Time).octet())
}

func (c *Clock) check() error {
	if y := c.UTC().Year(); y < 2000 || y > 2099 {
		return errors.New("a network's time is of the years 2000 to 2099")
	}
	z := ZoneOf(c.Time)
	return z.check()
}

// DaylightSaving is how much the zone is ahead for it: 0 to 2 hours (TS 24.501 9.11.3.19).
type DaylightSaving uint8

func (d *DaylightSaving) read(b []byte) bool {
	if len(b) < 1 || b[0]&3 == 3 {
		return false
	}
	*d = DaylightSaving(b[0] & 3)
	return true
}

func (d *DaylightSaving) write(b []byte) []byte { return append(b, byte(*d)) }

func (d *DaylightSaving) check() error {
	if *d > 2 {
		return errors.New("daylight saving time is 0 to 2 hours")
	}
	return nil
}

// Emergency services that a network says it has (TS 24.501 9.11.3.5): EMC and EMF.
type Emergency uint8

// The emergency services: in NR, in E-UTRA connected to 5GCN, or both.
const (
	EmergencyNone   Emergency = 0
	EmergencyNR     Emergency = 1
	EmergencyEUTRA  Emergency = 2
	EmergencyInBoth Emergency = 3
)

// Features are what a network says that it supports (TS 24.501 9.11.3.5).
type Features struct {
	// IMSVoice over PS, in 3GPP access and in others.
	IMSVoice, IMSVoiceNon3GPP bool
	// EmergencyServices, and fallback for them, in 3GPP access; emergency services in others.
	EmergencyServices, EmergencyFallback Emergency
	EmergencyNon3GPP                     bool
	// Interworking with EPC without N26; MPS and MCS indicators.
	WithoutN26, MPS, MCS bool
	// RestrictEC is restriction of enhanced coverage: 0 neither, 1 both CE modes, 2 CE mode B.
	RestrictEC uint8
	// CIoT optimisations: control plane, user plane, header compression of IP and of Ethernet; N3 data transfer.
	ControlPlaneCIoT, UserPlaneCIoT, HeaderCompression, EthernetHeaderCompression bool
	// NoN3Data: N3 data transfer is not supported. The bit says so.
	NoN3Data bool
	// Location services, and steering of traffic.
	Location, Steering bool
}

func (f *Features) read(b []byte) bool {
	if len(b) < 1 {
		return false
	}
	f.EmergencyFallback, f.EmergencyServices = Emergency(b[0]>>4&3), Emergency(b[0]>>2&3)
	flags(b, 0, &f.MPS, &f.WithoutN26, nil, nil, nil, nil, &f.IMSVoiceNon3GPP, &f.IMSVoice)
	flags(b, 1, &f.UserPlaneCIoT, &f.HeaderCompression, &f.NoN3Data, &f.ControlPlaneCIoT, nil, nil, &f.MCS, &f.EmergencyNon3GPP)
	if len(b) > 1 {
		f.RestrictEC = b[1] >> 2 & 3
	}
	flags(b, 2, nil, nil, nil, nil, nil, &f.EthernetHeaderCompression, &f.Steering, &f.Location)
	return true
}

func (f *Features) write(b []byte) []byte {
	first := packed(&f.MPS, &f.WithoutN26, nil, nil, nil, nil, &f.IMSVoiceNon3GPP, &f.IMSVoice) |
		byte(f.EmergencyFallback)<<4 | byte(f.EmergencyServices)<<2
	second := packed(&f.UserPlaneCIoT, &f.HeaderCompression, &f.NoN3Data, &f.ControlPlaneCIoT, nil, nil, &f.MCS, &f.EmergencyNon3GPP) |
		f.RestrictEC<<2
	third := packed(nil, nil, nil, nil, nil, &f.EthernetHeaderCompression, &f.Steering, &f.Location)
	if third != 0 {
		return append(b, first, second, third)
	}
	return append(b, first, second)
}

func (f *Features) check() error {
	if f.EmergencyServices > 3 || f.EmergencyFallback > 3 || f.RestrictEC > 3 {
		return errors.New("a network feature has two bits")
	}
	return nil
}
