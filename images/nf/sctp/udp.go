package sctp

// SCTP in UDP (RFC 6951). A listener has one UDP socket per address, at the UDP port that equals its
// SCTP port, and any number of associations on it; packets find theirs by the peer's UDP address and
// SCTP port, and then by verification tag. An association that dials has a connected UDP socket of its
// own with a new port, so that ICMP errors reach it and no NAT confuses it with an earlier one.
//
// A peer that restarted sends a new INIT from an address that has an association. The new association
// is set up beside the old one, and replaces it only when the peer's COOKIE ECHO has come: one forged
// datagram takes nobody's association away.
//
// A NAT, such as a Kubernetes Service, rewrites the UDP ports but not the SCTP ports inside. A listener
// therefore takes whatever SCTP port the peer dialled as its own.

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"github.com/pion/sctp"
)

const (
	acceptBacklog = 128
	// maxHandshakes bounds the handshakes under way on one listener.
	maxHandshakes   = 1024
	udpSocketBuffer = 1 << 20
	maxDatagram     = 65535
)

type udpTransport struct{}

func (udpTransport) listen(network string, laddr *SCTPAddr, cfg *SocketConfig) (acceptor, error) {
	if laddr == nil {
		laddr = &SCTPAddr{}
	}
	l := &udpListener{
		cfg: *cfg, peers: map[peerKey]*peer{},
		backlog: make(chan *udpAssociation, acceptBacklog), closed: make(chan struct{}),
	}
	ips := laddr.IPAddrs
	if len(ips) == 0 {
		ips = []net.IPAddr{{}}
	}
	port := laddr.Port
	for _, ip := range ips {
		s, err := net.ListenUDP(udpNetwork(network), &net.UDPAddr{IP: ip.IP, Zone: ip.Zone, Port: port})
		if err == nil && cfg.Control != nil {
			err = control(s, network, laddr, cfg)
		}
		if err != nil {
			for _, open := range l.sockets {
				_ = open.Close()
			}
			return nil, fmt.Errorf("sctp in udp: listen: %w", err)
		}
		_ = s.SetReadBuffer(udpSocketBuffer)
		bound := s.LocalAddr().(*net.UDPAddr)
		port = bound.Port
		l.local.IPAddrs = append(l.local.IPAddrs, net.IPAddr{IP: bound.IP, Zone: bound.Zone})
		l.sockets = append(l.sockets, s)
	}
	l.local.Port = port
	for _, s := range l.sockets {
		go l.serve(s)
	}
	return l, nil
}

func (udpTransport) dial(network string, laddr, raddr *SCTPAddr, cfg *SocketConfig) (association, error) {
	var failures []error
	for _, ip := range raddr.IPAddrs {
		a, err := dialUDP(network, laddr, &net.UDPAddr{IP: ip.IP, Zone: ip.Zone, Port: raddr.Port}, cfg)
		if err == nil {
			return a, nil
		}
		failures = append(failures, err)
	}
	return nil, fmt.Errorf("sctp in udp: dial %s: %w", raddr, errors.Join(failures...))
}

func udpNetwork(network string) string {
	switch network {
	case "sctp4":
		return "udp4"
	case "sctp6":
		return "udp6"
	}
	return "udp"
}

func control(s *net.UDPConn, network string, addr *SCTPAddr, cfg *SocketConfig) error {
	raw, err := s.SyscallConn()
	if err != nil {
		return err
	}
	return cfg.Control(network, addr.String(), raw)
}

func dialUDP(network string, laddr *SCTPAddr, raddr *net.UDPAddr, cfg *SocketConfig) (association, error) {
	var from *net.UDPAddr
	if laddr != nil && (len(laddr.IPAddrs) > 0 || laddr.Port != 0) {
		from = &net.UDPAddr{Port: laddr.Port}
		if len(laddr.IPAddrs) > 0 {
			from.IP, from.Zone = laddr.IPAddrs[0].IP, laddr.IPAddrs[0].Zone
		}
	}
	socket, err := net.DialUDP(udpNetwork(network), from, raddr)
	if err != nil {
		return nil, err
	}
	if cfg.Control != nil {
		if err := control(socket, network, laddr, cfg); err != nil {
			_ = socket.Close()
			return nil, err
		}
	}
	_ = socket.SetReadBuffer(udpSocketBuffer)
	bound := socket.LocalAddr().(*net.UDPAddr)
	p := newPath(
		func(raw []byte) error { _, err := socket.Write(raw); return err },
		fromUDPAddr(bound), fromUDPAddr(raddr), uint16(bound.Port), uint16(raddr.Port),
	)
	p.onClose = func() { _ = socket.Close() }
	go serveDialed(socket, p)

	patience := time.AfterFunc(handshakeTimeout, func() { p.fail(syscall.ETIMEDOUT) })
	pion, err := sctp.Client(pionConfig(p, cfg))
	patience.Stop()
	if err != nil {
		p.fail(err)
		return nil, p.err
	}
	return newUDPAssociation(p, pion, cfg), nil
}

// serveDialed reads the socket of a dialled association.
func serveDialed(socket *net.UDPConn, p *path) {
	buf := make([]byte, maxDatagram)
	for {
		n, err := socket.Read(buf)
		if err != nil {
			// An ICMP port unreachable: nobody is there, or not any more.
			p.fail(err)
			return
		}
		k, ok := parsePacket(append([]byte(nil), buf[:n]...))
		if !ok || k.sourcePort != p.remotePort || k.destinationPort != p.localPort || k.first == chunkInit ||
			!p.accepts(k) {
			continue
		}
		p.deliver(k)
	}
}

// peerKey is where a peer is: its UDP address and its SCTP port.
type peerKey struct {
	addr netip.AddrPort
	port uint16
}

// peer holds the paths to one peer: the association, and the one that may be about to replace it.
type peer struct{ current, next *path }

type udpListener struct {
	cfg     SocketConfig
	sockets []*net.UDPConn
	local   SCTPAddr
	backlog chan *udpAssociation
	closed  chan struct{}

	mu         sync.Mutex
	peers      map[peerKey]*peer
	handshakes int
	stopped    bool
}

func (l *udpListener) addr() *SCTPAddr { return &l.local }

func (l *udpListener) accept(timeout time.Duration) (association, error) {
	var expired <-chan time.Time
	if timeout >= 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case <-l.closed:
		return nil, net.ErrClosed
	default:
	}
	select {
	case a := <-l.backlog:
		return a, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-expired:
		return nil, syscall.EAGAIN
	}
}

// close ends accepting at once. The sockets stay until the last accepted association has ended.
func (l *udpListener) close() error {
	l.mu.Lock()
	l.stopped = true
	close(l.closed)
	var pending []*path
	for _, p := range l.peers {
		if p.next != nil {
			pending = append(pending, p.next)
		}
	}
	l.closeSocketsIfUnused()
	l.mu.Unlock()
	for _, p := range pending {
		p.shut(net.ErrClosed)
	}
	for {
		select {
		case a := <-l.backlog:
			_ = a.abort()
		default:
			return nil
		}
	}
}

// closeSocketsIfUnused is called with mu held.
func (l *udpListener) closeSocketsIfUnused() {
	if !l.stopped || len(l.peers) > 0 {
		return
	}
	for _, s := range l.sockets {
		_ = s.Close()
	}
}

// serve reads one socket until it is closed.
func (l *udpListener) serve(socket *net.UDPConn) {
	buf := make([]byte, maxDatagram)
	for {
		n, from, err := socket.ReadFromUDPAddrPort(buf)
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue
		}
		k, ok := parsePacket(append([]byte(nil), buf[:n]...))
		if !ok {
			continue
		}
		if k.first == chunkInit {
			l.handleInit(socket, from, k)
			continue
		}
		if p := l.find(peerKey{from, k.sourcePort}, k); p != nil {
			p.deliver(k)
		} else if answer := answerOutOfTheBlue(k); answer != nil {
			_, _ = socket.WriteToUDPAddrPort(answer, from)
		}
	}
}

func (l *udpListener) find(key peerKey, k packet) *path {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.peers[key]
	switch {
	case at == nil:
		return nil
	case at.next != nil && at.next.accepts(k):
		return at.next
	case at.current != nil && at.current.accepts(k):
		return at.current
	}
	return nil
}

// handleInit begins a handshake, or passes a repeated INIT to the handshake it began.
func (l *udpListener) handleInit(socket *net.UDPConn, from netip.AddrPort, k packet) {
	if k.verificationTag != 0 {
		return
	}
	key := peerKey{from, k.sourcePort}
	l.mu.Lock()
	at := l.peers[key]
	switch {
	case at != nil && at.next != nil && at.next.peerTag.Load() == k.initiateTag:
		next := at.next
		l.mu.Unlock()
		next.deliver(k)
		return
	case at != nil && at.current != nil && at.current.peerTag.Load() == k.initiateTag:
		// A late copy of the INIT that the association began with.
		l.mu.Unlock()
		return
	case l.stopped || l.handshakes >= maxHandshakes:
		l.mu.Unlock()
		return
	}
	p := newPath(
		func(raw []byte) error { _, err := socket.WriteToUDPAddrPort(raw, from); return err },
		&l.local, fromUDPAddr(net.UDPAddrFromAddrPort(netip.AddrPortFrom(from.Addr().Unmap(), from.Port()))),
		k.destinationPort, k.sourcePort,
	)
	p.onClose = func() { l.forget(key, p) }
	if at == nil {
		at = &peer{}
		l.peers[key] = at
	}
	superseded := at.next
	at.next = p
	l.handshakes++
	l.mu.Unlock()

	if superseded != nil {
		superseded.shut(net.ErrClosed)
	}
	p.deliver(k)
	go l.handshake(key, p)
}

func (l *udpListener) handshake(key peerKey, p *path) {
	patience := time.AfterFunc(handshakeTimeout, func() { p.fail(syscall.ETIMEDOUT) })
	pion, err := sctp.Server(pionConfig(p, &l.cfg))
	patience.Stop()

	l.mu.Lock()
	l.handshakes--
	if err != nil {
		l.mu.Unlock()
		p.fail(err)
		return
	}
	var replaced *path
	if at := l.peers[key]; at != nil && at.next == p {
		replaced, at.current, at.next = at.current, p, nil
	}
	l.mu.Unlock()
	if replaced != nil {
		replaced.fail(syscall.ECONNRESET)
	}
	a := newUDPAssociation(p, pion, &l.cfg)
	select {
	case <-l.closed:
		_ = a.abort()
		return
	default:
	}
	select {
	case l.backlog <- a:
	default:
		// RFC 9260 5.1: no resources. The peer tries again.
		_ = a.abort()
	}
}

// forget takes a path that has ended out of the table.
func (l *udpListener) forget(key peerKey, p *path) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.peers[key]
	if at == nil {
		return
	}
	if at.current == p {
		at.current = nil
	}
	if at.next == p {
		at.next = nil
	}
	if at.current == nil && at.next == nil {
		delete(l.peers, key)
	}
	l.closeSocketsIfUnused()
}

func fromUDPAddr(a *net.UDPAddr) *SCTPAddr {
	return &SCTPAddr{IPAddrs: []net.IPAddr{{IP: a.IP, Zone: a.Zone}}, Port: a.Port}
}
