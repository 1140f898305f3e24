package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
	"core5g.dev/core5g/images/session-management/runner"

	"github.com/wmnsk/go-pfcp/ie"
)

// chf grants quotas, and counts what it is told. What really passed the units is counted there, by session: nothing of it may be told twice,
// and nothing be left out but what nobody could have told.
type chf struct {
	*peer
	online    bool
	resources map[string]*charged // by URI
	// By CP SEID, octets: what has passed, what the CHF has heard and granted; what may be missing, because a unit has lost it or an answer of
	// its with it was lost; and what it may have heard twice, because it died with its memory of it.
	passed, heard, granted, lost, twice map[uint64]uint64
	// closing are sessions of whose end it was asked, by CP SEID.
	closing map[uint64]bool
	// carried are octets in answers that holders have got, and may die with.
	carried map[uint64][]*carriage
}

// carriage of an answer's usage to a holder.
type carriage struct {
	to     *view
	octets uint64
}

// lost: the holder is none any more.
func (c *carriage) lost() bool {
	p := c.to.pod
	return !p.Alive || p.Life != c.to.life || p.held[c.to.held.lease.Shard] != c.to.held
}

// mayBeLost of a session by now, octets.
func (f *chf) mayBeLost(cpSEID uint64) uint64 {
	n := f.lost[cpSEID]
	for _, c := range f.carried[cpSEID] {
		if c.lost() {
			n += c.octets
		}
	}
	return n
}

// charged is a charging session (TS 32.290 5.3.2).
type charged struct {
	uri    string
	cpSEID uint64
	next   uint32 // sequence number
	last   uint64 // octets of the request before
	answer procedure.Charged
	// kept: a record has had it. unheard: nobody will ask for its end.
	kept, unheard bool
}

func newCHF(w *world, seed uint64) *chf {
	f := &chf{
		peer: newPeer(w, "CHF", seed, 4), resources: map[string]*charged{},
		passed: map[uint64]uint64{}, heard: map[uint64]uint64{}, granted: map[uint64]uint64{}, lost: map[uint64]uint64{}, twice: map[uint64]uint64{}, carried: map[uint64][]*carriage{}, closing: map[uint64]bool{},
	}
	if f.peer == nil || w.real { // packets pass models of units alone
		return nil
	}
	f.online = f.chance(2)
	f.dying = func() {
		for _, r := range f.resources {
			f.twice[r.cpSEID] += r.last
		}
		f.resources = map[string]*charged{}
	}
	f.live()
	f.asks()
	w.After(0, w.traffic)
	return f
}

func (f *chf) mode() configuration.Charging {
	switch {
	case f == nil:
		return configuration.ChargingNone
	case f.online:
		return configuration.ChargingOnline
	}
	return configuration.ChargingOffline
}

func octetsOf(u record.Units) uint64 { return u.Uplink + u.Downlink }

func (f *chf) asked(e procedure.AskCharging, back func(procedure.Event)) {
	if e.Session.Phase == record.Releasing {
		f.closing[e.Session.CPSEID] = true
	}
	f.fate(func() procedure.Event { return f.answer(e) },
		procedure.Charged{Outcome: procedure.Unknown}, procedure.Charged{Outcome: procedure.NotSent}, back)
}

func (f *chf) answer(e procedure.AskCharging) procedure.Event {
	s, u := e.Session, e.Session.Usage
	told := uint64(0)
	for _, g := range u.Groups {
		told += octetsOf(g.Sent)
	}
	f.w.Note("the CHF is asked, operation %d of session %s, %q, number %d, again %v: %d octets", e.Operation, s.Ref(), s.Charging, u.Sequence, e.Again, told)
	r := f.resources[s.Charging]
	if e.Operation == procedure.CreateCharging {
		if f.w.faults && f.chance(60) {
			return procedure.Charged{Outcome: procedure.Refused}
		}
		for _, uri := range slices.Sorted(maps.Keys(f.resources)) { // asked again, it has it already (TS 32.291 retransmissionIndicator)
			if have := f.resources[uri]; have.cpSEID == s.CPSEID {
				r = have
			}
		}
		if r == nil {
			r = &charged{uri: f.uri(), cpSEID: s.CPSEID}
			f.resources[r.uri] = r
		}
	}
	switch {
	case r == nil:
		return procedure.Charged{Outcome: procedure.Refused}
	case e.Again && u.Sequence+1 == r.next:
		return r.answer
	case u.Sequence != r.next && f.w.forgotten.IsZero():
		f.w.Fail("session %s: the CHF expects request %d, and hears %d", s.Ref(), r.next, u.Sequence)
	}
	r.next, r.last = u.Sequence+1, told
	f.heard[s.CPSEID] += told
	r.answer = procedure.Charged{Outcome: procedure.Done, URI: r.uri}
	for _, g := range u.Groups {
		if g.SentWhy&procedure.WhyAsks != 0 {
			r.answer.Grants = append(r.answer.Grants, f.grant(s.CPSEID, g.RatingGroup))
		}
	}
	if e.Operation == procedure.ReleaseCharging {
		delete(f.resources, r.uri)
		f.twice[s.CPSEID] += told // an answer that is lost has it told again, to who has forgotten the session
	}
	return r.answer
}

func (f *chf) grant(cpSEID uint64, group uint32) procedure.Grant {
	g := procedure.Grant{RatingGroup: group}
	if f.chance(12) {
		g.Denied = true
		return g
	}
	g.Quota = record.Quota{Has: record.HasTotal, Total: 1000 + uint64(f.rand.IntN(3000))}
	if f.chance(2) {
		g.Quota.VolumeLeft = 300
	}
	if f.chance(4) {
		g.Quota.Until = 5
	}
	g.Quota.Final = f.chance(15)
	f.granted[cpSEID] += g.Quota.Total
	return g
}

// asks for usage, or for a session's end (TS 32.290 5.3.2.5).
func (f *chf) asks() {
	if !f.w.faults {
		return
	}
	f.w.After(time.Duration(2+f.rand.IntN(10))*time.Second, f.asks)
	list := slices.Sorted(maps.Keys(f.resources))
	if len(list) == 0 || f.away {
		return
	}
	r := f.resources[list[f.rand.IntN(len(list))]]
	abort := f.chance(8)
	u := f.w.withContext(r.cpSEID)
	f.w.insists(u, &request{name: "charging changes", answered: func(any) {}}, r.cpSEID,
		func(t procedure.Token) procedure.Event { return procedure.ChargingChanged{From: t, Abort: abort} },
		func() bool { return f.resources[r.uri] == r })
}

func (f *chf) calm() {
	if f != nil {
		f.away = false
	}
}

// kept: a record has that resource. Where nothing but that is left of a session, the CHF was asked before its AMF heard that it has ended.
func (f *chf) kept(s *record.Session) {
	if f == nil {
		return
	}
	if f.resources[s.Charging] != nil {
		f.resources[s.Charging].kept = true
	}
	if s.Phase == record.Releasing && s.Usage != nil && s.Usage.Rests && s.Procedure == nil && s.Command == nil && !f.closing[s.CPSEID] {
		f.w.Fail("session %s has ended, and nobody has told the CHF", s.Ref())
	}
}

// never: the CHF will not hear of what is left of a session, nor that it has ended.
func (f *chf) never(s *record.Session) {
	for _, g := range s.Usage.Groups {
		f.lost[s.CPSEID] += octetsOf(g.Sent) + octetsOf(g.Used)
	}
	for _, r := range f.resources {
		if r.cpSEID == s.CPSEID {
			r.unheard = true
		}
	}
}

// agree: what has passed is what was heard, or will be; charging sessions and sessions go together.
func (f *chf) agree(fail func(string, ...any)) {
	if f == nil || !f.w.forgotten.IsZero() {
		return
	}
	known, there := maps.Clone(f.heard), map[string]bool{}
	for _, u := range f.w.ues {
		rec := f.w.truth(record.Key(u.supi, sessionID))
		if rec == nil {
			continue
		}
		if rec.Usage != nil {
			if rec.Usage.Open != 0 {
				fail("%s: session %s: the CHF has not answered: %+v", u.supi, rec.Ref(), rec.Usage)
			}
			for _, g := range rec.Usage.Groups {
				known[rec.CPSEID] += octetsOf(g.Used) + octetsOf(g.Sent)
			}
		}
		there[rec.Charging] = true
		if born := fmt.Sprint(f.name, "/", f.life, "/"); strings.HasPrefix(rec.Charging, born) && f.resources[rec.Charging] == nil {
			fail("%s: session %s is charged as %s, which the CHF does not have", u.supi, rec.Ref(), rec.Charging)
		}
	}
	for _, u := range f.w.units {
		for _, s := range u.has() {
			known[s.cpSEID] += s.unsaid()
			if len(s.reports) > 0 {
				fail("%s: a usage report of session %x has no answer", u.nodeID, s.cpSEID)
			}
		}
	}
	for _, cp := range slices.Sorted(maps.Keys(f.passed)) {
		switch passed := f.passed[cp]; {
		case known[cp] > passed+f.twice[cp]:
			fail("session %x: %d octets have passed, and %d are told: %d may be twice", cp, passed, known[cp], f.twice[cp])
		case known[cp]+f.lost[cp] < passed:
			fail("session %x: %d octets have passed, and %d are told: %d may be lost", cp, passed, known[cp], f.lost[cp])
		}
	}
	for _, uri := range slices.Sorted(maps.Keys(f.resources)) {
		if r := f.resources[uri]; r.kept && !r.unheard && !there[uri] {
			fail("the CHF has %s of session %x, and nobody else has", uri, r.cpSEID)
		}
	}
}

// ---- units -----------------------------------------------------------------------------------------------------

// meter is a URR. Its quota holds from the last report on.
type meter struct {
	used     uint64
	quota    uint64
	bounded  bool
	warn     uint64 // the threshold, 0 none
	sequence uint32
}

// usageReport waits for its answer.
type usageReport struct {
	said procedure.Measured
	r    *request
}

// metering takes what a request says of URRs.
func (s *unitSession) metering(ies []*ie.IE) {
	for _, e := range ies {
		var children []*ie.IE
		switch e.Type {
		case ie.CreateURR:
			children, _ = e.CreateURR()
		case ie.UpdateURR:
			children, _ = e.UpdateURR()
		default:
			continue
		}
		id, _ := ie.NewGroupedIE(e.Type, children...).URRID()
		for _, c := range children {
			if c.Type == ie.URRID {
				id, _ = c.URRID()
			}
		}
		if id == urrMACs {
			continue // it measures nothing
		}
		if s.meters == nil {
			s.meters = map[uint32]*meter{}
		}
		m := s.meters[id]
		if m == nil {
			m = &meter{}
			s.meters[id] = m
		}
		m.warn = 0
		for _, c := range children {
			switch c.Type {
			case ie.VolumeQuota:
				if q, err := c.VolumeQuota(); err == nil {
					m.quota, m.bounded = q.TotalVolume, true
				}
			case ie.VolumeThreshold:
				if q, err := c.VolumeThreshold(); err == nil {
					m.warn = q.TotalVolume
				}
			}
		}
	}
}

// measured is what a meter has counted since it last said so.
func (m *meter) measured(id, why uint32) procedure.Measured {
	out := procedure.Measured{URR: id, Sequence: m.sequence, Why: why, Used: record.Units{Downlink: m.used}}
	m.sequence++
	m.quota -= min(m.quota, m.used)
	m.used = 0
	return out
}

func (s *unitSession) unsaid() (n uint64) {
	for _, m := range s.meters {
		n += m.used
	}
	return n
}

// says what is asked for, or goes with what is removed; all of it where the session goes.
func (s *unitSession) says(ies []*ie.IE, all bool) (out []procedure.Measured) {
	if all {
		for _, r := range s.reports {
			r.r.done = true
			out = append(out, r.said)
		}
		for _, id := range slices.Sorted(maps.Keys(s.meters)) {
			out = append(out, s.meters[id].measured(id, 0))
		}
		return out
	}
	for _, e := range ies {
		if e.Type == ie.PFCPSMReqFlags && e.Payload[0]&4 != 0 {
			for _, id := range slices.Sorted(maps.Keys(s.meters)) {
				out = append(out, s.meters[id].measured(id, 0))
			}
		}
		var children []*ie.IE
		switch e.Type {
		case ie.QueryURR:
			children, _ = e.QueryURR()
		case ie.RemoveURR:
			children, _ = e.RemoveURR()
		}
		for _, c := range children {
			id, err := c.URRID()
			if m := s.meters[id]; err == nil && m != nil {
				out = append(out, m.measured(id, 0))
				if e.Type == ie.RemoveURR {
					delete(s.meters, id)
				}
			}
		}
	}
	return out
}

// forgets: what nobody was told is lost.
func (u *unit) forgets(s *unitSession) {
	f := u.w.chf
	if f != nil {
		f.lost[s.cpSEID] += s.unsaid()
	}
	for _, r := range s.reports {
		r.r.done = true
		if f != nil {
			f.lost[s.cpSEID] += octetsOf(r.said.Used)
		}
	}
	s.reports = nil
}

// leftBehind: what the anchor that a session leaves has not said is nobody's (procedure.move).
func (w *world) leftBehind(was, is *record.Session) {
	if w.chf == nil || was == nil || was.CPSEID != is.CPSEID || was.Unit.NodeID == is.Unit.NodeID || was.Unit.NodeID == "" {
		return
	}
	if u := w.unitNamed(was.Unit.NodeID); u.sessions[u.byCP[was.CPSEID]] != nil {
		s := u.sessions[u.byCP[was.CPSEID]]
		u.forgets(s)
		s.meters = nil
	}
}

// carries: an answer with usage is on its way to a holder, and lost with it, or where nobody has the session any more.
func (v *view) carries(cpSEID uint64, answer procedure.Event) {
	a, ok := answer.(procedure.Unit)
	w := v.pod.w
	if !ok || w.chf == nil {
		return
	}
	n := uint64(0)
	for _, m := range a.Usage {
		n += octetsOf(m.Used)
	}
	if n == 0 {
		return
	}
	if !w.hasRecord(cpSEID) {
		w.chf.lost[cpSEID] += n
		return
	}
	c := &carriage{v, n}
	w.chf.carried[cpSEID] = append(w.chf.carried[cpSEID], c)
	w.After(30*time.Second, func() { // by then the holder has written it, or never will
		if c.lost() {
			w.chf.lost[cpSEID] += n
		}
		w.chf.carried[cpSEID] = slices.DeleteFunc(w.chf.carried[cpSEID], func(x *carriage) bool { return x == c })
	})
}

// hasRecord that takes an answer of its unit's.
func (w *world) hasRecord(cpSEID uint64) bool {
	for _, r := range w.records {
		if r.CPSEID == cpSEID {
			return r.Usage != nil && (r.Phase != record.Releasing || r.Procedure != nil) // without it, the CHF has heard the session's end
		}
	}
	return false
}

// traffic passes the units, for UEs that have a tunnel; every fourth session has none as long as it lasts, and ends all the same.
func (w *world) traffic() {
	if !w.faults {
		return
	}
	w.After(200*time.Millisecond, w.traffic)
	u := w.ues[w.chf.rand.IntN(len(w.ues))]
	if u.teid == 0 || w.fresh && record.ParseRef(u.ref)%4 == 0 {
		return
	}
	for _, at := range w.units {
		if up, ok := at.byCP[record.ParseRef(u.ref)]; ok && !at.silent() {
			at.pass(at.sessions[up], u)
		}
	}
}

func (u *unit) pass(s *unitSession, of *ue) {
	f := u.w.chf
	for _, id := range slices.Sorted(maps.Keys(s.meters)) {
		m := s.meters[id]
		most := uint64(1 + f.rand.IntN(1000))
		if !f.online {
			most = uint64(f.rand.IntN(1 << 29))
		}
		if m.bounded {
			most = min(most, m.quota-min(m.quota, m.used))
		}
		if most == 0 {
			continue
		}
		m.used += most
		f.passed[s.cpSEID] += most
		if f.online && f.passed[s.cpSEID] > f.granted[s.cpSEID]+f.mayBeLost(s.cpSEID) && u.w.forgotten.IsZero() {
			u.w.Fail("session %x: %d octets have passed, %d were granted, %d may be lost", s.cpSEID, f.passed[s.cpSEID], f.granted[s.cpSEID], f.mayBeLost(s.cpSEID))
		}
		switch {
		case m.bounded && m.used >= m.quota:
			u.reports(s, of, m.measured(id, procedure.WhyExhausted))
		case m.warn != 0 && m.used >= m.warn:
			m.warn = 0
			u.reports(s, of, m.measured(id, procedure.WhyThreshold))
		}
	}
}

// reports usage, until that is answered.
func (u *unit) reports(s *unitSession, of *ue, said procedure.Measured) {
	x := &usageReport{said: said}
	x.r = &request{name: "usage", answered: func(body any) {
		b, ok := body.(procedure.Reported)
		if !ok {
			return
		}
		s.reports = slices.DeleteFunc(s.reports, func(y *usageReport) bool { return y == x })
		if b.Cause == ie.CauseSessionContextNotFound {
			if u.w.chf != nil {
				u.w.chf.lost[s.cpSEID] += octetsOf(said.Used)
			}
			u.forgets(s)
			if u.sessions[s.upSEID] == s {
				u.drop(s.upSEID)
			}
		}
	}}
	s.reports = append(s.reports, x)
	u.sends(s, of, x)
}

func (u *unit) sends(s *unitSession, of *ue, x *usageReport) {
	if x.r.done {
		return
	}
	if !u.silent() {
		token := u.w.expect(of, x.r)
		u.w.Note("%s: usage of session %x: %+v", u.nodeID, s.cpSEID, x.said)
		u.w.toShard(record.ShardOf(s.cpSEID), func(to *runner.Runner) {
			if !x.r.done {
				to.DeliverTo(s.cpSEID, procedure.Report{From: token, CPSEID: s.cpSEID, Usage: []procedure.Measured{x.said}})
			}
		})
	}
	u.w.After(1500*time.Millisecond, func() { u.sends(s, of, x) })
}
