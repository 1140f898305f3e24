package sessions

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"core5g.dev/core5g/e2e/ran/ue"
	"core5g.dev/core5g/images/associations"
	"core5g.dev/core5g/images/session-management/configuration/cluster"
	"core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/upf/abi"

	"sigs.k8s.io/yaml"
)

// elsewhere is a UPF that nobody but a UPFInstance's spec.external names.
type elsewhere struct {
	shown
	outside bool
	mu      sync.Mutex
	now     cluster.Objects
}

func (p *elsewhere) start(s *story) netip.AddrPort {
	s.outside = p.outside
	at := p.shown.start(s)
	p.now = cluster.Objects{Core: &v1alpha1.Core5G{}, UPFInstances: make([]v1alpha1.UPFInstance, 1), Slices: make([]v1alpha1.Slice, 1)}
	for _, o := range []struct {
		into     any
		manifest string
	}{
		{p.now.Core, `
metadata: {namespace: ns, name: core5g}
spec: {plmns: [{mcc: "208", mnc: "93"}], tacs: ["000001"]}
`},
		{&p.now.UPFInstances[0], fmt.Sprintf(`
metadata: {namespace: ns, name: edge}
spec:
  external:
    n4: {address: %s, port: %d, nodeID: %s}
    n3: {endpoints: [172.30.3.16/28]}
    networkInstances: {access: n3, core: [{slice: one, dnn: internet, name: n6}]}
`, at.Addr(), at.Port(), nodeID)},
		{&p.now.Slices[0], `
metadata: {namespace: ns, name: one}
spec:
  snssai: {sst: 1, sd: "010203"}
  upfSelector: {name: edge}
  dataNetworks: [{dnn: internet, uePools: [10.60.0.0/16]}]
`},
	} {
		if err := yaml.UnmarshalStrict([]byte(o.manifest), o.into); err != nil {
			s.t.Fatal(err)
		}
	}
	s.objects = func() cluster.Objects {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.now
	}
	return at
}

// change the UPFInstance, and have it followed.
func (p *elsewhere) change(s *story, by func(*v1alpha1.UPFInstance)) {
	p.mu.Lock()
	upf := p.now.UPFInstances[0].DeepCopy()
	by(upf)
	p.now.UPFInstances = []v1alpha1.UPFInstance{*upf}
	p.mu.Unlock()
	for _, pod := range s.living() {
		pod.Configure(s.snapshot())
	}
}

// A UPF that only an address names serves PDU sessions, over the deaths of pods, until it is taken out of service; then the UE has none,
// and one again when it is back. What the operator would be told of it is true all the while.
func TestAUPFElsewhere(t *testing.T) {
	p := &elsewhere{}
	s := begin(t, p)
	u := s.attach(1, internet(1))
	s.amf.WaitTrace("session 1 up", 1)
	x := u.session(1)
	if !strings.HasPrefix(x.Address, "10.60.") || !netip.MustParsePrefix("172.30.3.16/28").Contains(netip.MustParseAddr(x.Peer)) {
		t.Errorf("the UE has %+v", x)
	}
	told := func() associations.Unit {
		for _, pod := range s.living() {
			report, err := pod.Associations(context.Background(), []string{nodeID})
			if err == nil && len(report.Shards) == 1 && len(report.Shards[0].Units) == 1 && report.Sessions[nodeID] == int64(len(p.upfu.Sessions())) {
				return report.Shards[0].Units[0]
			}
		}
		return associations.Unit{}
	}
	s.until("the operator is told", func() bool { return told().Associated })
	s.startPod()
	s.living()[0].kill()
	s.until("another pod holds the shard", s.ready)
	s.until("the operator is told by the next", func() bool { return told().Associated })
	u.must(u.Idle(s.ctx))
	u.must(u.ServiceRequest(s.ctx))
	s.until("the session is up again", func() bool { return u.session(1).Up })
	if u.session(1).Address != x.Address {
		t.Errorf("the UE had %s and has %s", x.Address, u.session(1).Address)
	}

	p.change(s, func(upf *v1alpha1.UPFInstance) { upf.Spec.AdministrativeState = v1alpha1.StateLocked })
	s.until("no session", func() bool { return len(p.upfu.Sessions()) == 0 && u.session(1).State != "active" })
	if err := u.Establish(s.ctx, internet(2)); err == nil || !strings.Contains(err.Error(), "5GSM cause #26") {
		t.Errorf("while it is out of service the UE hears %v", err)
	}
	p.change(s, func(upf *v1alpha1.UPFInstance) { upf.Spec.AdministrativeState = v1alpha1.StateUnlocked })
	s.until("a session again", func() bool {
		return u.session(1).State == "active" || u.Establish(s.ctx, internet(1)) == nil
	})
}

// A UPF that reaches a shard at its outside address alone reports there: a UE that is idle is paged.
func TestAUPFElsewhereReports(t *testing.T) {
	p := &elsewhere{outside: true}
	s := begin(t, p)
	u := s.attach(1, internet(1))
	s.amf.WaitTrace("session 1 up", 1)
	u.must(u.Idle(s.ctx))
	s.until("downlink data is announced", func() bool {
		for index, session := range p.upfu.Sessions() {
			for _, far := range session.FARs {
				if far.Action&abi.FarNocp != 0 {
					u.must(p.upfu.DownlinkData(index, 2, 1))
					return true
				}
			}
		}
		return false
	})
	u.wait("the paging", func(st ue.Status) bool { return st.CM == "connected" })
	s.until("the session is up again", func() bool { return u.session(1).Up })
}
