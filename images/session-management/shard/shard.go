package shard

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"sync"
	"sync/atomic"

	"core5g.dev/core5g/images/nf/loop"
	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/pfcp"
	"core5g.dev/core5g/images/session-management/runner"
)

// Shard is one that this pod holds, from the lease that it got to the lease's end. Its fields but closed are the loop's.
type Shard struct {
	Identity
	pod    *Pod
	log    *slog.Logger
	lease  sessionstore.Lease
	loop   *loop.Loop
	runner *runner.Runner
	socket *pfcp.Socket
	cancel context.CancelFunc
	ctx    context.Context
	closed atomic.Bool
	ended  sync.WaitGroup
	live   map[string]configuration.Live
	// added are units that the endpoint knows, and where; early, what is for units that it will know in a moment; met, what became of them.
	added map[string]pfcp.Unit
	met   map[string]meeting
	early map[string][]func()
	// before is what others have asked for before the shard serves.
	before []func()
	// links and counted are what the metrics say of the shard.
	links   map[unitOf]bool
	counted map[string]bool
	// watches are the sessions' subscriptions at the UDM, by CP SEID.
	watches map[uint64]*watch
}

// open a shard. It serves when the store has told its Recovery Time Stamp: the caller renews leases and must not wait.
func (p *Pod) open(id Identity, l sessionstore.Lease) *Shard {
	s := &Shard{
		Identity: id, pod: p, lease: l, log: p.Log.With("shard", id.Name), live: map[string]configuration.Live{},
		added: map[string]pfcp.Unit{}, met: map[string]meeting{}, early: map[string][]func(){}, watches: map[uint64]*watch{},
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.loop = loop.New()
	s.runner = runner.New(runner.Config{World: s, Log: s.log, Shard: id.Number, Shards: p.shardNumbers(), Lease: l, Sealer: p.Sealer, Writer: random(), CommandTime: p.CommandTime})
	s.ended.Add(1)
	go func() {
		defer s.ended.Done()
		s.serve()
	}()
	return s
}

func (p *Pod) shardNumbers() (out []uint16) {
	for _, id := range p.Shards {
		out = append(out, id.Number)
	}
	return out
}

// serve until the shard is closed, trying again what does not succeed.
func (s *Shard) serve() {
	for s.ctx.Err() == nil {
		socket, err := s.listen()
		if err == nil {
			s.loop.Post(func() {
				s.socket = socket
				s.runner.Start()
				s.observe(runner.Counts{})
				s.count()
				s.units(s.Configuration())
				for _, f := range s.before {
					f()
				}
				s.before = nil
			})
			if s.pod.Register != nil {
				go s.pod.Register(s.ctx, s.Identity)
			}
			_ = socket.Run(s.ctx) // ends with the context only
			return
		}
		s.log.Error("a shard cannot be served", "err", err)
		sleep(s.ctx, retry)
	}
}

// mostBefore requests wait for a shard that does not serve yet.
const mostBefore = 4096

// ask has what others ask for done once the shard serves: it is held from the moment of its lease on, and the store tells what it needs a little
// later. refuse is called where too many wait already. False: it is held no more.
func (s *Shard) ask(f, refuse func()) bool {
	return s.loop.Post(func() {
		switch {
		case s.socket != nil:
			f()
		case len(s.before) < mostBefore:
			s.before = append(s.before, f)
		default:
			refuse()
		}
	})
}

func (s *Shard) listen() (*pfcp.Socket, error) {
	stamp, err := s.stamp()
	if err != nil {
		return nil, err
	}
	c := s.pod.N4
	c.Node, c.Recovery, c.Random, c.May, c.Handle = s.NodeID, stamp, mathrand.New(mathrand.NewPCG(random(), random())), s.May, s.fromUnit
	c.Metrics, c.Log, c.Association, c.Watch = s.pod.n4, s.log, s.restoring, s.traceN4
	if s.Address.Is4() {
		c.IPv4 = s.Address
	} else {
		c.IPv6 = s.Address
	}
	socket, err := pfcp.Listen(s.N4, c)
	if err != nil {
		return nil, fmt.Errorf("N4: %w", err)
	}
	return socket, nil
}

// close: nothing leaves for the shard any more.
func (s *Shard) close() {
	s.closed.Store(true)
	s.cancel()
	s.loop.Post(s.runner.Stop)
	s.loop.End()
	s.ended.Wait() // the socket is closed: another may bind its port
	s.pod.measures.gaveUp(s.Name)
}

// May implements runner.World.
func (s *Shard) May() bool {
	if s.closed.Load() {
		return false
	}
	l, ok := s.pod.keeper.Lease(s.Name)
	return ok && l.Epoch == s.lease.Epoch
}

// Stopped implements runner.World.
func (s *Shard) Stopped(why error) {
	s.log.Warn("the shard is lost", "err", why)
	s.closed.Store(true)
	s.pod.keeper.Fenced(s.lease) // whatever the keeper thinks of it: a runner that has stopped does not begin again
}

func random() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:])
}

// keyRecovery is where the Recovery Time Stamp of all shards is, which no pod's death changes (TS 23.527 4.4).
const keyRecovery = "session-management/recovery"

// stamp of all shards: who is first makes it.
func (s *Shard) stamp() (pfcp.Stamp, error) {
	for {
		found, err := s.pod.Store.Read(s.ctx, keyRecovery)
		if err == nil {
			b, err := s.pod.Sealer.Open(keyRecovery, found.Value)
			if err != nil || len(b) != 4 {
				return 0, fmt.Errorf("the recovery time stamp in the store cannot be read: %w", err)
			}
			return pfcp.Stamp(binary.BigEndian.Uint32(b)), nil
		}
		if !errors.Is(err, sessionstore.ErrNotFound) {
			return 0, fmt.Errorf("the recovery time stamp: %w", err)
		}
		value := binary.BigEndian.AppendUint32(nil, uint32(pfcp.StampOf(s.Now())))
		err = s.pod.Store.Commit(s.ctx, s.lease, sessionstore.Change{
			Key: keyRecovery, Is: sessionstore.Revision{Writer: random(), Count: 1}, Value: s.pod.Sealer.Seal(keyRecovery, value),
		})
		if err != nil && !errors.Is(err, sessionstore.ErrConflict) {
			return 0, fmt.Errorf("the recovery time stamp: %w", err)
		}
	}
}

// serving is the shard's socket; nil: it does not serve yet, or is held no more.
func (s *Shard) serving(ctx context.Context) *pfcp.Socket {
	told := make(chan *pfcp.Socket, 1)
	if !s.loop.Post(func() { told <- s.socket }) {
		return nil
	}
	select {
	case socket := <-told:
		return socket
	case <-s.ctx.Done():
	case <-ctx.Done():
	}
	return nil
}

// configured: another configuration holds.
func (s *Shard) configured(now *configuration.Snapshot) {
	s.loop.Post(func() {
		if s.socket == nil {
			return // it begins with what holds then
		}
		s.units(now)
		s.runner.Configured()
	})
}
