package takeover

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"core5g.dev/core5g/e2e/ran/gtpu"
	"core5g.dev/core5g/e2e/ran/measure"
	"core5g.dev/core5g/e2e/storm"
)

// Echo sends ICMP echo requests through a PDU session's tunnel, and notes which are answered when.
type Echo struct {
	conn *net.UDPConn
	upf  netip.AddrPort
	teid uint32 // uplink
	ue   netip.Addr
	to   netip.Addr

	mutex    sync.Mutex
	sent     uint64
	answered map[uint64]bool
	begun    time.Time
	ended    time.Time // zero while requests are sent
	last     time.Time
	gap      time.Duration
	gapAt    time.Time
}

const (
	icmpRequest, icmpReply = 8, 0
	ipv4Len, icmpLen       = 20, 8
	// markLen is the number by which an answer is known, behind the ICMP header.
	markLen = 8
)

// OpenEcho has the gNB's end of a tunnel at own; uplink packets go to the TEID at upf, from the UE's address.
func OpenEcho(own, upf netip.AddrPort, teid uint32, ue, to netip.Addr) (*Echo, error) {
	conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(own))
	if err != nil {
		return nil, err
	}
	_ = conn.SetReadBuffer(4 << 20) // the kernel caps both
	_ = conn.SetWriteBuffer(4 << 20)
	e := &Echo{conn: conn, upf: upf, teid: teid, ue: ue, to: to, answered: map[uint64]bool{}}
	go e.read()
	return e, nil
}

// Close ends it.
func (e *Echo) Close() error { return e.conn.Close() }

// Send sends so many requests a second until ctx ends. Counts begin anew.
func (e *Echo) Send(ctx context.Context, rate int) error {
	e.mutex.Lock()
	e.sent, e.answered, e.gap = 0, map[uint64]bool{}, 0
	e.begun, e.ended = time.Now(), time.Time{}
	e.last, e.gapAt = e.begun, e.begun
	// Answers to requests of the time before count for nothing.
	first := uint64(e.begun.UnixNano())
	e.mutex.Unlock()
	next := first
	defer func() {
		e.mutex.Lock()
		defer e.mutex.Unlock()
		e.ended = time.Now()
	}()
	return storm.Pace(ctx, rate, func() error {
		e.mutex.Lock()
		e.sent++
		e.mutex.Unlock()
		// A refusal (ICMP) of what went before says nothing of this one: it counts as lost.
		_, _ = e.conn.WriteToUDPAddrPort(e.request(next), e.upf)
		next++
		return nil
	})
}

// request is G-PDU, IPv4, ICMP and the mark.
func (e *Echo) request(mark uint64) []byte {
	b := make([]byte, gtpu.HeaderLen+ipv4Len+icmpLen+markLen)
	ip := b[gtpu.HeaderLen:]
	gtpu.PutUplink(b, e.teid, 1, len(ip))
	ip[0], ip[8], ip[9] = 0x45, 64, 1
	binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	copy(ip[12:], e.ue.AsSlice())
	copy(ip[16:], e.to.AsSlice())
	binary.BigEndian.PutUint16(ip[10:], measure.Checksum(ip[:ipv4Len]))
	icmp := ip[ipv4Len:]
	icmp[0] = icmpRequest
	binary.BigEndian.PutUint64(icmp[icmpLen:], mark)
	binary.BigEndian.PutUint16(icmp[2:], measure.Checksum(icmp))
	return b
}

// answerMark is the mark of an echo reply to the UE.
func (e *Echo) answerMark(b []byte) (mark uint64, is bool) {
	p, err := gtpu.Parse(b)
	if err != nil || p.Type != gtpu.GPDU || len(p.Payload) < ipv4Len {
		return 0, false
	}
	ip := p.Payload
	header := int(ip[0]&0xf) * 4
	if ip[0]>>4 != 4 || header < ipv4Len || ip[9] != 1 || len(ip) < header+icmpLen+markLen || netip.AddrFrom4([4]byte(ip[16:20])) != e.ue {
		return 0, false
	}
	icmp := ip[header:]
	return binary.BigEndian.Uint64(icmp[icmpLen:]), icmp[0] == icmpReply
}

func (e *Echo) read() {
	b := make([]byte, 65536)
	for {
		n, _, err := e.conn.ReadFromUDPAddrPort(b)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // an ICMP message to what was sent before
		}
		if mark, is := e.answerMark(b[:n]); is {
			e.note(mark, time.Now())
		}
	}
}

func (e *Echo) note(mark uint64, now time.Time) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.begun.IsZero() || mark < uint64(e.begun.UnixNano()) || e.answered[mark] {
		return
	}
	e.answered[mark] = true
	e.quiet(now)
	e.last = now
}

// quiet notes how long no packet has passed.
func (e *Echo) quiet(now time.Time) {
	if d := now.Sub(e.last); d > e.gap {
		e.gap, e.gapAt = d, e.last
	}
}

// Echoes is what came of the requests that were sent since the last Send.
type Echoes struct {
	Sent     int       `json:"sent"`
	Answered int       `json:"answered"`
	GapMS    float64   `json:"gap_ms"` // the longest time without an answer
	GapAt    time.Time `json:"gap_at"` // when that began
}

// Count counts.
func (e *Echo) Count() Echoes {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if now := e.ended; now.IsZero() {
		e.quiet(time.Now())
	} else {
		e.quiet(now)
	}
	return Echoes{Sent: int(e.sent), Answered: len(e.answered), GapMS: float64(e.gap.Microseconds()) / 1000, GapAt: e.gapAt}
}
