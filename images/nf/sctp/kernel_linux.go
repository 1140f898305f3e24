package sctp

// One-to-one style sockets of the kernel (RFC 6458 4). Each socket is non-blocking and lives in an
// os.File, so that the Go runtime waits for it: deadlines work, and a descriptor is never closed, and
// perhaps given out again, while a read or write on it is under way.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// linux/sctp.h
const (
	optRtoInfo          = 0
	optAssocInfo        = 1
	optInitMsg          = 2
	optNoDelay          = 3
	optDefaultSendParam = 10
	optEvents           = 11
	optMaxSeg           = 13
	optStatus           = 14
	optBindxAdd         = 100
	optGetPeerAddrs     = 108
	optGetLocalAddrs    = 109
	optConnectx         = 110

	cmsgSndRcv      = 1
	msgNotification = 0x8000
)

// Lengths of linux/sctp.h structures that are passed as octets.
const (
	eventSubscribeLength = 10
	getAddrsHeaderLength = 8
	sockaddrInet4Length  = 16
	sockaddrInet6Length  = 28
	statusLength         = 176
	statusOutbound       = 18 // where sstat_outstrms is
)

// dialTimeout bounds the whole handshake; the kernel usually gives up earlier (net.sctp.max_init_retransmits).
const dialTimeout = time.Minute

var kernelHasSCTP = sync.OnceValue(func() bool {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, syscall.IPPROTO_SCTP)
	if err != nil {
		return false
	}
	_ = syscall.Close(fd)
	return true
})

type kernelTransport struct{}

// kernelSocket is a non-blocking SCTP socket under the runtime's poller.
type kernelSocket struct {
	file *os.File
	raw  syscall.RawConn
}

func newKernelSocket(fd int) (*kernelSocket, error) {
	if err := syscall.SetNonblock(fd, true); err != nil {
		_ = syscall.Close(fd)
		return nil, os.NewSyscallError("fcntl", err)
	}
	file := os.NewFile(uintptr(fd), "sctp")
	raw, err := file.SyscallConn()
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return &kernelSocket{file: file, raw: raw}, nil
}

// openKernelSocket makes a socket with all options of cfg set, bound to laddr if there is one.
func openKernelSocket(network string, laddr, raddr *SCTPAddr, cfg *SocketConfig) (*kernelSocket, error) {
	family := syscall.AF_INET
	if isIPv6(network, laddr, raddr) {
		family = syscall.AF_INET6
	}
	fd, err := syscall.Socket(family, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK,
		syscall.IPPROTO_SCTP)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	s, err := newKernelSocket(fd)
	if err != nil {
		return nil, err
	}
	if err := s.configure(network, family, laddr, cfg); err != nil {
		_ = s.file.Close()
		return nil, err
	}
	return s, nil
}

func (s *kernelSocket) configure(network string, family int, laddr *SCTPAddr, cfg *SocketConfig) error {
	if cfg.Control != nil {
		if err := cfg.Control(network, laddr.String(), s.raw); err != nil {
			return err
		}
	}
	init, rto, assoc := cfg.InitMsg, cfg.RtoInfo, cfg.AssocInfo
	if err := s.setOption("SCTP_INITMSG", optInitMsg, unsafe.Pointer(&init), unsafe.Sizeof(init)); err != nil {
		return err
	}
	if rto != nil {
		if err := s.setOption("SCTP_RTOINFO", optRtoInfo, unsafe.Pointer(rto), unsafe.Sizeof(*rto)); err != nil {
			return err
		}
	}
	if assoc != nil {
		if err := s.setOption("SCTP_ASSOCINFO", optAssocInfo, unsafe.Pointer(assoc), unsafe.Sizeof(*assoc)); err != nil {
			return err
		}
	}
	if cfg.MaxSeg > 0 {
		value := struct {
			id  SCTPAssocID
			seg uint32
		}{seg: uint32(cfg.MaxSeg)}
		if err := s.setOption("SCTP_MAXSEG", optMaxSeg, unsafe.Pointer(&value), unsafe.Sizeof(value)); err != nil {
			return err
		}
	}
	// Signalling is small and urgent: no Nagle.
	noDelay := int32(1)
	if err := s.setOption("SCTP_NODELAY", optNoDelay, unsafe.Pointer(&noDelay), unsafe.Sizeof(noDelay)); err != nil {
		return err
	}
	if err := s.setIntOption(syscall.SO_REUSEADDR, 1); err != nil {
		return err
	}
	if laddr == nil {
		return nil
	}
	addrs := rawSockaddrs(laddr, family)
	return s.setOption("SCTP_SOCKOPT_BINDX_ADD", optBindxAdd, unsafe.Pointer(&addrs[0]), uintptr(len(addrs)))
}

func (s *kernelSocket) setOption(name string, option uintptr, value unsafe.Pointer, length uintptr) error {
	var errno syscall.Errno
	if err := s.raw.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall6(syscall.SYS_SETSOCKOPT, fd, syscall.IPPROTO_SCTP, option,
			uintptr(value), length, 0)
	}); err != nil {
		return syscall.EBADF
	}
	if errno != 0 {
		return fmt.Errorf("setsockopt %s: %w", name, errno)
	}
	return nil
}

func (s *kernelSocket) getOption(name string, option uintptr, value []byte) (int, error) {
	length := uint32(len(value))
	var errno syscall.Errno
	if err := s.raw.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall6(syscall.SYS_GETSOCKOPT, fd, syscall.IPPROTO_SCTP, option,
			uintptr(unsafe.Pointer(&value[0])), uintptr(unsafe.Pointer(&length)), 0)
	}); err != nil {
		return 0, syscall.EBADF
	}
	if errno != 0 {
		return 0, fmt.Errorf("getsockopt %s: %w", name, errno)
	}
	return int(length), nil
}

func (s *kernelSocket) setIntOption(option, value int) error {
	var err error
	if cerr := s.raw.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, option, value)
	}); cerr != nil {
		return syscall.EBADF
	}
	return os.NewSyscallError("setsockopt", err)
}

func (s *kernelSocket) intOption(option int) (int, error) {
	var value int
	var err error
	if cerr := s.raw.Control(func(fd uintptr) {
		value, err = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, option)
	}); cerr != nil {
		return 0, syscall.EBADF
	}
	return value, os.NewSyscallError("getsockopt", err)
}

// outboundStreams reads SCTP_STATUS (RFC 6458 8.2.1).
func (s *kernelSocket) outboundStreams() (uint16, error) {
	status := make([]byte, statusLength)
	n, err := s.getOption("SCTP_STATUS", optStatus, status)
	if err != nil {
		return 0, err
	}
	if n < statusOutbound+2 {
		return 0, fmt.Errorf("getsockopt SCTP_STATUS: %d octets", n)
	}
	return binary.NativeEndian.Uint16(status[statusOutbound:]), nil
}

// addrs reads the local or the peer's addresses (RFC 6458 9.3, 9.5).
func (s *kernelSocket) addrs(name string, option uintptr) (*SCTPAddr, error) {
	buf := make([]byte, 4096)
	if _, err := s.getOption(name, option, buf); err != nil {
		return nil, err
	}
	count := binary.NativeEndian.Uint32(buf[4:])
	return parseSockaddrs(buf[getAddrsHeaderLength:], int(count))
}

func (kernelTransport) listen(network string, laddr *SCTPAddr, cfg *SocketConfig) (acceptor, error) {
	if laddr == nil {
		laddr = &SCTPAddr{}
	}
	s, err := openKernelSocket(network, laddr, nil, cfg)
	if err != nil {
		return nil, fmt.Errorf("sctp listen %s: %w", laddr, err)
	}
	if cerr := s.raw.Control(func(fd uintptr) { err = syscall.Listen(int(fd), syscall.SOMAXCONN) }); cerr != nil {
		err = cerr
	}
	if err != nil {
		_ = s.file.Close()
		return nil, fmt.Errorf("sctp listen %s: %w", laddr, err)
	}
	return &kernelListener{kernelSocket: s}, nil
}

type kernelListener struct{ *kernelSocket }

func (l *kernelListener) accept(timeout time.Duration) (association, error) {
	deadline := time.Time{}
	if timeout >= 0 {
		deadline = time.Now().Add(timeout)
	}
	if err := l.file.SetReadDeadline(deadline); err != nil {
		return nil, net.ErrClosed
	}
	fd, err := -1, error(nil)
	if rerr := l.raw.Read(func(listener uintptr) bool {
		fd, _, err = syscall.Accept4(int(listener), syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK)
		return err != syscall.EAGAIN
	}); rerr != nil {
		if errors.Is(rerr, os.ErrDeadlineExceeded) {
			return nil, syscall.EAGAIN
		}
		return nil, net.ErrClosed
	}
	if err != nil {
		return nil, err
	}
	s, err := newKernelSocket(fd)
	if err != nil {
		return nil, err
	}
	return &kernelAssociation{kernelSocket: s}, nil
}

func (l *kernelListener) addr() *SCTPAddr {
	a, err := l.addrs("SCTP_GET_LOCAL_ADDRS", optGetLocalAddrs)
	if err != nil {
		return nil
	}
	return a
}

func (l *kernelListener) close() error { return l.file.Close() }

func (kernelTransport) dial(network string, laddr, raddr *SCTPAddr, cfg *SocketConfig) (association, error) {
	s, err := openKernelSocket(network, laddr, raddr, cfg)
	if err != nil {
		return nil, fmt.Errorf("sctp dial %s: %w", raddr, err)
	}
	if err := s.connect(raddr, isIPv6(network, laddr, raddr)); err != nil {
		_ = s.file.Close()
		return nil, fmt.Errorf("sctp dial %s: %w", raddr, err)
	}
	return &kernelAssociation{kernelSocket: s}, nil
}

func (s *kernelSocket) connect(raddr *SCTPAddr, ipv6 bool) error {
	family := syscall.AF_INET
	if ipv6 {
		family = syscall.AF_INET6
	}
	addrs := rawSockaddrs(raddr, family)
	err := s.setOption("SCTP_SOCKOPT_CONNECTX", optConnectx, unsafe.Pointer(&addrs[0]), uintptr(len(addrs)))
	if err != nil && !errors.Is(err, syscall.EINPROGRESS) {
		return err
	}
	if err := s.file.SetWriteDeadline(time.Now().Add(dialTimeout)); err != nil {
		return err
	}
	defer func() { _ = s.file.SetWriteDeadline(time.Time{}) }()
	var result error
	if err := s.raw.Write(func(fd uintptr) bool {
		soError, err := syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_ERROR)
		switch {
		case err != nil:
			result = err
		case soError != 0:
			result = syscall.Errno(soError)
		default:
			// A socket that is not there yet may already look writable; only a peer is proof.
			_, result = syscall.Getpeername(int(fd))
			return !errors.Is(result, syscall.ENOTCONN)
		}
		return true
	}); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return syscall.ETIMEDOUT
		}
		return err
	}
	return result
}

type kernelAssociation struct {
	*kernelSocket

	readTimeout, writeTimeout   atomic.Int64
	readDeadline, writeDeadline atomic.Pointer[time.Time]
}

func loadDeadline(p *atomic.Pointer[time.Time]) time.Time {
	if t := p.Load(); t != nil {
		return *t
	}
	return time.Time{}
}

func (a *kernelAssociation) read(b []byte) (int, *SndRcvInfo, Notification, error) {
	deadline := earlier(loadDeadline(&a.readDeadline), deadlineAfter(time.Duration(a.readTimeout.Load())))
	if err := a.file.SetReadDeadline(deadline); err != nil {
		return 0, nil, nil, syscall.EBADF
	}
	control := make([]byte, 256)
	n, controlLength, flags, err := a.receive(b, control)
	if err != nil {
		return 0, nil, nil, err
	}
	if n == 0 && controlLength == 0 && flags&msgNotification == 0 {
		return 0, nil, nil, io.EOF
	}
	// A message that is larger than the window comes in parts, the last with MSG_EOR (RFC 6458 3.1.4). Whoever waits for
	// a message waits for its end too. What has no room in b is dropped: it must not pass for a message.
	if flags&syscall.MSG_EOR == 0 {
		if err := a.file.SetReadDeadline(time.Time{}); err != nil {
			return 0, nil, nil, syscall.EBADF
		}
	}
	for more := flags; more&syscall.MSG_EOR == 0; {
		room := b[n:]
		if len(room) == 0 {
			room = make([]byte, 4096)
		}
		var got int
		if got, _, more, err = a.receive(room, nil); err != nil {
			return 0, nil, nil, err
		}
		if got == 0 {
			return 0, nil, nil, io.EOF
		}
		n += min(got, len(b)-n)
	}
	if flags&msgNotification != 0 {
		return n, nil, parseNotification(b[:n]), nil
	}
	return n, parseSndRcvInfo(control[:controlLength]), nil, nil
}

func (a *kernelAssociation) receive(b, control []byte) (n, controlLength, flags int, err error) {
	rerr := a.raw.Read(func(fd uintptr) bool {
		n, controlLength, flags, _, err = syscall.Recvmsg(int(fd), b, control, 0)
		return err != syscall.EAGAIN
	})
	switch {
	case rerr == nil:
		return n, controlLength, flags, err
	case errors.Is(rerr, os.ErrDeadlineExceeded):
		return 0, 0, 0, syscall.EAGAIN
	default:
		return 0, 0, 0, syscall.EBADF
	}
}

func parseSndRcvInfo(control []byte) *SndRcvInfo {
	messages, err := syscall.ParseSocketControlMessage(control)
	if err != nil {
		return nil
	}
	for _, m := range messages {
		if m.Header.Level != syscall.IPPROTO_SCTP || m.Header.Type != cmsgSndRcv {
			continue
		}
		info := new(SndRcvInfo)
		if len(m.Data) < int(unsafe.Sizeof(*info)) {
			return nil
		}
		copy(unsafe.Slice((*byte)(unsafe.Pointer(info)), unsafe.Sizeof(*info)), m.Data)
		return info
	}
	return nil
}

func (a *kernelAssociation) write(b []byte, info *SndRcvInfo) (int, error) {
	if len(b) == 0 {
		return 0, syscall.EINVAL
	}
	deadline := earlier(loadDeadline(&a.writeDeadline), deadlineAfter(time.Duration(a.writeTimeout.Load())))
	if err := a.file.SetWriteDeadline(deadline); err != nil {
		return 0, syscall.EBADF
	}
	var control []byte
	if info != nil {
		size := int(unsafe.Sizeof(*info))
		control = make([]byte, syscall.CmsgSpace(size))
		header := (*syscall.Cmsghdr)(unsafe.Pointer(&control[0]))
		header.Level, header.Type = syscall.IPPROTO_SCTP, cmsgSndRcv
		header.SetLen(syscall.CmsgLen(size))
		copy(control[syscall.CmsgLen(0):], unsafe.Slice((*byte)(unsafe.Pointer(info)), size))
	}
	var n int
	var err error
	werr := a.raw.Write(func(fd uintptr) bool {
		n, err = syscall.SendmsgN(int(fd), b, control, nil, syscall.MSG_NOSIGNAL)
		return err != syscall.EAGAIN
	})
	switch {
	case werr == nil:
		return n, err
	case errors.Is(werr, os.ErrDeadlineExceeded):
		return 0, syscall.EAGAIN
	default:
		return 0, syscall.EBADF
	}
}

func (a *kernelAssociation) close() error { return a.file.Close() }

func (a *kernelAssociation) abort() error {
	// RFC 6458 8.1.4: lingering for no time at all is an ABORT.
	_ = a.raw.Control(func(fd uintptr) {
		_ = syscall.SetsockoptLinger(int(fd), syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1})
	})
	return a.file.Close()
}

func (a *kernelAssociation) subscribe(events int) error {
	// struct sctp_event_subscribe has one octet per bit of SCTP_EVENT_…, in the same order.
	var octets [eventSubscribeLength]byte
	for i := range octets {
		octets[i] = byte(events >> i & 1)
	}
	return a.setOption("SCTP_EVENTS", optEvents, unsafe.Pointer(&octets), eventSubscribeLength)
}

func (a *kernelAssociation) setDefaultSent(info SndRcvInfo) error {
	return a.setOption("SCTP_DEFAULT_SEND_PARAM", optDefaultSendParam, unsafe.Pointer(&info), unsafe.Sizeof(info))
}

func (a *kernelAssociation) defaultSent() (SndRcvInfo, error) {
	var info SndRcvInfo
	octets := unsafe.Slice((*byte)(unsafe.Pointer(&info)), unsafe.Sizeof(info))
	_, err := a.getOption("SCTP_DEFAULT_SEND_PARAM", optDefaultSendParam, octets)
	return info, err
}

func (a *kernelAssociation) setReadBuffer(n int) error  { return a.setIntOption(syscall.SO_RCVBUF, n) }
func (a *kernelAssociation) readBuffer() (int, error)   { return a.intOption(syscall.SO_RCVBUF) }
func (a *kernelAssociation) setWriteBuffer(n int) error { return a.setIntOption(syscall.SO_SNDBUF, n) }
func (a *kernelAssociation) writeBuffer() (int, error)  { return a.intOption(syscall.SO_SNDBUF) }
func (a *kernelAssociation) localAddr() (*SCTPAddr, error) {
	return a.addrs("SCTP_GET_LOCAL_ADDRS", optGetLocalAddrs)
}
func (a *kernelAssociation) remoteAddr() (*SCTPAddr, error) {
	return a.addrs("SCTP_GET_PEER_ADDRS", optGetPeerAddrs)
}

func (a *kernelAssociation) setReadTimeout(d time.Duration) error {
	a.readTimeout.Store(int64(d))
	return nil
}

func (a *kernelAssociation) setWriteTimeout(d time.Duration) error {
	a.writeTimeout.Store(int64(d))
	return nil
}

func (a *kernelAssociation) setReadDeadline(t time.Time) error {
	a.readDeadline.Store(&t)
	return a.file.SetReadDeadline(t)
}

func (a *kernelAssociation) setWriteDeadline(t time.Time) error {
	a.writeDeadline.Store(&t)
	return a.file.SetWriteDeadline(t)
}

// rawSockaddrs packs the addresses as sctp_bindx and sctp_connectx want them: one after another, each
// as long as its family. No address means the unspecified one.
func rawSockaddrs(a *SCTPAddr, family int) []byte {
	ips := a.IPAddrs
	if len(ips) == 0 {
		ips = []net.IPAddr{{IP: net.IPv4zero}}
		if family == syscall.AF_INET6 {
			ips[0].IP = net.IPv6unspecified
		}
	}
	var out []byte
	for _, ip := range ips {
		ip4 := ip.IP.To4()
		if len(ip.IP) == 0 {
			ip4 = net.IPv4zero.To4()
		}
		if ip4 != nil {
			sa := make([]byte, sockaddrInet4Length)
			binary.NativeEndian.PutUint16(sa, syscall.AF_INET)
			binary.BigEndian.PutUint16(sa[2:], uint16(a.Port))
			copy(sa[4:], ip4)
			out = append(out, sa...)
			continue
		}
		sa := make([]byte, sockaddrInet6Length)
		binary.NativeEndian.PutUint16(sa, syscall.AF_INET6)
		binary.BigEndian.PutUint16(sa[2:], uint16(a.Port))
		copy(sa[8:], ip.IP.To16())
		if zone, err := net.InterfaceByName(ip.Zone); err == nil {
			binary.NativeEndian.PutUint32(sa[24:], uint32(zone.Index))
		}
		out = append(out, sa...)
	}
	return out
}

// parseSockaddrs reads count addresses packed as rawSockaddrs packs them.
func parseSockaddrs(b []byte, count int) (*SCTPAddr, error) {
	out := new(SCTPAddr)
	for range count {
		if len(b) < sockaddrInet4Length {
			return nil, syscall.EINVAL
		}
		out.Port = int(binary.BigEndian.Uint16(b[2:]))
		switch binary.NativeEndian.Uint16(b) {
		case syscall.AF_INET:
			out.IPAddrs = append(out.IPAddrs, net.IPAddr{IP: append(net.IP(nil), b[4:8]...)})
			b = b[sockaddrInet4Length:]
		case syscall.AF_INET6:
			if len(b) < sockaddrInet6Length {
				return nil, syscall.EINVAL
			}
			ip := net.IPAddr{IP: append(net.IP(nil), b[8:24]...)}
			if index := binary.NativeEndian.Uint32(b[24:]); index != 0 {
				if zone, err := net.InterfaceByIndex(int(index)); err == nil {
					ip.Zone = zone.Name
				}
			}
			out.IPAddrs = append(out.IPAddrs, ip)
			b = b[sockaddrInet6Length:]
		default:
			return nil, syscall.EAFNOSUPPORT
		}
	}
	return out, nil
}
