package pfcp

import (
	"errors"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	wire "core5g.dev/core5g/upf/upfc/pfcp"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

const (
	setup     = message.MsgTypeAssociationSetupRequest
	update    = message.MsgTypeAssociationUpdateRequest
	release   = message.MsgTypeAssociationReleaseRequest
	heartbeat = message.MsgTypeHeartbeatRequest
)

// How units are met: what is sent, what the unit says to it, what is told in the end.
func TestMeeting(t *testing.T) {
	type step struct {
		sends  uint8
		answer []*ie.IE // nil: none, N1 times
	}
	is := func(ies ...*ie.IE) []*ie.IE { return ies }
	stamp := func(s Stamp) *ie.IE { return s.element() }
	noAssociation := is(upf, cause(ie.CauseNoEstablishedPFCPAssociation))
	setUp := step{setup, is(upf, accepted, stamp(born), featuresElement(able))}
	updated := step{update, is(upf, accepted, featuresElement(able))}
	refused := step{update, is(upf, cause(ie.CauseServiceNotSupported))}
	for name, c := range map[string]struct {
		unit  Unit
		steps []step
		want  string
	}{
		"a new unit is set up": {Unit{}, []step{setUp}, "associated"},
		"a new holder has the unit take its address": {Unit{Associated: true, Recovery: born},
			[]step{updated, {heartbeat, is(stamp(born))}}, "associated updated"},
		"a unit that has no association is set up": {Unit{Associated: true, Recovery: born},
			[]step{{update, noAssociation}, setUp}, "associated emptied"},
		"a unit that keeps the sessions says so": {Unit{}, []step{{setup, is(upf, accepted, stamp(born), featuresElement(able), ie.New(ie.PFCPASRspFlags, []byte{1}))}}, "associated retained"},
		"a unit that restarted while nobody looked is set up": {Unit{Associated: true, Recovery: born - 5},
			[]step{{update, noAssociation}, setUp}, "restarted +5; associated emptied"},
		"one that restarted after the update, too": {Unit{Associated: true, Recovery: born - 5},
			[]step{updated, {heartbeat, is(stamp(born))}, {update, noAssociation}, setUp}, "restarted +5; associated emptied"},
		"a unit whose clock was set back has restarted": {Unit{Recovery: born + 9}, []step{setUp}, "restarted -9; associated"},
		"a unit that cannot do updates is set up after three": {Unit{Associated: true, Recovery: born}, []step{refused, refused, refused, setUp},
			strings.Repeat("in vain: the UP function refuses the association_update_request: service_not_supported; ", 3) + "associated emptied"},
		"one that lacks features is not used": {Unit{}, []step{{setup, is(upf, accepted, stamp(born), featuresElement(Features{}.With(FTUP)))}},
			"in vain: the UP function upf-0 lacks UEIP; it has to choose the UEs' addresses itself: give it pools of them by network instance (upf-c: uePools)"},
		"one that says no features": {Unit{}, []step{{setup, is(upf, accepted, stamp(born))}},
			"in vain: the UP function upf-0 lacks FTUP, UEIP; it has to choose F-TEIDs itself: switch on its allocation of F-TEIDs; it has to choose the UEs' addresses itself: give it pools of them by network instance (upf-c: uePools)"},
		"another unit is there": {Unit{}, []step{{setup, is(ie.NewNodeID("192.0.2.7", "", ""), accepted, stamp(born), featuresElement(able))}},
			`in vain: the UP function at 192.0.2.1:8805 calls itself "192.0.2.7": write this Node ID for it, not "upf-0"`},
		"a refusal": {Unit{}, []step{{setup, is(upf, cause(ie.CauseNoResourcesAvailable))}}, "in vain: the UP function refuses the association_setup_request: no_resources_available"},
		"an answer without a stamp": {Unit{}, []step{{setup, is(upf, accepted, featuresElement(able))}},
			"in vain: cause mandatory_ie_missing, offending IE 96: association_setup_response lacks a mandatory IE"},
		"silence":            {Unit{}, []step{{setup, nil}, setUp}, "in vain: no answer; associated"},
		"silence, then more": {Unit{Associated: true}, []step{{update, nil}, updated, {heartbeat, nil}, updated, {heartbeat, is(stamp(born))}}, "in vain: no answer; in vain: no answer; associated updated"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			c.unit.NodeID, c.unit.Address = "UPF-0.", netip.AddrPortFrom(unitAddr.Addr(), 0)
			r.add(c.unit)
			for n, s := range c.steps {
				for n > 0 && len(r.out) == 0 { // after a pause
					at, _ := r.NextDeadline()
					r.pass(at.Sub(r.now))
				}
				m := r.wants(s.sends)
				if s.answer != nil {
					r.answer(m, s.answer...)
					r.answer(m, s.answer...) // a copy changes nothing
					continue
				}
				r.pass(2 * time.Second)
				for range 2 {
					if again := r.wants(s.sends); again.Sequence != m.Sequence {
						t.Fatalf("repeated under sequence number %d, was %d", again.Sequence, m.Sequence)
					}
				}
				r.pass(time.Second)
			}
			r.tells(c.want)
			r.silent()
		})
	}
}

// That the sessions are gone is told even where the unit cannot be used at first, and no answer from before is told after it.
func TestEmptied(t *testing.T) {
	r := ready(t)
	var o outcomes
	r.Do(establish(7), o.done)
	r.Do(establish(8), o.done)
	first, second := r.wants(establishment), r.wants(establishment)
	r.answerSession(second, 0, cause(ie.CauseNoEstablishedPFCPAssociation))
	r.answer(r.wants(update), upf, cause(ie.CauseNoEstablishedPFCPAssociation))
	r.answer(r.wants(setup), upf, accepted, born.element(), featuresElement(Features{}.With(FTUP, EMPU)))
	r.answerSession(first, 7, upf, accepted)
	if len(o) != 2 || !isNoAnswer(o[1].Err) {
		t.Errorf("outcomes %+v", o)
	}
	r.events = nil
	r.pass(time.Second)
	r.answer(r.wants(update), upf, accepted, featuresElement(able))
	r.answer(r.wants(heartbeat), born.element())
	r.tells("associated updated emptied")
	r.pass(5 * time.Second)
	r.from(unitAddr, setup, nil, 1, upf, born.element(), featuresElement(able))
	r.tells("associated by unit emptied")
}

// What is in the messages that meet a unit.
func TestAssociationMessages(t *testing.T) {
	r := newRig(t)
	r.add(Unit{NodeID: "upf-0", Address: unitAddr, Associated: true})
	m := r.wants(update)
	if node, err := m.Elements.First(ie.NodeID).NodeID(); err != nil || node != "smf-0.core5g" || m.Elements.First(ie.CPFunctionFeatures) == nil {
		t.Errorf("an update of %q, %v: %v", node, err, m.Elements)
	}
	r.answer(m, upf, cause(ie.CauseNoEstablishedPFCPAssociation))
	m = r.wants(setup)
	stamp, err := stampIn(m)
	if node, err := m.Elements.First(ie.NodeID).NodeID(); err != nil || node != "smf-0.core5g" {
		t.Errorf("a setup of %q, %v", node, err)
	}
	if err != nil || stamp != r.cfg.Recovery || m.Elements.First(ie.PFCPSessionRetentionInformation) == nil {
		t.Errorf("stamp %d (%v), want %d; elements %v", stamp, err, r.cfg.Recovery, m.Elements)
	}
}

// A unit that does not answer is asked again, later and later, and requests for it do not wait.
func TestBackOff(t *testing.T) {
	r := newRig(t)
	r.add(Unit{NodeID: "upf-0", Address: unitAddr})
	var o outcomes
	r.Do(Request{Unit: "upf-0", Kind: Establishment, CPSEID: 1}, o.done)
	r.pass(3 * time.Second) // N1 x T1
	if len(o) != 1 || !isNotSent(o[0].Err) {
		t.Fatalf("behind a unit that does not answer: %+v", o)
	}
	r.Do(Request{Unit: "upf-0", Kind: Establishment, CPSEID: 1}, o.done)
	r.pass(0)
	if len(o) != 2 || !errors.Is(o[1].Err, ErrAway) {
		t.Fatalf("while it does not answer: %+v", o)
	}
	var pauses []time.Duration
	for range 8 {
		ev := r.events[len(r.events)-1].(NotAssociated)
		pauses = append(pauses, ev.Again)
		r.out = nil
		r.pass(ev.Again - time.Millisecond)
		r.silent()
		r.pass(time.Millisecond)
		r.wants(setup)
		r.pass(3 * time.Second)
	}
	for n, d := range pauses {
		most := min(time.Second<<n, 30*time.Second)
		if d > most || d < most*3/4 {
			t.Errorf("pause %d is %v, want %v less a quarter at most", n, d, most)
		}
	}
}

func isNotSent(err error) bool {
	var n *NotSentError
	return errors.As(err, &n)
}

func isNoAnswer(err error) bool {
	var n *NoAnswerError
	return errors.As(err, &n)
}

// The path fails and works again.
func TestHeartbeats(t *testing.T) {
	r := ready(t, func(c *Config) { c.Missed = 2 })
	for range 3 {
		r.pass(5 * time.Second)
		m := r.wants(heartbeat)
		if s, err := stampIn(m); err != nil || s != r.cfg.Recovery {
			t.Errorf("stamp %d, %v", s, err)
		}
		r.answer(m, born.element())
	}
	r.pass(5 * time.Second)
	r.pass(3 * time.Second) // one is missed, and the next leaves at once
	r.tells("")
	for range 4 {
		r.wants(heartbeat)
	}
	r.pass(3 * time.Second)
	r.tells("down")
	for range 2 {
		r.wants(heartbeat)
	}
	var o outcomes
	r.Do(Request{Unit: "upf-0", Kind: Deletion, CPSEID: 1, UPSEID: 2}, o.done)
	r.pass(0)
	if len(o) != 1 || !errors.Is(o[0].Err, ErrAway) {
		t.Errorf("while the path is down: %+v", o)
	}
	r.answer(r.wants(update), upf, accepted)
	r.answer(r.wants(heartbeat), born.element())
	r.tells("associated updated")
	if u := r.Units(); len(u) != 1 || u[0].State != Ready || u[0].Features != able {
		t.Errorf("units %+v", u)
	}
	// One that is heard of is met at once, however long the pause would be.
	r.pass(time.Minute)
	if got := r.story(); !strings.HasPrefix(got, "down; in vain: no answer; in vain: no answer") {
		t.Errorf("told %q", got)
	}
	for r.units["upf-0"].current != nil { // to a pause between attempts
		r.pass(time.Second)
	}
	r.out, r.events = nil, nil
	r.from(unitAddr, heartbeat, nil, 7, born.element())
	r.wants(heartbeat + 1)
	r.answer(r.wants(update), upf, accepted)
	r.answer(r.wants(heartbeat), born.element())
	r.tells("associated updated")
}

// A restart is told once, by whichever message it is seen in, and messages that come late tell nothing.
func TestRestart(t *testing.T) {
	r := ready(t)
	r.pass(5 * time.Second)
	m := r.wants(heartbeat)
	r.from(unitAddr, heartbeat, nil, 1, (born + 3).element()) // the unit speaks first
	r.wants(heartbeat + 1)
	r.tells("restarted +3")
	r.answer(m, born.element()) // from before its restart, and to nobody
	late := r.wants(update)
	r.from(unitAddr, heartbeat, nil, 2, born.element()) // overtaken
	r.wants(heartbeat + 1)
	r.answer(late, upf, cause(ie.CauseNoEstablishedPFCPAssociation))
	r.answer(r.wants(setup), upf, accepted, (born + 3).element(), featuresElement(able))
	r.tells("associated emptied")
	if n := r.dropped("old_stamp"); n != 1 {
		t.Errorf("%d old stamps, want 1", n)
	}
	if got := r.Units()[0].Recovery; got != born+3 {
		t.Errorf("stamp %d is known, want %d", got, born+3)
	}
	// A heartbeat sees the next one.
	r.pass(5 * time.Second)
	r.answer(r.wants(heartbeat), (born + 8).element())
	r.tells("restarted +5")
	// The answer to a request from before the restart, with the stamp of before, is no second one.
	r.answer(r.wants(update), upf, accepted)
	m = r.wants(heartbeat)
	r.from(unitAddr, heartbeat, nil, 3, (born + 9).element())
	r.answer(m, (born + 8).element())
	r.wants(heartbeat + 1)
	r.tells("restarted +1; associated updated")
	// The next one shows that it is so.
	r.pass(5 * time.Second)
	r.answer(r.wants(heartbeat), (born + 9).element())
	r.tells("")
}

// Whoever asks is told the stamp, also a node that nobody knows (TS 29.244 6.2.2.2).
func TestHeartbeatsOfStrangers(t *testing.T) {
	r := newRig(t)
	r.from(netip.MustParseAddrPort("203.0.113.9:40000"), heartbeat, nil, 5, born.element())
	m, to := r.next()
	if s, err := stampIn(m); err != nil || s != r.cfg.Recovery || m.Sequence != 5 || to.Port() != 40000 {
		t.Errorf("answer %+v to %v, %v", m, to, err)
	}
}

func TestUnitBegins(t *testing.T) {
	r := newRig(t)
	ask := []*ie.IE{upf, born.element(), featuresElement(able)}
	r.from(unitAddr, setup, nil, 5, ask...)
	if c, err := causeIn(r.wants(setup + 1)); err != nil || c != ie.CauseRequestRejected {
		t.Errorf("a unit that nobody knows: cause %d, %v", c, err)
	}
	r.add(Unit{NodeID: "upf-0", Address: unitAddr})
	r.wants(setup)
	r.from(unitAddr, setup, nil, 6, ask...)
	m := r.wants(setup + 1)
	s, err := stampIn(m)
	if c, _ := causeIn(m); c != ie.CauseRequestAccepted || err != nil || s != r.cfg.Recovery {
		t.Errorf("cause %d, stamp %d, %v", c, s, err)
	}
	r.tells("associated by unit")
	r.pass(4 * time.Second)
	r.silent() // our own setup is not repeated
	// What changes, and what the unit wants.
	r.from(unitAddr, update, nil, 7, upf, featuresElement(able.With(MTE)))
	if c, _ := causeIn(r.wants(update + 1)); c != ie.CauseRequestAccepted {
		t.Errorf("cause %d", c)
	}
	r.from(unitAddr, update, nil, 8, upf, ie.NewPFCPAssociationReleaseRequest(1, 0), ie.NewGracefulReleasePeriod(20*time.Minute))
	r.from(unitAddr, update, nil, 8, upf, ie.NewPFCPAssociationReleaseRequest(1, 0), ie.NewGracefulReleasePeriod(20*time.Minute))
	first, second := r.wants(update+1), r.wants(update+1)
	if diff := cmp.Diff(first.Elements, second.Elements); diff != "" {
		t.Errorf("the same request is answered in two ways:\n%s", diff)
	}
	r.from(unitAddr, update, nil, 9, upf, featuresElement(Features{}))
	r.wants(update + 1)
	r.tells("features changed; wants release in 20m0s; features changed; in vain: " + (&UnfitError{"upf-0", []Feature{FTUP, UEIP}}).Error())
	// From an address that is not the unit's.
	r.from(netip.MustParseAddrPort("203.0.113.9:8805"), update, nil, 10, upf)
	r.silent()
	if n := r.dropped("stranger"); n != 2 {
		t.Errorf("%d strangers, want 2", n)
	}
}

func TestRelease(t *testing.T) {
	r := ready(t)
	var o outcomes
	r.Do(Request{Unit: "upf-0", Kind: Deletion, CPSEID: 1, UPSEID: 2}, o.done)
	deletion := r.wants(message.MsgTypeSessionDeletionRequest)
	r.RemoveUnit("upf-0", true)
	r.Do(Request{Unit: "upf-0", Kind: Establishment, CPSEID: 3}, o.done)
	r.pass(0)
	if len(o) != 1 || !errors.Is(o[0].Err, ErrLeaving) {
		t.Errorf("an establishment on a unit that is released: %+v", o)
	}
	r.silent() // not before the deletion is over
	r.answerSession(deletion, 1, accepted)
	m := r.wants(release)
	if len(o) != 2 || o[1].Err != nil {
		t.Errorf("the deletion: %+v", o)
	}
	r.add(Unit{NodeID: "upf-0", Address: unitAddr}) // it is wanted again meanwhile
	r.answer(m, upf, accepted)
	r.tells("released <nil>")
	r.answer(r.wants(setup), upf, accepted, born.element(), featuresElement(able))
	r.tells("associated")

	// The unit releases, or has forgotten.
	r.from(unitAddr, release, nil, 5, upf)
	if c, _ := causeIn(r.wants(release + 1)); c != ie.CauseRequestAccepted {
		t.Errorf("cause %d", c)
	}
	r.answer(r.wants(setup), upf, accepted, born.element(), featuresElement(able))
	r.tells("lost; associated emptied")
	r.Do(Request{Unit: "upf-0", Kind: Modification, CPSEID: 1, UPSEID: 2}, o.done)
	r.answerSession(r.wants(message.MsgTypeSessionModificationRequest), 0, cause(ie.CauseNoEstablishedPFCPAssociation))
	var refused *RefusedError
	if len(o) != 3 || !errors.As(o[2].Err, &refused) || refused.Cause != ie.CauseNoEstablishedPFCPAssociation {
		t.Fatalf("%+v", o)
	}
	r.answer(r.wants(update), upf, cause(ie.CauseNoEstablishedPFCPAssociation))
	r.answer(r.wants(setup), upf, accepted, born.element(), featuresElement(able))
	r.tells("lost; associated emptied")

	// One that does not answer is forgotten all the same, and so is one that is told nothing.
	r.RemoveUnit("upf-0", true)
	r.pass(3 * time.Second)
	r.tells("released no answer")
	r.out = nil
	r.add(Unit{NodeID: "upf-0", Address: unitAddr})
	r.wants(setup)
	r.RemoveUnit("upf-0", false)
	r.pass(time.Minute)
	r.silent()
	r.tells("released <nil>")
	if len(r.Units()) != 0 {
		t.Errorf("units %+v", r.Units())
	}
}

// A unit whose pod has another address now.
// To one unit the shard may have another Node ID and address than to all others, in all that it says to it.
func TestAsWhomAUnitIsMet(t *testing.T) {
	outside := &Self{Node: "203.0.113.9", IPv4: netip.MustParseAddr("203.0.113.9")}
	r := newRig(t)
	named := func(m *wire.Message, want string) {
		t.Helper()
		name, err := m.Elements.First(ie.NodeID).NodeID()
		if err != nil || name != want {
			t.Errorf("%s is from %q, %v; want %s", wire.TypeName(m.Type), name, err, want)
		}
	}
	setUp := func(want string) {
		t.Helper()
		m := r.wants(setup)
		named(m, want)
		r.answer(m, upf, accepted, born.element(), featuresElement(able))
	}
	r.add(Unit{NodeID: "upf-0", Address: unitAddr, As: outside})
	setUp(outside.Node)
	r.Do(Request{Unit: "upf-0", Kind: Establishment, CPSEID: 7}, func(Outcome) {})
	m := r.wants(message.MsgTypeSessionEstablishmentRequest)
	named(m, outside.Node)
	if seid, v4, _, err := m.Elements.First(ie.FSEID).FSEID(); err != nil || seid != 7 || v4 != outside.IPv4 {
		t.Errorf("CP F-SEID %#x at %s, %v", seid, v4, err)
	}
	r.Update("upf-0", nil, func(wire.Elements, error) {})
	named(r.wants(update), outside.Node)
	r.from(unitAddr, message.MsgTypeNodeReportRequest, nil, 99, upf, ie.New(ie.NodeReportType, []byte{0}))
	for _, ev := range r.events {
		if report, is := ev.(NodeReport); is {
			if err := r.AnswerNodeReport(report.Token, ie.CauseRequestAccepted); err != nil {
				t.Fatal(err)
			}
		}
	}
	named(r.wants(message.MsgTypeNodeReportResponse), outside.Node)

	// Another Node ID has no association.
	r.add(Unit{NodeID: "upf-0", Address: unitAddr})
	setUp("smf-0.core5g")
	r.add(Unit{NodeID: "upf-0", Address: unitAddr})
	r.silent()
}

func TestUnitMoves(t *testing.T) {
	r := ready(t)
	other := netip.MustParseAddrPort("192.0.2.2:8805")
	r.add(Unit{NodeID: "upf-0", Address: other})
	m, to := r.next()
	if m.Type != update || to != other {
		t.Fatalf("sent %s to %v", wire.TypeName(m.Type), to)
	}
	r.from(unitAddr, update+1, nil, m.Sequence, upf, accepted)
	if r.Units()[0].State != Meeting || r.dropped("stranger") != 1 {
		t.Error("an answer from where nobody asked was taken")
	}
	r.from(other, update+1, nil, m.Sequence, upf, accepted)
	m, _ = r.next()
	r.from(other, heartbeat+1, nil, m.Sequence, born.element())
	r.tells("associated updated")
}

func TestBadInput(t *testing.T) {
	r := newRig(t)
	for want, u := range map[string]Unit{
		"write the FQDN":         {Address: unitAddr},
		"write that of its N4":   {NodeID: "upf-0"},
		"write that of its N4, ": {NodeID: "upf-0", Address: netip.MustParseAddrPort("[::]:8805")},
	} {
		if err := r.AddUnit(u); err == nil || !strings.Contains(err.Error(), strings.TrimSuffix(want, ", ")) {
			t.Errorf("%+v: %v, want %q", u, err, want)
		}
	}
	good := r.cfg
	for want, spoil := range map[string]func(*Config){
		"write an FQDN":       func(c *Config) { c.Node = "" },
		"write an IPv4":       func(c *Config) { c.IPv4 = netip.Addr{} },
		"Recovery Time Stamp": func(c *Config) { c.Recovery = 0 },
		"needs Clock":         func(c *Config) { c.Random = (*rand.Rand)(nil) },
	} {
		c := good
		spoil(&c)
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestStamp: the stamps wrap in 2036.
func TestStamp(t *testing.T) {
	for _, at := range []time.Time{time.Unix(1_700_000_000, 0), time.Unix(2_085_978_495, 0), time.Unix(2_085_978_497, 0), time.Unix(3_000_000_000, 0)} {
		if got := StampOf(at).Time(at.Add(-time.Hour)); !got.Equal(at) {
			t.Errorf("%v is %v again", at, got)
		}
	}
	before, after := StampOf(time.Unix(2_085_978_495, 0)), StampOf(time.Unix(2_085_978_497, 0))
	if !newer(after, before) || newer(before, after) {
		t.Error("the stamp of a later second is older")
	}
}

// A unit whose sessions can be made again as they were is looked at every second, and every fifth of one while it is away, however long: its UEs wait for nothing
// else.
func TestUnitsThatRestoreAreLookedAtOften(t *testing.T) {
	for name, tt := range map[string]struct {
		features          Features
		beat, again, most time.Duration
	}{
		"one that restores sessions": {able.With(RESPS), time.Second, 200 * time.Millisecond, 200 * time.Millisecond},
		"one that does not":          {able, 5 * time.Second, time.Second, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.add(Unit{NodeID: "upf-0", Address: unitAddr})
			r.answer(r.wants(setup), upf, accepted, born.element(), featuresElement(tt.features))
			r.pass(tt.beat - time.Millisecond)
			r.silent()
			r.pass(time.Millisecond)
			r.answer(r.wants(heartbeat), born.element())
			r.pass(tt.beat)
			r.wants(heartbeat)
			r.pass(tt.again - time.Millisecond)
			r.silent()
			r.pass(time.Millisecond)
			r.wants(heartbeat)
			r.pass(10 * time.Minute)
			last, ok := r.events[len(r.events)-1].(NotAssociated)
			if !ok || last.Again > tt.most || last.Again < tt.most*3/4 {
				t.Errorf("after ten minutes: %+v, want an attempt %v later, less a quarter at most", r.events[len(r.events)-1], tt.most)
			}
		})
	}
}
