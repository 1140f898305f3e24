package pfcp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	wire "core5g.dev/core5g/upf/upfc/pfcp"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// yes is a UP function that accepts everything, and reports something with every establishment.
func yes(t testing.TB, node string) netip.AddrPort {
	t.Helper()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	go func() {
		b := make([]byte, 1<<16)
		for sequence := uint32(1); ; sequence++ {
			n, from, err := c.ReadFromUDPAddrPort(b)
			if err != nil {
				return
			}
			m, err := wire.Parse(b[:n])
			if err != nil || !wire.IsRequest(m.Type) {
				continue
			}
			ies := []*ie.IE{ie.NewNodeID("", "", node), accepted, born.element(), featuresElement(able)}
			seid := m.SEID
			var header *uint64
			if m.HasSEID {
				header = &seid
			}
			if f := m.Elements.First(ie.FSEID); f != nil {
				seid, _, _, _ = f.FSEID()
				ies = append(ies, ie.NewFSEID(seid, []byte{127, 0, 0, 1}, nil))
				if b, err := wire.Marshal(report, &seid, sequence, []*ie.IE{ie.NewReportType(1, 0, 0, 0)}); err == nil {
					_, _ = c.WriteToUDPAddrPort(b, from)
				}
			}
			if out, err := wire.Marshal(m.Type+1, header, m.Sequence, ies); err == nil {
				_, _ = c.WriteToUDPAddrPort(out, from)
			}
		}
	}()
	return c.LocalAddr().(*net.UDPAddr).AddrPort()
}

// Many callers at once, callbacks that call, units that come and go, and an end in the middle of it: each request has one
// outcome.
func TestSocketFromManySides(t *testing.T) {
	var s *Socket
	var reports atomic.Int64
	var handle sync.Mutex // none but the one goroutine may be in there
	s, err := Listen(netip.MustParseAddrPort("127.0.0.1:0"), Config{
		Node: "smf-0", IPv4: netip.MustParseAddr("127.0.0.1"), Recovery: 1, Random: rand.New(rand.NewPCG(1, 2)),
		Heartbeat: 5 * time.Millisecond, T1: 50 * time.Millisecond, Metrics: NewMetrics(prometheus.NewRegistry()),
		Handle: func(ev Event) {
			if !handle.TryLock() {
				t.Error("two callbacks at once")
				return
			}
			defer handle.Unlock()
			if r, ok := ev.(SessionReport); ok {
				reports.Add(1)
				s.AnswerSessionReport(r.Token, SessionReportAnswer{Cause: ie.CauseRequestAccepted, UPSEID: 1})
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	for n := range 3 {
		node := fmt.Sprintf("upf-%d", n)
		if err := s.AddUnit(Unit{NodeID: node, Address: yes(t, node)}); err != nil {
			t.Fatal(err)
		}
	}
	const callers, each = 4, 300
	var outcomes, accepted atomic.Int64
	var seen [callers * each]atomic.Int32
	var done sync.WaitGroup
	for c := range callers {
		done.Go(func() {
			for n := range each {
				id := c*each + n
				s.Do(Request{Unit: fmt.Sprintf("upf-%d", id%3), Kind: Establishment, CPSEID: uint64(id + 1)}, func(o Outcome) {
					outcomes.Add(1)
					if seen[id].Add(1) != 1 {
						t.Errorf("request %d has two outcomes", id)
					}
					if o.Err == nil {
						accepted.Add(1)
					}
				})
				s.Receive(netip.MustParseAddrPort("127.0.0.1:1"), []byte{0x20, message.MsgTypeHeartbeatRequest, 0, 4, 0, 0, 1, 0})
				if n == each/2 {
					s.Units()
					s.RemoveUnit("upf-2", c%2 == 0)
				}
				if c == 0 && n == each-10 {
					for accepted.Load() < 100 || reports.Load() < 10 {
						time.Sleep(time.Millisecond)
					}
					cancel()
				}
			}
		})
	}
	done.Wait()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if n := outcomes.Load(); n != callers*each {
		t.Errorf("%d outcomes of %d requests", n, callers*each)
	}
	if err := s.AddUnit(Unit{NodeID: "upf-0", Address: unitAddr}); !errors.Is(err, ErrClosed) {
		t.Errorf("a unit after the end: %v", err)
	}
	if s.Units() != nil {
		t.Error("units after the end")
	}
}

func TestListenRefuses(t *testing.T) {
	if _, err := Listen(netip.MustParseAddrPort("127.0.0.1:0"), Config{}); err == nil || !strings.Contains(err.Error(), "Node ID") {
		t.Errorf("%v", err)
	}
	s, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if _, err := Listen(s.LocalAddr().(*net.UDPAddr).AddrPort(), Config{}); err == nil {
		t.Error("an address that is taken was bound")
	}
}
