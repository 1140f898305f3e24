package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/link"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/memory"
	"core5g.dev/core5g/images/ngapcause"

	"github.com/google/go-cmp/cmp"
)

func wants(t *testing.T, n *network, list ...string) {
	t.Helper()
	if diff := cmp.Diff(list, n.takeNoted()); diff != "" {
		t.Errorf("what was done (-want +is):\n%s", diff)
	}
}

func registered(t *testing.T) (*network, *holder) {
	t.Helper()
	n := newNetwork(t)
	h := n.hold(1)
	n.phone.register()
	n.settle()
	if !n.phone.registered {
		t.Fatalf("the UE is not registered: %v\n%v", n.noted, n.phone.log)
	}
	n.takeNoted()
	return n, h
}

// Nothing leaves before it is kept: of a stranger nothing is, from its SUPI on everything, but that one question follows another.
func TestOrderOfARegistration(t *testing.T) {
	n := newNetwork(t)
	n.hold(1)
	n.takeNoted()
	n.phone.register()
	n.settle()
	wants(t, n,
		"keep 1", "AskChallenge", "send DownlinkNASTransport AuthenticationRequest",
		"AskConfirm", "commit shard 1 phase 1 registration step 6", "done 1",
		"send DownlinkNASTransport SecurityModeCommand", "done 2",
		"AskRecording", "AskPolicy",
		"ended registration", "commit shard 1 phase 2", "send InitialContextSetupRequest", "done 3",
		"commit shard 1 phase 2", "done 4", "done 5",
	)
}

// A terminator of a release that keeps nothing is told that a message is done with when its UE has been asked something, as it always was.
func TestATerminatorOfBefore(t *testing.T) {
	n := newNetwork(t)
	n.before = true
	n.hold(1)
	n.takeNoted()
	n.phone.register()
	n.settle()
	if got, want := n.takeNoted()[:3], []string{"AskChallenge", "send DownlinkNASTransport AuthenticationRequest", "done 1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if all, _ := n.term.Waiting(); all != 0 || !n.phone.registered {
		t.Errorf("%d messages wait; registered: %t", all, n.phone.registered)
	}
}

// A UE that asks for a PDU session as soon as it is registered waits for no write of that: its gNB's answer, its own and the request are written together, with the SMF's answer. Whoever comes when
// a holder has died anywhere in between has both, and the terminator nothing that waits.
func TestAUEThatIsHasty(t *testing.T) {
	for sentence, takes := range map[string]time.Duration{"the SMF answers at once": 0, "it takes its time": answerLook / 2, "it takes long": 3 * answerLook} {
		t.Run(sentence, func(t *testing.T) { isHasty(t, takes) })
	}
}

func isHasty(t *testing.T, takes time.Duration) {
	t.Helper()
	repeated := 0
	story := func(dies int) (steps int, noted []string) {
		n := newNetwork(t)
		n.phone.hasty, n.takes = true, takes
		n.step = func(h *holder) {
			if steps++; steps == dies {
				h.die()
				n.soon = append(n.soon, func() { n.hold(1) })
			}
		}
		n.hold(1)
		n.takeNoted()
		n.phone.register()
		n.pass(2 * takes)
		noted = n.takeNoted()
		for range 8 { // T3510
			n.pass(15 * time.Second)
			if !n.phone.registered {
				n.phone.register()
			}
		}
		n.pass(time.Minute)
		if rec := n.kept(); rec != nil && len(rec.Sessions) == 0 { // T3580: nobody has its request any more
			repeated++
			n.phone.asks()
			n.pass(2 * takes)
		}
		switch rec := n.kept(); {
		case !n.phone.registered || rec == nil:
			t.Errorf("dead at step %d: the UE is not registered: %v", dies, n.phone.log)
		case rec.TMSI != n.phone.tmsi || rec.OldTMSI != 0 || rec.Procedure != nil || rec.Command != nil || len(rec.Sessions) != 1 || rec.Sessions[0].Context == "":
			t.Errorf("dead at step %d: the record is %+v", dies, rec)
		}
		if all, _ := n.term.Waiting(); all != 0 {
			t.Errorf("dead at step %d: %d messages were not done with", dies, all)
		}
		return steps, noted
	}
	steps, noted := story(0)
	accepted := slices.Index(noted, "send InitialContextSetupRequest")
	if accepted < 0 {
		t.Fatalf("there is no accept: %q", noted)
	}
	want := []string{"done 3", "AskSession", "commit shard 1 phase 2", "done 4", "done 5", "done 6"}
	if got := noted[accepted+1:]; len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
		t.Errorf("behind the accept comes %q, want %q first", got, want)
	}
	for dies := range steps {
		story(dies + 1)
	}
	if repeated > 0 {
		t.Errorf("a UE has to ask again in %d of %d deaths", repeated, steps)
	}
}

// An SMF hears of a tunnel before the AMF has written that there is one: packets wait for nothing else. A holder that dies in between is followed by one that says it again.
func TestATunnelWaitsForNoWrite(t *testing.T) {
	serves := func(dies bool) []string {
		n, h := withSession(t)
		n.phone.serve(1)
		if dies {
			n.step = func(now *holder) {
				sent := slices.Index(n.noted, "send InitialContextSetupRequest")
				if now == h && !h.dead && sent >= 0 && slices.Contains(n.noted[sent:], "AskSession") {
					h.die()
					n.soon = append(n.soon, func() { n.hold(1) })
				}
			}
		}
		n.settle()
		n.pass(5 * time.Second)
		if rec := n.kept(); rec == nil || !rec.Sessions[0].Up || rec.Procedure != nil {
			t.Errorf("it dies: %v; the record is %+v", dies, rec)
		}
		if all, _ := n.term.Waiting(); all != 0 {
			t.Errorf("it dies: %v; %d messages were not done with", dies, all)
		}
		noted := n.takeNoted()
		return noted[slices.Index(noted, "send InitialContextSetupRequest")+1:]
	}
	want := []string{"done 6", "AskSession", "commit shard 1 phase 2", "done 7", "done 8"}
	if diff := cmp.Diff(want, serves(false)); diff != "" {
		t.Errorf("behind the accept (-want +is):\n%s", diff)
	}
	told := 0
	for _, x := range serves(true) {
		if x == "AskSession" {
			told++
		}
	}
	if told != 2 {
		t.Errorf("an SMF is told %d times by two holders", told)
	}
}

// resumed is how long a holder waits for the answer to what the one before has written, and may not have sent.
const resumed = time.Second

// A holder that gives its shard up on purpose, anywhere in a registration, is followed by one that goes on: nobody says anything again, and nobody waits for what was
// written and not sent.
func TestAHolderThatLeaves(t *testing.T) {
	for at := 1; ; at++ {
		n := newNetwork(t)
		steps, left := 0, 0
		n.step = func(h *holder) {
			if steps++; steps != at {
				return
			}
			n.soon = append(n.soon, func() {
				h.runner.Leave(farewellTime, func() {
					left++
					if _, strangers := h.runner.UEs(); strangers > 0 {
						t.Errorf("leaving at step %d: it has left %d UEs that nobody knows", at, strangers)
					}
					h.leave()
					n.soon = append(n.soon, func() { n.hold(1) })
				})
			})
		}
		n.hold(1)
		n.phone.register()
		n.settle()
		n.pass(resumed / 2)
		if steps < at {
			return
		}
		switch rec := n.has(); {
		case left != 1:
			t.Errorf("leaving at step %d: it has left %d times", at, left)
		case !n.phone.registered || rec == nil || rec.Procedure != nil:
			t.Errorf("leaving at step %d: the UE is registered: %v, its record is %+v: %q", at, n.phone.registered, rec, n.phone.log)
		}
	}
}

// A UE's request for a session that the SMF cannot make now is not done with until the SMF can, nor written: who takes the shard over meanwhile gets it again.
func TestASessionThatTakesLonger(t *testing.T) {
	for name, dies := range map[string]bool{"the holder lives": false, "it dies in between": true} {
		t.Run(name, func(t *testing.T) {
			n, h := registered(t)
			n.manual = true
			n.takeNoted()
			n.phone.asks()
			n.settle()
			notNow := func(k int) {
				n.asked[k](procedure.SessionAnswer{Number: n.asks[k].(procedure.AskSession).Number, Outcome: procedure.Unsent, Status: 503, RetryAfter: 3 * time.Second})
				n.pass(2 * time.Second)
			}
			notNow(0)
			if dies {
				h.die()
				n.hold(1)
				n.settle()
				if len(n.asks) != 2 {
					t.Fatalf("the next holder does not ask: %q", n.noted)
				}
				notNow(1)
			}
			asked := len(n.asks)
			if all, _ := n.term.Waiting(); all != 1 {
				t.Errorf("%d messages wait: %q", all, n.noted)
			}
			n.pass(2 * time.Second)
			if len(n.asks) != asked+1 || slices.ContainsFunc(n.noted, func(x string) bool { return !strings.HasPrefix(x, "Ask") }) {
				t.Fatalf("%d questions, want %d: %q", len(n.asks), asked+1, n.noted)
			}
			n.asked[asked](procedure.SessionAnswer{Number: n.asks[asked].(procedure.AskSession).Number, Outcome: procedure.Done, Context: "http://smf/1"})
			n.pass(time.Second)
			if all, _ := n.term.Waiting(); all != 0 || len(n.kept().Sessions) != 1 {
				t.Errorf("%d messages wait, the record is %+v: %q", all, n.kept(), n.noted)
			}
		})
	}
}

// farewellTime is more than any of these takes.
const farewellTime = time.Minute

// A UE that does not say who it is keeps a shard, for a while; those that are known do not, whatever is asked for them.
func TestWhoKeepsAHolder(t *testing.T) {
	for name, tt := range map[string]struct {
		begins func(*network)
		// early and late are how often it has left before its time and behind it.
		early, late int
	}{
		"a UE at rest":                     {func(*network) {}, 1, 1},
		"a UE that asks for a session":     {func(n *network) { n.phone.asks() }, 1, 1},
		"a UE that is to be challenged":    {func(n *network) { (&phone{network: n, at: gnbAt}).register() }, 0, 1},
		"a UE of a shard that it has lost": {func(n *network) { n.holderOf(1).runner.Stop() }, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			n, h := registered(t)
			n.manual = true
			tt.begins(n)
			n.settle()
			left := 0
			h.runner.Leave(farewellTime, func() { left++ })
			n.pass(farewellTime - settleTime - leaveLook)
			if left != tt.early {
				t.Errorf("it has left %d times, want %d", left, tt.early)
			}
			n.pass(farewellTime)
			if left != tt.late {
				t.Errorf("in the end it has left %d times, want %d", left, tt.late)
			}
		})
	}
}

// A holder that leaves waits for what is being written, for a second; messages that come meanwhile are the next holder's.
func TestAHolderThatLeavesTakesNothingMore(t *testing.T) {
	for name, answers := range map[string]bool{"the store answers": true, "the store does not": false} {
		t.Run(name, func(t *testing.T) {
			n, h := registered(t)
			n.takeNoted()
			n.faults = slices.Repeat([]memory.Fault{memory.LostRequest}, 40)
			n.phone.asks()
			n.settle()
			unknown := &phone{network: n, at: gnbAt, tmsi: record.TMSI(1, 5), key: n.phone.key, ran: 77}
			unknown.serve()
			for len(h.runner.finding) == 0 { // it has been taken
				f := n.soon[0]
				n.soon = n.soon[1:]
				f()
			}
			left := 0
			h.runner.Leave(farewellTime, func() {
				if left++; len(n.asks) != 0 {
					t.Errorf("it has asked %T", n.asks[0])
				}
				h.leave()
				n.soon = append(n.soon, func() { n.hold(1) })
			})
			n.manual = true
			n.phone.asksFor(2)
			(&phone{network: n, at: gnbAt}).register()
			n.pass(settleTime / 2)
			said := func(x string) bool { return strings.HasPrefix(x, "send") || strings.HasPrefix(x, "done") }
			if all, untaken := n.term.Waiting(); left != 0 || all != 4 || untaken != 0 || len(n.asks) != 0 || slices.ContainsFunc(n.noted, said) {
				t.Fatalf("it has left %d times, %d messages wait, %d questions: %q", left, all, len(n.asks), n.noted)
			}
			if answers {
				n.faults = nil
			}
			n.pass(settleTime)
			if left != 1 || len(n.asks) == 0 {
				t.Errorf("it has left %d times, and the next holder has asked %d questions: %q", left, len(n.asks), n.noted)
			}
		})
	}
}

// A holder that dies anywhere in a registration is followed by one that goes on: its UE says nothing again of its own accord.
func TestAHolderThatDies(t *testing.T) {
	for at := 1; ; at++ {
		steps, died := 0, false
		t.Run(fmt.Sprintf("before its step %d", at), func(t *testing.T) {
			n := newNetwork(t)
			n.step = func(h *holder) {
				if steps++; steps == at {
					died = true
					h.die()
				}
			}
			n.hold(1)
			n.phone.register()
			n.settle()
			if died {
				n.hold(1)
			}
			n.pass(2 * time.Minute)
			if rec := n.kept(); rec != nil && rec.N2 == nil { // what was to be sent before it died was not: it is idle, and comes again
				n.phone.serve()
				n.settle()
			}
			rec := n.kept()
			switch {
			case slices.Contains(n.phone.log, "ErrorIndication"):
				t.Errorf("the gNB hears of a UE that is not there: %v", n.phone.log)
			case !n.phone.registered || rec == nil:
				t.Fatalf("the UE is not registered: %v\n%v", n.noted, n.phone.log)
			case rec.TMSI != n.phone.tmsi || rec.Procedure != nil || rec.N2 == nil || rec.N2.RAN != n.phone.ran || !rec.N2.Set:
				t.Errorf("the record is %+v, %+v", rec, rec.N2)
			}
			if all, _ := n.term.Waiting(); all != 0 {
				t.Errorf("%d messages were not done with", all)
			}
		})
		if !died || t.Failed() {
			if at < 18 {
				t.Errorf("it died %d times only", at-1)
			}
			return
		}
	}
}

// A write of which nobody knows the outcome is repeated until it is known, and nothing is said before.
func TestWritesOfUnknownOutcome(t *testing.T) {
	const commit = "commit shard 1 phase 1 registration step 6"
	for name, tt := range map[string]struct {
		faults []memory.Fault
		away   bool
	}{
		"the request was lost":                 {[]memory.Fault{memory.LostRequest}, false},
		"the answer was lost":                  {[]memory.Fault{memory.LostAnswer}, false},
		"the store did not answer":             {[]memory.Fault{memory.Away}, false},
		"all of it, several times: it is away": {[]memory.Fault{memory.LostAnswer, memory.Away, memory.LostRequest, memory.LostAnswer}, true},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			h := n.hold(1)
			n.manual = true
			n.phone.register()
			n.settle()
			n.reply()
			n.associationNoted(h)
			n.takeNoted()
			n.faults = tt.faults
			n.reply()
			for try := range tt.faults {
				done := n.takeNoted()
				if len(done) != 1 || !strings.HasPrefix(done[0], commit+": ") {
					t.Fatalf("after %d tries: %q", try, done)
				}
				if try == len(tt.faults)-1 && h.runner.Away() != tt.away {
					t.Errorf("away: %t", !tt.away)
				}
				n.pass(firstPause << try)
			}
			wants(t, n, commit, "done 1", "send DownlinkNASTransport SecurityModeCommand", "done 2", "AskRecording")
			if got := h.runner.Counts().Repeated; got != uint64(len(tt.faults)) || h.runner.Away() {
				t.Errorf("%d repetitions, want %d; away: %t", got, len(tt.faults), h.runner.Away())
			}
		})
	}
}

// reply to what was asked first, as other functions do.
func (n *network) reply() {
	n.t.Helper()
	if len(n.asked) == 0 {
		n.t.Fatalf("nobody was asked: %q", n.noted)
	}
	answer, e := n.asked[0], n.asks[0]
	n.asked, n.asks = n.asked[1:], n.asks[1:]
	answer(n.answer(e))
	n.settle()
}

// associationNoted, so that the next commit is a UE's.
func (n *network) associationNoted(h *holder) {
	h.runner.note(association{termName, gnbAt}, func() {})
	n.settle()
}

// Who does not hold the shard says nothing to anybody any more, and is not done with what it was in the midst of.
func TestALeaseThatIsLost(t *testing.T) {
	for name, tt := range map[string]struct {
		lose func(*network, *holder)
		want []string
	}{
		"it has ended before the effects": {func(n *network, _ *holder) { n.step = func(h *holder) { h.may = false } },
			[]string{"commit shard 1 phase 1 registration step 6", "stopped: the lease has ended"}},
		"another one has the shard": {func(n *network, h *holder) {
			n.now = n.now.Add(2 * leaseTime)
			if _, err := n.store.Acquire(context.Background(), h.lease.Shard, "b", leaseTime); err != nil {
				n.t.Fatal(err)
			}
		}, []string{"commit shard 1 phase 1 registration step 6: " + sessionstore.ErrFenced.Error(), "stopped: " + sessionstore.ErrFenced.Error()}},
		"a terminator knows of another": {func(n *network, h *holder) {
			h.runner.Took(termName, &link.NotSent{Number: h.runner.sends.next - 1, Shard: 1, Fenced: true, Why: "shard 1 is not held"})
		}, []string{"stopped: a terminator knows of another holder of the shard"}},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			h := n.hold(1)
			n.manual = true
			n.phone.register()
			n.settle()
			n.reply()
			n.associationNoted(h)
			n.takeNoted()
			tt.lose(n, h)
			n.reply()
			wants(t, n, tt.want...)
			h.may, n.step = true, func(*holder) {}
			n.phone.register()
			h.runner.Deliver(supi, procedure.Locate{From: 3})
			n.pass(time.Minute)
			wants(t, n)
			if all, untaken := n.term.Waiting(); all != 2 || untaken != 0 { // what it was in the midst of, and what came since
				t.Errorf("%d messages wait", all)
			}
		})
	}
}

// What a pod has sent as the shard's holder before, and what became of it, is not the next runner's.
func TestWhatTheHolderBeforeHasSent(t *testing.T) {
	n, h := registered(t)
	was := h.runner.sends.next - 1
	h.die()
	next := n.hold(1)
	n.phone.says(&n2.UplinkNASTransport{UE: n2.UEIDs{AMF: n.phone.amf, RAN: n2.RANUEID(n.phone.ran)}, NAS: []byte{0x7e}, Location: n.phone.location()})
	n.settle()
	n.takeNoted()
	for _, number := range []uint64{1, 2, was} {
		next.runner.Took(termName, &link.NotSent{Number: number, Shard: 1, Why: "the association has ended"})
		next.runner.Took(termName, &link.NotSent{Number: number, Shard: 1, Fenced: true, Why: "shard 1 is not held"})
	}
	n.settle()
	wants(t, n)
	if rec := n.kept(); rec.N2 == nil || next.runner.Counts().NotSent != 0 {
		t.Errorf("the UE is at %+v", rec.N2)
	}
}

// A gNB that takes nothing has not lost its UEs, whose association is there.
func TestAGNBThatTakesNothing(t *testing.T) {
	n, h := registered(t)
	h.runner.Took(termName, &link.NotSent{Number: h.runner.sends.next - 1, Shard: 1, Why: "the gNB takes nothing: too many messages wait for it"})
	n.settle()
	if rec := n.kept(); rec.N2 == nil || rec.N2.Lost || h.runner.Counts().NotSent != 1 {
		t.Errorf("the UE is at %+v, %d messages were not sent", rec.N2, h.runner.Counts().NotSent)
	}
	n.gone[gnbAt] = true
	h.runner.sends.add(procedure.Send{To: *n.kept().N2}, n.now)
	h.runner.Took(termName, &link.NotSent{Number: h.runner.sends.next - 1, Shard: 1, Why: "the association has ended"})
	n.settle()
	if rec := n.kept(); rec.N2 == nil || !rec.N2.Lost {
		t.Errorf("the association has gone, and the UE is at %+v", rec.N2)
	}
}

// A message that is under way is handed over again where the connection to its terminator was lost: it is not another, be it protected against that or not.
func TestAMessageThatIsHandedOverTwice(t *testing.T) {
	n, h := withSession(t)
	n.manual = true
	n.phone.asks()
	n.settle()
	if len(n.asks) != 1 {
		t.Fatalf("the SMF is not asked: %q", n.noted)
	}
	n.takeNoted()
	n.term.WorkerGone(h.id)
	n.term.WorkerCame(h.id)
	n.term.Took(h.id, &link.Hello{Version: link.Version, Worker: fmt.Sprint(h.id), Shards: mostShards})
	n.term.Took(h.id, &link.Holds{Shard: h.shard, Epoch: h.lease.Epoch})
	n.settle()
	if got := h.runner.Counts().Repetitions; got != 1 || len(n.asks) != 1 {
		t.Errorf("%d repetitions, want 1; %q", got, n.noted)
	}
	for len(n.asked) > 0 {
		n.reply()
	}
	if all, _ := n.term.Waiting(); all != 0 {
		t.Errorf("%d messages were not done with: %q", all, n.noted)
	}
}

// A first message that the holder before has taken and not said so is not taken for another: what it has begun is gone on with.
func TestAFirstMessageAgain(t *testing.T) {
	n, h := registered(t)
	n.release(h)
	n.takeNoted()
	died := false
	n.step = func(h *holder) { // behind the commit, before the gNB and the terminator hear of it
		if rec := n.kept(); !died && rec.N2 != nil {
			died = true
			h.die()
		}
	}
	n.phone.serve()
	n.settle()
	if !died {
		t.Fatalf("it did not die: %q", n.noted)
	}
	n.phone.log = nil
	next := n.hold(1)
	n.pass(10 * time.Second)
	if got := next.runner.Counts().Repetitions; got != 1 {
		t.Errorf("%d repetitions, want 1", got)
	}
	for _, m := range n.phone.log {
		if m == "rejected" {
			t.Errorf("the UE is rejected: %q", n.phone.log)
		}
	}
	if rec := n.kept(); rec.Procedure != nil || rec.Phase != record.Registered {
		t.Errorf("the record is %+v", rec)
	}
	if all, _ := n.term.Waiting(); all != 0 {
		t.Errorf("%d messages were not done with", all)
	}
}

// release the UE's connection, by its gNB's wish.
func (n *network) release(h *holder) {
	n.t.Helper()
	n.phone.says(&n2.UEContextReleaseRequest{UE: n2.UEIDs{AMF: n.phone.amf, RAN: n2.RANUEID(n.phone.ran)}, Cause: ngapcause.UserInactivity})
	n.settle()
	if rec := n.kept(); rec.N2 != nil {
		n.t.Fatalf("the UE is connected: %q", n.noted)
	}
}

// One UE has one record, and one connection, wherever it registers anew.
func TestATakeover(t *testing.T) {
	for name, tt := range map[string]struct {
		shard uint16
		// cold: what is kept is not in memory.
		cold, unheld bool
		want         []string
	}{
		"in the shard where it is":                 {shard: 1},
		"in the shard where it is, from the store": {shard: 1, cold: true},
		"in another shard":                         {shard: 2, want: []string{"shard 1 is to give it up"}},
		"in another shard, from the store":         {shard: 2, cold: true, want: []string{"shard 1 is to give it up"}},
		"in another shard, which nobody holds":     {shard: 2, unheld: true},
	} {
		t.Run(name, func(t *testing.T) {
			n, h := registered(t)
			if tt.cold {
				h.die()
				h = n.hold(1)
			}
			was := n.kept()
			if tt.unheld {
				h.die()
			}
			if tt.shard != 1 {
				n.hold(tt.shard) // the next UE that nobody knows is the next shard's
			}
			n.takeNoted()
			n.phone.register()
			n.settle()
			n.pass(10 * time.Second)
			rec := n.kept()
			if tt.unheld {
				if n.phone.registered || rec.Shard != 1 {
					t.Errorf("registered %t, in shard %d", n.phone.registered, rec.Shard)
				}
				return
			}
			if !n.phone.registered || rec.Shard != tt.shard || rec.N2 == nil || rec.N2.RAN != n.phone.ran || len(rec.Left) > 0 || rec.TMSI != n.phone.tmsi {
				t.Fatalf("registered %t; the record is %+v, at %+v, left %+v\n%q", n.phone.registered, rec, rec.N2, rec.Left, n.noted)
			}
			for _, w := range tt.want {
				if !slices.Contains(n.noted, w) {
					t.Errorf("%q is not done: %q", w, n.noted)
				}
			}
			if !slices.Contains(n.phone.log, "UEContextReleaseCommand") {
				t.Errorf("the connection of before is not released: %q", n.phone.log)
			}
			for _, i := range []sessionstore.Index{attachmentIndex(was.N2.AMF), attachmentIndex(rec.N2.AMF), temporaryIndex(rec.TMSI)} {
				found, err := n.store.Find(context.Background(), i)
				if old := i == attachmentIndex(was.N2.AMF); old != errors.Is(err, sessionstore.ErrNotFound) {
					t.Errorf("%v leads to %s, %v", i, found.Key, err)
				}
			}
			for _, shard := range []uint16{1, 2} {
				intents, err := n.store.Intents(context.Background(), shardName(shard), 9)
				if err != nil || len(intents) != 0 {
					t.Errorf("intents of shard %d: %v, %v", shard, intents, err)
				}
				due, err := n.store.Due(context.Background(), shardName(shard), n.now.Add(24*time.Hour), 9)
				if err != nil || len(due) > 0 && shard != tt.shard {
					t.Errorf("due in shard %d: %v, %v", shard, due, err)
				}
				keys, _, err := n.store.Members(context.Background(), UEGroup(shard), "", 9)
				if err != nil || (len(keys) == 1) != (shard == tt.shard) {
					t.Errorf("shard %d has %v, %v", shard, keys, err)
				}
			}
			if all, strangers := h.runner.UEs(); strangers != 0 || all > 1 {
				t.Errorf("%d UEs in memory, %d strangers", all, strangers)
			}
		})
	}
}
