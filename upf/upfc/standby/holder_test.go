package standby

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/upf/upfc/fencing"
	"core5g.dev/core5g/upf/upfc/standby/standbytest"
	"core5g.dev/core5g/upf/upfc/state"
)

// house is a standby, and what a unit needs to speak with it.
type house struct {
	t      *testing.T
	holder *Holder
	addr   string
	tls    *tls.Config
	record *Memory
}

// limit is far above what anything takes here: only a failure waits for its end.
const limit = time.Minute

// slow are terms under which no silence lasts long enough.
func slow() fencing.Terms {
	t := fencing.DefaultTerms()
	t.Beat, t.Read = 10*time.Millisecond, 10*time.Millisecond
	return t
}

// door is where a standby listens, and what both sides show there.
func door(t *testing.T) (net.Listener, *tls.Config) {
	t.Helper()
	cert, key, authority := standbytest.Certificates(t, "upf.test")
	creds, err := Credentials("upf.test", cert, key, authority)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l, creds
}

func newHouse(t *testing.T) *house {
	t.Helper()
	l, creds := door(t)
	h := &house{t: t, addr: l.Addr().String(), tls: creds, record: &Memory{}}
	h.holder = NewHolder(Options{Name: "upf", TLS: creds, Terms: slow(), Arbiter: h.record, Log: slog.New(slog.DiscardHandler)}, "b/1")
	h.holder.SetReady(true)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = h.holder.Hold(ctx, l)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return h
}

func (h *house) await(what string, cond func() bool) {
	h.t.Helper()
	for end := time.Now().Add(limit); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			h.t.Fatalf("in vain: %s", what)
		}
	}
}

func hello(life string) *Frame {
	return &Frame{kind: kindHello, Version: Version, Blobs: state.Version, Name: "upf", Life: life, Epoch: 1, Sessions: 10}
}

// dial says hello, and returns what the standby answers.
func (h *house) dial(with *tls.Config, f *Frame) (raw net.Conn, conn *tls.Conn, answer *Frame, err error) {
	h.t.Helper()
	raw, err = net.Dial("tcp", h.addr)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = raw.Close() })
	conn = tls.Client(raw, with)
	_ = conn.SetDeadline(time.Now().Add(limit))
	if _, err = conn.Write(f.Append(nil)); err == nil {
		answer, err = (&frames{r: conn}).next()
	}
	return raw, conn, answer, err
}

func (h *house) ended() bool {
	h.holder.mu.Lock()
	defer h.holder.mu.Unlock()
	_, _, ended := h.holder.fence.State()
	return ended
}

func TestWhoIsRefused(t *testing.T) {
	h := newHouse(t)
	older := hello("a/0")
	older.Epoch = 0
	for name, tt := range map[string]struct {
		change func(*Frame)
		want   string
	}{
		"another version of the stream": {func(f *Frame) { f.Version++ }, "upgrade the standby first"},
		"blobs that cannot be read":     {func(f *Frame) { f.Blobs++ }, "upgrade the standby first"},
		"another unit":                  {func(f *Frame) { f.Name = "upf-9" }, `the unit is "upf-9"`},
		"no hello":                      {func(f *Frame) { f.kind = kindBeat }, "no hello"},
	} {
		f := hello("a/1")
		tt.change(f)
		_, _, answer, err := h.dial(h.tls, f)
		if err != nil || answer.kind != kindRefused || !strings.Contains(answer.Text, tt.want) {
			t.Errorf("%s: answered %+v, %v, want %q", name, answer, err, tt.want)
		}
	}
	if _, _, answer, err := h.dial(h.tls, hello("a/1")); err != nil || answer.kind != kindWelcome || answer.Life != "b/1" {
		t.Fatalf("answered %+v, %v, want a welcome", answer, err)
	}
	if _, _, answer, err := h.dial(h.tls, older); err != nil || answer.kind != kindRefused {
		t.Errorf("a unit of an older epoch: answered %+v, %v, want a refusal", answer, err)
	}

	h.holder.SetReady(false)
	if _, _, answer, err := h.dial(h.tls, hello("a/1")); err != nil || answer.kind != kindRefused || !strings.Contains(answer.Text, "no upf-u") {
		t.Errorf("a standby without upf-u: answered %+v, %v, want a refusal", answer, err)
	}
	h.holder.SetReady(true)

	stranger, key, authority := standbytest.Certificates(t, "upf.test") // of another authority
	other, err := Credentials("upf.test", stranger, key, authority)
	if err != nil {
		t.Fatal(err)
	}
	other.VerifyConnection = nil
	if _, _, answer, err := h.dial(other, hello("a/1")); err == nil {
		t.Errorf("a stranger's certificate: answered %+v", answer)
	}
	without := h.tls.Clone()
	without.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &tls.Certificate{}, nil }
	if _, _, answer, err := h.dial(without, hello("a/1")); err == nil {
		t.Errorf("no certificate: answered %+v", answer)
	}
}

// Only the orderly end of a line that upf-u holds, too, means that both processes are gone.
func TestLines(t *testing.T) {
	for name, tt := range map[string]struct {
		trusted bool
		life    string
		end     func(raw net.Conn)
		want    bool
	}{
		"an orderly end":                     {true, "a/1", func(c net.Conn) { _ = c.Close() }, true},
		"an end before upf-u holds the line": {false, "a/1", func(c net.Conn) { _ = c.Close() }, false},
		"a line of another life":             {true, "a/0", func(c net.Conn) { _ = c.Close() }, false},
		"a reset": {true, "a/1", func(c net.Conn) {
			_ = c.(*net.TCPConn).SetLinger(0)
			_ = c.Close()
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			_, stream, answer, err := h.dial(h.tls, hello("a/1"))
			if err != nil || answer.kind != kindWelcome {
				t.Fatalf("answered %+v, %v", answer, err)
			}
			line := hello(tt.life)
			line.Line = 7
			raw, conn, answer, err := h.dial(h.tls, line)
			if err != nil || answer.kind != kindWelcome {
				t.Fatalf("answered %+v, %v", answer, err)
			}
			say := func(f *Frame) {
				if _, err := stream.Write(f.Append(nil)); err != nil {
					t.Fatal(err)
				}
			}
			if tt.trusted {
				say(&Frame{kind: kindLine, Number: 7})
				h.await("the line is trusted", func() bool {
					h.holder.mu.Lock()
					defer h.holder.mu.Unlock()
					return h.holder.trusted.number == 7
				})
			}
			go func() { _, _ = io.Copy(io.Discard, conn) }()
			tt.end(raw)
			h.await("the line is gone", func() bool {
				h.holder.mu.Lock()
				defer h.holder.mu.Unlock()
				ended, known := h.holder.lines[line2(tt.life, 7)]
				return !known || ended
			})
			if got := h.ended(); got != tt.want {
				t.Errorf("the unit counts as gone: %t, want %t", got, tt.want)
			}
			if !tt.trusted { // and is not learnt of later
				say(&Frame{kind: kindLine, Number: 8})
				say(&Frame{kind: kindBeat, Number: 1})
				f, err := (&frames{r: stream}).next()
				if err != nil || f.kind != kindBeatHeard {
					t.Errorf("a beat is answered with %+v, %v", f, err)
				}
			}
		})
	}
}

func line2(life string, number uint64) line { return line{life, number} }

func TestStreamsThatMakeNoSense(t *testing.T) {
	session := func(number uint64, index uint32) *Frame {
		return &Frame{kind: kindSession, Number: number, Index: index, Memory: 1, Blob: []byte{1}}
	}
	whole := &Frame{kind: kindWhole, Number: 5}
	life := &Frame{kind: kindLife, Memory: 1, Boot: 7, Slots: 4}
	for name, tt := range map[string]struct {
		frames []*Frame
		want   bool
	}{
		"all in order":                         {[]*Frame{life, session(5, 1), whole, session(6, 1), {kind: kindMeta, Number: 7}}, true},
		"a change is missing":                  {[]*Frame{life, whole, session(7, 1)}, false},
		"a change comes twice":                 {[]*Frame{life, whole, session(6, 1), session(6, 1)}, false},
		"a session beyond what there may be":   {[]*Frame{life, session(5, 10)}, false},
		"a slot beyond what there is":          {[]*Frame{life, {kind: kindCounters, Memory: 1, Counts: []Count{{Slot: 4}}}}, false},
		"counters of a memory that is unknown": {[]*Frame{life, {kind: kindCounters, Memory: 9, Counts: []Count{{Slot: 4}}}}, true},
		"what only a standby says":             {[]*Frame{{kind: kindAcknowledged, Number: 1}}, false},
	} {
		h := newHeld(10)
		var err error
		for _, f := range tt.frames {
			if err = h.take(f, time.Now()); err != nil {
				break
			}
		}
		if (err == nil) != tt.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A standby that has nothing stands by no longer than somebody serves.
func TestAFreeUnitEndsStandingBy(t *testing.T) {
	l, creds := door(t)
	record := &Memory{}
	if _, version, err := record.Write(t.Context(), fencing.Write{Record: fencing.Record{Epoch: 7, Holder: "gone/1"}}); err != nil || version != "1" {
		t.Fatal(version, err)
	}
	h := NewHolder(Options{Name: "upf", TLS: creds, Terms: slow(), Arbiter: record, Log: slog.New(slog.DiscardHandler)}, "b/1")
	ended := make(chan error, 1)
	go func() {
		_, err := h.Hold(t.Context(), l)
		ended <- err
	}()
	select {
	case err := <-ended:
		t.Fatalf("it ends while another one serves: %v", err)
	case <-time.After(10 * slow().Read):
	}
	if _, _, err := record.Write(t.Context(), fencing.Write{Record: fencing.Record{Epoch: 7}, If: "1"}); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, ErrFree) {
		t.Errorf("it ends with %v, want %v", err, ErrFree)
	}
}
