package simulation

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
	"core5g.dev/core5g/images/session-management/runner"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// unit is a UPF unit as far as an SMF can tell: it chooses F-TEIDs and addresses, answers a repeated establishment from
// the session that it has, and knows where downlink packets go.
type unit struct {
	nodeID   string
	w        *world
	address  netip.Addr
	pool     byte                    // the second octet of its UEs' addresses
	sessions map[uint64]*unitSession // by UP SEID
	byCP     map[uint64]uint64
	next     uint64
	stamp    uint32
	away     time.Time // until then it does not answer
	// real: it is upf-c's own code, and of what is here only names and addresses are its.
	real *upf
	// foreign: another maker's. It restores no session that it has, and does not soon give what a session had to another.
	foreign bool
	given   uint32
	// lastAddress that it chose, in its pool, by network instance.
	lastAddress map[string]uint32
	// restoring are the shards that may make sessions anew since it began: it chooses nothing for new ones meanwhile (RESTI).
	restoring map[uint16]bool
	// gone: it was taken away. taken counts how often that was begun, or taken back.
	gone  bool
	taken int
}

type unitSession struct {
	cpSEID, upSEID uint64
	request        []byte
	teid           uint32
	ue             netip.Addr
	network        string // instance of N6, in which the UE has its address
	frames         bool   // it is of type Ethernet, and the UE has none: ethernet.go
	far            farOf
	// of a branch: its endpoint on N9, where uplink packets go, and whether some leave there
	core  uint32
	up    farOf
	local bool
	// what it has counted: chf.go
	meters  map[uint32]*meter
	reports []*usageReport
	rules   ruleBook // mobility.go
	// in a real one: its number, and the MAC addresses that upf-c knows of
	index    uint32
	stations []string
}

// farOf is what FAR 2 says.
type farOf struct {
	action uint8
	teid   uint32
	peer   netip.Addr
}

func newUnit(w *world, n byte) *unit {
	return &unit{
		nodeID: fmt.Sprint("upf-", n), w: w, address: netip.AddrFrom4([4]byte{172, 30, 3, 16 + n}), pool: 45 + n, lastAddress: map[string]uint32{},
		sessions: map[uint64]*unitSession{}, byCP: map[uint64]uint64{}, foreign: w.Chance(4),
	}
}

// forget everything, as both halves' death does.
func (u *unit) forget() {
	if u.real != nil {
		u.real.die()
		return
	}
	u.w.Note("%s restarts", u.nodeID)
	for _, s := range u.has() {
		u.forgets(s)
	}
	u.sessions, u.byCP, u.restoring = map[uint64]*unitSession{}, map[uint64]uint64{}, map[uint16]bool{}
	u.stamp++
	clear(u.lastAddress)
	for n := range u.w.shards {
		u.restoring[n+1] = true
	}
	for _, p := range u.w.pods {
		if p.Alive {
			for _, name := range u.w.shardNames() {
				if h := p.held[name]; h != nil {
					p.met(h, u)
				}
			}
		}
	}
}

func (u *unit) restored(shard uint16, stamp uint32) {
	if stamp == u.stamp {
		delete(u.restoring, shard)
	}
}

func refusal(cause uint8) procedure.Unit {
	return procedure.Unit{Outcome: procedure.Refused, Cause: cause}
}

func (u *unit) do(shard uint16, a procedure.AskUnit) procedure.Unit {
	if record.ShardOf(a.CPSEID) != shard {
		u.w.Fail("shard %d asks for session %x", shard, a.CPSEID)
	}
	switch a.Operation {
	case procedure.Establish:
		return u.establish(a)
	case procedure.Modify:
		s, ok := u.sessions[a.UPSEID]
		if !ok {
			return refusal(ie.CauseSessionContextNotFound)
		}
		next, ok := s.rules.apply(a.IEs)
		if !ok {
			return refusal(ie.CauseRuleCreationModificationFailure)
		}
		s.rules = next
		usage := s.says(a.IEs, false)
		s.metering(a.IEs)
		for _, e := range a.IEs {
			if e.Type == ie.UpdateFAR {
				children, err := e.UpdateFAR()
				if err != nil {
					return refusal(ie.CauseMandatoryIEIncorrect)
				}
				s.take(children)
			}
		}
		s.local = s.rules[ie.CreatePDR][5]
		return u.relayed(s, procedure.Unit{Outcome: procedure.Done, Usage: usage})
	default:
		up := a.UPSEID
		if up == 0 {
			up = u.byCP[a.CPSEID]
		}
		if u.sessions[up] == nil {
			return refusal(ie.CauseSessionContextNotFound)
		}
		usage := u.sessions[up].says(nil, true)
		u.drop(up)
		return procedure.Unit{Outcome: procedure.Done, Usage: usage}
	}
}

func (u *unit) establish(a procedure.AskUnit) procedure.Unit {
	request := octets(a.IEs)
	up, there := u.byCP[a.CPSEID]
	restores := slices.ContainsFunc(a.IEs, func(e *ie.IE) bool { return e.Type == ie.PFCPSEReqFlags && len(e.Payload) > 0 && e.Payload[0]&1 != 0 })
	switch {
	case there && restores && u.foreign:
		return refusal(ie.CauseRequestRejected)
	case there && !restores:
		if s := u.sessions[up]; bytes.Equal(s.request, request) {
			return u.relayed(s, s.established(u.address))
		}
		return refusal(ie.CauseRequestRejected)
	}
	s, chooses := &unitSession{cpSEID: a.CPSEID, upSEID: up, request: request}, false
	s.rules, _ = s.rules.apply(a.IEs)
	s.metering(a.IEs)
	for _, e := range a.IEs {
		switch e.Type {
		case ie.PDNType:
			s.frames = e.Payload[0] == pdnEthernet
		case ie.CreatePDR:
			children, err := e.CreatePDR()
			if err != nil {
				return refusal(ie.CauseMandatoryIEIncorrect)
			}
			switch ruleID(e) {
			case 3: // what is forwarded has a tunnel of its own
			case 4:
				chooses = true
				s.core = fteidOf(children)
			default:
				s.pdr(children)
			}
		case ie.CreateFAR:
			children, err := e.CreateFAR()
			if err != nil {
				return refusal(ie.CauseMandatoryIEIncorrect)
			}
			s.take(children)
		}
	}
	branch := chooses
	s.local = s.rules[ie.CreatePDR][5]
	if chooses = s.teid == 0 || branch && s.core == 0 || !branch && !s.frames && !s.ue.IsValid(); chooses && len(u.restoring) > 0 {
		return refusal(ie.CauseNoResourcesAvailable)
	}
	if !there {
		u.next++
		s.upSEID = u.next
	}
	if s.teid == 0 {
		s.teid = u.free(func(s *unitSession) []uint32 { return []uint32{s.teid, s.core} })
	}
	if branch && s.core == 0 {
		s.core = u.free(func(o *unitSession) []uint32 { return []uint32{o.teid, o.core} }, s.teid)
	}
	if !branch && !s.frames && !s.ue.IsValid() {
		n := u.freeAddress(s.network)
		s.ue = netip.AddrFrom4([4]byte{10, u.pool, byte(n >> 8), byte(n)})
	}
	for _, other := range u.sessions {
		taken := func(teid uint32) bool { return teid != 0 && (teid == other.teid || teid == other.core) }
		if other.upSEID != s.upSEID && (taken(s.teid) || taken(s.core) || s.ue.IsValid() && other.ue == s.ue && other.network == s.network && !branch && other.core == 0) {
			return refusal(ie.CauseRequestRejected)
		}
	}
	if was := u.sessions[s.upSEID]; was != nil {
		u.forgets(was)
	}
	u.sessions[s.upSEID], u.byCP[s.cpSEID] = s, s.upSEID
	if s.frames {
		u.hears(s)
	}
	return u.relayed(s, s.established(u.address))
}

// poolSize is small, so that addresses come again.
const poolSize = 16

// freeAddress walks through the pool, as upf-c does, which is the same in all network instances.
func (u *unit) freeAddress(network string) uint32 {
	for {
		last := u.lastAddress[network]%poolSize + 1
		u.lastAddress[network] = last
		at := netip.AddrFrom4([4]byte{10, u.pool, byte(last >> 8), byte(last)})
		used := false
		for _, s := range u.sessions {
			used = used || s.ue == at && s.network == network
		}
		if !used {
			return last
		}
	}
}

// free is the smallest number that no session has.
func (u *unit) free(of func(*unitSession) []uint32, used ...uint32) uint32 {
	if u.foreign {
		u.given++
		return u.given
	}
	for _, s := range u.sessions {
		used = append(used, of(s)...)
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
			case ie.NetworkInstance:
				// The data network's is another one than N3's and N9's.
				if name, err := p.NetworkInstance(); err == nil && name != "access" {
					s.network = name
				}
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

// fteidOf a PDR's PDI; 0: it is to be chosen.
func fteidOf(children []*ie.IE) uint32 {
	s := &unitSession{}
	s.pdr(children)
	return s.teid
}

// take a FAR: where packets go, up and down.
func (s *unitSession) take(children []*ie.IE) {
	for _, c := range children {
		id, err := c.FARID()
		switch {
		case c.Type != ie.FARID || err != nil:
		case id == 1:
			s.up.take(children)
		case id == 2:
			s.far.take(children)
		}
	}
}

func (f *farOf) take(children []*ie.IE) {
	for _, c := range children {
		switch c.Type {
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
	if s.core != 0 {
		return procedure.Unit{Outcome: procedure.Done, Established: &message.SessionEstablishmentResponse{
			Cause:   ie.NewCause(ie.CauseRequestAccepted),
			UPFSEID: ie.NewFSEID(s.upSEID, []byte{10, 0, 0, 1}, nil),
			CreatedPDR: []*ie.IE{
				ie.NewCreatedPDR(ie.NewPDRID(1), ie.NewFTEID(1, s.teid, n3.AsSlice(), nil, 0)),
				ie.NewCreatedPDR(ie.NewPDRID(4), ie.NewFTEID(1, s.core, n3.AsSlice(), nil, 0)),
			},
		}}
	}
	chosen := []*ie.IE{ie.NewPDRID(1), ie.NewFTEID(1, s.teid, n3.AsSlice(), nil, 0)}
	if !s.frames {
		chosen = append(chosen, ie.NewUEIPAddress(2, s.ue.String(), "", 0, 0))
	}
	return procedure.Unit{Outcome: procedure.Done, Established: &message.SessionEstablishmentResponse{
		Cause:      ie.NewCause(ie.CauseRequestAccepted),
		UPFSEID:    ie.NewFSEID(s.upSEID, []byte{10, 0, 0, 1}, nil),
		CreatedPDR: []*ie.IE{ie.NewCreatedPDR(chosen...)},
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

func (u *unit) list(shard uint16) (listed []runner.Listed, err error) {
	if u.silent() {
		return nil, errors.New("the unit does not answer")
	}
	for _, up := range slices.Sorted(maps.Keys(u.sessions)) {
		if s := u.sessions[up]; record.ShardOf(s.cpSEID) == shard {
			listed = append(listed, runner.Listed{CPSEID: s.cpSEID, UPSEID: up})
		}
	}
	return listed, nil
}

func (u *unit) drop(up uint64) {
	if s := u.sessions[up]; s != nil {
		delete(u.byCP, s.cpSEID)
		delete(u.sessions, up)
	}
}

// has lists its sessions.
func (u *unit) has() (list []*unitSession) {
	if u.real != nil {
		return u.real.sessions()
	}
	for _, up := range slices.Sorted(maps.Keys(u.sessions)) {
		list = append(list, u.sessions[up])
	}
	return list
}
