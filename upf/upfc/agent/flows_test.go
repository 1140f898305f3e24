package agent_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/fakesmf"
)

// told is what a Usage Report says of an application.
type told struct{ Trigger, Application, Instance, Flow string }

func toldOf(t *testing.T, u *ie.IE) told {
	t.Helper()
	id, err := u.ApplicationID()
	if err != nil {
		t.Fatal(err)
	}
	got := told{Trigger: fakesmf.Trigger(t, u), Application: id}
	if got.Instance, err = u.ApplicationInstanceID(); err != nil {
		t.Fatal(err)
	}
	flow, err := u.FlowInformation()
	if err != nil || len(flow) < 3 || flow[0] != ie.FlowDirectionBidirectional || int(flow[1])<<8|int(flow[2]) != len(flow)-3 {
		t.Fatalf("Flow Information % x (%v)", flow, err)
	}
	got.Flow = string(flow[3:])
	return got
}

const start, stop = "100000", "200000"

// The CP function hears of each flow of an application by domain that begins and ends, with the same instance and flow, whoever of both halves
// begins anew in between.
func TestFlowsOfApplicationsAreReported(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	fakesmf.WantCause(t, describe(t, s, domainsOf("video", "video.example"), domainsOf("social", "social.example")).Cause, ie.CauseRequestAccepted)
	withURR := func(pdr *ie.IE, urr uint32) *ie.IE { pdr.Add(ie.NewURRID(urr)); return pdr }
	ue := ie.NewUEIPAddress(0x02, "10.45.0.1", "", 0, 0)
	seid := s.Established(1,
		withURR(downlinkPDR(5, ue, ie.NewApplicationID("video")), 1), withURR(downlinkPDR(6, ue, ie.NewApplicationID("social")), 2), coreFAR(1),
		ie.NewCreateURR(ie.NewURRID(1), ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0x30, 0), ie.NewInactivityDetectionTime(7)),
		ie.NewCreateURR(ie.NewURRID(2), ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0x20, 0)))
	index, session := l.only()
	if len(session.Applications) != 2 || session.Applications[0].QuietMs != 7000 || session.Applications[1].QuietMs != 30000 {
		t.Fatalf("upf-u has the applications %+v", session.Applications)
	}
	video, social := session.Applications[0].Number, session.Applications[1].Number
	flow := func(instance uint32, application uint64, flags uint8) {
		t.Helper()
		f := abi.EvFlow{Session: index, Application: application, Instance: instance, Flags: flags, Remote: abi.AddrOf(netip.MustParseAddr("192.0.2.9"))}
		if flags&abi.FlowAddress == 0 {
			f.Local, f.Proto, f.RemotePort, f.LocalPort = abi.AddrOf(netip.MustParseAddr("10.45.0.1")), 6, 443, 40000+uint16(instance)
		}
		if err := l.upfu.Flow(f); err != nil {
			t.Fatal(err)
		}
	}
	wants := func(want ...told) {
		t.Helper()
		var got []told
		for len(got) < len(want) {
			for _, u := range s.Report().UsageReport {
				got = append(got, toldOf(t, u))
			}
		}
		slices.SortFunc(got, func(a, b told) int {
			return slices.Compare([]string{a.Instance, a.Trigger}, []string{b.Instance, b.Trigger})
		})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("reported (-want +got):\n%s", diff)
		}
	}
	acknowledged := func() {
		t.Helper()
		l.await("the reports are acknowledged", func() bool {
			d, ok := l.agent.Session(seid)
			return ok && len(d.Outbox) == 0
		})
	}
	// Traffic as such is not told of beside its flows.
	if err := l.upfu.Count(session.URRs[0].Slot, abi.Dl, 1000, 1); err != nil {
		t.Fatal(err)
	}
	one := told{start, "video", "00000001", "permit out 6 from 192.0.2.9 443 to 10.45.0.1 40001"}
	flow(1, video, 0)
	wants(one)
	two := told{start, "video", "00000002", "permit out ip from 192.0.2.9 to assigned"}
	flow(2, video, abi.FlowAddress)
	wants(two)
	shown := func(want ...string) {
		t.Helper()
		l.await("the session is shown with its flows", func() bool {
			list := l.agent.Sessions()
			return len(list) == 1 && slices.Equal(list[0].Flows, want)
		})
	}
	const first, second = "video 00000001: permit out 6 from 192.0.2.9 443 to 10.45.0.1 40001", "video 00000002: permit out ip from 192.0.2.9 to assigned"
	// Of the second application only ends are wanted.
	flow(3, social, 0)
	shown(first, second, "social 00000003: permit out 6 from 192.0.2.9 443 to 10.45.0.1 40003")
	flow(3, social, abi.FlowGone)
	wants(told{stop, "social", "00000003", "permit out 6 from 192.0.2.9 443 to 10.45.0.1 40003"})
	flow(4, social, 0)
	shown(first, second, "social 00000004: permit out 6 from 192.0.2.9 443 to 10.45.0.1 40004")
	acknowledged()
	l.restartAgent()
	s.To = l.addr
	flow(1, video, 0) // it knows
	one.Trigger = stop
	flow(1, video, abi.FlowGone)
	wants(one)
	// One of which there was no begin has no end.
	flow(9, video, abi.FlowGone)
	acknowledged()
	shown(second, "social 00000004: permit out 6 from 192.0.2.9 443 to 10.45.0.1 40004")
	// A upf-u that ends takes its detection along.
	l.upfu.Kill()
	l.startUPFU()
	two.Trigger = stop
	wants(two, told{stop, "social", "00000004", "permit out 6 from 192.0.2.9 443 to 10.45.0.1 40004"})
	acknowledged()
	// A session has no more than so many that are told of.
	for i := range uint32(70) {
		flow(100+i, video, 0)
	}
	for n := 0; n < 64; {
		n += len(s.Report().UsageReport)
	}
	flow(169, video, abi.FlowGone) // of which nothing was told
	flow(100, video, abi.FlowGone)
	wants(told{stop, "video", "00000064", "permit out 6 from 192.0.2.9 443 to 10.45.0.1 40100"})
}
