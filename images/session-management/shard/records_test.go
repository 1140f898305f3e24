package shard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/nsmf"
	"core5g.dev/core5g/images/session-management/record"
)

// said is what a pod has logged.
type said struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// rewrite a record as somebody else would have written it, with an open intent, so that a pod looks at it when it begins.
func (r *rig) rewrite(key string, change func(octets []byte) (sealed []byte)) {
	r.t.Helper()
	ctx := context.Background()
	l := again(r.t, func(ctx context.Context) (sessionstore.Lease, error) {
		return r.store.Acquire(ctx, "smf/1", "another", time.Minute)
	})
	found, err := r.store.Read(ctx, key)
	if err != nil {
		r.t.Fatal(err)
	}
	octets, err := r.sealer.Open(key, found.Value)
	if err != nil {
		r.t.Fatal(err)
	}
	is := found.Revision
	is.Count++
	if err := r.store.Commit(ctx, l, sessionstore.Change{Key: key, Was: found.Revision, Is: is, Value: change(octets), OpenIntent: true}); err != nil {
		r.t.Fatal(err)
	}
	if err := r.store.Release(ctx, l); err != nil {
		r.t.Fatal(err)
	}
}

// versioned is the record as a program of another version has written it, with a field that this one does not know.
func (r *rig) versioned(octets []byte, version byte) []byte {
	r.t.Helper()
	// A map whose head is one octet or two, and in it the version first (record.Session).
	at := bytes.Index(octets[:4], []byte{0, record.Version})
	if at < 1 || at == 2 && octets[0] != 0xb8 {
		r.t.Fatalf("the record begins with %x", octets[:4])
	}
	pairs := octets[0] & 0x1f
	if at == 2 {
		pairs = octets[1]
	}
	out := append([]byte{0xb8, pairs + 1, 0, version}, octets[at+2:]...) // one pair more
	return append(out, 0x18, 99, 0x63, 'n', 'e', 'w')
}

// An upgrade and a rollback keep sessions, and what a pod cannot read it names, leaves alone, and goes on without.
func TestRecordsOfOthers(t *testing.T) {
	r := newRig(t)
	first, end := r.start("pod-1")
	other, err := sessionstore.NewSealer(map[uint32][]byte{2: bytes.Repeat([]byte{2}, sessionstore.KeySize)})
	if err != nil {
		t.Fatal(err)
	}
	type session struct {
		name   string
		change func(key string, octets []byte) []byte // nil: as it was
		read   bool
		// says is what the log has of it.
		says string
		ref  string
		key  string
	}
	sessions := []*session{
		{name: "as it was", read: true},
		{name: "of the next version", read: true, change: func(key string, b []byte) []byte { return r.sealer.Seal(key, r.versioned(b, record.Version+1)) }},
		{name: "of a version behind that", change: func(key string, b []byte) []byte { return r.sealer.Seal(key, r.versioned(b, record.Version+2)) }, says: "version"},
		{name: "damaged below its seal", change: func(key string, b []byte) []byte { return r.sealer.Seal(key, b[:len(b)/2]) }, says: "cannot be read"},
		{name: "damaged in the store", change: func(key string, b []byte) []byte {
			sealed := r.sealer.Seal(key, b)
			sealed[len(sealed)/2] ^= 1
			return sealed
		}, says: "seal"},
		{name: "of another's place", change: func(_ string, b []byte) []byte { return r.sealer.Seal("pdu-session/imsi-1/1", b) }, says: "seal"},
		{name: "sealed with a key that is not here", change: func(key string, b []byte) []byte { return other.Seal(key, b) }, says: "key 2"},
		{name: "empty", change: func(string, []byte) []byte { return []byte{} }, says: "seal"},
	}
	for n, s := range sessions {
		supi := fmt.Sprintf("imsi-20893000000000%d", n+1)
		s.ref, s.key = r.create(first, supi, n1.IPv4), record.Key(supi, 1)
		r.amf.next(t)
		r.tunnel(first, s.ref, uint32(0x100+n))
	}
	end()
	before := map[string]sessionstore.Record{}
	for _, s := range sessions {
		if s.change != nil {
			r.rewrite(s.key, func(b []byte) []byte { return s.change(s.key, b) })
		}
		if before[s.key], err = r.store.Read(t.Context(), s.key); err != nil {
			t.Fatal(err)
		}
	}

	var log said
	second, _ := r.start("pod-2", func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	for _, s := range sessions { // the first of them waits until the pod holds the shard
		t.Run(s.name, func(t *testing.T) {
			idle := func(ctx context.Context) (*nsmf.Updated, error) {
				return second.Requests("smf-1").Update(ctx, s.ref, &nsmf.Update{UpCnxState: nsmf.Deactivated})
			}
			if s.read {
				if u := again(t, idle); u.UpCnxState != nsmf.Deactivated {
					t.Errorf("the connection is %q", u.UpCnxState)
				}
				found, err := r.store.Read(t.Context(), s.key)
				if err != nil {
					t.Fatal(err)
				}
				octets, err := r.sealer.Open(s.key, found.Value)
				if err != nil {
					t.Fatal(err)
				}
				rec, err := record.Decode(octets)
				if err != nil || rec.Phase != record.Idle || !rec.IPv4.IsValid() || rec.Uplink.TEID == 0 || len(rec.Flows) != 1 {
					t.Errorf("it is written back as %+v, %v", rec, err)
				}
				return
			}
			_, err := idle(t.Context())
			refused := (*nsmf.Refused)(nil)
			// Not found would have the AMF forget it.
			if err == nil || errors.As(err, &refused) && refused.Cause == nsmf.ContextNotFound {
				t.Errorf("the AMF hears %v", err)
			}
			var named bool
			for line := range strings.Lines(log.String()) {
				named = named || strings.Contains(line, "key="+s.key) && strings.Contains(line, s.says)
			}
			if !named {
				t.Errorf("no line names %s, and %q; the pod has said\n%s", s.key, s.says, log.String())
			}
			after, err := r.store.Read(t.Context(), s.key)
			if err != nil || after.Revision != before[s.key].Revision || !bytes.Equal(after.Value, before[s.key].Value) {
				t.Errorf("it was touched: %v", err)
			}
		})
	}
	if n := len(r.upfu.Sessions()); n != len(sessions) {
		t.Errorf("%d sessions are in upf-u, want all %d", n, len(sessions))
	}
}
