package edge

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/hack/repository"
)

// Two sites, each an embedded cluster that `make e2e-edge` has brought up on this machine: the centre has a core, the edge an operator and UPF units by
// releases of their own. Whatever has no other route leaves a site by the wide area network, a router between two links that are listened on.
//
//	centre 198.51.100.1 ── wan ── router ── wan ── 203.0.113.2 edge
//	       10.99.0.1 ···················· tunnel ···················· 10.99.0.2
//
// No load balancer is here: the story gives Services of that type their addresses, as one would.
const (
	centreRouter, edgeRouter = "198.51.100.254", "203.0.113.254"
	edgeSiteWAN              = "203.0.113.2"
	n2Address                = "10.99.0.10" // where gNBs of the edge find the AMF
	shards                   = 4
	balanced                 = "10.99.0.8/29" // that, and where the edge's UPF finds the shards of the SMF
	edgePool                 = "10.61.0.0/16"
	nearPhone, farPhone      = "imsi-208930000000001", "imsi-208930000000003"
	edgeTAC                  = "000002"
	edgeDataNetwork          = "172.31.6.1"
)

func shardAddress(n int) string { return fmt.Sprintf("10.99.0.%d", 10+n) }

// sites are the two clusters, with the network between them.
type sites struct {
	*site
	at     map[string]*cluster.Cluster // of the namespace of its node
	router string
	taps   map[string]*tap
}

func newSites(t *testing.T) *sites {
	t.Helper()
	if os.Getenv("CORE5G_E2E_SITES") == "" {
		t.Skip("needs two embedded clusters, centre and edge: make e2e-edge")
	}
	id := os.Getpid()
	s := &sites{
		site: &site{t: t, centre: fmt.Sprintf("c5centre%d", id), edge: fmt.Sprintf("c5edge%d", id)},
		at:   map[string]*cluster.Cluster{}, router: fmt.Sprintf("c5wan%d", id), taps: map[string]*tap{},
	}
	for instance, ns := range map[string]string{"centre": s.centre, "edge": s.edge} {
		c, err := cluster.OpenNamed(t.Context(), instance)
		if err != nil {
			t.Fatal(err)
		}
		s.at[ns] = c
		pid, _, _ := strings.Cut(read(t, repository.Path(t, "out/cluster-"+instance+"/pid")), " ")
		run(t, "ip", "netns", "attach", ns, pid)
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", ns).Run() }) // the name: the node keeps it
	}
	run(t, "ip", "netns", "add", s.router)
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", s.router).Run() })
	run(t, "ip", "netns", "exec", s.router, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
	for ns, l := range map[string]struct{ name, router, addr string }{s.centre: {"centre", centreRouter, centreWAN}, s.edge: {"edge", edgeRouter, edgeSiteWAN}} {
		_ = exec.Command("ip", "-n", ns, "link", "del", "wan").Run() // of a story that was cut off
		run(t, "ip", "-n", s.router, "link", "add", l.name, "type", "veth", "peer", "name", "wan", "netns", ns)
		run(t, "ip", "-n", s.router, "addr", "add", l.router+"/24", "dev", l.name)
		run(t, "ip", "-n", s.router, "link", "set", l.name, "up")
		run(t, "ip", "-n", ns, "addr", "add", l.addr+"/24", "dev", "wan")
		run(t, "ip", "-n", ns, "link", "set", "wan", "up")
		for _, half := range []string{"0.0.0.0/1", "128.0.0.0/1"} {
			run(t, "ip", "-n", ns, "route", "add", half, "via", l.router)
		}
		s.taps[l.name] = s.listen(s.router, l.name)
	}
	return s
}

// step is a part of the story, which does not go on without it.
func (s *sites) step(t *testing.T, name string, f func(*testing.T)) {
	t.Helper()
	if !t.Run(name, func(t *testing.T) { s.t = t; f(t) }) {
		t.FailNow()
	}
	s.t = t
}

// helm installs a release, or brings it up to date.
func (s *sites) helm(c *cluster.Cluster, release, chart, values string, more ...string) {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), release+".yaml")
	write(s.t, file, values, 0o644)
	args := append([]string{"upgrade", "--install", release, repository.Path(s.t, chart), "--create-namespace", "-f", file, "--wait", "--timeout", "3m"}, more...)
	if out, err := c.HelmRun(s.t.Context(), args...); err != nil {
		s.t.Fatalf("%v\n%s", err, out)
	}
}

func (s *sites) apply(c *cluster.Cluster, manifests string) {
	s.t.Helper()
	if _, err := c.Input(s.t.Context(), manifests, "apply", "--server-side", "--force-conflicts", "-f", "-"); err != nil {
		s.t.Fatal(err)
	}
}

// balance gives a Service the address that a load balancer would.
func (s *sites) balance(c *cluster.Cluster, service, address string) {
	s.t.Helper()
	patch := fmt.Sprintf(`{"status":{"loadBalancer":{"ingress":[{"ip":%q}]}}}`, address)
	s.within2m("Service "+service+" has an address", func() error {
		_, err := c.Run(s.t.Context(), "patch", "service", service, "--subresource=status", "--type=merge", "-p", patch)
		return err
	})
}

func (s *sites) within2m(what string, try func() error) {
	s.t.Helper()
	if err := cluster.Eventually(s.t.Context(), 2*time.Minute, try); err != nil {
		s.t.Fatalf("%s: %v", what, err)
	}
}

func (s *sites) condition(c *cluster.Cluster, object, condition, status string) cluster.Condition {
	s.t.Helper()
	if err := c.WaitConditionIs(s.t.Context(), object, condition, status, 3*time.Minute); err != nil {
		s.t.Fatal(err)
	}
	var o cluster.Object
	if err := c.JSON(s.t.Context(), &o, "get", object); err != nil {
		s.t.Fatal(err)
	}
	found, _ := o.Condition(condition)
	return found
}

// phone is a UE that is attached, as the story found it.
type phone struct {
	c       *cluster.Cluster
	network string // its data network, which is of its site alone
	was     cluster.UEStatus
}

func (s *sites) attached(c *cluster.Cluster, supi, network string) *phone {
	s.t.Helper()
	status, err := c.WaitAttached(s.t.Context(), supi, 3*time.Minute)
	if err != nil {
		s.t.Fatal(err)
	}
	return &phone{c: c, network: network, was: status}
}

// serves reports why the UE has not the session that it had, with packets both ways.
func (p *phone) serves(ctx context.Context) error {
	now, err := p.c.WaitAttached(ctx, p.was.SUPI, time.Second)
	if err != nil {
		return err
	}
	if now.Sessions[0].Address != p.was.Sessions[0].Address || now.Counters.Registrations != p.was.Counters.Registrations {
		return fmt.Errorf("%s has %s after %d registrations, and had %s after %d", now.SUPI, now.Sessions[0].Address, now.Counters.Registrations,
			p.was.Sessions[0].Address, p.was.Counters.Registrations)
	}
	ping, err := p.c.Ping(ctx, p.was.SUPI, p.network, 3, 100*time.Millisecond)
	if err == nil && ping.Received < ping.Sent {
		err = fmt.Errorf("%d of %d pings of %s to %s are answered", ping.Received, ping.Sent, p.was.SUPI, p.network)
	}
	return err
}

func (s *sites) serve(what string, phones ...*phone) {
	s.t.Helper()
	for _, p := range phones {
		s.within2m(what+": "+p.was.SUPI+" is served", func() error { return p.serves(s.t.Context()) })
	}
}

// sessions of a unit, as it tells them.
func (s *sites) sessions(c *cluster.Cluster, unit string) int {
	s.t.Helper()
	out, err := c.Run(s.t.Context(), "exec", unit, "-c", "upf-c", "--", "upfctl", "sessions", "-o", "json")
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Count(out, `"seid"`)
}

// kill pods without grace, and wait until others are there.
func (s *sites) kill(c *cluster.Cluster, selector string) {
	s.t.Helper()
	old, err := c.Pods(s.t.Context(), selector)
	if err != nil || len(old) == 0 {
		s.t.Fatalf("pods of %s: %v, %v", selector, old, err)
	}
	if _, err := c.Run(s.t.Context(), "delete", "pods", "-l", selector, "--grace-period=0", "--force"); err != nil {
		s.t.Fatal(err)
	}
	dead := map[string]bool{}
	for _, p := range old {
		dead[p.Metadata.UID] = true
	}
	s.within2m("pods of "+selector+" are back", func() error {
		now, err := c.Pods(s.t.Context(), selector)
		if err != nil {
			return err
		}
		for _, p := range now {
			if dead[p.Metadata.UID] || !p.Ready() {
				return fmt.Errorf("pod %s is not", p.Metadata.Name)
			}
		}
		if len(now) < len(old) {
			return fmt.Errorf("%d pods of %d", len(now), len(old))
		}
		return nil
	})
}

const centreValues = `
core:
  spec:
    tacs: ["000001", "000002"]
    n2: {serviceType: LoadBalancer, transport: %s}
    amf: {workers: 2}
    sessionManagement: {replicas: 2, shards: %d, n4: {serviceType: LoadBalancer}}
upf: {spec: {n4: {controlPlaneSubnets: [10.244.0.0/16]}}}
`

const edgeValues = `
spec:
  n3:
    attachment: {type: Bridge, bridge: c5g-n3}
    subnet: 172.31.3.0/24
    endpoints: 172.31.3.16/28
  n4: {serviceType: LoadBalancer, controlPlaneSubnets: [10.99.0.1/32]}
  n6:
    attachment: {type: Bridge, bridge: c5g-n6}
    address: 172.31.6.2/24
    gateway: 172.31.6.1
`

// What the centre knows of the edge: its UPF, which UEs have it, and one of them.
const edgeAtCentre = `
apiVersion: core5g.dev/v1beta1
kind: UPFInstance
metadata: {name: edge}
spec:
  external:
    n4: {address: 10.99.0.2}
    n3: {endpoints: [172.31.3.16/28]}
    networkInstances: {access: access, core: [{slice: internet, dnn: internet, name: internet}]}
    pools: [{range: 10.61.0.0/16, name: 10.61.0.0/16}]
---
apiVersion: core5g.dev/v1beta1
kind: Slice
metadata: {name: internet}
spec:
  snssai: {sst: 1, sd: "010203"}
  upfSelector: {name: upf}
  dataNetworks:
    - dnn: internet
      uePools: [10.45.0.0/16]
      upfs: [{name: edge, uePools: [10.61.0.0/16], tacs: ["000002"]}]
---
apiVersion: core5g.dev/v1beta1
kind: Subscriber
metadata: {name: phone-3}
spec:
  supi: imsi-208930000000003
  authentication: {secretRef: {name: phone-1}}
  slices: [{name: internet}]
`

// first few of many.
func first(of []string) []string { return of[:min(5, len(of))] }

// ran is the radio and data network of manifests/samples/ran.yaml for one site: its networks, its AMF and its only phone.
func (s *sites) ran(changes ...string) string {
	s.t.Helper()
	text := read(s.t, repository.Path(s.t, "manifests/samples/ran.yaml"))
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(text, changes[i]) {
			s.t.Fatalf("manifests/samples/ran.yaml has no %q", changes[i])
		}
		text = strings.ReplaceAll(text, changes[i], changes[i+1])
	}
	return text
}

// A UE that comes up in the tracking area of the edge is registered by the centre, and its packets leave at the edge; of all that is between the sites nothing
// is to be read. Whatever dies then, neither UE loses its session.
func TestSites(t *testing.T) {
	s := newSites(t)
	centre, edge := s.at[s.centre], s.at[s.edge]
	w := s.tunnelWith(wireguard(t)[2], balanced)

	// Each site by releases of its own.
	s.helm(edge, "core5g-operator", "charts/core5g-operator", "")
	s.helm(edge, "edge", "charts/core5g-upf", edgeValues)
	s.helm(centre, cluster.Release, "charts/core5g", fmt.Sprintf(centreValues, cluster.N2Transport(), shards))
	if waits := s.condition(edge, "upfinstance/edge", "UnitsReady", "False"); !strings.Contains(waits.Message, "no load balancer has given Service edge-0-n4-lb an address yet") {
		t.Errorf("while it has no address, UnitsReady is %+v", waits)
	}
	s.balance(edge, "edge-0-n4-lb", edgeTunnel)
	s.balance(centre, "core5g-amf-n2", n2Address)
	for n := range shards {
		s.balance(centre, fmt.Sprintf("core5g-smf-shard-%d-n4", n+1), shardAddress(n+1))
	}
	if err := centre.Apply(t.Context(), "manifests/slice.yaml", "manifests/samples/ran.yaml"); err != nil {
		t.Fatal(err)
	}
	s.apply(centre, edgeAtCentre)
	s.condition(edge, "upfinstance/edge", "Ready", "True")
	for _, object := range []string{"core5g/core5g", "upfinstance/upf", "upfinstance/edge", "slice/internet"} {
		s.condition(centre, object, "Ready", "True")
	}
	s.apply(edge, s.ran("172.30.", "172.31.", "10.46.0.0/16", edgePool, `tac: "000001"`, `tac: "`+edgeTAC+`"`, "id: 1\n", "id: 2\n",
		"name: core5g-gnb", "name: edge-gnb", "core5g-amf-n2:38412", n2Address+":38412", nearPhone, farPhone))
	near, far := s.attached(centre, nearPhone, cluster.DataNetwork), s.attached(edge, farPhone, edgeDataNetwork)

	s.step(t, "each leaves at its site", func(t *testing.T) {
		s.serve("at first", near, far)
		for p, pool := range map[*phone]string{near: "10.45.", far: "10.61."} {
			if at := p.was.Sessions[0].Address; !strings.HasPrefix(at, pool) {
				t.Errorf("%s has %s, want one of %s", p.was.SUPI, at, pool)
			}
		}
		if here, there := s.sessions(centre, "upf-0"), s.sessions(edge, "edge-0"); here != 1 || there != 1 {
			t.Errorf("%d sessions at the centre's UPF and %d at the edge's, want one each", here, there)
		}
	})

	s.step(t, "the edge's UPF dies", func(t *testing.T) {
		s.kill(edge, "core5g.dev/upfinstance=edge")
		s.serve("with the next pod", far, near)
		if there := s.sessions(edge, "edge-0"); there != 1 {
			t.Errorf("%d sessions at the edge's UPF, want the one that was", there)
		}
	})

	s.step(t, "the sites are cut from each other", func(t *testing.T) {
		run(t, "ip", "-n", s.router, "link", "set", "edge", "down")
		said := s.condition(centre, "upfinstance/edge", "Associated", "False")
		if said.Reason != "Unreachable" || !strings.Contains(said.Message, "UDP gets through both ways") {
			t.Errorf("the centre says %+v", said)
		}
		s.serve("while they are", near, far) // packets of the edge need no centre
		run(t, "ip", "-n", s.router, "link", "set", "edge", "up")
		s.condition(centre, "upfinstance/edge", "Ready", "True")
		s.serve("afterwards", near, far)
	})

	s.step(t, "the centre's SMF dies", func(t *testing.T) {
		s.kill(centre, "app.kubernetes.io/component=smf")
		s.serve("without it", near, far)
		s.condition(centre, "upfinstance/edge", "Ready", "True")
		for _, p := range []*phone{near, far} {
			// The SMF has the session: it takes the user plane down and sets it up anew.
			for _, verb := range []string{"idle", "service-request"} {
				s.within2m(p.was.SUPI+": "+verb, func() error { return p.c.RAN(t.Context(), nil, verb, "--ue", p.was.SUPI) })
			}
		}
		s.serve("with it again", near, far)
	})

	s.step(t, "nothing between the sites is to be read", func(t *testing.T) {
		for link, heard := range s.taps {
			encrypted, clear := heard.count()
			// Handshakes, four associations, the set-ups, the deaths: far more than one a message.
			if others := heard.strangers(); encrypted < 50 || len(clear) > 0 || len(others) > 0 {
				t.Errorf("%s: %d datagrams of WireGuard, of PFCP in clear text %d %q, others %d %q", link, encrypted, len(clear), first(clear), len(others), first(others))
			}
		}
	})

	s.step(t, "nor without the tunnel", func(t *testing.T) {
		for ns, file := range w.files {
			s.quick("down", ns, file)
		}
		s.condition(centre, "upfinstance/edge", "Associated", "False")
		for link, heard := range s.taps {
			if _, clear := heard.count(); len(clear) > 0 || len(heard.strangers()) > 0 {
				t.Errorf("%s: %q, %q", link, first(clear), first(heard.strangers()))
			}
		}
		s.serve("without the tunnel", near, far)
	})

	s.step(t, "what is sent in clear text would have been heard", func(t *testing.T) {
		s.speak(s.edge, centreWAN+":8805")
		await(t, "a datagram to PFCP's port on the link", func() string {
			if _, clear := s.taps["centre"].count(); len(clear) == 0 || len(s.taps["edge"].strangers()) == 0 {
				return "nothing"
			}
			return ""
		})
	})
}
