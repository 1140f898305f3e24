package main

import (
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"
)

// traffic is a user who sends packets uplink, through the tunnel from the gNB to the data network,
// while N4 is busy. Every packet carries its number and when it was sent.
type traffic struct {
	gnb, dn *net.UDPConn
	every   time.Duration
	began   time.Time
	stop    chan struct{}
	done    sync.WaitGroup
	sent    uint64
	delays  []time.Duration
}

var dn = net.IPv4(172, 30, 6, 1)

const dnPort = 9000

func newTraffic(peers string, every time.Duration) (*traffic, error) {
	t := &traffic{every: every, began: time.Now()}
	err := within(peers, func() (err error) {
		if t.gnb, err = net.ListenUDP("udp4", &net.UDPAddr{IP: gnb.AsSlice(), Port: 2152}); err != nil {
			return err
		}
		if t.dn, err = net.ListenUDP("udp4", &net.UDPAddr{IP: dn, Port: dnPort}); err != nil {
			return err
		}
		return t.dn.SetReadBuffer(4 << 20)
	})
	return t, err
}

// packet is a G-PDU (TS 29.281 5.1, with a PDU Session Container, TS 38.415 5.5.2.2) of session n.
func (t *traffic) packet(n uint32, number uint64) []byte {
	const inner = 20 + 8 + 72
	b := make([]byte, 16, 16+inner)
	copy(b, []byte{0x34, 0xff})
	binary.BigEndian.PutUint16(b[2:], 8+inner)
	binary.BigEndian.PutUint32(b[4:], n+1)
	copy(b[11:], []byte{0x85, 1, 0x10, 9, 0})
	ip := make([]byte, inner)
	ip[0], ip[8], ip[9] = 0x45, 64, 17
	binary.BigEndian.PutUint16(ip[2:], inner)
	binary.BigEndian.PutUint32(ip[12:], ueAddr(n))
	copy(ip[16:], dn.To4())
	var sum uint32
	for i := 0; i < 20; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(ip[i:]))
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	binary.BigEndian.PutUint16(ip[10:], ^uint16(sum))
	binary.BigEndian.PutUint16(ip[20:], 1234)
	binary.BigEndian.PutUint16(ip[22:], dnPort)
	binary.BigEndian.PutUint16(ip[24:], inner-20)
	binary.BigEndian.PutUint64(ip[28:], number)
	binary.BigEndian.PutUint64(ip[36:], uint64(time.Since(t.began)))
	return append(b, ip...)
}

// start begins to send packets of the sessions first and following, in turn.
func (t *traffic) start(first, sessions uint32) {
	t.stop, t.sent, t.delays = make(chan struct{}), 0, nil
	t.done.Go(func() {
		upf := &net.UDPAddr{IP: n3Addr.AsSlice(), Port: 2152}
		ticker := time.NewTicker(t.every)
		defer ticker.Stop()
		for {
			select {
			case <-t.stop:
				return
			case <-ticker.C:
			}
			if _, err := t.gnb.WriteToUDP(t.packet(first+uint32(t.sent)%sessions, t.sent), upf); err == nil {
				t.sent++
			}
		}
	})
	_ = t.dn.SetReadDeadline(time.Time{})
	t.done.Go(func() {
		b := make([]byte, 2048)
		for {
			n, err := t.dn.Read(b)
			if err != nil {
				return
			}
			if n >= 16 {
				t.delays = append(t.delays, time.Since(t.began)-time.Duration(binary.BigEndian.Uint64(b[8:])))
			}
		}
	})
}

// report ends the traffic and prints its line.
func (t *traffic) report(n4 string) {
	close(t.stop)
	_ = t.dn.SetReadDeadline(time.Now().Add(300 * time.Millisecond)) // those under way
	t.done.Wait()
	slices.Sort(t.delays)
	at := func(p float64) float64 {
		if len(t.delays) == 0 {
			return 0
		}
		return float64(t.delays[min(int(p*float64(len(t.delays))), len(t.delays)-1)]) / float64(time.Microsecond)
	}
	fmt.Printf("traffic n4=%s sent=%d lost=%d p50_us=%.0f p99_us=%.0f p999_us=%.0f max_us=%.0f\n",
		n4, t.sent, int(t.sent)-len(t.delays), at(0.5), at(0.99), at(0.999), at(1))
}
