package agent_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/dataplane/fakeupfu"
	"core5g.dev/core5g/upf/upfc/fakesmf"
)

// lanSession is an Ethernet PDU session whose URR reports MAC addresses.
func lanSession() []*ie.IE {
	pdr := func(id uint16, si uint8, ies ...*ie.IE) *ie.IE {
		pdi := ie.NewPDI(append([]*ie.IE{ie.NewSourceInterface(si), ie.NewNetworkInstance("lan")}, ies...)...)
		all := []*ie.IE{ie.NewPDRID(id), ie.NewPrecedence(255), pdi, ie.NewFARID(1), ie.NewURRID(1)}
		if si == ie.SrcInterfaceAccess {
			all = append(all, ie.NewOuterHeaderRemoval(0, 0))
		}
		return ie.NewCreatePDR(all...)
	}
	return []*ie.IE{
		ie.NewPDNType(5),
		pdr(1, ie.SrcInterfaceAccess, ie.NewFTEID(0x05, 0, nil, nil, 0)),
		pdr(2, ie.SrcInterfaceCore, ie.NewEthernetPDUSessionInformation(1), ie.NewEthernetPacketFilter(ie.NewEthertype(0x88b5))),
		ie.NewCreateFAR(ie.NewFARID(1), ie.NewApplyAction(0x02),
			ie.NewForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceCore), ie.NewNetworkInstance("lan"))),
		ie.NewCreateURR(ie.NewURRID(1), ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0, 0x08), ie.NewEthernetInactivityTimer(9*time.Second)),
	}
}

// An Ethernet session is compiled for its bridge, and the CP function hears of each MAC address once, whoever of both halves
// begins anew in between.
func TestStationsAreReportedOnce(t *testing.T) {
	l := (&lab{t: t, of: []fakeupfu.Network{{Name: "internet"}, {Name: "lan", Ethernet: true}}}).start()
	s := fakesmf.New(t, l.addr)
	s.Associate()
	seid := s.Established(1, lanSession()...)
	index, got := l.only()
	if !got.Ethernet || got.Network != 1 || got.FARs[0].Network != 1 || len(got.EthernetFilters) != 1 || got.EthernetFilters[0].Type != 0x88b5 || got.URRs[0].EthernetInactivityS != 9 {
		t.Errorf("upf-u has %+v", got)
	}
	// The bridge's home is in the TEID that was chosen.
	for _, p := range got.PDRs {
		if p.Flags&abi.PdrTeid != 0 && p.Teid>>25&63 != 1 {
			t.Errorf("TEID %#x has not its bridge's home", p.Teid)
		}
	}
	a, b := [6]byte{2, 0, 0, 0, 0, 1}, [6]byte{2, 0, 0, 0, 0, 2}
	station := func(mac [6]byte, flags uint16) {
		t.Helper()
		if err := l.upfu.Station(index, mac, flags); err != nil {
			t.Fatal(err)
		}
	}
	told := func(ieType uint16, macs ...[6]byte) {
		t.Helper()
		var got [][6]byte
		for len(got) < len(macs) {
			for _, u := range s.Report().UsageReport {
				for _, e := range u.ChildIEs {
					if e.Type == ie.StartTime || e.Type == ie.VolumeMeasurement {
						t.Errorf("IE %d in a report of MAC addresses", e.Type)
					}
					for _, list := range e.ChildIEs {
						if e.Type != ie.EthernetTrafficInformation || list.Type != ieType {
							continue
						}
						for i := range int(list.Payload[0]) {
							got = append(got, [6]byte(list.Payload[1+6*i:]))
						}
					}
				}
			}
		}
		slices.SortFunc(got, func(a, b [6]byte) int { return slices.Compare(a[:], b[:]) })
		if diff := cmp.Diff(macs, got); diff != "" {
			t.Errorf("reported (-want +got):\n%s", diff)
		}
	}
	if !l.upfu.Learn(index, a) || l.upfu.Learn(index, a) {
		t.Error("a bridge learns an address once")
	}
	told(ie.MACAddressesDetected, a)
	// A URR that comes later hears of what is there.
	fakesmf.WantCause(t, s.Modify(seid, ie.NewCreateURR(ie.NewURRID(2), ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0, 0x08))).Cause, ie.CauseRequestAccepted)
	told(ie.MACAddressesDetected, a)
	fakesmf.WantCause(t, s.Modify(seid, ie.NewRemoveURR(ie.NewURRID(2))).Cause, ie.CauseRequestAccepted)
	l.await("the report is acknowledged", func() bool {
		d, ok := l.agent.Session(seid)
		return ok && len(d.Outbox) == 0
	})
	l.restartAgent() // which upf-u tells of a again
	station(b, 0)
	told(ie.MACAddressesDetected, b)
	if list := l.agent.Sessions(); len(list) != 1 || !list[0].Ethernet || !slices.Equal(list[0].MACs, []string{"02:00:00:00:00:01", "02:00:00:00:00:02"}) {
		t.Errorf("the session is shown as %+v", list)
	}
	station(a, abi.MacGone)
	station(b, abi.MacGone)
	told(ie.MACAddressesRemoved, a, b)
	// Of a session that is not there nothing is said.
	if err := l.upfu.Station(index+1, a, 0); err != nil {
		t.Fatal(err)
	}
	station(a, 0)
	told(ie.MACAddressesDetected, a)
}

// A new upf-u, and the one of a standby that takes over, hear which stations the sessions have; and of one that they have no room for the CP
// function hears that it is gone.
func TestStationsGoToTheNextUPFU(t *testing.T) {
	networks := []fakeupfu.Network{{Name: "internet"}, {Name: "lan", Ethernet: true}}
	tagged := abi.EvMac{Mac: [6]byte{2, 0, 0, 0, 0, 2}, Flags: abi.MacCTag, CVid: 20}
	plain := abi.EvMac{Mac: [6]byte{2, 0, 0, 0, 0, 1}}
	// reported waits until the CP function has heard of both.
	reported := func(t *testing.T, smf *fakesmf.SMF, upfu *fakeupfu.UPFU, index uint32) {
		t.Helper()
		for _, s := range []abi.EvMac{plain, tagged} {
			s.Session = index
			if err := upfu.StationIs(s); err != nil {
				t.Fatal(err)
			}
			smf.Report()
		}
	}
	wants := func(t *testing.T, got []abi.EvMac, index uint32) {
		t.Helper()
		want := []abi.EvMac{plain, tagged}
		for i := range want {
			want[i].Session, want[i].Rec = index, abi.Record{Type: abi.RecStation, Length: 24}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("upf-u is told of stations (-want +got):\n%s", diff)
		}
	}
	t.Run("a new one", func(t *testing.T) {
		l := (&lab{t: t, of: networks}).start()
		s := fakesmf.New(t, l.addr)
		s.Associate()
		s.Established(1, lanSession()...)
		index, _ := l.only()
		reported(t, s, l.upfu, index)
		l.restartAgent()
		if got := l.upfu.Stations(); len(got) != 0 {
			t.Errorf("upf-u, which knows its stations, is told of %v", got)
		}
		l.upfu.Kill()
		l.startUPFU()
		l.await("upf-u is told", func() bool { return len(l.upfu.Stations()) == 2 })
		wants(t, l.upfu.Stations(), index)
		gone := tagged
		gone.Session, gone.Flags = index, gone.Flags|abi.MacGone
		if err := l.upfu.StationIs(gone); err != nil {
			t.Fatal(err)
		}
		l.await("it is gone", func() bool {
			list := l.agent.Sessions()
			return len(list) == 1 && slices.Equal(list[0].MACs, []string{"02:00:00:00:00:01"})
		})
	})
	t.Run("a standby's", func(t *testing.T) {
		p := newPair(t, networks...)
		p.smf = fakesmf.New(t, p.agent[0].Addr())
		p.smf.Associate()
		p.smf.Established(1, lanSession()...)
		index := slices.Collect(maps.Keys(p.upfu[0].Sessions()))[0]
		reported(t, p.smf, p.upfu[0], index)
		want := rulesOf(p.upfu[0].Sessions())
		p.await("the standby's upf-u has the session", func() bool { return cmp.Equal(rulesOf(p.upfu[1].Sessions()), want) })
		if got := p.upfu[1].Stations(); len(got) != 0 {
			t.Errorf("upf-u of the standby, which forwards nothing, is told of %v", got)
		}
		p.takeOver(p.yield())
		wants(t, p.upfu[1].Stations(), index)
	})
}
