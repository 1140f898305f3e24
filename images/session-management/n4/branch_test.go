package n4

import (
	"fmt"
	"net/netip"
	"testing"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/record"
	"core5g.dev/core5g/upf/abi"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"
)

// A branch at upf-c as it ships: what upf-u is to do with packets of either side, and what becomes of it when the UE moves, is idle, or has a
// flow with a guaranteed rate. The unit has no pools and knows no data network by name.
func TestBranch(t *testing.T) {
	for name, breakouts := range map[string][]string{"an uplink classifier": {"edge"}, "an intermediate unit": nil} {
		t.Run(name, func(t *testing.T) {
			smf, u := unitWith(t, "namedPools: true")
			set := settings
			set.Breakouts = map[string][]netip.Prefix{"edge": {netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("2001:db8:e::/48")}}
			s := session(n1.IPv4v6)
			anchor := record.Tunnel{TEID: 0x70, IPv4: netip.MustParseAddr("172.30.3.200")}
			s.IPv4, s.IPv6, s.Uplink = netip.MustParseAddr("10.45.0.9"), netip.MustParsePrefix("2001:db8:45:9::/64"), anchor
			s.Phase, s.Downlink = record.Active, gnb
			s.Branch = &record.Branch{NodeID: "upf.test", CPSEID: 77, Breakouts: breakouts}
			ies, err := BranchEstablishment(s, set)
			if err != nil {
				t.Fatal(err)
			}
			if err := BranchEstablished(s, smf.Establish(s.Branch.CPSEID, ies...)); err != nil {
				t.Fatal(err)
			}
			ids := map[string]bool{}
			for _, r := range branchRules(s, set) {
				ids[fmt.Sprint(r.kind, " ", r.id)] = r.kind != ie.CreateBAR
			}
			shown := ReadableBranch(s, set)
			for _, r := range shown.PDRs {
				if r.FAR == 0 || r.NetworkInstance == "" || r.UEIPAddress != "10.45.0.9 2001:db8:45:9::/64" || r.Precedence == 0 {
					t.Errorf("a PDR of the branch is shown as %+v", r)
				}
				delete(ids, fmt.Sprint(ie.CreatePDR, " ", r.ID))
			}
			for _, r := range shown.FARs {
				delete(ids, fmt.Sprint(ie.CreateFAR, " ", r.ID))
			}
			for _, r := range shown.QERs {
				delete(ids, fmt.Sprint(ie.CreateQER, " ", r.ID))
			}
			for id, should := range ids {
				if should {
					t.Errorf("rule %s of the branch is not shown", id)
				}
			}
			from := PDR{ID: 1, Precedence: defaultPrecedence, SourceInterface: "access", NetworkInstance: set.Access, FTEID: TunnelText(s.Branch.Access),
				UEIPAddress: "10.45.0.9 2001:db8:45:9::/64", OuterHeaderRemoval: true, FAR: 1, QERs: []uint32{qerAMBR}}
			if diff := cmp.Diff(from, shown.PDRs[0]); diff != "" {
				t.Errorf("the first PDR of the branch (-want +got):\n%s", diff)
			}
			b := s.Branch
			if b.UPSEID == 0 || b.Access.TEID == 0 || b.Core.TEID == 0 || !b.Access.IPv4.IsValid() || !b.Core.IPv4.IsValid() {
				t.Fatalf("the unit has chosen %+v", b)
			}
			if got, want := s.N3(), b.Access; got != want {
				t.Errorf("the access network sends to %+v, want %+v", got, want)
			}
			type far struct {
				to, action uint8
				teid       uint32
			}
			fars := func() map[uint32]far {
				out := map[uint32]far{}
				for _, f := range only(t, u).FARs {
					is := far{f.DestinationInterface, f.Action, 0}
					if f.Action == abi.FarForw {
						is.teid = f.Teid
					}
					out[f.FarId] = is
				}
				return out
			}
			want := map[uint32]far{1: {abi.IfCore, abi.FarForw, anchor.TEID}, 2: {abi.IfAccess, abi.FarForw, gnb.TEID}}
			if len(breakouts) > 0 {
				want[4] = far{abi.IfCore, abi.FarForw, 0}
			}
			check := func(what string) {
				t.Helper()
				if diff := cmp.Diff(want, fars(), cmp.AllowUnexported(far{})); diff != "" {
					t.Errorf("%s: FARs (-want +got):\n%s", what, diff)
				}
			}
			check("as it is made")
			if got := len(only(t, u).SDFs); (got > 0) != (len(breakouts) > 0) {
				t.Errorf("%d SDF filters", got)
			}

			modify := func(what string, change func(*record.Session), marked int) {
				t.Helper()
				before := s.Clone()
				change(s)
				asked := BranchModification(before, s, set, true, false)
				if len(asked) == 0 {
					t.Fatalf("%s: nothing to ask for", what)
				}
				if err := Modified(smf.Modify(b.UPSEID, asked...)); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				if got := len(u.EndMarkers()); got != marked {
					t.Errorf("%s: %d End Markers, want %d", what, got, marked)
				}
				check(what)
			}
			want[2] = far{abi.IfAccess, abi.FarForw, otherGNB.TEID}
			modify("another gNB", func(s *record.Session) { s.Downlink = otherGNB }, 1)
			pdrs := len(only(t, u).PDRs)
			modify("a flow with a guaranteed rate", func(s *record.Session) {
				s.Flows = append(s.Flows, record.Flow{QFI: 9, Name: "call", FiveQI: 1, GFBRUplink: 1e5, GFBRDownlink: 1e5, MFBRUplink: 1e5, MFBRDownlink: 1e5})
			}, 1)
			if got := len(only(t, u).PDRs); got != pdrs+2 {
				t.Errorf("%d PDRs with a flow with a guaranteed rate, %d without", got, pdrs)
			}
			modify("it ends", func(s *record.Session) { s.Flows = s.Flows[:len(s.Flows)-1] }, 1)
			want[2] = far{abi.IfAccess, abi.FarBuff | abi.FarNocp, 0}
			modify("idle", func(s *record.Session) { s.Phase, s.Downlink = record.Idle, record.Tunnel{} }, 1)
			if again := BranchModification(s, s, set, true, true); Modified(smf.Modify(b.UPSEID, again...)) != nil {
				t.Error("told all of it again, the unit refuses")
			}
			check("told all of it again")
			s.Uplink.TEID = 0x71
			want[1] = far{abi.IfCore, abi.FarForw, 0x71}
			if err := Modified(smf.Modify(b.UPSEID, Ways(s, set, true)...)); err != nil {
				t.Fatal(err)
			}
			check("another anchor")
		})
	}
}

// The anchor behind a branch sends to that, whatever the access network does.
func TestAnchorOfABranch(t *testing.T) {
	s := session(n1.IPv4)
	s.Phase, s.Downlink = record.Active, gnb
	s.Branch = &record.Branch{NodeID: "edge", CPSEID: 7, Core: record.Tunnel{TEID: 0x51, IPv4: netip.MustParseAddr("172.30.3.32")}}
	idle := s.Clone()
	idle.Phase, idle.Downlink = record.Idle, record.Tunnel{}
	if ies, err := Modification(s, idle, settings, true, false); err != nil || len(ies) != 0 {
		t.Errorf("the anchor of an idle UE is told %v, %v", ies, err)
	}
	without := s.Clone()
	without.Branch = nil
	ies, err := Modification(s, without, settings, false, false)
	if err != nil || len(ies) != 1 || ies[0].Type != ie.UpdateFAR {
		t.Errorf("without its branch it is told %v, %v", ies, err)
	}
}
