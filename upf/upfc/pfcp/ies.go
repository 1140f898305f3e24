package pfcp

import (
	"encoding/binary"
	"errors"
	"net/netip"

	"github.com/wmnsk/go-pfcp/ie"
)

// IEs are information elements as they stand in a message (TS 29.244 8.1.1), to which others are appended. What a session's
// requests are answered is written so, for as much time goes into the IEs of go-pfcp, of which each is several objects and a
// group is encoded once for each group that it is in, as into all else that an answer takes.
type IEs []byte

// Octets appends an IE with a value.
func (b *IEs) Octets(ieType uint16, value ...byte) {
	*b = append(binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(*b, ieType), uint16(len(value))), value...)
}

// Text appends an IE that is a text.
func (b *IEs) Text(ieType uint16, value string) {
	*b = append(binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(*b, ieType), uint16(len(value))), value...)
}

// Uint16 appends an IE that is a number.
func (b *IEs) Uint16(ieType uint16, value uint16) {
	*b = binary.BigEndian.AppendUint16(append(*b, byte(ieType>>8), byte(ieType), 0, 2), value)
}

// Uint32 appends an IE that is a number.
func (b *IEs) Uint32(ieType uint16, value uint32) {
	*b = binary.BigEndian.AppendUint32(append(*b, byte(ieType>>8), byte(ieType), 0, 4), value)
}

// Begin begins a grouped IE, or one whose value is appended piece by piece; End is called with what it returns.
func (b *IEs) Begin(ieType uint16) (at int) {
	at = len(*b)
	*b = append(*b, byte(ieType>>8), byte(ieType), 0, 0)
	return at
}

// End ends it.
func (b *IEs) End(at int) {
	binary.BigEndian.PutUint16((*b)[at+2:], uint16(len(*b)-at-4))
}

// FTEID appends an F-TEID (TS 29.244 8.2.3) with the addresses that there are.
func (b *IEs) FTEID(teid uint32, v4, v6 netip.Addr) {
	at := b.Begin(ie.FTEID)
	flags := uint8(0)
	if v4.IsValid() {
		flags |= 0x01
	}
	if v6.IsValid() {
		flags |= 0x02
	}
	*b = binary.BigEndian.AppendUint32(append(*b, flags), teid)
	b.Addr(v4)
	b.Addr(v6)
	b.End(at)
}

// Addr appends an address to a value, if there is one.
func (b *IEs) Addr(a netip.Addr) {
	switch {
	case a.Is4():
		v := a.As4()
		*b = append(*b, v[:]...)
	case a.IsValid():
		v := a.As16()
		*b = append(*b, v[:]...)
	}
}

// Add appends IEs of go-pfcp. It appends none of them when there is an error.
func (b *IEs) Add(list ...*ie.IE) error {
	n := 0
	for _, i := range list {
		if i == nil {
			return errors.New("an IE could not be built")
		}
		n += i.MarshalLen()
	}
	begin := len(*b)
	out := append(*b, make([]byte, n)...)
	for at := begin; len(list) > 0; list = list[1:] {
		if err := list[0].MarshalTo(out[at:]); err != nil {
			return err
		}
		at += list[0].MarshalLen()
	}
	*b = out
	return nil
}

// Answer is what a Handler returns: the IEs of the response and the SEID of its header.
type Answer struct {
	SEID  uint64 // of the CP function; unused in node-related messages
	IEs   IEs
	cause string // in words; empty while it has none
	err   error  // the first IE that could not be built
}

// Cause appends a Cause.
func (a *Answer) Cause(cause uint8) {
	a.cause = CauseName(cause)
	a.IEs.Octets(ie.Cause, cause)
}

// Refuse appends what tells why a request is refused: the Cause first.
func (a *Answer) Refuse(r *Reject) {
	a.cause = CauseName(r.Cause)
	a.Add(r.IEs()...)
}

// Add appends IEs of go-pfcp. One that cannot be built makes the request fail.
func (a *Answer) Add(list ...*ie.IE) {
	if err := a.IEs.Add(list...); err != nil && a.err == nil {
		a.err = err
	}
}

// Reset makes it an answer that says nothing.
func (a *Answer) Reset() { *a = Answer{IEs: a.IEs[:0]} }
