package integration

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/upfc/fakesmf"
)

// session establishes the usual UE and opens its downlink.
func (r *rig) session() (seid uint64) {
	r.t.Helper()
	r.smf.Associate()
	seid = r.smf.Established(7, fakesmf.Phone.Session()...)
	fakesmf.WantCause(r.t, r.smf.Modify(seid, fakesmf.Phone.GNB(gnbTEID, gnbAddr)).Cause, ie.CauseRequestAccepted)
	return seid
}

func (r *rig) ping(seq uint16) {
	r.t.Helper()
	if err := r.uplink(1, fakesmf.Phone.Addr, seq); err != nil {
		r.t.Fatal(err)
	}
	p, ok := r.receive(time.Minute)
	if !ok {
		r.t.Fatalf("ping %d was not answered", seq)
	}
	if p.from.String() != n3Addr+":2152" || p.teid != gnbTEID || p.qfi != 1 || p.seq != seq || p.dst != fakesmf.Phone.Addr {
		r.t.Errorf("downlink packet %+v, want one from %s in tunnel %#x with QFI 1 for %s", p, n3Addr, gnbTEID, fakesmf.Phone.Addr)
	}
}

func TestIntegrationUPF(t *testing.T) {
	r := newRig(t)
	seid := r.session()

	t.Run("packets pass both ways", func(t *testing.T) {
		for seq := uint16(1); seq <= 10; seq++ {
			r.ping(seq)
		}
	})

	t.Run("a spoofed inner source is dropped and counted", func(t *testing.T) {
		before := r.drops("spoofed_source")
		if err := r.uplink(1, "10.45.0.66", 1); err != nil {
			t.Fatal(err)
		}
		r.await(time.Minute, "spoofed_source counts", func() bool { return r.drops("spoofed_source") == before+1 })
		if p, ok := r.receive(100 * time.Millisecond); ok {
			t.Errorf("an answer came: %+v", p)
		}
	})

	t.Run("a drop is counted for its interface, its SMF and its DNN", func(t *testing.T) {
		for name, want := range map[string]string{
			"upf_dropped_packets_total":             `{interface="n3",network_instance="",reason="spoofed_source"}`,
			"upf_association_dropped_packets_total": `dnn="internet",reason="spoofed_source"}`,
			"upf_interface_up":                      `interface="n6",network_instance=""}`,
		} {
			if !slices.ContainsFunc(r.metrics(), func(line string) bool {
				return strings.HasPrefix(line, name+"{") && strings.HasSuffix(line, want+" 1")
			}) {
				t.Errorf("there is no %s…%s 1", name, want)
			}
		}
	})

	t.Run("an unknown tunnel is answered with an Error Indication", func(t *testing.T) {
		if err := r.uplink(0xdead, fakesmf.Phone.Addr, 1); err != nil {
			t.Fatal(err)
		}
		if p, ok := r.receive(time.Minute); !ok || p.typ != 26 {
			t.Errorf("received %+v (%t), want an Error Indication", p, ok)
		}
	})

	t.Run("usage is what went through", func(t *testing.T) {
		r.smf.Modify(seid, ie.NewQueryURR(ie.NewURRID(1)))
		for seq := uint16(20); seq < 25; seq++ {
			r.ping(seq)
		}
		m := r.smf.Modify(seid, ie.NewQueryURR(ie.NewURRID(1)))
		total, ul, dl := fakesmf.Volumes(t, m.UsageReport[0])
		if want := uint64(5 * 84); ul != want || dl != want || total != 2*want {
			t.Errorf("reported %d/%d/%d octets, want %d each way", total, ul, dl, want)
		}
	})

	t.Run("a closed gate drops, an open one passes", func(t *testing.T) {
		before := r.drops("gate_closed")
		r.smf.Modify(seid, ie.NewUpdateQER(ie.NewQERID(1), ie.NewGateStatus(1, 0)))
		if err := r.uplink(1, fakesmf.Phone.Addr, 30); err != nil {
			t.Fatal(err)
		}
		r.await(time.Minute, "gate_closed counts", func() bool { return r.drops("gate_closed") == before+1 })
		r.smf.Modify(seid, ie.NewUpdateQER(ie.NewQERID(1), ie.NewGateStatus(0, 0)))
		r.ping(31)
	})

	t.Run("traffic stops where its quota ends and goes on with a new one", func(t *testing.T) {
		quota := func(octets uint64) *ie.IE {
			return ie.NewUpdateURR(ie.NewURRID(1), ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0, 1), ie.NewVolumeQuota(1, octets, 0, 0))
		}
		// What was not reported yet would count for the quota.
		fakesmf.WantCause(t, r.smf.Modify(seid, ie.NewQueryURR(ie.NewURRID(1)), quota(200)).Cause, ie.CauseRequestAccepted)
		r.ping(32)                                                  // 168 octets, both ways
		if err := r.uplink(1, fakesmf.Phone.Addr, 33); err != nil { // beyond 200
			t.Fatal(err)
		}
		report := r.smf.Report()
		if got := fakesmf.Trigger(t, report.UsageReport[0]); got != "000100" {
			t.Errorf("trigger %s, want VOLQU", got)
		}
		for { // the answer to 33 may or may not have come before the end
			if _, ok := r.receive(50 * time.Millisecond); !ok {
				break
			}
		}
		before := r.drops("quota_exhausted")
		if err := r.uplink(1, fakesmf.Phone.Addr, 34); err != nil {
			t.Fatal(err)
		}
		r.await(time.Minute, "quota_exhausted counts", func() bool { return r.drops("quota_exhausted") > before })
		fakesmf.WantCause(t, r.smf.Modify(seid, quota(1<<40)).Cause, ie.CauseRequestAccepted)
		r.ping(35)
	})

	t.Run("idle: downlink data is buffered, reported and delivered", func(t *testing.T) {
		fakesmf.WantCause(t, r.smf.Modify(seid, ie.NewUpdateFAR(ie.NewFARID(2), ie.NewApplyAction(0x0c))).Cause, ie.CauseRequestAccepted)
		if err := r.uplink(1, fakesmf.Phone.Addr, 40); err != nil { // its answer is downlink data
			t.Fatal(err)
		}
		report := r.smf.Report()
		if !report.ReportType.HasDLDR() {
			t.Fatalf("report type % x, want a Downlink Data Report", report.ReportType.Payload)
		}
		if p, ok := r.receive(50 * time.Millisecond); ok {
			t.Errorf("delivered while idle: %+v", p)
		}
		fakesmf.WantCause(t, r.smf.Modify(seid, fakesmf.Phone.GNB(gnbTEID, gnbAddr)).Cause, ie.CauseRequestAccepted)
		if p, ok := r.receive(time.Minute); !ok || p.seq != 40 {
			t.Errorf("received %+v (%t), want the buffered packet", p, ok)
		}
		r.ping(41)
	})

	t.Run("a path switch sends an End Marker to the old tunnel", func(t *testing.T) {
		fakesmf.WantCause(t, r.smf.Modify(seid, fakesmf.Phone.GNB(gnbTEID+1, gnbAddr, ie.NewPFCPSMReqFlags(0x02))).Cause, ie.CauseRequestAccepted)
		if p, ok := r.receive(time.Minute); !ok || p.typ != 254 || p.teid != gnbTEID {
			t.Errorf("received %+v (%t), want an End Marker in tunnel %#x", p, ok, gnbTEID)
		}
		fakesmf.WantCause(t, r.smf.Modify(seid, fakesmf.Phone.GNB(gnbTEID, gnbAddr)).Cause, ie.CauseRequestAccepted)
	})

	t.Run("kill -9 of upf-c under traffic loses nothing", func(t *testing.T) {
		stamp := r.smf.Heartbeat()
		tr := r.traffic(1, fakesmf.Phone.Addr, 2*time.Millisecond)
		r.await(time.Minute, "traffic flows", func() bool { return tr.answered(time.Time{}) > 50 })
		r.upfc.kill()
		start := time.Now()
		r.startUPFC()
		t.Logf("upf-c served again after %v", time.Since(start))
		fakesmf.WantCause(t, r.smf.Modify(seid, ie.NewUpdateQER(ie.NewQERID(1), ie.NewGateStatus(0, 0))).Cause, ie.CauseRequestAccepted)
		r.await(time.Minute, "traffic flows on", func() bool { return tr.answered(start) > 50 })
		sent, lost := tr.stop()
		t.Logf("%d pings, longest time without answer %v", sent, tr.longestGap())
		if len(lost) > 0 {
			t.Errorf("%d of %d pings lost", len(lost), sent)
		}
		if got := r.smf.Heartbeat(); !got.Equal(stamp) {
			t.Errorf("Recovery Time Stamp %v, want %v", got, stamp)
		}
	})

	t.Run("kill -9 of upf-u: sessions are back, the SMF notices nothing", func(t *testing.T) {
		stamp := r.smf.Heartbeat()
		r.smf.Modify(seid, ie.NewQueryURR(ie.NewURRID(1)))
		r.ping(50)
		tr := r.traffic(1, fakesmf.Phone.Addr, 5*time.Millisecond)
		r.await(time.Minute, "traffic flows", func() bool { return tr.answered(time.Time{}) > 20 })
		r.upfu.kill()
		killed := time.Now()
		if got := r.smf.Heartbeat(); !got.Equal(stamp) {
			t.Errorf("Recovery Time Stamp %v while upf-u is dead, want %v", got, stamp)
		}
		for r.mapsUPFU() {
			if time.Since(killed) > time.Minute {
				t.Fatal("upf-c still maps the memory of the upf-u that is dead: on hugepages the next one would lack them")
			}
			time.Sleep(2 * time.Millisecond)
		}
		r.startUPFU()
		r.await(time.Minute, "upf-u is connected again", func() bool {
			st, err := r.stats()
			return err == nil && st.Connected
		})
		connected := time.Since(killed)
		r.await(time.Minute, "traffic flows again", func() bool { return tr.answered(killed) > 20 })
		sent, lost := tr.stop()
		t.Logf("upf-u started and filled after %v; %d of %d pings lost, longest time without answer %v", connected, len(lost), sent, tr.longestGap())
		if gap := tr.longestGap(); gap > 5*time.Second {
			t.Errorf("no packet passed for %v", gap)
		}
		if got := r.smf.Heartbeat(); !got.Equal(stamp) {
			t.Errorf("Recovery Time Stamp %v, want %v", got, stamp)
		}
		// One ping before and all answered ones: uplink counts are in nobody's report twice.
		m := r.smf.Modify(seid, ie.NewQueryURR(ie.NewURRID(1)))
		fakesmf.WantCause(t, m.Cause, ie.CauseRequestAccepted)
		_, _, dl := fakesmf.Volumes(t, m.UsageReport[0])
		if want := uint64(84 * (1 + sent - len(lost))); dl < want || dl > want+84 { // one may have been under way at the kill
			t.Errorf("reported %d downlink octets over the restart, want %d", dl, want)
		}
	})

	t.Run("kill -9 of both, 20 ms apart or at once: sessions are back, the SMF notices nothing", func(t *testing.T) {
		stamp := r.smf.Heartbeat()
		for _, first := range []struct {
			name          string
			first, second func()
			apart         time.Duration
			counted       bool // what upf-u had counted is not lost
		}{
			{"upf-u, then upf-c", func() { r.upfu.kill() }, func() { r.upfc.kill() }, 20 * time.Millisecond, true},
			{"upf-c, then upf-u", func() { r.upfc.kill() }, func() { r.upfu.kill() }, 20 * time.Millisecond, false},
			{"upf-u, and upf-c at once", func() { r.upfu.kill() }, func() { r.upfc.kill() }, 0, false},
		} {
			r.ping(52)
			r.smf.Modify(seid, ie.NewQueryURR(ie.NewURRID(1)))
			r.ping(53)
			first.first()
			time.Sleep(first.apart) // the fault, not a wait
			first.second()
			r.startUPFU()
			r.startUPFC()
			if got := r.smf.Heartbeat(); !got.Equal(stamp) {
				t.Errorf("%s: Recovery Time Stamp %v, want %v", first.name, got, stamp)
			}
			r.ping(54)
			m := r.smf.Modify(seid, ie.NewQueryURR(ie.NewURRID(1)))
			fakesmf.WantCause(t, m.Cause, ie.CauseRequestAccepted)
			_, _, dl := fakesmf.Volumes(t, m.UsageReport[0])
			if want := uint64(2 * 84); dl != want && (first.counted || dl != want/2) {
				t.Errorf("%s: reported %d downlink octets, want %d", first.name, dl, want)
			}
		}
	})

	t.Run("kill -9 of upf-c around a deletion: the last usage is in its answer", func(t *testing.T) {
		for i, when := range []time.Duration{0, 300 * time.Microsecond, 600 * time.Microsecond, time.Millisecond, 3 * time.Millisecond} {
			ue := fakesmf.UE{TEID: uint32(70 + i), N3: n3Addr, Addr: fmt.Sprintf("10.45.0.%d", 70+i)}
			again := r.smf.Established(70, ue.Session()...)
			if err := r.uplink(ue.TEID, ue.Addr, 1); err != nil {
				t.Fatal(err)
			}
			r.ping(55) // the worker has had both
			deletion := message.NewSessionDeletionRequest(0, 0, again, r.smf.NextSeq(), 0)
			r.smf.Write(deletion)
			time.Sleep(when) // the fault: before, while or after it is executed
			r.upfc.kill()
			r.startUPFC()
			for range 2 { // the first copy may have been answered
				d, ok := r.smf.Ask(deletion).(*message.SessionDeletionResponse)
				if !ok {
					t.Fatal("no Session Deletion Response")
				}
				fakesmf.WantCause(t, d.Cause, ie.CauseRequestAccepted)
				if _, ul, _ := fakesmf.Volumes(t, d.UsageReport[0]); ul != 84 {
					t.Errorf("killed after %v: the last report covers %d uplink octets, want 84", when, ul)
				}
			}
		}
	})

	t.Run("upf-c with other N3 endpoints than upf-u says so and serves nobody", func(t *testing.T) {
		r.upfc.kill()
		right, err := os.ReadFile(r.path("upf-c.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		r.file("upf-c.yaml", strings.ReplaceAll(string(right), "172.30.3.16/28", "172.30.3.32/28"))
		const want = "upf-c.yaml has 172.30.3.32/28 in n3.endpoints, upf-u.yaml has [172.30.3.16/28] in interfaces.n3"
		said := false
		for wait := 100 * time.Millisecond; !said && wait < 10*time.Second; wait *= 2 {
			p := r.start(r.binC, "-config", r.path("upf-c.yaml"))
			time.Sleep(wait) // its log is read when it has ended
			p.kill()
			said = strings.Contains(p.log.String(), want)
		}
		if !said {
			t.Errorf("it does not say %q", want)
		}
		r.file("upf-c.yaml", string(right))
		r.startUPFC()
		r.ping(56)
	})

	t.Run("a deletion", func(t *testing.T) {
		fakesmf.WantCause(t, r.smf.Delete(seid).Cause, ie.CauseRequestAccepted)
	})

	t.Run("after the deletion nothing passes", func(t *testing.T) {
		if err := r.uplink(1, fakesmf.Phone.Addr, 60); err != nil {
			t.Fatal(err)
		}
		if p, ok := r.receive(time.Minute); !ok || p.typ != 26 {
			t.Errorf("received %+v (%t), want an Error Indication", p, ok)
		}
	})
}
