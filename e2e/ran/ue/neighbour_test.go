package ue

import (
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"core5g.dev/core5g/e2e/ran/measure"
)

var own = netip.MustParseAddr("fe80::5")

// packet is an advertisement with options, changed afterwards by change; its checksum is right before that.
func packet(options []byte, from, to string, change func([]byte)) []byte {
	m := append([]byte{134, 0, 0, 0, 64, 0, 0x07, 0x08, 0, 0, 0, 0, 0, 0, 0, 0}, options...)
	src, dst := netip.MustParseAddr(from), netip.MustParseAddr(to)
	p := measure.IPv6(src, dst, 58, measure.ICMPv6(src, dst, m))
	p[7] = 255
	if change != nil {
		change(p)
	}
	return p
}

func prefixOption(bits, flags byte, prefix string) []byte {
	b := append([]byte{3, 4, bits, flags}, make([]byte, 12)...)
	a := netip.MustParseAddr(prefix).As16()
	return append(b, a[:]...)
}

func TestReadAdvertisement(t *testing.T) {
	good := prefixOption(64, 0x40, "2001:db8:1:2::")
	mtu := binary.BigEndian.AppendUint32([]byte{5, 1, 0, 0}, 1390)
	dns := append([]byte{25, 3, 0, 0, 0, 0, 0, 9}, netip.MustParseAddr("2620:fe::fe").AsSlice()...)
	want := Advertisement{Router: netip.MustParseAddr("fe80::1"), Prefix: netip.MustParsePrefix("2001:db8:1:2::/64"), Lifetime: 1800}
	full := want
	full.MTU, full.DNS = 1390, []netip.Addr{netip.MustParseAddr("2620:fe::fe")}
	tests := map[string]struct {
		packet  []byte
		want    Advertisement
		wantErr string
	}{
		"to all nodes":                     {packet(good, "fe80::1", "ff02::1", nil), want, ""},
		"to the UE, with MTU and servers":  {packet(append(append(append([]byte{}, mtu...), good...), dns...), "fe80::1", "fe80::5", nil), full, ""},
		"an option that is not known":      {packet(append([]byte{200, 1, 1, 1, 1, 1, 1, 1}, good...), "fe80::1", "ff02::1", nil), want, ""},
		"to somebody else":                 {packet(good, "fe80::1", "fe80::6", nil), want, "to fe80::6"},
		"from a global address":            {packet(good, "2001:db8::1", "ff02::1", nil), want, "no link-local address"},
		"through a router":                 {packet(good, "fe80::1", "ff02::1", func(p []byte) { p[7] = 64 }), want, "hop limit 64"},
		"a wrong checksum":                 {packet(good, "fe80::1", "ff02::1", func(p []byte) { p[60]++ }), want, "checksum"},
		"a prefix of 48 bits":              {packet(prefixOption(48, 0x40, "2001:db8::"), "fe80::1", "ff02::1", nil), want, "48 bits"},
		"a prefix not for addresses":       {packet(prefixOption(64, 0, "2001:db8::"), "fe80::1", "ff02::1", nil), want, "without a prefix"},
		"an option of no length":           {packet([]byte{3, 0, 0, 0, 0, 0, 0, 0}, "fe80::1", "ff02::1", nil), want, "no length"},
		"an option that is cut":            {packet(good[:16], "fe80::1", "ff02::1", nil), want, "cut"},
		"a payload longer than the packet": {packet(good, "fe80::1", "ff02::1", func(p []byte) { p[5]++ }), want, "cut"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := readAdvertisement(tt.packet, own)
			if tt.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
					t.Errorf("got %v, want %q", err, tt.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b }), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzReadAdvertisement(f *testing.F) {
	f.Add(packet(prefixOption(64, 0x40, "2001:db8:1:2::"), "fe80::1", "ff02::1", nil))
	f.Fuzz(func(t *testing.T, p []byte) {
		if a, err := readAdvertisement(p, own); err == nil && a.Prefix.Bits() != 64 {
			t.Errorf("took %+v", a)
		}
	})
}
