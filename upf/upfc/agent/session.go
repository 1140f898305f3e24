package agent

import (
	"slices"
	"time"

	"core5g.dev/core5g/upf/upfc/agent/addresses"
	"core5g.dev/core5g/upf/upfc/agent/store"
	"core5g.dev/core5g/upf/upfc/dataplane"
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

// isByFlow says whether a URR's traffic is that of applications which are known by domain names alone: its start and stop are those of
// flows then.
func (s *session) isByFlow(urr uint32) bool {
	any := false
	for _, r := range s.Rules.PDRs.All() {
		if !slices.Contains(r.URRs, urr) {
			continue
		}
		if r.PDI.Application == "" {
			return false
		}
		if p := s.agent.applications.Get(s.Node, r.PDI.Application); p == nil || len(p.Domains) == 0 || len(p.Flows) > 0 {
			return false
		}
		any = true
	}
	return any
}
