package ue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"core5g.dev/core5g/e2e/ran/gnb"
	"core5g.dev/core5g/e2e/ran/gtpu"
	"core5g.dev/core5g/e2e/ran/uenas"
	"core5g.dev/core5g/e2e/ran/usim"
)

// Cell is the gNB as a UE uses it.
type Cell interface {
	Connect(ue gnb.UE, nas []byte, cause uint8, tmsi *uenas.TMSI) (*gnb.Connection, error)
}

// N3 is the user plane as a UE uses it.
type N3 interface {
	// Send sends the IP packet behind gtpu.HeaderLen octets of room on one of the tunnel's QoS flows.
	Send(t *gtpu.Tunnel, qfi uint8, b []byte) error
}

type mmState string

const (
	deregistered  mmState = "deregistered"
	registering   mmState = "registering"
	registered    mmState = "registered"
	deregistering mmState = "deregistering"
)

// Errors of commands.
var (
	ErrStopped       = errors.New("the UE has been removed")
	ErrNotRegistered = errors.New("the UE is not registered")
	ErrIdle          = errors.New("the UE is idle already")
	ErrConnected     = errors.New("the UE is connected")
	ErrNoSession     = errors.New("the UE has no such PDU session")
)

// UE is one simulated UE. Its methods may be called from any goroutine.
type UE struct {
	cfg  Config
	cell Cell
	n3   N3
	log  *slog.Logger
	usim *usim.USIM
	q    *queue

	// Owned by the goroutine of Run.
	mm             mmState
	wish           bool // to be registered
	cellUp         bool
	resume         bool // connect again: N2 was lost, paging, or user data wait
	paged          bool
	conn           *gnb.Connection
	lingering      *gnb.Connection // waited for to be released by the network
	sec            *uenas.Context
	secOn          bool // sec protects this connection
	challenge      *challenge
	initial        []byte // the whole initial NAS message of the procedure under way
	guti           *uenas.GUTI
	allowed        []uenas.SNSSAI
	proc           *procedure
	releaseFor     []chan error // who waits for the connection's end
	onRegistration []chan error // who waits for the next registration
	retry          retry
	revival        retry // of user planes that could not be had
	unserved       int   // service requests in a row that came to nothing
	pti            uint8
	lastError      string
	replies        []func() // sent when the event is over
	count          Counts
	behaviour      Behaviour
	last           []byte // the last NAS PDU that was sent
	stopped        bool

	sessMu   sync.RWMutex // guards the map; the sessions' own fields belong to Run unless atomic
	sessions map[uint8]*session

	tmsi atomic.Pointer[uenas.TMSI]
	view view
}

// Counts are the UE's totals since its start.
type Counts struct {
	Registrations    uint64 `json:"registrations"`
	ServiceRequests  uint64 `json:"service_requests"`
	Pagings          uint64 `json:"pagings"`
	Resyncs          uint64 `json:"resynchronisations"`
	MACFailures      uint64 `json:"mac_failures"`
	Sessions         uint64 `json:"sessions_established"`
	Rejects          uint64 `json:"rejects"`
	NASDropped       uint64 `json:"nas_dropped"`
	ErrorIndications uint64 `json:"gtpu_error_indications"`
	Releases         uint64 `json:"connection_releases"`
	Handovers        uint64 `json:"handovers"`
	Ignored          uint64 `json:"ignored,omitempty"` // pagings and messages, as told
	Modifications    uint64 `json:"sessions_modified"`
	Solicitations    uint64 `json:"router_solicitations"`
	Advertisements   uint64 `json:"router_advertisements"`
}

// procedure is the mobility management procedure under way: at most one.
type procedure struct {
	name    string
	waiters []chan error
	timer   *time.Timer
}

// retry is the pause before the next attempt of something that failed.
type retry struct {
	at    time.Time
	pause time.Duration
}

func (r *retry) failed(t Timers) {
	r.pause = min(max(2*r.pause, t.MinRetry), t.MaxRetry)
	r.at = time.Now().Add(r.pause)
}

func (r *retry) reset() { *r = retry{} }

// New makes a UE; Run brings it to life.
func New(cfg Config, cell Cell, n3 N3, log *slog.Logger) *UE {
	cfg.Timers.defaults()
	u := &UE{
		cfg: cfg, cell: cell, n3: n3, log: log.With("supi", cfg.SUPI),
		usim: usim.New(cfg.K, cfg.OPc, cfg.SQN), q: newQueue(),
		mm: deregistered, wish: cfg.Autostart, sessions: map[uint8]*session{},
	}
	for _, s := range cfg.Sessions {
		u.sessions[s.PSI] = &session{cfg: s, wish: cfg.Autostart, configured: true, keep: true, state: inactive, qos: newQoS()}
	}
	u.view.init()
	u.publish()
	return u
}

// SUPI names the UE.
func (u *UE) SUPI() string { return u.cfg.SUPI }

// USIM gives access to the sequence number, for tests of resynchronisation.
func (u *UE) USIM() *usim.USIM { return u.usim }

// Run lives the UE until ctx ends. It leaves without a word to the network, as a phone whose battery
// is taken out; a caller that wants more calls Deregister first.
func (u *UE) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			u.stop()
			return
		case <-u.q.wake:
		}
		for _, event := range u.q.take() {
			event()
			u.pursue()
			u.publish()
			u.flush()
		}
	}
}

// reply answers who waits, once the new state can be seen.
func (u *UE) reply(to chan error, err error) {
	u.replies = append(u.replies, func() { to <- err })
}

func (u *UE) flush() {
	for _, r := range u.replies {
		r()
	}
	u.replies = nil
}

func (u *UE) stop() {
	u.stopped = true
	u.finish(ErrStopped)
	u.registrationNotSent(ErrStopped)
	for _, w := range u.releaseFor {
		u.reply(w, ErrStopped)
	}
	u.releaseFor = nil
	for _, s := range u.list() {
		u.answer(s, ErrStopped)
		s.closeDevice()
	}
	u.publish()
	for _, event := range u.q.take() { // commands that came too late get their answer
		event()
	}
	u.flush()
}

func (u *UE) list() []*session {
	u.sessMu.RLock()
	defer u.sessMu.RUnlock()
	out := make([]*session, 0, len(u.sessions))
	for psi := uint8(1); psi <= 15; psi++ {
		if s := u.sessions[psi]; s != nil {
			out = append(out, s)
		}
	}
	return out
}

func (u *UE) session(psi uint8) *session {
	u.sessMu.RLock()
	defer u.sessMu.RUnlock()
	return u.sessions[psi]
}

// pursue starts the next thing that brings the UE closer to its wishes.
func (u *UE) pursue() {
	if u.stopped || !u.cellUp || u.proc != nil {
		return
	}
	switch u.mm {
	case deregistered:
		if u.wish && u.ripe(&u.retry) && u.letGo() {
			u.startRegistration()
		}
	case registered:
		u.pursueSessions()
	}
}

// ripe says whether a retry's pause is over, and comes back when it will be.
func (u *UE) ripe(r *retry) bool {
	wait := time.Until(r.at)
	if wait <= 0 {
		return true
	}
	time.AfterFunc(wait, func() { u.q.push(func() {}) })
	return false
}

// linger is how long a UE without a registration waits for the network to release its connection
// (T3540 of TS 24.501 10.2, shortened).
const linger = time.Second

// letGo says whether the UE is without a connection; if not, it gives the network a moment for the
// release and then gives the connection up.
func (u *UE) letGo() bool {
	c := u.conn
	if c == nil {
		return true
	}
	if u.lingering != c {
		u.lingering = c
		time.AfterFunc(linger, func() {
			u.q.push(func() {
				if u.conn == c && u.mm == deregistered {
					u.dropConnection()
				}
			})
		})
	}
	return false
}

func (u *UE) pursueSessions() {
	var pending []*session
	for _, s := range u.list() {
		if s.wish && s.state == inactive && u.ripe(&s.retry) {
			pending = append(pending, s)
		}
	}
	if u.conn == nil {
		if len(pending) > 0 || u.resume || u.paged {
			if u.ripe(&u.retry) {
				u.startServiceRequest(len(pending) > 0)
			}
		}
		return
	}
	for _, s := range pending {
		u.startEstablishment(s)
	}
	if u.resume && u.ripe(&u.revival) {
		u.startServiceRequest(false)
	}
}

// begin opens a procedure, which ends by finish or by its timer.
func (u *UE) begin(name string, timeout time.Duration, waiters ...chan error) {
	p := &procedure{name: name, waiters: waiters}
	p.timer = time.AfterFunc(timeout, func() {
		u.q.push(func() {
			if u.proc == p {
				u.timedOut(p)
			}
		})
	})
	u.proc = p
}

func (u *UE) timedOut(p *procedure) {
	u.log.Warn("no answer from the network", "procedure", p.name)
	if u.mm == registering || u.mm == deregistering {
		u.forgetRegistration()
	}
	u.retry.failed(u.cfg.Timers)
	u.finish(errors.New("no answer from the network in time"))
	if p.name == serviceRequest {
		u.serviceFailed()
	}
	u.dropConnection()
}

// finish ends the procedure under way and tells who waits.
func (u *UE) finish(err error) {
	p := u.proc
	if p == nil {
		return
	}
	u.proc = nil
	u.initial = nil
	p.timer.Stop()
	if err != nil {
		u.fail(fmt.Errorf("%s: %w", p.name, err))
	}
	for _, w := range p.waiters {
		u.reply(w, err)
	}
}

func (u *UE) fail(err error) {
	u.lastError = err.Error()
	u.log.Warn("failed", "err", err)
}

// dropConnection asks the gNB to let go of the connection and forgets it.
func (u *UE) dropConnection() {
	if u.conn == nil {
		return
	}
	c := u.conn
	u.released(c, "given up by the UE")
	_ = c.LoseRadio()
}

// forgetRegistration drops what only a registered UE has.
func (u *UE) forgetRegistration() {
	u.mm = deregistered
	u.sec, u.secOn, u.guti, u.allowed, u.challenge = nil, false, nil, nil, nil
	u.resume, u.paged = false, false
	u.tmsi.Store(nil)
	for _, s := range u.list() {
		switch {
		case s.state == inactive:
		case s.wish:
			u.sessionGone(s, errors.New("the UE was deregistered"))
		default:
			u.sessionGone(s, nil)
		}
	}
}

// command runs f in the UE's goroutine and waits for what it sends.
func (u *UE) command(ctx context.Context, f func(done chan error)) error {
	done := make(chan error, 1)
	u.q.push(func() {
		if u.stopped {
			u.reply(done, ErrStopped)
			return
		}
		f(done)
	})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// The radio's events (gnb.UE).

// CellUp tells that the cell serves.
func (u *UE) CellUp(cell *gnb.GNB) {
	u.q.push(func() {
		if u.cell != Cell(cell) {
			return
		}
		u.cellUp = true
		u.retry.reset()
		if u.conn != nil {
			u.resume = false // the AMF and the gNB have both kept us
		}
	})
}

// CellDown tells that the gNB has lost its AMF.
func (u *UE) CellDown(cell *gnb.GNB) {
	u.q.push(func() {
		if u.cell != Cell(cell) {
			return
		}
		u.cellUp = false
		// What waits for an answer gets none any more. A connection at rest stays, for its user plane.
		if u.conn != nil && (u.proc != nil || u.releaseFor != nil || u.sessionsInMotion()) {
			u.released(u.conn, "N2 lost")
		}
		if u.mm == registered && u.cfg.Recover {
			// The AMF may have kept us, or be a new one: a service request tells.
			u.resume = true
		}
	})
}

func (u *UE) sessionsInMotion() bool {
	for _, s := range u.list() {
		if s.state == pending || s.state == releasing {
			return true
		}
	}
	return false
}

// NAS takes a downlink message.
func (u *UE) NAS(c *gnb.Connection, pdu []byte) {
	pdu = append([]byte(nil), pdu...)
	u.q.push(func() {
		if c == u.conn {
			u.receive(pdu)
		}
	})
}

// Released tells that the connection has ended.
func (u *UE) Released(c *gnb.Connection, cause string) {
	u.q.push(func() {
		if c == u.conn {
			u.released(c, cause)
		}
	})
}

func (u *UE) released(c *gnb.Connection, cause string) {
	u.conn, u.secOn, u.last = nil, false, nil
	u.count.Releases++
	u.log.Info("connection released", "cause", cause)
	for _, s := range u.list() {
		s.setTunnel(nil)
		if s.state == pending || s.state == releasing {
			u.sessionFailed(s, fmt.Errorf("connection released: %s", cause))
		}
	}
	for _, w := range u.releaseFor {
		u.reply(w, nil)
	}
	u.releaseFor = nil
	switch u.mm {
	case registering:
		u.forgetRegistration()
		u.retry.failed(u.cfg.Timers)
		u.finish(fmt.Errorf("connection released: %s", cause))
	case deregistering:
		u.forgetRegistration()
		u.finish(nil)
	default:
		if u.proc != nil {
			u.retry.failed(u.cfg.Timers)
			u.finish(fmt.Errorf("connection released: %s", cause))
			u.serviceFailed()
		}
	}
}

// Moved tells that a handover has brought the UE to another cell.
func (u *UE) Moved(from, to *gnb.Connection, cell *gnb.GNB) {
	u.q.push(func() {
		if u.conn == from {
			u.conn, u.cell = to, cell
			u.count.Handovers++
			for _, s := range u.list() {
				if !to.Holds(s.cfg.PSI) {
					s.setTunnel(nil) // left behind
				}
			}
		}
	})
}

// TMSI is what paging calls the UE.
func (u *UE) TMSI() (uenas.TMSI, bool) {
	if t := u.tmsi.Load(); t != nil {
		return *t, true
	}
	return uenas.TMSI{}, false
}

// Paged tells that the network wants the UE to connect.
func (u *UE) Paged() {
	u.q.push(func() {
		u.count.Pagings++
		if u.behaviour.IgnorePaging {
			u.count.Ignored++
			return
		}
		if u.mm == registered && u.conn == nil {
			u.paged = true
			u.retry.reset()
		}
	})
}

var _ gnb.UE = (*UE)(nil)
