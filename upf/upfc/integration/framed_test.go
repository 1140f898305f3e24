package integration

import (
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/fakesmf"
)

// A network behind a UE is pinged from, and answered, through both halves; also after each began anew.
func TestIntegrationFramedRoutes(t *testing.T) {
	const behind, beside = "192.168.7.9", "192.168.8.9"
	r := newRig(t)
	r.run("ip", "-n", r.peers, "route", "add", "192.168.0.0/16", "via", "172.30.6.2")
	r.smf.Associate()
	ue := fakesmf.Phone
	framed := ie.NewUpdatePDR(ie.NewPDRID(2), ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceCore), ie.NewNetworkInstance("internet"),
		ie.NewUEIPAddress(2, ue.Addr, "", 0, 0), ie.NewFramedRoute("192.168.7.0/24")))
	seid := r.smf.Established(7, ue.Session()...)
	fakesmf.WantCause(t, r.smf.Modify(seid, ue.GNB(gnbTEID, gnbAddr), ie.NewRemovePDR(ie.NewPDRID(4)), framed).Cause, ie.CauseRequestAccepted)
	seq := uint16(0)
	ping := func(from string) {
		t.Helper()
		seq++
		if err := r.uplink(1, from, seq); err != nil {
			t.Fatal(err)
		}
		if p, ok := r.receive(time.Minute); !ok || p.teid != gnbTEID || p.seq != seq || p.dst != from {
			t.Errorf("received %+v (%t), want the answer to ping %d of %s", p, ok, seq, from)
		}
	}
	ping(ue.Addr)
	ping(behind)
	before := r.drops("spoofed_source")
	if err := r.uplink(1, beside, 99); err != nil {
		t.Fatal(err)
	}
	r.await(time.Minute, "spoofed_source counts", func() bool { return r.drops("spoofed_source") == before+1 })
	r.upfu.kill()
	r.startUPFU()
	r.await(time.Minute, "the session is back", func() bool {
		seq++
		if err := r.uplink(1, behind, seq); err != nil {
			t.Fatal(err)
		}
		p, ok := r.receive(time.Second)
		return ok && p.typ == 255 && p.dst == behind
	})
}
