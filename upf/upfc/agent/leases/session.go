package leases

import (
	"log/slog"
	"slices"
	"time"

	"core5g.dev/core5g/upf/upfc/agent/addresses"
	"core5g.dev/core5g/upf/upfc/agent/store"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/machine"
	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/state"
	"core5g.dev/core5g/upf/upfc/usage"
)

// Leases are the sessions of a store as they are worked on.
type Leases struct {
	Store *store.Store[*Session]
	o     Owner
}

// Owner is who works on sessions.
type Owner struct {
	Log     *slog.Logger
	Machine machine.Machine
	// Application is what a CP function has described; nil: nothing by this Application ID.
	Application func(node, id string) *rules.ApplicationPFDs
}

// New makes an empty store, and leases of it.
func New(o Owner) *Leases {
	l := &Leases{o: o}
	l.Store = store.New(o.Machine.Random, func() *Session { return &Session{of: l} })
	return l
}

// Session is one PFCP session while somebody works on it; see store.Lease.
type Session struct {
	store.Lease
	of *Leases

	// What ends with the lease: whoever sets one of these keeps it until it is over.
	Sending   bool // a goroutine delivers the outbox
	InFlight  int  // how many of the outbox's first reports are under way
	Notifying map[uint16]bool
	Choices   addresses.Choices
}

// Beside is a session that is in no store.
func (l *Leases) Beside(s state.Session) *Session {
	return &Session{of: l, Lease: store.Lease{Session: s}}
}

// Lock leases a session and locks it; nil when there is none. The caller calls Unlock.
func (l *Leases) Lock(index uint32) *Session { return l.Store.Lease(index, 0).Locked() }

// LockSEID is Lock by UP SEID.
func (l *Leases) LockSEID(seid uint64) *Session {
	if uint32(seid) == 0 || seid>>32 == 0 {
		return nil
	}
	return l.Store.Lease(uint32(seid)-1, uint32(seid>>32)).Locked()
}

// Locked locks a leased session, and gives the lease back when the session is gone.
func (s *Session) Locked() *Session {
	if s == nil {
		return nil
	}
	s.Mu.Lock()
	if !s.Gone && !s.Loaded {
		if err := s.of.Store.Load(s); err != nil {
			s.of.o.Log.Error("a session cannot be read", "index", s.Index, "err", err)
			s.Unlock()
			return nil
		}
	}
	if s.Gone {
		s.Unlock()
		return nil
	}
	return s
}

// Unlock ends Lock and the lease.
func (s *Session) Unlock() {
	s.Mu.Unlock()
	s.Drop()
}

// Drop ends a lease.
func (s *Session) Drop() { s.of.Store.Unlease(s) }

// Become makes next, whose encoding is blob, the session's state. The caller has locked it.
func (s *Session) Become(next *state.Session, blob []byte) {
	before := s.Session
	s.Session = *next
	s.of.Store.Save(s, &before, blob)
}

// Read reads what upf-u's memory says of a URR.
func (s *Session) Read(u *rules.URR, slot uint32) usage.Reading {
	return Reading(s.Shm, u, slot, s.of.o.Machine.Now())
}

// Reading is what upf-u's memory said of a URR at a time.
func Reading(shm *dataplane.Shm, u *rules.URR, slot uint32, at time.Time) usage.Reading {
	r := usage.Reading{Counts: usage.FromSlot(shm.URR(slot)), At: at.UnixMilli()}
	if u.Timed() {
		if t := shm.Times(slot); t.Any {
			r.First, r.Last, r.Active = r.At-int64(t.First), r.At-int64(t.Last), t.Active
		}
	}
	return r
}

// Account is the session's usage, to be measured.
func (s *Session) Account() *usage.Session {
	acct := usage.Begin(s.Rules, s.Meters, s.Read)
	acct.ByFlow = s.isByFlow
	return acct
}

// Look is the same, only to be looked at.
func (s *Session) Look() *usage.Session {
	return &usage.Session{Rules: s.Rules, Meters: s.Meters, Read: s.Read}
}

// Deadline is when the session has to be measured next, in Unix milliseconds; 0 is never.
func (s *Session) Deadline(now time.Time) (next int64) {
	acct := usage.Session{Rules: s.Rules, Meters: s.Meters, Read: func(u *rules.URR, slot uint32) usage.Reading { return Reading(s.Shm, u, slot, now) }}
	return acct.Deadline()
}

// isByFlow says whether a URR's traffic is that of applications which are known by domain names alone: its start and stop are those of
// flows then.
func (s *Session) isByFlow(urr uint32) bool {
	any := false
	for _, r := range s.Rules.PDRs.All() {
		if !slices.Contains(r.URRs, urr) {
			continue
		}
		if r.PDI.Application == "" {
			return false
		}
		if p := s.of.o.Application(s.Node, r.PDI.Application); p == nil || len(p.Domains) == 0 || len(p.Flows) > 0 {
			return false
		}
		any = true
	}
	return any
}
