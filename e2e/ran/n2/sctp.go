package n2

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"syscall"

	"github.com/free5gc/ngap"
	"github.com/free5gc/sctp"
)

// maxMessage is more than any NGAP message that an AMF sends.
const maxMessage = 256 << 10

// sctpConn carries N2 by SCTP (TS 38.412): the kernel's, or over UDP, as SCTP_TRANSPORT says.
type sctpConn struct {
	conn   *sctp.SCTPConn
	buf    []byte
	writes sync.Mutex
}

// DialSCTP is the Dialer of production. A host with several addresses is tried address by address.
func DialSCTP(ctx context.Context, address string) (Conn, error) {
	host, p, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(p, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("port of %q: %w", address, err)
	}
	ips, err := net.DefaultResolver.LookupIP(ctx, "ip4", host)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, ip := range ips {
		c, err := dial(ctx, ip, int(port))
		if err == nil {
			return c, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", ip, err))
	}
	return nil, errors.Join(errs...)
}

func dial(ctx context.Context, ip net.IP, port int) (Conn, error) {
	type result struct {
		c   *sctp.SCTPConn
		err error
	}
	done := make(chan result, 1)
	go func() {
		c, err := sctp.DialSCTPExt("sctp4", nil, &sctp.SCTPAddr{IPAddrs: []net.IPAddr{{IP: ip}}, Port: port},
			// An INIT is sent three times at most, so that a dead AMF costs seconds, not minutes.
			sctp.InitMsg{NumOstreams: 3, MaxInstreams: 5, MaxAttempts: 3, MaxInitTimeout: 2000},
			&sctp.RtoInfo{SrtoInitial: 500, SrtoMax: 1500, StroMin: 100},
			&sctp.AssocInfo{AsocMaxRxt: 4}, sctp.SCTP_DEFAULT_MAXSEG)
		done <- result{c, err}
	}()
	select {
	case <-ctx.Done():
		go func() { // the dial ends by its own limits
			if r := <-done; r.err == nil {
				r.c.Close()
			}
		}()
		return nil, ctx.Err()
	case r := <-done:
		if r.err != nil {
			return nil, r.err
		}
		if err := r.c.SubscribeEvents(sctp.SCTP_EVENT_DATA_IO | sctp.SCTP_EVENT_ASSOCIATION | sctp.SCTP_EVENT_SHUTDOWN); err != nil {
			r.c.Close()
			return nil, fmt.Errorf("subscribe to events: %w", err)
		}
		return &sctpConn{conn: r.c, buf: make([]byte, maxMessage)}, nil
	}
}

func (s *sctpConn) Send(stream uint16, msg []byte) error {
	s.writes.Lock()
	defer s.writes.Unlock()
	_, err := s.conn.SCTPWrite(msg, &sctp.SndRcvInfo{Stream: stream, PPID: ngap.PPID})
	return err
}

func (s *sctpConn) Recv() ([]byte, error) {
	for {
		n, info, note, err := s.conn.SCTPRead(s.buf)
		switch {
		case errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return nil, err
		}
		if note != nil {
			if ended(note) {
				return nil, io.EOF
			}
			continue
		}
		if info == nil || info.PPID != ngap.PPID {
			continue // TS 38.412 7: other payload protocols are not for us
		}
		if n == 0 {
			return nil, io.EOF
		}
		return append([]byte(nil), s.buf[:n]...), nil
	}
}

// ended says whether a notification means that the association is over.
func ended(note sctp.Notification) bool {
	switch note.Type() {
	case sctp.SCTP_SHUTDOWN_EVENT:
		return true
	case sctp.SCTP_ASSOC_CHANGE:
		change, ok := note.(*sctp.SCTPAssocChangeEvent)
		return ok && (change.State() == sctp.SCTP_COMM_LOST || change.State() == sctp.SCTP_SHUTDOWN_COMP || change.State() == sctp.SCTP_RESTART)
	}
	return false
}

// Peer are the AMF's addresses.
func (s *sctpConn) Peer() (out []string) {
	if at, is := s.conn.RemoteAddr().(*sctp.SCTPAddr); is {
		for _, ip := range at.IPAddrs {
			out = append(out, ip.IP.String())
		}
	}
	return out
}

func (s *sctpConn) Close() error { return s.conn.Close() }

// Abort ends the association without a shutdown, as a process that is killed does.
func (s *sctpConn) Abort() error { return s.conn.Abort() }
