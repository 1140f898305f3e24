package sctp

import (
	"fmt"
	"net"
	"os"
	"time"
)

// TransportEnv is the environment variable that chooses the transport.
const TransportEnv = "SCTP_TRANSPORT"

// transport makes listeners and associations: the kernel's SCTP, or SCTP in UDP.
type transport interface {
	listen(network string, laddr *SCTPAddr, cfg *SocketConfig) (acceptor, error)
	dial(network string, laddr, raddr *SCTPAddr, cfg *SocketConfig) (association, error)
}

// acceptor waits for associations. accept returns syscall.EAGAIN after timeout (below 0: never) and
// net.ErrClosed once close was called.
type acceptor interface {
	accept(timeout time.Duration) (association, error)
	addr() *SCTPAddr
	close() error
}

// association is one SCTP association. Its methods may be called at the same time.
type association interface {
	// read gives one message with its SndRcvInfo, or a notification. A message longer than b is cut.
	read(b []byte) (int, *SndRcvInfo, Notification, error)
	write(b []byte, info *SndRcvInfo) (int, error)
	// close shuts down in order (RFC 9260 9.2) as far as the peer still answers.
	close() error
	// abort ends the association at once (RFC 9260 9.1).
	abort() error

	subscribe(events int) error
	setDefaultSent(info SndRcvInfo) error
	defaultSent() (SndRcvInfo, error)
	setReadBuffer(octets int) error
	readBuffer() (int, error)
	setWriteBuffer(octets int) error
	writeBuffer() (int, error)
	// setTimeout applies to each read and write that follows; 0 means none.
	setReadTimeout(d time.Duration) error
	setWriteTimeout(d time.Duration) error
	setReadDeadline(t time.Time) error
	setWriteDeadline(t time.Time) error
	// outboundStreams is how many streams there are for what is sent (RFC 9260 5.1.1).
	outboundStreams() (uint16, error)
	localAddr() (*SCTPAddr, error)
	remoteAddr() (*SCTPAddr, error)
}

// selectTransport reads SCTP_TRANSPORT at each use, which costs nothing beside an association and lets
// one test process hold both transports.
func selectTransport() (transport, error) {
	switch choice := os.Getenv(TransportEnv); choice {
	case "kernel":
		return kernelTransport{}, nil
	case "udp":
		return udpTransport{}, nil
	case "":
		if kernelHasSCTP() {
			return kernelTransport{}, nil
		}
		return udpTransport{}, nil
	default:
		return nil, fmt.Errorf("%s=%q: want kernel, udp or nothing", TransportEnv, choice)
	}
}

// Transport names the transport in use: "kernel" or "udp".
func Transport() (string, error) {
	t, err := selectTransport()
	if err != nil {
		return "", err
	}
	if _, ok := t.(kernelTransport); ok {
		return "kernel", nil
	}
	return "udp", nil
}

// deadlineAfter gives the time at which a wait of d ends, and the zero time for a wait without end.
func deadlineAfter(d time.Duration) time.Time {
	if d <= 0 {
		return time.Time{}
	}
	return time.Now().Add(d)
}

// earlier gives the earlier of two deadlines; the zero time is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

var _ net.Conn = (*SCTPConn)(nil)
