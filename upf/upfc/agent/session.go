package agent

import (
	"maps"
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/compile"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/state"
	"core5g.dev/core5g/upf/upfc/usage"
)

// session is one PFCP session. The embedded state is what upf-u keeps for us; its maps are replaced,
// never written to, once a transaction has carried them.
type session struct {
	index uint32 // upf-u's name for it

	mu sync.Mutex
	state.Session
	gone      bool
	shm       *dataplane.Shm // to which the meters are attached
	timer     *time.Timer
	sending   bool // a goroutine delivers the outbox
	inFlight  int  // how many of the outbox's first reports are under way
	notifying map[uint16]bool

	// What it holds in the agent's tables; under the agent's lock.
	fteids   []rules.FTEID
	ues      []netip.Prefix
	instance string // network instance of the UE addresses
}

// read reads what upf-u's memory says of a URR.
func (s *session) read(u *rules.URR, slot uint32) usage.Reading { return readingOf(s.shm, u, slot) }

func readingOf(shm *dataplane.Shm, u *rules.URR, slot uint32) usage.Reading {
	r := usage.Reading{Counts: usage.FromSlot(shm.URR(slot)), At: time.Now().UnixMilli()}
	if u.Timed() {
		if t := shm.Times(slot); t.Any {
			r.First, r.Last, r.Active = r.At-int64(t.First), r.At-int64(t.Last), t.Active
		}
	}
	return r
}

// account is the session's usage, to be measured.
func (s *session) account() *usage.Session { return usage.Begin(s.Rules, s.Meters, s.read) }

// attach moves the meters to a connection's memory. In a new upf-u the slots begin anew, and what
// was measured is carried over from the old one's memory.
func (s *session) attach(shm *dataplane.Shm, newBoot bool) {
	if newBoot {
		meters := maps.Clone(s.Meters)
		for id, m := range meters {
			u := s.Rules.URRs[id]
			m.Move(u, s.read(u, m.Slot), m.Slot, usage.FromSlot(shm.URR(m.Slot)))
			meters[id] = m
		}
		s.Meters = meters
	}
	s.shm = shm
}

// arms are the volumes at which upf-u is to speak up.
func (s *session) arms() []abi.UrrArm {
	out := make([]abi.UrrArm, 0, len(s.Meters))
	for id, m := range s.Meters {
		u := s.Rules.URRs[id]
		out = append(out, m.Arm(u, s.read(u, m.Slot), s.index))
	}
	return out
}

// put is a session ready to be sent.
type put struct {
	index    uint32
	compiled *compile.Session
	blob     []byte
}

func (p *put) size() int              { return dataplane.PutSize(p.compiled, p.blob) }
func (p *put) add(t *dataplane.Batch) { t.PutSession(p.index, p.compiled, p.blob) }

func (s *session) encode(a *Agent) (*put, error) { return encode(a, s.index, &s.Session) }

func encode(a *Agent, index uint32, st *state.Session) (*put, error) {
	urrSlots := make(map[uint32]uint32, len(st.Meters))
	for id, m := range st.Meters {
		urrSlots[id] = m.Slot
	}
	c, err := compile.Compile(compile.Input{
		Rules: st.Rules, QERSlots: st.QERSlots, GBRSlots: st.GBRSlots, URRSlots: urrSlots,
		Applications: a.applications(st.Node), Local: a.ownN3(),
	})
	if err != nil {
		return nil, err
	}
	p := &put{index, c, state.AppendSession(nil, st)}
	if p.size() > dataplane.MaxPutSize {
		return nil, &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable, Detail: "the session does not fit one transaction with upf-u"}
	}
	return p, nil
}

// ownN3 are the GTP-U addresses from which the UPF sends where a session has none of its own.
func (a *Agent) ownN3() compile.Addresses {
	var own compile.Addresses
	for _, e := range a.cfg.N3.Endpoints {
		if into := &own.V4; e.Addr().Is4() {
			if !into.IsValid() {
				*into = e.Addr()
			}
		} else if !own.V6.IsValid() {
			own.V6 = e.Addr()
		}
	}
	return own
}

// register makes a new session known, so that a replay sees it from the moment at which upf-u may.
// The caller holds s.mu.
func (a *Agent) register(s *session) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	index, ok := a.indexes.take()
	if !ok {
		return &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable, Detail: "upf-u holds as many sessions as it can"}
	}
	s.index = index
	for {
		// The lower half finds nothing by itself, but lets a human match a SEID with upf-u's index.
		s.UPSEID = uint64(rand.Uint32())<<32 | uint64(index+1)
		if s.UPSEID>>32 != 0 && a.sessions[s.UPSEID] == nil {
			break
		}
	}
	a.sessions[s.UPSEID] = s
	a.byIndex[index] = s
	return nil
}

// adopt makes a session known that upf-u kept. The caller holds a.mu; nobody else knows s yet.
func (a *Agent) adopt(index uint32, st *state.Session, shm *dataplane.Shm) error {
	if a.sessions[st.UPSEID] != nil {
		return errDuplicate("SEID")
	}
	if !a.indexes.claim(index) {
		return errDuplicate("index")
	}
	s := &session{index: index, Session: *st, shm: shm}
	for pair := range pairsOf(st) {
		if !a.pairs.claim(pair) {
			return errDuplicate("slot pair")
		}
	}
	if err := a.claimLocked(s, st.Rules); err != nil {
		a.trimLocked(s, nil)
		return err
	}
	a.tunnelsLocked(s, nil, st.Rules)
	a.sessions[s.UPSEID] = s
	a.byIndex[index] = s
	return nil
}

type errDuplicate string

func (e errDuplicate) Error() string { return "its " + string(e) + " is taken or out of range" }

// forget makes a session unknown. Its index stays taken until freeSlots. The caller holds s.mu.
func (a *Agent) forget(s *session) {
	s.gone = true
	if s.timer != nil {
		s.timer.Stop()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.sessions, s.UPSEID)
	delete(a.byIndex, s.index)
	a.trimLocked(s, nil)
	a.tunnelsLocked(s, s.Rules, nil)
}

// freeSlots gives back what the session had in upf-u, once upf-u has deleted it.
func (a *Agent) freeSlots(s *session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.indexes.give(s.index)
	for pair := range pairsOf(&s.Session) {
		a.pairs.give(pair)
	}
}
