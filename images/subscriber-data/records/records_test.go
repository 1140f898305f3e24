package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/memory"
)

// replicas of a function on one store.
func replicas(t *testing.T, n int) (*memory.Store, []*Records) {
	t.Helper()
	store := memory.New(time.Now)
	sealer, err := sessionstore.NewSealer(map[uint32][]byte{1: make([]byte, sessionstore.KeySize)})
	if err != nil {
		t.Fatal(err)
	}
	var out []*Records
	for i := range n {
		out = append(out, New(store, sealer, fmt.Sprintf("pod-%d", i)))
	}
	return store, out
}

// add one to the number that the record holds.
func add(r *Records, key string, got func(int)) error {
	n := 0
	err := r.Change(context.Background(), key, true, func(was []byte) (Becomes, error) {
		n, _ = strconv.Atoi(string(was))
		n++
		return Becomes{Value: []byte(strconv.Itoa(n))}, nil
	})
	if err == nil && got != nil {
		got(n)
	}
	return err
}

// Whichever replica changes a record, and however the store fails, no change is lost and none is made from an old one.
func TestChangesOfReplicasComeOneAfterTheOther(t *testing.T) {
	for name, fault := range map[string]func(n int) memory.Fault{
		"a store that answers": func(int) memory.Fault { return memory.None },
		"requests get lost": func(n int) memory.Fault {
			if n%5 == 0 {
				return memory.LostRequest
			}
			return memory.None
		},
		"it is away now and then": func(n int) memory.Fault {
			if n%7 < 2 {
				return memory.Away
			}
			return memory.None
		},
	} {
		t.Run(name, func(t *testing.T) {
			store, all := replicas(t, 3)
			writes := 0
			store.Fault = func(string) memory.Fault { writes++; return fault(writes) }
			var mu sync.Mutex
			seen := map[int]bool{}
			var wg sync.WaitGroup
			const each = 40
			for _, r := range all {
				for range 2 {
					wg.Go(func() {
						for range each / 2 {
							if err := add(r, "n", func(n int) {
								mu.Lock()
								defer mu.Unlock()
								if seen[n] {
									t.Errorf("%d twice", n)
								}
								seen[n] = true
							}); err != nil {
								t.Error(err)
							}
						}
					})
				}
			}
			wg.Wait()
			for n := 1; n <= each*len(all); n++ {
				if !seen[n] {
					t.Errorf("nobody got %d", n)
				}
			}
		})
	}
}

// An answer that is lost is no reason to do it twice.
func TestALostAnswerIsFoundOut(t *testing.T) {
	store, all := replicas(t, 1)
	lost := false
	store.Fault = func(op string) memory.Fault {
		if op == "Commit" && !lost {
			lost = true
			return memory.LostAnswer
		}
		return memory.None
	}
	if err := add(all[0], "n", func(n int) {
		if n != 1 {
			t.Errorf("%d", n)
		}
	}); err != nil || !lost {
		t.Fatal(err, lost)
	}
	if got, err := all[0].Read(t.Context(), "n"); err != nil || string(got) != "1" {
		t.Errorf("%q, %v", got, err)
	}
}

// What a replica believes is no reason to refuse: it looks before.
func TestWhatWasSeenLastDecidesNothing(t *testing.T) {
	_, all := replicas(t, 2)
	for range 3 {
		if err := add(all[0], "n", nil); err != nil {
			t.Fatal(err)
		}
		if err := add(all[1], "n", nil); err != nil {
			t.Fatal(err)
		}
	}
	refused := errors.New("it is not 7")
	err := all[1].Change(t.Context(), "n", false, func(was []byte) (Becomes, error) { return Becomes{}, ErrKeep })
	if err != nil {
		t.Fatal(err)
	}
	if err := add(all[0], "n", nil); err != nil {
		t.Fatal(err)
	}
	err = all[1].Change(t.Context(), "n", false, func(was []byte) (Becomes, error) {
		if string(was) != "7" {
			return Becomes{}, refused
		}
		return Becomes{Value: []byte("seven")}, nil
	})
	if err != nil {
		t.Error(err)
	}
	// It is not there any more: the other replica believes that it is.
	if err := all[0].Change(t.Context(), "n", false, func([]byte) (Becomes, error) { return Becomes{}, nil }); err != nil {
		t.Fatal(err)
	}
	there := true
	if err := all[1].Change(t.Context(), "n", false, func(was []byte) (Becomes, error) { there = was != nil; return Becomes{}, ErrKeep }); err != nil || there {
		t.Errorf("there: %v, %v", there, err)
	}
}

// A store that has forgotten voids all leases: a seat is taken anew, and the records are as the store has them.
func TestAStoreThatHasForgotten(t *testing.T) {
	store, all := replicas(t, 1)
	for range 2 {
		if err := add(all[0], "n", nil); err != nil {
			t.Fatal(err)
		}
	}
	store.Forget()
	if err := add(all[0], "n", func(n int) {
		if n != 1 {
			t.Errorf("%d", n)
		}
	}); err != nil {
		t.Error(err)
	}
}

func TestAStoreThatIsAwayIsSaid(t *testing.T) {
	store, all := replicas(t, 1)
	store.Away = func() bool { return true }
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := all[0].Change(ctx, "n", true, func([]byte) (Becomes, error) { return Becomes{Value: []byte("x")}, nil })
	if !errors.Is(err, ErrAway) {
		t.Errorf("a change: %v", err)
	}
	if _, err := all[0].Read(t.Context(), "n"); !errors.Is(err, ErrAway) {
		t.Errorf("reading: %v", err)
	}
}

// A record whose key was taken away is as none, and keeps nobody from being served.
func TestARecordThatCannotBeRead(t *testing.T) {
	for name, becomes := range map[string][]byte{"it is written anew": []byte("2"), "it goes": nil} {
		t.Run(name, func(t *testing.T) {
			store, all := replicas(t, 1)
			if err := add(all[0], "n", nil); err != nil {
				t.Fatal(err)
			}
			other, err := sessionstore.NewSealer(map[uint32][]byte{2: make([]byte, sessionstore.KeySize)})
			if err != nil {
				t.Fatal(err)
			}
			r := New(store, other, "pod-9")
			var said error
			r.Unreadable = func(err error) { said = err }
			if got, err := r.Read(t.Context(), "n"); got != nil || err != nil || !errors.Is(said, sessionstore.ErrUnreadable) {
				t.Errorf("%q, %v; said: %v", got, err, said)
			}
			err = r.Change(t.Context(), "n", false, func(was []byte) (Becomes, error) {
				if was != nil {
					t.Errorf("it was %q", was)
				}
				return Becomes{Value: becomes}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := r.Read(t.Context(), "n"); string(got) != string(becomes) || err != nil {
				t.Errorf("%q, %v", got, err)
			}
			if _, err := store.Read(t.Context(), "n"); (becomes == nil) != errors.Is(err, sessionstore.ErrNotFound) {
				t.Errorf("the store: %v", err)
			}
		})
	}
}

// A failover of the store is waited for, also where a change begins with a question.
func TestAStoreThatComesBackIsWaitedFor(t *testing.T) {
	for name, likelyNew := range map[string]bool{"what is read before": false, "what is written at once": true} {
		t.Run(name, func(t *testing.T) {
			store, all := replicas(t, 2)
			if err := add(all[0], "n", nil); err != nil {
				t.Fatal(err)
			}
			back := time.Now().Add(5 * pause)
			store.Away = func() bool { return time.Now().Before(back) }
			err := all[1].Change(t.Context(), "n", likelyNew, func(was []byte) (Becomes, error) {
				if string(was) != "1" {
					return Becomes{}, errors.New("it is not what it was")
				}
				return Becomes{Value: []byte("2")}, nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWhatIsTooLargeIsRefused(t *testing.T) {
	_, all := replicas(t, 1)
	for octets, want := range map[int]error{MaxValue: nil, MaxValue + 1: ErrTooLarge} {
		err := all[0].Change(t.Context(), "n", true, func([]byte) (Becomes, error) { return Becomes{Value: make([]byte, octets)}, nil })
		if !errors.Is(err, want) {
			t.Errorf("%d octets: %v, want %v", octets, err, want)
		}
	}
}

// A seat that another holds is left to it, and one's own is taken again at once.
func TestSeats(t *testing.T) {
	store, all := replicas(t, 40)
	for _, r := range all {
		if err := add(r, "n", nil); err != nil {
			t.Fatal(err)
		}
	}
	holders := map[string]int{}
	for n := range seats {
		holder, _, err := store.Holder(t.Context(), fmt.Sprintf("seat-%d", n))
		if err != nil {
			t.Fatal(err)
		}
		if holder != "" {
			holders[holder]++
		}
	}
	if len(holders) != len(all) {
		t.Errorf("%d hold seats: %v", len(holders), holders)
	}
	again := New(store, all[0].sealer, "pod-0")
	if err := add(again, "n", nil); err != nil {
		t.Fatal(err)
	}
	all[1].Close(t.Context())
	for n := range seats {
		if holder, _, _ := store.Holder(t.Context(), fmt.Sprintf("seat-%d", n)); holder == "pod-1" {
			t.Error("a seat was not given back")
		}
	}
}

func TestSubscriptionsOfReplicas(t *testing.T) {
	_, all := replicas(t, 2)
	ctx := t.Context()
	a, b := NewSubscriptions(all[0], "sdm", 2), NewSubscriptions(all[1], "sdm", 2)
	var ids []string
	for n := range 3 {
		id, err := a.Add(ctx, "imsi-1", []byte(strconv.Itoa(n)))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	other, err := b.Add(ctx, "imsi-2", []byte(`"two"`))
	if err != nil {
		t.Fatal(err)
	}
	if _, there, err := b.Get(ctx, ids[0]); there || err != nil {
		t.Errorf("of three the oldest is there: %v, %v", there, err)
	}
	mine, err := b.Of(ctx, "imsi-1")
	if err != nil || len(mine) != 2 {
		t.Errorf("%+v, %v", mine, err)
	}
	owners, err := b.Owners(ctx)
	if diff := cmp.Diff(map[string]bool{"imsi-1": true, "imsi-2": true}, owners); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for sentence, c := range map[string]struct {
		owner, id string
		want      bool
	}{
		"another's":           {"imsi-2", ids[1], false},
		"one that is unknown": {"", "x", false},
		"one's own":           {"imsi-1", ids[1], true},
		"without an owner":    {"", other, true},
	} {
		if got, err := b.Remove(ctx, c.owner, c.id); got != c.want || err != nil {
			t.Errorf("%s is removed: %v, %v", sentence, got, err)
		}
	}
	replace := func(s *Subscriptions, id, body string) bool {
		there, err := s.Replace(ctx, id, func(Subscription) ([]byte, error) { return json.RawMessage(body), nil })
		if err != nil {
			t.Error(err)
		}
		return there
	}
	if !replace(b, ids[2], `"new"`) || replace(b, ids[1], `"new"`) {
		t.Error("one that is there is not replaced, or one that is not is")
	}
	if got, there, err := a.Get(ctx, ids[2]); !there || err != nil || string(got.Body) != `"new"` || got.Owner != "imsi-1" {
		t.Errorf("%+v, %v, %v", got, there, err)
	}
	if owners, _ := a.Owners(ctx); len(owners) != 1 {
		t.Errorf("%v", owners)
	}
}
