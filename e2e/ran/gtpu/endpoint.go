package gtpu

// One Endpoint owns the UDP socket of N3. Its reader goroutine takes downlink packets to the tunnel
// that their TEID names; uplink packets are written by the goroutine that has them (the reader of a
// UE's TUN device, or a test). The tunnel table changes rarely and is read for every packet.

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
)

// Counters of the endpoint: every packet ends in one of them, or in a tunnel's.
type Counters struct {
	EchoRequests       atomic.Uint64
	ErrorIndications   atomic.Uint64
	EndMarkers         atomic.Uint64
	UnknownTEID        atomic.Uint64
	Malformed          atomic.Uint64
	UnsupportedMessage atomic.Uint64
}

// Tunnel is one PDU session's pair of TEIDs on N3.
type Tunnel struct {
	LocalTEID uint32         // chosen by us, in downlink packets
	PeerTEID  uint32         // chosen by the UPF, in uplink packets
	Peer      netip.AddrPort // the UPF
	QFI       uint8          // QoS flow of uplink packets

	// Deliver takes a downlink user packet. It may keep the slice only until it returns.
	Deliver func(packet []byte, qfi uint8)
	// Lost is told that the UPF does not know PeerTEID (any more).
	Lost func()
	// Ended is told of an End Marker: no packet of the path before comes any more. nil: nobody asks.
	Ended func()

	// Stands is the TEID that packets of a handover's forwarding path stand for, 0 for a session's own tunnel. Onward
	// says that packets are handed on and nobody here receives them.
	Stands uint32
	Onward bool

	via      *Endpoint   // whose socket its uplink packets leave by
	reported atomic.Bool // its loss has been logged

	UplinkPackets, UplinkOctets     atomic.Uint64
	DownlinkPackets, DownlinkOctets atomic.Uint64
}

// At says whether a tunnel ends at e.
func (t *Tunnel) At(e *Endpoint) bool { return t.via == e }

// Of is the TEID of the session's tunnel that a packet of t is of.
func (t *Tunnel) Of() uint32 {
	if t.Stands != 0 {
		return t.Stands
	}
	return t.LocalTEID
}

// Successor is a tunnel of the same ends, with counters of its own, to be changed and put in t's place by Replace.
func (t *Tunnel) Successor() *Tunnel {
	return &Tunnel{
		LocalTEID: t.LocalTEID, PeerTEID: t.PeerTEID, Peer: t.Peer, QFI: t.QFI, Deliver: t.Deliver, Lost: t.Lost, Ended: t.Ended, Stands: t.Stands, via: t.via,
	}
}

// Endpoint is the gNB's GTP-U entity.
type Endpoint struct {
	log     *slog.Logger
	conn    *net.UDPConn
	address netip.Addr

	mu      sync.RWMutex
	tunnels map[uint32]*Tunnel

	watch Watches
	muted atomic.Bool

	Counters Counters
}

// Listen opens the socket at address:2152.
func Listen(address netip.Addr, log *slog.Logger) (*Endpoint, error) {
	conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(address, Port)))
	if err != nil {
		return nil, fmt.Errorf("GTP-U socket on %s: %w", netip.AddrPortFrom(address, Port), err)
	}
	// Best effort: the kernel caps both at net.core.{r,w}mem_max.
	_ = conn.SetReadBuffer(4 << 20)
	_ = conn.SetWriteBuffer(4 << 20)
	return &Endpoint{log: log, conn: conn, address: address, tunnels: map[uint32]*Tunnel{}}, nil
}

// ErrMuted is the answer to sending while the endpoint is silent.
var ErrMuted = errors.New("the GTP-U entity is silent")

// Mute makes the endpoint as silent as a dead one: what comes is dropped without an answer, and nothing is sent.
func (e *Endpoint) Mute(on bool) { e.muted.Store(on) }

// Address is where the UPF sends downlink packets.
func (e *Endpoint) Address() netip.Addr { return e.address }

// Watches lets tests see downlink packets, whatever tunnel they come by.
func (e *Endpoint) Watches() *Watches { return &e.watch }

// Close ends Serve.
func (e *Endpoint) Close() error { return e.conn.Close() }

// Open adds a tunnel under a TEID that it chooses, and stores in t.LocalTEID.
func (e *Endpoint) Open(t *Tunnel) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for {
		// Random, so that a tunnel of an earlier run is not mistaken for one of this run.
		teid := rand.Uint32()
		if _, taken := e.tunnels[teid]; teid != 0 && !taken {
			t.LocalTEID, t.via = teid, e
			e.tunnels[teid] = t
			return
		}
	}
}

// Remove takes a tunnel away; packets to it are answered with an Error Indication from now on.
func (e *Endpoint) Remove(t *Tunnel) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.tunnels[t.LocalTEID] == t {
		delete(e.tunnels, t.LocalTEID)
	}
}

// Send wraps the user packet in b[HeaderLen:] and sends it to the UPF, on the QoS flow qfi.
func (e *Endpoint) Send(t *Tunnel, qfi uint8, b []byte) error {
	n := len(b) - HeaderLen
	PutUplink(b, t.PeerTEID, qfi, n)
	if t.via != nil {
		e = t.via // the UE may have moved to another gNB of this process
	}
	if e.muted.Load() {
		return ErrMuted
	}
	if _, err := e.conn.WriteToUDPAddrPort(b, t.Peer); err != nil {
		return err
	}
	t.UplinkPackets.Add(1)
	t.UplinkOctets.Add(uint64(n))
	return nil
}

// Forward sends a downlink packet on to another tunnel endpoint: a gNB's, or a UPF's of indirect forwarding.
func (e *Endpoint) Forward(peer netip.AddrPort, teid uint32, qfi uint8, packet []byte) error {
	b := append(make([]byte, HeaderLen, HeaderLen+len(packet)), packet...)
	PutUplink(b, teid, qfi, len(packet))
	b[13] = 0 // TS 38.415 5.5.2.1: PDU type 0, downlink
	return e.SendRaw(peer, b)
}

// EndMarker tells another tunnel endpoint that Forward sends nothing more (TS 29.281 7.3.2).
func (e *Endpoint) EndMarker(peer netip.AddrPort, teid uint32) error {
	return e.SendRaw(peer, AppendEndMarker(nil, teid))
}

// SendRaw sends octets as they are, for tests of what a UPF refuses.
func (e *Endpoint) SendRaw(peer netip.AddrPort, b []byte) error {
	if e.muted.Load() {
		return ErrMuted
	}
	_, err := e.conn.WriteToUDPAddrPort(b, peer)
	return err
}

// Serve reads until Close. It returns nil then, else the socket's error.
func (e *Endpoint) Serve() error {
	b := make([]byte, 65536)
	for {
		n, from, err := e.conn.ReadFromUDPAddrPort(b)
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			return err
		}
		if !e.muted.Load() {
			e.handle(b[:n], from)
		}
	}
}

func (e *Endpoint) handle(b []byte, from netip.AddrPort) {
	p, err := Parse(b)
	if err != nil {
		e.Counters.Malformed.Add(1)
		return
	}
	switch p.Type {
	case GPDU:
		e.deliver(p, from)
	case EchoRequest:
		e.Counters.EchoRequests.Add(1)
		_ = e.SendRaw(from, AppendEchoResponse(nil, p.Sequence))
	case ErrorIndication:
		e.Counters.ErrorIndications.Add(1)
		e.lost(p.Payload)
	case EndMarker:
		e.Counters.EndMarkers.Add(1)
		e.ended(p.TEID)
	case EchoResponse, SupportedHeaders:
	default:
		e.Counters.UnsupportedMessage.Add(1)
	}
}

func (e *Endpoint) deliver(p Packet, from netip.AddrPort) {
	e.mu.RLock()
	t := e.tunnels[p.TEID]
	e.mu.RUnlock()
	if t == nil {
		e.Counters.UnknownTEID.Add(1)
		_ = e.SendRaw(netip.AddrPortFrom(from.Addr(), Port), AppendErrorIndication(nil, p.TEID, e.address))
		return
	}
	t.DownlinkPackets.Add(1)
	t.DownlinkOctets.Add(uint64(len(p.Payload)))
	if !t.Onward && e.watch.offer(t, p.Payload) {
		return
	}
	t.Deliver(p.Payload, p.QFI)
}

// ended tells a tunnel of its End Marker (TS 29.281 7.3.2).
func (e *Endpoint) ended(teid uint32) {
	e.mu.RLock()
	t := e.tunnels[teid]
	e.mu.RUnlock()
	if t != nil && t.Ended != nil {
		t.Ended()
	}
}

// lost finds the tunnels whose far end an Error Indication names.
func (e *Endpoint) lost(ies []byte) {
	teid, address, err := ParseErrorIndication(ies)
	if err != nil {
		e.Counters.Malformed.Add(1)
		return
	}
	var hit []*Tunnel
	e.mu.RLock()
	for _, t := range e.tunnels {
		if t.PeerTEID == teid && t.Peer.Addr() == address {
			hit = append(hit, t)
		}
	}
	e.mu.RUnlock()
	for _, t := range hit {
		if !t.reported.Swap(true) {
			e.log.Warn("GTP-U error indication", "teid", fmt.Sprintf("%#08x", teid), "peer", address)
		}
		if t.Lost != nil {
			t.Lost()
		}
	}
}

// Replace puts t in the place of old, under the same local TEID.
func (e *Endpoint) Replace(old, t *Tunnel) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.tunnels[old.LocalTEID] == old {
		e.tunnels[old.LocalTEID] = t
	}
}
