package rules

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/pfcp"
)

func policy() Policy {
	next := uint32(0x80000000)
	return Policy{
		OwnsN3: func(a netip.Addr) bool {
			return netip.MustParsePrefix("172.30.3.16/28").Contains(a) || netip.MustParsePrefix("2001:db8:3::/112").Contains(a)
		},
		HasN3: func(bool) bool { return true },
		ChooseFTEID: func(_, v4, v6 bool) (a, b FTEID, err error) {
			next++
			if v4 {
				a = FTEID{Addr: netip.MustParseAddr("172.30.3.16"), TEID: next}
			}
			if v6 {
				b = FTEID{Addr: netip.MustParseAddr("2001:db8:3::16"), TEID: next}
			}
			return a, b, nil
		},
		ChooseUE: func(_ *Set, instances, pools []string, v6 bool) (netip.Prefix, error) {
			if !slices.Contains(instances, "internet") {
				return netip.Prefix{}, errors.New("no pool")
			}
			if v6 {
				return netip.MustParsePrefix("2001:db8:60::/64"), nil
			}
			return netip.MustParsePrefix("10.60.0.1/32"), nil
		},
		Application: func(id string) bool { return id == "video" },
	}
}

func message(t testing.TB, ies ...*ie.IE) pfcp.Elements {
	t.Helper()
	var b []byte
	for _, i := range ies {
		m, err := i.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		b = append(b, m...)
	}
	e, err := pfcp.ParseElements(b)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func pdr(id uint16, ies ...*ie.IE) *ie.IE {
	pdi := ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceCore), ie.NewUEIPAddress(0x06, "10.45.0.1", "", 0, 0))
	return ie.NewCreatePDR(append([]*ie.IE{ie.NewPDRID(id), ie.NewPrecedence(255), pdi, ie.NewFARID(1)}, ies...)...)
}

func far(id uint32) *ie.IE {
	return ie.NewCreateFAR(ie.NewFARID(id), ie.NewApplyAction(0x02), ie.NewForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceAccess)))
}

func established(t testing.TB) *Set {
	t.Helper()
	c, err := Plan(NewSet(), message(t, pdr(1, ie.NewQERID(1), ie.NewURRID(1)), far(1),
		ie.NewCreateQER(ie.NewQERID(1), ie.NewGateStatus(0, 0), ie.NewMBR(1000, 2000), ie.NewQFI(9)),
		ie.NewCreateURR(ie.NewURRID(1), ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0x03, 0), ie.NewMeasurementPeriod(30*time.Second),
			ie.NewVolumeThreshold(0x07, 3, 1, 2))), policy())
	if err != nil {
		t.Fatal(err)
	}
	return c.Next
}

func TestPlanReadsRules(t *testing.T) {
	got := established(t)
	want := &Set{
		PDRs: ByID[uint16, *PDR]{{1, &PDR{ID: 1, Precedence: 255, FAR: 1, QERs: []uint32{1}, URRs: []uint32{1},
			PDI: PDI{SourceInterface: Core, Match: Match{UEAddress: netip.MustParseAddr("10.45.0.1")}}}}},
		FARs: ByID[uint32, *FAR]{{1, &FAR{ID: 1, Action: Forward, Forwarding: Forwarding{Destination: Access}}}},
		QERs: ByID[uint32, *QER]{{1, &QER{ID: 1, HasMBR: true, MBRUL: 1_000_000, MBRDL: 2_000_000, QFI: 9}}},
		URRs: ByID[uint32, *URR]{{1, &URR{ID: 1, MeasureVolume: true, Triggers: Periodic | VolumeThreshold, Period: 30,
			Threshold: Volume{Has: HasTotal | HasUL | HasDL, Total: 3, UL: 1, DL: 2}}}},
	}
	if diff := cmp.Diff(want, got, byValue); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPlanRefuses(t *testing.T) {
	pdi := func(ies ...*ie.IE) *ie.IE {
		return ie.NewCreatePDR(ie.NewPDRID(7), ie.NewPrecedence(1), ie.NewFARID(1), ie.NewPDI(ies...))
	}
	access := ie.NewSourceInterface(ie.SrcInterfaceAccess)
	tunnel := ie.NewFTEID(0x01, 5, net.IP{172, 30, 3, 17}, nil, 0)
	updateFAR := func(ies ...*ie.IE) *ie.IE { return ie.NewUpdateFAR(append([]*ie.IE{ie.NewFARID(1)}, ies...)...) }
	tests := map[string]struct {
		ies       []*ie.IE
		cause     uint8
		offending uint16
		rule      *pfcp.RuleRef
	}{
		"Create PDR without PDR ID":         {[]*ie.IE{ie.NewCreatePDR(ie.NewPrecedence(1))}, ie.CauseMandatoryIEMissing, ie.PDRID, nil},
		"Create PDR without Precedence":     {[]*ie.IE{ie.NewCreatePDR(ie.NewPDRID(7))}, ie.CauseMandatoryIEMissing, ie.Precedence, nil},
		"Create PDR without PDI":            {[]*ie.IE{ie.NewCreatePDR(ie.NewPDRID(7), ie.NewPrecedence(1))}, ie.CauseMandatoryIEMissing, ie.PDI, nil},
		"PDI without Source Interface":      {[]*ie.IE{pdi()}, ie.CauseMandatoryIEMissing, ie.SourceInterface, nil},
		"a source interface that is not":    {[]*ie.IE{pdi(ie.NewSourceInterface(3))}, ie.CauseRuleCreationModificationFailure, ie.SourceInterface, &pfcp.RuleRef{ID: 7}},
		"an uplink PDR without F-TEID":      {[]*ie.IE{pdi(access)}, ie.CauseRuleCreationModificationFailure, ie.FTEID, &pfcp.RuleRef{ID: 7}},
		"a tunnel that is not removed":      {[]*ie.IE{pdi(access, tunnel)}, ie.CauseRuleCreationModificationFailure, ie.OuterHeaderRemoval, &pfcp.RuleRef{ID: 7}},
		"TEID 0":                            {[]*ie.IE{pdi(access, ie.NewFTEID(0x01, 0, net.IP{172, 30, 3, 17}, nil, 0))}, ie.CauseRuleCreationModificationFailure, ie.FTEID, &pfcp.RuleRef{ID: 7}},
		"a PDR that exists":                 {[]*ie.IE{pdr(1)}, ie.CauseRuleCreationModificationFailure, ie.PDRID, &pfcp.RuleRef{ID: 1}},
		"a PDR without FAR":                 {[]*ie.IE{ie.NewCreatePDR(ie.NewPDRID(7), ie.NewPrecedence(1), ie.NewPDI(ie.NewSourceInterface(1)))}, ie.CauseConditionalIEMissing, ie.FARID, &pfcp.RuleRef{ID: 7}},
		"two UE addresses in one session":   {[]*ie.IE{pdi(ie.NewSourceInterface(1), ie.NewUEIPAddress(0x06, "10.45.0.2", "", 0, 0))}, ie.CauseRuleCreationModificationFailure, ie.UEIPAddress, &pfcp.RuleRef{ID: 7}},
		"an application nobody described":   {[]*ie.IE{pdi(ie.NewSourceInterface(1), ie.NewApplicationID("x"))}, pfcp.CauseUnknownApplicationID, ie.ApplicationID, &pfcp.RuleRef{ID: 7}},
		"an SDF filter ID nobody gave":      {[]*ie.IE{pdi(ie.NewSourceInterface(1), ie.NewSDFFilter("", "", "", "", 9))}, ie.CauseRuleCreationModificationFailure, ie.SDFFilter, &pfcp.RuleRef{ID: 7}},
		"five QERs in one PDR":              {[]*ie.IE{pdr(7, ie.NewQERID(1), ie.NewQERID(2), ie.NewQERID(3), ie.NewQERID(4), ie.NewQERID(5))}, ie.CauseNoResourcesAvailable, ie.QERID, &pfcp.RuleRef{ID: 7}},
		"FORW and DROP at once":             {[]*ie.IE{updateFAR(ie.NewApplyAction(0x03))}, ie.CauseMandatoryIEIncorrect, ie.ApplyAction, nil},
		"NOCP without BUFF":                 {[]*ie.IE{updateFAR(ie.NewApplyAction(0x0a))}, ie.CauseMandatoryIEIncorrect, ie.ApplyAction, nil},
		"duplication to nowhere":            {[]*ie.IE{updateFAR(ie.NewApplyAction(0x12))}, ie.CauseConditionalIEMissing, ie.UpdateDuplicatingParameters, &pfcp.RuleRef{Type: 1, ID: 1}},
		"FORW without parameters":           {[]*ie.IE{ie.NewCreateFAR(ie.NewFARID(9), ie.NewApplyAction(0x02))}, ie.CauseConditionalIEMissing, ie.ForwardingParameters, &pfcp.RuleRef{Type: 1, ID: 9}},
		"a FAR that is still used":          {[]*ie.IE{ie.NewRemoveFAR(ie.NewFARID(1))}, ie.CauseRuleCreationModificationFailure, ie.FARID, &pfcp.RuleRef{ID: 1}},
		"removal of what is not there":      {[]*ie.IE{ie.NewRemoveURR(ie.NewURRID(9))}, ie.CauseRuleCreationModificationFailure, ie.URRID, &pfcp.RuleRef{Type: 3, ID: 9}},
		"update of what is not there":       {[]*ie.IE{ie.NewUpdateQER(ie.NewQERID(9))}, ie.CauseRuleCreationModificationFailure, ie.QERID, &pfcp.RuleRef{Type: 2, ID: 9}},
		"query of what is not there":        {[]*ie.IE{ie.NewQueryURR(ie.NewURRID(9))}, ie.CauseRuleCreationModificationFailure, ie.URRID, &pfcp.RuleRef{Type: 3, ID: 9}},
		"Create QER without Gate Status":    {[]*ie.IE{ie.NewCreateQER(ie.NewQERID(2))}, ie.CauseMandatoryIEMissing, ie.GateStatus, nil},
		"Create URR without method":         {[]*ie.IE{ie.NewCreateURR(ie.NewURRID(2))}, ie.CauseMandatoryIEMissing, ie.MeasurementMethod, nil},
		"periodic reports without a period": {[]*ie.IE{ie.NewCreateURR(ie.NewURRID(2), ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(1, 0))}, ie.CauseConditionalIEMissing, ie.MeasurementPeriod, &pfcp.RuleRef{Type: 3, ID: 2}},
		"a threshold that is cut short":     {[]*ie.IE{ie.NewUpdateURR(ie.NewURRID(1), ie.New(ie.VolumeThreshold, []byte{1, 0, 0}))}, ie.CauseInvalidLength, ie.VolumeThreshold, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			base := established(t)
			_, err := Plan(base, message(t, tt.ies...), policy())
			var r *pfcp.Reject
			if !errors.As(err, &r) {
				t.Fatalf("error %v, want a Reject", err)
			}
			r.Detail = ""
			if diff := cmp.Diff(&pfcp.Reject{Cause: tt.cause, Offending: tt.offending, Rule: tt.rule}, r); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(established(t), base, byValue); diff != "" {
				t.Errorf("the session was changed:\n%s", diff)
			}
		})
	}
}

func TestPlanChanges(t *testing.T) {
	base := established(t)
	c, err := Plan(base, message(t,
		ie.NewRemovePDR(ie.NewPDRID(1)), pdr(1, ie.NewQERID(1)), // replaced in one message
		ie.NewUpdateQER(ie.NewQERID(1), ie.NewGateStatus(1, 1)),
		ie.NewRemoveURR(ie.NewURRID(1)),
	), policy())
	if err != nil {
		t.Fatal(err)
	}
	if q := c.Next.QERs.Get(1); !q.ULClosed || !q.DLClosed || q.MBRUL != 1_000_000 || q.QFI != 9 {
		t.Errorf("QER %+v: want closed gates and all else as it was", q)
	}
	if diff := cmp.Diff([]uint32{1}, c.RemovedURRs); diff != "" || len(c.Next.PDRs.Get(1).URRs) != 0 {
		t.Errorf("removed URRs %v, PDR %+v", c.RemovedURRs, c.Next.PDRs.Get(1))
	}
	if q := base.QERs.Get(1); q.ULClosed || len(base.URRs) != 1 {
		t.Error("the base was changed")
	}
}

func TestRemovedURRLeavesItsPDRs(t *testing.T) {
	c, err := Plan(established(t), message(t, ie.NewRemoveURR(ie.NewURRID(1))), policy())
	if err != nil {
		t.Fatal(err)
	}
	if r := c.Next.PDRs.Get(1); len(r.URRs) != 0 || len(r.QERs) != 1 {
		t.Errorf("PDR %+v, want it without URRs and with its QER", r)
	}
}

func TestNetworkInstancesInBothEncodings(t *testing.T) {
	p := policy()
	var seen []string
	p.NetworkInstance = func(name string) bool { seen = append(seen, name); return true }
	for _, i := range []*ie.IE{ie.NewNetworkInstance("internet.mnc093"), ie.NewNetworkInstanceFQDN("internet.mnc093"), ie.NewNetworkInstance("5gdata")} {
		core := ie.NewCreatePDR(ie.NewPDRID(7), ie.NewPrecedence(1), ie.NewFARID(1), ie.NewPDI(ie.NewSourceInterface(1), i))
		if _, err := Plan(established(t), message(t, core), p); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"internet.mnc093", "internet.mnc093", "5gdata"}, seen); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSDFFilterIDStandsForTheFilter(t *testing.T) {
	filtered := func(id uint16, sdf *ie.IE) *ie.IE {
		return ie.NewCreatePDR(ie.NewPDRID(id), ie.NewPrecedence(1), ie.NewFARID(1), ie.NewPDI(ie.NewSourceInterface(1), sdf))
	}
	c, err := Plan(established(t), message(t,
		filtered(7, ie.NewSDFFilter("permit out 6 from any 80 to assigned", "", "", "", 4)),
		filtered(8, ie.NewSDFFilter("", "", "", "", 4))), policy())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c.Next.PDRs.Get(7).PDI.Filters, c.Next.PDRs.Get(8).PDI.Filters, byValue); diff != "" {
		t.Errorf("filter and reference differ:\n%s", diff)
	}
}

func FuzzPlan(f *testing.F) {
	seed := func(ies ...*ie.IE) {
		var b []byte
		for _, i := range ies {
			m, err := i.Marshal()
			if err != nil {
				f.Fatal(err)
			}
			b = append(b, m...)
		}
		f.Add(b)
	}
	seed(pdr(2, ie.NewQERID(1)), far(2))
	seed(ie.NewUpdateFAR(ie.NewFARID(1), ie.NewApplyAction(0x0c), ie.NewUpdateForwardingParameters(ie.NewOuterHeaderCreation(0x0100, 1, "1.2.3.4", "", 0, 0, 0))))
	seed(ie.NewUpdateURR(ie.NewURRID(1), ie.NewVolumeThreshold(7, 1, 2, 3), ie.NewVolumeQuota(7, 1, 2, 3)), ie.NewQueryURR(ie.NewURRID(1)))
	seed(ie.NewRemovePDR(ie.NewPDRID(1)), ie.NewRemoveFAR(ie.NewFARID(1)), ie.NewRemoveQER(ie.NewQERID(1)), ie.NewRemoveURR(ie.NewURRID(1)))
	base := established(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := pfcp.ParseElements(b)
		if err != nil {
			return
		}
		c, err := Plan(base, e, policy())
		if err != nil {
			var r *pfcp.Reject
			if !errors.As(err, &r) || r.Cause == ie.CauseRequestAccepted {
				t.Fatalf("error %v is no refusal", err)
			}
			return
		}
		for id, p := range c.Next.PDRs.All() {
			if p.ID != id || c.Next.FARs.Get(p.FAR) == nil {
				t.Errorf("PDR %d: %+v", id, p)
			}
		}
	})
}

func BenchmarkPlan(b *testing.B) {
	e := message(b, pdr(1, ie.NewQERID(1), ie.NewURRID(1)), pdr(2, ie.NewQERID(1)), far(1), far(2),
		ie.NewCreateQER(ie.NewQERID(1), ie.NewGateStatus(0, 0), ie.NewMBR(1000, 2000), ie.NewQFI(9)),
		ie.NewCreateURR(ie.NewURRID(1), ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(2, 0), ie.NewVolumeThreshold(0x07, 3, 1, 2)))
	p := policy()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Plan(NewSet(), e, p); err != nil {
			b.Fatal(err)
		}
	}
}
