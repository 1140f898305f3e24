package integration

import (
	"strings"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/fakesmf"
)

// Two network instances: the same addresses of the UPF, of the gateway and of the UE in both.
// The data networks are namespaces.
func TestIntegrationNetworkInstances(t *testing.T) {
	r := newRig(t)
	r.upfc.kill()
	r.upfu.kill()
	ims := r.peers + "-i"
	r.run("ip", "netns", "add", ims)
	t.Cleanup(func() { r.run("ip", "netns", "del", ims) })
	r.run("ip", "-n", r.upf, "link", "add", "n6-ims", "type", "veth", "peer", "name", "ims", "netns", ims)
	r.run("ip", "netns", "exec", r.upf, "sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/n6-ims/disable_ipv6")
	r.run("ip", "-n", r.upf, "link", "set", "n6-ims", "up")
	r.run("ip", "-n", ims, "addr", "add", dnAddr+"/24", "dev", "ims")
	r.run("ip", "-n", ims, "link", "set", "ims", "up")
	r.run("ip", "-n", ims, "route", "add", "10.45.0.0/16", "via", "172.30.6.2")
	r.file("upf-u.yaml", `
memory: 128
hugepages: false
socket: `+r.path("upf.sock")+`
limits: {sessions_max: 4096}
interfaces:
  n3: {driver: af_packet, device: n3, addresses: 172.30.3.16/28, prefix_length: 24, gateway: 172.30.3.1}
  n6:
  - {network_instance: internet, device: n6, address: 172.30.6.2/24, gateway: 172.30.6.1}
  - {network_instance: ims, device: n6-ims, address: 172.30.6.2/24, gateway: 172.30.6.1}
`)
	r.startUPFU()
	r.startUPFC()
	r.smf.Associate()
	ues := []fakesmf.UE{
		{TEID: 1, N3: n3Addr, Addr: "10.45.0.1", NetworkInstance: "internet"},
		{TEID: 2, N3: n3Addr, Addr: "10.45.0.1", NetworkInstance: "ims"},
	}
	for i, ue := range ues {
		seid := r.smf.Established(uint64(7+i), ue.Session()...)
		fakesmf.WantCause(t, r.smf.Modify(seid, ue.GNB(gnbTEID+ue.TEID, gnbAddr)).Cause, ie.CauseRequestAccepted)
	}
	other := fakesmf.UE{TEID: 3, N3: n3Addr, Addr: "10.45.0.3", NetworkInstance: "mec"}
	a := r.smf.Establish(9, other.Session()...)
	fakesmf.WantCause(t, a.Cause, ie.CauseRuleCreationModificationFailure)
	fakesmf.WantOffending(t, a.OffendingIE, ie.NetworkInstance)

	seq := uint16(0)
	pings := func() {
		t.Helper()
		for range 10 {
			for _, ue := range ues {
				seq++
				if err := r.uplink(ue.TEID, ue.Addr, seq); err != nil {
					t.Fatal(err)
				}
				p, ok := r.receive(time.Minute)
				if !ok || p.teid != gnbTEID+ue.TEID || p.seq != seq || p.dst != ue.Addr {
					t.Fatalf("ping %d of %s: %+v (%t), want the answer in tunnel %#x", seq, ue.NetworkInstance, p, ok, gnbTEID+ue.TEID)
				}
			}
		}
	}
	pings()
	// A data network that is gone takes the other one's packets along no more than it answers for it.
	r.run("ip", "-n", ims, "link", "set", "ims", "down")
	if err := r.uplink(2, "10.45.0.1", 99); err != nil {
		t.Fatal(err)
	}
	if p, ok := r.receive(100 * time.Millisecond); ok {
		t.Errorf("the data network of the other network instance answers: %+v", p)
	}
	r.run("ip", "-n", ims, "link", "set", "ims", "up")
	r.run("ip", "-n", ims, "route", "replace", "10.45.0.0/16", "via", "172.30.6.2")

	sent := map[string]bool{}
	for _, line := range r.metrics() {
		if strings.HasPrefix(line, `upf_interface_packets_total{direction="tx",interface="n6",`) && !strings.HasSuffix(line, " 0") {
			sent[line[:strings.IndexByte(line, '}')]] = true
		}
	}
	if len(sent) != 2 {
		t.Errorf("counters of sent packets by network instance: %v, want two", sent)
	}

	// Both halves began anew: all is as before.
	r.upfu.kill()
	r.startUPFU()
	r.await(time.Minute, "the sessions are in the next upf-u", func() bool {
		st, err := r.stats()
		return err == nil && st.Connected
	})
	pings()
	r.upfc.kill()
	r.startUPFC()
	pings()
}
