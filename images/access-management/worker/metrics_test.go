package worker

import (
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/link"
	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/access-management/runner"
	"core5g.dev/core5g/images/nf/loop"
	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/memory"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// What was declined is counted once, under the name of its reason.
func TestDeclinedEvents(t *testing.T) {
	s := &Shard{
		pod: &Pod{measures: newMeasures(prometheus.NewRegistry())}, lease: sessionstore.Lease{Shard: "amf-1"}, loop: loop.New(),
		runner: runner.New(runner.Config{World: &Shard{}, Log: slog.New(slog.DiscardHandler)}),
	}
	defer s.loop.End()
	s.observe(runner.Counts{Declined: ^uint64(9) + 1, Full: ^uint64(4) + 1, Away: ^uint64(3) + 1}) // 9, 4 and 3 less than there are
	for event, want := range map[string]float64{"full": 4, "away": 3, "declined": 2} {
		if got := testutil.ToFloat64(s.pod.measures.events.WithLabelValues(event)); got != want {
			t.Errorf("%s: %g, want %g", event, got, want)
		}
	}
}

// Each message is counted from the first on, under its cause where it says one; what is no message is not.
func TestMessages(t *testing.T) {
	m := newMeasures(prometheus.NewRegistry())
	before := testutil.CollectAndCount(m.messages.nas)
	said := func(d n1.Direction, x n1.Message) procedure.Said {
		plain, err := n1.Encode(x)
		if err != nil {
			t.Fatal(err)
		}
		return procedure.Said{Direction: d, Plain: plain}
	}
	m.messages.count([]procedure.Said{
		said(n1.Uplink, &n1.AuthenticationFailure{Cause: n1.CauseMACFailure}), said(n1.Downlink, &n1.AuthenticationReject{}), said(n1.Downlink, &n1.AuthenticationReject{}),
		said(n1.Uplink, &n1.Status{Cause: 200}), {Direction: n1.Uplink, Plain: []byte{0x7e, 0, 0xff}}, {Direction: n1.Uplink, Plain: nil},
	})
	for labels, want := range map[[3]string]float64{
		{"received", "AuthenticationFailure", "MAC failure"}: 1, {"sent", "AuthenticationReject", ""}: 2, {"received", "5GMMStatus", "other"}: 1,
		{"received", "AuthenticationFailure", ""}: 0, {"sent", "RegistrationAccept", ""}: 0, {"received", "DeregistrationRequestUEoriginating", ""}: 0,
	} {
		if got := testutil.ToFloat64(m.messages.nas.WithLabelValues(labels[:]...)); got != want {
			t.Errorf("%v: %g, want %g", labels, got, want)
		}
	}
	if got := testutil.CollectAndCount(m.messages.nas) - before; got != 2 {
		t.Errorf("%d series have come to be, want one for each cause", got)
	}
	s := &Shard{pod: &Pod{measures: m}}
	s.Carried(&n2.NGSetupRequest{}, false)
	if got := testutil.ToFloat64(m.messages.ngap.WithLabelValues("received", "NGSetupRequest")); got != 1 {
		t.Errorf("%g NG Setup Requests, want 1", got)
	}
	s.Carried(&n2.NGSetupRequest{}, true) // an AMF sends none
}

func TestRegistrationsByType(t *testing.T) {
	m := newMeasures(prometheus.NewRegistry())
	m.ended(procedure.Result{Kind: procedure.Registration, Type: n1.PeriodicRegistration})
	m.ended(procedure.Result{Kind: procedure.Registration, Type: n1.InitialRegistration, Cause: "no answer of the AUSF"})
	m.ended(procedure.Result{Kind: procedure.Service})
	if err := testutil.CollectAndCompare(m.registrations, strings.NewReader(`# HELP core5g_amf_registrations_total Registrations that have ended, by their type (TS 24.501 9.11.3.7), result and cause.
# TYPE core5g_amf_registrations_total counter
core5g_amf_registrations_total{cause="",result="done",type="emergency"} 0
core5g_amf_registrations_total{cause="",result="done",type="initial"} 0
core5g_amf_registrations_total{cause="",result="done",type="mobility"} 0
core5g_amf_registrations_total{cause="",result="done",type="periodic"} 1
core5g_amf_registrations_total{cause="",result="done",type="unknown"} 0
core5g_amf_registrations_total{cause="no_answer_of_the_ausf",result="failed",type="initial"} 1
`)); err != nil {
		t.Error(err)
	}
}

// The census is that of the shards that are held, and knows the slices of the configuration.
func TestCensus(t *testing.T) {
	registry := prometheus.NewRegistry()
	p := &Pod{Options: Options{Set: "amf", Shards: 2, Store: memory.New(time.Now)}, measures: newMeasures(registry)}
	p.links = newLinks(p)
	p.settings.Store(&procedure.Settings{PLMNs: []procedure.PLMN{
		{PLMN: "20893", Slices: []record.Slice{{SST: 1, SD: &[3]byte{1, 2, 3}}}}, {PLMN: "99970", Slices: []record.Slice{{SST: 1, SD: &[3]byte{1, 2, 3}}, {SST: 2}}},
	}})
	lease, err := p.Store.Acquire(t.Context(), "amf/2", "pod", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for n, groups := range [][]string{
		{runner.UEGroup(2), runner.ConnectedGroup(2), runner.SliceGroup(2, "1-010203")}, {runner.UEGroup(2), runner.SliceGroup(2, "1-010203")}, {runner.UEGroup(1)},
	} {
		key := record.Key(fmt.Sprint("imsi-", n))
		if err := p.Store.Commit(t.Context(), lease, sessionstore.Change{Key: key, Value: []byte{1}, Is: sessionstore.Revision{Writer: 1, Count: 1}, JoinGroups: groups}); err != nil {
			t.Fatal(err)
		}
	}
	s := &Shard{number: 2, pod: p, lease: lease, ctx: t.Context()}
	c, err := s.census()
	if err != nil {
		t.Fatal(err)
	}
	p.measures.counted(s, c)
	want := `# HELP core5g_amf_registered_ues UEs of the shards that the pod holds, by connection management state (TS 23.501 5.3.3).
# TYPE core5g_amf_registered_ues gauge
core5g_amf_registered_ues{cm_state="connected"} %d
core5g_amf_registered_ues{cm_state="idle"} %d
# HELP core5g_amf_slice_ues Those of them that are allowed an S-NSSAI, by that.
# TYPE core5g_amf_slice_ues gauge
core5g_amf_slice_ues{snssai="1-010203"} %d
core5g_amf_slice_ues{snssai="2"} 0
`
	compare := func(numbers ...any) {
		t.Helper()
		if err := testutil.CollectAndCompare(gauges{p}, strings.NewReader(fmt.Sprintf(want, numbers...)), "core5g_amf_registered_ues", "core5g_amf_slice_ues"); err != nil {
			t.Error(err)
		}
	}
	compare(1, 1, 2)
	p.measures.gaveUp(lease.Shard)
	compare(0, 0, 0)
	s.closed.Store(true)
	p.measures.counted(s, c) // it was asked for before
	compare(0, 0, 0)
}

// Who could not connect to a terminator is counted once, by the association by which it is told, and not where that terminator is no more.
func TestUnreachedTerminators(t *testing.T) {
	p := &Pod{measures: newMeasures(prometheus.NewRegistry())}
	p.links = newLinks(p)
	one, two, gone := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::2"), netip.MustParseAddr("192.0.2.9")
	p.settings.Store(&procedure.Settings{Terminators: []procedure.Terminator{{Pod: "a", Addresses: []netip.Addr{one}}, {Pod: "b", Addresses: []netip.Addr{two}}}})
	refused := func(offered uint32, list ...netip.Addr) *n2Association {
		g := &record.GNB{Offered: offered, Ends: []record.End{{Address: one.AsSlice()}}}
		for _, at := range list {
			g.Ends = append(g.Ends, record.End{Address: at.AsSlice(), Refused: true})
		}
		return &n2Association{node: g}
	}
	p.links.lives["a/1"] = &life{conn: link.NewConn(nil), associations: map[uint64]*n2Association{1: refused(7, two, gone), 2: refused(0, two), 3: refused(7, two), 4: {}}}
	want := `# HELP core5g_amf_unreached_terminator_gnbs gNBs that could not connect to an N2 terminator that they were told of (AMF Configuration Update, TS 38.413 8.7.3), by its address, as this pod knows.
# TYPE core5g_amf_unreached_terminator_gnbs gauge
core5g_amf_unreached_terminator_gnbs{address="192.0.2.1"} 0
core5g_amf_unreached_terminator_gnbs{address="2001:db8::2"} 2
`
	if err := testutil.CollectAndCompare(gauges{p}, strings.NewReader(want), "core5g_amf_unreached_terminator_gnbs"); err != nil {
		t.Error(err)
	}
}
