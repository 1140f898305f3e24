package standby

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"core5g.dev/core5g/upf/upfc/agent/store"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/fencing"
	"core5g.dev/core5g/upf/upfc/usage"
)

// Holder is a life that may take a unit over.
type Holder struct {
	opt  Options
	life string
	rate dataplane.Rate
	poke chan struct{}
	// changed has a value when there is something in changes.
	changed chan struct{}

	mu      sync.Mutex
	fence   *fencing.Standby
	held    *held
	changes map[uint32]struct{} // sessions of held, by index, of which nobody has asked; nil: nobody asks
	stream  net.Conn            // the one that is followed
	lines   map[line]bool       // whether it has ended
	trusted line                // whose end means that both processes of the life are gone
	epoch   uint64
	ready   bool // upf-u is there
	// Of a life that has yielded:
	yielded net.Conn      // its stream
	over    chan struct{} // closed when that has ended
	left    map[uint8]map[uint32]dataplane.SlotCount
	end     func() // ends all that Hold has left
}

// line is one of a life's lines.
type line struct {
	life   string
	number uint64
}

// NewHolder is a life that has nothing yet.
func NewHolder(opt Options, life string) *Holder {
	return &Holder{
		opt: opt, life: life, lines: map[line]bool{}, changed: make(chan struct{}, 1), rate: dataplane.StartRate(), poke: make(chan struct{}, 1),
		fence: fencing.NewStandby(opt.Terms, life),
	}
}

// ErrFree: the unit is nobody's any more, and whoever comes first may have it.
var ErrFree = errors.New("no member serves the unit")

// Hold holds what units send to l, until this life has taken the unit over: then that is what fencing has to say of it. nil when ctx has
// ended, with its error, and when the unit is free (ErrFree). Leave is to be called then, and Served when this life serves.
func (h *Holder) Hold(ctx context.Context, l net.Listener) (*fencing.Unit, error) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	end := func() {
		cancel()
		_ = l.Close()
		work.Wait()
	}
	yielded := false
	defer func() {
		if !yielded {
			end()
		}
	}()
	work.Go(func() {
		for ctx.Err() == nil {
			c, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() {
				stop := context.AfterFunc(ctx, func() { _ = c.Close() })
				defer stop()
				defer func() { _ = c.Close() }()
				if err := h.serve(ctx, tls.Server(c, h.opt.TLS)); err != nil && ctx.Err() == nil {
					h.opt.Log.Warn("a unit's connection has ended", "from", c.RemoteAddr(), "err", err)
				}
			})
		}
	})
	t := time.NewTicker(h.opt.Terms.Beat)
	defer t.Stop()
	for {
		h.mu.Lock()
		asks := h.fence.Tick(Boottime())
		taken, free := h.fence.Taken(), h.fence.Free()
		h.mu.Unlock()
		if free {
			return nil, ErrFree
		}
		if taken != nil {
			h.mu.Lock()
			defer h.mu.Unlock()
			if h.held == nil {
				return nil, errors.New("the unit is taken over, and nothing is held of it")
			}
			if h.yielded != nil {
				yielded = true
				_ = l.Close()
				h.end = end
			}
			h.opt.Log.Info("the unit is taken over", "life", h.life, "sessions", len(h.held.estate.Entries), "waiting", len(h.changes))
			return taken, nil
		}
		if asks.Read {
			go h.read(ctx)
		}
		if asks.Write != nil {
			h.opt.Log.Info("the unit is asked for", "epoch", asks.Write.Epoch, "life", h.life)
			go h.write(ctx, *asks.Write)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-t.C:
		case <-h.poke:
		}
	}
}

// Leave writes to path what a upf-c of the unit would have left that was taken over.
func (h *Holder) Leave(path string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	began := time.Now()
	if err := h.held.leave(path, h.rate.Hz(), began); err != nil {
		return err
	}
	if h.yielded != nil {
		h.left = h.held.counted()
	}
	h.opt.Log.Info("what was held of the unit is written", "sessions", len(h.held.estate.Entries), "took", time.Since(began))
	return nil
}

// Anew has Changes begin with all that is held.
func (h *Holder) Anew() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changes = map[uint32]struct{}{}
	h.changedAll(h.held)
}

// Changes are the sessions that have changed since they were asked for, so many at most (without a blob: there is none any more), and META as it
// is. What they refer to never changes. There are none before Anew.
func (h *Holder) Changes(most int) (sessions []store.Entry, meta []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held == nil {
		return nil, nil
	}
	for index := range h.changes {
		if len(sessions) == most {
			break
		}
		e := h.held.estate.Entries[index] // zero: it is gone
		e.Index = index
		sessions = append(sessions, e)
		delete(h.changes, index)
	}
	return sessions, h.held.estate.Meta
}

// Changed has a value when there may be Changes.
func (h *Holder) Changed() <-chan struct{} { return h.changed }

// Counted is what a slot of the unit's upf-u said last.
func (h *Holder) Counted(life uint8, slot uint32) usage.Counts {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held == nil || h.held.memories[life] == nil {
		return usage.Counts{}
	}
	return usage.FromSlot(h.held.memories[life].counts[slot].Dir)
}

// changedAll notes all sessions of what is held.
func (h *Holder) changedAll(of *held) {
	if of == nil || h.changes == nil {
		return
	}
	for index := range of.estate.Entries {
		h.changes[index] = struct{}{}
	}
	h.tell()
}

// tell says that there may be Changes.
func (h *Holder) tell() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// SetReady says whether this life could serve at once, for its upf-u is there. Nobody is followed while it could not.
func (h *Holder) SetReady(ready bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ready = ready
	if !ready && h.stream != nil {
		_ = h.stream.Close()
		h.stream = nil
	}
}

func (h *Holder) nudge() {
	select {
	case h.poke <- struct{}{}:
	default:
	}
}

func (h *Holder) read(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	seen, err := h.opt.Arbiter.Read(ctx)
	h.mu.Lock()
	h.fence.Read(Boottime(), seen, err == nil)
	h.mu.Unlock()
	h.nudge()
}

func (h *Holder) write(ctx context.Context, w fencing.Write) {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	outcome, version, err := h.opt.Arbiter.Write(ctx, w)
	if err != nil {
		h.opt.Log.Warn("nobody knows whether the unit is taken over", "err", err)
	}
	h.mu.Lock()
	h.fence.Written(Boottime(), outcome, version)
	h.mu.Unlock()
	h.nudge()
}

// serve hears one connection to its end.
func (h *Holder) serve(ctx context.Context, conn *tls.Conn) error {
	_ = conn.SetDeadline(time.Now().Add(silence))
	if err := conn.HandshakeContext(ctx); err != nil {
		return err
	}
	in := &frames{r: bufio.NewReaderSize(conn, 256<<10)}
	hello, err := in.next()
	if err != nil {
		return err
	}
	if err := hello.accepts(h.opt.Name); err != nil {
		_, _ = conn.Write((&Frame{kind: kindRefused, Text: err.Error()}).Append(nil))
		return err
	}
	welcome := (&Frame{kind: kindWelcome, Version: hello.Version, Life: h.life}).Append(nil)
	if hello.Line != 0 {
		return h.hold(conn, hello, welcome)
	}
	h.mu.Lock()
	switch {
	case !h.ready:
		err = errors.New("this standby has no upf-u now")
	case hello.Epoch < h.epoch:
		err = fmt.Errorf("a unit of epoch %d, while one of epoch %d is followed", hello.Epoch, h.epoch)
	case !h.fence.Follow(Boottime(), hello.Life):
		err = errors.New("this standby asks for the unit itself")
	default:
		if h.stream != nil {
			_ = h.stream.Close()
		}
		h.stream, h.epoch = conn, hello.Epoch
	}
	h.mu.Unlock()
	if err != nil {
		_, _ = conn.Write((&Frame{kind: kindRefused, Text: err.Error()}).Append(nil))
		return err
	}
	if _, err := conn.Write(welcome); err != nil {
		return err
	}
	return h.follow(conn, in, hello)
}

// hold waits for the end of a line.
func (h *Holder) hold(conn *tls.Conn, hello *Frame, welcome []byte) error {
	_ = conn.SetDeadline(time.Time{})
	l := line{hello.Life, hello.Line}
	h.mu.Lock()
	h.lines[l] = false
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		if l != h.trusted || !h.lines[l] {
			delete(h.lines, l)
		}
		h.mu.Unlock()
	}()
	if _, err := conn.Write(welcome); err != nil {
		return err
	}
	n, err := conn.Read(make([]byte, 1))
	h.mu.Lock()
	if n == 0 && errors.Is(err, io.EOF) {
		h.lines[l] = true
		h.lookAtLine()
	}
	h.mu.Unlock()
	h.nudge()
	if err == nil || !errors.Is(err, io.EOF) {
		return fmt.Errorf("the line: %w", err)
	}
	return nil
}

// lookAtLine tells fencing when the line has ended that upf-u held, too.
func (h *Holder) lookAtLine() {
	if h.lines[h.trusted] {
		h.opt.Log.Info("both processes of the unit are gone", "life", h.trusted.life)
		h.fence.Ended(h.trusted.life)
	}
}

// Served says to a unit that has yielded that this life serves, and returns what was counted there since it was taken over: the unit forwards
// until nothing comes there any more. It returns when that unit has ended, or ctx has; at once when none has yielded.
func (h *Holder) Served(ctx context.Context) []usage.Late {
	h.mu.Lock()
	conn, over, end := h.yielded, h.over, h.end
	h.mu.Unlock()
	if end == nil {
		return nil
	}
	_ = conn.SetWriteDeadline(time.Now().Add(silence))
	if _, err := conn.Write((&Frame{kind: kindServing}).Append(nil)); err != nil {
		h.opt.Log.Warn("the unit that has yielded does not hear that it is served here", "err", err)
	}
	select {
	case <-over:
	case <-ctx.Done():
	}
	end()
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.held.late(h.left)
}

// follow takes what a unit sends.
func (h *Holder) follow(conn *tls.Conn, in *frames, hello *Frame) error {
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.yielded == conn {
			close(h.over)
		}
	}()
	coming := newHeld(hello.Sessions)
	buffered := in.r.(*bufio.Reader)
	var acked uint64
	var answer []byte
	for {
		_ = conn.SetReadDeadline(time.Now().Add(silence))
		f, err := in.next()
		if err != nil {
			return err
		}
		h.mu.Lock()
		if h.stream != conn {
			h.mu.Unlock()
			return errors.New("another stream has come in its place")
		}
		if f.kind == kindLine {
			h.trusted = line{hello.Life, f.Number}
			h.lookAtLine()
		} else if f.kind == kindYield {
			h.opt.Log.Info("the unit has yielded", "life", hello.Life, "epoch", f.Epoch)
			h.fence.Yielded(Boottime(), hello.Life, fencing.Seen{
				Record:  fencing.Record{Epoch: f.Epoch, Holder: f.Life, Standby: f.Name, Renewed: f.Number},
				Version: fencing.Version(f.Text),
			})
			h.yielded, h.over = conn, make(chan struct{})
			h.nudge()
		} else if f.kind == kindBeat {
			if h.fence.Beat(Boottime(), hello.Life) {
				answer = (&Frame{kind: kindBeatHeard, Number: f.Number}).Append(answer)
			}
		} else if err = coming.take(f, time.Now()); err == nil && f.kind == kindWhole {
			h.changedAll(h.held)
			h.held = coming
			h.changedAll(h.held)
			h.fence.Whole()
			h.opt.Log.Info("the unit's sessions are held", "unit", hello.Life, "sessions", len(coming.estate.Entries))
		}
		if h.changes != nil && coming == h.held {
			if f.kind == kindSession {
				h.changes[f.Index] = struct{}{}
			}
			if f.kind == kindSession || f.kind == kindMeta {
				h.tell()
			}
		}
		h.mu.Unlock()
		if err != nil {
			return err
		}
		if coming.whole && (coming.through > acked || f.kind == kindWhole) && buffered.Buffered() == 0 {
			acked = coming.through
			answer = (&Frame{kind: kindAcknowledged, Number: acked}).Append(answer)
		}
		if len(answer) > 0 && buffered.Buffered() == 0 {
			_ = conn.SetWriteDeadline(time.Now().Add(silence))
			if _, err := conn.Write(answer); err != nil {
				return err
			}
			answer = answer[:0]
		}
	}
}

// Held is whose sessions are held, how many, and whether they are all of them.
func (h *Holder) Held() (unit string, sessions int, whole bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	unit, whole, _ = h.fence.State()
	if h.held != nil {
		sessions = len(h.held.estate.Entries)
	}
	return unit, sessions, whole
}
