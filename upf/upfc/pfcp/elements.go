package pfcp

import (
	"encoding/binary"

	"github.com/wmnsk/go-pfcp/ie"
)

// Element is one information element as it stands in a message (TS 29.244 8.1.1). Value aliases
// the datagram.
type Element struct {
	Type       uint16
	Enterprise uint16 // of a vendor-specific IE
	Value      []byte
}

// Elements are the IEs of a message or of a grouped IE, in order.
type Elements []Element

const maxElements = 8192 // in one message or grouped IE; far above any list that is useful

// ParseElements splits b. It does not descend into grouped IEs: who knows the type does that.
func ParseElements(b []byte) (Elements, error) {
	n := 0
	for rest := b; len(rest) >= 4 && n < maxElements; n++ { // so that the list is made once
		rest = rest[min(len(rest), 4+int(binary.BigEndian.Uint16(rest[2:]))):]
	}
	if n == 0 && len(b) == 0 {
		return nil, nil
	}
	return parseElements(make(Elements, 0, n), b)
}

// parseElements appends what b holds to list.
func parseElements(list Elements, b []byte) (Elements, error) {
	for len(b) > 0 {
		if len(b) < 4 {
			return nil, &Reject{Cause: ie.CauseInvalidLength, Detail: "octets left over that are no IE"}
		}
		e := Element{Type: binary.BigEndian.Uint16(b)}
		n := int(binary.BigEndian.Uint16(b[2:]))
		if n > len(b)-4 {
			return nil, &Reject{Cause: ie.CauseInvalidLength, Offending: e.Type, Detail: "IE longer than what holds it"}
		}
		e.Value, b = b[4:4+n], b[4+n:]
		if e.Type&0x8000 != 0 {
			if n < 2 {
				return nil, &Reject{Cause: ie.CauseInvalidLength, Offending: e.Type, Detail: "vendor IE without enterprise number"}
			}
			e.Enterprise, e.Value = binary.BigEndian.Uint16(e.Value), e.Value[2:]
		}
		if list = append(list, e); len(list) > maxElements {
			return nil, &Reject{Cause: ie.CauseNoResourcesAvailable, Offending: e.Type, Detail: "too many IEs"}
		}
	}
	return list, nil
}

// Types are those of some IEs, as far as 64 bits can say.
type Types uint64

// Types are those that are there.
func (l Elements) Types() (t Types) {
	for i := range l {
		t |= 1 << (l[i].Type % 64)
	}
	return t
}

// May says whether there may be an IE of a type; false: there is none.
func (t Types) May(ieType uint16) bool { return t>>(ieType%64)&1 != 0 }

// First finds the first IE of a type; nil when there is none.
func (l Elements) First(ieType uint16) *Element {
	for i := range l {
		if l[i].Type == ieType {
			return &l[i]
		}
	}
	return nil
}

// All collects the IEs of a type in order.
func (l Elements) All(ieType uint16) Elements {
	var out Elements
	for _, e := range l {
		if e.Type == ieType {
			out = append(out, e)
		}
	}
	return out
}

// Group reads the IEs inside a grouped IE.
func (e *Element) Group() (Elements, error) {
	list, err := ParseElements(e.Value)
	return list, e.refused(err)
}

// GroupIn is Group in room that somebody has, and that grows with what it has to hold.
func (e *Element) GroupIn(room *Elements) (Elements, error) {
	list, err := parseElements((*room)[:0], e.Value)
	if err != nil {
		return nil, e.refused(err)
	}
	*room = list
	return list, nil
}

// refused has a refusal of what a grouped IE holds name the group, where it names nothing.
func (e *Element) refused(err error) error {
	if r, ok := err.(*Reject); ok && r.Offending == 0 {
		r.Offending = e.Type
	}
	return err
}

// IE hands the element to go-pfcp's decoders.
func (e *Element) IE() *ie.IE { return ie.New(e.Type, e.Value) }

// Removes says that an IE of an update takes a parameter away: it is there with length 0 (TS 29.244
// 5.6.3). It may be asked of a nil Element.
func (e *Element) Removes(create bool) bool { return e != nil && !create && len(e.Value) == 0 }

func (e *Element) short(n int) error {
	if len(e.Value) < n {
		return &Reject{Cause: ie.CauseInvalidLength, Offending: e.Type, Detail: "IE too short"}
	}
	return nil
}

// Uint8 reads the first octet.
func (e *Element) Uint8() (uint8, error) {
	if err := e.short(1); err != nil {
		return 0, err
	}
	return e.Value[0], nil
}

// Uint16 reads the first two octets.
func (e *Element) Uint16() (uint16, error) {
	if err := e.short(2); err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint16(e.Value), nil
}

// Uint32 reads the first four octets.
func (e *Element) Uint32() (uint32, error) {
	if err := e.short(4); err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint32(e.Value), nil
}
