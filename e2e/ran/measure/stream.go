package measure

// A stream of numbered datagrams, to see what a handover loses, doubles or disorders. The client sends one datagram,
//
//	core5g-stream 1 <id> down <count> <packets a second> <octets>\n
//
// and the server sends it so many datagrams of so many octets, each of the mark, the id and a number from 0. Upwards the
// client sends such datagrams itself, and asks for
//
//	core5g-stream 1 <id> report\n
//
// which the server answers by one line of JSON, an Order. A repeated request begins nothing anew.

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// StreamPort is where the data network's server of streams listens, by UDP.
const StreamPort = 5202

const (
	streamMagic = "core5g-stream 1"
	streamMark  = "C5GSTRM1"

	// StreamHeader is the least size of a datagram of a stream.
	StreamHeader = len(streamMark) + 8 + 8
	maxStream    = 10_000_000
	maxRate      = 1_000_000
	maxDatagram  = 9000
)

// StreamConfig says what to stream.
type StreamConfig struct {
	Direction string // up, down
	Count     int
	Rate      int // packets a second
	Size      int // octets of UDP payload
}

// Check says what is wrong with it.
func (c StreamConfig) Check() error {
	switch {
	case c.Direction != "up" && c.Direction != "down":
		return fmt.Errorf("direction %q is not up or down", c.Direction)
	case c.Count < 1 || c.Count > maxStream:
		return fmt.Errorf("a count of %d; write 1 to %d", c.Count, maxStream)
	case c.Rate < 1 || c.Rate > maxRate:
		return fmt.Errorf("a rate of %d packets a second; write 1 to %d", c.Rate, maxRate)
	case c.Size < StreamHeader || c.Size > maxDatagram:
		return fmt.Errorf("a size of %d octets; write %d to %d", c.Size, StreamHeader, maxDatagram)
	}
	return nil
}

// Order is what a receiver makes of a stream's numbers.
type Order struct {
	Received   uint64 `json:"received"` // different ones
	Duplicated uint64 `json:"duplicated"`
	OutOfOrder uint64 `json:"out_of_order"` // that came after a higher one

	seen    []uint64 // a bit for every number
	highest int64
	last    time.Time
}

// Take notes a number that has come.
func (o *Order) Take(n uint64) {
	if n >= maxStream {
		return
	}
	o.last = time.Now()
	word, bit := int(n/64), uint64(1)<<(n%64)
	for len(o.seen) <= word {
		o.seen = append(o.seen, make([]uint64, len(o.seen)+64)...)
	}
	if o.seen[word]&bit != 0 {
		o.Duplicated++
		return
	}
	o.seen[word] |= bit
	if o.Received++; o.Received > 1 && int64(n) < o.highest {
		o.OutOfOrder++
	}
	o.highest = max(o.highest, int64(n))
}

// StreamRequest asks a server for a stream down, or for the report of one up.
func StreamRequest(id uint64, c StreamConfig, report bool) []byte {
	if report {
		return fmt.Appendf(nil, "%s %d report\n", streamMagic, id)
	}
	return fmt.Appendf(nil, "%s %d down %d %d %d\n", streamMagic, id, c.Count, c.Rate, c.Size)
}

// StreamDatagram is number n of a stream.
func StreamDatagram(id, n uint64, size int) []byte {
	b := append(make([]byte, 0, size), streamMark...)
	b = binary.BigEndian.AppendUint64(b, id)
	b = binary.BigEndian.AppendUint64(b, n)
	return b[:size]
}

// ReadStreamDatagram reads a datagram; false when it is none of a stream.
func ReadStreamDatagram(b []byte) (id, n uint64, ok bool) {
	if len(b) < StreamHeader || !bytes.HasPrefix(b, []byte(streamMark)) {
		return 0, 0, false
	}
	b = b[len(streamMark):]
	return binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:]), true
}

// Pace calls send for every number from 0 at a rate, until ctx ends or send fails.
func Pace(ctx context.Context, count, rate int, send func(n uint64) error) error {
	began := time.Now()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for n := 0; n < count; {
		due := min(count, int(time.Since(began).Seconds()*float64(rate))+1)
		for ; n < due; n++ {
			if err := send(uint64(n)); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// streams are what a server has seen, by client and id.
type streams struct {
	mu   sync.Mutex
	down map[streamKey]bool
	up   map[streamKey]*Order
}

type streamKey struct {
	client netip.AddrPort
	id     uint64
}

// ServeStreams answers clients until the socket is closed.
func ServeStreams(ctx context.Context, conn *net.UDPConn, log *slog.Logger) error {
	s := &streams{down: map[streamKey]bool{}, up: map[streamKey]*Order{}}
	b := make([]byte, 65536)
	for {
		n, from, err := conn.ReadFromUDPAddrPort(b)
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			return err
		}
		if err := s.take(ctx, conn, from, b[:n]); err != nil {
			log.Warn("stream client", "from", from, "err", err)
		}
	}
}

// maxStreams bounds what a server remembers.
const maxStreams = 1024

func (s *streams) take(ctx context.Context, conn *net.UDPConn, from netip.AddrPort, b []byte) error {
	if id, n, ok := ReadStreamDatagram(b); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		key := streamKey{from, id}
		if s.up[key] == nil {
			if len(s.up) >= maxStreams {
				return errors.New("too many streams")
			}
			s.up[key] = &Order{}
		}
		s.up[key].Take(n)
		return nil
	}
	rest, ok := strings.CutPrefix(strings.TrimSpace(string(b)), streamMagic+" ")
	var id uint64
	var verb string
	c := StreamConfig{Direction: "down"}
	fields, _ := fmt.Sscanf(rest, "%d %s %d %d %d", &id, &verb, &c.Count, &c.Rate, &c.Size)
	key := streamKey{from, id}
	switch {
	case ok && fields == 2 && verb == "report":
		return s.report(conn, key)
	case !ok || fields != 5 || verb != "down":
		return errors.New("not a stream client")
	}
	if err := c.Check(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down[key] {
		return nil // the request came again
	}
	if len(s.down) >= maxStreams {
		return errors.New("too many streams")
	}
	s.down[key] = true
	go func() {
		_ = Pace(ctx, c.Count, c.Rate, func(n uint64) error {
			_, err := conn.WriteToUDPAddrPort(StreamDatagram(id, n, c.Size), from)
			return err
		})
		s.forget(key)
	}()
	return nil
}

// forget drops a stream when no late packet or repeated request of it is to be expected any more.
func (s *streams) forget(key streamKey) {
	time.AfterFunc(time.Minute, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.down, key)
		delete(s.up, key)
	})
}

func (s *streams) report(conn *net.UDPConn, key streamKey) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.up[key]
	if o == nil {
		o = &Order{}
	}
	s.forget(key)
	b, err := json.Marshal(o)
	if err != nil {
		return err
	}
	_, err = conn.WriteToUDPAddrPort(append(b, '\n'), key.client)
	return err
}

// StreamResult is what became of a stream.
type StreamResult struct {
	To        string `json:"to"`
	From      string `json:"from"`
	Direction string `json:"direction"`
	Sent      uint64 `json:"sent"`
	Lost      uint64 `json:"lost"`
	Order
	Seconds float64 `json:"seconds"`
	NotSent uint64  `json:"not_sent,omitempty"` // by the UE, upwards
}

// Finish completes a result: sent numbers, of which o has come.
func (r *StreamResult) Finish(o Order, sent uint64, took time.Duration) {
	r.Order, r.Sent, r.Seconds = o, sent, round(took.Seconds())
	r.Lost = sent - min(sent, o.Received)
}

// Idle is how long nothing has come.
func (o *Order) Idle() time.Duration { return time.Since(o.last) }

// UDP is a whole IP packet with a datagram, of the version that the addresses have.
func UDP(src, dst netip.AddrPort, payload []byte) []byte {
	const udp = 17
	b := binary.BigEndian.AppendUint16(make([]byte, 0, 8+len(payload)), src.Port())
	b = binary.BigEndian.AppendUint16(b, dst.Port())
	b = binary.BigEndian.AppendUint16(b, uint16(8+len(payload)))
	b = append(append(b, 0, 0), payload...)
	if dst.Addr().Is4() {
		return IPv4(src.Addr(), dst.Addr(), udp, b) // RFC 768: a checksum of zero is none
	}
	sum := Checksum(pseudo(src.Addr(), dst.Addr(), udp, b))
	if sum == 0 {
		sum = 0xFFFF // RFC 8200 8.1
	}
	binary.BigEndian.PutUint16(b[6:], sum)
	return IPv6(src.Addr(), dst.Addr(), udp, b)
}

// Datagram reads the datagram of an IP packet; false when it is another one.
func Datagram(packet []byte) (from netip.AddrPort, port uint16, payload []byte, ok bool) {
	const udp = 17
	var b []byte
	var a netip.Addr
	switch {
	case len(packet) >= 28 && packet[0]>>4 == 4 && packet[9] == udp:
		ihl := int(packet[0]&0xF) * 4
		if ihl < 20 || len(packet) < ihl+8 {
			return from, 0, nil, false
		}
		a, b = netip.AddrFrom4([4]byte(packet[12:16])), packet[ihl:]
	case len(packet) >= 48 && packet[0]>>4 == 6 && packet[6] == udp:
		a, b = netip.AddrFrom16([16]byte(packet[8:24])), packet[40:]
	default:
		return from, 0, nil, false
	}
	n := int(binary.BigEndian.Uint16(b[4:]))
	if n < 8 || n > len(b) {
		return from, 0, nil, false
	}
	return netip.AddrPortFrom(a, binary.BigEndian.Uint16(b)), binary.BigEndian.Uint16(b[2:]), b[8:n], true
}
