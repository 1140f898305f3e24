package addresses

import (
	"net/netip"
	"testing"

	"core5g.dev/core5g/upf/upfc/rules"
)

// A TEID that is chosen here tells upf-u's workers whose its packets are: they have the same vectors
// (upfu/test/test_handoff.c).
func TestChosenTEIDHasTheSessionsHome(t *testing.T) {
	for name, tt := range map[string]struct {
		ue   []string
		home uint32
	}{
		"an IPv4 address":                           {[]string{"10.45.0.1/32"}, 16},
		"the next address is the next one's":        {[]string{"10.45.0.2/32"}, 19},
		"an IPv6 prefix":                            {[]string{"2001:db8:1::/64"}, 58},
		"of both the IPv4 address counts":           {[]string{"2001:db8:1::/64", "10.45.0.1/32"}, 16},
		"without an address the index counts, of 5": {nil, 5},
	} {
		t.Run(name, func(t *testing.T) {
			set := rules.NewSet()
			for i, u := range tt.ue {
				r := &rules.PDR{}
				if p := netip.MustParsePrefix(u); p.Addr().Is4() {
					r.PDI.Match.UEAddress = p.Addr()
				} else {
					r.PDI.Match.UEPrefix = p
				}
				set.PDRs.Put(uint16(i+1), r)
			}
			for _, chosen := range []uint32{0x80000005, 0xff800005, 0xab000005} {
				if got, want := HomeTEID(HomeOf(5, set), chosen, set), chosen&0x81800005|tt.home<<25; got != want {
					t.Errorf("for %#x it is %#x, want %#x", chosen, got, want)
				}
			}
		})
	}
}

// However many F-TEIDs one message asks for, no two are alike.
func TestChosenTEIDsOfASessionDiffer(t *testing.T) {
	set := rules.NewSet()
	set.PDRs.Put(1, &rules.PDR{})
	set.PDRs.Get(1).PDI.Match.UEAddress = netip.MustParseAddr("10.45.0.1")
	const first, n = 2, 128
	for i := range uint16(n) {
		r := &rules.PDR{}
		r.PDI.Match.FTEID = rules.FTEID{Addr: netip.MustParseAddr("172.30.3.16"), TEID: 1<<31 | uint32(i+1)<<23 | 5}
		set.PDRs.Put(first+i, r)
	}
	seen := map[uint32]bool{}
	for i := range uint16(n) {
		f := &set.PDRs.Get(first + i).PDI.Match.FTEID
		f.TEID = HomeTEID(5, f.TEID, set)
	}
	for i := range uint16(n) {
		teid := set.PDRs.Get(first + i).PDI.Match.FTEID.TEID
		if seen[teid] {
			t.Errorf("%#x is given out twice", teid)
		}
		seen[teid] = true
	}
}
