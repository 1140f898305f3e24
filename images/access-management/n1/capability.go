package n1

import "errors"

// UESecurityCapability is which algorithms a UE has (TS 24.501 9.11.3.54), in its octets: 5G-EA, 5G-IA, EEA, EIA, algorithm
// 0 in the highest bit; 2 to 8 octets. They are replayed to the UE as they came, so they are kept as they came.
type UESecurityCapability []byte

func (c UESecurityCapability) octet(at int) uint8 {
	if at >= len(c) {
		return 0
	}
	return c[at]
}

// EA5G is a bitmap of the ciphering algorithms of 5GS, number 0 in the highest bit; 0: none was told. So are the others.
func (c UESecurityCapability) EA5G() uint8 { return c.octet(0) }

// IA5G is of integrity in 5GS.
func (c UESecurityCapability) IA5G() uint8 { return c.octet(1) }

// EEA is of ciphering in EPS.
func (c UESecurityCapability) EEA() uint8 { return c.octet(2) }

// EIA is of integrity in EPS.
func (c UESecurityCapability) EIA() uint8 { return c.octet(3) }

func (c *UESecurityCapability) read(b []byte) bool {
	*c = b
	return len(b) >= 2 && len(b) <= 8
}

func (c *UESecurityCapability) write(b []byte) []byte { return append(b, *c...) }

func (c *UESecurityCapability) check() error {
	if len(*c) < 2 || len(*c) > 8 {
		return errors.New("a UE security capability has 2 to 8 octets")
	}
	return nil
}

// Capability is a 5GMM capability (TS 24.501 9.11.3.1). What later releases add is not kept.
type Capability struct {
	// S1Mode: the UE can do EPS. HandoverAttach: it says "handover" in EPC's attach request.
	S1Mode, HandoverAttach bool
	// LPP messages over NAS, and restriction of enhanced coverage.
	LPP, RestrictEC bool
	// CIoT optimisations: control plane, user plane, header compression of IP and of Ethernet.
	ControlPlaneCIoT, UserPlaneCIoT, HeaderCompression, EthernetHeaderCompression bool
	// NoN3Data: the UE has no N3 data transfer. The bit says "not supported".
	NoN3Data bool
	// ServiceGap control.
	ServiceGap bool
	// SRVCC from 5G to UTRAN; V2X, over E-UTRA's PC5 and NR's.
	SRVCC, V2X, V2XEUTRA, V2XNR bool
	// Location services' notifications; slice-specific authentication; radio capability signalling by identities.
	Location, SliceAuthentication, RadioCapabilitySignalling bool
	// ClosedAccessGroups, wake-up signal assistance, several user planes.
	ClosedAccessGroups, WakeUpSignal, MultipleUserPlanes bool
}

func (m *Capability) first() [8]*bool {
	return [8]*bool{&m.ServiceGap, &m.HeaderCompression, &m.NoN3Data, &m.ControlPlaneCIoT, &m.RestrictEC, &m.LPP, &m.HandoverAttach, &m.S1Mode}
}

func (m *Capability) second() [8]*bool {
	return [8]*bool{&m.RadioCapabilitySignalling, &m.SliceAuthentication, &m.Location, &m.V2XNR, &m.V2XEUTRA, &m.V2X, &m.UserPlaneCIoT, &m.SRVCC}
}

func (m *Capability) third() [8]*bool {
	return [8]*bool{4: &m.EthernetHeaderCompression, 5: &m.MultipleUserPlanes, 6: &m.WakeUpSignal, 7: &m.ClosedAccessGroups}
}

func (m *Capability) read(b []byte) bool {
	for i, bits := range [][8]*bool{m.first(), m.second(), m.third()} {
		flags(b, i, bits[:]...)
	}
	return len(b) >= 1
}

func (m *Capability) write(b []byte) []byte {
	first, second, third := m.first(), m.second(), m.third()
	o := [3]byte{packed(first[:]...), packed(second[:]...), packed(third[:]...)}
	n := len(o)
	for n > 1 && o[n-1] == 0 {
		n--
	}
	return append(b, o[:n]...)
}

// Algorithms are the selected NAS security algorithms (TS 24.501 9.11.3.34): the numbers of 5G-EA and 5G-IA, or, in an
// EPS element, of EEA and EIA.
type Algorithms struct {
	Ciphering uint8 `cbor:"1,keyasint,omitempty"`
	Integrity uint8 `cbor:"2,keyasint,omitempty"`
}

func (a *Algorithms) read(b []byte) bool {
	if len(b) < 1 {
		return false
	}
	a.Ciphering, a.Integrity = b[0]>>4&7, b[0]&7
	return true
}

func (a *Algorithms) write(b []byte) []byte { return append(b, a.Ciphering<<4|a.Integrity&7) }

func (a *Algorithms) check() error {
	if a.Ciphering > 7 || a.Integrity > 7 {
		return errors.New("an algorithm's number is 0 to 7")
	}
	return nil
}

// AdditionalSecurity is the additional 5G security information (TS 24.501 9.11.3.12).
type AdditionalSecurity struct {
	// Retransmit: the UE is to send its initial NAS message again, in the Security Mode Complete (RINMR).
	Retransmit bool
	// HorizontalDerivation: K_AMF was derived from the last K_AMF, and the UE does the same (HDP).
	HorizontalDerivation bool
}

func (a *AdditionalSecurity) read(b []byte) bool {
	flags(b, 0, nil, nil, nil, nil, nil, nil, &a.Retransmit, &a.HorizontalDerivation)
	return len(b) >= 1
}

func (a *AdditionalSecurity) write(b []byte) []byte {
	return append(b, packed(nil, nil, nil, nil, nil, nil, &a.Retransmit, &a.HorizontalDerivation))
}

// KeySet is a NAS key set identifier (TS 24.501 9.11.3.32): 0 to 6 of a native security context, 8 to 14 of one that was
// mapped from EPS; NoKey: the UE has none.
type KeySet uint8

// NoKey is available.
const NoKey KeySet = 7

// Mapped says whether the context is from EPS.
func (k KeySet) Mapped() bool { return k&8 != 0 }

// Available says whether there is a key.
func (k KeySet) Available() bool { return k&7 != NoKey }

func (k *KeySet) read(b []byte) bool {
	*k = KeySet(b[0] & 0xf)
	return true
}

func (k *KeySet) write(b []byte) []byte { return append(b, byte(*k)) }

// DRX is a 5GS DRX parameter (TS 24.501 9.11.3.2A).
type DRX uint8

// The DRX cycles, in radio frames. Values that are not known stand for DRXNotSpecified.
const (
	DRXNotSpecified DRX = 0
	DRX32           DRX = 1
	DRX64           DRX = 2
	DRX128          DRX = 3
	DRX256          DRX = 4
)

// Frames is the cycle's length in radio frames; 0: not specified.
func (d DRX) Frames() int {
	if d == DRXNotSpecified || d > DRX256 {
		return 0
	}
	return 16 << d
}

func (d *DRX) read(b []byte) bool {
	if len(b) < 1 {
		return false
	}
	if *d = DRX(b[0] & 0xf); *d > DRX256 {
		*d = DRXNotSpecified
	}
	return true
}

func (d *DRX) write(b []byte) []byte { return append(b, byte(*d)) }

// Octet is an element of one octet that this package passes on as it is.
type Octet uint8

func (o *Octet) read(b []byte) bool {
	if len(b) < 1 {
		return false
	}
	*o = Octet(b[0])
	return true
}

func (o *Octet) write(b []byte) []byte { return append(b, byte(*o)) }

// half is an element of half an octet that has a number in it.
type half[T ~uint8] struct{ of *T }

func (h half[T]) read(b []byte) bool {
	*h.of = T(b[0] & 0xf)
	return true
}

func (h half[T]) write(b []byte) []byte { return append(b, byte(*h.of)) }

// number is an optional element of half an octet whose absence is 0.
func number[T ~uint8](c *codec, iei byte, field *T) {
	if c.writing {
		if *field != 0 {
			c.put(iei, half[T]{field})
		}
		return
	}
	if content, is := c.content(iei); is {
		half[T]{field}.read(content)
	}
}

// flag is the lowest bit of an element of half an octet; the absence of the element is false.
func flag(c *codec, iei byte, field *bool) {
	v := bit(*field, 0)
	number(c, iei, &v)
	*field = v&1 != 0
}

// two are the two lowest bits of an element of half an octet; none of both is the absence of the element.
func two(c *codec, iei byte, second, first *bool) {
	v := bit(*second, 1) | bit(*first, 0)
	number(c, iei, &v)
	*second, *first = v&2 != 0, v&1 != 0
}

func (c *Cause) read(b []byte) bool {
	if len(b) < 1 {
		return false
	}
	*c = Cause(b[0])
	return true
}

func (c *Cause) write(b []byte) []byte { return append(b, byte(*c)) }

// boolean is an optional element of half an octet whose lowest bit is the value.
func boolean(c *codec, iei byte, field **bool) {
	if c.writing {
		if *field != nil {
			v := bit(**field, 0)
			c.put(iei, half[uint8]{&v})
		}
		return
	}
	if content, is := c.content(iei); is {
		*field = new(content[0]&1 != 0)
	}
}

// present is an element of half an octet that says something by being there; its lowest bit is set.
func present(c *codec, iei byte, field *bool) {
	if c.writing {
		if *field {
			c.b = append(c.b, iei|1)
		}
		return
	}
	_, *field = c.content(iei)
}
