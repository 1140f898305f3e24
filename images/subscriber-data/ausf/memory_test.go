package ausf

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
	inmemory "core5g.dev/core5g/images/nf/sessionstore/memory"
	"core5g.dev/core5g/images/subscriber-data/aka"
	"core5g.dev/core5g/images/subscriber-data/records"
)

// begin a challenge of that RAND.
func begin(t *testing.T, y *memory, sequences *aka.Sequences, supi string, rnd byte) string {
	t.Helper()
	id, err := y.add(t.Context(), supi, func(m *remembered) (opened, error) {
		_, now, err := sequences.Next(context.Background(), m.Sequence)
		m.Sequence = now
		return opened{RAND: make16(rnd), XRESStar: make16(rnd), KSEAF: append(make16(rnd), make16(rnd)...)}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func make16(b byte) []byte {
	out := make([]byte, 16)
	for i := range out {
		out[i] = b
	}
	return out
}

func newTestMemory(t *testing.T, now func() time.Time) *memory {
	t.Helper()
	return memoryIn(t, inmemory.New(time.Now), now)
}

func memoryIn(t *testing.T, store sessionstore.Store, now func() time.Time) *memory {
	t.Helper()
	sealer, err := sessionstore.NewSealer(map[uint32][]byte{1: make([]byte, sessionstore.KeySize)})
	if err != nil {
		t.Fatal(err)
	}
	return newMemory(records.New(store, sealer, "a"), now)
}

// Challenges are written as they are, however many wait: packing what is random takes longer than the rest of a challenge.
func TestChallengesAreNotPacked(t *testing.T) {
	const supi = "imsi-208930000000001"
	store := inmemory.New(time.Now)
	y, sequences := memoryIn(t, store, time.Now), aka.KeptSequences(time.Now, 0)
	var id string
	for n := range mostOpen {
		id = begin(t, y, sequences, supi, byte(n))
	}
	plain := func(open int) {
		t.Helper()
		kept, err := store.Read(t.Context(), keyPrefix+supi)
		if err != nil {
			t.Fatal(err)
		}
		value, err := y.records.Sealer().Open(keyPrefix+supi, kept.Value)
		if m := new(remembered); err != nil || json.Unmarshal(value, m) != nil || len(m.Open) != open {
			t.Errorf("the record of %d challenges is kept as %q, %v; want JSON", open, value, err)
		}
	}
	plain(mostOpen)
	if _, ok, err := y.take(t.Context(), id, sequences); !ok || err != nil {
		t.Fatalf("the last is confirmed: %v, %v", ok, err)
	}
	plain(mostOpen - 1)
}

// A challenge can be confirmed for a minute, the last few of a subscriber alone, and by nobody else's identifier.
func TestChallengesThatCanBeConfirmed(t *testing.T) {
	at := time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)
	now := func() time.Time { return at }
	y, sequences := newTestMemory(t, now), aka.KeptSequences(now, 0)
	take := func(id string) bool {
		t.Helper()
		_, ok, err := y.take(t.Context(), id, sequences)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	var ids []string
	for n := range mostOpen + 1 {
		ids = append(ids, begin(t, y, sequences, "imsi-1", byte(n)))
	}
	late := begin(t, y, sequences, "imsi-2", 9)
	if take(ids[0]) {
		t.Error("more are open than may be")
	}
	if got, ok, err := y.take(t.Context(), ids[1], sequences); !ok || err != nil || got.SUPI != "imsi-1" || got.RAND[0] != 1 {
		t.Errorf("%+v, %v, %v", got, ok, err)
	}
	if take(ids[1]) {
		t.Error("one is taken twice")
	}
	at = at.Add(contextLifetime - 1)
	if !take(ids[2]) {
		t.Error("one of a minute ago is gone")
	}
	at = at.Add(1)
	for sentence, id := range map[string]string{"one that is too old": late, "no identifier": "x", "none at all": "", "one that was changed": ids[3][:len(ids[3])-2] + "AA"} {
		if take(id) {
			t.Errorf("%s is taken", sentence)
		}
	}
}

// doubtful is a store that does not say that it has done the first write. again is done before the second.
type doubtful struct {
	sessionstore.Store
	again  func()
	writes int
}

func (d *doubtful) Commit(ctx context.Context, l sessionstore.Lease, c sessionstore.Change) error {
	d.writes++
	if d.writes == 2 {
		d.again()
	}
	err := d.Store.Commit(ctx, l, c)
	if d.writes == 1 && err == nil {
		err = sessionstore.ErrUnknown
	}
	return err
}

// A challenge whose first write nobody knows of, and which is written again over another replica's, is confirmed by what the UE was sent: by the last.
func TestAChallengeThatIsWrittenTwice(t *testing.T) {
	at := time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)
	now := func() time.Time { return at }
	sealer, err := sessionstore.NewSealer(map[uint32][]byte{1: make([]byte, sessionstore.KeySize)})
	if err != nil {
		t.Fatal(err)
	}
	store, sequences := inmemory.New(time.Now), aka.KeptSequences(now, 0)
	a, b := newMemory(records.New(store, sealer, "a"), now), newMemory(records.New(store, sealer, "b"), now)
	a.records = records.New(&doubtful{Store: store, again: func() { begin(t, b, sequences, "imsi-1", 9) }}, sealer, "a")
	var sent aka.SQN
	id, err := a.add(t.Context(), "imsi-1", func(m *remembered) (opened, error) {
		sqn, now, err := sequences.Next(context.Background(), m.Sequence)
		m.Sequence, sent = now, sqn
		return opened{RAND: make16(1), KSEAF: []byte(fmt.Sprint(sqn))}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, ok, err := a.take(t.Context(), id, sequences); !ok || err != nil || string(got.KSEAF) != fmt.Sprint(sent) {
		t.Errorf("the key is that of SQN %s, want %d; %v, %v", got.KSEAF, sent, ok, err)
	}
	if _, ok, err := b.take(t.Context(), id, sequences); ok || err != nil {
		t.Errorf("it is there a second time: %v, %v", ok, err)
	}
}

// What need not be remembered goes when a challenge is confirmed, and when it is tidied; who runs ahead of the clock stays.
func TestWhatNeedNotBeRememberedIsDropped(t *testing.T) {
	at := time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)
	now := func() time.Time { return at }
	y, sequences := newTestMemory(t, now), aka.KeptSequences(now, 0)
	count := func(want int, sentence string) {
		t.Helper()
		if n, err := y.records.Count(t.Context(), groupOfAll); n != want || err != nil {
			t.Errorf("%s: %d records, %v, want %d", sentence, n, err, want)
		}
	}
	confirmed := begin(t, y, sequences, "imsi-1", 1)
	begin(t, y, sequences, "imsi-2", 2)
	for n := range byte(100) {
		begin(t, y, sequences, "imsi-3", n)
	}
	count(3, "challenged")
	at = at.Add(aka.Tick)
	if _, ok, err := y.take(t.Context(), confirmed, sequences); !ok || err != nil {
		t.Fatal(ok, err)
	}
	count(2, "one has confirmed")
	if err := y.tidy(t.Context(), sequences); err != nil {
		t.Fatal(err)
	}
	count(2, "one waits, one is ahead of the clock")
	at = at.Add(contextLifetime)
	if err := y.tidy(t.Context(), sequences); err != nil {
		t.Fatal(err)
	}
	count(0, "a minute later")
	begin(t, y, sequences, "imsi-3", 1)
	at = at.Add(-time.Hour) // the clock was set back
	last := begin(t, y, sequences, "imsi-3", 2)
	at = at.Add(time.Minute)
	if _, ok, err := y.take(t.Context(), last, sequences); ok || err != nil {
		t.Fatal(ok, err)
	}
	count(1, "ahead of a clock that was set back")
}

// A record of as many challenges as may be open fits into the store.
func TestOpenChallengesFit(t *testing.T) {
	y, sequences := newTestMemory(t, time.Now), aka.KeptSequences(time.Now, 0)
	for n := range byte(3 * mostOpen) {
		begin(t, y, sequences, "nai-"+string(make([]byte, 200))+"@example.org", n)
	}
}
