package ran_test

import (
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"core5g.dev/core5g/e2e/ran/internal/fakeamf"
	"core5g.dev/core5g/e2e/ran/measure"
	"core5g.dev/core5g/e2e/ran/ue"
	"core5g.dev/core5g/images/session-management/n1"
)

var (
	router   = netip.MustParseAddr("fe80::1")
	allNodes = netip.MustParseAddr("ff02::1")
)

// advertisement is a Router Advertisement of the UPF as a whole packet, with an MTU and a DNS server.
func advertisement(prefix netip.Prefix, mtu uint32) []byte {
	m := []byte{134, 0, 0, 0, 64, 0, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0, 0}
	m = append(m, 3, 4, byte(prefix.Bits()), 0x40, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0)
	m = append(m, prefix.Addr().AsSlice()...)
	m = binary.BigEndian.AppendUint32(append(m, 5, 1, 0, 0), mtu)
	m = append(m, 25, 3, 0, 0, 0, 0, 0x0E, 0x10)
	m = append(m, netip.MustParseAddr("2620:fe::fe").AsSlice()...)
	p := measure.IPv6(router, allNodes, 58, measure.ICMPv6(router, allNodes, m))
	p[7] = 255
	return p
}

// solicited waits for a Router Solicitation and returns its source.
func (b *bench) solicited() netip.Addr {
	b.t.Helper()
	for {
		select {
		case p := <-b.n3.sent:
			if len(p.payload) == 48 && p.payload[6] == 58 && p.payload[40] == 133 {
				if p.payload[7] != 255 || !measure.ICMPv6Valid(netip.AddrFrom16([16]byte([]byte(p.payload[8:24]))), netip.AddrFrom16([16]byte([]byte(p.payload[24:40]))), []byte(p.payload[40:])) {
					b.t.Errorf("Router Solicitation % x: wrong hop limit or checksum", p.payload)
				}
				return netip.AddrFrom16([16]byte([]byte(p.payload[8:24])))
			}
		case <-b.ctx.Done():
			b.t.Fatal("no Router Solicitation")
		}
	}
}

func TestSessionTypes(t *testing.T) {
	tests := map[string]struct {
		ask, grant         n1.SessionType
		want               ue.SessionStatus
		wantAsked          []uint16 // containers of the protocol configuration options
		pcscf, wantAddress bool
	}{
		"IPv4 is what a UE asks for that is told nothing": {
			0, 0, ue.SessionStatus{Type: "IPv4", Address: "10.45.", DNS: []string{"8.8.8.8"}, MTU: 1360},
			[]uint16{0x000A, 0x000D, 0x0010}, false, true,
		},
		"IPv6: the address is the advertised prefix with the given identifier": {
			n1.IPv6, 0, ue.SessionStatus{
				Type: "IPv6", LinkLocal: "fe80::", Address6: "fd00:45:", MTU: 1380, DNS: []string{"2001:4860:4860::8888", "2620:fe::fe"},
			},
			[]uint16{0x0003}, false, true,
		},
		"both": {
			n1.IPv4v6, 0, ue.SessionStatus{
				Type: "IPv4v6", Address: "10.45.", LinkLocal: "fe80::", Address6: "fd00:45:", MTU: 1360,
				DNS: []string{"8.8.8.8", "2001:4860:4860::8888", "2620:fe::fe"}, PCSCF: []string{"172.30.6.9"},
			},
			[]uint16{0x000A, 0x000D, 0x0003, 0x000C, 0x0001, 0x0010}, true, true,
		},
		"Ethernet": {n1.Ethernet, 0, ue.SessionStatus{Type: "Ethernet", MTU: 1460}, []uint16{0x0020}, false, false},
		"both asked for, one granted, and why": {
			n1.IPv4v6, n1.IPv4, ue.SessionStatus{
				Type: "IPv4", Cause: "5GSM cause #50 (PDU session type IPv4 only allowed)", Address: "10.45.", DNS: []string{"8.8.8.8"}, MTU: 1360,
			},
			[]uint16{0x000A, 0x000D, 0x0003, 0x0010}, false, true,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := start(t, fakeamf.Knobs{Grant: tt.grant}, func(c *ue.Config) {
				c.Sessions[0].Type, c.Sessions[0].PCSCF = tt.ask, tt.pcscf
			})
			b.amf.WaitTrace("session 1 up", 1)
			core, _ := b.amf.Session(testSUPI, 1)
			if tt.want.Address6 != "" {
				if from := b.solicited(); !strings.HasPrefix(from.String(), "fe80::") {
					t.Errorf("solicited from %s", from)
				}
				b.ue.Tunnel(1).Deliver(advertisement(core.Prefix, 1380), 1)
			}
			got := b.ready().Sessions[0]
			var asked []uint16
			for _, o := range core.Asked.Options {
				asked = append(asked, o.ID)
			}
			if diff := cmp.Diff(tt.wantAsked, asked); diff != "" {
				t.Errorf("options asked for (-want +got):\n%s", diff)
			}
			begins := func(what, got, want string) {
				if (want == "") != (got == "") || !strings.HasPrefix(got, want) {
					t.Errorf("%s %q, want %q", what, got, want)
				}
			}
			begins("address", got.Address, tt.want.Address)
			begins("IPv6 address", got.Address6, tt.want.Address6)
			begins("link-local address", got.LinkLocal, tt.want.LinkLocal)
			if tt.want.Address6 != "" {
				if want := core.Prefix.Masked(); got.Router == nil || got.Router.Prefix != want || !want.Contains(netip.MustParseAddr(got.Address6)) {
					t.Errorf("router %+v, address %s, want prefix %s", got.Router, got.Address6, want)
				}
			}
			short := ue.SessionStatus{Type: got.Type, Cause: got.Cause, DNS: got.DNS, PCSCF: got.PCSCF, MTU: got.MTU}
			want := ue.SessionStatus{Type: tt.want.Type, Cause: tt.want.Cause, DNS: tt.want.DNS, PCSCF: tt.want.PCSCF, MTU: tt.want.MTU}
			if diff := cmp.Diff(want, short, cmp.AllowUnexported(ue.SessionStatus{}), cmp.Comparer(func(a, b *ue.Advertisement) bool { return a == b })); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRouterIsSolicitedAgainAndGivenUp(t *testing.T) {
	b := start(t, fakeamf.Knobs{}, func(c *ue.Config) {
		c.Autostart, c.Timers.Solicitation = false, 10*time.Millisecond
	})
	b.amf.WaitTrace("NG Setup Request", 1)
	b.wait("the cell", func(ue.Status) bool { return b.gnb.Status().State == "connected" })
	for b.ue.Register(b.ctx) != nil {
		time.Sleep(time.Millisecond) // CellUp is on its way
	}
	err := b.ue.Establish(b.ctx, ue.SessionConfig{PSI: 2, Slice: slice1, DNN: "internet", Type: n1.IPv6})
	if err == nil || !strings.Contains(err.Error(), "no Router Advertisement came") {
		t.Fatalf("Establish: %v", err)
	}
	s := b.ue.Status()
	if s.Counters.Solicitations != 3 || s.Ready {
		t.Errorf("%d solicitations, ready %v; want 3 and not ready", s.Counters.Solicitations, s.Ready)
	}
	// A late one still counts.
	core, _ := b.amf.Session(testSUPI, 2)
	b.ue.Tunnel(2).Deliver(advertisement(core.Prefix, 1400), 1)
	b.wait("the address", func(s ue.Status) bool { return s.Sessions[1].Address6 != "" })
}

func TestIdleKeepsTheIPv6Address(t *testing.T) {
	b := start(t, fakeamf.Knobs{}, func(c *ue.Config) { c.Sessions[0].Type = n1.IPv6 })
	b.amf.WaitTrace("session 1 up", 1)
	core, _ := b.amf.Session(testSUPI, 1)
	b.solicited()
	b.ue.Tunnel(1).Deliver(advertisement(core.Prefix, 1400), 1)
	before := b.ready().Sessions[0].Address6
	b.must(b.ue.Idle(b.ctx))
	b.must(b.ue.ServiceRequest(b.ctx))
	if s := b.ready(); s.Sessions[0].Address6 != before || s.Counters.Solicitations != 1 {
		t.Errorf("after idle: %s, %d solicitations; want %s and 1", s.Sessions[0].Address6, s.Counters.Solicitations, before)
	}
}
