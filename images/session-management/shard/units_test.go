package shard

import (
	"net/netip"
	"testing"
	"time"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n2"
	"core5g.dev/core5g/images/session-management/pfcp"
	"core5g.dev/core5g/images/session-management/record"
	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/dataplane/fakeupfu"
)

// pair is a configuration with two units; routed: packets to each address reach both.
func (r *rig) pair(second netip.AddrPort, change func(*configuration.DataNetwork, []configuration.Unit)) *configuration.Snapshot {
	r.t.Helper()
	dn := configuration.DataNetwork{
		DNN: "internet", Types: []n1.SessionType{n1.IPv4}, AMBR: record.AMBR{Uplink: 1e9, Downlink: 1e9}, FiveQI: 9, ARP: configuration.ARP{Priority: 8},
		Units: []configuration.Serving{
			{NodeID: "upf.test", Pools: []netip.Prefix{netip.MustParsePrefix("10.45.0.0/24")}}, {NodeID: "zz.test", Pools: []netip.Prefix{netip.MustParsePrefix("10.46.0.0/24")}},
		},
	}
	units := []configuration.Unit{{NodeID: "upf.test", Address: r.n4}, {NodeID: "zz.test", Address: second}}
	change(&dn, units)
	c, err := configuration.New([]configuration.Slice{{Name: "internet", SST: 1, SD: &[3]byte{1, 2, 3}, DataNetworks: []configuration.DataNetwork{dn}}}, units)
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); {
		if time.Now().After(end) {
			t.Fatalf("in vain: %s", what)
		}
		time.Sleep(10 * time.Millisecond) // upf-u tells nobody
	}
}

func modified(t *testing.T, x transfer) record.Tunnel {
	t.Helper()
	m, err := n2.Decode(n2.InfoType(x.kind), x.n2)
	r, ok := m.(*n2.ModifyRequest)
	if err != nil || !ok || len(r.Uplink) != 1 {
		t.Fatalf("the access network is told %s %+v, %v", x.kind, m, err)
	}
	return r.Uplink[0].Uplink
}

// A unit is taken away: its sessions go to another with their addresses where that can have them, and their UEs ask for others where not.
func TestAUnitIsTakenAway(t *testing.T) {
	for name, routed := range map[string]bool{"pools are routed to all units": true, "they are not": false} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			other, at := r.unitAt("zz.test", "127.77.1.2", "172.30.4.16/28")
			r.config = r.pair(at, func(d *configuration.DataNetwork, _ []configuration.Unit) { d.Routed = routed })
			pod, _ := r.start("pod-1")
			ref := r.create(pod, "imsi-208930000000001", n1.IPv4)
			r.amf.next(t)
			r.tunnel(pod, ref, 0x100)
			pod.Configure(r.pair(at, func(d *configuration.DataNetwork, units []configuration.Unit) {
				d.Routed, units[0].State, units[0].Ending = routed, configuration.Locked, true
			}))
			x := r.amf.next(t)
			if !routed {
				if len(x.n1) < 5 || x.n1[3] != byte(n1.ReleaseCommandType) || n1.Cause(x.n1[4]) != n1.CauseReactivationRequested {
					t.Errorf("the UE is told %x, want a release command with cause 39", x.n1)
				}
				return
			}
			if up := modified(t, x); !netip.MustParsePrefix("172.30.4.16/28").Contains(up.IPv4) {
				t.Errorf("the access network sends to %+v, want the other unit", up)
			}
			await(t, "the session is at the other unit, and not at the first", func() bool { return len(other.Sessions()) == 1 && len(r.upfu.Sessions()) == 0 })
			for _, s := range other.Sessions() {
				if got := toAccess(s); got != 0x100 {
					t.Errorf("the other unit sends downlink packets to TEID %#x", got)
				}
			}
		})
	}
}

func toAccess(s fakeupfu.Session) uint32 {
	for _, f := range s.FARs {
		if f.DestinationInterface == abi.IfAccess && f.Action == abi.FarForw {
			return f.Teid
		}
	}
	return 0
}

// A breakout begins to hold where the UE is, and ends: upf-c as it ships is the branch.
func TestABranchComesAndGoes(t *testing.T) {
	r := newRig(t)
	edge, at := r.unitAt("zz.test", "127.77.1.2", "172.30.4.16/28")
	with := func(breakouts ...configuration.Breakout) *configuration.Snapshot {
		return r.pair(at, func(d *configuration.DataNetwork, _ []configuration.Unit) {
			d.Units, d.Breakouts = d.Units[:1], breakouts
		})
	}
	r.config = with()
	pod, _ := r.start("pod-1")
	ref := r.create(pod, "imsi-208930000000001", n1.IPv4)
	r.amf.next(t)
	r.tunnel(pod, ref, 0x100)
	pod.Configure(with(configuration.Breakout{Name: "near", UPFInstance: "edge", Units: []string{"zz.test"}, Prefixes: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}}))
	if up := modified(t, r.amf.next(t)); !netip.MustParsePrefix("172.30.4.16/28").Contains(up.IPv4) {
		t.Errorf("the access network sends to %+v, want the branch", up)
	}
	for _, s := range edge.Sessions() {
		if got := toAccess(s); got != 0x100 || len(s.SDFs) != 1 {
			t.Errorf("the branch sends downlink packets to TEID %#x, and has %d SDF filters", got, len(s.SDFs))
		}
	}
	if _, teid := r.downlink(); teid == 0x100 || teid == 0 {
		t.Errorf("the anchor sends to TEID %#x, want the branch's", teid)
	}
	pod.Configure(with())
	if up := modified(t, r.amf.next(t)); !netip.MustParsePrefix("172.30.3.16/28").Contains(up.IPv4) {
		t.Errorf("the access network sends to %+v, want the anchor", up)
	}
	await(t, "the branch has nothing", func() bool { return len(edge.Sessions()) == 0 })
	if _, teid := r.downlink(); teid != 0x100 {
		t.Errorf("the anchor sends to TEID %#x, want the access network's", teid)
	}
}

// A gNB that the unit does not reach: packets wait, and the access network is told to let go.
func TestAPathFails(t *testing.T) {
	r := newRig(t)
	pod, _ := r.start("pod-1")
	ref := r.create(pod, "imsi-208930000000001", n1.IPv4v6)
	r.amf.next(t)
	r.tunnel(pod, ref, 0x100)
	held := pod.Held("smf-1")
	held.fromUnit(pfcp.NodeReport{Unit: "upf.test", Failed: []pfcp.Peer{{IPv4: netip.MustParseAddr("172.30.3.100")}}})
	if x := r.amf.next(t); x.kind != string(n2.InfoReleaseCommand) || x.n1 != nil {
		t.Errorf("the AMF was given %s, N1 %x", x.kind, x.n1)
	}
	if action, _ := r.downlink(); action != abi.FarBuff|abi.FarNocp {
		t.Errorf("downlink packets: action %#x, want the buffer and a word", action)
	}
}
