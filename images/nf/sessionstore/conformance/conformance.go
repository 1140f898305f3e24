// Package conformance is what every session store must do.
package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"

	"github.com/google/go-cmp/cmp"
)

const ttl = time.Minute

// Subject is a store under test.
type Subject struct {
	sessionstore.Store
	// Pass lets time go by for the store: a virtual clock moves, a real one is waited for.
	Pass func(time.Duration)
	// Short is a time to live that Pass can wait for.
	Short time.Duration
	// Forget lets the store lose every write that it has acknowledged, as after a loss of power.
	Forget func()
}

// Run runs the tests, each on an empty store.
func Run(t *testing.T, empty func(t *testing.T) *Subject) {
	for name, test := range map[string]func(*testing.T, *Subject){
		"a record is written, changed, deleted":              records,
		"a change from another revision is refused":          conflicts,
		"a write that is repeated is known":                  repetitions,
		"an index names one record":                          indexes,
		"a refused change changes nothing":                   allOrNothing,
		"a shard has one holder":                             leases,
		"an old holder writes nothing":                       fencing,
		"intents are found, the oldest first":                intents,
		"what is due is found, the earliest first":           due,
		"what is due goes with who takes a record":           takenFrom,
		"what is left of a record that is gone is removed":   leftOver,
		"groups are listed in parts":                         groups,
		"blocks of numbers are given once":                   blocks,
		"a store that forgot refuses those who remember":     forgets,
		"of writers at the same time one wins":               races,
		"senseless changes are refused before they are sent": senseless,
	} {
		t.Run(name, func(t *testing.T) { test(t, empty(t)) })
	}
}

func (s *Subject) lease(t *testing.T, shard, holder string) sessionstore.Lease {
	t.Helper()
	l, err := s.Acquire(context.Background(), shard, holder, ttl)
	if err != nil {
		t.Fatal("Acquire:", err)
	}
	if l.Shard != shard || l.Holder != holder || l.Epoch == 0 || l.Generation == "" {
		t.Fatalf("Acquire = %+v", l)
	}
	return l
}

func (s *Subject) commit(t *testing.T, l sessionstore.Lease, c sessionstore.Change) {
	t.Helper()
	if err := s.Commit(context.Background(), l, c); err != nil {
		t.Fatalf("Commit %+v: %v", c, err)
	}
}

func (s *Subject) refused(t *testing.T, l sessionstore.Lease, c sessionstore.Change, want error) {
	t.Helper()
	if err := s.Commit(context.Background(), l, c); !errors.Is(err, want) {
		t.Errorf("Commit %+v: %v, want %v", c, err, want)
	}
}

func (s *Subject) has(t *testing.T, key, want string, revision sessionstore.Revision) {
	t.Helper()
	got, err := s.Read(context.Background(), key)
	if err != nil {
		t.Errorf("Read %s: %v", key, err)
		return
	}
	if diff := cmp.Diff(sessionstore.Record{Key: key, Revision: revision, Value: []byte(want)}, got); diff != "" {
		t.Errorf("Read %s (-want +got):\n%s", key, diff)
	}
}

func (s *Subject) hasNot(t *testing.T, key string) {
	t.Helper()
	if got, err := s.Read(context.Background(), key); !errors.Is(err, sessionstore.ErrNotFound) {
		t.Errorf("Read %s = %+v, %v, want ErrNotFound", key, got, err)
	}
}

func rev(count uint64) sessionstore.Revision {
	return sessionstore.Revision{Writer: 7 << 60, Count: count}
}

func put(key string, was, is uint64, value string) sessionstore.Change {
	c := sessionstore.Change{Key: key, Is: rev(is), Value: []byte(value)}
	if was != 0 {
		c.Was = rev(was)
	}
	return c
}

func records(t *testing.T, s *Subject) {
	l := s.lease(t, "0", "a")
	s.hasNot(t, "one")
	// Octets of every value, and none.
	all := make([]byte, 256)
	for n := range all {
		all[n] = byte(n)
	}
	s.commit(t, l, put("one", 0, 1, string(all)))
	s.has(t, "one", string(all), rev(1))
	s.commit(t, l, put("one", 1, 2, strings.Repeat("x", sessionstore.MaxRecord)))
	s.has(t, "one", strings.Repeat("x", sessionstore.MaxRecord), rev(2))
	s.commit(t, l, sessionstore.Change{Key: "two", Is: rev(3), Value: []byte{}})
	s.has(t, "two", "", rev(3))
	s.commit(t, l, sessionstore.Change{Key: "one", Was: rev(2), Is: rev(4)})
	s.hasNot(t, "one")
	s.commit(t, l, put("one", 0, 5, "again"))
	s.has(t, "one", "again", rev(5))
}

func conflicts(t *testing.T, s *Subject) {
	l := s.lease(t, "0", "a")
	s.refused(t, l, put("one", 1, 2, "from nothing"), sessionstore.ErrConflict)
	s.commit(t, l, put("one", 0, 1, "first"))
	s.refused(t, l, put("one", 0, 2, "made twice"), sessionstore.ErrConflict)
	s.refused(t, l, put("one", 9, 2, "from another"), sessionstore.ErrConflict)
	s.refused(t, l, sessionstore.Change{Key: "one", Was: rev(9), Is: rev(2)}, sessionstore.ErrConflict)
	other := put("one", 0, 2, "of another writer")
	other.Was = sessionstore.Revision{Writer: 1, Count: 1}
	s.refused(t, l, other, sessionstore.ErrConflict)
	s.has(t, "one", "first", rev(1))
}

func repetitions(t *testing.T, s *Subject) {
	l := s.lease(t, "0", "a")
	first := put("one", 0, 1, "first")
	first.AddIndexes = []sessionstore.Index{{Kind: "supi", Value: "1"}}
	s.commit(t, l, first)
	s.commit(t, l, first)
	s.has(t, "one", "first", rev(1))
	gone := sessionstore.Change{Key: "one", Was: rev(1), Is: rev(2), RemoveIndexes: first.AddIndexes}
	s.commit(t, l, gone)
	s.commit(t, l, gone)
	s.hasNot(t, "one")
	// What came after it is not undone by the repetition of an older one.
	s.commit(t, l, put("one", 0, 3, "second"))
	s.refused(t, l, first, sessionstore.ErrConflict)
	s.has(t, "one", "second", rev(3))
}

func indexes(t *testing.T, s *Subject) {
	ctx := context.Background()
	l := s.lease(t, "0", "a")
	supi, guti := sessionstore.Index{Kind: "supi", Value: "imsi-1"}, sessionstore.Index{Kind: "guti", Value: "imsi-1"}
	if _, err := s.Find(ctx, supi); !errors.Is(err, sessionstore.ErrNotFound) {
		t.Errorf("Find in an empty store: %v", err)
	}
	one := put("one", 0, 1, "1")
	one.AddIndexes = []sessionstore.Index{supi, guti}
	s.commit(t, l, one)
	got, err := s.Find(ctx, guti)
	if want := (sessionstore.Record{Key: "one", Revision: rev(1), Value: []byte("1")}); err != nil || !cmp.Equal(got, want) {
		t.Errorf("Find = %+v, %v, want %+v", got, err, want)
	}
	address := sessionstore.Index{Kind: "address", Value: "2001:db8::/64"}
	free := sessionstore.Index{Kind: "address", Value: "10.45.0.1"}
	s.commit(t, l, func() sessionstore.Change {
		c := put("three", 0, 9, "3")
		c.AddIndexes = []sessionstore.Index{address}
		return c
	}())
	two := put("two", 0, 2, "2")
	two.AddIndexes = []sessionstore.Index{free, address}
	var taken *sessionstore.TakenError
	if err := s.Commit(ctx, l, two); !errors.As(err, &taken) || taken.Index != address {
		t.Errorf("a Commit with an address of another's: %v, want a TakenError of %v", err, address)
	}
	two.AddIndexes = []sessionstore.Index{supi}
	s.refused(t, l, two, sessionstore.ErrTaken)
	// Another's index is not taken away either.
	two.AddIndexes, two.RemoveIndexes = nil, []sessionstore.Index{supi}
	s.commit(t, l, two)
	if got, err := s.Find(ctx, supi); err != nil || got.Key != "one" {
		t.Errorf("Find = %+v, %v, want one", got, err)
	}
	// One that its record left behind is free, and names nothing.
	s.commit(t, l, sessionstore.Change{Key: "one", Was: rev(1), Is: rev(3), RemoveIndexes: []sessionstore.Index{guti}})
	for _, i := range []sessionstore.Index{supi, guti} {
		if _, err := s.Find(ctx, i); !errors.Is(err, sessionstore.ErrNotFound) {
			t.Errorf("Find %v after the deletion: %v", i, err)
		}
	}
	two = put("two", 2, 4, "2")
	two.AddIndexes = []sessionstore.Index{supi}
	s.commit(t, l, two)
	if got, err := s.Find(ctx, supi); err != nil || got.Key != "two" {
		t.Errorf("Find = %+v, %v, want two", got, err)
	}
}

func allOrNothing(t *testing.T, s *Subject) {
	ctx := context.Background()
	l := s.lease(t, "0", "a")
	one := put("one", 0, 1, "1")
	one.AddIndexes = []sessionstore.Index{{Kind: "supi", Value: "1"}}
	s.commit(t, l, one)
	two := put("two", 0, 2, "2")
	two.AddIndexes = []sessionstore.Index{{Kind: "guti", Value: "2"}, {Kind: "supi", Value: "1"}}
	two.JoinGroups, two.OpenIntent = []string{"g"}, true
	two.Due = map[string]time.Time{"x": time.UnixMilli(1)}
	s.refused(t, l, two, sessionstore.ErrTaken)
	s.hasNot(t, "two")
	if _, err := s.Find(ctx, two.AddIndexes[0]); !errors.Is(err, sessionstore.ErrNotFound) {
		t.Errorf("Find of a refused change's index: %v", err)
	}
	if keys, _, err := s.Members(ctx, "g", "", 9); len(keys) != 0 || err != nil {
		t.Errorf("Members = %v, %v", keys, err)
	}
	if keys, err := s.Intents(ctx, "0", 9); len(keys) != 0 || err != nil {
		t.Errorf("Intents = %v, %v", keys, err)
	}
	if d, err := s.Due(ctx, "0", time.UnixMilli(2), 9); len(d) != 0 || err != nil {
		t.Errorf("Due = %v, %v", d, err)
	}
}

func leases(t *testing.T, s *Subject) {
	ctx := context.Background()
	if holder, _, err := s.Holder(ctx, "0"); holder != "" || err != nil {
		t.Errorf("Holder of a shard that nobody took = %q, %v", holder, err)
	}
	first, err := s.Acquire(ctx, "0", "a", s.Short)
	if err != nil {
		t.Fatal(err)
	}
	var held *sessionstore.HeldError
	if _, err := s.Acquire(ctx, "0", "b", ttl); !errors.As(err, &held) || held.Holder != "a" || held.Epoch != first.Epoch || held.Remaining <= 0 || held.Remaining > s.Short {
		t.Errorf("Acquire of a held shard: %v", err)
	}
	s.lease(t, "1", "b") // another shard is free
	renewed, err := s.Renew(ctx, first, ttl)
	if err != nil || renewed.Epoch != first.Epoch || !renewed.Until.After(first.Until) {
		t.Errorf("Renew = %+v, %v", renewed, err)
	}
	s.Pass(2 * s.Short)
	if holder, epoch, err := s.Holder(ctx, "0"); holder != "a" || epoch != first.Epoch || err != nil {
		t.Errorf("Holder = %q, %d, %v", holder, epoch, err)
	}
	again := s.lease(t, "0", "a")
	if again.Epoch <= first.Epoch {
		t.Errorf("the epoch did not grow: %d, then %d", first.Epoch, again.Epoch)
	}
	if err := s.Release(ctx, first); err != nil {
		t.Errorf("Release of an old lease: %v", err)
	}
	if holder, _, _ := s.Holder(ctx, "0"); holder != "a" {
		t.Error("the release of an old lease ended the new one")
	}
	if err := s.Release(ctx, again); err != nil {
		t.Error("Release:", err)
	}
	last, err := s.Acquire(ctx, "0", "b", s.Short)
	if err != nil || last.Epoch <= again.Epoch {
		t.Fatalf("Acquire of a released shard = %+v, %v", last, err)
	}
	s.Pass(2 * s.Short)
	if holder, _, err := s.Holder(ctx, "0"); holder != "" || err != nil {
		t.Errorf("Holder after the end = %q, %v", holder, err)
	}
	if _, err := s.Renew(ctx, last, ttl); !errors.Is(err, sessionstore.ErrFenced) {
		t.Errorf("Renew of a lease that has ended: %v", err)
	}
	s.lease(t, "0", "c")
}

func fencing(t *testing.T, s *Subject) {
	ctx := context.Background()
	old, err := s.Acquire(ctx, "0", "a", s.Short)
	if err != nil {
		t.Fatal(err)
	}
	s.commit(t, old, put("one", 0, 1, "old"))
	s.Pass(2 * s.Short)
	s.refused(t, old, put("one", 1, 2, "late"), sessionstore.ErrFenced)
	l := s.lease(t, "0", "b")
	s.refused(t, old, put("one", 1, 2, "late"), sessionstore.ErrFenced)
	s.refused(t, old, put("one", 0, 1, "old"), sessionstore.ErrFenced)
	if _, err := s.Reserve(ctx, old, "block", 1); !errors.Is(err, sessionstore.ErrFenced) {
		t.Errorf("Reserve with an old lease: %v", err)
	}
	s.has(t, "one", "old", rev(1))
	// A life before this one of the same name is another holder, too.
	reborn := s.lease(t, "0", "b")
	s.refused(t, l, put("one", 1, 2, "late"), sessionstore.ErrFenced)
	s.commit(t, reborn, put("one", 1, 2, "new"))
	s.has(t, "one", "new", rev(2))
}

func intents(t *testing.T, s *Subject) {
	ctx := context.Background()
	l, other := s.lease(t, "0", "a"), s.lease(t, "1", "a")
	for n := range uint64(5) {
		c := put(fmt.Sprint("r", n), 0, n+1, "x")
		c.OpenIntent = true
		s.commit(t, l, c)
		s.Pass(2 * time.Millisecond)
	}
	elsewhere := put("elsewhere", 0, 9, "x")
	elsewhere.OpenIntent = true
	s.commit(t, other, elsewhere)
	closed := put("r1", 2, 10, "y")
	closed.CloseIntent = true
	s.commit(t, l, closed)
	again := put("r0", 1, 11, "y") // still the oldest
	again.OpenIntent = true
	s.commit(t, l, again)
	s.commit(t, l, sessionstore.Change{Key: "r3", Was: rev(4), Is: rev(12)}) // a deletion closes
	keys, err := s.Intents(ctx, "0", 9)
	if want := []string{"r0", "r2", "r4"}; err != nil || !slices.Equal(keys, want) {
		t.Errorf("Intents = %v, %v, want %v", keys, err, want)
	}
	if keys, err := s.Intents(ctx, "0", 2); err != nil || !slices.Equal(keys, []string{"r0", "r2"}) {
		t.Errorf("the first two Intents = %v, %v", keys, err)
	}
	if keys, err := s.Intents(ctx, "2", 9); err != nil || len(keys) != 0 {
		t.Errorf("Intents of a shard without any = %v, %v", keys, err)
	}
}

func due(t *testing.T, s *Subject) {
	ctx := context.Background()
	l := s.lease(t, "0", "a")
	at := func(ms int64) time.Time { return time.UnixMilli(1_800_000_000_000 + ms) }
	one := put("one", 0, 1, "x")
	one.Due = map[string]time.Time{"T3591": at(30), "quota": at(10)}
	s.commit(t, l, one)
	two := put("two", 0, 2, "x")
	two.Due = map[string]time.Time{"T3591": at(20)}
	s.commit(t, l, two)
	want := []sessionstore.Due{{Key: "one", Name: "quota", At: at(10)}, {Key: "two", Name: "T3591", At: at(20)}}
	for range 2 { // looking takes nothing away
		if got, err := s.Due(ctx, "0", at(29), 9); err != nil || !cmp.Equal(got, want) {
			t.Errorf("Due (-want +got), %v:\n%s", err, cmp.Diff(want, got))
		}
	}
	if got, err := s.Due(ctx, "0", at(99), 1); err != nil || !cmp.Equal(got, want[:1]) {
		t.Errorf("the first Due (-want +got), %v:\n%s", err, cmp.Diff(want[:1], got))
	}
	moved := put("one", 1, 3, "x")
	moved.Due = map[string]time.Time{"T3591": at(5), "quota": {}}
	s.commit(t, l, moved)
	s.commit(t, l, sessionstore.Change{Key: "two", Was: rev(2), Is: rev(4), Due: map[string]time.Time{"T3591": {}}})
	want = []sessionstore.Due{{Key: "one", Name: "T3591", At: at(5)}}
	if got, err := s.Due(ctx, "0", at(99), 9); err != nil || !cmp.Equal(got, want) {
		t.Errorf("Due after changes (-want +got), %v:\n%s", err, cmp.Diff(want, got))
	}
}

// takenFrom: the holder of another shard takes a record, and with it what the one before still had to look at by the names that it says.
func takenFrom(t *testing.T, s *Subject) {
	ctx := context.Background()
	giver, taker := s.lease(t, "0", "a"), s.lease(t, "1", "b")
	at := time.UnixMilli(1_800_000_000_000)
	for n, key := range []string{"one", "two"} {
		c := put(key, 0, uint64(n+1), "x")
		c.OpenIntent, c.Due = true, map[string]time.Time{"given": at, "quota": at}
		s.commit(t, giver, c)
	}
	take := put("one", 1, 3, "y")
	take.From, take.Gone, take.JoinGroups, take.Due = "0", []string{"given", "none"}, []string{"g"}, map[string]time.Time{"T3591": at}
	late := take
	late.Was = rev(9)
	s.refused(t, taker, late, sessionstore.ErrConflict)
	if got, err := s.Due(ctx, "0", at, 9); err != nil || len(got) != 4 {
		t.Errorf("Due after a change that was refused = %v, %v", got, err)
	}
	for range 2 { // once, however often it is said
		s.commit(t, taker, take)
		want := []sessionstore.Due{{Key: "two", Name: "given", At: at}, {Key: "one", Name: "quota", At: at}, {Key: "two", Name: "quota", At: at}}
		if got, err := s.Due(ctx, "0", at, 9); err != nil || !cmp.Equal(got, want) {
			t.Errorf("Due where it was (-want +got), %v:\n%s", err, cmp.Diff(want, got))
		}
		if got, err := s.Intents(ctx, "0", 9); err != nil || !cmp.Equal(got, []string{"two"}) {
			t.Errorf("Intents where it was = %v, %v", got, err)
		}
		want = []sessionstore.Due{{Key: "one", Name: "T3591", At: at}}
		if got, err := s.Due(ctx, "1", at, 9); err != nil || !cmp.Equal(got, want) {
			t.Errorf("Due where it is (-want +got), %v:\n%s", err, cmp.Diff(want, got))
		}
	}
	s.has(t, "one", "y", rev(3))
}

// leftOver: who deletes a record knows nothing of what another shard still has of it. The holder of that takes it away.
func leftOver(t *testing.T, s *Subject) {
	ctx := context.Background()
	l, other := s.lease(t, "0", "a"), s.lease(t, "1", "b")
	at := time.UnixMilli(1_800_000_000_000)
	index := sessionstore.Index{Kind: "supi", Value: "1"}
	for n, key := range []string{"one", "two"} {
		c := put(key, 0, uint64(n+1), "x")
		c.OpenIntent, c.JoinGroups, c.Due = true, []string{"g"}, map[string]time.Time{"given": at, "quota": at}
		s.commit(t, l, c)
	}
	s.commit(t, other, sessionstore.Change{Key: "one", Was: rev(1), Is: rev(3)})
	has := func(when string, due []sessionstore.Due, intents, members []string) {
		t.Helper()
		if got, err := s.Due(ctx, "0", at, 9); err != nil || !cmp.Equal(got, due) {
			t.Errorf("Due %s (-want +got), %v:\n%s", when, err, cmp.Diff(due, got))
		}
		if got, err := s.Intents(ctx, "0", 9); err != nil || !slices.Equal(got, intents) {
			t.Errorf("Intents %s = %v, %v, want %v", when, got, err, intents)
		}
		if got, _, err := s.Members(ctx, "g", "", 9); err != nil || !slices.Equal(slices.Sorted(slices.Values(got)), members) {
			t.Errorf("Members %s = %v, %v, want %v", when, got, err, members)
		}
	}
	of := func(key, name string) sessionstore.Due { return sessionstore.Due{Key: key, Name: name, At: at} }
	both := []string{"one", "two"}
	has("of a record that is gone", []sessionstore.Due{of("one", "given"), of("two", "given"), of("one", "quota"), of("two", "quota")}, both, both)
	left := sessionstore.Change{
		Key: "one", Is: rev(4), Due: map[string]time.Time{"given": {}, "none": {}}, RemoveIndexes: []sessionstore.Index{index}, LeaveGroups: []string{"g"},
	}
	for range 2 { // however often it is said
		s.commit(t, l, left)
		has("after it", []sessionstore.Due{of("two", "given"), of("one", "quota"), of("two", "quota")}, both[1:], both[1:])
	}
	s.hasNot(t, "one")
	// Of a record that is there nothing is left over.
	left.Key, left.Is = "two", rev(5)
	s.refused(t, l, left, sessionstore.ErrConflict)
	has("after one that is refused", []sessionstore.Due{of("two", "given"), of("one", "quota"), of("two", "quota")}, both[1:], both[1:])
	s.has(t, "two", "x", rev(2))
	again := put("one", 0, 6, "y")
	again.AddIndexes = []sessionstore.Index{index}
	s.commit(t, l, again)
	left.Key, left.Is = "one", rev(7)
	s.refused(t, l, left, sessionstore.ErrConflict)
	if got, err := s.Find(ctx, index); err != nil || got.Key != "one" {
		t.Errorf("Find = %+v, %v, want one", got, err)
	}
}

func groups(t *testing.T, s *Subject) {
	ctx := context.Background()
	l := s.lease(t, "0", "a")
	want := map[string]bool{}
	const n = 300
	for i := range uint64(n) {
		c := put(fmt.Sprintf("r%03d", i), 0, i+1, "x")
		c.JoinGroups = []string{"upf-0", "all"}
		s.commit(t, l, c)
		want[c.Key] = true
	}
	left := put("r007", 8, n+1, "x")
	left.LeaveGroups = []string{"upf-0"}
	s.commit(t, l, left)
	delete(want, "r007")
	got, parts := map[string]bool{}, 0
	for cursor := ""; ; parts++ {
		keys, next, err := s.Members(ctx, "upf-0", cursor, 50)
		if err != nil {
			t.Fatal("Members:", err)
		}
		for _, k := range keys {
			got[k] = true
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Members (-want +got):\n%s", diff)
	}
	for group, want := range map[string]int{"upf-0": len(want), "all": n, "nothing": 0} {
		if got, err := s.Count(ctx, group); err != nil || got != want {
			t.Errorf("Count of %s = %d, %v, want %d", group, got, err, want)
		}
	}
	if parts == 0 {
		t.Error("300 members came in one part, with max 50")
	}
}

func blocks(t *testing.T, s *Subject) {
	ctx := context.Background()
	one, two := s.lease(t, "0", "a"), s.lease(t, "1", "b")
	var got []uint64
	for _, l := range []sessionstore.Lease{one, two, one} {
		first, err := s.Reserve(ctx, l, "tmsi", 16)
		if err != nil {
			t.Fatal("Reserve:", err)
		}
		got = append(got, first)
	}
	if want := []uint64{0, 16, 32}; !slices.Equal(got, want) {
		t.Errorf("blocks of 16 begin at %v, want %v", got, want)
	}
	if first, err := s.Reserve(ctx, one, "other", 1); first != 0 || err != nil {
		t.Errorf("the first of another block = %d, %v", first, err)
	}
}

func forgets(t *testing.T, s *Subject) {
	ctx := context.Background()
	l := s.lease(t, "0", "a")
	s.commit(t, l, put("one", 0, 1, "x"))
	before, err := s.Generation(ctx)
	if err != nil || before != l.Generation {
		t.Fatalf("Generation = %q, %v; the lease says %q", before, err, l.Generation)
	}
	s.Forget()
	s.refused(t, l, put("two", 0, 2, "x"), sessionstore.ErrFenced)
	after := s.lease(t, "0", "a")
	if after.Generation == before {
		t.Errorf("the generation is %q as before", before)
	}
	s.hasNot(t, "one")
	s.commit(t, after, put("one", 0, 3, "anew"))
}

func races(t *testing.T, s *Subject) {
	l := s.lease(t, "0", "a")
	s.commit(t, l, put("one", 0, 1, "x"))
	const writers = 16
	var won atomic.Int32
	var all sync.WaitGroup
	for n := range uint64(writers) {
		all.Go(func() {
			err := s.Commit(context.Background(), l, put("one", 1, 100+n, "y"))
			switch {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, sessionstore.ErrConflict):
				t.Errorf("Commit: %v", err)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 {
		t.Errorf("%d of %d writers from the same revision won", won.Load(), writers)
	}
}

func senseless(t *testing.T, s *Subject) {
	l := s.lease(t, "0", "a")
	for name, c := range map[string]sessionstore.Change{
		"no key":                      {Is: rev(1), Value: []byte("x")},
		"no revision":                 {Key: "k", Value: []byte("x")},
		"the same revision":           {Key: "k", Was: rev(1), Is: rev(1), Value: []byte("x")},
		"too large":                   put("k", 0, 1, strings.Repeat("x", sessionstore.MaxRecord+1)),
		"opens and closes":            {Key: "k", Is: rev(1), Value: []byte("x"), OpenIntent: true, CloseIntent: true},
		"deletes nothing":             {Key: "k", Is: rev(1)},
		"deletes and adds an index":   {Key: "k", Was: rev(1), Is: rev(2), AddIndexes: []sessionstore.Index{{Kind: "a", Value: "b"}}},
		"deletes and joins a group":   {Key: "k", Was: rev(1), Is: rev(2), JoinGroups: []string{"g"}},
		"deletes and makes due":       {Key: "k", Was: rev(1), Is: rev(2), Due: map[string]time.Time{"x": time.UnixMilli(1)}},
		"is gone from nowhere":        {Key: "k", Is: rev(1), Value: []byte("x"), Gone: []string{"a"}},
		"gone by a name with a space": {Key: "k", Is: rev(1), Value: []byte("x"), From: "1", Gone: []string{"a b"}},
		"due by a name with a space":  {Key: "k", Is: rev(1), Value: []byte("x"), Due: map[string]time.Time{"a b": time.UnixMilli(1)}},
	} {
		if err := s.Commit(context.Background(), l, c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
