package runner

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/memory"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/google/go-cmp/cmp"
)

func lines(list ...string) string { return strings.Join(list, "\n") }

func wants(t *testing.T, w *scripted, list ...string) {
	t.Helper()
	if diff := cmp.Diff(lines(list...), w.takeNoted()); diff != "" {
		t.Errorf("what was done (-want +is):\n%s", diff)
	}
}

// Intent, N4, commit, answer: nobody is asked, and nobody hears, before it is kept.
func TestOrderOfAnEstablishment(t *testing.T) {
	w := newScripted(t)
	w.deliver(create(1))
	wants(t, w, "ask subscription") // a question commits nobody
	w.answer("subscription", procedure.Subscription{})
	wants(t, w, "commit phase 1, establishment step 3", "reply to 1: Created", "ask establish")
	w.answer("establish", made())
	wants(t, w, "commit phase 1, establishment step 4", "ask transfer")
	w.answer("transfer", procedure.Transferred{Outcome: procedure.Done})
	wants(t, w, "ended establishment ") // the tunnel comes in a moment
	w.pass(soonFor)
	wants(t, w, "commit phase 1")
	w.deliver(procedure.Release{From: 2})
	wants(t, w, "commit phase 4, release step 1", "ask delete 9")
	w.answer("delete 9", procedure.Unit{Outcome: procedure.Done})
	wants(t, w, "ended release ", "commit nothing", "reply to 2: Ended")
	if n := w.runner.Sessions(); n != 0 {
		t.Errorf("%d sessions in memory", n)
	}
}

// A unit that lists its sessions is asked for one while the intent is written; what it answers waits for that, as does all else.
func TestAUnitIsAskedAhead(t *testing.T) {
	const intent = "commit phase 1, establishment step 3"
	lists := func(t *testing.T) *scripted {
		w := newScripted(t)
		w.runner.UnitMet(unitID, 5, true)
		w.settle()
		w.deliver(create(1))
		w.takeNoted()
		return w
	}
	subscribed := func(w *scripted, sub procedure.Subscription) { w.answer("subscription", sub) }
	t.Run("the intent is written first", func(t *testing.T) {
		w := lists(t)
		subscribed(w, procedure.Subscription{})
		wants(t, w, "ask establish", intent, "reply to 1: Created")
		w.answer("establish", made())
		wants(t, w, "commit phase 1, establishment step 4", "ask transfer")
	})
	t.Run("the unit answers first", func(t *testing.T) {
		w := lists(t)
		w.faults = []memory.Fault{memory.Away}
		subscribed(w, procedure.Subscription{})
		w.answer("establish", made())
		wants(t, w, "ask establish", intent+": session store: not available")
		w.pass(firstPause)
		wants(t, w, intent, "reply to 1: Created", "commit phase 1, establishment step 4", "ask transfer")
		if n := w.runner.Counts().Stale; n != 0 {
			t.Errorf("%d answers are thrown away", n)
		}
	})
	t.Run("the unit refuses first", func(t *testing.T) {
		w := lists(t)
		w.faults = []memory.Fault{memory.Away}
		subscribed(w, procedure.Subscription{})
		w.answer("establish", procedure.Unit{Outcome: procedure.Refused})
		w.takeNoted()
		w.pass(firstPause)
		if done := w.takeNoted(); !strings.HasPrefix(done, lines(intent, "reply to 1: Created", "ended establishment the UPF refused")) {
			t.Errorf("what was done:\n%s", done)
		}
	})
	t.Run("the intent is never written", func(t *testing.T) {
		w := lists(t)
		taken := sessionstore.Change{
			Key: "another", Is: sessionstore.Revision{Writer: 1, Count: 1}, Value: []byte{0},
			AddIndexes: []sessionstore.Index{{Kind: IndexSEID, Value: record.Ref(w.seid())}},
		}
		if err := w.store.Commit(t.Context(), w.lease, taken); err != nil {
			t.Fatal(err)
		}
		w.runner.units[unitID].leftovers = false
		subscribed(w, procedure.Subscription{})
		if !w.runner.units[unitID].leftovers {
			t.Error("what the unit may have is not looked for")
		}
		w.answer("establish", made())
		if done := w.takeNoted(); strings.Contains(done, "transfer") {
			t.Errorf("it goes on with the unit's answer: %s", done)
		}
	})
	t.Run("the pod dies before the intent is written", func(t *testing.T) {
		w := lists(t)
		w.faults = []memory.Fault{memory.LostRequest}
		subscribed(w, procedure.Subscription{})
		w.listed = []Listed{{w.seid(), upSEID}}
		w.now = w.now.Add(2 * time.Hour)
		w.begin("b")
		w.runner.UnitMet(unitID, 5, true)
		w.takeNoted()
		w.pass(firstSweep + time.Second)
		if done := w.takeNoted(); !strings.Contains(done, fmt.Sprintf("ask delete %x", upSEID)) {
			t.Errorf("what nobody knows stays at the unit: %s", done)
		}
	})
	for name, tt := range map[string]struct {
		sub   procedure.Subscription
		lists bool
	}{
		"an address that may be another session's is asked for behind the intent": {procedure.Subscription{IPv4: netip.MustParseAddr("10.45.9.9")}, true},
		"a unit that lists nothing is asked behind the intent":                    {procedure.Subscription{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := lists(t)
			w.runner.units[unitID].lists = tt.lists
			subscribed(w, tt.sub)
			wants(t, w, intent, "reply to 1: Created", "ask establish")
		})
	}
}

// An AMF whose pod has died asks for the session again, and takes no transfer before it has its name: it is not to wait for the transfer.
func TestTheRequestOfTheEstablishmentUnderWay(t *testing.T) {
	w := newScripted(t)
	w.deliver(create(1))
	w.deliver(create(2))
	wants(t, w, "ask subscription") // nothing is kept that could be named
	w.answer("subscription", procedure.Subscription{})
	wants(t, w, "commit phase 1, establishment step 3", "reply to 1: Created", "ask establish", "reply to 2: Created")
	w.answer("establish", made())
	w.takeNoted()
	another := create(4)
	another.N1 = slices.Clone(another.N1)
	another.N1[2]++ // of another PTI
	elsewhere := create(5)
	elsewhere.AMF.InstanceID = "another"
	w.deliver(another)
	w.deliver(elsewhere)
	w.deliver(create(3))
	wants(t, w, "reply to 3: Created")
	w.answer("transfer", procedure.Transferred{Outcome: procedure.Done})
	wants(t, w, "ended establishment ", "commit phase 4, release step 1", "ask delete 9") // for the other, which goes before
	if n := w.runner.Counts().Stale; n != 0 {
		t.Errorf("%d answers are thrown away", n)
	}
}

// A write of which nobody knows the outcome is repeated until it is known, and nothing is done before.
func TestWritesOfUnknownOutcome(t *testing.T) {
	const commit, unknown, away = "commit phase 1, establishment step 3", ": session store: unknown", ": session store: not available"
	for name, tt := range map[string]struct {
		faults []memory.Fault
		tries  int
		away   bool
	}{
		"the request was lost":                    {[]memory.Fault{memory.LostRequest}, 2, false},
		"the answer was lost":                     {[]memory.Fault{memory.LostAnswer}, 2, false},
		"the store did not answer":                {[]memory.Fault{memory.Away}, 2, false},
		"all of it, several times: it is away":    {[]memory.Fault{memory.LostAnswer, memory.Away, memory.LostRequest, memory.LostAnswer}, 5, true},
		"the answer, and the repetition's, twice": {[]memory.Fault{memory.LostAnswer, memory.LostAnswer}, 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newScripted(t)
			w.deliver(create(1))
			w.takeNoted()
			w.faults = tt.faults
			w.answer("subscription", procedure.Subscription{})
			for try := 1; try < tt.tries; try++ {
				if done := w.takeNoted(); strings.Contains(done, "reply") || strings.Contains(done, "ask") || !strings.HasPrefix(done, commit+": ") {
					t.Fatalf("after %d tries: %s", try, done)
				}
				if try == tt.tries-1 && w.runner.Away() != tt.away {
					t.Errorf("away: %v, want %v", !tt.away, tt.away)
				}
				w.pass(firstPause << (try - 1))
			}
			wants(t, w, commit, "reply to 1: Created", "ask establish")
			if got := w.runner.Counts().Repeated; got != uint64(tt.tries-1) || w.runner.Away() {
				t.Errorf("%d repetitions, want %d; away: %v", got, tt.tries-1, w.runner.Away())
			}
		})
	}
}

// The time that an access network has to answer is written with what it answers: until then it comes from memory, and who takes over does without it. Where the
// store may have a time that goes, it hears at once.
func TestTimesThatAreOwed(t *testing.T) {
	idle := func(t *testing.T) *scripted {
		w := newScripted(t)
		w.establish()
		w.connect()
		w.runner.DeliverTo(w.seid(), procedure.Update{From: 2, Connection: procedure.Deactivated})
		w.settle()
		w.answer("modify", procedure.Unit{Outcome: procedure.Done})
		w.takeNoted()
		return w
	}
	activate := func(w *scripted) {
		w.runner.DeliverTo(w.seid(), procedure.Update{From: 3, Connection: procedure.Activating})
		w.settle()
	}
	dues := func(w *scripted) map[string]bool {
		list, err := w.store.Due(context.Background(), shardName, w.now.Add(time.Hour), most)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]bool{}
		for _, d := range list {
			out[d.Name] = true
		}
		return out
	}
	t.Run("what is answered is written", func(t *testing.T) {
		w := idle(t)
		activate(w)
		wants(t, w, "reply to 3: Updated")
		w.deliverSetup(4)
		wants(t, w, "ask modify")
		w.answer("modify", procedure.Unit{Outcome: procedure.Done})
		wants(t, w, "ended connection ", "commit phase 2", "reply to 4: Updated")
		if dues(w)["access"] {
			t.Error("the store has a time that is over")
		}
	})
	t.Run("what else is written takes it along", func(t *testing.T) {
		w := idle(t)
		activate(w)
		w.runner.DeliverTo(w.seid(), procedure.Release{From: 5})
		w.settle()
		if s := w.runner.sessions[record.Key(supi, 1)]; s.owed != nil {
			t.Errorf("%v is still owed", s.owed)
		}
	})
	t.Run("nobody answers", func(t *testing.T) {
		w := idle(t)
		activate(w)
		w.takeNoted()
		for range 30 {
			w.pass(time.Second)
		}
		if done := w.takeNoted(); !strings.Contains(done, "ask modify") {
			t.Errorf("packets are not reported again: %q", done)
		}
		if s := w.runner.sessions[record.Key(supi, 1)]; s.owed != nil || dues(w)["access"] {
			t.Errorf("the time stays: %v, %v", s.owed, dues(w))
		}
	})
	t.Run("a new holder does not know what the store has", func(t *testing.T) {
		w := idle(t)
		activate(w)
		w.now = w.now.Add(2 * time.Hour)
		w.begin("b")
		w.takeNoted()
		activate(w)
		if s := w.runner.sessions[record.Key(supi, 1)]; !s.state.Record.Offered {
			t.Error("it does not take it that the access network was asked")
		}
		wants(t, w, "commit phase 3", "reply to 3: Updated")
		if !dues(w)["access"] {
			t.Error("the store does not have the time")
		}
	})
}

// What the AMF says again where it is not answered is one write, that of the unit's answer. Who takes over before has the session as it was, and hears it again.
func TestWhatTheAMFSaysAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		before, say func(*scripted)
		phase       string
	}{
		"the user plane is down": {func(*scripted) {}, func(w *scripted) {
			w.runner.DeliverTo(w.seid(), procedure.Update{From: 2, Connection: procedure.Deactivated})
			w.settle()
		}, "commit phase 3"},
		"the access network has a tunnel": {func(w *scripted) {
			w.runner.DeliverTo(w.seid(), procedure.Update{From: 3, Connection: procedure.Deactivated})
			w.settle()
			w.answer("modify", procedure.Unit{Outcome: procedure.Done})
		}, func(w *scripted) { w.deliverSetup(2) }, "commit phase 2"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newScripted(t)
			w.establish()
			w.connect()
			tt.before(w)
			w.takeNoted()
			tt.say(w)
			wants(t, w, "ask modify")
			w.now = w.now.Add(2 * time.Hour) // the lease has ended
			w.begin("b")
			if done := w.takeNoted(); strings.Contains(done, "ask modify") {
				t.Errorf("the next holder goes on by itself: %s", done)
			}
			tt.say(w)
			wants(t, w, "ask modify")
			w.answer("modify", procedure.Unit{Outcome: procedure.Done})
			wants(t, w, "ended connection ", tt.phase, "reply to 2: Updated")
		})
	}
}

// Who does not hold the shard says nothing to anybody any more.
func TestALeaseThatIsLost(t *testing.T) {
	for name, tt := range map[string]struct {
		lose func(*scripted)
		want []string
	}{
		"it has ended before the effects": {func(w *scripted) { w.may = false },
			[]string{"commit phase 1, establishment step 3", "stopped: the lease has ended"}},
		"another one has the shard": {func(w *scripted) {
			w.now = w.now.Add(2 * time.Hour)
			if _, err := w.store.Acquire(context.Background(), shardName, "b", time.Hour); err != nil {
				t.Fatal(err)
			}
		}, []string{"commit phase 1, establishment step 3: " + sessionstore.ErrFenced.Error(), "stopped: " + sessionstore.ErrFenced.Error()}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newScripted(t)
			w.deliver(create(1))
			w.takeNoted()
			tt.lose(w)
			w.answer("subscription", procedure.Subscription{})
			wants(t, w, tt.want...)
			w.may = true
			w.deliver(create(2))
			w.runner.DeliverTo(record.SEID(1, 1), procedure.Release{From: 3})
			w.pass(time.Minute)
			wants(t, w)
		})
	}
}

// A session that is asked for before a new holder has numbers waits for them; where the store has none to give it is refused.
func TestASessionBeforeThereAreNumbers(t *testing.T) {
	for name, away := range map[string]bool{"they come": false, "the store does not answer": true} {
		t.Run(name, func(t *testing.T) {
			w := newScripted(t)
			commits := w.store.Fault
			w.store.Fault = func(op string) memory.Fault {
				if away && op == "Reserve" {
					return memory.Away
				}
				return commits(op)
			}
			lease, err := w.store.Acquire(t.Context(), shardName, "a", time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			w.start(lease)
			w.deliver(create(1))
			if !away {
				if noted := w.takeNoted(); noted != "ask subscription" {
					t.Errorf("it goes on with:\n%s", noted)
				}
				return
			}
			if noted := w.takeNoted(); noted != "reply to 1: 503 NF_CONGESTION" {
				t.Errorf("it is answered:\n%s", noted)
			}
			if away = false; w.runner.numbers.left() != 0 {
				t.Fatal("there are numbers")
			}
			w.pass(longestWait)
			w.deliver(create(2))
			if noted := w.takeNoted(); noted != "ask subscription" {
				t.Errorf("when the store is back it goes on with:\n%s", noted)
			}
		})
	}
}

// A holder that leaves on purpose waits until who has asked it for something has an answer, for a while.
func TestAHolderThatLeaves(t *testing.T) {
	for name, answers := range map[string]bool{"the unit answers": true, "the unit does not": false} {
		t.Run(name, func(t *testing.T) {
			w := newScripted(t)
			w.establish()
			w.deliverSetup(2)
			w.takeNoted()
			left := 0
			w.runner.Leave(func() { left++ })
			w.pass(leaveTime / 2)
			if left != 0 {
				t.Fatal("it has left what waits for the unit")
			}
			if answers {
				w.answer("modify", procedure.Unit{Outcome: procedure.Done})
				w.pass(leaveLook)
				if noted := w.takeNoted(); left != 1 || !strings.HasSuffix(noted, "reply to 2: Updated") {
					t.Errorf("it has left %d times:\n%s", left, noted)
				}
			}
			w.pass(leaveTime)
			if left != 1 {
				t.Errorf("in the end it has left %d times", left)
			}
			w.deliver(procedure.Release{From: 3})
			if noted := w.takeNoted(); noted != "" {
				t.Errorf("behind that it does something:\n%s", noted)
			}
		})
	}
	w := newScripted(t)
	w.establish()
	w.connect()
	left := 0
	if w.runner.Leave(func() { left++ }); left != 1 {
		t.Error("a session at rest keeps it")
	}
}

// An access network that has a tunnel at once waits for no write of the establishment, and that is written with the tunnel. Who takes over meanwhile has the accept
// transferred again.
func TestATunnelThatComesAtOnce(t *testing.T) {
	for name, dies := range map[string]bool{"the holder lives": false, "the holder dies": true} {
		t.Run(name, func(t *testing.T) {
			w := newScripted(t)
			w.deliver(create(1))
			w.answer("subscription", procedure.Subscription{})
			w.answer("establish", made())
			w.takeNoted()
			w.answer("transfer", procedure.Transferred{Outcome: procedure.Done})
			wants(t, w, "ended establishment ")
			w.deliverSetup(2)
			wants(t, w, "ask modify")
			w.pass(2 * soonFor)
			if done := w.takeNoted(); done != "" {
				t.Errorf("while the unit is asked: %s", done)
			}
			if dies {
				w.now = w.now.Add(2 * time.Hour)
				w.asked = map[string]func(procedure.Event){}
				w.begin("b")
				wants(t, w, "ask transfer")
				return
			}
			w.answer("modify", procedure.Unit{Outcome: procedure.Done})
			wants(t, w, "ended connection ", "commit phase 2", "reply to 2: Updated")
			if s := w.runner.sessions[record.Key(supi, 1)]; s.soon || len(s.behind) > 0 || s.owed != nil {
				t.Errorf("something waits: %+v", s)
			}
		})
	}
}

// A new holder asks again what may have been asked, from the step that is in the store.
func TestANewHolder(t *testing.T) {
	w := newScripted(t)
	w.deliver(create(1))
	w.answer("subscription", procedure.Subscription{})
	w.takeNoted()
	w.now = w.now.Add(2 * time.Hour)
	w.asked = map[string]func(procedure.Event){}
	w.begin("b")
	wants(t, w, "ask establish")
	w.answer("establish", made())
	wants(t, w, "commit phase 1, establishment step 4", "ask transfer")
	w.answer("transfer", procedure.Transferred{Outcome: procedure.Done})
	wants(t, w, "ended establishment ")
	w.pass(soonFor)
	wants(t, w, "commit phase 1")
}

// A session's queue is bounded, and who has given up is not served.
func TestQueue(t *testing.T) {
	w := newScripted(t)
	w.establish()
	w.runner.DeliverTo(w.seid(), procedure.Update{From: 2, Connection: procedure.Deactivated, Release: true, Cause: "REL_DUE_TO_HO"})
	w.settle()
	w.takeNoted()
	const first = 100
	for n := range mostQueued + 2 {
		w.runner.DeliverTo(w.seid(), procedure.Update{From: procedure.Token(first + n)})
		w.settle()
	}
	wants(t, w, fmt.Sprintf("reply to %d: %d NF_CONGESTION", first+mostQueued, unavailable), fmt.Sprintf("reply to %d: %d NF_CONGESTION", first+mostQueued+1, unavailable))
	if c := w.runner.Counts(); c.Full != 2 {
		t.Errorf("%d were one too many, want 2", c.Full)
	}
	for n := 1; n < mostQueued; n++ {
		w.gone[procedure.Token(first+n)] = true
	}
	w.answer("delete 9", procedure.Unit{Outcome: procedure.Done})
	wants(t, w, "ended release ", "commit nothing", "reply to 2: Updated", fmt.Sprintf("reply to %d: 404 CONTEXT_NOT_FOUND", first))
	if c := w.runner.Counts(); c.Abandoned != mostQueued-1 {
		t.Errorf("%d had given up, want %d", c.Abandoned, mostQueued-1)
	}
}

// That there is no session is said when the store has said so, and not before.
func TestWhatIsNotKnown(t *testing.T) {
	unknown := record.SEID(1, 4711)
	for name, tt := range map[string]struct {
		away bool
		seid uint64
		want string
	}{
		"the store has none":          {false, unknown, "reply to 2: 404 CONTEXT_NOT_FOUND"},
		"the store does not answer":   {true, unknown, fmt.Sprintf("reply to 2: %d NF_CONGESTION", unavailable)},
		"it would be another shard's": {false, record.SEID(2, 4711), fmt.Sprintf("reply to 2: %d NF_CONGESTION", unavailable)},
	} {
		t.Run(name, func(t *testing.T) {
			w := newScripted(t)
			w.store.Away = func() bool { return tt.away }
			w.runner.DeliverTo(tt.seid, procedure.Update{From: 2})
			w.settle()
			wants(t, w, tt.want)
		})
	}
}

// A record that somebody else has written is not overwritten: who waits hears that nothing was done, and what the store has goes on.
func TestAConflict(t *testing.T) {
	w := newScripted(t)
	w.establish()
	key := record.Key(supi, 1)
	found, err := w.store.Read(context.Background(), key)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.store.Commit(context.Background(), w.lease, sessionstore.Change{
		Key: key, Was: found.Revision, Is: sessionstore.Revision{Writer: 4711, Count: 1}, Value: found.Value,
	}); err != nil {
		t.Fatal(err)
	}
	w.runner.DeliverTo(w.seid(), procedure.Release{From: 2})
	w.settle()
	wants(t, w, "commit phase 4, release step 1: "+sessionstore.ErrConflict.Error(), fmt.Sprintf("reply to 2: %d NF_CONGESTION", unavailable))
	w.deliver(procedure.Release{From: 3})
	wants(t, w, "commit phase 4, release step 1", "ask delete 9")
}

// An address that another session has is not taken: the unit chooses again, and nobody was told of the first.
func TestAnAddressOfAnothers(t *testing.T) {
	w := newScripted(t)
	other := sessionstore.Change{
		Key: record.Key("imsi-208930000000002", 1), Is: sessionstore.Revision{Writer: 4711, Count: 1}, Value: []byte("another"),
		AddIndexes: []sessionstore.Index{{Kind: IndexAddress, Value: "internet/internet/10.45.0.1"}},
	}
	if err := w.store.Commit(context.Background(), w.lease, other); err != nil {
		t.Fatal(err)
	}
	w.deliver(create(1))
	w.answer("subscription", procedure.Subscription{})
	w.takeNoted()
	w.answer("establish", made())
	wants(t, w, "commit phase 1, establishment step 4: session store: the index belongs to another record: address:internet/internet/10.45.0.1",
		"commit phase 1, establishment step 6", "ask delete 9")
	w.answer("delete 9", procedure.Unit{Outcome: procedure.Done})
	wants(t, w, "commit phase 1, establishment step 3", "ask establish")
	other.Was, other.Is, other.Value, other.AddIndexes = other.Is, sessionstore.Revision{Writer: 4711, Count: 2}, nil, nil
	if err := w.store.Commit(context.Background(), w.lease, other); err != nil { // it has ended
		t.Fatal(err)
	}
	w.answer("establish", made())
	wants(t, w, "commit phase 1, establishment step 4", "ask transfer")
	if n := w.runner.Counts().Taken; n != 1 {
		t.Errorf("%d addresses of others', want 1", n)
	}
	found, err := w.store.Find(context.Background(), sessionstore.Index{Kind: IndexAddress, Value: "internet/internet/10.45.0.1"})
	if err != nil || found.Key != record.Key(supi, 1) {
		t.Errorf("the address is that of %q, %v", found.Key, err)
	}
	w.answer("transfer", procedure.Transferred{Outcome: procedure.Done})
	w.deliver(procedure.Release{From: 2})
	w.answer("delete 9", procedure.Unit{Outcome: procedure.Done})
	if _, err := w.store.Find(context.Background(), sessionstore.Index{Kind: IndexAddress, Value: "internet/internet/10.45.0.1"}); !errors.Is(err, sessionstore.ErrNotFound) {
		t.Errorf("the address of a session that has ended: %v", err)
	}
}

// An answer that comes after another was asked for is known for it.
func TestAnOldAnswer(t *testing.T) {
	w := newScripted(t)
	w.deliver(create(1))
	w.answer("subscription", procedure.Subscription{})
	again := w.asked["establish"]
	w.answer("establish", made())
	w.takeNoted()
	again(procedure.Unit{Outcome: procedure.Refused})
	w.settle()
	wants(t, w)
	if n := w.runner.Counts().Stale; n != 1 {
		t.Errorf("%d old answers, want 1", n)
	}
}

// What a unit has and nobody knows is deleted half a minute after it was met, and what it has twice of a session, but for the one that the record names.
func TestSweep(t *testing.T) {
	orphan := record.SEID(1, 4711)
	for name, cached := range map[string]bool{"with the session in memory": true, "with the session in the store": false} {
		t.Run(name, func(t *testing.T) {
			w := newScripted(t)
			w.establish()
			w.connect()
			seid := w.seid()
			if !cached {
				w.now = w.now.Add(2 * time.Hour)
				w.begin("b")
				w.takeNoted()
			}
			w.listed = []Listed{{seid, upSEID}, {seid, upSEID + 1}, {orphan, 77}, {record.SEID(2, 1), 78}}
			w.runner.kept.Units[unitID] = order{Stamp: 5, Generation: w.lease.Generation}
			w.runner.UnitMet(unitID, 5, true)
			w.settle()
			wants(t, w, "restored "+unitID)
			w.pass(firstSweep + time.Second)
			done := w.takeNoted()
			for what, want := range map[string]bool{
				fmt.Sprintf("ask delete %x", upSEID): false, fmt.Sprintf("ask delete %x", upSEID+1): true, "ask delete 4d": true, "ask delete 4e": false,
			} {
				if strings.Contains(done+"\n", what+"\n") != want {
					t.Errorf("%s: %v, want %v, of\n%s", what, !want, want, done)
				}
			}
		})
	}
}

// A unit that does not answer that it has deleted what nobody knows is asked again; one that has it no more is not.
func TestSweepWithoutAnswer(t *testing.T) {
	const asks = "ask delete 4d"
	w := newScripted(t)
	w.listed = []Listed{{record.SEID(1, 4711), 77}}
	w.runner.kept.Units[unitID] = order{Stamp: 5, Generation: w.lease.Generation}
	w.runner.UnitMet(unitID, 5, true)
	for n, answer := range []procedure.Outcome{procedure.Unknown, procedure.NotSent, procedure.Refused} {
		w.pass(firstSweep + time.Second)
		if done := w.takeNoted(); !strings.Contains(done, asks) {
			t.Fatalf("attempt %d: %s", n+1, done)
		}
		w.answer("delete 4d", procedure.Unit{Outcome: answer})
	}
	w.pass(2 * sweepEvery)
	if done := w.takeNoted(); strings.Contains(done, asks) {
		t.Errorf("it is asked again: %s", done)
	}
}

// A session that its unit may have kept, and whose end the UE is just told when the unit is looked at, is looked for again.
func TestSweepDuringARelease(t *testing.T) {
	for name, asked := range map[string]procedure.Outcome{"the unit was not reached": procedure.NotSent, "it did not answer": procedure.Unknown} {
		t.Run(name, func(t *testing.T) {
			w := newScripted(t)
			w.establish()
			w.connect()
			w.listed = []Listed{{w.seid(), upSEID}}
			w.runner.kept.Units[unitID] = order{Stamp: 5, Generation: w.lease.Generation}
			w.runner.UnitMet(unitID, 5, true)
			w.pass(firstSweep - time.Second)
			w.deliver(procedure.End{From: 2, Cause: n1.CauseReactivationRequested})
			w.answer(fmt.Sprintf("delete %x", upSEID), procedure.Unit{Outcome: asked})
			w.takeNoted()
			w.pass(2 * time.Second)
			wants(t, w)
			w.answer("transfer", procedure.Transferred{Outcome: procedure.Refused})
			w.answer("status", procedure.Notified{Outcome: procedure.Done})
			w.takeNoted()
			w.pass(firstSweep)
			wants(t, w, fmt.Sprintf("ask delete %x", upSEID))
		})
	}
}

// What was asked of a session that another took the name of is not for that one.
func TestTheNextSessionOfTheName(t *testing.T) {
	w := newScripted(t)
	w.establish()
	before := w.seid()
	next := create(3)
	next.N1[2]++ // a PTI of its own: it is no repetition
	w.deliver(next)
	w.runner.DeliverTo(before, procedure.Update{From: 4, Connection: procedure.Activating})
	w.settle()
	w.answer("delete 9", procedure.Unit{Outcome: procedure.Done})
	w.answer("subscription", procedure.Subscription{})
	w.answer("establish", made())
	w.takeNoted()
	w.answer("transfer", procedure.Transferred{Outcome: procedure.Done})
	wants(t, w, "ended establishment ", "reply to 4: 404 CONTEXT_NOT_FOUND")
	w.pass(soonFor)
	wants(t, w, "commit phase 1")
	if w.seid() == before {
		t.Error("the session that there was")
	}
}

// A request whose asker has given up ends nothing at another shard: what is there may be what was asked for since.
func TestALateRequestEndsNothingElsewhere(t *testing.T) {
	for name, tt := range map[string]struct {
		gone bool
		want []string
	}{
		"somebody waits":  {want: []string{"shard 2 is to end it"}},
		"nobody any more": {gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newScripted(t)
			other := &record.Session{SUPI: supi, ID: 1, CPSEID: record.SEID(2, 1), Phase: record.Active}
			octets, err := other.Encode()
			if err != nil {
				t.Fatal(err)
			}
			key := record.Key(supi, 1)
			if err := w.store.Commit(context.Background(), w.lease, sessionstore.Change{
				Key: key, Is: sessionstore.Revision{Writer: 4711, Count: 1}, Value: w.sealer.Seal(key, octets),
			}); err != nil {
				t.Fatal(err)
			}
			w.gone[1] = tt.gone
			w.deliver(create(1))
			wants(t, w, tt.want...)
		})
	}
}

// A session that is being written while its Slice changes follows it, also where the store does not list it yet.
func TestTheSliceChangesWhileASessionIsWritten(t *testing.T) {
	w := newScripted(t)
	w.runner.Configured()
	w.settle()
	w.deliver(create(1))
	w.asked["subscription"](procedure.Subscription{})
	writing := w.soon // the store takes it later
	w.soon = nil
	w.configure(2e8)
	w.runner.Configured()
	w.settle()
	if n, err := w.store.Count(context.Background(), SliceGroup(1, "internet")); n != 0 || err != nil {
		t.Fatalf("%d sessions are listed, %v", n, err)
	}
	w.soon = writing
	w.settle()
	is := w.config.Digest("internet")
	if w.runner.kept.Slices["internet"] == is {
		t.Error("the Slice's sessions follow it, and one does not yet")
	}
	w.answer("establish", made())
	w.answer("transfer", procedure.Transferred{Outcome: procedure.Done})
	if s := w.runner.sessions[record.Key(supi, 1)].state.Record; !s.Behind {
		t.Errorf("the session has an AMBR of %d bit/s, and does not know that it is behind", s.AMBR.Downlink)
	}
	if w.runner.kept.Slices["internet"] != is {
		t.Error("the Slice's sessions do not follow it")
	}
}

// A Slice that is as it was before all of its sessions have followed a change is followed once more: some have. So does the next holder, where who was at it died.
func TestTheSliceChangesThereAndBack(t *testing.T) {
	for name, dies := range map[string]bool{"one holder": false, "the next holder": true} {
		t.Run(name, func(t *testing.T) {
			w := newScripted(t)
			w.runner.Configured()
			w.settle()
			w.establish()
			w.connect()
			is, was := w.config.Digest("internet"), w.config
			w.configure(2e8)
			w.runner.Configured()
			w.settle() // the AMF is to take what the UE is told
			w.config = was
			if dies {
				w.now = w.now.Add(2 * time.Hour)
				w.begin("b")
			}
			w.runner.Configured()
			w.settle()
			w.answer("transfer", procedure.Transferred{Outcome: procedure.Done})
			if s := w.runner.sessions[record.Key(supi, 1)].state.Record; !s.Behind {
				t.Error("the UE is told another AMBR, and nobody knows that it is to hear of the one that it had")
			}
			if w.runner.kept.Slices["internet"] != is {
				t.Error("the Slice's sessions do not follow it")
			}
		})
	}
}

// A unit that a holder has met and died before it kept that, and that has gone before the next one met it, is left all the same.
func TestAUnitThatGoesUnknown(t *testing.T) {
	w := newScripted(t)
	w.establish()
	w.connect()
	w.now = w.now.Add(2 * time.Hour)
	var err error
	if w.config, err = configuration.New([]configuration.Slice{*w.config.Slices()[0]}, nil); err != nil {
		t.Fatal(err)
	}
	w.begin("b")
	w.runner.Configured()
	w.settle()
	w.deliver(procedure.Update{From: 2})
	w.takeNoted()
	w.pass(goneAfter + time.Second)
	if done := w.takeNoted(); !strings.Contains(done, "phase 4, release") {
		t.Errorf("the session stays at a unit that there is no more: %s", done)
	}
}

// A unit chooses nothing for new sessions before it hears that nothing of its own is missing. A session that moves there from a unit that is taken away waits for
// that, and is not waited for.
func TestASessionMovesToAUnitThatBeginsAnew(t *testing.T) {
	const other = "other.test"
	w := newScripted(t)
	w.establish()
	w.connect()
	w.runner.kept.Units[unitID] = order{Stamp: 5, Generation: w.lease.Generation}
	w.runner.UnitMet(unitID, 5, true)
	w.settle()
	w.now = w.now.Add(time.Minute)
	slice := *w.config.Slices()[0]
	dn := slice.DataNetworks[0]
	dn.Routed, dn.Units = true, append(slices.Clone(dn.Units), configuration.Serving{NodeID: other, Pools: []netip.Prefix{netip.MustParsePrefix("10.46.0.0/16")}})
	slice.DataNetworks = []configuration.DataNetwork{dn}
	going := *w.config.Unit(unitID)
	going.State, going.Ending = configuration.Locked, true
	var err error
	w.config, err = configuration.New([]configuration.Slice{slice}, []configuration.Unit{going, {NodeID: other, Address: netip.MustParseAddrPort("10.96.7.9:8805")}})
	if err != nil {
		t.Fatal(err)
	}
	w.runner.Configured()
	w.settle()
	w.pass(0)
	if done := w.takeNoted(); !strings.HasSuffix(done, "ask establish") {
		t.Fatalf("it does not move: %s", done)
	}
	w.runner.UnitMet(other, 7, true)
	w.settle()
	wants(t, w, "restored "+other)
	w.answer("establish", made())
	if done := w.takeNoted(); !strings.Contains(done, "rerouting step 3") {
		t.Errorf("it does not go on: %s", done)
	}
}
