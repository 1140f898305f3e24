// Package extension is what core5g's UPF and SMF tell each other beyond TS 29.244, in vendor-specific IEs (8.1.1) of
// PFCP Association Setup and Update messages: both sides' codec. Who does not know them skips them, and answers as if
// they were not there; docs/adr/0014-lists-and-restoration-in-vendor-ies.md says why they are as they are.
package extension

import (
	"encoding/binary"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/pfcp"
)

// Enterprise is the number under which the IEs stand. The project has none of its own: this is the one for
// documentation (RFC 5612).
const Enterprise = 32473

// Types of the IEs.
const (
	ListSessions uint16 = 0x8001
	SessionList  uint16 = 0x8002
	Restoration  uint16 = 0x8003
)

// nodeMax bounds a Node ID, and stateHead is what stands before them, in octets.
const (
	nodeMax   = 255
	stateHead = 5
)

// Find is the first IE of a type; nil when there is none.
func Find(l pfcp.Elements, ieType uint16) *pfcp.Element {
	for i := range l {
		if l[i].Type == ieType && l[i].Enterprise == Enterprise {
			return &l[i]
		}
	}
	return nil
}

func invalid(ieType uint16, detail string) error {
	return &pfcp.Reject{Cause: ie.CauseInvalidLength, Offending: ieType, Detail: detail}
}

// A Session is one that a UPF has: the CP function's SEID for it and the UPF's.
type Session struct{ CP, UP uint64 }

// A Page is a part of the list of a CP function's sessions. Asked for with cursor 0 and then with each answer's Next
// until that is 0, the pages have every session that was there all the time exactly once; those that came or went
// meanwhile may be in them or not.
type Page struct {
	Next     uint64
	Sessions []Session
}

// NewListSessions asks, in a PFCP Association Update Request, for a page of the sessions of the Node ID that asks: 8
// octets, the cursor.
func NewListSessions(cursor uint64) *ie.IE {
	return ie.NewVendorSpecificIE(ListSessions, Enterprise, binary.BigEndian.AppendUint64(nil, cursor))
}

// ReadListSessions is the cursor.
func ReadListSessions(e *pfcp.Element) (cursor uint64, err error) {
	if len(e.Value) < 8 {
		return 0, invalid(e.Type, "List Sessions has 8 octets, the cursor")
	}
	return binary.BigEndian.Uint64(e.Value), nil
}

// pageHead and sessionSize are the octets of a page without sessions, and of each.
const (
	ieHead      = 6
	pageHead    = 8
	sessionSize = 16
)

// PageFits is how many sessions a page has that takes so many octets in its message, at most.
func PageFits(octets int) int { return max(0, (octets-ieHead-pageHead)/sessionSize) }

// IE is the page in a PFCP Association Update Response: 8 octets, the cursor that follows, then for each session 8
// octets CP SEID and 8 octets UP SEID.
func (p *Page) IE() *ie.IE {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, pageHead+sessionSize*len(p.Sessions)), p.Next)
	for _, s := range p.Sessions {
		b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, s.CP), s.UP)
	}
	return ie.NewVendorSpecificIE(SessionList, Enterprise, b)
}

// ReadPage reads a page.
func ReadPage(e *pfcp.Element) (p Page, err error) {
	b := e.Value
	if len(b) < pageHead || (len(b)-pageHead)%sessionSize != 0 {
		return p, invalid(e.Type, "Session List has 8 octets and 16 for each session")
	}
	p.Next = binary.BigEndian.Uint64(b)
	if b = b[pageHead:]; len(b) > 0 {
		p.Sessions = make([]Session, 0, len(b)/sessionSize)
	}
	for ; len(b) > 0; b = b[sessionSize:] {
		p.Sessions = append(p.Sessions, Session{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])})
	}
	return p, nil
}

// A State of restoration is what a CP function says, in PFCP Association Setup and Update Requests, to a UPF that began
// anew: it has restored all of its sessions there (or has none), and who else restores some. The UPF chooses no F-TEID
// and no UE address for a new session until all of them have said that they are done. That counts for the life of the
// UPF that it is about: who does not know yet that the UPF has begun anew must not be believed. Done is final in a life.
type State struct {
	Done     bool
	Recovery uint32   // the UPF's Recovery Time Stamp as it is on the wire, that Done is about; 0: not known, and not done
	Nodes    []string // Node IDs of CP functions, as text; who sends it need not be among them
}

// IE is one octet, 1 when it is done, four with the Recovery Time Stamp, then for each node an octet with the length of
// its text, and that. A Node ID that is empty or longer than 255 octets is left out.
func (s *State) IE() *ie.IE {
	b := []byte{0}
	if s.Done {
		b[0] = 1
	}
	b = binary.BigEndian.AppendUint32(b, s.Recovery)
	for _, n := range s.Nodes {
		if len(n) > 0 && len(n) <= nodeMax {
			b = append(append(b, byte(len(n))), n...)
		}
	}
	return ie.NewVendorSpecificIE(Restoration, Enterprise, b)
}

// ReadState reads a State. Further bits of the first octet are ignored.
func ReadState(e *pfcp.Element) (s State, err error) {
	b := e.Value
	if len(b) < stateHead {
		return s, invalid(e.Type, "Restoration has an octet of flags and a Recovery Time Stamp")
	}
	s.Done, s.Recovery = b[0]&1 != 0, binary.BigEndian.Uint32(b[1:])
	for b = b[stateHead:]; len(b) > 0; {
		n := int(b[0])
		if n == 0 || n > len(b)-1 {
			return State{}, invalid(e.Type, "Restoration: a Node ID is empty or cut short")
		}
		s.Nodes = append(s.Nodes, string(b[1:1+n]))
		b = b[1+n:]
	}
	return s, nil
}
