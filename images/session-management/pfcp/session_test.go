package pfcp

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	wire "core5g.dev/core5g/upf/upfc/pfcp"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

const (
	establishment = message.MsgTypeSessionEstablishmentRequest
	modification  = message.MsgTypeSessionModificationRequest
	deletion      = message.MsgTypeSessionDeletionRequest
)

func establish(cpSEID uint64) Request {
	return Request{Unit: "upf-0", Kind: Establishment, CPSEID: cpSEID, IEs: []*ie.IE{ie.NewPDNType(1)}}
}

// What is in the three requests, and who is named in them.
func TestSessionMessages(t *testing.T) {
	for name, c := range map[string]struct {
		request Request
		header  uint64
		want    []uint16
	}{
		"an establishment":  {establish(7), 0, []uint16{ie.NodeID, ie.FSEID, ie.PDNType}},
		"a modification":    {Request{Kind: Modification, CPSEID: 7, UPSEID: 9, IEs: []*ie.IE{ie.NewPDNType(1)}}, 9, []uint16{ie.PDNType}},
		"one of another's":  {Request{Kind: Modification, CPSEID: 7, UPSEID: 9, TakeOver: true}, 9, []uint16{ie.NodeID, ie.FSEID}},
		"a deletion":        {Request{Kind: Deletion, CPSEID: 7, UPSEID: 9}, 9, nil},
		"with upper case":   {Request{Unit: "UPF-0.", Kind: Deletion, CPSEID: 7, UPSEID: 9}, 9, nil},
		"with low priority": {Request{Kind: Deletion, Priority: IdleRestoration, CPSEID: 7, UPSEID: 9}, 9, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := ready(t)
			if c.request.Unit == "" {
				c.request.Unit = "upf-0"
			}
			r.Do(c.request, func(Outcome) { t.Error("it has an outcome") })
			m, to := r.next()
			var types []uint16
			for _, e := range m.Elements {
				types = append(types, e.Type)
			}
			if diff := cmp.Diff(c.want, types); diff != "" || m.Type != uint8(c.request.Kind) || !m.HasSEID || m.SEID != c.header || to != unitAddr {
				t.Errorf("%s to %v, SEID %d, (-want +got):\n%s", wire.TypeName(m.Type), to, m.SEID, diff)
			}
			if f := m.Elements.First(ie.FSEID); f != nil {
				if seid, v4, _, err := f.FSEID(); err != nil || seid != 7 || v4 != r.cfg.IPv4 {
					t.Errorf("F-SEID %d %v, %v", seid, v4, err)
				}
			}
		})
	}
}

// What became of a request, by what the unit says to it.
func TestOutcomes(t *testing.T) {
	seid := ie.NewFSEID(9, []byte{192, 0, 2, 1}, nil)
	for name, c := range map[string]struct {
		say  func(r *rig, m *wire.Message)
		want string // "" while it is open
	}{
		"accepted":                {func(r *rig, m *wire.Message) { r.answerSession(m, 7, upf, accepted, seid) }, "answered <nil>"},
		"refused":                 {func(r *rig, m *wire.Message) { r.answerSession(m, 7, cause(ie.CauseNoResourcesAvailable)) }, "refused 75"},
		"refused without SEID":    {func(r *rig, m *wire.Message) { r.answerSession(m, 0, cause(ie.CauseMandatoryIEMissing)) }, "refused 66"},
		"accepted for another":    {func(r *rig, m *wire.Message) { r.answerSession(m, 8, upf, accepted, seid) }, "nobody knows"},
		"accepted, without cause": {func(r *rig, m *wire.Message) { r.answerSession(m, 7, upf, seid) }, "nobody knows"},
		"an IE that is cut short": {func(r *rig, m *wire.Message) {
			r.answerSession(m, 7, accepted, ie.New(ie.CreatedPDR, []byte{0, 56, 0, 9}))
		}, "nobody knows"},
		"from another address": {func(r *rig, m *wire.Message) {
			s := uint64(7)
			r.from(netip.MustParseAddrPort("203.0.113.9:8805"), m.Type+1, &s, m.Sequence, accepted)
		}, ""},
		"to another kind of request": {func(r *rig, m *wire.Message) { s := uint64(7); r.from(unitAddr, deletion+1, &s, m.Sequence, accepted) }, ""},
		"under another number":       {func(r *rig, m *wire.Message) { s := uint64(7); r.from(unitAddr, m.Type+1, &s, m.Sequence+1, accepted) }, ""},
		"another version": {func(r *rig, m *wire.Message) {
			r.from(unitAddr, message.MsgTypeVersionNotSupportedResponse, nil, m.Sequence)
		}, "not sent"},
		"silence, nearly": {func(r *rig, m *wire.Message) { r.pass(3*time.Second - 1) }, ""},
		"silence":         {func(r *rig, m *wire.Message) { r.pass(3 * time.Second) }, "nobody knows"},
		"an answer to the last copy": {func(r *rig, m *wire.Message) {
			r.pass(2500 * time.Millisecond)
			r.answerSession(m, 7, upf, accepted, seid)
		}, "answered <nil>"},
		"an answer that is late": {func(r *rig, m *wire.Message) { r.pass(3 * time.Second); r.answerSession(m, 7, upf, accepted, seid) }, "nobody knows"},
		"two answers": {func(r *rig, m *wire.Message) {
			r.answerSession(m, 7, upf, accepted, seid)
			r.answerSession(m, 7, upf, accepted, seid)
		}, "answered <nil>"},
		"the endpoint is closed": {func(r *rig, m *wire.Message) { r.Close(); r.pass(time.Minute); r.answerSession(m, 7, accepted) }, "nobody knows"},
		"the unit is taken out": {func(r *rig, m *wire.Message) {
			r.RemoveUnit("upf-0", false)
			r.answerSession(m, 7, upf, accepted, seid)
		}, "answered <nil>"},
		"the unit restarts": {func(r *rig, m *wire.Message) {
			r.from(unitAddr, heartbeat, nil, 1, (born + 1).element())
			r.answerSession(m, 7, upf, accepted, seid)
		}, "nobody knows"},
	} {
		t.Run(name, func(t *testing.T) {
			r := ready(t)
			var o outcomes
			r.Do(establish(7), o.done)
			c.say(r, r.wants(establishment))
			got := ""
			if len(o) > 1 {
				t.Fatalf("%d outcomes", len(o))
			}
			if len(o) == 1 {
				var refused *RefusedError
				switch err := o[0].Err; {
				case err == nil:
					m, ok := o[0].Answer.(*message.SessionEstablishmentResponse)
					got = fmt.Sprint("answered ", err)
					if !ok || m.UPFSEID == nil {
						t.Errorf("answer %+v", o[0].Answer)
					}
				case errors.As(err, &refused):
					got = fmt.Sprint("refused ", refused.Cause)
					if o[0].Answer == nil {
						t.Error("a refusal without the answer")
					}
				case isNoAnswer(err):
					got = "nobody knows"
				case isNotSent(err):
					got = "not sent"
				}
			}
			if got != c.want {
				t.Errorf("outcome %q, want %q: %+v", got, c.want, o)
			}
		})
	}
}

func TestNotSent(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*Request)
		want  error
	}{
		"an unknown unit":              {func(r *Request) { r.Unit = "upf-1" }, ErrUnknownUnit},
		"an establishment with UPSEID": {func(r *Request) { r.UPSEID = 5 }, nil},
		"a deletion without":           {func(r *Request) { r.Kind = Deletion }, nil},
		"no session":                   {func(r *Request) { r.CPSEID = 0 }, nil},
		"another message":              {func(r *Request) { r.Kind = Kind(heartbeat) }, nil},
		"an IE that is none":           {func(r *Request) { r.IEs = []*ie.IE{nil} }, nil},
		"more than a message can hold": {func(r *Request) {
			r.IEs = []*ie.IE{ie.New(0x7000, make([]byte, 65000)), ie.New(0x7000, make([]byte, 65000))}
		}, nil},
		"no such priority": {func(r *Request) { r.Priority = 9 }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := ready(t)
			var o outcomes
			q := establish(7)
			c.spoil(&q)
			r.Do(q, o.done)
			r.silent()
			if len(o) != 0 {
				t.Error("it has an outcome before Do has returned")
			}
			r.pass(0)
			if len(o) != 1 || !isNotSent(o[0].Err) || c.want != nil && !errors.Is(o[0].Err, c.want) {
				t.Errorf("outcome %+v", o)
			}
		})
	}
}

// Sequence numbers have 24 bits, are never used twice at a time, and begin somewhere.
func TestSequenceNumbers(t *testing.T) {
	r := ready(t)
	begun := r.sequence
	r.sequence = 0xffffff
	var o outcomes
	r.Do(establish(1), o.done)
	first := r.wants(establishment)
	r.Do(establish(2), o.done)
	second := r.wants(establishment)
	if first.Sequence != 0xffffff || second.Sequence != 0 {
		t.Errorf("sequence numbers %#x and %#x", first.Sequence, second.Sequence)
	}
	r.sequence = 0xffffff
	r.Do(establish(3), o.done)
	if third := r.wants(establishment); third.Sequence != 1 {
		t.Errorf("sequence number %#x while 0xffffff and 0 are waiting for their answers", third.Sequence)
	}
	other := ready(t, func(c *Config) { c.Random.Uint32() })
	if other.sequence == begun {
		t.Error("two endpoints begin with the same sequence number")
	}
}

// Nothing leaves without the lease, and nothing at all after the end.
func TestLease(t *testing.T) {
	r := ready(t)
	var o outcomes
	r.held = false
	r.Do(establish(1), o.done)
	r.silent()
	r.held = true // a moment of doubt costs a repetition
	r.pass(time.Second)
	r.wants(establishment)
	r.from(unitAddr, message.MsgTypeSessionReportRequest, new(uint64), 1, ie.NewReportType(1, 0, 0, 0))
	token := r.events[len(r.events)-1].(SessionReport).Token
	r.Do(establish(2), o.done)
	r.wants(establishment)
	unknown := establish(4)
	unknown.Unit = "upf-1"
	r.Do(unknown, o.done)
	r.Close()
	r.Close()
	r.Do(establish(3), o.done)
	r.Tick(r.now.Add(time.Hour))
	r.from(unitAddr, heartbeat, nil, 1, born.element())
	if err := r.AnswerSessionReport(token, SessionReportAnswer{Cause: 1}); !errors.Is(err, ErrStale) {
		t.Errorf("an answer after the end: %v", err)
	}
	if err := r.AddUnit(Unit{NodeID: "upf-2", Address: unitAddr}); !errors.Is(err, ErrClosed) {
		t.Errorf("a unit after the end: %v", err)
	}
	r.silent()
	if _, ok := r.NextDeadline(); ok {
		t.Error("something is due after the end")
	}
	if len(o) != 4 || !isNoAnswer(o[0].Err) || !isNoAnswer(o[1].Err) || !errors.Is(o[2].Err, ErrUnknownUnit) || !errors.Is(o[3].Err, ErrClosed) {
		t.Errorf("outcomes %+v", o)
	}
}

// Requests wait for a unit that is being met, in the order of their priority and then of their coming.
func TestQueue(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Window, c.Queue = 8, 12 })
	r.add(Unit{NodeID: "upf-0", Address: unitAddr})
	meeting := r.wants(setup)
	var o outcomes
	for n := range uint64(12) {
		q := establish(n + 1)
		q.Priority = []Priority{IdleRestoration, Restoration}[n/6]
		r.Do(q, o.done)
	}
	r.Do(establish(99), o.done)
	r.pass(0)
	if len(o) != 1 || !errors.Is(o[0].Err, errFull) {
		t.Fatalf("outcomes %+v", o)
	}
	r.silent()
	r.answer(meeting, upf, accepted, born.element(), featuresElement(able))
	taken := func() (seids []uint64, list []*wire.Message) {
		for len(r.out) > 0 {
			m := r.wants(establishment)
			s, _, _, err := m.Elements.First(ie.FSEID).FSEID()
			if err != nil {
				t.Fatal(err)
			}
			seids, list = append(seids, s), append(list, m)
		}
		return seids, list
	}
	seids, list := taken()
	if diff := cmp.Diff([]uint64{7, 8, 9, 10, 11, 12}, seids); diff != "" { // three quarters of the window
		t.Fatalf("sent first (-want +got):\n%s", diff)
	}
	r.Do(establish(20), o.done)
	r.Do(establish(21), o.done)
	if seids, more := taken(); !cmp.Equal(seids, []uint64{20, 21}) {
		t.Fatalf("procedures beside it: %v", seids)
	} else {
		list = append(list, more...)
	}
	r.Do(establish(22), o.done)
	r.silent()
	if u := r.Units()[0]; u.UnderWay != 8 || u.Waiting != 7 {
		t.Errorf("%+v", u)
	}
	r.answerSession(list[0], 7, upf, accepted)
	if seids, _ := taken(); !cmp.Equal(seids, []uint64{22}) {
		t.Fatalf("the procedure is next: %v", seids)
	}
	// Congestion: half as many.
	r.answerSession(list[1], 0, cause(ie.CausePFCPEntityInCongestion))
	r.answerSession(list[2], 0, cause(ie.CausePFCPEntityInCongestion))
	if w := r.units["upf-0"].window; w != 4 {
		t.Errorf("window %v, want 4", w)
	}
	for n, m := range list[3:] {
		r.answerSession(m, []uint64{10, 11, 12, 20, 21}[n], upf, accepted)
	}
	for r.Units()[0].UnderWay > 0 {
		seids, list := taken()
		if n := r.Units()[0].UnderWay; n > 5 {
			t.Fatalf("%d under way", n)
		}
		if len(list) == 0 {
			r.pass(3 * time.Second) // 22, which is not answered
			break
		}
		for n, m := range list {
			r.answerSession(m, seids[n], upf, accepted)
		}
	}
	r.out = nil
	r.pass(time.Minute)
	if len(o) != 1+12+3 {
		t.Errorf("%d outcomes", len(o))
	}
	if testutil.ToFloat64(r.cfg.Metrics.waiting.WithLabelValues("smf-0.core5g", "upf-0")) != 0 {
		t.Error("requests wait")
	}
}

// An answer that is late halves the window, once; answers in time widen it again.
func TestWindow(t *testing.T) {
	r := ready(t, func(c *Config) { c.Window, c.Heartbeat = 64, time.Hour })
	var o outcomes
	for n := range uint64(10) {
		r.Do(establish(n+1), o.done)
	}
	list := r.out
	r.out = nil
	r.pass(time.Second)
	if w := r.units["upf-0"].window; w != 32 {
		t.Errorf("window %v after one T1, want 32", w)
	}
	for n, d := range list {
		m, err := wire.Parse(d.b)
		if err != nil {
			t.Fatal(err)
		}
		r.answerSession(m, uint64(n+1), upf, accepted)
	}
	if w := r.units["upf-0"].window; w <= 32 || w > 33 {
		t.Errorf("window %v after 10 answers, want a little more than 32", w)
	}
}

// A request that nobody answers makes the endpoint look whether the unit is there.
func TestSilenceIsLookedInto(t *testing.T) {
	r := ready(t, func(c *Config) { c.Heartbeat = time.Hour })
	var o outcomes
	r.Do(establish(1), o.done)
	r.pass(3 * time.Second)
	for range 3 {
		r.wants(establishment)
	}
	r.answer(r.wants(heartbeat), born.element())
	r.tells("")
	if r.Units()[0].State != Ready {
		t.Error("a unit that answers is not ready")
	}
}

// The same seed and the same events are the same datagrams.
func TestDeterministic(t *testing.T) {
	run := func() (all []datagram) {
		r := newRig(t)
		send := r.cfg.Send
		r.cfg.Send = func(to netip.AddrPort, b []byte) { send(to, b); all = append(all, r.out[len(r.out)-1]) }
		for n := range 5 {
			r.add(Unit{NodeID: fmt.Sprintf("upf-%d", n), Address: netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(n + 1)}), 8805)})
		}
		r.answer(r.wants(setup), upf, accepted, born.element(), featuresElement(able))
		for n := range uint64(20) {
			r.Do(establish(n+1), func(Outcome) {})
		}
		r.pass(5 * time.Minute)
		return all
	}
	if diff := cmp.Diff(run(), run(), cmp.AllowUnexported(datagram{}), cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
		t.Errorf("two runs differ:\n%s", diff)
	}
}

// A callback that asks for more is served, and so is one that closes.
func TestCallbacksCallBack(t *testing.T) {
	r := ready(t)
	var o outcomes
	r.Do(establish(1), func(x Outcome) {
		o.done(x)
		r.Do(Request{Unit: "upf-0", Kind: Deletion, CPSEID: 1, UPSEID: 9}, func(x Outcome) {
			o.done(x)
			r.Close()
		})
	})
	r.Do(establish(2), o.done)
	r.answerSession(r.wants(establishment), 1, upf, accepted)
	r.wants(establishment)
	r.answerSession(r.wants(deletion), 1, accepted)
	if len(o) != 3 || o[0].Err != nil || o[1].Err != nil || !isNoAnswer(o[2].Err) {
		t.Errorf("outcomes %+v", o)
	}
}
