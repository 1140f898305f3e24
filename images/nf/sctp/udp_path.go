package sctp

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// pionPort is the SCTP port that pion/sctp uses for both ends; a path puts the real ones on the wire.
const pionPort = 5000

// pathQueue bounds the packets that wait for pion. A packet beyond it is dropped, as a full socket
// buffer would; SCTP sends it again.
const pathQueue = 512

// ending is how an association came to its end.
type ending int32

const (
	endNone ending = iota
	endShutdown
	endLost
)

// path is one peer on a UDP socket, and the net.Conn that pion/sctp runs on. The socket's reader
// delivers packets; pion reads and writes.
type path struct {
	send                  func(raw []byte) error
	local, remote         *SCTPAddr
	localPort, remotePort uint16
	onClose               func()

	// The verification tags, learnt from the INIT and INIT ACK that pass: localTag is on packets to us.
	localTag, peerTag atomic.Uint32
	// streams that the peer takes, learnt likewise.
	streams atomic.Uint32
	// lastHeard is when the last packet with a right tag came, in Unix nanoseconds.
	lastHeard atomic.Int64
	end       atomic.Int32

	in     chan []byte
	closed chan struct{}
	once   sync.Once
	err    error // why, set before closed is closed
}

func newPath(send func([]byte) error, local, remote *SCTPAddr, localPort, remotePort uint16) *path {
	p := &path{
		send: send, local: local, remote: remote, localPort: localPort, remotePort: remotePort,
		in: make(chan []byte, pathQueue), closed: make(chan struct{}),
	}
	p.lastHeard.Store(time.Now().UnixNano())
	return p
}

// accepts tells whether the packet's verification tag is right for this association (RFC 9260 8.5).
func (p *path) accepts(k packet) bool {
	if k.first == chunkInit {
		return k.verificationTag == 0
	}
	if (k.first == chunkAbort || k.first == chunkShutdownComplete) && k.firstFlags&flagT != 0 {
		return k.verificationTag == p.peerTag.Load()
	}
	return k.verificationTag == p.localTag.Load()
}

// deliver hands a packet to pion. It keeps k.raw.
func (p *path) deliver(k packet) {
	p.lastHeard.Store(time.Now().UnixNano())
	if k.initiateTag != 0 {
		k.raw = withoutAddresses(k.raw)
		p.peerTag.Store(k.initiateTag)
		p.streams.Store(uint32(k.inboundStreams))
	}
	switch {
	case k.abort:
		p.end.CompareAndSwap(int32(endNone), int32(endLost))
	case k.shutdown:
		p.end.CompareAndSwap(int32(endNone), int32(endShutdown))
	}
	setPorts(k.raw, pionPort, pionPort)
	select {
	case p.in <- k.raw:
	case <-p.closed:
	default:
	}
}

// fail ends the path for a reason other than the peer's SHUTDOWN.
func (p *path) fail(err error) {
	p.end.CompareAndSwap(int32(endNone), int32(endLost))
	p.shut(err)
}

func (p *path) shut(err error) {
	p.once.Do(func() {
		p.err = err
		close(p.closed)
		if p.onClose != nil {
			p.onClose()
		}
	})
}

// abort tells the peer that the association is over, if it ever began.
func (p *path) abort() {
	if tag := p.peerTag.Load(); tag != 0 {
		_ = p.send(controlPacket(p.localPort, p.remotePort, tag, chunkAbort, 0))
	}
}

// heartbeat asks the peer for a sign of life (RFC 9260 8.3). pion answers heartbeats well, but its own
// lack the mandatory Heartbeat Info, so that nobody answers them.
func (p *path) heartbeat() {
	info := []byte{0, 1, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0}
	binary.BigEndian.PutUint64(info[4:], uint64(time.Now().UnixNano()))
	_ = p.send(controlPacket(p.localPort, p.remotePort, p.peerTag.Load(), chunkHeartbeat, 0, info...))
}

// Read implements net.Conn for pion: one packet at a time.
func (p *path) Read(b []byte) (int, error) {
	select {
	case raw := <-p.in:
		return copy(b, raw), nil
	default:
	}
	select {
	case raw := <-p.in:
		return copy(b, raw), nil
	case <-p.closed:
		return 0, io.EOF
	}
}

// Write implements net.Conn for pion. Losing a packet is no error for SCTP; a peer that is not there is.
func (p *path) Write(b []byte) (int, error) {
	select {
	case <-p.closed:
		return 0, io.EOF
	default:
	}
	raw := append([]byte(nil), b...)
	setPorts(raw, p.localPort, p.remotePort)
	if t := chunkType(raw[commonHeaderLength]); t == chunkInit || t == chunkInitAck {
		if k, ok := parsePacket(raw); ok {
			p.localTag.Store(k.initiateTag)
		}
	}
	if err := p.send(raw); err != nil {
		if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, net.ErrClosed) {
			p.fail(err)
			return 0, io.EOF
		}
	}
	return len(b), nil
}

// Close implements net.Conn for pion.
func (p *path) Close() error {
	p.shut(net.ErrClosed)
	return nil
}

// LocalAddr implements net.Conn.
func (p *path) LocalAddr() net.Addr { return p.local }

// RemoteAddr implements net.Conn.
func (p *path) RemoteAddr() net.Addr { return p.remote }

// SetDeadline, SetReadDeadline and SetWriteDeadline implement net.Conn; pion needs them only in Abort,
// which path.abort replaces.
func (p *path) SetDeadline(time.Time) error      { return nil }
func (p *path) SetReadDeadline(time.Time) error  { return nil }
func (p *path) SetWriteDeadline(time.Time) error { return nil }
