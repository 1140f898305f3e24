package ran_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/ran/gnb"
	"core5g.dev/core5g/e2e/ran/gtpu"
	"core5g.dev/core5g/e2e/ran/internal/fakeamf"
	"core5g.dev/core5g/e2e/ran/measure"
	"core5g.dev/core5g/e2e/ran/ue"
	"core5g.dev/core5g/e2e/ran/uenas"
)

// pair is two gNBs with N3 over UDP, one UE at the first, a scripted core, and a UPF that streams numbered packets.
type pair struct {
	bench
	gnbs []*gnb.GNB
	n3s  []*gtpu.Endpoint
	upf  *net.UDPConn
	got  *sink
}

// sink is a device that keeps the numbers of what comes.
type sink struct {
	mu     sync.Mutex
	seen   []uint32
	closed chan struct{}
	once   sync.Once
}

func (s *sink) Name() string { return "sink" }
func (s *sink) Read([]byte) (int, error) {
	<-s.closed
	return 0, os.ErrClosed
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(p) >= 32 {
		s.seen = append(s.seen, binary.BigEndian.Uint32(p[28:]))
	}
	return len(p), nil
}

func (s *sink) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

func (s *sink) numbers() []uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]uint32(nil), s.seen...)
}

const pairUPF = "127.30.5.16"

func startPair(t *testing.T, knobs fakeamf.Knobs, change func(*ue.Config)) *pair {
	t.Helper()
	upf, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.ParseIP(pairUPF), Port: gtpu.Port})
	if err != nil {
		t.Skip(err)
	}
	_ = upf.SetReadBuffer(4 << 20)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	p := &pair{upf: upf, got: &sink{closed: make(chan struct{})}}
	p.bench = bench{t: t, ctx: ctx, n3: newMemoryN3()}
	p.amf = fakeamf.New(t, netip.MustParseAddr(pairUPF), map[string]*fakeamf.Subscriber{testSUPI: {K: testK, OPc: testOPc, SQN: 1 << 20}})
	p.amf.Set(knobs)
	cfg := testConfig(t)
	cfg.Device = func(ue.DeviceConfig) (ue.Device, error) { return p.got, nil }
	if change != nil {
		change(&cfg)
	}
	var wg sync.WaitGroup
	for i := range 2 {
		address := netip.AddrFrom4([4]byte{127, 30, 5, byte(100 + i)})
		n3, err := gtpu.Listen(address, logger())
		if err != nil {
			t.Skip(err)
		}
		g := gnb.New(gnb.Config{
			Name: []string{"one", "two"}[i], ID: uint32(i + 1), MCC: "208", MNC: "93", TAC: [3]byte{0, 0, byte(i + 1)}, Slices: []uenas.SNSSAI{slice1, slice2},
			AMF: []string{"amf:38412"}, MinBackoff: 5 * time.Millisecond, MaxBackoff: 20 * time.Millisecond,
			ReleaseAfter: 300 * time.Millisecond, HoldLimit: 20 * time.Second,
		}, p.amf.Dial, n3, address.As4(), logger())
		p.gnbs, p.n3s = append(p.gnbs, g), append(p.n3s, n3)
		wg.Go(func() { _ = n3.Serve() })
	}
	gnb.NewArea(p.gnbs...)
	for _, g := range p.gnbs {
		wg.Go(func() { g.Run(ctx) })
	}
	p.gnb = p.gnbs[0]
	p.ue = ue.New(cfg, p.gnb, p.n3s[0], logger())
	wg.Go(func() { p.ue.Run(ctx) })
	p.gnb.Add(p.ue)
	t.Cleanup(func() {
		cancel()
		for _, n3 := range p.n3s {
			n3.Close()
		}
		upf.Close()
		wg.Wait()
	})
	p.ready()
	p.amf.WaitTrace("session 1 up", 1)
	p.amf.WaitTrace("NG Setup Request", 2)
	p.wait("the second gNB", func(ue.Status) bool { return p.gnbs[1].Status().State == "connected" })
	return p
}

// wait polls: what it waits for may be no state of the UE.
func (p *pair) wait(what string, want func(ue.Status) bool) {
	p.t.Helper()
	for !want(p.ue.Status()) {
		if p.ctx.Err() != nil {
			p.t.Fatalf("waiting for %s: %+v", what, p.ue.Status())
		}
		time.Sleep(time.Millisecond)
	}
}

// numbered is a downlink packet with a number.
func numbered(n uint32) []byte {
	b := binary.BigEndian.AppendUint32(make([]byte, 8), n)
	return measure.IPv4(netip.MustParseAddr("172.30.6.1"), netip.MustParseAddr("10.45.0.1"), 17, b)
}

// stream sends count numbered packets of a session to wherever the core says that its gNB is, with an End Marker on the
// old path when that changes, and hands on what is forwarded through the UPF. It reports how many were sent so far.
func (p *pair) stream(count uint32, sent *atomic.Uint32) (done chan struct{}) {
	done = make(chan struct{})
	go func() { // indirect forwarding
		b := make([]byte, 2000)
		for {
			n, _, err := p.upf.ReadFromUDPAddrPort(b)
			if err != nil {
				return
			}
			m, err := gtpu.Parse(b[:n])
			s, ok := p.amf.Session(testSUPI, 1)
			if err != nil || !ok || m.TEID != 0xF001 {
				continue
			}
			out := append([]byte(nil), b[:n]...)
			binary.BigEndian.PutUint32(out[4:], s.ForwardTEID)
			_, _ = p.upf.WriteToUDPAddrPort(out, netip.AddrPortFrom(s.ForwardTo, gtpu.Port))
		}
	}()
	go func() {
		defer close(done)
		var at netip.Addr
		var teid uint32
		tick := time.NewTicker(100 * time.Microsecond)
		defer tick.Stop()
		for n := range count {
			s, _ := p.amf.Session(testSUPI, 1)
			if at.IsValid() && (s.GNB != at || s.GNBTEID != teid) {
				_, _ = p.upf.WriteToUDPAddrPort(gtpu.AppendEndMarker(nil, teid), netip.AddrPortFrom(at, gtpu.Port))
			}
			at, teid = s.GNB, s.GNBTEID
			inner := numbered(n)
			b := append(make([]byte, gtpu.HeaderLen), inner...)
			gtpu.PutUplink(b, teid, 1, len(inner))
			b[13] = 0 // downlink
			_, _ = p.upf.WriteToUDPAddrPort(b, netip.AddrPortFrom(at, gtpu.Port))
			sent.Add(1)
			<-tick.C
		}
	}()
	return done
}

func (p *pair) inOrder(want uint32) {
	p.t.Helper()
	p.wait("the last packet", func(ue.Status) bool { n := p.got.numbers(); return len(n) > 0 && n[len(n)-1] == want-1 })
	for i, n := range p.got.numbers() {
		if n != uint32(i) {
			p.t.Fatalf("packet %d came in the place of %d, of %d", n, i, want)
		}
	}
}

func TestHandoverLosesNothing(t *testing.T) {
	xn := func(p *pair, o gnb.HandoverOptions) (gnb.HandoverResult, error) {
		return p.ue.Connection().HandOverXn(p.ctx, p.gnbs[1], o)
	}
	byN2 := func(p *pair, o gnb.HandoverOptions) (gnb.HandoverResult, error) {
		return p.ue.Connection().HandOverN2(p.ctx, 2, o)
	}
	tests := map[string]struct {
		knobs          fakeamf.Knobs
		move           func(*pair, gnb.HandoverOptions) (gnb.HandoverResult, error)
		options        gnb.HandoverOptions
		wantForwarding string
		wantTrace      []string
	}{
		"Xn": {fakeamf.Knobs{}, xn, gnb.HandoverOptions{}, "direct", []string{"Path Switch Request", "session 1 switched"}},
		"N2, forwarding directly": {
			fakeamf.Knobs{}, byN2, gnb.HandoverOptions{}, "direct",
			[]string{"Handover Required", "Handover Request Acknowledge", "Uplink RAN Status Transfer", "Handover Notify", "source released"},
		},
		"N2, forwarding through the UPF": {
			fakeamf.Knobs{Indirect: true}, byN2, gnb.HandoverOptions{Indirect: true}, "indirect", []string{"Handover Notify", "source released"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := startPair(t, tt.knobs, nil)
			const count = 1500
			var sent atomic.Uint32
			done := p.stream(count, &sent)
			p.wait("the stream", func(ue.Status) bool { return sent.Load() > 300 })
			res, err := tt.move(p, tt.options)
			if err != nil {
				t.Fatal(err)
			}
			if res.From != "one" || res.To != "two" || len(res.Sessions) != 1 || res.Forwarding != tt.wantForwarding || res.NotSent != 0 || res.Overflow != 0 {
				t.Errorf("%+v", res)
			}
			<-done
			p.inOrder(count)
			for _, want := range tt.wantTrace {
				p.amf.WaitTrace(want, 1)
			}
			s := p.ue.Status()
			if s.Radio == nil || s.Radio.GNB != "two" || s.Counters.Handovers != 1 || !s.Sessions[0].Up {
				t.Errorf("the UE is at %+v", s.Radio)
			}
			// Uplink and NAS go by the second gNB: idle, and back.
			p.must(p.ue.Idle(p.ctx))
			p.must(p.ue.ServiceRequest(p.ctx))
			if r := p.ue.Status().Radio; r == nil || r.GNB != "two" {
				t.Errorf("after idle the UE is at %+v", r)
			}
		})
	}
}

func TestHandoverWithoutForwardingLoses(t *testing.T) {
	p := startPair(t, fakeamf.Knobs{NoForwarding: true}, nil)
	const count = 1500
	var sent atomic.Uint32
	done := p.stream(count, &sent)
	p.wait("the stream", func(ue.Status) bool { return sent.Load() > 300 })
	res, err := p.ue.Connection().HandOverN2(p.ctx, 2, gnb.HandoverOptions{NoForwarding: true})
	if err != nil || res.Forwarding != "none" {
		t.Fatalf("%+v, %v", res, err)
	}
	<-done
	p.wait("the last packet", func(ue.Status) bool { n := p.got.numbers(); return len(n) > 0 && n[len(n)-1] == count-1 })
	if missing := count - len(p.got.numbers()); uint64(missing) < res.NotSent {
		t.Errorf("%d packets are missing, %d had no way at the source", missing, res.NotSent)
	}
}

func TestHandoverFails(t *testing.T) {
	tests := map[string]struct {
		knobs     fakeamf.Knobs
		target    gnb.Behaviour
		move      func(*pair) error
		wantErr   string
		wantAfter string // where the UE is; "" for idle
		wantTrace string
	}{
		"N2 to a gNB that there is not": {
			fakeamf.Knobs{}, gnb.Behaviour{},
			func(p *pair) error {
				_, err := p.ue.Connection().HandOverN2(p.ctx, 77, gnb.HandoverOptions{})
				return err
			}, "Handover Preparation Failure: radio network: unknown target ID", "one", "Handover Required",
		},
		"N2 to a gNB that refuses": {
			fakeamf.Knobs{}, gnb.Behaviour{RefuseHandover: true},
			func(p *pair) error {
				_, err := p.ue.Connection().HandOverN2(p.ctx, 2, gnb.HandoverOptions{})
				return err
			}, "no radio resources available in target cell", "one", "Handover Failure",
		},
		"N2 to a gNB that refuses every session": {
			fakeamf.Knobs{}, gnb.Behaviour{RefuseAllSessions: true},
			func(p *pair) error {
				_, err := p.ue.Connection().HandOverN2(p.ctx, 2, gnb.HandoverOptions{})
				return err
			}, "no radio resources available in target cell", "one", "Handover Failure",
		},
		"N2 to a gNB that does not answer": {
			fakeamf.Knobs{}, gnb.Behaviour{SilentHandover: true},
			func(p *pair) error {
				ctx, cancel := context.WithTimeout(p.ctx, 100*time.Millisecond)
				defer cancel()
				_, err := p.ue.Connection().HandOverN2(ctx, 2, gnb.HandoverOptions{})
				return err
			}, "no answer from the AMF", "one", "Handover Cancel",
		},
		"N2, cancelled as soon as required": {
			fakeamf.Knobs{}, gnb.Behaviour{},
			func(p *pair) error {
				res, err := p.ue.Connection().HandOverN2(p.ctx, 2, gnb.HandoverOptions{Cancel: gnb.CancelRequired})
				if err == nil && res.Cancelled {
					err = errors.New("cancelled")
				}
				return err
			}, "cancelled", "one", "Handover Cancel",
		},
		"N2, cancelled after the command": {
			fakeamf.Knobs{}, gnb.Behaviour{},
			func(p *pair) error {
				res, err := p.ue.Connection().HandOverN2(p.ctx, 2, gnb.HandoverOptions{Cancel: gnb.CancelCommand})
				if err == nil && res.Cancelled {
					err = errors.New("cancelled")
				}
				return err
			}, "cancelled", "one", "source released", // the target, released as one that nobody needs
		},
		"Xn to a gNB that refuses": {
			fakeamf.Knobs{}, gnb.Behaviour{RefuseHandover: true},
			func(p *pair) error {
				_, err := p.ue.Connection().HandOverXn(p.ctx, p.gnbs[1], gnb.HandoverOptions{})
				return err
			}, "two refuses handovers", "one", "",
		},
		"Xn to the gNB where the UE is": {
			fakeamf.Knobs{}, gnb.Behaviour{},
			func(p *pair) error {
				_, err := p.ue.Connection().HandOverXn(p.ctx, p.gnbs[0], gnb.HandoverOptions{})
				return err
			}, "at this gNB already", "one", "",
		},
		"Xn, and the core refuses the path switch": {
			fakeamf.Knobs{RefuseSwitch: true}, gnb.Behaviour{},
			func(p *pair) error {
				_, err := p.ue.Connection().HandOverXn(p.ctx, p.gnbs[1], gnb.HandoverOptions{})
				return err
			}, "path switch refused", "", "Path Switch Request",
		},
		"Xn, and the core does not answer the path switch": {
			fakeamf.Knobs{SilentSwitch: true}, gnb.Behaviour{},
			func(p *pair) error {
				ctx, cancel := context.WithTimeout(p.ctx, 100*time.Millisecond)
				defer cancel()
				_, err := p.ue.Connection().HandOverXn(ctx, p.gnbs[1], gnb.HandoverOptions{})
				return err
			}, "no answer from the AMF", "", "Path Switch Request",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := startPair(t, tt.knobs, nil)
			p.gnbs[1].Behave(tt.target)
			if err := tt.move(p); err == nil || !strings.Contains(err.Error(), tt.wantErr) {
				t.Errorf("got %v, want %q", err, tt.wantErr)
			}
			if tt.wantTrace != "" {
				p.amf.WaitTrace(tt.wantTrace, 1)
			}
			at := func(s ue.Status) string {
				if s.Radio == nil {
					return ""
				}
				return s.Radio.GNB
			}
			p.wait("the UE's place", func(s ue.Status) bool { return at(s) == tt.wantAfter })
			p.wait("the other gNB's context to go", func(ue.Status) bool { return p.gnbs[1].Status().Connected == 0 })
			if tt.wantAfter != "" {
				p.must(p.ue.Idle(p.ctx)) // the connection still serves
			}
		})
	}
}

func TestHandoverLeavesASession(t *testing.T) {
	for name, move := range map[string]func(p *pair) (gnb.HandoverResult, error){
		"Xn, by the target's choice": func(p *pair) (gnb.HandoverResult, error) {
			return p.ue.Connection().HandOverXn(p.ctx, p.gnbs[1], gnb.HandoverOptions{Leave: []uint8{5}})
		},
		"N2, refused by the target": func(p *pair) (gnb.HandoverResult, error) {
			p.gnbs[1].Behave(gnb.Behaviour{RefuseSessions: []uint8{5}})
			return p.ue.Connection().HandOverN2(p.ctx, 2, gnb.HandoverOptions{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := startPair(t, fakeamf.Knobs{}, func(c *ue.Config) {
				c.Sessions = append(c.Sessions, ue.SessionConfig{PSI: 5, Slice: slice2, DNN: "internet"})
			})
			res, err := move(p)
			if err != nil || len(res.Sessions) != 1 || len(res.Left) != 1 || res.Left[0] != 5 {
				t.Fatalf("%+v, %v", res, err)
			}
			p.amf.WaitTrace("session 5 left behind", 1)
			p.wait("the sessions", func(s ue.Status) bool {
				return s.Radio != nil && s.Radio.GNB == "two" && s.Sessions[0].Up && !s.Sessions[1].Up
			})
		})
	}
}
