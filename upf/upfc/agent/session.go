package agent

import (
	"time"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/agent/addresses"
	"core5g.dev/core5g/upf/upfc/agent/store"
	"core5g.dev/core5g/upf/upfc/compile"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/state"
	"core5g.dev/core5g/upf/upfc/usage"
)

// session is one PFCP session while somebody works on it; see store.Lease.
type session struct {
	store.Lease
	agent *Agent

	// What ends with the lease: whoever sets one of these keeps it until it is over.
	sending   bool // a goroutine delivers the outbox
	inFlight  int  // how many of the outbox's first reports are under way
	notifying map[uint16]bool
	choices   addresses.Choices
}

// lock leases a session and locks it; nil when there is none. The caller calls unlock.
func (a *Agent) lock(index uint32) *session { return a.store.Lease(index, 0).locked() }

// lockSEID is lock by UP SEID.
func (a *Agent) lockSEID(seid uint64) *session {
	if uint32(seid) == 0 || seid>>32 == 0 {
		return nil
	}
	return a.store.Lease(uint32(seid)-1, uint32(seid>>32)).locked()
}

// locked locks a leased session, and gives the lease back when the session is gone.
func (s *session) locked() *session {
	if s == nil {
		return nil
	}
	s.Mu.Lock()
	if !s.Gone && !s.Loaded {
		if err := s.agent.store.Load(s); err != nil {
			s.agent.log.Error("a session cannot be read", "index", s.Index, "err", err)
			s.unlock()
			return nil
		}
	}
	if s.Gone {
		s.unlock()
		return nil
	}
	return s
}

// unlock ends lock and the lease.
func (s *session) unlock() {
	s.Mu.Unlock()
	s.drop()
}

// drop ends a lease.
func (s *session) drop() { s.agent.store.Unlease(s) }

// become makes next, whose encoding is blob, the session's state. The caller has locked it.
func (s *session) become(next *state.Session, blob []byte) {
	before := s.Session
	s.Session = *next
	s.agent.store.Save(s, &before, blob)
}

// read reads what upf-u's memory says of a URR.
func (s *session) read(u *rules.URR, slot uint32) usage.Reading {
	return readingOf(s.Shm, u, slot, s.agent.world.Now())
}

func readingOf(shm *dataplane.Shm, u *rules.URR, slot uint32, at time.Time) usage.Reading {
	r := usage.Reading{Counts: usage.FromSlot(shm.URR(slot)), At: at.UnixMilli()}
	if u.Timed() {
		if t := shm.Times(slot); t.Any {
			r.First, r.Last, r.Active = r.At-int64(t.First), r.At-int64(t.Last), t.Active
		}
	}
	return r
}

// account is the session's usage, to be measured.
func (s *session) account() *usage.Session {
	acct := usage.Begin(s.Rules, s.Meters, s.read)
	acct.ByFlow = s.isByFlow
	return acct
}

// look is the same, only to be looked at.
func (s *session) look() *usage.Session {
	return &usage.Session{Rules: s.Rules, Meters: s.Meters, Read: s.read}
}

// deadline is when the session has to be measured next, in Unix milliseconds; 0 is never.
func (s *session) deadline(now time.Time) (next int64) {
	acct := usage.Session{Rules: s.Rules, Meters: s.Meters, Read: func(u *rules.URR, slot uint32) usage.Reading { return readingOf(s.Shm, u, slot, now) }}
	return acct.Deadline()
}

// attach moves the meters to a connection's memory. In a new upf-u the slots begin anew, and what
// was measured is carried over from the old one's memory. One that was filled ahead has counted for the session
// since it was granted an epoch.
func (s *session) attach(shm *dataplane.Shm, newBoot bool, ahead *Ahead) {
	if newBoot && s.Shm != shm && len(s.Meters) > 0 {
		meters := s.Meters
		if s.Shared {
			meters = s.Meters.Clone()
		}
		for id, m := range meters.All() {
			u := s.Rules.URRs.Get(id)
			now := usage.FromSlot(shm.URR(m.Slot))
			if ahead != nil && !s.Shm.Same(shm) {
				now = ahead.before(m.Slot)
			}
			m.Move(u, s.read(u, m.Slot), m.Slot, now)
			if s.Shm.Gone() { // nobody knows whether packets came since
				m.Mark = now.Packets()
			}
			meters.Put(id, m)
		}
		s.Meters = meters
	}
	s.Shm = shm
}

// arms are the volumes at which upf-u is to speak up.
func (s *session) arms() []abi.UrrArm {
	out := make([]abi.UrrArm, 0, len(s.Meters))
	for id, m := range s.Meters.All() {
		u := s.Rules.URRs.Get(id)
		out = append(out, m.Arm(u, s.read(u, m.Slot), s.Index))
	}
	return out
}

// put is a session ready to be sent.
type put struct {
	index    uint32
	group    uint16
	rules    bool // false: upf-u has its rules
	compiled compile.Session
	blob     []byte

	in   compile.Input // what it is compiled of
	node string
}

// newPut is compiled again and again: what it asks of the agent and its room are as good for the next session.
func newPut(a *Agent) *put {
	p := &put{}
	p.in = compile.Input{
		Applications: func(id string) *rules.ApplicationPFDs { return a.applications.get(p.node, id) },
		Predefined:   func(name string) *rules.Predefined { return a.predefined[name] },
		Local:        a.own(),
	}
	return p
}

// done gives it to the next session. Nobody has anything of it any more.
func (a *Agent) done(p *put) {
	if cap(p.blob)+p.compiled.Size() <= 16*1024 {
		a.puts.Put(p)
	}
}

func (p *put) size() int {
	if !p.rules {
		return dataplane.StateSize(p.blob)
	}
	return dataplane.PutSize(&p.compiled, p.blob)
}

func (p *put) add(t *dataplane.Batch) {
	if !p.rules {
		t.State(p.index, p.blob)
		return
	}
	t.PutSession(p.index, p.group, &p.compiled, p.blob)
}

// rest is what upf-u lacks of a session that it may have from ahead.
func (s *session) rest(a *Agent, ahead *Ahead) (*put, error) {
	if !ahead.has(s.Index) {
		return s.encode(a)
	}
	p := a.puts.Get().(*put)
	p.index, p.rules, p.blob = s.Index, false, state.AppendSession(p.blob[:0], &s.Session)
	return p, nil
}

func (s *session) encode(a *Agent) (*put, error) { return encode(a, s.Index, &s.Session) }

// encode makes it ready. Whoever does not call done with it, lets go of it.
func encode(a *Agent, index uint32, st *state.Session) (*put, error) {
	p := a.puts.Get().(*put)
	p.index, p.rules, p.node = index, true, st.Node
	in := &p.in
	in.Rules, in.QERSlots, in.GBRSlots, in.Meters = st.Rules, st.QERSlots, st.GBRSlots, st.Meters
	in.Network, in.Bridge = a.networks().Finder(), a.isBridge()
	err := p.compiled.Compile(in)
	in.Rules, in.QERSlots, in.GBRSlots, in.Meters = nil, nil, nil, nil
	if err != nil {
		return nil, err
	}
	p.compiled.NAT = a.blockOf(st)
	p.group, p.blob = a.groups.number(st.Node, st.Rules.NetworkInstance()), state.AppendSession(p.blob[:0], st)
	if p.size() > dataplane.MaxPutSize {
		return nil, &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable, Detail: "the session does not fit one transaction with upf-u"}
	}
	return p, nil
}

// own are the UPF's GTP-U addresses.
func (a *Agent) own() (own compile.Local) {
	own.N3.V4, own.N3.V6 = a.cfg.N3.First()
	own.N9.V4, own.N9.V6 = a.cfg.N9.First()
	return own
}

// forget makes a session unknown. Its index stays taken until freeSlots. The caller has locked it.
func (a *Agent) forget(s *session) {
	a.traffic.count(s, true)
	a.wheel.Set(s.Index, time.Time{})
	a.trim(s, s.Rules, &rules.Set{})
	a.store.Forget(s)
}

// freeSlots gives back what the session had in upf-u, once upf-u has deleted it.
func (a *Agent) freeSlots(s *session) {
	a.givePairs(&s.Session)
	a.returnBlock(s.Index, &s.Session)
	a.store.Free(s.Index)
}
