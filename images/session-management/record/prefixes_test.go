package record

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/session-management/n1"
)

func TestPrefixes(t *testing.T) {
	var all Prefixes
	for _, text := range []string{"0.0.0.0/0", "10.0.0.0/8", "192.168.7.0/24", "192.168.7.128/25", "192.0.2.1/32", "::/0", "2001:db8::/33", "2001:db8:7::/64", "2001:db8::1/128"} {
		all = append(all, netip.MustParsePrefix(text))
	}
	b, err := all.MarshalBinary()
	if err != nil || len(b) != len(all)+0+1+3+4+4+0+5+8+16 {
		t.Fatalf("%d octets, %v", len(b), err)
	}
	var got Prefixes
	if err := got.UnmarshalBinary(b); err != nil || !slices.Equal(got, all) {
		t.Fatalf("%v, %v, want %v", got, err, all)
	}
	for n := range b { // cut anywhere, it is fewer networks or none
		if err := got.UnmarshalBinary(b[:n]); err == nil && !slices.Equal(got, all[:len(got)]) {
			t.Errorf("%d octets of them: %v", n, got)
		}
	}
	for name, bad := range map[string][]byte{
		"longer than IPv4": {33, 1, 2, 3, 4, 5}, "longer than IPv6": append([]byte{193}, make([]byte, 17)...), "host bits": {20, 10, 0, 0xff}, "cut off": {24, 10, 0},
		"IPv4 in IPv6": append([]byte{64 + 96}, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff),
	} {
		if err := got.UnmarshalBinary(bad); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
	for _, bad := range []netip.Prefix{{}, netip.PrefixFrom(netip.MustParseAddr("10.0.0.1"), 8), netip.MustParsePrefix("::ffff:10.0.0.0/104")} {
		if b, err := (Prefixes{bad}).MarshalBinary(); err == nil {
			t.Errorf("%s is written as % x", bad, b)
		}
	}
}

// As many networks behind a UE as there can be leave room for a session of several flows, with policy and charging, in the midst of a handover.
func TestMostRoutesHaveRoom(t *testing.T) {
	s := full()
	s.Routes, s.Branch, s.Left, s.Wanted, s.Rules, s.Control.Failed = nil, nil, nil, nil, nil, nil
	for n := range MostRoutes {
		s.Routes = append(s.Routes, netip.MustParsePrefix(fmt.Sprintf("2001:db8:7:%x::/64", n+1)))
	}
	s.DNN, s.Type = "internet", n1.IPv4v6
	s.Flows = nil
	for n := range uint8(4) {
		s.Flows = append(s.Flows, Flow{QFI: n + 1, FiveQI: 1, Name: strings.Repeat("f", 8), Priority: 2, GFBRUplink: 1e6, GFBRDownlink: 1e6, MFBRUplink: 1e9, MFBRDownlink: 1e9, Filters: 1 << 31})
	}
	s.Told.Flows = s.Flows
	b, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(b) + sessionstore.SealOverhead; n > sessionstore.MaxRecord {
		t.Errorf("%d octets sealed, a record may have %d", n, sessionstore.MaxRecord)
	} else {
		t.Logf("%d octets sealed", n)
	}
	got, err := Decode(b)
	if err != nil || !slices.Equal(got.Routes, s.Routes) {
		t.Errorf("%v, %v", got, err)
	}
}
