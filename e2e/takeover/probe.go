package takeover

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"core5g.dev/core5g/e2e/ran/gtpu"
	"core5g.dev/core5g/e2e/storm"
)

// Probe is a CP function and a gNB in one, told over HTTP what to do:
//
//	POST /fill?sessions=N   establish so many sessions
//	POST /begin?rate=N      packets through a further one
//	GET  /count             how they fare: Report
//	POST /end               the same, and no more packets
//	POST /check             ask for each session: Check
type Probe struct {
	smf    *storm.SMF
	echo   *Echo
	owners *Owners
	ctx    context.Context

	mutex sync.Mutex
	stop  context.CancelFunc
	done  sync.WaitGroup
}

// Config of a probe.
type Config struct {
	N4        netip.Addr // the unit's Service
	N3        netip.Addr // an address of the UPF's
	Interface string     // on N3
	Own       netip.Addr // on it
	UE, To    netip.Addr // whose packets, and who answers them
}

// Report of packets.
type Report struct {
	Echoes
	BothAnsweredMS  float64  `json:"both_answered_ms"`
	BothForwardedMS float64  `json:"both_forwarded_ms"`
	Owners          []string `json:"owners"` // MAC addresses
}

// Check of sessions.
type Check struct {
	Sessions int       `json:"sessions"`
	Lost     int       `json:"lost"`
	Recovery time.Time `json:"recovery"` // the UPF's Recovery Time Stamp
}

// tunnel is the session with packets: the fill's are numbered from 0.
const (
	tunnel   = 1 << 20
	downlink = 0x7100_0001
)

// NewProbe associates with the UPF, and makes the session that packets pass.
func NewProbe(ctx context.Context, c Config) (*Probe, error) {
	smf, err := storm.Associate(ctx, netip.AddrPortFrom(netip.IPv4Unspecified(), storm.Port), netip.AddrPortFrom(c.N4, storm.Port), c.N3)
	if err != nil {
		return nil, err
	}
	p := &Probe{smf: smf, owners: NewOwners(c.N3), ctx: ctx}
	teid, err := smf.Tunnel(ctx, tunnel, c.UE, c.Own, downlink)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	p.echo, err = OpenEcho(netip.AddrPortFrom(c.Own, gtpu.Port), netip.AddrPortFrom(c.N3, gtpu.Port), teid, c.UE, c.To)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// releaseTime is how long the UPF may take to answer that the sessions are gone.
const releaseTime = 5 * time.Second

// Close takes the sessions away from the UPF.
func (p *Probe) Close() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), releaseTime)
	defer cancel()
	err := p.smf.Release(ctx)
	if p.echo != nil {
		err = errors.Join(err, p.echo.Close())
	}
	return errors.Join(err, p.smf.Close())
}

// Owners are who answers on N3.
func (p *Probe) Owners() *Owners { return p.owners }

// ServeHTTP does what it is told.
func (p *Probe) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, err := p.do(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

func (p *Probe) do(r *http.Request) (any, error) {
	number := func(name string) (int, error) { return strconv.Atoi(r.URL.Query().Get(name)) }
	switch r.URL.Path {
	case "/fill":
		n, err := number("sessions")
		if err != nil {
			return nil, err
		}
		return struct{}{}, p.smf.Fill(r.Context(), n)
	case "/begin":
		rate, err := number("rate")
		if err != nil {
			return nil, err
		}
		return struct{}{}, p.begin(rate)
	case "/count":
		return p.report(), nil
	case "/end":
		p.end()
		return p.report(), nil
	case "/check":
		return p.check(r.Context())
	default:
		return nil, errors.New("write /fill, /begin, /count, /end or /check")
	}
}

func (p *Probe) begin(rate int) error {
	p.end()
	p.owners.Reset()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	ctx, cancel := context.WithCancel(p.ctx)
	p.stop = cancel
	p.done.Go(func() { _ = p.echo.Send(ctx, rate) })
	return nil
}

// underWay is how long the last answers may take.
const underWay = 500 * time.Millisecond

// end sends nothing more, and waits for the last answers.
func (p *Probe) end() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.stop == nil {
		return
	}
	p.stop()
	p.stop = nil
	p.done.Wait()
	for until := time.Now().Add(underWay); time.Now().Before(until); time.Sleep(time.Millisecond) {
		if c := p.echo.Count(); c.Answered == c.Sent {
			return
		}
	}
}

func (p *Probe) report() Report {
	r := Report{Echoes: p.echo.Count()}
	answered, forwarded, owners := p.owners.Both()
	r.BothAnsweredMS, r.BothForwardedMS, r.Owners = milliseconds(answered), milliseconds(forwarded), owners
	return r
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func (p *Probe) check(ctx context.Context) (c Check, err error) {
	if c.Sessions, c.Lost, err = p.smf.Lost(ctx); err != nil {
		return c, err
	}
	c.Recovery, err = p.smf.Recovery(ctx)
	return c, err
}
