package pfcp

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	wire "core5g.dev/core5g/upf/upfc/pfcp"

	"core5g.dev/core5g/images/session-management/n1"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

const (
	report = message.MsgTypeSessionReportRequest
	nodes  = message.MsgTypeNodeReportRequest
)

var addresses4 = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

// What a Session Report says.
func TestSessionReports(t *testing.T) {
	at := time.Unix(1_759_999_000, 0).UTC()
	usage := ie.NewUsageReport(ie.UsageReportWithinSessionReportRequest,
		ie.NewURRID(4), ie.NewURSEQN(8), ie.NewUsageReportTrigger(0x02, 0x01, 0), ie.NewStartTime(at), ie.NewEndTime(at.Add(30*time.Second)),
		ie.NewVolumeMeasurement(0x0f, 300, 100, 200, 7, 0, 0), ie.NewDurationMeasurement(30*time.Second),
		ie.NewTimeOfFirstPacket(at.Add(time.Second)), ie.NewTimeOfLastPacket(at.Add(2*time.Second)), ie.New(ie.UsageInformation, []byte{2}),
		ie.NewQueryURRReference(11), ie.NewApplicationDetectionInformation(ie.NewApplicationID("video")))
	for name, c := range map[string]struct {
		ies  []*ie.IE
		want SessionReport
	}{
		"packets wait": {[]*ie.IE{ie.NewReportType(0, 0, 0, 1), ie.NewDownlinkDataReport(ie.NewPDRID(2), ie.NewDownlinkDataServiceInformation(true, true, 46, 5))},
			SessionReport{DownlinkData: []DownlinkData{{PDRs: []uint16{2}, Services: []Service{{HasPPI: true, HasQFI: true, PPI: 46, QFI: 5}}}}}},
		"packets of a flow wait": {[]*ie.IE{ie.NewReportType(0, 0, 0, 1), ie.NewDownlinkDataReport(ie.NewPDRID(2), ie.NewDownlinkDataServiceInformation(false, true, 0, 5))},
			SessionReport{DownlinkData: []DownlinkData{{PDRs: []uint16{2}, Services: []Service{{HasQFI: true, QFI: 5}}}}}},
		"a tunnel is gone": {[]*ie.IE{ie.NewReportType(0, 1, 0, 0), ie.NewErrorIndicationReport(ie.NewFTEID(1, 0x100, []byte{172, 30, 3, 100}, nil, 0))},
			SessionReport{GoneTunnels: []FTEID{{TEID: 0x100, IPv4: netip.MustParseAddr("172.30.3.100")}}}},
		"one over IPv6 is gone": {[]*ie.IE{ie.NewReportType(0, 1, 0, 0), ie.NewErrorIndicationReport(ie.NewFTEID(2, 0x100, nil, netip.MustParseAddr("2001:db8::1").AsSlice(), 0))},
			SessionReport{GoneTunnels: []FTEID{{TEID: 0x100, IPv6: netip.MustParseAddr("2001:db8::1")}}}},
		"nothing has moved": {[]*ie.IE{ie.NewReportType(1, 0, 0, 0)}, SessionReport{Inactive: true}},
		"usage": {[]*ie.IE{ie.NewReportType(0, 0, 1, 0), usage, ie.New(ie.AdditionalUsageReportsInformation, []byte{0, 3})},
			SessionReport{MoreUsage: 3, Usage: []Usage{{
				URR: 4, Sequence: 8, Trigger: TriggerVolumeThreshold | TriggerVolumeQuota, Start: at, End: at.Add(30 * time.Second),
				Volume: &Volume{Has: 0x0f, Total: 300, Uplink: 100, Downlink: 200, TotalPackets: 7}, HasDuration: true, Duration: 30 * time.Second,
				First: at.Add(time.Second), Last: at.Add(2 * time.Second), Application: "video", Information: 2, HasQuery: true, Query: 11,
			}}}},
		"devices come and go": {[]*ie.IE{ie.NewReportType(0, 0, 1, 0), ie.NewUsageReport(ie.UsageReportWithinSessionReportRequest,
			ie.NewURRID(1<<30), ie.NewURSEQN(2), ie.NewUsageReportTrigger(0, 0x40, 0), ie.NewGroupedIE(ie.EthernetTrafficInformation,
				ie.New(ie.MACAddressesDetected, []byte{2, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 3, 4, 0, 7, 0}), ie.New(ie.MACAddressesRemoved, []byte{1, 2, 0, 0, 0, 0, 3})))},
			SessionReport{Usage: []Usage{{URR: 1 << 30, Sequence: 2, Trigger: 1 << 14, Detected: []n1.MAC{{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}}, Removed: []n1.MAC{{2, 0, 0, 0, 0, 3}}}}}},
		"a type that is not announced is passed over": {[]*ie.IE{ie.NewReportType(1, 0, 0, 0), usage}, SessionReport{Inactive: true}},
	} {
		t.Run(name, func(t *testing.T) {
			r := ready(t)
			seid := uint64(0x77)
			r.from(unitAddr, report, &seid, 5, c.ies...)
			r.silent() // until the handler says so
			if len(r.events) != 1 {
				t.Fatalf("events %+v", r.events)
			}
			got := r.events[0].(SessionReport)
			c.want.Token, c.want.Unit, c.want.From, c.want.CPSEID = got.Token, "upf-0", unitAddr, seid
			if diff := cmp.Diff(c.want, got, addresses4, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b }), cmp.Comparer(time.Time.Equal)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			bar := ie.NewUpdateBARWithinSessionReportResponse(ie.NewBARID(1))
			if err := r.AnswerSessionReport(got.Token, SessionReportAnswer{Cause: ie.CauseRequestAccepted, UPSEID: 9, DropBuffered: true, IEs: []*ie.IE{bar}}); err != nil {
				t.Fatal(err)
			}
			m := r.wants(report + 1)
			flags := m.Elements.First(ie.PFCPSRRspFlags)
			if c, _ := causeIn(m); c != ie.CauseRequestAccepted || m.SEID != 9 || m.Sequence != 5 || flags == nil || flags.Value[0] != 1 ||
				m.Elements.First(ie.UpdateBARWithinSessionReportResponse) == nil {
				t.Errorf("answer %+v", m)
			}
		})
	}
}

// What is malformed is told so, and nobody hears of it.
func TestMalformedReports(t *testing.T) {
	for name, c := range map[string]struct {
		ies       []*ie.IE
		cause     uint8
		offending uint16
	}{
		"no Report Type":         {nil, ie.CauseMandatoryIEMissing, ie.ReportType},
		"an empty one":           {[]*ie.IE{ie.New(ie.ReportType, nil)}, ie.CauseInvalidLength, ie.ReportType},
		"announced, not there":   {[]*ie.IE{ie.NewReportType(0, 1, 0, 0)}, ie.CauseConditionalIEMissing, ie.ErrorIndicationReport},
		"a report without PDR":   {[]*ie.IE{ie.NewReportType(0, 0, 0, 1), ie.New(ie.DownlinkDataReport, nil)}, ie.CauseMandatoryIEMissing, ie.PDRID},
		"no F-TEID":              {[]*ie.IE{ie.NewReportType(0, 1, 0, 0), ie.New(ie.ErrorIndicationReport, nil)}, ie.CauseMandatoryIEMissing, ie.FTEID},
		"an F-TEID to choose":    {[]*ie.IE{ie.NewReportType(0, 1, 0, 0), ie.NewErrorIndicationReport(ie.NewFTEID(5, 0, nil, nil, 0))}, ie.CauseMandatoryIEIncorrect, ie.FTEID},
		"a cut F-TEID":           {[]*ie.IE{ie.NewReportType(0, 1, 0, 0), ie.NewErrorIndicationReport(ie.New(ie.FTEID, []byte{1, 0, 0, 0, 1, 10}))}, ie.CauseInvalidLength, ie.FTEID},
		"a usage report of none": {[]*ie.IE{ie.NewReportType(0, 0, 1, 0), ie.New(ie.UsageReportWithinSessionReportRequest, nil)}, ie.CauseMandatoryIEMissing, ie.URRID},
		"MAC addresses that are cut": {[]*ie.IE{ie.NewReportType(0, 0, 1, 0), ie.NewUsageReport(ie.UsageReportWithinSessionReportRequest, ie.NewURRID(1), ie.NewURSEQN(1),
			ie.NewUsageReportTrigger(0, 0x40, 0), ie.NewGroupedIE(ie.EthernetTrafficInformation, ie.New(ie.MACAddressesDetected, []byte{2, 2, 0, 0, 0, 0, 1})))}, ie.CauseInvalidLength, ie.MACAddressesDetected},
		"a cut volume": {[]*ie.IE{ie.NewReportType(0, 0, 1, 0), ie.NewUsageReport(ie.UsageReportWithinSessionReportRequest, ie.NewURRID(1), ie.NewURSEQN(1),
			ie.NewUsageReportTrigger(1, 0, 0), ie.New(ie.VolumeMeasurement, []byte{7, 1, 2}))}, ie.CauseInvalidLength, ie.VolumeMeasurement},
		"a cut service": {[]*ie.IE{ie.NewReportType(0, 0, 0, 1), ie.NewDownlinkDataReport(ie.NewPDRID(2), ie.New(ie.DownlinkDataServiceInformation, []byte{3, 1}))}, ie.CauseInvalidLength, ie.DownlinkDataServiceInformation},
	} {
		t.Run(name, func(t *testing.T) {
			r := ready(t)
			r.from(unitAddr, report, new(uint64), 5, c.ies...)
			m := r.wants(report + 1)
			got, err := causeIn(m)
			var offending uint16
			if o := m.Elements.First(ie.OffendingIE); o != nil {
				offending, _ = o.Uint16()
			}
			if err != nil || got != c.cause || offending != c.offending {
				t.Errorf("cause %s (%v), offending IE %d; want %s, %d", wire.CauseName(got), err, offending, wire.CauseName(c.cause), c.offending)
			}
			r.tells("")
		})
	}
}

// A request is handed on once; its repetitions are answered as it was.
func TestRepetitions(t *testing.T) {
	r := ready(t)
	seid := uint64(7)
	ask := func(sequence uint32) {
		r.from(unitAddr, report, &seid, sequence, ie.NewReportType(1, 0, 0, 0))
	}
	token := func() Token {
		t.Helper()
		if len(r.events) != 1 {
			t.Fatalf("events %+v", r.events)
		}
		defer func() { r.events = nil }()
		return r.events[0].(SessionReport).Token
	}
	answer := SessionReportAnswer{Cause: ie.CauseRequestAccepted, UPSEID: 9}
	ask(1)
	first := token()
	ask(1)
	r.silent()
	r.tells("")
	if err := r.AnswerSessionReport(first, answer); err != nil {
		t.Fatal(err)
	}
	r.wants(report + 1)
	for range 2 {
		ask(1)
		if m := r.wants(report + 1); m.SEID != 9 || m.Sequence != 1 {
			t.Errorf("answer %+v", m)
		}
	}
	r.tells("")
	if err := r.AnswerSessionReport(first, answer); !errors.Is(err, ErrStale) {
		t.Errorf("a second answer: %v", err)
	}
	if n := testutil.ToFloat64(r.cfg.Metrics.retransmissions.WithLabelValues("in", "session_report_request")); n != 3 {
		t.Errorf("%v repetitions counted, want 3", n)
	}

	// Silence: the next one is as good as new, and a word about the first one comes too late.
	ask(2)
	second := token()
	r.Silent(second)
	r.Silent(second)
	ask(2)
	if third := token(); third == second {
		t.Error("the same token")
	}
	if err := r.AnswerSessionReport(second, answer); !errors.Is(err, ErrStale) {
		t.Errorf("an answer after silence: %v", err)
	}

	// What is old is forgotten, answered or not.
	r.Heartbeats()
	ask(1)
	ask(2)
	r.silent()
	if len(r.events) != 2 {
		t.Errorf("events %+v", r.events)
	}
	// The sequence number alone does not make a repetition.
	r.events, seid = nil, 8
	ask(2)
	fourth := token()
	if err := r.AnswerNodeReport(fourth, 1); err == nil || errors.Is(err, ErrStale) {
		t.Errorf("another kind of answer: %v", err)
	}
}

// Heartbeats answers half a minute of them.
func (r *rig) Heartbeats() {
	for range 7 {
		r.pass(5 * time.Second)
		r.answer(r.wants(heartbeat), born.element())
	}
}

// Answers and open reports take no more room than they may.
func TestIncomingIsBounded(t *testing.T) {
	r := ready(t, func(c *Config) { c.AnswersMax, c.ReportsMax = 1000, 10 })
	for n := range uint32(100) {
		r.from(unitAddr, report, new(uint64), n, ie.NewReportType(1, 0, 0, 0))
		if len(r.events) > 0 {
			if err := r.AnswerSessionReport(r.events[0].(SessionReport).Token, SessionReportAnswer{Cause: 1}); err != nil {
				t.Fatal(err)
			}
		}
		r.events = nil
	}
	if r.Endpoint.incoming.octets > 1000 || len(r.Endpoint.incoming.byName) > 60 || len(r.Endpoint.incoming.list) > 60 {
		t.Errorf("%d octets, %d requests", r.Endpoint.incoming.octets, len(r.Endpoint.incoming.byName))
	}
	for n := range uint32(20) {
		r.from(unitAddr, report, new(uint64), 1000+n, ie.NewReportType(1, 0, 0, 0))
	}
	if len(r.events) != 10 || r.dropped("overload") != 10 {
		t.Errorf("%d reports handed on, %d dropped", len(r.events), r.dropped("overload"))
	}
}

func TestNodeReports(t *testing.T) {
	r := ready(t)
	failed := ie.NewUserPlanePathFailureReport(ie.NewRemoteGTPUPeer(0x0e, "172.30.3.100", "", 0, "access"))
	recovered := ie.NewUserPlanePathRecoveryReport(ie.NewRemoteGTPUPeer(0x01, "", "2001:db8::1", 0, ""))
	r.from(unitAddr, nodes, nil, 5, upf, ie.NewNodeReportType(0x03), failed, recovered)
	if len(r.events) != 1 {
		t.Fatalf("events %+v", r.events)
	}
	got := r.events[0].(NodeReport)
	want := NodeReport{Token: got.Token, Unit: "upf-0",
		Failed:    []Peer{{IPv4: netip.MustParseAddr("172.30.3.100"), HasInterface: true, Instance: "access"}},
		Recovered: []Peer{{IPv6: netip.MustParseAddr("2001:db8::1")}}}
	if diff := cmp.Diff(want, got, addresses4); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := r.AnswerSessionReport(got.Token, SessionReportAnswer{}); err == nil {
		t.Error("a node report has the answer to a session report")
	}
	if err := r.AnswerNodeReport(got.Token, ie.CauseRequestAccepted); err != nil {
		t.Fatal(err)
	}
	m := r.wants(nodes + 1)
	if node, err := m.Elements.First(ie.NodeID).NodeID(); err != nil || node != "smf-0.core5g" || m.HasSEID {
		t.Errorf("answer of %q, %v: %+v", node, err, m)
	}
	for name, ies := range map[string][]*ie.IE{
		"no type":              {upf},
		"announced, not there": {upf, ie.NewNodeReportType(0x01)},
		"no peer":              {upf, ie.NewNodeReportType(0x01), ie.New(ie.UserPlanePathFailureReport, nil)},
		"a peer of nowhere":    {upf, ie.NewNodeReportType(0x01), ie.NewUserPlanePathFailureReport(ie.New(ie.RemoteGTPUPeer, []byte{0}))},
		"a cut peer":           {upf, ie.NewNodeReportType(0x01), ie.NewUserPlanePathFailureReport(ie.New(ie.RemoteGTPUPeer, []byte{0x0a, 1, 2, 3, 4, 0, 9, 1}))},
		"no Node ID":           {ie.NewNodeReportType(0x01), failed},
	} {
		r.events = nil
		r.from(unitAddr, nodes, nil, uint32(100+len(name)), ies...)
		if c, err := causeIn(r.wants(nodes + 1)); err != nil || c == ie.CauseRequestAccepted || len(r.events) != 0 {
			t.Errorf("%s: cause %d (%v), events %+v", name, c, err, r.events)
		}
	}
}

// Who is no unit's is not answered: a unit that has not been added yet must not hear that its session is unknown.
func TestStrangers(t *testing.T) {
	r := ready(t)
	stranger := netip.MustParseAddrPort("203.0.113.9:8805")
	r.from(stranger, report, new(uint64), 1, ie.NewReportType(1, 0, 0, 0))
	r.from(stranger, report, new(uint64), 2)
	r.from(stranger, nodes, nil, 3, upf, ie.NewNodeReportType(0x01))
	r.from(stranger, release, nil, 4, upf)
	r.from(unitAddr, update, nil, 5, ie.NewNodeID("", "", "upf-9"))
	r.silent()
	r.tells("")
	// One behind a NAT is known by its network, and by another port of its address.
	r.add(Unit{NodeID: "upf-0", Address: unitAddr, Sources: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}})
	r.from(stranger, report, new(uint64), 6, ie.NewReportType(1, 0, 0, 0))
	r.from(netip.AddrPortFrom(unitAddr.Addr(), 40000), report, new(uint64), 7, ie.NewReportType(1, 0, 0, 0))
	r.tells("report of 0x0; report of 0x0")
	// Of two behind one address nobody knows which it is, but by their ports.
	r.add(Unit{NodeID: "upf-1", Address: netip.AddrPortFrom(unitAddr.Addr(), 8806)})
	r.wants(setup)
	r.from(netip.AddrPortFrom(unitAddr.Addr(), 40000), report, new(uint64), 8, ie.NewReportType(1, 0, 0, 0))
	r.tells("")
	r.from(netip.AddrPortFrom(unitAddr.Addr(), 8806), report, new(uint64), 9, ie.NewReportType(1, 0, 0, 0))
	if len(r.events) != 1 || r.events[0].(SessionReport).Unit != "upf-1" {
		t.Errorf("events %+v", r.events)
	}
}

// Datagrams that are no messages, or not for an SMF.
func TestOddDatagrams(t *testing.T) {
	r := ready(t)
	for _, b := range [][]byte{{}, {0x20}, {0x20, 1, 0xff, 0xff, 0, 0, 0, 0}, {0x21, 56, 0, 4, 0, 0, 0, 0}} {
		r.Receive(unitAddr, b)
	}
	r.silent()
	if n := r.dropped("malformed"); n != 4 {
		t.Errorf("%d malformed, want 4", n)
	}
	r.from(unitAddr, establishment, new(uint64), 5)
	r.from(unitAddr, 200, nil, 6)
	r.from(unitAddr, heartbeat+1, nil, 7, born.element())
	r.silent()
	for reason, want := range map[string]int{"unexpected": 1, "unknown_message": 1, "no_request": 1} {
		if got := r.dropped(reason); got != want {
			t.Errorf("%d dropped as %s, want %d", got, reason, want)
		}
	}
	r.Receive(unitAddr, []byte{0x40, heartbeat, 0, 4, 0, 0, 9, 0})
	if m := r.wants(message.MsgTypeVersionNotSupportedResponse); m.Sequence != 9 {
		t.Errorf("sequence number %d, want 9", m.Sequence)
	}
	r.Receive(unitAddr, []byte{0x40, message.MsgTypeVersionNotSupportedResponse, 0, 4, 0, 0, 9, 0})
	r.silent()
	r.tells("")
}
