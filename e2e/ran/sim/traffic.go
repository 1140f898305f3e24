package sim

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"core5g.dev/core5g/e2e/ran/gtpu"
	"core5g.dev/core5g/e2e/ran/measure"
	"core5g.dev/core5g/e2e/ran/tun"
	"core5g.dev/core5g/e2e/ran/ue"
)

// errNoDevice is the answer to what needs a program's socket.
var errNoDevice = errors.New("the session has no TUN device (device: none); only ping and raw-gtpu work without one")

// path is a UE's session as the way of traffic.
type path struct {
	ue      *entry
	session ue.SessionStatus
	address netip.Addr // of the version asked for
	device  string
	netns   string
}

// ErrNoAddress is the answer to traffic of a version of IP that the session does not have.
var ErrNoAddress = errors.New("the session has no address")

// path finds the session, 0 being the first active one, and its address of the version of like; any, if that is invalid.
func (s *Simulation) path(supi string, psi uint8, like netip.Addr) (path, error) {
	e, err := s.find(supi)
	if err != nil {
		return path{}, err
	}
	for _, x := range e.Status().Sessions {
		if x.State != "active" || psi != 0 && x.ID != psi {
			continue
		}
		text := x.Address
		if like.IsValid() && !like.Is4() || !like.IsValid() && text == "" {
			text = x.Address6
		}
		a, err := netip.ParseAddr(text)
		switch {
		case err != nil && psi == 0:
			continue // another session may have one
		case err != nil:
			return path{}, fmt.Errorf("%s: session %d: %w of the version of %s", supi, x.ID, ErrNoAddress, like)
		}
		p := path{ue: e, session: x, address: a, device: x.Device}
		if s.cfg.Device == "netns" {
			p.netns = x.Device
		}
		return p, nil
	}
	if like.IsValid() {
		return path{}, fmt.Errorf("%s: %w that is active and has an address of the version of %s", supi, ue.ErrNoSession, like)
	}
	return path{}, fmt.Errorf("%s: %w that is active", supi, ue.ErrNoSession)
}

// Ping pings from a UE: through its device by the kernel's ICMP, or, when it has none or inProcess
// asks for it, by packets put into the tunnel directly.
func (s *Simulation) Ping(ctx context.Context, supi string, psi uint8, cfg measure.PingConfig, inProcess bool) (measure.PingResult, error) {
	p, err := s.path(supi, psi, cfg.To)
	if err != nil {
		return measure.PingResult{}, err
	}
	id := measure.NewID()
	var res measure.PingResult
	if p.device == "" || inProcess {
		t := &tunnelPinger{sim: s, path: p, to: cfg.To, in: make(chan gtpu.Reply, 1024), out: make(chan measure.Reply, 1024)}
		remove := s.watch(id, t.in)
		defer remove()
		stop := make(chan struct{})
		defer close(stop)
		go t.forward(stop)
		res, err = measure.Run(ctx, cfg, id, t)
		res.Via = "in-process"
	} else {
		d := &devicePinger{sim: s, supi: supi, psi: p.session.ID, id: id, to: cfg.To, replies: make(chan measure.Reply, 1024)}
		if err := d.open(); err != nil {
			return res, err
		}
		defer d.sock.Close()
		res, err = measure.Run(ctx, cfg, id, d)
		res.Via = p.device
	}
	res.From = p.address.String()
	return res, err
}

// devicePinger pings through a UE's device. When the session is replaced while it pings, and the device
// with it, it goes on through the new one: what was lost meanwhile is counted as lost.
type devicePinger struct {
	sim     *Simulation
	supi    string
	psi     uint8
	id      uint16
	to      netip.Addr
	sock    *measure.Socket
	replies chan measure.Reply
}

func (d *devicePinger) open() error {
	p, err := d.sim.path(d.supi, d.psi, d.to)
	if err != nil {
		return err
	}
	var sock *measure.Socket
	if err := tun.Within(p.netns, func() (err error) {
		sock, err = measure.OpenSocket(d.id, d.to, p.address, p.device, d.replies)
		return err
	}); err != nil {
		return err
	}
	if d.sock != nil {
		d.sock.Close()
	}
	d.sock = sock
	return nil
}

func (d *devicePinger) Send(e measure.Echo) error {
	err := d.sock.Send(e)
	if err != nil && d.open() == nil {
		err = d.sock.Send(e)
	}
	return err
}

func (d *devicePinger) Replies() <-chan measure.Reply { return d.replies }

// tunnelPinger makes echo requests out of nothing and puts them into a session.
type tunnelPinger struct {
	sim  *Simulation
	path path
	to   netip.Addr
	in   chan gtpu.Reply
	out  chan measure.Reply
}

func (t *tunnelPinger) Send(e measure.Echo) error {
	return t.path.ue.SendUplink(t.path.session.ID, e.Packet(t.path.address, t.to))
}

func (t *tunnelPinger) Replies() <-chan measure.Reply { return t.out }

func (t *tunnelPinger) forward(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case r := <-t.in:
			if now := t.path.ue.Tunnel(t.path.session.ID); now == nil || r.Tunnel.Of() != now.LocalTEID {
				continue // a reply that came to another UE is no reply
			}
			select {
			case t.out <- measure.Reply{Sequence: r.Sequence, At: r.At}:
			case <-stop:
				return
			}
		}
	}
}

// dialer connects TCP through a UE's device.
func (p path) dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	if p.device == "" {
		return nil, errNoDevice
	}
	err = tun.Within(p.netns, func() error {
		conn, err = measure.Dialer(p.address, p.device).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// Throughput measures TCP through a UE's device.
func (s *Simulation) Throughput(ctx context.Context, supi string, psi uint8, to netip.AddrPort, direction string, length time.Duration) (measure.ThroughputResult, error) {
	p, err := s.path(supi, psi, to.Addr())
	if err != nil {
		return measure.ThroughputResult{}, err
	}
	res, err := measure.Throughput(ctx, p.dial, to, direction, length)
	res.From, res.Via = p.address.String(), p.device
	return res, err
}

// Fetched is an HTTP answer that a UE got.
type Fetched struct {
	Status int    `json:"status"`
	Body   string `json:"body"`
}

// hostAddress is the address that a URL names, invalid where it names none.
func hostAddress(text string) netip.Addr {
	u, err := url.Parse(text)
	if err != nil {
		return netip.Addr{}
	}
	a, _ := netip.ParseAddr(u.Hostname())
	return a
}

// Fetch gets a URL through a UE's device. Names are resolved outside the session: use addresses.
func (s *Simulation) Fetch(ctx context.Context, supi string, psi uint8, target string) (Fetched, error) {
	p, err := s.path(supi, psi, hostAddress(target))
	if err != nil {
		return Fetched{}, err
	}
	client := &http.Client{Transport: &http.Transport{DialContext: p.dial, DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return Fetched{}, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return Fetched{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return Fetched{resp.StatusCode, string(b)}, err
}

// RawGTPU is a crafted uplink packet. Every field left out is what the UE's own session would use.
type RawGTPU struct {
	Session  uint8  `json:"session,omitempty"`
	TEID     string `json:"teid,omitempty"`      // e.g. 0x00000001
	TunnelOf string `json:"tunnel_of,omitempty"` // SUPI whose uplink TEID to use
	Peer     string `json:"peer,omitempty"`
	QFI      *uint8 `json:"qfi,omitempty"`
	Source   string `json:"source,omitempty"`  // inner source
	To       string `json:"to"`                // inner destination of an ICMP echo request
	Payload  string `json:"payload,omitempty"` // hexadecimal GTP-U message, sent as it is
	Count    int    `json:"count,omitempty"`
	WaitMS   int    `json:"wait_ms,omitempty"`
}

// RawResult tells what came back, and to whom.
type RawResult struct {
	Sent             int            `json:"sent"`
	TEID             string         `json:"teid,omitempty"`
	Peer             string         `json:"peer"`
	Source           string         `json:"source,omitempty"`
	Replies          int            `json:"replies"`
	RepliesByUE      map[string]int `json:"replies_by_ue"`
	ErrorIndications uint64         `json:"error_indications"` // received meanwhile
}

// SendRaw sends crafted GTP-U packets and waits for what they bring.
func (s *Simulation) SendRaw(ctx context.Context, supi string, r RawGTPU) (RawResult, error) {
	res := RawResult{RepliesByUE: map[string]int{}}
	to, _ := netip.ParseAddr(r.To) // checked below, where it is used
	p, err := s.path(supi, r.Session, to)
	if err != nil {
		return res, err
	}
	t := p.ue.Tunnel(p.session.ID)
	if t == nil {
		return res, fmt.Errorf("%s: session %d has no tunnel: the UE is idle", supi, p.session.ID)
	}
	teid, peer, qfi, from := t.PeerTEID, t.Peer, t.QFI, p.address
	switch {
	case r.TEID != "" && r.TunnelOf != "":
		return res, errors.New("teid and tunnel_of exclude each other")
	case r.TEID != "":
		v, err := strconv.ParseUint(r.TEID, 0, 32)
		if err != nil {
			return res, fmt.Errorf("teid %q: write for example 0x00000001", r.TEID)
		}
		teid = uint32(v)
	case r.TunnelOf != "":
		other, err := s.path(r.TunnelOf, 0, netip.Addr{})
		if err != nil {
			return res, err
		}
		x := other.ue.Tunnel(other.session.ID)
		if x == nil {
			return res, fmt.Errorf("%s has no tunnel: it is idle", r.TunnelOf)
		}
		teid, peer = x.PeerTEID, x.Peer
	}
	if r.Peer != "" {
		a, err := netip.ParseAddr(r.Peer)
		if err != nil || !a.Is4() {
			return res, fmt.Errorf("peer %q is not an IPv4 address", r.Peer)
		}
		peer = netip.AddrPortFrom(a, gtpu.Port)
	}
	if r.QFI != nil {
		qfi = *r.QFI
	}
	if r.Source != "" {
		if from, err = netip.ParseAddr(r.Source); err != nil {
			return res, fmt.Errorf("source %q is not an IP address", r.Source)
		}
	}
	if r.Count <= 0 {
		r.Count = 1
	}
	if r.WaitMS <= 0 {
		r.WaitMS = 500
	}
	res.Peer = peer.String()
	n3 := s.at(t)
	errorsBefore := n3.Counters.ErrorIndications.Load()
	replies := make(chan gtpu.Reply, 1024)
	id := measure.NewID()
	remove := s.watch(id, replies)
	defer remove()

	var packet func(seq uint16) []byte
	if r.Payload != "" {
		raw, err := hex.DecodeString(strings.ReplaceAll(r.Payload, " ", ""))
		if err != nil {
			return res, fmt.Errorf("payload: %w", err)
		}
		packet = func(uint16) []byte { return raw }
	} else {
		if !to.IsValid() || to.Is4() != from.Is4() {
			return res, fmt.Errorf("to %q is not an IP address of the version of the source %s", r.To, from)
		}
		res.TEID, res.Source = fmt.Sprintf("%#08x", teid), from.String()
		packet = func(seq uint16) []byte {
			inner := measure.Echo{ID: id, Sequence: seq, Payload: make([]byte, 56)}.Packet(from, to)
			b := append(make([]byte, gtpu.HeaderLen), inner...)
			gtpu.PutUplink(b, teid, qfi, len(inner))
			return b
		}
	}
	for i := range r.Count {
		if err := n3.SendRaw(peer, packet(uint16(i+1))); err != nil {
			return res, err
		}
		res.Sent++
	}
	timer := time.NewTimer(time.Duration(r.WaitMS) * time.Millisecond)
	defer timer.Stop()
	for waiting := true; waiting && res.Replies < r.Count; {
		select {
		case <-ctx.Done():
			return res, ctx.Err()
		case <-timer.C:
			waiting = false
		case x := <-replies:
			res.Replies++
			res.RepliesByUE[s.owner(x.Tunnel)]++
		}
	}
	res.ErrorIndications = n3.Counters.ErrorIndications.Load() - errorsBefore
	return res, nil
}

// at is the GTP-U entity that a tunnel is of.
func (s *Simulation) at(t *gtpu.Tunnel) *gtpu.Endpoint {
	for _, c := range s.cells {
		if t.At(c.n3) {
			return c.n3
		}
	}
	return s.cells[0].n3
}

// owner finds the UE that a tunnel belongs to.
func (s *Simulation) owner(t *gtpu.Tunnel) string {
	for _, e := range s.list() {
		for psi := uint8(1); psi <= 15; psi++ {
			if x := e.Tunnel(psi); x != nil && x.LocalTEID == t.Of() {
				return e.SUPI()
			}
		}
	}
	return "unknown"
}
