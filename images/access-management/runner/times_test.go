package runner

import (
	"context"
	"slices"
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/memory"

	"github.com/google/go-cmp/cmp"
)

// A stranger that does not answer is asked again, by times in memory alone, and let go of.
func TestASilentStranger(t *testing.T) {
	n := newNetwork(t)
	h := n.hold(1)
	n.phone.silent = true
	n.phone.register()
	n.pass(time.Minute)
	asked := "DownlinkNASTransport AuthenticationRequest"
	if diff := cmp.Diff([]string{asked, asked, asked, asked, asked, "UEContextReleaseCommand"}, n.phone.log); diff != "" {
		t.Errorf("what the UE is told (-want +is):\n%s", diff)
	}
	if all, strangers := h.runner.UEs(); all != 0 || strangers != 0 {
		t.Errorf("%d UEs in memory, %d strangers", all, strangers)
	}
}

// A UE that is taken over in the midst of something leaves nothing to be gone on with behind, neither intents nor times.
func TestATakeoverInTheMidst(t *testing.T) {
	n := newNetwork(t)
	n.hold(1)
	n.manual = true
	n.phone.register()
	n.settle()
	n.reply()
	n.reply() // the UDM is asked now
	intents := func(shard string) int {
		keys, err := n.store.Intents(context.Background(), shard, 9)
		if err != nil {
			t.Fatal(err)
		}
		return len(keys)
	}
	if rec := n.kept(); rec == nil || intents("amf-1") != 1 {
		t.Fatalf("there is no intent: %q", n.noted)
	}
	n.hold(2)
	n.manual = false
	n.phone.register()
	n.pass(10 * time.Second)
	if rec := n.kept(); !n.phone.registered || rec.Shard != 2 {
		t.Errorf("registered %t; the record is %+v", n.phone.registered, rec)
	}
	due, err := n.store.Due(context.Background(), "amf-1", n.now.Add(24*time.Hour), 9)
	if err != nil || len(due) != 0 || intents("amf-1") != 0 || intents("amf-2") != 0 {
		t.Errorf("left are %v, %v, intents %d and %d", due, err, intents("amf-1"), intents("amf-2"))
	}
}

// What is due of a UE that cannot be read, since the key of its record is lost or a newer program has written it, is not in the way of what is due of others.
func TestTimesOfAUEThatCannotBeRead(t *testing.T) {
	n := newNetwork(t)
	h := n.hold(1)
	n.sealed = []byte("whatever this is")
	written := sessionstore.Change{
		Key: record.Key(supi), Is: sessionstore.Revision{Writer: 1, Count: 1}, Value: n.sealed, Due: map[string]time.Time{procedure.DueNames[0]: n.now.Add(time.Second)},
	}
	if err := n.store.Commit(context.Background(), h.lease, written); err != nil {
		t.Fatal(err)
	}
	n.pass(time.Minute)
	if n.reads != 1 {
		t.Errorf("it was read %d times in a minute", n.reads)
	}
	n.pass(unreadFor)
	if n.reads != 2 {
		t.Errorf("it was read %d times in an hour", n.reads)
	}
	if found, err := n.store.Read(context.Background(), record.Key(supi)); err != nil || string(found.Value) != string(n.sealed) {
		t.Errorf("what is kept is %q, %v", found.Value, err)
	}
}

// A UE that has registered again while another shard was asked for it is what came of that: the question of before is asked no more.
func TestATakeoverThatIsAskedTwice(t *testing.T) {
	const other = "imsi-208930000000002"
	for name, is := range map[string]string{"as the same": supi, "as another": other} {
		t.Run(name, func(t *testing.T) {
			n, h := registered(t)
			h.die()
			h = n.hold(2)
			n.phone.register()
			n.settle() // nobody holds the other shard: it is to be asked again
			n.hold(1)
			n.manual = true
			plmn, _ := n2.MakePLMN("208", "93")
			n.phone.uplinkNAS(n.phone.nas(&n1.RegistrationRequest{
				RegistrationType: n1.MobilityRegistration, FollowOn: true, KeySet: n1.NoKey, // not what is under way
				Identity: n1.SUCI{Home: n1.PLMN(plmn), Routing: "0", Scheme: n1.SchemeNull, MSIN: is[len(is)-10:]}, Security: n1.UESecurityCapability{0xf0, 0x70, 0xf0, 0x70},
			}))
			n.settle()
			n.reply()
			confirmed := n.answer(n.asks[0]).(procedure.Confirmed)
			confirmed.SUPI = is
			n.asked[0](confirmed)
			n.settle()
			u := h.runner.ues[record.Key(is)]
			if u == nil || u.state.Record.SUPI != is {
				t.Fatalf("shard 2 has not the UE: %q", n.noted)
			}
			n.pass(2 * askPause)
			if h.runner.ues[record.Key(is)] != u || u.key != record.Key(is) || len(h.runner.ues) != 1 {
				t.Errorf("the UE is %q; there are %d UEs", u.key, len(h.runner.ues))
			}
			if all, strangers := h.runner.UEs(); all != 1 || strangers != 0 {
				t.Errorf("%d UEs in memory, %d strangers", all, strangers)
			}
		})
	}
}

// A UE that was given up, and that nobody has taken, is the giver's again: it is idle, since its access network was told to let go of it, and is missed where it
// stays away.
func TestAGiftThatNobodyTakes(t *testing.T) {
	for name, c := range map[string]struct{ idle, dies bool }{
		"it is connected": {}, "it is idle": {idle: true},
		"it is connected, and the giver dies": {dies: true}, "it is idle, and the giver dies": {idle: true, dies: true},
	} {
		t.Run(name, func(t *testing.T) {
			n, h := registered(t)
			if c.idle {
				n.release(h)
			}
			h.do(func() {
				h.runner.GiveUp(record.Key(supi), func(_ []byte, err error) {
					if err != nil {
						t.Error(err)
					}
				})
			})
			n.settle()
			if rec := n.kept(); rec.N2 != nil && !rec.N2.Releasing {
				t.Errorf("kept is that it is connected: %+v", rec.N2)
			}
			if c.dies {
				h.die()
				n.hold(1)
				if rec := n.kept(); rec.N2 != nil && !rec.N2.Releasing {
					t.Errorf("the next holder has it connected: %+v", rec.N2)
				}
			}
			n.pass(givenFor + time.Second)
			if rec := n.kept(); rec == nil || rec.N2 != nil {
				t.Errorf("the record is %+v", rec)
			}
			due, err := n.store.Due(context.Background(), "amf-1", n.now.Add(24*time.Hour), 9)
			if err != nil || len(due) != 1 {
				t.Errorf("due are %+v, %v, want its mobile reachable timer", due, err)
			}
		})
	}
}

// Each of several that ask for a UE at once is answered once: who waits behind the first looks at what the store has then.
func TestSeveralAskForAUE(t *testing.T) {
	n, h := registered(t)
	answers := map[int]int{}
	h.do(func() {
		for i := range 3 {
			h.runner.GiveUp(record.Key(supi), func(_ []byte, err error) {
				if err != nil {
					t.Errorf("%d hears: %v", i, err)
				}
				if answers[i]++; answers[i] > 1 {
					t.Fatalf("%d is answered again", i)
				}
			})
		}
	})
	n.settle()
	if len(answers) != 3 {
		t.Errorf("answers are %v", answers)
	}
	n.hold(2)
	n.phone.register()
	n.settle()
	if rec := n.kept(); rec.Shard != 2 {
		t.Errorf("the UE is shard %d's", rec.Shard)
	}
}

// What is asked of a UE that was given up is told to come again until somebody has taken the UE, and is passed on to who has.
func TestRequestsOfAGift(t *testing.T) {
	n, h := registered(t)
	asks := func(want string) {
		t.Helper()
		n.noted = nil
		h.do(func() { h.runner.Deliver(supi, procedure.Locate{From: 9}) })
		n.settle()
		if !slices.Contains(n.noted, want) || len(n.noted) != 1 {
			t.Errorf("noted are %q, want %q", n.noted, want)
		}
	}
	h.do(func() { h.runner.GiveUp(record.Key(supi), func([]byte, error) {}) })
	n.settle()
	asks("reply to 9: Failed")
	n.hold(2)
	n.phone.register()
	n.settle()
	if rec := n.kept(); rec.Shard != 2 {
		t.Fatalf("the UE is shard %d's", rec.Shard)
	}
	asks("pass procedure.Locate to 2")
	n.pass(givenFor)
	asks("pass procedure.Locate to 2")
}

// What is due, or under way, of a UE that is not there is looked at once: a program that does not know procedure.DueGiven has taken the UE, and the UE has
// ended there.
func TestTimesOfAUEThatIsNotThere(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		dies   bool // the giver, which has forgotten what it gave
		faults []memory.Fault
		reads  int
	}{
		"the giver looks":             {reads: 1},
		"its successor looks":         {dies: true, reads: 1},
		"the store has heard nothing": {faults: []memory.Fault{memory.LostRequest}, reads: 2}, // there is a look before it is told again
		"the store is not heard":      {faults: []memory.Fault{memory.LostAnswer}, reads: 1},
	} {
		t.Run(name, func(t *testing.T) {
			n, h := registered(t)
			h.do(func() {
				h.runner.GiveUp(record.Key(supi), func(_ []byte, err error) {
					if err != nil {
						t.Error(err)
					}
				})
			})
			n.settle()
			given, err := n.store.Read(ctx, record.Key(supi))
			if err != nil {
				t.Fatal(err)
			}
			old, err := n.store.Acquire(ctx, shardName(2), "of before", leaseTime)
			if err != nil {
				t.Fatal(err)
			}
			ended := sessionstore.Change{Key: given.Key, Was: given.Revision, Is: sessionstore.Revision{Writer: 1, Count: 1}}
			if err := n.store.Commit(ctx, old, ended); err != nil {
				t.Fatal(err)
			}
			if c.dies {
				h.die()
				n.hold(1)
			}
			n.reads, n.faults = 0, c.faults
			n.pass(givenFor + time.Minute)
			due, err := n.store.Due(ctx, shardName(1), n.now.Add(24*time.Hour), 9)
			if err != nil || len(due) != 0 || len(n.faults) != 0 {
				t.Errorf("due are %+v, %v; %d faults were not met", due, err, len(n.faults))
			}
			if n.reads != c.reads {
				t.Errorf("it was read %d times, want %d", n.reads, c.reads)
			}
			n.phone.register()
			n.settle()
			n.pass(time.Second)
			if rec := n.kept(); !n.phone.registered || rec == nil || rec.Shard != 1 {
				t.Errorf("registered %t; the record is %+v", n.phone.registered, rec)
			}
		})
	}
}

// An intent of a UE that is not there is closed by the next holder.
func TestAnIntentOfAUEThatIsNotThere(t *testing.T) {
	ctx := context.Background()
	n := newNetwork(t)
	write := func(shard uint16, c sessionstore.Change) {
		t.Helper()
		l, err := n.store.Acquire(ctx, shardName(shard), "of before", leaseTime)
		if err == nil {
			err = n.store.Commit(ctx, l, c)
		}
		if err == nil {
			err = n.store.Release(ctx, l)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	key, first := record.Key(supi), sessionstore.Revision{Writer: 1, Count: 1}
	write(1, sessionstore.Change{Key: key, Is: first, Value: []byte("x"), OpenIntent: true})
	write(2, sessionstore.Change{Key: key, Was: first, Is: sessionstore.Revision{Writer: 1, Count: 2}})
	n.hold(1)
	if keys, err := n.store.Intents(ctx, shardName(1), 9); err != nil || len(keys) != 0 {
		t.Errorf("intents are %v, %v", keys, err)
	}
}
