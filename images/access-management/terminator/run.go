package terminator

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"core5g.dev/core5g/images/access-management/link"
	"core5g.dev/core5g/images/access-management/n2"
	"github.com/free5gc/sctp"
	"github.com/prometheus/client_golang/prometheus"
)

// Server has the sockets of a Terminator.
type Server struct {
	// N2 is where gNBs come, Workers where AMF workers do: with TLS of both sides, where the core has that.
	N2      *sctp.SCTPListener
	Workers net.Listener
	Config  Config // World and Count are the server's own
	Log     *slog.Logger
	Metrics prometheus.Registerer
	// Linger is how long, at its end, it goes on with associations that there are, and takes no new ones: gNBs that are told that it goes let go of them before.
	Linger time.Duration

	beat atomic.Pointer[time.Time] // when Tick was done last; nil: it is not at work
}

// acceptWait is how long a call for the next association lasts, acceptPause how long one waits where there is no room, tickEvery how often Tick is called, aliveTime how long it may take.
const (
	acceptWait  = 1000 // ms
	acceptPause = 100 * time.Millisecond
	tickEvery   = 500 * time.Millisecond
	aliveTime   = 3 * time.Second
)

// run is a Server at work. What the Terminator is told is told under mu.
type run struct {
	*Server
	mu           sync.Mutex
	t            *Terminator
	associations map[uint64]*n2Conn
	workers      map[uint64]*link.Conn
	last         uint64 // number that was given last, to an association or a worker
	leaving      bool   // gNBs that come now are not served any more
	ending       bool   // nobody is
	running      sync.WaitGroup
}

// n2Conn is an association. Its reader waits while it is paused; what is sent goes through out, so that nobody waits for a gNB that takes nothing.
type n2Conn struct {
	conn   conn
	out    chan outgoing
	mu     sync.Mutex
	paused bool
	goOn   *sync.Cond
}

// conn is an association's socket, a *sctp.SCTPConn.
type conn interface {
	SCTPRead([]byte) (int, *sctp.SndRcvInfo, sctp.Notification, error)
	SCTPWrite([]byte, *sctp.SndRcvInfo) (int, error)
	Close() error
}

type outgoing struct {
	stream  uint16
	message []byte
}

// mostOutgoing messages wait for the SCTP of one association.
const mostOutgoing = 1024

// Run serves until the context ends, and for as long as it lingers then; then it shuts all associations down, so that gNBs hear of it.
func (s *Server) Run(ctx context.Context) error {
	r := &run{Server: s, associations: map[uint64]*n2Conn{}, workers: map[uint64]*link.Conn{}}
	r.Config.World = (*world)(r)
	counts := newCounts()
	r.Config.Count = counts.count
	r.t = New(r.Config)
	counts.snapshot = r.snapshot
	if err := s.Metrics.Register(counts); err != nil {
		return err
	}
	defer s.Metrics.Unregister(counts)
	failed := make(chan error, 2)
	r.running.Go(func() { failed <- r.acceptN2() })
	r.running.Go(func() { failed <- r.acceptWorkers() })
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	over := ctx.Done()
	var last time.Time // of those that linger
	for {
		now := time.Now()
		s.beat.Store(&now)
		if over == nil && (!now.Before(last) || r.alone()) {
			s.beat.Store(nil) // gNBs take their time
			r.end()
			return nil
		}
		select {
		case <-over:
			over, last = nil, now.Add(s.Linger)
			r.do(func() { r.leaving = true })
		case err := <-failed:
			s.beat.Store(nil)
			r.end()
			return err
		case <-tick.C:
			r.do(r.t.Tick)
		}
	}
}

// Alive says that the server is stuck: it does not come to what gNBs and workers say. It may be called from anywhere.
func (s *Server) Alive() error {
	if at := s.beat.Load(); at != nil && time.Since(*at) > tickEvery+aliveTime {
		return fmt.Errorf("nothing was done since %s", at.UTC().Format(time.RFC3339))
	}
	return nil
}

func (r *run) do(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

// alone: there are no associations, nor will there be any.
func (r *run) alone() (yes bool) {
	r.do(func() { yes = len(r.associations) == 0 })
	return yes
}

func (r *run) end() {
	_, _ = r.N2.Close(), r.Workers.Close()
	r.do(func() {
		r.ending = true
		for _, a := range r.associations {
			r.running.Go(a.shut)
		}
		for _, w := range r.workers {
			w.Close()
		}
	})
	r.running.Wait()
}

// number for an association or a worker's connection. r.mu is held.
func (r *run) number() uint64 {
	r.last++
	return r.last
}

// ---- gNBs --------------------------------------------------------------------------------------

func (r *run) acceptN2() error {
	full := false
	for {
		conn, err := r.N2.AcceptSCTP(acceptWait)
		switch {
		case err == nil:
			full = false
			r.running.Go(func() { r.serveN2(conn) })
		case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EINTR), errors.Is(err, syscall.ETIMEDOUT):
		case r.N2.IsStopped():
			return nil
		case exhausted(err):
			r.acceptLater(&full, "gNBs", err)
		default:
			return fmt.Errorf("N2: %w", err)
		}
	}
}

// exhausted says that there is no room for another connection for the moment: those that there are go on.
func exhausted(err error) bool {
	return slices.ContainsFunc([]error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED}, func(e error) bool { return errors.Is(err, e) })
}

// acceptLater says so once, and waits for room.
func (r *run) acceptLater(full *bool, whom string, err error) {
	if !*full {
		r.Log.Error("no room for a connection: it waits", "of", whom, "error", err)
	}
	*full = true
	time.Sleep(acceptPause)
}

func (r *run) serveN2(conn *sctp.SCTPConn) {
	a := &n2Conn{conn: conn, out: make(chan outgoing, mostOutgoing)}
	a.goOn = sync.NewCond(&a.mu)
	streams, err := conn.OutboundStreams()
	if err = errors.Join(err, conn.SubscribeEvents(sctp.SCTP_EVENT_DATA_IO|sctp.SCTP_EVENT_SHUTDOWN|sctp.SCTP_EVENT_ASSOCIATION)); err != nil {
		r.Log.Warn("an association is of no use", "error", err)
		_ = conn.Abort()
		return
	}
	peer, here := fmt.Sprint(conn.RemoteAddr()), fmt.Sprint(conn.LocalAddr())
	var id uint64
	r.do(func() {
		if r.ending || r.leaving {
			return
		}
		id = r.number()
		r.associations[id] = a
		r.t.Opened(id, streams, peer, here)
	})
	if id == 0 {
		_ = conn.Close()
		return
	}
	r.Log.Info("a gNB has connected", "association", id, "peer", peer, "streams", streams)
	var writer sync.WaitGroup
	writer.Go(a.write)
	why := r.readN2(id, a)
	r.do(func() {
		delete(r.associations, id)
		close(a.out) // nobody finds it any more to send by
		r.t.Ended(id, why.Error())
	})
	_ = conn.Close()
	writer.Wait()
	r.Log.Info("a gNB's association has ended", "association", id, "peer", peer, "reason", why)
}

// ngapPPID is the payload protocol identifier of NGAP (TS 38.412 7), 60, in network byte order as it lies in memory.
var ngapPPID = binary.NativeEndian.Uint32([]byte{0, 0, 0, 60})

func (r *run) readN2(id uint64, a *n2Conn) error {
	b := make([]byte, n2.MaxOctets)
	for {
		a.wait()
		n, info, notification, err := a.conn.SCTPRead(b)
		switch {
		case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EBADF):
			return errors.New("it was shut down here")
		case errors.Is(err, io.EOF):
			return errors.New("the gNB has ended it, or is not heard any more")
		case err != nil:
			return err
		case notification != nil:
			if notification.Type() == sctp.SCTP_SHUTDOWN_EVENT {
				return errors.New("the gNB shuts it down")
			}
			continue
		case n == 0 || info != nil && info.PPID != ngapPPID:
			continue // TS 38.412 7: nothing else is NGAP
		}
		message := append([]byte(nil), b[:n]...)
		r.do(func() { r.t.Received(id, message) })
	}
}

// write what is to be sent. A message that SCTP does not take ends the association: its UE would wait for it in vain.
func (a *n2Conn) write() {
	broken := false
	for o := range a.out {
		if broken {
			continue
		}
		if _, err := a.conn.SCTPWrite(o.message, &sctp.SndRcvInfo{Stream: o.stream, PPID: ngapPPID}); err != nil {
			broken = true
			a.shut()
		}
	}
}

// wait until the association is to be read.
func (a *n2Conn) wait() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.paused {
		a.goOn.Wait()
	}
}

func (a *n2Conn) pause(paused bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.paused = paused
	a.goOn.Broadcast()
}

// shut an association down. It takes as long as the gNB does, and up to a second where that answers nothing.
func (a *n2Conn) shut() {
	_ = a.conn.Close()
	a.pause(false)
}

// ---- workers -----------------------------------------------------------------------------------

func (r *run) acceptWorkers() error {
	full := false
	for {
		conn, err := r.Workers.Accept()
		switch {
		case err == nil:
			full = false
			r.running.Go(func() { r.serveWorker(conn) })
		case errors.Is(err, net.ErrClosed):
			return nil
		case exhausted(err):
			r.acceptLater(&full, "workers", err)
		default:
			return fmt.Errorf("workers: %w", err)
		}
	}
}

func (r *run) serveWorker(conn net.Conn) {
	c := link.NewConn(conn)
	var id uint64
	r.do(func() {
		if r.ending {
			return
		}
		id = r.number()
		r.workers[id] = c
		r.t.WorkerCame(id)
	})
	if id == 0 {
		c.Close()
		return
	}
	why := c.Run(func(f link.Frame) error {
		r.do(func() { r.t.Took(id, f) })
		return nil
	})
	var name string
	r.do(func() {
		name = r.t.Name(id)
		delete(r.workers, id)
		r.t.WorkerGone(id)
	})
	r.Log.Info("a worker's connection has ended", "worker", name, "peer", conn.RemoteAddr().String(), "reason", why)
}

// ---- the Terminator's World ---------------------------------------------------------------------

// world is called by the Terminator, under mu.
type world run

func (w *world) Transmit(association uint64, stream uint16, message []byte) error {
	a := w.associations[association]
	if a == nil {
		return errors.New("the association has ended")
	}
	select {
	case a.out <- outgoing{stream, message}:
		return nil
	default:
		return errors.New("the gNB takes nothing: too many messages wait for it")
	}
}

func (w *world) Shut(association uint64) {
	if a := w.associations[association]; a != nil {
		w.running.Go(a.shut)
	}
}

func (w *world) Pause(association uint64, paused bool) {
	if a := w.associations[association]; a != nil {
		a.pause(paused)
	}
}

// Tell: a connection that takes nothing ends by itself.
func (w *world) Tell(worker uint64, f link.Frame) {
	if c := w.workers[worker]; c != nil {
		_ = c.Post(f)
	}
}

func (w *world) Drop(worker uint64, why string) {
	w.Log.Warn("a worker is turned away", "reason", why)
	if c := w.workers[worker]; c != nil {
		c.Close()
	}
}

func (w *world) Now() time.Time { return time.Now() }
