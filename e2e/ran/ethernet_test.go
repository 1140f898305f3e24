package ran_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"core5g.dev/core5g/e2e/ran/internal/fakeamf"
	"core5g.dev/core5g/e2e/ran/ue"
	"core5g.dev/core5g/images/session-management/n1"
)

var (
	goose     = n1.Flow{QFI: 5, Operation: n1.CreateFlow, FiveQI: 69}
	gooseRule = n1.Rule{
		ID: 2, Operation: n1.CreateRule, Precedence: 10, QFI: 5,
		Filters: []n1.Filter{{ID: 1, Direction: n1.Bidirectional, Protocol: -1, Frame: n1.Frame{Remote: n1.MAC{1, 0x0c, 0xcd, 1, 0, 1}, CVLAN: 7, EtherType: 0x88b8}}},
	}
)

// gooseFrame is one of a VLAN.
func gooseFrame(vlan byte) []byte {
	return append([]byte{1, 0x0c, 0xcd, 1, 0, 1, 2, 0, 0, 0, 0, 1, 0x81, 0, 0x80, vlan, 0x88, 0xb8}, make([]byte, 46)...)
}

// tap is a device that keeps what comes, and gives what it is given.
type tap struct {
	config ue.DeviceConfig
	down   chan []byte
	up     chan []byte
	closed chan struct{}
}

func (d *tap) Name() string { return "tap" }

func (d *tap) Read(b []byte) (int, error) {
	select {
	case p := <-d.up:
		return copy(b, p), nil
	case <-d.closed:
		return 0, os.ErrClosed
	}
}

func (d *tap) Write(b []byte) (int, error) {
	d.down <- slices.Clone(b)
	return len(b), nil
}

func (d *tap) Close() error {
	close(d.closed)
	return nil
}

// Frames go both ways as they are, in the flow of the rule that names them; the device has the MTU of their payload.
func TestEthernet(t *testing.T) {
	d := &tap{down: make(chan []byte, 4), up: make(chan []byte, 4), closed: make(chan struct{})}
	b := start(t, fakeamf.Knobs{Flows: []n1.Flow{goose}, Rules: []n1.Rule{gooseRule}}, func(c *ue.Config) {
		c.Sessions[0].Type = n1.Ethernet
		c.Device = func(want ue.DeviceConfig) (ue.Device, error) {
			d.config = want
			return d, nil
		}
	})
	s := b.ready().Sessions[0]
	if s.Type != "Ethernet" || s.MTU != 1460 || s.Address+s.Address6+s.LinkLocal != "" || len(s.DNS) > 0 || s.Device != "tap" {
		t.Errorf("%+v", s)
	}
	if !d.config.Ethernet || d.config.MTU != 1460 || d.config.Address.IsValid() {
		t.Errorf("device %+v", d.config)
	}
	if f := s.Flows[1].Rules[0].Filters[0]; f.RemoteMAC != "01:0c:cd:01:00:01" || f.VLAN != 7 || f.EtherType != "0x88b8" {
		t.Errorf("filter %+v", f)
	}
	core, _ := b.amf.Session(testSUPI, 1)
	for vlan, qfi := range map[byte]uint8{7: 5, 8: 1} {
		d.up <- gooseFrame(vlan)
		if p := <-b.n3.sent; p != (sentPacket{core.TEID, qfi, string(gooseFrame(vlan))}) {
			t.Errorf("VLAN %d: %+v, want flow %d", vlan, p, qfi)
		}
	}
	// What looks like an IPv6 packet, a Router Advertisement, is a frame all the same.
	six := append([]byte{0x60, 0, 0, 0, 0, 16, 58, 255, 0, 0, 0, 0, 0x86, 0xdd}, make([]byte, 60)...)
	six[40] = 134
	for _, frame := range [][]byte{gooseFrame(7), six} {
		b.ue.Tunnel(1).Deliver(frame, 5)
		if got := <-d.down; !slices.Equal(got, frame) {
			t.Errorf("the device has % x, want % x", got, frame)
		}
	}
	b.must(b.ue.SendUplink(1, gooseFrame(7)))
	if p := <-b.n3.sent; p.qfi != 5 {
		t.Errorf("a frame of the process took flow %d", p.qfi)
	}
}

// An accept that is no Ethernet session's is not taken for one.
func TestEthernetIsNothingElse(t *testing.T) {
	for name, c := range map[string]struct {
		asked n1.SessionType
		knobs fakeamf.Knobs
		want  string
	}{
		"IPv4 for Ethernet":  {n1.Ethernet, fakeamf.Knobs{Grant: n1.IPv4}, "accept of type IPv4, and Ethernet was asked for"},
		"Ethernet for IPv4":  {n1.IPv4, fakeamf.Knobs{Grant: n1.Ethernet}, "accept of type Ethernet, and IPv4 was asked for"},
		"with a DNS server":  {n1.Ethernet, fakeamf.Knobs{Options: n1.Options{{ID: n1.OptionDNSv4, Content: []byte{1, 1, 1, 1}}}}, "with protocol configuration options of IP"},
		"with a link MTU":    {n1.Ethernet, fakeamf.Knobs{Options: n1.Options{{ID: n1.OptionMTUv4, Content: []byte{5, 0}}}}, "with protocol configuration options of IP"},
		"with a PDU address": {n1.Ethernet, fakeamf.Knobs{AddressOfNone: true}, "with a PDU address"},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, c.knobs, func(cfg *ue.Config) { cfg.Sessions[0].Type = c.asked })
			b.wait("the failure", func(s ue.Status) bool { return strings.Contains(s.LastError, c.want) })
			if s := b.ue.Status(); s.Ready || s.Sessions[0].State == "active" {
				t.Errorf("%+v", s.Sessions[0])
			}
		})
	}
}
