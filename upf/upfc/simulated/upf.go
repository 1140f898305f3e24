// Package simulated is a UPF without sockets, threads and real time: upf-c's own code (package agent), and in the place
// of upf-u a stand-in in memory. Whoever has it hands it PFCP datagrams and the time, and is handed the datagrams that
// leave; either half dies when it is told to, at any transaction between the two. Two that are given the same seed and
// are asked the same do the same. It is for deterministic simulations of control planes; all methods are for one
// goroutine.
package simulated

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"time"

	"core5g.dev/core5g/upf/upfc/agent"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/dataplane/fakeupfu"
	"core5g.dev/core5g/upf/upfc/machine"
	"core5g.dev/core5g/upf/upfc/pfcp"
)

// Fate is what becomes of a transaction between upf-c and upf-u.
type Fate int

const (
	Done           Fate = iota // it happens, and upf-c is told
	UPFCDiesBefore             // upf-c dies, and it does not happen
	UPFCDiesAfter              // it happens, and upf-c dies without having been told
	UPFUDiesBefore             // upf-u dies, and it does not happen
	UPFUDiesAfter              // it happens, and upf-u dies before it says so
)

// Options of a UPF. Config, Start, Chance and Send have no default.
type Options struct {
	// Config is upf-c's: upf-c.yaml parsed. Its sockets are not opened. With State.File empty, both halves' death leaves
	// nothing; else the file is a real one.
	Config *config.Config
	// Start is the time at which it begins. Chance decides what is left to chance, in the order of threads as well.
	Start  time.Time
	Chance *rand.Rand
	// Send has a PFCP datagram leave. It must not call the UPF. b is the callee's.
	Send func(to netip.AddrPort, b []byte)
	// Fate is asked before each transaction between upf-c and upf-u; nil: all are Done.
	Fate func() Fate
	// Sessions that upf-u can hold (256), and its pairs of slots (1,024): each life of upf-u takes 300 octets a pair.
	Sessions, Pairs uint32
	// Networks are the network instances of upf-u's N6; nil: one for all.
	Networks []string
	// Of are they with what is beyond their names, NAT44 or a bridge; nil: Networks.
	Of []fakeupfu.Network
	// Log and Recorder are upf-c's; nil for none.
	Log      *slog.Logger
	Recorder agent.Recorder
}

// UPF is one unit. It begins with both halves alive.
type UPF struct {
	o    Options
	now  time.Time
	fate Fate // of the transaction under way
	upfu *fakeupfu.Memory
	upfc *upfc // nil while it is dead
}

// upfc is one life of upf-c.
type upfc struct {
	machine *machine.Virtual
	agent   *agent.Agent
	server  *pfcp.Server // nil until PFCP is served
	stop    context.CancelFunc
}

// New makes a UPF and starts both halves.
func New(o Options) *UPF {
	if o.Sessions == 0 {
		o.Sessions = 256
	}
	if o.Pairs == 0 {
		o.Pairs = 1024
	}
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError + 1}))
	}
	if o.Recorder == nil {
		o.Recorder = nobody{}
	}
	u := &UPF{o: o, now: o.Start}
	u.StartUPFU()
	u.StartUPFC()
	return u
}

// Receive hands over a PFCP datagram. What the UPF does at once for it has been done, and what it sends for it has been
// sent, when this returns. It is lost while upf-c is dead, or has not met upf-u yet.
func (u *UPF) Receive(from netip.AddrPort, b []byte) {
	if u.upfc == nil || u.upfc.server == nil {
		return
	}
	u.upfc.server.Receive(u.upfc.agent, from, b)
	u.settle()
}

// NextDeadline is when the UPF has something to do by itself: Tick is to be called then.
func (u *UPF) NextDeadline() (time.Time, bool) {
	if u.upfc == nil {
		return time.Time{}, false
	}
	return u.upfc.machine.NextDeadline()
}

// Tick lets the time become now.
func (u *UPF) Tick(now time.Time) {
	for u.upfc != nil {
		u.settle()
		next, ok := u.NextDeadline()
		if !ok || next.After(now) {
			break
		}
		u.now = later(u.now, next)
		u.upfc.machine.Tick(u.now)
		u.bury()
	}
	u.now = later(u.now, now)
	if u.upfc != nil {
		u.upfc.machine.Tick(u.now)
		u.bury()
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// settle lets upf-c do what it can do now.
func (u *UPF) settle() {
	if u.upfc != nil {
		u.upfc.machine.Run()
		u.bury()
	}
}

// bury notes that upf-c has died by Fate.
func (u *UPF) bury() {
	if u.upfc == nil || !u.upfc.machine.Dead() {
		return
	}
	u.upfc.stop()
	u.upfc = nil
	if u.upfu != nil {
		u.upfu.Disconnect()
	}
}

// StartUPFU starts upf-u, empty, unless it lives.
func (u *UPF) StartUPFU() {
	if u.upfu != nil {
		return
	}
	u.upfu = fakeupfu.InMemory(fakeupfu.Options{
		Sessions: u.o.Sessions, Pairs: u.o.Pairs, Networks: u.o.Networks, Of: u.o.Of, Boot: u.o.Chance.Uint64(), Now: func() time.Time { return u.now },
		Before: u.before, After: u.after,
	})
}

var errFate = errors.New("so it was decided")

// before and after have the fate of a transaction happen. They run on upf-c's thread.
func (u *UPF) before() error {
	if u.fate = Done; u.o.Fate != nil {
		u.fate = u.o.Fate()
	}
	switch u.fate {
	case UPFCDiesBefore:
		u.upfc.machine.Kill()
	case UPFUDiesBefore:
		u.killUPFU()
		return errFate
	}
	return nil
}

func (u *UPF) after() error {
	switch u.fate {
	case UPFCDiesAfter:
		u.upfc.machine.Kill()
	case UPFUDiesAfter:
		u.killUPFU()
		return errFate
	}
	return nil
}

// KillUPFU ends upf-u, and with it what it has in memory.
func (u *UPF) KillUPFU() {
	u.killUPFU()
	u.settle()
}

func (u *UPF) killUPFU() {
	if u.upfu != nil {
		u.upfu.Kill()
		u.upfu = nil
	}
}

// UPFU is upf-u, with what it has installed, and by which its events are raised and its counters written; nil while it
// is dead.
func (u *UPF) UPFU() *fakeupfu.UPFU {
	if u.upfu == nil {
		return nil
	}
	return u.upfu.UPFU
}

// Do has f do something to upf-u (a downlink packet, an Error Indication, traffic), and upf-c what it does of it at once.
func (u *UPF) Do(f func(upfu *fakeupfu.UPFU)) {
	if u.upfu != nil {
		f(u.upfu.UPFU)
	}
	u.settle()
}

// StartUPFC starts upf-c, unless it lives. It serves PFCP once it has met upf-u. Recovery Time Stamps have seconds: one
// is to pass after the one before it died, as it does where there are machines, for a loss of everything to be seen.
func (u *UPF) StartUPFC() {
	if u.upfc != nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	c := &upfc{machine: machine.NewVirtual(u.now, u.o.Chance), stop: stop}
	c.agent = agent.NewIn(agent.World{
		Machine: c.machine,
		Dial: func(_ context.Context, events dataplane.Events) (*dataplane.Conn, error) {
			if u.upfu == nil {
				return nil, errors.New("upf-u is dead")
			}
			return u.upfu.Dial(events, u.o.Log)
		},
		Serve: func(ctx context.Context, o pfcp.Options, h pfcp.Handler) (*pfcp.Server, func() error, error) {
			c.server = pfcp.New(ctx, o, h, func(b []byte, to netip.AddrPort) { u.o.Send(to, b) })
			return c.server, func() error { c.machine.Wait(-1, ctx.Done()); return nil }, nil
		},
	}, u.o.Config, u.o.Log, u.o.Recorder)
	c.machine.Go(func() {
		if err := c.agent.Run(ctx); err != nil {
			u.o.Log.Error("upf-c ended", "err", err)
		}
	})
	u.upfc = c
	u.settle()
}

// KillUPFC ends upf-c where it stands.
func (u *UPF) KillUPFC() {
	if u.upfc != nil {
		u.upfc.machine.Kill()
		u.bury()
	}
}

// UPFC is upf-c, to be asked what it knows; nil while it is dead.
func (u *UPF) UPFC() *agent.Agent {
	if u.upfc == nil {
		return nil
	}
	return u.upfc.agent
}

// nobody counts nothing.
type nobody struct{}

func (nobody) Message(string, string, string) {}
func (nobody) Retransmission(string, string)  {}
func (nobody) Latency(string, time.Duration)  {}
func (nobody) Restart(string)                 {}
func (nobody) SessionsDropped(string, int)    {}
func (nobody) Report(string)                  {}
func (nobody) UsageReport(uint32)             {}
