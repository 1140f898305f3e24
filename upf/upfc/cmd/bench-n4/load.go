package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
	"golang.org/x/net/ipv4"
)

// smf is the CP function: one socket, a window of requests under way, batched system calls.
type smf struct {
	conn     *net.UDPConn
	batch    *ipv4.PacketConn
	to       *net.UDPAddr
	sequence uint32
	seid     []uint64 // the UPF's, by session
	out, in  []ipv4.Message
}

const batchMax = 32

func newSMF(to *net.UDPAddr, sessions int) (*smf, error) {
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: cpAddr.AsSlice(), Port: 8805})
	if err != nil {
		return nil, err
	}
	s := &smf{conn: conn, batch: ipv4.NewPacketConn(conn), to: to, seid: make([]uint64, sessions)}
	s.out, s.in = make([]ipv4.Message, batchMax), make([]ipv4.Message, batchMax)
	for i := range batchMax {
		s.out[i] = ipv4.Message{Buffers: [][]byte{make([]byte, 0, 2048)}, Addr: to}
		s.in[i] = ipv4.Message{Buffers: [][]byte{make([]byte, 2048)}}
	}
	return s, errors.Join(err, conn.SetReadBuffer(4<<20))
}

// ask sends one node-related request until it is answered, and returns the answer.
func (s *smf) ask(m message.Message, patience time.Duration) ([]byte, error) {
	b := make([]byte, m.MarshalLen())
	if err := m.MarshalTo(b); err != nil {
		return nil, err
	}
	deadline := time.Now().Add(patience)
	in := make([]byte, 2048)
	for time.Now().Before(deadline) {
		if _, err := s.conn.WriteToUDP(b, s.to); err != nil {
			return nil, err
		}
		if err := s.conn.SetReadDeadline(time.Now().Add(2 * time.Millisecond)); err != nil {
			return nil, err
		}
		for {
			n, _, err := s.conn.ReadFromUDP(in)
			if err != nil {
				break
			}
			if n >= 8 && in[1] == m.MessageType()+1 {
				return in[:n], s.conn.SetReadDeadline(time.Time{})
			}
		}
	}
	return nil, fmt.Errorf("%s is not answered within %v", m.MessageTypeName(), patience)
}

func (s *smf) next() uint32 { s.sequence = (s.sequence + 1) & 0xffffff; return s.sequence }

func (s *smf) associate() error {
	_, err := s.ask(message.NewAssociationSetupRequest(s.next(), ie.NewNodeID(cpAddr.String(), "", ""),
		ie.NewRecoveryTimeStamp(time.Unix(1_700_000_000, 0)), ie.NewCPFunctionFeatures(0)), 10*time.Second)
	return err
}

// result is one measured run.
type result struct {
	took      time.Duration
	latencies []time.Duration
	repeated  int // requests that were sent again after a second
}

func (r *result) perSecond() float64 { return float64(len(r.latencies)) / r.took.Seconds() }

func (r *result) percentile(p float64) time.Duration {
	return r.latencies[min(int(p*float64(len(r.latencies))), len(r.latencies)-1)]
}

type request struct {
	session uint32
	began   time.Time
	sent    time.Time // last
}

// run makes one request of a kind for each of the sessions first .. first+n-1, with a window of them
// under way; rate, if not 0, holds it to so many a second.
func (s *smf) run(t *template, first, n, window int, rate float64) (*result, error) {
	r := &result{latencies: make([]time.Duration, 0, n)}
	open := make(map[uint32]*request, window)
	start := time.Now()
	lastLook := start
	peer := uint32(start.UnixNano())
	for done, next := 0, first; done < n; {
		now := time.Now()
		room := min(window-len(open), first+n-next, batchMax)
		if rate > 0 {
			room = min(room, int(now.Sub(start).Seconds()*rate)-(next-first)+1)
		}
		k := 0
		for ; k < room; k++ {
			seq := s.next()
			open[seq] = &request{session: uint32(next), began: now, sent: now}
			s.out[k].Buffers[0] = t.write(s.out[k].Buffers[0], uint32(next), seq, s.seid[next], peer+uint32(next))
			next++
		}
		if now.Sub(lastLook) > 100*time.Millisecond { // T1
			lastLook = now
			for seq, q := range open {
				if now.Sub(q.sent) > time.Second && k < batchMax {
					q.sent = now
					s.out[k].Buffers[0] = t.write(s.out[k].Buffers[0], q.session, seq, s.seid[q.session], peer+q.session)
					r.repeated++
					k++
				}
			}
		}
		for sent := 0; sent < k; {
			m, err := s.batch.WriteBatch(s.out[sent:k], 0)
			if err != nil {
				return nil, err
			}
			sent += m
		}
		wait := 200 * time.Millisecond
		if rate > 0 && len(open) < window && next < first+n {
			wait = max(start.Add(time.Duration(float64(next-first)/rate*float64(time.Second))).Sub(now), 20*time.Microsecond)
		}
		if err := s.conn.SetReadDeadline(now.Add(wait)); err != nil {
			return nil, err
		}
		m, err := s.batch.ReadBatch(s.in, 0)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			if time.Since(start) > 10*time.Minute {
				return nil, errors.New("gave up after ten minutes")
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		now = time.Now()
		for i := range m {
			b := s.in[i].Buffers[0][:s.in[i].N]
			if len(b) < 16 || b[0]&1 == 0 {
				continue
			}
			seq := binary.BigEndian.Uint32(b[12:]) >> 8
			q := open[seq]
			if q == nil || b[1] != t.octets[1]+1 {
				continue
			}
			if err := s.accepted(b, q.session, t.establishes); err != nil {
				return nil, err
			}
			delete(open, seq)
			r.latencies = append(r.latencies, now.Sub(q.began))
			done++
		}
	}
	r.took = time.Since(start)
	slices.Sort(r.latencies)
	return r, nil
}

// accepted reads the cause, and the UP F-SEID where there is one.
func (s *smf) accepted(b []byte, session uint32, establishes bool) error {
	cause := byte(0)
	for rest := b[16:]; len(rest) >= 4; {
		n := int(binary.BigEndian.Uint16(rest[2:]))
		if n+4 > len(rest) {
			return errors.New("an answer is cut short")
		}
		v := rest[4 : 4+n]
		switch binary.BigEndian.Uint16(rest) {
		case ie.Cause:
			cause = v[0]
		case ie.FSEID:
			if establishes && len(v) >= 9 {
				s.seid[session] = binary.BigEndian.Uint64(v[1:])
			}
		}
		rest = rest[4+n:]
	}
	if cause != ie.CauseRequestAccepted {
		return fmt.Errorf("session %d: refused with cause %d: % x", session, cause, b[16:])
	}
	return nil
}
