package simulated

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/dataplane/fakeupfu"
	"core5g.dev/core5g/upf/upfc/extension"
	"core5g.dev/core5g/upf/upfc/nat"
	"core5g.dev/core5g/upf/upfc/pfcp"
)

// story is a CP function with two instances that establishes and deletes sessions on a UPF whose halves die, through a
// network that loses, repeats, delays and reorders. It knows nothing of the UPF but its answers.
type story struct {
	t      *testing.T
	chance *rand.Rand
	upf    *UPF
	now    time.Time
	calm   bool // nothing goes wrong any more
	moving []moving
	seq    uint32
	asked  map[uint32]ask
	// What it knows.
	stamp    uint32 // of the UPF; 0: it was never told
	known    bool   // the UPF has its association
	life     int    // of the UPF, as far as it knows
	sessions map[uint64]*kept
	next     uint64
	restored bool // it has told the UPF that it is done
	told     int  // answers to requests for a session
	restores int
	nat      bool // the UPF has NAT44
}

// moving is a datagram under way; from is not valid when it is the UPF's.
type moving struct {
	at   time.Time
	from netip.AddrPort
	b    []byte
}

// ask is a request without an answer yet.
type ask struct {
	life   int
	about  uint64 // CP SEID
	answer func(k *kept, m *pfcp.Message)
}

// kept is what it knows of a session.
type kept struct {
	state    string // "asked", "there", "lost", "ending"; a session that is gone is not kept
	up       uint64
	teid, ue *ie.IE
}

var instances = []netip.AddrPort{netip.MustParseAddrPort("10.0.0.101:4001"), netip.MustParseAddrPort("10.0.0.102:4002")}

func newStory(t *testing.T, seed uint64) *story {
	t.Helper()
	c, err := config.Parse([]byte(`
nodeID: upf.test
pfcp: {listen: "0.0.0.0:8805", advertise: 10.0.1.1, controlPlaneSubnets: [10.0.0.0/24]}
heartbeat: {interval: 5s, releaseAfter: 0s}
n3: {endpoints: [172.30.3.16/28]}
uePools: [{networkInstance: internet, range: 10.60.0.0/27}]
`))
	if err != nil {
		t.Fatal(err)
	}
	c.State.File = ""
	s := &story{t: t, chance: rand.New(rand.NewPCG(seed, 2)), now: begin, asked: map[uint32]ask{}, sessions: map[uint64]*kept{}}
	var nat44 []fakeupfu.Network
	if s.nat = seed%2 != 0; s.nat { // a block more than there are addresses
		nat44 = []fakeupfu.Network{{Name: "internet", NAT: nat.Config{Ports: 2048, Prefixes: []netip.Prefix{netip.MustParsePrefix("203.0.113.7/32")}}}}
	}
	s.upf = New(Options{
		Of:     nat44,
		Config: c, Start: begin, Chance: rand.New(rand.NewPCG(seed, 3)),
		Send: func(_ netip.AddrPort, b []byte) { s.travel(netip.AddrPort{}, b) },
		Fate: func() Fate {
			if !s.calm && s.chance.IntN(25) == 0 {
				return Fate(1 + s.chance.IntN(4))
			}
			return Done
		},
	})
	return s
}

// travel puts a datagram on its way: twice, or not at all, when the network wants it.
func (s *story) travel(from netip.AddrPort, b []byte) {
	copies := 1
	if !s.calm {
		switch s.chance.IntN(12) {
		case 0:
			copies = 0
		case 1:
			copies = 2
		}
	}
	for range copies {
		s.moving = append(s.moving, moving{s.now.Add(time.Duration(s.chance.IntN(80)) * time.Millisecond), from, bytes.Clone(b)})
	}
}

// pass lets time pass.
func (s *story) pass(d time.Duration) {
	for end := s.now.Add(d); ; {
		first := -1
		for i, m := range s.moving {
			if first < 0 || m.at.Before(s.moving[first].at) {
				first = i
			}
		}
		next, ok := s.upf.NextDeadline()
		switch {
		case first >= 0 && !s.moving[first].at.After(end) && (!ok || !next.Before(s.moving[first].at)):
			m := s.moving[first]
			s.moving = slices.Delete(s.moving, first, first+1)
			s.advance(m.at)
			if m.from.IsValid() {
				s.upf.Receive(m.from, m.b)
			} else {
				s.receive(m.b)
			}
		case ok && !next.After(end):
			s.advance(next)
		default:
			s.advance(end)
			return
		}
	}
}

func (s *story) advance(to time.Time) {
	if to.After(s.now) {
		s.now = to
	}
	s.upf.Tick(s.now)
}

// send asks, from one of the instances.
func (s *story) send(about uint64, build func(seq uint32) message.Message, answer func(k *kept, m *pfcp.Message)) {
	s.seq++
	m := build(s.seq)
	b := make([]byte, m.MarshalLen())
	if err := m.MarshalTo(b); err != nil {
		s.t.Fatal(err)
	}
	s.asked[s.seq] = ask{s.life, about, answer}
	from := instances[s.chance.IntN(len(instances))]
	s.travel(from, b)
	if !s.calm && s.chance.IntN(8) == 0 {
		s.travel(from, b) // T1 was short
	}
}

var storyNode = ie.NewNodeID("10.0.0.9", "", "")

func (s *story) receive(b []byte) {
	m, err := pfcp.Parse(b)
	if err != nil {
		s.t.Fatalf("upf-c sent % x: %v", b, err)
	}
	if m.Type == message.MsgTypeHeartbeatRequest {
		h, err := message.NewHeartbeatResponse(m.Sequence, ie.NewRecoveryTimeStamp(begin)).Marshal()
		if err != nil {
			s.t.Fatal(err)
		}
		s.travel(instances[0], h)
		return
	}
	a, ok := s.asked[m.Sequence]
	if !ok || m.Type == message.MsgTypeHeartbeatRequest || a.life != s.life {
		return // twice, or of what the UPF was before
	}
	delete(s.asked, m.Sequence)
	if a.about == 0 {
		a.answer(nil, m)
	} else if k := s.sessions[a.about]; k != nil {
		a.answer(k, m)
	}
}

func cause(m *pfcp.Message) uint8 {
	e := m.Elements.First(ie.Cause)
	if e == nil || len(e.Value) == 0 {
		return 0
	}
	return e.Value[0]
}

// saw notes the UPF's Recovery Time Stamp.
func (s *story) saw(m *pfcp.Message) {
	e := m.Elements.First(ie.RecoveryTimeStamp)
	if e == nil {
		return
	}
	stamp, err := e.Uint32()
	if err != nil {
		s.t.Fatal(err)
	}
	if s.stamp != 0 && stamp != s.stamp {
		s.stamp, s.restored, s.known = stamp, false, false
		s.life++
		for _, seid := range slices.Sorted(maps.Keys(s.sessions)) {
			switch k := s.sessions[seid]; k.state {
			case "there":
				k.state = "lost"
			case "ending":
				delete(s.sessions, seid)
			}
		}
		s.associate()
	}
	s.stamp = stamp
}

// associate says that it may have sessions to restore: whether the UPF still has them, the answer tells.
func (s *story) associate() {
	state := extension.State{}
	s.send(0, func(seq uint32) message.Message {
		return message.NewAssociationSetupRequest(seq, storyNode, ie.NewRecoveryTimeStamp(begin), ie.New(ie.PFCPSessionRetentionInformation, nil), state.IE())
	}, func(_ *kept, m *pfcp.Message) {
		if cause(m) == ie.CauseRequestAccepted {
			s.known, s.restored = true, false
			s.saw(m)
		}
	})
}

func (s *story) allThere() bool {
	for _, k := range s.sessions {
		if k.state == "lost" {
			return false
		}
	}
	return true
}

func (s *story) heartbeat() {
	s.send(0, func(seq uint32) message.Message {
		return message.NewHeartbeatRequest(seq, ie.NewRecoveryTimeStamp(begin), nil)
	}, func(_ *kept, m *pfcp.Message) { s.saw(m) })
}

// establish asks for a session, or for the one that it had.
func (s *story) establish(seid uint64) {
	k := s.sessions[seid]
	session := chooses()
	if k.state == "lost" {
		far := ie.NewCreateFAR(ie.NewFARID(1), ie.NewApplyAction(0x02), ie.NewForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceCore)))
		urr := ie.NewCreateURR(ie.NewURRID(1), ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0x02, 0), ie.NewVolumeThreshold(0x01, 1000, 0, 0))
		session = []*ie.IE{ie.NewPFCPSEReqFlags(1), ie.NewPDNType(1), far, urr,
			ie.NewCreatePDR(ie.NewPDRID(1), ie.NewPrecedence(1), ie.NewFARID(1), ie.NewURRID(1), ie.NewOuterHeaderRemoval(0, 0),
				ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceAccess), ie.NewNetworkInstance("internet"), k.teid, k.ue)),
			ie.NewCreatePDR(ie.NewPDRID(2), ie.NewPrecedence(2), ie.NewFARID(1),
				ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceCore), ie.NewNetworkInstance("internet"), k.ue)),
		}
	}
	restores := k.state == "lost"
	s.send(seid, func(seq uint32) message.Message {
		return message.NewSessionEstablishmentRequest(0, 0, 0, seq, 0,
			append([]*ie.IE{storyNode, ie.NewFSEID(seid, net.IP(smf.Addr().AsSlice()), nil)}, session...)...)
	}, func(k *kept, m *pfcp.Message) { s.established(seid, k, restores, m) })
}

func (s *story) established(seid uint64, k *kept, restores bool, m *pfcp.Message) {
	switch c := cause(m); c {
	case ie.CauseRequestAccepted:
	case ie.CauseNoEstablishedPFCPAssociation:
		s.known = false
		return
	case ie.CauseSystemFailure: // upf-u is away
		return
	case ie.CausePFCPEntityInCongestion:
		if restores {
			s.t.Errorf("session %d is not restored: sessions are being restored", seid)
		}
		return
	case pfcp.CauseAllAddressesOccupied:
		return
	default:
		s.t.Errorf("session %d (%s, restores %t) is refused: %s", seid, k.state, restores, pfcp.CauseName(c))
		return
	}
	s.told++
	up, _, _, err := m.Elements.First(ie.FSEID).FSEID()
	if err != nil {
		s.t.Fatal(err)
	}
	if k.state != "asked" && k.state != "lost" {
		if k.up != up {
			s.t.Errorf("session %d is answered with UP SEID %#x, was with %#x", seid, up, k.up)
		}
		return
	}
	if k.up = up; restores {
		k.state = "there"
		s.restores++
		return
	}
	k.state = "there"
	for _, e := range m.Elements.All(ie.CreatedPDR) {
		inside, err := e.Group()
		if err != nil {
			s.t.Fatal(err)
		}
		if f := inside.First(ie.FTEID); f != nil {
			k.teid = ie.New(ie.FTEID, f.Value)
		}
		if u := inside.First(ie.UEIPAddress); u != nil {
			k.ue = ie.New(ie.UEIPAddress, u.Value)
		}
	}
	for other, o := range s.sessions {
		if other != seid && o.teid != nil && o.state != "ending" && (bytes.Equal(o.teid.Payload, k.teid.Payload) || bytes.Equal(o.ue.Payload, k.ue.Payload)) {
			s.t.Errorf("sessions %d (%s) and %d both have F-TEID % x and % x, UE address % x and % x", other, o.state, seid, o.teid.Payload, k.teid.Payload, o.ue.Payload, k.ue.Payload)
		}
	}
}

func (s *story) end(seid uint64) {
	k := s.sessions[seid]
	k.state = "ending"
	s.deletion(seid, k.up, func() { delete(s.sessions, seid) })
}

func (s *story) deletion(seid, up uint64, gone func()) {
	s.send(seid, func(seq uint32) message.Message {
		return message.NewSessionDeletionRequest(0, 0, up, seq, 0)
	}, func(_ *kept, m *pfcp.Message) {
		switch cause(m) {
		case ie.CauseRequestAccepted, ie.CauseSessionContextNotFound:
			gone()
		}
	})
}

// goOn does what is left to be done, once.
func (s *story) goOn() (quiet bool) {
	if s.heartbeat(); !s.known {
		s.associate()
		return false
	}
	quiet = true
	for _, seid := range slices.Sorted(maps.Keys(s.sessions)) {
		switch s.sessions[seid].state {
		case "asked", "lost":
			s.establish(seid)
			quiet = false
		case "ending":
			s.end(seid)
			quiet = false
		}
	}
	if !s.restored && s.allThere() {
		state := extension.State{Done: true, Recovery: s.stamp}
		s.send(0, func(seq uint32) message.Message {
			return message.NewAssociationUpdateRequest(seq, storyNode, state.IE())
		},
			func(_ *kept, m *pfcp.Message) { s.restored = cause(m) == ie.CauseRequestAccepted })
		quiet = false
	}
	return quiet
}

// startUPFC starts upf-c a second after it died: Recovery Time Stamps have seconds.
func (s *story) startUPFC() {
	if s.upf.UPFC() == nil {
		s.pass(time.Second)
		s.upf.StartUPFC()
	}
}

// list is what the UPF says that it has: UP SEIDs by CP SEID.
func (s *story) list() map[uint64]uint64 {
	found := map[uint64]uint64{}
	for cursor, over := uint64(0), false; !over; {
		answered := false
		s.send(0, func(seq uint32) message.Message {
			return message.NewAssociationUpdateRequest(seq, storyNode, extension.NewListSessions(cursor))
		}, func(_ *kept, m *pfcp.Message) {
			p, err := extension.ReadPage(extension.Find(m.Elements, extension.SessionList))
			if err != nil {
				s.t.Fatal(err)
			}
			for _, session := range p.Sessions {
				found[session.CP] = session.UP
			}
			answered, cursor, over = true, p.Next, p.Next == 0
		})
		if s.pass(time.Second); !answered {
			s.t.Fatal("the list is not answered")
		}
	}
	return found
}

// checkBlocks: each session has a block of NAT44 of its own, and upf-c counts no other one.
func (s *story) checkBlocks() {
	blocks := map[nat.Block]bool{}
	for index, session := range s.upf.UPFU().Sessions() {
		if blocks[session.NAT] || !session.NAT.IsValid() {
			s.t.Errorf("session %d has block %v", index, session.NAT)
		}
		blocks[session.NAT] = true
	}
	if used := s.upf.UPFC().Tables()[2].Used; used != uint64(len(blocks)) {
		s.t.Errorf("upf-c counts %d blocks, %d sessions have one", used, len(blocks))
	}
}

// Whatever happens, the CP function and the UPF agree in the end: what was established and not deleted is there, under
// the SEIDs, F-TEIDs and addresses that were told, and nothing is in two hands.
func TestStories(t *testing.T) {
	lives, restores, told := 0, 0, 0
	for seed := range uint64(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := newStory(t, seed)
			for range 60 {
				switch n := s.chance.IntN(20); {
				case n < 8 && len(s.sessions) < 20:
					s.next++
					s.sessions[s.next] = &kept{state: "asked"}
					s.establish(s.next)
				case n < 11:
					for _, seid := range slices.Sorted(maps.Keys(s.sessions)) {
						if s.sessions[seid].state == "there" && s.chance.IntN(3) == 0 {
							s.end(seid)
							break
						}
					}
				case n == 11:
					s.upf.KillUPFC()
				case n == 12:
					s.upf.KillUPFU()
				case n == 13 && s.chance.IntN(2) == 0:
					s.upf.KillUPFC()
					s.upf.KillUPFU()
				default:
					s.goOn()
				}
				s.pass(time.Duration(s.chance.IntN(1500)) * time.Millisecond)
				if s.chance.IntN(3) > 0 {
					s.upf.StartUPFU()
				}
				if s.chance.IntN(3) > 0 {
					s.startUPFC()
				}
			}
			s.calm = true
			s.upf.StartUPFU()
			s.startUPFC()
			for try, quiet := 0, 0; quiet < 2; try++ { // what the first heartbeat tells, the second time shows
				if s.pass(3 * time.Second); s.goOn() {
					quiet++
				} else {
					quiet = 0
				}
				if try > 40 {
					t.Fatalf("no end: %+v", s.sessions)
				}
			}
			s.pass(3 * time.Second)

			want := map[uint64]uint64{}
			for seid, k := range s.sessions {
				want[seid] = k.up
			}
			for cp, up := range s.list() { // what late copies of requests have made
				if want[cp] == 0 {
					s.deletion(0, up, func() {})
				}
			}
			s.pass(3 * time.Second)
			if diff := cmp.Diff(want, s.list()); diff != "" {
				t.Errorf("UP SEIDs by CP SEID (-CP function +UPF):\n%s", diff)
			}
			if n := len(s.upf.UPFU().Sessions()); n != len(want) {
				t.Errorf("upf-u has %d sessions, want %d", n, len(want))
			}
			if s.nat {
				s.checkBlocks()
			}
			lives, restores, told = lives+s.life, restores+s.restores, told+s.told
			s.upf.KillUPFC()
		})
	}
	if t.Logf("%d answers for sessions, %d lives of UPFs, %d sessions restored", told, lives, restores); lives < 20 || restores < 50 {
		t.Error("too little has happened")
	}
}
