package integration

import (
	"strings"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/fakesmf"
)

// A data network that knows no UE's address: it answers what comes from public ones.
func TestIntegrationNAT44(t *testing.T) {
	r := newRig(t)
	r.upfc.kill()
	r.upfu.kill()
	r.run("ip", "-n", r.peers, "route", "del", "10.45.0.0/16")
	r.run("ip", "-n", r.peers, "route", "add", "203.0.113.0/31", "via", "172.30.6.2")
	r.file("upf-u.yaml", `
memory: 128
hugepages: false
socket: `+r.path("upf.sock")+`
limits: {sessions_max: 4096}
interfaces:
  n3: {driver: af_packet, device: n3, addresses: 172.30.3.16/28, prefix_length: 24, gateway: 172.30.3.1}
  n6: {device: n6, address: 172.30.6.2/24, gateway: 172.30.6.1, nat44: {addresses: [203.0.113.0/31], ports: 4096}}
`)
	r.startUPFU()
	r.startUPFC()
	r.smf.Associate()
	ues := []fakesmf.UE{{TEID: 1, N3: n3Addr, Addr: "10.45.0.1"}, {TEID: 2, N3: n3Addr, Addr: "10.45.0.2"}}
	var seids []uint64
	for i, ue := range ues {
		seid := r.smf.Established(uint64(7+i), ue.Session()...)
		fakesmf.WantCause(t, r.smf.Modify(seid, ue.GNB(gnbTEID+ue.TEID, gnbAddr)).Cause, ie.CauseRequestAccepted)
		seids = append(seids, seid)
	}
	records := func(what string, want int) { // what a process has written is here a moment later
		t.Helper()
		count := func() int { return strings.Count(r.upfc.log.String(), `"NAT44 block `+what+`"`) }
		r.await(time.Minute, "records of blocks that are "+what, func() bool { return count() >= want })
		if n := count(); n != want {
			t.Errorf("%d records of blocks that are %s, want %d", n, what, want)
		}
	}
	seq := uint16(0)
	pings := func() {
		t.Helper()
		for range 10 {
			for _, ue := range ues { // both with one ICMP identifier
				seq++
				if err := r.uplink(ue.TEID, ue.Addr, seq); err != nil {
					t.Fatal(err)
				}
				p, ok := r.receive(time.Minute)
				if !ok || p.teid != gnbTEID+ue.TEID || p.seq != seq || p.dst != ue.Addr {
					t.Fatalf("ping %d of %s: %+v (%t), want the answer in tunnel %#x", seq, ue.Addr, p, ok, gnbTEID+ue.TEID)
				}
			}
		}
	}
	pings()
	records("given", 2)
	for _, want := range []string{"upf_nat_mappings 2", "upf_nat_mapped_total 2", `upf_table_entries{table="nat_blocks"} 2`, `upf_table_limit{table="nat_blocks"} 30`} {
		if !strings.Contains(strings.Join(r.metrics(), "\n")+"\n", want+"\n") {
			t.Errorf("upf-c does not say %s", want)
		}
	}

	// Both halves begin anew, one after the other: each UE has the block that it had, and nothing new is recorded.
	r.upfu.kill()
	r.startUPFU()
	r.await(time.Minute, "the sessions are in the next upf-u", func() bool {
		st, err := r.stats()
		return err == nil && st.Connected
	})
	pings()
	records("given", 2)
	r.upfc.kill()
	r.startUPFC()
	pings()
	records("given", 0)
	records("returned", 0)

	for i := range ues {
		fakesmf.WantCause(t, r.smf.Delete(seids[i]).Cause, ie.CauseRequestAccepted)
	}
	records("returned", 2)
}
