package agent_test

import (
	"context"
	"log/slog"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/agent"
	"core5g.dev/core5g/upf/upfc/agent/store"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/dataplane/fakeupfu"
	"core5g.dev/core5g/upf/upfc/fakesmf"
	"core5g.dev/core5g/upf/upfc/fencing"
	"core5g.dev/core5g/upf/upfc/state"
	"core5g.dev/core5g/upf/upfc/usage"
)

// rulesOf is what upf-u has, without what it keeps for upf-c.
func rulesOf(all map[uint32]fakeupfu.Session) map[uint32]fakeupfu.Session {
	out := map[uint32]fakeupfu.Session{}
	for i, s := range all {
		s.Blob = nil
		out[i] = s
	}
	return out
}

// yield has the unit taken over without waiting for its death.
func (p *pair) yield() *fencing.Unit {
	p.t.Helper()
	p.await("the standby is in sync", p.inSync)
	unit := p.unit
	ctx, cancel := context.WithCancel(context.Background())
	handed := make(chan struct{})
	p.t.Cleanup(func() { cancel(); <-handed })
	go func() {
		defer close(handed)
		_ = unit.HandOver(ctx, func(g fencing.Grant) error { return p.agent[0].Link().Forward(g.Epoch, g.Until) })
	}()
	select {
	case fence := <-p.taken:
		return fence
	case <-time.After(fakesmf.Patience):
		p.t.Fatal("nobody takes over")
		return nil
	}
}

// A upf-u that was filled ahead has all rules as they are when it is granted an epoch, which is before anything that takes longer with more
// sessions; none is sent again, quotas hold from the first packet, and what it counts from then on is charged once.
func TestTakeoverOfWhatWasFilledAhead(t *testing.T) {
	p := newPair(t)
	p.smf = fakesmf.New(t, p.agent[0].Addr())
	p.smf.Associate()
	seids, slots := []uint64{}, map[uint64]uint32{}
	establish := func(i int, u fakesmf.UE) uint64 {
		t.Helper()
		before := p.upfu[0].Sessions()
		seid := p.smf.Established(uint64(100+i), u.Session()...)
		for index, s := range p.upfu[0].Sessions() {
			if _, known := before[index]; !known {
				slots[seid] = s.URRs[0].Slot
			}
		}
		return seid
	}
	for i := range 10 {
		seids = append(seids, establish(i, ue(i)))
	}
	p.await("the standby is in sync", p.inSync)
	quota := func(i int) fakesmf.UE {
		u := ue(i)
		u.URR = []*ie.IE{ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0, 0x01), ie.NewVolumeQuota(0x01, 1000, 0, 0)}
		return u
	}
	some, none := establish(20, quota(20)), establish(21, quota(21))
	count := func(i int, seid, octets uint64) {
		t.Helper()
		if err := p.upfu[i].Count(slots[seid], abi.Ul, octets, 1); err != nil {
			t.Fatal(err)
		}
	}
	count(0, some, 600)
	count(0, none, 1000)
	count(0, seids[0], 4000)
	count(1, seids[0], 5555) // left by an earlier life of the standby, as in the slot of a quota
	count(1, some, 7777)
	// One changes, and one gives its F-TEID and address to another.
	fakesmf.WantCause(t, p.smf.Modify(seids[1], fakesmf.Phone.GNB(0x100, "172.30.3.100")).Cause, ie.CauseRequestAccepted)
	fakesmf.WantCause(t, p.smf.Delete(seids[2]).Cause, ie.CauseRequestAccepted)
	seids[2] = establish(30, ue(2))
	want := rulesOf(p.upfu[0].Sessions())
	p.await("the standby's upf-u has them", func() bool { return cmp.Equal(rulesOf(p.upfu[1].Sessions()), want) })
	if !p.silent(1) || len(p.upfu[1].Meta()) != 0 {
		t.Errorf("a standby's upf-u is granted %+v, with META %x", p.upfu[1].Granted(), p.upfu[1].Meta())
	}
	sent := p.unit.Counts().Counters.Load()
	p.await("counters are sent", func() bool { return p.unit.Counts().Counters.Load() > sent+1 })

	fence := p.yield()
	takeover := p.finish()
	leave := takeover.Leave
	takeover.Leave = func() error { // the first of all that takes longer with more sessions
		if err := p.upfu[1].Await(fakesmf.Patience, func() bool { return p.upfu[1].AtGrant() != nil }); err != nil {
			t.Errorf("no epoch is granted before the sessions are read: %v", err)
			return leave()
		}
		if !p.upfu[1].Forward(slots[seids[0]], abi.Ul, 70) || !p.upfu[1].Forward(slots[some], abi.Ul, 400) {
			t.Error("a packet is not forwarded that may be")
		}
		if p.upfu[1].Forward(slots[none], abi.Ul, 1) || p.upfu[1].Forward(slots[some], abi.Ul, 1) {
			t.Error("a packet passes a quota that is used up")
		}
		return leave()
	}
	p.serve(1, "b/1", fence, takeover)
	at := p.upfu[1].AtGrant()
	if diff := cmp.Diff(want, rulesOf(at.Sessions)); diff != "" {
		t.Errorf("rules when the epoch is granted (-want +got):\n%s", diff)
	}
	if len(at.Meta) != 0 {
		t.Error("whoever reads upf-u back then takes it for one that has all")
	}
	if n := p.upfu[1].Puts() - at.Puts; n != 0 {
		t.Errorf("the rules of %d sessions are sent once more", n)
	}
	if len(p.upfu[1].Meta()) == 0 {
		t.Error("there is no META")
	}
	for index, s := range p.upfu[1].Sessions() {
		if len(s.Blob) == 0 {
			t.Errorf("session %d has no blob", index)
		}
	}

	p.smf.To = p.agent[1].Addr()
	reported, deleted := map[uint64]uint64{}, map[uint64]uint64{} // by CP SEID
	for _, d := range []struct{ seid, cp uint64 }{{seids[0], 100}, {seids[1], 101}, {seids[2], 130}, {some, 120}, {none, 121}} {
		a := p.smf.Delete(d.seid)
		fakesmf.WantCause(t, a.Cause, ie.CauseRequestAccepted)
		for _, r := range a.UsageReport {
			total, _, _ := fakesmf.Volumes(t, r)
			deleted[d.cp] += total
		}
	}
	wantOctets := map[uint64]uint64{100: 4070, 101: 0, 130: 0, 120: 1000, 121: 1000}
	total := func() map[uint64]uint64 { // what a quota is used up by is reported of its own accord
		for {
			select {
			case r := <-p.smf.Reports:
				for _, u := range r.UsageReport {
					n, _, _ := fakesmf.Volumes(t, u)
					reported[r.SEID()] += n
				}
				continue
			default:
			}
			break
		}
		sum := maps.Clone(deleted)
		for cp, n := range reported {
			sum[cp] += n
		}
		return sum
	}
	if err := p.upfu[1].Await(fakesmf.Patience, func() bool { return cmp.Equal(total(), wantOctets) }); err != nil {
		t.Errorf("octets that are reported, by CP SEID (-want +got):\n%s", cmp.Diff(wantOctets, total()))
	}
}

// pile is what a standby holds, without a unit.
type pile struct {
	changed chan struct{}

	mu      sync.Mutex
	ready   bool
	all     map[uint32]store.Entry
	meta    []byte
	changes map[uint32]bool
}

func newPile(meta []byte) *pile {
	return &pile{changed: make(chan struct{}, 1), all: map[uint32]store.Entry{}, meta: meta, changes: map[uint32]bool{}}
}

func (p *pile) SetReady(ready bool) { p.mu.Lock(); p.ready = ready; p.mu.Unlock() }

func (p *pile) isReady() bool { p.mu.Lock(); defer p.mu.Unlock(); return p.ready }

func (p *pile) Anew() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for index := range p.all {
		p.changes[index] = true
	}
}

func (p *pile) Changes(most int) (sessions []store.Entry, meta []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, index := range slices.Sorted(maps.Keys(p.changes))[:min(most, len(p.changes))] {
		e := p.all[index]
		e.Index = index
		sessions = append(sessions, e)
		delete(p.changes, index)
	}
	return sessions, p.meta
}

func (p *pile) Changed() <-chan struct{} { return p.changed }

func (p *pile) Counted(uint8, uint32) usage.Counts { return usage.Counts{} }

// set changes sessions at once; nil: one goes.
func (p *pile) set(blobs map[uint32][]byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for index, b := range blobs {
		p.changes[index] = true
		if p.all[index] = (store.Entry{Index: index, Life: 1, Blob: b}); b == nil {
			delete(p.all, index)
		}
	}
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// copies are so many sessions like the one of l, by index.
func (l *lab) copies(n uint32) map[uint32][]byte {
	l.t.Helper()
	_, model := l.only()
	template := &state.Session{}
	if err := state.DecodeSession(model.Blob, template, nil); err != nil {
		l.t.Fatal(err)
	}
	blobs := map[uint32][]byte{}
	for i := range n {
		blobs[i] = copyOf(template, i, i)
	}
	return blobs
}

// copyOf is a session like another one, by index, with F-TEID and UE address of a number.
func copyOf(template *state.Session, index, number uint32) []byte {
	st := *template
	st.Rules = template.Rules.Clone()
	st.UPSEID, st.CPSEID = 7<<32|uint64(index+1), uint64(index)
	for id, p := range st.Rules.PDRs.All() {
		c := *p
		c.PDI.UEAddress = netip.AddrFrom4([4]byte{10, 64, byte(number >> 8), byte(number)})
		if c.PDI.FTEID.IsValid() {
			c.PDI.FTEID.TEID = 1000 + number
		}
		st.Rules.PDRs.Put(id, &c)
	}
	st.QERSlots = state.Slots{{ID: 1, Value: 2 * index}}
	m := template.Meters.Get(1)
	m.Slot = 2 * index
	st.Meters = usage.Meters{{ID: 1, Value: m}}
	return state.AppendSession(nil, &st)
}

// standBy has a upf-u of its own filled with what a pile has.
func standBy(t *testing.T, p *pile) (l *lab, end func() *agent.Ahead) {
	t.Helper()
	l = &lab{t: t, socket: filepath.Join(t.TempDir(), "upf.sock")}
	l.startUPFU()
	l.agent = agent.New(l.config(), slog.New(slog.DiscardHandler), nowhere{})
	ctx, cancel := context.WithCancel(context.Background())
	ahead := make(chan *agent.Ahead, 1)
	go func() { ahead <- l.agent.StandBy(ctx, p) }()
	end = sync.OnceValue(func() *agent.Ahead { cancel(); return <-ahead })
	t.Cleanup(func() { end().Abandon(); l.upfu.Kill() })
	return l, end
}

func (l *lab) await(what string, cond func() bool) {
	l.t.Helper()
	if err := l.upfu.Await(fakesmf.Patience, cond); err != nil {
		l.t.Fatalf("%s: %v", what, err)
	}
}

// teids are the F-TEIDs of what upf-u has, less those of copies.
func (l *lab) teids() map[uint32]uint32 {
	out := map[uint32]uint32{}
	for index, s := range l.upfu.Sessions() {
		for _, p := range s.PDRs {
			if p.Flags&abi.PdrTeid != 0 {
				out[index] = p.Teid - 1000
			}
		}
	}
	return out
}

// Whatever changes at once, upf-u ends up with what is held, and never keeps what a session had before.
func TestFilledAheadIsWhatIsHeld(t *testing.T) {
	unit := newLab(t, nil)
	s := fakesmf.New(t, unit.addr)
	s.Associate()
	s.Established(1, fakesmf.Phone.Session()...)
	_, model := unit.only()
	template := &state.Session{}
	if err := state.DecodeSession(model.Blob, template, nil); err != nil {
		t.Fatal(err)
	}
	p := newPile(unit.upfu.Meta())
	p.set(map[uint32][]byte{0: copyOf(template, 0, 0), 1: copyOf(template, 1, 1), 2: copyOf(template, 2, 2)})
	l, end := standBy(t, p)
	has := func(want map[uint32]uint32) {
		t.Helper()
		l.await("upf-u has what is held", func() bool { return maps.Equal(l.teids(), want) })
	}
	has(map[uint32]uint32{0: 0, 1: 1, 2: 2})
	p.set(map[uint32][]byte{0: copyOf(template, 0, 1), 1: copyOf(template, 1, 0)})
	has(map[uint32]uint32{0: 1, 1: 0, 2: 2})
	p.set(map[uint32][]byte{0: nil, 3: copyOf(template, 3, 1)})
	has(map[uint32]uint32{1: 0, 2: 2, 3: 1})
	// The one that has given it up is heard of later, and has nothing meanwhile.
	p.set(map[uint32][]byte{2: copyOf(template, 2, 0)})
	has(map[uint32]uint32{2: 0, 3: 1})
	p.set(map[uint32][]byte{1: copyOf(template, 1, 5)})
	has(map[uint32]uint32{1: 5, 2: 0, 3: 1})
	p.set(map[uint32][]byte{1: {1, 2, 3}}) // nobody can read it
	has(map[uint32]uint32{2: 0, 3: 1})

	// A upf-u that comes in the place of this one has it all.
	l.upfu.Kill()
	l.await("the standby knows", func() bool { return !p.isReady() })
	l.startUPFU()
	has(map[uint32]uint32{2: 0, 3: 1})
	p.set(map[uint32][]byte{2: nil})
	if err := end().Finish(p); err != nil { // what has not been asked for yet, too
		t.Fatal(err)
	}
	has(map[uint32]uint32{3: 1})
}

// unwatched is a unit without a standby.
type unwatched struct{}

func (unwatched) Reset()                             {}
func (unwatched) Life(uint8, uint64, *dataplane.Shm) {}
func (unwatched) Session(uint32, uint8, []byte)      {}
func (unwatched) Deletion(int, uint8, []byte)        {}
func (unwatched) Meta([]byte)                        {}
func (unwatched) Settle(<-chan struct{}) bool        { return true }
func (unwatched) Standby() (uint64, bool, uint64, uint64, uint64, uint64) {
	return 1, false, 0, 0, 0, 0
}

// What is to be done until upf-u is granted an epoch does not grow with the sessions; a upf-u that dies at the last moment is filled whole.
func TestTakeoverOfTenThousandSessions(t *testing.T) {
	for name, tt := range map[string]struct {
		dies    bool
		changed uint32 // sessions of which upf-u has not heard when the unit is taken over
	}{
		"filled ahead":              {false, 0},
		"but for some":              {false, 10},
		"upf-u dies and is no more": {true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			unit := newLab(t, nil)
			s := fakesmf.New(t, unit.addr)
			s.Associate()
			s.Established(1, fakesmf.Phone.Session()...)
			const n = 10_000 / slower
			blobs := unit.copies(n + tt.changed)
			late := map[uint32][]byte{}
			for i := range tt.changed {
				late[n+i] = blobs[n+i]
				delete(blobs, n+i)
			}
			p := newPile(unit.upfu.Meta())
			p.set(blobs)
			began := time.Now()
			l, end := standBy(t, p)
			l.await("upf-u is filled ahead", func() bool { return len(l.upfu.Sessions()) == n })
			filled := time.Since(began)
			ahead := end()
			p.set(late)
			datagrams := l.upfu.Datagrams()

			began = time.Now()
			if err := ahead.Finish(p); err != nil {
				t.Fatal(err)
			}
			finished := time.Since(began)
			if tt.dies {
				l.upfu.Kill()
				l.startUPFU()
				datagrams = 0
			}
			var written time.Duration
			estate := store.Estate{Sessions: 1 << 14, Entries: p.all, Meta: p.meta, Life: 1}
			estate.Boots[1] = 4711
			l.agent.BeRedundant(unwatched{}, &agent.Takeover{Ahead: ahead, Leave: func() error {
				at := time.Now()
				defer func() { written = time.Since(at) }()
				return estate.Leave(l.socket+".state", at)
			}})
			l.agent.Link().Grant(1, dataplane.GrantAlways)
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan error, 1)
			go func() { ended <- l.agent.Run(ctx) }()
			defer func() {
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}()
			l.await("an epoch is granted", func() bool { return l.upfu.AtGrant() != nil })
			granted := time.Since(began)
			l.agent.Addr()
			served, at := time.Since(began), l.upfu.AtGrant()
			t.Logf("%d sessions: filled ahead in %v; taken over: the last ones after %v, granted after %v, N4 after %v (of which %v for the file)",
				n, filled, finished, granted, served, written)
			if got := len(at.Sessions); got != int(n+tt.changed) {
				t.Errorf("%d sessions are there when the epoch is granted, want %d", got, n+tt.changed)
			}
			if tt.dies {
				return
			}
			// One with what is new, and the grant itself.
			if most := 1 + int(min(tt.changed, 1)); at.Datagrams-datagrams > most {
				t.Errorf("%d transactions from the takeover to the grant, want %d at most", at.Datagrams-datagrams, most)
			}
			if puts := l.upfu.Puts() - n; puts != int(tt.changed) {
				t.Errorf("the rules of %d sessions are sent when the unit is taken over, want %d", puts, tt.changed)
			}
		})
	}
}

// A standby's upf-u knows the domains of applications before it serves, and follows their changes.
func TestStandbyKnowsDomains(t *testing.T) {
	p := newPair(t)
	p.smf = fakesmf.New(t, p.agent[0].Addr())
	p.smf.Associate()
	same := func() bool {
		domains := func(i int) []dataplane.Domain {
			list := p.upfu[i].Domains()
			slices.SortFunc(list, func(a, b dataplane.Domain) int { return strings.Compare(a.Name, b.Name) })
			return list
		}
		return cmp.Equal(domains(0), domains(1)) && cmp.Equal(rulesOf(p.upfu[0].Sessions()), rulesOf(p.upfu[1].Sessions()))
	}
	for _, names := range [][]string{{"video.example", "cdn.example"}, {"other.example"}, {}} {
		fakesmf.WantCause(t, describe(t, p.smf, domainsOf("video", names...)).Cause, ie.CauseRequestAccepted)
		if len(names) == 2 {
			p.smf.Established(1, downlinkPDR(5, ie.NewUEIPAddress(0x02, "10.45.0.1", "", 0, 0), ie.NewApplicationID("video")), coreFAR(1))
		}
		if got := p.upfu[0].Domains(); len(got) != len(names) {
			t.Fatalf("upf-u has %v, want %v", got, names)
		}
		p.await("the standby's upf-u has them", same)
	}
}
