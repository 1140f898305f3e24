package main

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestFurtherNodesShareNothing(t *testing.T) {
	s := testSettings(t)
	s.nodes = mostNodes
	nodes, err := s.all()
	if err != nil || len(nodes) != mostNodes {
		t.Fatalf("%d nodes, %v, want %d", len(nodes), err, mostNodes)
	}
	seen := map[string]string{}
	once := func(what, of string) {
		t.Helper()
		if other, is := seen[what]; is {
			t.Errorf("%s and %s both have %s", of, other, what)
		}
		seen[what] = of
	}
	var pods []netip.Prefix
	for _, f := range nodes {
		for _, what := range []string{f.name(), "state " + f.state, "address " + f.nodeIP.String(), "cgroup " + f.cgroup()} {
			once(what, f.name())
		}
		mine := podsOf(f.number)
		if !netip.MustParsePrefix(clusterPods).Overlaps(mine) || mine.Overlaps(netip.MustParsePrefix("10.244.1.0/24")) {
			t.Errorf("pods of %s have %s: want a part of %s that is not the emulated server's", f.name(), mine, clusterPods)
		}
		for _, other := range pods {
			if mine.Overlaps(other) {
				t.Errorf("pods of %s have %s, which overlaps %s", f.name(), mine, other)
			}
		}
		pods = append(pods, mine)
		for _, network := range append([]string{""}, userPlane...) {
			if name := cable(f.number, network); len(name) > 15 {
				t.Errorf("cable %s has %d octets, more than a link's name may have", name, len(name))
			} else if f.number > 1 {
				once("cable "+name, f.name())
			}
		}
		if f.number > 1 && !strings.HasPrefix(f.cgroup(), s.cgroup()+"/") {
			t.Errorf("group %s of %s is not below %s, with which it goes", f.cgroup(), f.name(), s.cgroup())
		}
	}
}

func TestAFurtherNodeHasNoControlPlane(t *testing.T) {
	var names []string
	for _, d := range testSettings(t).further(2).daemons() {
		names = append(names, d.name)
		for _, other := range d.after {
			if !slices.Contains(names, other) {
				t.Errorf("%s waits for %s, which does not start before it there", d.name, other)
			}
		}
		for _, arg := range d.args {
			if strings.HasPrefix(arg, "--hostname-override=") && arg != "--hostname-override=core5g-node-2" {
				t.Errorf("%s is told %s", d.name, arg)
			}
		}
	}
	if want := []string{"containerd", "kubelet", "kube-proxy"}; !slices.Equal(names, want) {
		t.Errorf("daemons %q, want %q", names, want)
	}
}

// A node of this machine is planned like the first one: no label and taint of a server of its own, and a group of its own.
func TestAFurtherNodeTakesAnyPod(t *testing.T) {
	s := testSettings(t)
	f := s.further(3)
	j := joiner{name: f.name(), address: f.nodeIP, pods: podsOf(3), cgroup: f.cgroup()}
	config := s.joinedKubelet(j)
	if config["registerWithTaints"] != nil || config["cgroupRoot"] != "/core5g/core5g-node-3" || config["address"] != "10.215.0.3" {
		t.Errorf("taints %v, group %v, address %v", config["registerWithTaints"], config["cgroupRoot"], config["address"])
	}
	if args := strings.Join(j.kubeletArguments(), " "); strings.Contains(args, dataplaneLabel) {
		t.Errorf("the kubelet is told %s", args)
	}
}

func TestCountIsThatOfTheClusterThatIsUp(t *testing.T) {
	s := testSettings(t)
	if n, err := s.count(); n != 1 || err != nil {
		t.Errorf("nothing said: %d nodes, %v, want 1", n, err)
	}
	if err := s.write([]byte("3\n"), 0o644, countFile); err != nil {
		t.Fatal(err)
	}
	if n, err := s.count(); n != 3 || err != nil {
		t.Errorf("3 are up: %d nodes, %v", n, err)
	}
	// A kubelet does not start where the node has other hugepages than before.
	if err := s.write([]byte("300\n"), 0o644, shareFile); err != nil {
		t.Fatal(err)
	}
	if f, err := s.named("core5g-node-2"); err != nil || f.nodes != 3 || f.hugepages != 300 {
		t.Errorf("a node that comes back: %v, %+v, want one of 3 with 300 hugepages", err, f)
	}
	s.nodes = 2
	if _, err := s.count(); err == nil || !strings.Contains(err.Error(), "has 3 nodes, not 2") {
		t.Errorf("error %v, want one that says how many there are", err)
	}
	s.nodes = 3
	if f, err := s.named("core5g-node-3"); err != nil || f.number != 3 {
		t.Errorf("core5g-node-3 is not found: %v", err)
	}
	if _, err := s.named("core5g-node-4"); err == nil || !strings.Contains(err.Error(), "core5g-node, core5g-node-2, core5g-node-3") {
		t.Errorf("error %v, want one that names the nodes", err)
	}
}

func TestNodeRefuses(t *testing.T) {
	s := testSettings(t)
	s.nodes = 3
	if err := s.node(t.Context(), []string{"off", "core5g-node-2"}); err == nil || !strings.Contains(err.Error(), "no cluster is up") {
		t.Errorf("without a cluster: %v", err)
	}
	identity, err := processIdentity(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.write([]byte(identity+"\n"), 0o644, "pid"); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"want off, cut or on":  {"off"},
		"has the API server":   {"off", nodeName},
		"has no node":          {"off", "other"},
		"core5g-node-2 is off": {"cut", "core5g-node-2"},
		"core5g-node-3 is off": {"off", "core5g-node-3"},
		"node kill: want off":  {"kill", "core5g-node-2"},
	} {
		if err := s.node(t.Context(), args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", args, err, want)
		}
	}
}

// What another start of a node has left must not keep its cables from being made.
func TestSwitchScript(t *testing.T) {
	script := switchScript(2, 4711)
	for _, want := range []string{
		"ip addr replace 10.215.0.1/24 dev c5g-nodes",
		"ip link add c5g-node-2 type veth peer name eth0 netns 4711", "ip link set c5g-node-2 master c5g-nodes up",
		"ip link add c5g-node-2-n3 type veth peer name n3 netns 4711", "ip link set c5g-node-2-n3 master c5g-n3 up",
		"ip link add c5g-node-2-n6 type veth peer name n6 netns 4711", "ip link set c5g-node-2-n6 master c5g-n6 up",
		"|| ip link del c5g-node-2\n", "ip route replace 10.244.2.0/24 via 10.215.0.2",
	} {
		if !strings.Contains(script, want) {
			t.Errorf("no %q in\n%s", want, script)
		}
	}
}

func TestShareOfHugepages(t *testing.T) {
	for name, c := range map[string]struct {
		cells []int
		pages int
		want  []int
	}{
		"one cell":                     {[]int{900}, 300, []int{300}},
		"beside another cluster":       {[]int{4620}, 300, []int{300}},
		"two cells, alike":             {[]int{450, 450}, 300, []int{150, 150}},
		"two cells, of which one more": {[]int{600, 300}, 300, []int{200, 100}},
		"no more than there are":       {[]int{100}, 300, []int{100}},
		"none":                         {[]int{0, 0}, 300, []int{0, 0}},
	} {
		if got := share(c.cells, c.pages); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestOffIsNoErrorWhereNothingRuns(t *testing.T) {
	s := testSettings(t)
	if err := errors.Join(s.offAll(t.Context()), s.further(2).off(t.Context())); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(s.state, "nodes")); err == nil {
		t.Error("looking for nodes has made some")
	}
}
