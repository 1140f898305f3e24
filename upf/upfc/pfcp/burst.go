package pfcp

import (
	"encoding/binary"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// burst is room for datagrams that are received or sent with one system call. It is made without a word to Go's scheduler, which takes a call that lasts
// longer than 20 µs, as one for a dozen datagrams does, for one that blocks: it gives the rest of the work to another thread, and has a thread look after such
// calls fifty thousand times a second. The socket does not block.
type burst struct {
	messages [datagrams]unix.Mmsghdr
	vectors  [datagrams]unix.Iovec
	peers    [datagrams]unix.RawSockaddrInet6 // large enough for both versions
	control  [datagrams][controlSize]byte
	buffers  [datagrams][]byte
}

// datagrams is how many are received or sent with one system call.
const datagrams = 32

// controlSize is room for a datagram's time of arrival.
const controlSize = (unix.SizeofCmsghdr+7)&^7 + (timespecSize+7)&^7

// timespecSize is that of the kernel's struct timespec.
const timespecSize = int(unsafe.Sizeof(unix.Timespec{}))

// newBurst has room for datagrams of so many octets, 0: for those of others.
func newBurst(octets int) *burst {
	b := &burst{}
	for i := range b.messages {
		h := &b.messages[i].Hdr
		h.Name, h.Iov = (*byte)(unsafe.Pointer(&b.peers[i])), &b.vectors[i]
		h.SetIovlen(1)
		if octets > 0 {
			b.buffers[i] = make([]byte, octets)
			b.put(i, b.buffers[i])
		}
	}
	return b
}

func (b *burst) put(i int, octets []byte) {
	b.vectors[i].Base = unsafe.SliceData(octets)
	b.vectors[i].SetLen(len(octets))
}

// receive waits for datagrams and returns how many there are.
func (b *burst) receive(c syscall.RawConn) (n int, err error) {
	for i := range b.messages {
		h := &b.messages[i].Hdr
		h.Namelen, h.Control = unix.SizeofSockaddrInet6, &b.control[i][0]
		h.SetControllen(controlSize)
	}
	var errno syscall.Errno
	if err := c.Read(func(fd uintptr) bool {
		n, errno = b.call(unix.SYS_RECVMMSG, fd, 0, datagrams)
		return errno != unix.EAGAIN
	}); err != nil {
		return 0, err
	}
	if errno != 0 {
		return 0, errno
	}
	return n, nil
}

// send sends those from first on, and returns how many; with an error that one is at fault.
func (b *burst) send(c syscall.RawConn, first, count int) (n int, err error) {
	var errno syscall.Errno
	if err := c.Write(func(fd uintptr) bool {
		n, errno = b.call(unix.SYS_SENDMMSG, fd, first, count)
		return errno != unix.EAGAIN
	}); err != nil {
		return 0, err
	}
	if errno != 0 {
		return 0, errno
	}
	return n, nil
}

func (b *burst) call(trap, fd uintptr, first, count int) (n int, errno syscall.Errno) {
	for {
		r, _, errno := unix.RawSyscall6(trap, fd, uintptr(unsafe.Pointer(&b.messages[first])), uintptr(count), unix.MSG_DONTWAIT, 0, 0)
		switch errno {
		case 0:
			return int(r), 0
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}

// octets are those of a datagram that was received.
func (b *burst) octets(i int) []byte { return b.buffers[i][:b.messages[i].Len] }

// from is whose it is.
func (b *burst) from(i int) netip.AddrPort {
	p := &b.peers[i]
	port := binary.BigEndian.Uint16((*[2]byte)(unsafe.Pointer(&p.Port))[:])
	if p.Family == unix.AF_INET {
		return netip.AddrPortFrom(netip.AddrFrom4((*unix.RawSockaddrInet4)(unsafe.Pointer(p)).Addr), port)
	}
	addr := netip.AddrFrom16(p.Addr).Unmap()
	if p.Scope_id != 0 && addr.Is6() { // a link-local address
		addr = addr.WithZone(strconv.FormatUint(uint64(p.Scope_id), 10))
	}
	return netip.AddrPortFrom(addr, port)
}

// to addresses a datagram that is to be sent with a socket that speaks IPv6, or does not.
func (b *burst) to(i int, peer netip.AddrPort, v6 bool) {
	p, h := &b.peers[i], &b.messages[i].Hdr
	if addr := peer.Addr().Unmap(); addr.Is4() && !v6 {
		*p, h.Namelen = unix.RawSockaddrInet6{Family: unix.AF_INET}, unix.SizeofSockaddrInet4
		(*unix.RawSockaddrInet4)(unsafe.Pointer(p)).Addr = addr.As4()
	} else { // an IPv4 address is mapped; one of IPv6, the kernel does not take from a socket of IPv4
		*p, h.Namelen = unix.RawSockaddrInet6{Family: unix.AF_INET6, Addr: addr.As16(), Scope_id: scope(addr.Zone())}, unix.SizeofSockaddrInet6
	}
	binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&p.Port))[:], peer.Port())
}

// scope is a zone as the kernel has it.
func scope(zone string) uint32 {
	if zone == "" {
		return 0
	}
	if n, err := strconv.ParseUint(zone, 10, 32); err == nil {
		return uint32(n)
	}
	if i, err := net.InterfaceByName(zone); err == nil {
		return uint32(i.Index)
	}
	return 0
}

// arrived is when the kernel received a datagram, by its control messages (SO_TIMESTAMPNS); otherwise the time
// at which it was read.
func (b *burst) arrived(i int, read time.Time) time.Time {
	header := unix.CmsgLen(0)
	control := b.control[i][:min(int(b.messages[i].Hdr.Controllen), controlSize)]
	if len(control) < header+timespecSize {
		return read
	}
	h := (*unix.Cmsghdr)(unsafe.Pointer(&control[0]))
	if h.Level != unix.SOL_SOCKET || h.Type != unix.SO_TIMESTAMPNS {
		return read
	}
	at := (*unix.Timespec)(unsafe.Pointer(&control[header]))
	return time.Unix(at.Unix())
}
