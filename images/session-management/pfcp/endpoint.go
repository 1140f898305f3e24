package pfcp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	wire "core5g.dev/core5g/upf/upfc/pfcp"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// Config of an Endpoint. Node, an address, Recovery, Clock, Random, Send, Handle and Metrics have no default.
type Config struct {
	// Node is the shard's Node ID, an FQDN or an address; IPv4 and IPv6 are those of its F-SEIDs, which units send
	// reports to (a Service's). One of them may be missing.
	Node       string
	IPv4, IPv6 netip.Addr
	// Recovery is the Recovery Time Stamp, the same for all shards and for every holder: a unit that sees a later one
	// deletes all sessions (TS 23.527 4.4).
	Recovery Stamp
	// Required features: a unit that lacks one is not used. nil: FTUP and UEIP.
	Required []Feature

	// T1 and N1: a request is sent N1 times, T1 apart (TS 29.244 6.4). Default 1 s and 3. What looks whether a unit is there whose sessions can be made again is
	// sent five times as often, for as long.
	T1 time.Duration
	N1 int
	// Heartbeats leave every Heartbeat (5 s); the path is down when Missed (1) of them in a row were not answered, each
	// sent N1 times.
	Heartbeat time.Duration
	Missed    int
	// Often (1 s) is how often a unit is looked at whose sessions can be made again as they were, and five times as often while it is away.
	Often time.Duration
	// BackOff is how long to wait after the first attempt in vain to meet a unit (1 s), doubled up to BackOffMax (30 s).
	BackOff, BackOffMax time.Duration
	// Window is how many session requests may be under way with a unit (256), fewer while it is slow or says that it
	// is congested; Queue is how many may wait behind them (65,536).
	Window, Queue int
	// Answers of ours are kept for Keep (30 s), for repetitions, at most AnswersMax octets of them (1 MiB) and
	// ReportsMax (4,096) reports that the handler has not answered.
	Keep                   time.Duration
	AnswersMax, ReportsMax int

	// Clock tells the time and Random decides what is left to chance: the first sequence number and back-offs.
	Clock  func() time.Time
	Random *rand.Rand
	// Send has a datagram leave. It must not call the endpoint.
	Send func(to netip.AddrPort, b []byte)
	// Association are further IEs of each Association Setup and Update Request to a unit, such as vendor-specific ones; nil for none.
	Association func(unit string) []*ie.IE
	// Watch looks at session messages as they come and go; nil: nobody does. It must not call the endpoint.
	Watch func(Watched)
	// May is asked before each datagram that leaves; false: it does not. For a lease: nil says yes.
	May func() bool
	// Handle is told what happens. It may call the endpoint.
	Handle  func(Event)
	Metrics *Metrics
	// Log, nil for none.
	Log *slog.Logger
}

func (c *Config) complete() error {
	set := func(d *time.Duration, to time.Duration) {
		if *d <= 0 {
			*d = to
		}
	}
	count := func(n *int, to int) {
		if *n <= 0 {
			*n = to
		}
	}
	set(&c.T1, time.Second)
	count(&c.N1, 3)
	set(&c.Heartbeat, 5*time.Second)
	set(&c.Often, time.Second)
	count(&c.Missed, 1)
	set(&c.BackOff, time.Second)
	set(&c.BackOffMax, max(30*time.Second, c.BackOff))
	set(&c.Keep, 30*time.Second)
	count(&c.Window, 256)
	count(&c.Queue, 1<<16)
	count(&c.AnswersMax, 1<<20)
	count(&c.ReportsMax, 4096)
	if c.Required == nil {
		c.Required = []Feature{FTUP, UEIP}
	}
	if c.Association == nil {
		c.Association = func(string) []*ie.IE { return nil }
	}
	if c.May == nil {
		c.May = func() bool { return true }
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Node = nodeName(c.Node)
	switch {
	case c.Node == "" || len(c.Node) > 255:
		return errors.New("the Node ID of the shard: write an FQDN or an IP address")
	case c.IPv4.IsValid() && !c.IPv4.Is4() || c.IPv6.IsValid() && !c.IPv6.Is6() || !c.IPv4.IsValid() && !c.IPv6.IsValid():
		return fmt.Errorf("the addresses of the shard's F-SEIDs are %v and %v: write an IPv4 address, an IPv6 address, or both", c.IPv4, c.IPv6)
	case c.Recovery == 0:
		return errors.New("the shard has no Recovery Time Stamp: take the one that all shards share from the session store")
	case c.Clock == nil || c.Random == nil || c.Send == nil || c.Handle == nil || c.Metrics == nil:
		return errors.New("an endpoint needs Clock, Random, Send, Handle and Metrics")
	}
	return nil
}

// Watched is a session message.
type Watched struct {
	CPSEID uint64
	// Sent to the peer, or received from it; Again: it was sent before.
	Sent, Again bool
	Peer        netip.AddrPort
	// Message and Cause as TS 29.244 names them; Cause "" of a request.
	Message, Cause string
	Octets         []byte
}

func (e *Endpoint) watch(w Watched, kind uint8) {
	if e.cfg.Watch != nil && w.CPSEID != 0 {
		w.Message = wire.TypeName(kind)
		e.cfg.Watch(w)
	}
}

// Endpoint is a shard's. It is not safe for concurrent use; its callbacks run within the call that caused them, after
// the endpoint has changed, and may call it.
type Endpoint struct {
	cfg    Config
	units  map[string]*unit
	timers timers
	closed bool

	sequence     uint32 // of the next request
	serial       uint64 // of the last transaction: never used twice
	transactions map[uint32]*transaction
	incoming     incoming
	unsent       []func() // outcomes of requests that cannot be sent

	calls   []func() // into the callers' code, in order
	calling bool
}

// New makes an endpoint without units.
func New(cfg Config) (*Endpoint, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	return &Endpoint{
		cfg: cfg, units: map[string]*unit{}, transactions: map[uint32]*transaction{},
		sequence: cfg.Random.Uint32N(1 << 24), incoming: newIncoming(),
	}, nil
}

// Close ends the endpoint without a further datagram. What is under way ends as NoAnswerError or NotSentError.
func (e *Endpoint) Close() {
	if e.closed {
		return
	}
	defer e.leave()
	e.closed = true
	for _, seq := range slices.Sorted(maps.Keys(e.transactions)) {
		t := e.transactions[seq]
		delete(e.transactions, seq)
		if t.owed {
			t.done(nil, nil, ErrClosed)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.units)) {
		e.forget(e.units[name], ErrClosed)
	}
	e.tellUnsent()
	e.timers, e.incoming = timers{}, newIncoming()
}

// NextDeadline is when Tick has something to do, if nothing happens before.
func (e *Endpoint) NextDeadline() (time.Time, bool) {
	if len(e.timers.list) == 0 {
		return time.Time{}, false
	}
	return e.timers.list[0].at, true
}

// Tick does what is due. now is what the clock says.
func (e *Endpoint) Tick(now time.Time) {
	defer e.leave()
	for t := e.timers.due(now); t != nil; t = e.timers.due(now) {
		t.do()
	}
}

// after has something done once a time has passed.
func (e *Endpoint) after(d time.Duration, do func()) *timer {
	return e.timers.set(e.cfg.Clock().Add(d), do)
}

// call has callers' code run when the endpoint is consistent.
func (e *Endpoint) call(f func()) { e.calls = append(e.calls, f) }

func (e *Endpoint) tell(ev Event) { e.call(func() { e.cfg.Handle(ev) }) }

// leave runs what has to be called. Every exported method that changes something ends with it.
func (e *Endpoint) leave() {
	if e.calling {
		return // the one further up the stack goes on
	}
	e.calling = true
	defer func() { e.calling = false }()
	for len(e.calls) > 0 {
		f := e.calls[0]
		e.calls[0] = nil
		e.calls = e.calls[1:]
		f()
	}
}

// send has a datagram leave, if it may.
func (e *Endpoint) send(to netip.AddrPort, b []byte) {
	switch {
	case e.closed:
		e.drop("closed")
	case !e.cfg.May():
		e.drop("not_the_holder")
	default:
		e.cfg.Send(to, b)
	}
}

func (e *Endpoint) drop(reason string) { e.cfg.Metrics.dropped.WithLabelValues(reason).Inc() }

// Receive takes a datagram that came from an address, to this pod or to another that passes it on.
func (e *Endpoint) Receive(from netip.AddrPort, b []byte) {
	if e.closed {
		e.drop("closed")
		return
	}
	defer e.leave()
	from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
	b = bytes.Clone(b)
	m, payload, err := wire.ParseHeader(b)
	if errors.Is(err, wire.ErrVersion) {
		e.drop("version")
		// A Version Not Supported Response of whichever version is answered by nothing, else two nodes could go on for ever.
		if m.Type != message.MsgTypeVersionNotSupportedResponse {
			e.answerVersion(from, m.Sequence)
		}
		return
	}
	if err != nil {
		e.drop("malformed")
		return
	}
	m.From, m.Received = from, e.cfg.Clock()
	b = b[:4+int(binary.BigEndian.Uint16(b[2:]))] // what follows the message is none of ours
	if wire.IsRequest(m.Type) {
		e.requested(m, b, payload)
		return
	}
	m.Elements, err = wire.ParseElements(payload)
	e.answered(m, b, err)
}

func (e *Endpoint) answerVersion(to netip.AddrPort, sequence uint32) {
	if out, err := wire.Marshal(message.MsgTypeVersionNotSupportedResponse, nil, sequence, nil); err == nil {
		e.cfg.Metrics.message("out", message.MsgTypeVersionNotSupportedResponse, "")
		e.send(to, out)
	}
}

// nodeName is a Node ID in the form in which they are compared.
func nodeName(s string) string {
	if a, err := netip.ParseAddr(s); err == nil {
		return a.Unmap().String()
	}
	return strings.ToLower(strings.TrimSuffix(s, "."))
}

func nodeElement(name string) *ie.IE {
	switch a, err := netip.ParseAddr(name); {
	case err != nil:
		return ie.NewNodeID("", "", name)
	case a.Is4():
		return ie.NewNodeID(name, "", "")
	default:
		return ie.NewNodeID("", name, "")
	}
}

// self is what the shard is to a unit; nil for one that is not known.
func (e *Endpoint) self(u *unit) Self {
	if u != nil && u.As != nil {
		return *u.As
	}
	return Self{Node: e.cfg.Node, IPv4: e.cfg.IPv4, IPv6: e.cfg.IPv6}
}

func (e *Endpoint) node(u *unit) *ie.IE { return nodeElement(e.self(u).Node) }

// fseid is the CP F-SEID of a session, for a unit.
func (e *Endpoint) fseid(u *unit, seid uint64) *ie.IE {
	var v4, v6 net.IP
	self := e.self(u)
	if self.IPv4.IsValid() {
		v4 = self.IPv4.AsSlice()
	}
	if self.IPv6.IsValid() {
		v6 = self.IPv6.AsSlice()
	}
	return ie.NewFSEID(seid, v4, v6)
}

// causeIn is the cause in an answer.
func causeIn(m *wire.Message) (uint8, error) {
	c := m.Elements.First(ie.Cause)
	if c == nil {
		return 0, wire.Missing(ie.Cause, wire.TypeName(m.Type))
	}
	return c.Uint8()
}
