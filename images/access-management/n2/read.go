package n2

import (
	"errors"
	"fmt"
)

// MaxOctets is the longest message that is read. The longest there are carry a UE Radio Capability, or an NG Reset of all
// that an NG-RAN node may have.
const MaxOctets = 1 << 17

// Header is what a message says before its IEs are read.
type Header struct {
	Kind        Kind
	Criticality Criticality
	// The UE's names, and the AMF's set, pointer and TMSI, nil where the message has none that can be read.
	AMF   *AMFUEID
	RAN   *RANUEID
	STMSI *FiveGSTMSI
}

// Read reads a message of either direction.
//
// A Fault without a message is one for which TS 38.413 10 says that nothing of the message is carried out; a Fault beside a
// message, that it is, and that its sender hears about IEs that were ignored. Fault.Answer is what is sent.
// Octet strings of the message are part of the octets that were given.
func Read(octets []byte) (Message, *Fault) {
	x := &exchange{mode: reading}
	x.raw = x.few[:0]
	h, known, err := x.envelope(octets)
	if err != nil {
		return nil, x.unreadable(h, known, err)
	}
	m := h.Kind.empty()
	if m == nil {
		return nil, x.notComprehended(h)
	}
	m.ies(x)
	x.rest()
	fault := x.judge(h, m)
	if fault != nil && fault.Terminated {
		return nil, fault
	}
	return m, fault
}

// Peek reads what a message is and whose, and nothing else; it does not look whether the rest can be read.
func Peek(octets []byte) (Header, error) {
	x := exchange{mode: reading}
	x.raw = x.few[:0]
	h, _, err := x.envelope(octets)
	x.names(&h)
	return h, err
}

var (
	errTooLong       = fmt.Errorf("longer than %d octets", MaxOctets)
	errTooManyIEs    = fmt.Errorf("more than %d IEs", mostIEs)
	errTypeOfMessage = errors.New("a type of message that is not known")
)

const (
	outcomeBits = 2
	mostCount   = 65535
)

// envelope reads all of a message but its IEs' values (TS 38.413 9.4.3, 9.4.8). Where it fails, known tells whether there is
// a header.
func (x *exchange) envelope(octets []byte) (h Header, known bool, err error) {
	if len(octets) > MaxOctets {
		return h, false, errTooLong
	}
	c := &x.c
	c.b = octets
	extended := c.boolean(false)
	outcome := c.get(outcomeBits)
	c.align()
	h.Kind = Kind{Procedure: Procedure(c.get(8)), Outcome: Outcome(outcome)}
	h.Criticality = c.criticality(0)
	if c.err == nil && (extended || h.Kind.Outcome > Unsuccessful) {
		return Header{}, false, errTypeOfMessage
	}
	if c.err != nil {
		return Header{}, false, x.ended()
	}
	value := c.octets(nil)
	if c.err == nil && c.left() >= 8 {
		c.fail("%d octets behind its end", c.left()/8)
	}
	if c.err != nil {
		return h, true, x.ended()
	}
	c.b, c.bit = value, 0
	x.container()
	return h, true, x.ended()
}

func (x *exchange) ended() error {
	err := x.c.err
	x.c.err = nil
	return err
}

// container reads the SEQUENCE that every message is, of one field: the list of IEs.
func (x *exchange) container() {
	c := &x.c
	extended := c.boolean(false)
	count := c.integer(0, 0, mostCount)
	if count > mostIEs {
		c.fail("%w", errTooManyIEs)
		return
	}
	for ; count > 0; count-- {
		id, criticality := c.field(0, 0)
		value := c.octets(nil)
		if c.err != nil {
			return
		}
		x.raw = append(x.raw, rawIE{id: id, criticality: criticality, value: value})
	}
	if extended {
		c.additions()
	}
	if c.err == nil && c.left() >= 8 {
		c.fail("%d octets behind its end", c.left()/8)
	}
}

// names looks for the UE's names among the IEs as they were received.
func (x *exchange) names(h *Header) {
	for n := range x.raw {
		c := coder{b: x.raw[n].value}
		switch x.raw[n].id {
		case ieAMFUEID, ieSourceAMFUEID:
			found(&h.AMF, &c, codeAMFUEID)
		case ieRANUEID:
			found(&h.RAN, &c, codeRANUEID)
		case ieFiveGSTMSI:
			found(&h.STMSI, &c, codeFiveGSTMSI)
		case ieUEIDs:
			var command UEContextReleaseCommand
			if codeUENGAPIDs(&c, &command); c.err == nil && !c.strange {
				h.AMF, h.RAN = &command.AMF, command.RAN
			}
		}
	}
}

func found[T any](to **T, c *coder, code codeOf[T]) {
	v := new(T)
	if code(c, v); c.err == nil && *to == nil {
		*to = v
	}
}
