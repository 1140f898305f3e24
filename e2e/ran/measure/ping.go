package measure

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// PingConfig says what to ping, how often.
type PingConfig struct {
	To       netip.Addr
	Count    int
	Interval time.Duration
	Timeout  time.Duration // for each reply
	Size     int           // octets after the ICMP header
	// WarmUp, if above 0, is how long to ping for a first reply before anything is counted: the core
	// finishes a session's downlink a moment after the UE has got its address.
	WarmUp time.Duration
	// WarmUpOnly ends with that reply.
	WarmUpOnly bool
}

// PingResult is what came of it. Loss is in percent.
type PingResult struct {
	To       string  `json:"to"`
	From     string  `json:"from,omitempty"`
	Via      string  `json:"via"` // the device, "in-process" or "host"
	Sent     int     `json:"sent"`
	Received int     `json:"received"`
	Loss     float64 `json:"loss"`
	WarmUp   int     `json:"warm_up_sent,omitempty"` // requests before the first reply, not counted
	RTT      *RTT    `json:"rtt_ms,omitempty"`
	Duration float64 `json:"duration_seconds"`
}

// RTT are round-trip times in milliseconds.
type RTT struct {
	Min    float64 `json:"min"`
	Avg    float64 `json:"avg"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

// Echo is an ICMP echo request or reply.
type Echo struct {
	ID, Sequence uint16
	Payload      []byte
}

// Marshal encodes an echo request (RFC 792).
func (e Echo) Marshal() []byte {
	const echoRequest = 8
	b := make([]byte, 8+len(e.Payload))
	b[0] = echoRequest
	binary.BigEndian.PutUint16(b[4:], e.ID)
	binary.BigEndian.PutUint16(b[6:], e.Sequence)
	copy(b[8:], e.Payload)
	binary.BigEndian.PutUint16(b[2:], Checksum(b))
	return b
}

// Checksum is the Internet checksum (RFC 1071).
func Checksum(b []byte) uint16 {
	var sum uint32
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(b[i])<<8 | uint32(b[i+1])
	}
	if len(b)%2 == 1 {
		sum += uint32(b[len(b)-1]) << 8
	}
	for sum>>16 != 0 {
		sum = sum&0xFFFF + sum>>16
	}
	return ^uint16(sum)
}

// IPv4 puts an IPv4 header before a payload.
func IPv4(src, dst netip.Addr, protocol uint8, payload []byte) []byte {
	b := make([]byte, 20+len(payload))
	b[0], b[8], b[9] = 0x45, 64, protocol
	binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
	s, d := src.As4(), dst.As4()
	copy(b[12:], s[:])
	copy(b[16:], d[:])
	binary.BigEndian.PutUint16(b[10:], Checksum(b[:20]))
	copy(b[20:], payload)
	return b
}

// Pinger sends echo requests and tells of replies.
type Pinger interface {
	Send(Echo) error
	// Replies gives sequence numbers with the time of their arrival.
	Replies() <-chan Reply
}

// Reply is one echo reply.
type Reply struct {
	Sequence uint16
	At       time.Time
}

func (c *PingConfig) defaults() {
	if c.Count <= 0 {
		c.Count = 4
	}
	if c.Interval <= 0 {
		c.Interval = 200 * time.Millisecond
	}
	if c.Timeout <= 0 {
		c.Timeout = 2 * time.Second
	}
	if c.Size <= 0 {
		c.Size = 56
	}
}

// Run sends cfg.Count requests with the identifier id and collects replies until all are in, or the
// last one's time is over.
func Run(ctx context.Context, cfg PingConfig, id uint16, p Pinger) (PingResult, error) {
	cfg.defaults()
	res := PingResult{To: cfg.To.String()}
	if cfg.WarmUp > 0 {
		if err := warmUp(ctx, cfg, id, p, &res); err != nil {
			return res, err
		}
		if cfg.WarmUpOnly {
			return res, nil
		}
	}
	began := time.Now()
	sent := make(map[uint16]time.Time, cfg.Count)
	var rtts []float64
	take := func(r Reply) {
		at, ok := sent[r.Sequence]
		if !ok {
			return // another run's, or a duplicate
		}
		delete(sent, r.Sequence)
		if d := r.At.Sub(at); d <= cfg.Timeout {
			rtts = append(rtts, float64(d)/float64(time.Millisecond))
		}
	}
	payload := make([]byte, cfg.Size)
	for i := range payload {
		payload[i] = byte(i)
	}
	next := time.NewTimer(0)
	defer next.Stop()
	var sendErr error
	for seq := 0; seq < cfg.Count; {
		select {
		case <-ctx.Done():
			return res, ctx.Err()
		case r := <-p.Replies():
			take(r)
		case <-next.C:
			seq++
			sent[uint16(seq)] = time.Now()
			if err := p.Send(Echo{ID: id, Sequence: uint16(seq), Payload: payload}); err != nil {
				sendErr = err
			}
			res.Sent++
			next.Reset(cfg.Interval)
		}
	}
	deadline := time.NewTimer(cfg.Timeout)
	defer deadline.Stop()
	for over := false; !over && len(sent) > 0; {
		select {
		case <-ctx.Done():
			over = true
		case <-deadline.C:
			over = true
		case r := <-p.Replies():
			take(r)
		}
	}
	res.Received = len(rtts)
	res.Loss = math.Round(1e4*float64(res.Sent-res.Received)/float64(res.Sent)) / 100
	res.Duration = round(time.Since(began).Seconds())
	if len(rtts) > 0 {
		slices.Sort(rtts)
		sum := 0.0
		for _, x := range rtts {
			sum += x
		}
		res.RTT = &RTT{Min: round(rtts[0]), Avg: round(sum / float64(len(rtts))), Median: round(rtts[len(rtts)/2]), Max: round(rtts[len(rtts)-1])}
	}
	if res.Received == 0 && sendErr != nil {
		return res, fmt.Errorf("send: %w", sendErr)
	}
	return res, nil
}

// warmUp pings until the first reply. Its sequence numbers count down from the top, so that late
// replies are not taken for those of the run.
func warmUp(ctx context.Context, cfg PingConfig, id uint16, p Pinger, res *PingResult) error {
	limit := time.NewTimer(cfg.WarmUp)
	defer limit.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		_ = p.Send(Echo{ID: id, Sequence: uint16(0xFFFF - res.WarmUp)}) // what cannot be sent gets no reply
		res.WarmUp++
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-limit.C:
			return fmt.Errorf("no reply within %s", cfg.WarmUp)
		case <-p.Replies():
			return nil
		case <-tick.C:
		}
	}
}

func round(x float64) float64 { return math.Round(x*1000) / 1000 }

// NewID gives an ICMP identifier that other pings are unlikely to use.
func NewID() uint16 { return uint16(rand.Uint32()) | 0x8000 }

// Socket sends and receives by the kernel's ICMP: a raw socket.
type Socket struct {
	file    *os.File
	to      unix.Sockaddr // nil: connected
	v6      bool
	replies chan<- Reply
}

// OpenSocket opens a raw ICMP socket in the current network namespace, bound to a device and a source
// address when they are given. Echo replies with the identifier id go to replies.
func OpenSocket(id uint16, to, from netip.Addr, device string, replies chan<- Reply) (*Socket, error) {
	family, protocol := unix.AF_INET, unix.IPPROTO_ICMP
	address := func(a netip.Addr) unix.Sockaddr { return &unix.SockaddrInet4{Addr: a.As4()} }
	if !to.Is4() {
		family, protocol = unix.AF_INET6, unix.IPPROTO_ICMPV6
		address = func(a netip.Addr) unix.Sockaddr { return &unix.SockaddrInet6{Addr: a.As16()} }
	}
	fd, err := unix.Socket(family, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, protocol)
	if err != nil {
		return nil, fmt.Errorf("raw ICMP socket: %w (needs CAP_NET_RAW)", err)
	}
	s := &Socket{file: os.NewFile(uintptr(fd), "icmp"), to: address(to), v6: !to.Is4(), replies: replies}
	if device != "" {
		if err := unix.BindToDevice(fd, device); err != nil {
			s.file.Close()
			return nil, fmt.Errorf("bind to %s: %w", device, err)
		}
	}
	if from.IsValid() {
		if err := unix.Bind(fd, address(from)); err != nil {
			s.file.Close()
			return nil, fmt.Errorf("bind to %s: %w", from, err)
		}
	}
	if s.v6 {
		// A raw socket of IPv6 does not show the header, so the kernel has to say whose replies these are.
		if err := unix.Connect(fd, s.to); err != nil {
			s.file.Close()
			return nil, fmt.Errorf("connect to %s: %w", to, err)
		}
		s.to = nil
	}
	go s.read(id, to)
	return s, nil
}

// Send sends one request.
func (s *Socket) Send(e Echo) error {
	raw, err := s.file.SyscallConn()
	if err != nil {
		return err
	}
	var sendErr error
	if err := raw.Write(func(fd uintptr) bool {
		sendErr = s.write(int(fd), e)
		return !errors.Is(sendErr, unix.EAGAIN)
	}); err != nil {
		return err
	}
	return sendErr
}

// write sends a request; the kernel fills in the checksum of ICMPv6 (RFC 3542 3.1).
func (s *Socket) write(fd int, e Echo) error {
	if s.v6 {
		_, err := unix.Write(fd, e.message6())
		return err
	}
	return unix.Sendto(fd, e.Marshal(), 0, s.to)
}

// HostPinger pings from this host's own network namespace.
type HostPinger struct {
	*Socket
	replies chan Reply
}

// OpenHost opens a HostPinger; device may be "".
func OpenHost(id uint16, to netip.Addr, device string) (*HostPinger, error) {
	replies := make(chan Reply, 1024)
	s, err := OpenSocket(id, to, netip.Addr{}, device, replies)
	return &HostPinger{s, replies}, err
}

// Replies gives the replies.
func (h *HostPinger) Replies() <-chan Reply { return h.replies }

// Close ends the socket.
func (s *Socket) Close() error { return s.file.Close() }

func (s *Socket) read(id uint16, from netip.Addr) {
	b := make([]byte, 65536)
	for {
		n, err := s.file.Read(b)
		if err != nil {
			return
		}
		at := time.Now()
		if s.v6 {
			const echoReply6 = 129
			if n >= 8 && b[0] == echoReply6 && binary.BigEndian.Uint16(b[4:]) == id {
				s.tell(Reply{Sequence: binary.BigEndian.Uint16(b[6:]), At: at})
			}
			continue
		}
		const echoReply = 0
		if n < 28 || b[0]>>4 != 4 {
			continue
		}
		ihl := int(b[0]&0xF) * 4
		if n < ihl+8 || b[ihl] != echoReply || binary.BigEndian.Uint16(b[ihl+4:]) != id || netip.AddrFrom4([4]byte(b[12:16])) != from {
			continue
		}
		s.tell(Reply{Sequence: binary.BigEndian.Uint16(b[ihl+6:]), At: at})
	}
}

func (s *Socket) tell(r Reply) {
	select {
	case s.replies <- r:
	default:
	}
}
