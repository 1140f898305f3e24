package simulation

import (
	"bytes"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
	"core5g.dev/core5g/images/session-management/runner"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// unit is a UPF unit as far as an SMF can tell: it chooses F-TEIDs and addresses, answers a repeated establishment from
// the session that it has, and knows where downlink packets go.
type unit struct {
	address  netip.Addr
	sessions map[uint64]*unitSession // by UP SEID
	byCP     map[uint64]uint64
	next     uint64
	stamp    uint32
}

type unitSession struct {
	cpSEID, upSEID uint64
	request        []byte
	teid           uint32
	ue             netip.Addr
	far            farOf
}

// farOf is what FAR 2 says.
type farOf struct {
	action uint8
	teid   uint32
	peer   netip.Addr
}

func newUnit() *unit {
	return &unit{address: netip.MustParseAddr("172.30.3.16"), sessions: map[uint64]*unitSession{}, byCP: map[uint64]uint64{}}
}

// forget everything, as both halves' death does.
func (u *unit) forget() {
	u.sessions, u.byCP = map[uint64]*unitSession{}, map[uint64]uint64{}
	u.stamp++
}

func refusal(cause uint8) procedure.Unit {
	return procedure.Unit{Outcome: procedure.Refused, Cause: cause}
}

func (u *unit) do(a procedure.AskUnit) procedure.Unit {
	switch a.Operation {
	case procedure.Establish:
		return u.establish(a)
	case procedure.Modify:
		s, ok := u.sessions[a.UPSEID]
		if !ok {
			return refusal(ie.CauseSessionContextNotFound)
		}
		for _, e := range a.IEs {
			if e.Type == ie.UpdateFAR {
				children, err := e.UpdateFAR()
				if err != nil {
					return refusal(ie.CauseMandatoryIEIncorrect)
				}
				s.far.take(children)
			}
		}
		return procedure.Unit{Outcome: procedure.Done}
	default:
		up := a.UPSEID
		if up == 0 {
			up = u.byCP[a.CPSEID]
		}
		s, ok := u.sessions[up]
		if !ok {
			return refusal(ie.CauseSessionContextNotFound)
		}
		delete(u.sessions, up)
		delete(u.byCP, s.cpSEID)
		return procedure.Unit{Outcome: procedure.Done}
	}
}

func (u *unit) establish(a procedure.AskUnit) procedure.Unit {
	request := octets(a.IEs)
	if up, ok := u.byCP[a.CPSEID]; ok {
		if s := u.sessions[up]; bytes.Equal(s.request, request) {
			return s.established(u.address)
		}
		return refusal(ie.CauseRequestRejected)
	}
	s := &unitSession{cpSEID: a.CPSEID, request: request}
	for _, e := range a.IEs {
		switch e.Type {
		case ie.CreatePDR:
			children, err := e.CreatePDR()
			if err != nil {
				return refusal(ie.CauseMandatoryIEIncorrect)
			}
			s.pdr(children)
		case ie.CreateFAR:
			children, err := e.CreateFAR()
			if err != nil {
				return refusal(ie.CauseMandatoryIEIncorrect)
			}
			if id, err := e.FARID(); err == nil && id == 2 {
				s.far.take(children)
			}
		}
	}
	u.next++
	s.upSEID = u.next
	if s.teid == 0 {
		s.teid = u.free(func(s *unitSession) uint32 { return s.teid })
	}
	if !s.ue.IsValid() {
		n := u.free(func(s *unitSession) uint32 { b := s.ue.As4(); return uint32(b[2])<<8 | uint32(b[3]) })
		s.ue = netip.AddrFrom4([4]byte{10, 45, byte(n >> 8), byte(n)})
	}
	for _, other := range u.sessions {
		if other.teid == s.teid || other.ue == s.ue {
			return refusal(ie.CauseRequestRejected)
		}
	}
	u.sessions[s.upSEID], u.byCP[s.cpSEID] = s, s.upSEID
	return s.established(u.address)
}

// free is the smallest number that no session has.
func (u *unit) free(of func(*unitSession) uint32) uint32 {
	var used []uint32
	for _, s := range u.sessions {
		used = append(used, of(s))
	}
	for n := uint32(1); ; n++ {
		if !slices.Contains(used, n) {
			return n
		}
	}
}

func (s *unitSession) pdr(children []*ie.IE) {
	for _, c := range children {
		if c.Type != ie.PDI {
			continue
		}
		parts, err := c.PDI()
		if err != nil {
			continue
		}
		for _, p := range parts {
			switch p.Type {
			case ie.FTEID:
				if f, err := p.FTEID(); err == nil && !f.HasCh() {
					s.teid = f.TEID
				}
			case ie.UEIPAddress:
				if a, err := p.UEIPAddress(); err == nil && a.IPv4Address != nil {
					s.ue, _ = netip.AddrFromSlice(a.IPv4Address.To4())
				}
			}
		}
	}
}

func (f *farOf) take(children []*ie.IE) {
	for _, c := range children {
		switch c.Type {
		case ie.FARID:
			if id, err := c.FARID(); err != nil || id != 2 {
				return
			}
		case ie.ApplyAction:
			if b, err := c.ApplyAction(); err == nil && len(b) > 0 {
				f.action, f.teid, f.peer = b[0], 0, netip.Addr{}
			}
		}
	}
	for _, c := range children {
		if c.Type != ie.ForwardingParameters && c.Type != ie.UpdateForwardingParameters {
			continue
		}
		parts, err := c.ForwardingParameters()
		if c.Type == ie.UpdateForwardingParameters {
			parts, err = c.UpdateForwardingParameters()
		}
		if err != nil {
			continue
		}
		for _, p := range parts {
			if p.Type == ie.OuterHeaderCreation {
				if o, err := p.OuterHeaderCreation(); err == nil {
					f.teid = o.TEID
					f.peer, _ = netip.AddrFromSlice(o.IPv4Address.To4())
				}
			}
		}
	}
}

func (s *unitSession) established(n3 netip.Addr) procedure.Unit {
	return procedure.Unit{Outcome: procedure.Done, Established: &message.SessionEstablishmentResponse{
		Cause:   ie.NewCause(ie.CauseRequestAccepted),
		UPFSEID: ie.NewFSEID(s.upSEID, []byte{10, 0, 0, 1}, nil),
		CreatedPDR: []*ie.IE{ie.NewCreatedPDR(
			ie.NewPDRID(1), ie.NewFTEID(1, s.teid, n3.AsSlice(), nil, 0), ie.NewUEIPAddress(2, s.ue.String(), "", 0, 0),
		)},
	}}
}

// octets of a request, by which one that is repeated is known.
func octets(ies []*ie.IE) []byte {
	var out []byte
	for _, e := range ies {
		b, err := e.Marshal()
		if err != nil {
			panic(fmt.Sprintf("an IE of type %d cannot be written: %v", e.Type, err))
		}
		out = append(out, b...)
	}
	return out
}

// tunnel where downlink packets go; zero: into the buffer, or nowhere.
func (f farOf) tunnel() record.Tunnel {
	if f.action&2 == 0 {
		return record.Tunnel{}
	}
	return record.Tunnel{TEID: f.teid, IPv4: f.peer}
}

func (u *unit) list() (listed []runner.Listed) {
	for _, up := range slices.Sorted(maps.Keys(u.sessions)) {
		listed = append(listed, runner.Listed{CPSEID: u.sessions[up].cpSEID, UPSEID: up})
	}
	return listed
}
