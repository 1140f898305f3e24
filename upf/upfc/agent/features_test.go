package agent_test

import (
	"fmt"
	"math"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/fakesmf"
)

// bit names one of UP Function Features (TS 29.244 8.2.25): octet from 5, bit from 1.
type bit struct{ octet, bit int }

// Every bit that is advertised is shown to work, and no other bit is set.
func TestFeaturesAreWhatWorks(t *testing.T) {
	uplink := func(id uint16, f *ie.IE) *ie.IE {
		return ie.NewCreatePDR(ie.NewPDRID(id), ie.NewPrecedence(1), ie.NewFARID(1), ie.NewOuterHeaderRemoval(6, 0), ie.NewPDI(ie.NewSourceInterface(0), f))
	}
	endpoint := func(id uint8, teid uint32) *ie.IE {
		return ie.NewCreateTrafficEndpoint(ie.NewTrafficEndpointID(id), ie.NewFTEID(1, teid, net.IP{172, 30, 3, 16}, nil, 0))
	}
	byEndpoints := func(ids ...uint8) *ie.IE {
		ies := []*ie.IE{ie.NewSourceInterface(0)}
		for _, id := range ids {
			ies = append(ies, ie.NewTrafficEndpointID(id))
		}
		return ie.NewCreatePDR(ie.NewPDRID(1), ie.NewPrecedence(1), ie.NewFARID(1), ie.NewOuterHeaderRemoval(6, 0), ie.NewPDI(ies...))
	}
	accepted := func(t *testing.T, l *lab, s *fakesmf.SMF, ies ...*ie.IE) {
		t.Helper()
		fakesmf.WantCause(t, s.Establish(1, ies...).Cause, ie.CauseRequestAccepted)
	}
	works := map[bit]func(t *testing.T, l *lab, s *fakesmf.SMF){
		{5, 2}: func(t *testing.T, l *lab, s *fakesmf.SMF) { // DDND
			accepted(t, l, s, downlinkPDR(1, ie.NewUEIPAddress(2, "10.45.0.1", "", 0, 0)),
				ie.NewCreateFAR(ie.NewFARID(1), ie.NewApplyAction(0x0c), ie.NewBARID(1)),
				ie.NewCreateBAR(ie.NewBARID(1), ie.New(ie.DownlinkDataNotificationDelay, []byte{2})))
			if _, got := l.only(); len(got.BARs) != 1 || got.BARs[0].DelayMs != 100 || got.FARs[0].Bar != 0 {
				t.Errorf("BARs %+v", got.BARs)
			}
		},
		{5, 3}: func(t *testing.T, l *lab, s *fakesmf.SMF) { // DLBD
			accepted(t, l, s, downlinkPDR(1, ie.NewUEIPAddress(2, "10.45.0.1", "", 0, 0)),
				ie.NewCreateFAR(ie.NewFARID(1), ie.NewApplyAction(0x0c), ie.NewBARID(1)), ie.NewCreateBAR(ie.NewBARID(1)))
			index, _ := l.only()
			more := []*ie.IE{ie.NewUpdateBARWithinSessionReportResponse(ie.NewBARID(1), ie.NewDLBufferingDuration(20*time.Second))}
			s.More.Store(&more)
			if err := l.upfu.DownlinkData(index, 1, 0); err != nil {
				t.Fatal(err)
			}
			s.Report()
			if err := l.upfu.Await(fakesmf.Patience, func() bool { _, got := l.only(); return got.BARs[0].DurationMs == 20_000 }); err != nil {
				t.Error("the DL Buffering Duration of a report's answer does not arrive")
			}
		},
		{5, 5}: func(t *testing.T, l *lab, s *fakesmf.SMF) { // FTUP
			a := s.Establish(1, uplink(1, ie.NewFTEID(0x05, 0, nil, nil, 0)), coreFAR(1))
			fakesmf.WantCause(t, a.Cause, ie.CauseRequestAccepted)
			if len(a.CreatedPDR) != 1 {
				t.Error("no F-TEID in the answer")
			}
		},
		{5, 6}: func(t *testing.T, l *lab, s *fakesmf.SMF) { // PFDM
			fakesmf.WantCause(t, describe(t, s, application("a", "permit out ip from 10.9.0.1 to assigned")).Cause, ie.CauseRequestAccepted)
			accepted(t, l, s, downlinkPDR(1, ie.NewUEIPAddress(2, "10.45.0.1", "", 0, 0), ie.NewApplicationID("a")), coreFAR(1))
		},
		{5, 8}: func(t *testing.T, l *lab, s *fakesmf.SMF) { // TREU
			accepted(t, l, s, downlinkPDR(1, ie.NewUEIPAddress(2, "10.45.0.1", "", 0, 0)),
				ie.NewCreateFAR(ie.NewFARID(1), ie.NewApplyAction(2), ie.NewForwardingParameters(ie.NewDestinationInterface(1), ie.NewRedirectInformation(2, "http://a/"))))
			if _, got := l.only(); got.FARs[0].Flags&abi.FarRedirect == 0 || got.Text != "http://a/" {
				t.Errorf("FAR %+v, text %q", got.FARs[0], got.Text)
			}
		},
		{6, 1}: func(t *testing.T, l *lab, s *fakesmf.SMF) { // EMPU
			seid := s.Established(1, fakesmf.Phone.Session()...)
			fakesmf.WantCause(t, s.Modify(seid, fakesmf.Phone.GNB(1, "172.30.3.100")).Cause, ie.CauseRequestAccepted)
			fakesmf.WantCause(t, s.Modify(seid, fakesmf.Phone.GNB(2, "172.30.3.101", ie.NewPFCPSMReqFlags(2))).Cause, ie.CauseRequestAccepted)
			if len(l.upfu.EndMarkers()) != 1 {
				t.Error("no End Marker")
			}
		},
		{6, 2}: func(t *testing.T, l *lab, s *fakesmf.SMF) { // PDIU
			accepted(t, l, s, endpoint(1, 7), byEndpoints(1), coreFAR(1))
		},
		{6, 3}: func(t *testing.T, l *lab, s *fakesmf.SMF) { // UDBC
			accepted(t, l, s, downlinkPDR(1, ie.NewUEIPAddress(2, "10.45.0.1", "", 0, 0)),
				ie.NewCreateFAR(ie.NewFARID(1), ie.NewApplyAction(0x0c), ie.NewBARID(1)),
				ie.NewCreateBAR(ie.NewBARID(1), ie.NewSuggestedBufferingPacketsCount(7)))
			if _, got := l.only(); len(got.BARs) != 1 || got.BARs[0].PacketsMax != 7 {
				t.Errorf("BARs %+v", got.BARs)
			}
		},
		{6, 4}: func(t *testing.T, l *lab, s *fakesmf.SMF) { // QUOAC
			u := fakesmf.Phone
			u.URR = []*ie.IE{ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0, 1), ie.NewVolumeQuota(1, 1, 0, 0), ie.NewFARID(2)}
			s.Established(1, u.Session()...)
			if _, got := l.only(); got.URRs[0].QuotaFar >= uint16(len(got.FARs)) || got.FARs[got.URRs[0].QuotaFar].FarId != 2 {
				t.Errorf("URR %+v, want FAR 2 where the quota ends", got.URRs[0])
			}
		},
		{6, 6}: func(t *testing.T, l *lab, s *fakesmf.SMF) { // FRRT
			accepted(t, l, s, downlinkPDR(1, ie.NewUEIPAddress(2, "10.45.0.1", "", 0, 0), ie.NewFramedRoute("192.168.7.0/24 0.0.0.0 1")), coreFAR(1))
			want := []abi.Route{{Addr: abi.AddrOf(netip.MustParseAddr("192.168.7.0")), Len: 24}}
			if _, got := l.only(); !slices.Equal(got.Routes, want) {
				t.Errorf("routes %+v, want %+v", got.Routes, want)
			}
			l.restartAgent() // the session's state has it, too
			if _, got := l.only(); !slices.Equal(got.Routes, want) {
				t.Errorf("after upf-c began anew: routes %+v, want %+v", got.Routes, want)
			}
		},
		{6, 7}: func(t *testing.T, l *lab, s *fakesmf.SMF) { // PFDE
			a, b := "permit out ip from 10.9.0.1 to assigned", "permit out ip from 10.9.0.2 to assigned"
			more := append([]byte{0, byte(len(b))}, b...)
			value := append(append([]byte{0x21, 0, 0, byte(len(a))}, a...), append([]byte{0, byte(len(more))}, more...)...)
			fakesmf.WantCause(t, describe(t, s, ie.NewApplicationIDsPFDs(ie.NewApplicationID("a"), ie.NewPFDContext(ie.New(ie.PFDContents, value)))).Cause, ie.CauseRequestAccepted)
			accepted(t, l, s, downlinkPDR(1, ie.NewUEIPAddress(2, "10.45.0.1", "", 0, 0), ie.NewApplicationID("a")), coreFAR(1))
			if _, got := l.only(); len(got.SDFs) != 2 {
				t.Errorf("%d filters, want 2", len(got.SDFs))
			}
		},
		{7, 2}: func(t *testing.T, l *lab, s *fakesmf.SMF) { // ADPDP
			accepted(t, l, s, ie.NewCreatePDR(ie.NewPDRID(1), ie.NewPrecedence(1), ie.NewFARID(1), ie.NewActivatePredefinedRules("video"),
				ie.NewPDI(ie.NewSourceInterface(1), ie.NewUEIPAddress(2, "10.45.0.1", "", 0, 0))), coreFAR(1))
			if _, got := l.only(); len(got.SDFs) != 2 {
				t.Errorf("%d filters, want the two of the rule", len(got.SDFs))
			}
		},
		{7, 3}: func(t *testing.T, l *lab, s *fakesmf.SMF) { // UEIP
			a := s.Establish(1, downlinkPDR(1, ie.New(ie.UEIPAddress, []byte{0x10})), coreFAR(1))
			fakesmf.WantCause(t, a.Cause, ie.CauseRequestAccepted)
			if len(a.CreatedPDR) != 1 {
				t.Error("no UE IP address in the answer")
			}
		},
		{7, 5}: func(t *testing.T, l *lab, s *fakesmf.SMF) { // MNOP
			u := fakesmf.Phone
			u.URR = []*ie.IE{ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0, 0), ie.NewMeasurementInformation(0x10)}
			seid := s.Established(1, u.Session()...)
			_, got := l.only()
			if err := l.upfu.Count(got.URRs[0].Slot, abi.Ul, 300, 3); err != nil {
				t.Fatal(err)
			}
			if v, err := s.Delete(seid).UsageReport[0].VolumeMeasurement(); err != nil || v.UplinkNumberOfPackets != 3 {
				t.Errorf("volume measurement %+v (%v), want 3 packets", v, err)
			}
		},
		{7, 6}: func(t *testing.T, l *lab, s *fakesmf.SMF) { // MTE
			accepted(t, l, s, endpoint(1, 7), endpoint(2, 8), byEndpoints(1, 2), coreFAR(1))
			if _, got := l.only(); len(got.PDRs) != 2 || got.PDRs[0].Teid == got.PDRs[1].Teid {
				t.Errorf("PDRs %+v, want one for each endpoint", got.PDRs)
			}
		},
		{8, 3}: func(t *testing.T, l *lab, s *fakesmf.SMF) { // VTIME
			u := fakesmf.Phone
			u.URR = []*ie.IE{ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0, 0x80), ie.NewVolumeQuota(1, 1, 0, 0), ie.NewQuotaValidityTime(time.Second)}
			s.Established(1, u.Session()...)
			if got := fakesmf.Trigger(t, s.Report().UsageReport[0]); got != "000008" {
				t.Errorf("trigger %s, want QUVTI", got)
			}
		},
		{8, 4}: func(t *testing.T, l *lab, s *fakesmf.SMF) { // NORP
			u := fakesmf.Phone
			u.URR = []*ie.IE{ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(2, 0), ie.NewVolumeThreshold(1, 10, 0, 0), ie.NewNumberOfReports(1)}
			s.Established(1, u.Session()...)
			_, got := l.only()
			l.upfu.Forward(got.URRs[0].Slot, abi.Ul, 10)
			s.Report()
			if err := l.upfu.Await(fakesmf.Patience, func() bool { return l.upfu.Arm(got.URRs[0].Slot).Total == math.MaxUint64 }); err != nil {
				t.Errorf("armed at %d after the last report", l.upfu.Arm(got.URRs[0].Slot).Total)
			}
		},
		{10, 6}: func(t *testing.T, l *lab, s *fakesmf.SMF) { // RESPS
			a := s.Establish(1, ie.NewPFCPSEReqFlags(1), uplink(1, ie.NewFTEID(0x01, 0x80800005, net.IP{172, 30, 3, 16}, nil, 0)), coreFAR(1))
			fakesmf.WantCause(t, a.Cause, ie.CauseRequestAccepted)
			if index, got := l.only(); index != 5 || got.PDRs[0].Teid != 0x80800005 {
				t.Errorf("session %d has TEID %#x, want 5 and 0x80800005", index, got.PDRs[0].Teid)
			}
		},
	}
	for _, pools := range []bool{false, true} {
		var edit func(*config.Config)
		if pools {
			edit = func(c *config.Config) { withPools(c); withPredefined(c) }
		}
		l := newLab(t, edit)
		features := fakesmf.New(t, l.addr).Associate().UPFunctionFeatures.Payload
		for i, octet := range features {
			for b := range 8 {
				if octet&(1<<b) == 0 {
					continue
				}
				which := bit{i + 5, b + 1}
				test := works[which]
				if test == nil {
					t.Errorf("octet %d bit %d is advertised, and nothing shows that it works", which.octet, which.bit)
					continue
				}
				t.Run(fmt.Sprintf("octet %d bit %d", which.octet, which.bit), func(t *testing.T) {
					l := newLab(t, edit)
					s := fakesmf.New(t, l.addr)
					s.Associate()
					test(t, l, s)
				})
			}
		}
		if ueip := features[2]&0x04 != 0; ueip != pools {
			t.Errorf("UEIP advertised: %t, pools: %t", ueip, pools)
		}
		if adpdp := features[2]&0x02 != 0; adpdp != pools {
			t.Errorf("ADPDP advertised: %t, predefined rules: %t", adpdp, pools)
		}
	}
}
