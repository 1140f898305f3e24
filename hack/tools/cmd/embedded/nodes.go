package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/vishvananda/netlink"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Further nodes of the cluster, on the same machine: each a sandbox of its own, with a containerd, a kubelet and a kube-proxy, and nothing of
// the control plane. What it keeps is below nodes/<name> of the state directory, and is there as state directory: identity, kubelet, images. Its
// processes can be killed all at once, as by a power cut, and started again, as by a boot; its cables can be pulled.
//
// The first node, which has the API server and does not die, is the switch that they hang on: a bridge for the nodes themselves, and one for each
// network of the user plane, so that N3 and N6 are one Ethernet on all nodes, as redundancy needs them.
//
//	core5g-node (1)                            core5g-node-2
//	c5g-nodes 10.215.0.1 ── c5g-node-2 ────── eth0 10.215.0.2   kubelet, pods 10.244.2.0/24
//	c5g-n3 ──────────────── c5g-node-2-n3 ─── n3 ── c5g-n3
//	c5g-n6 ──────────────── c5g-node-2-n6 ─── n6 ── c5g-n6
//
// Kernel, CPUs and memory are the machine's, and each kubelet believes that it has all of them; hugepages it is shown a share of.

const (
	// mostNodes of a cluster.
	mostNodes   = 5
	nodesBridge = "c5g-nodes"
	// nodesSubnet is that of the nodes among themselves, and clusterPods that of all pods.
	nodesSubnet = "10.215.0.0/24"
	clusterPods = "10.244.0.0/16"
	// countFile says how many nodes the cluster that is up has, and shareFile how many hugepages each: whatever is said when one comes back.
	countFile, shareFile = "node-count", "node-hugepages"
)

// userPlane are the networks beside that of the nodes; the bridge of each, on every node, is called as in the chart's default UPFInstance.
var userPlane = []string{"n3", "n6"}

func bridgeOf(network string) string { return "c5g-" + network }

// nameOf a node by its number, from 1.
func nameOf(n int) string {
	if n == 1 {
		return nodeName
	}
	return fmt.Sprintf("%s-%d", nodeName, n)
}

// addressOf a node on the bridge of nodes.
func addressOf(n int) netip.Addr { return netip.AddrFrom4([4]byte{10, 215, 0, byte(n)}) }

// podsOf a node: the first one has 10.244.0.0/24, and 10.244.1.0/24 is that of an emulated server (hack/onprem).
func podsOf(n int) netip.Prefix {
	if n == 1 {
		return netip.MustParsePrefix(podSubnet)
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 244, byte(n), 0}), 24)
}

// cable of a node in the first one; network is "" for that of the nodes.
func cable(n int, network string) string {
	name := fmt.Sprintf("c5g-node-%d", n)
	if network != "" {
		name += "-" + network
	}
	return name
}

// noted is the number in a file of the state directory, or else the other one.
func (s *settings) noted(file string, otherwise int) (int, error) {
	text, err := os.ReadFile(s.path(file))
	if errors.Is(err, fs.ErrNotExist) {
		return otherwise, nil
	}
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", s.path(file), err)
	}
	return n, nil
}

// count is how many nodes the cluster has: what was said when it was brought up, else what is said now, else one.
func (s *settings) count() (int, error) {
	noted, err := s.noted(countFile, max(s.nodes, 1))
	if err != nil {
		return 0, err
	}
	if s.nodes != 0 && noted != s.nodes {
		return 0, fmt.Errorf("the cluster that is up has %d nodes, not %d: `hack/cluster.sh down` first, or leave CORE5G_NODES out", noted, s.nodes)
	}
	return noted, nil
}

// further is the settings of a further node, whose state directory is its own.
func (s *settings) further(n int) *settings {
	f := *s
	f.state = s.path("nodes", nameOf(n))
	f.become(n)
	return &f
}

// become has settings be those of a node by its number.
func (s *settings) become(n int) {
	if s.number = n; n > 1 {
		s.nodeIP = addressOf(n)
	}
}

// all nodes of the cluster, the first one first.
func (s *settings) all() ([]*settings, error) {
	count, err := s.count()
	if err != nil {
		return nil, err
	}
	hugepages, err := s.noted(shareFile, s.hugepages)
	if err != nil {
		return nil, err
	}
	out := []*settings{s}
	for n := 2; n <= count; n++ {
		f := s.further(n)
		f.nodes, f.hugepages = count, hugepages
		out = append(out, f)
	}
	return out, nil
}

// named is the settings of a node of the cluster.
func (s *settings) named(name string) (*settings, error) {
	nodes, err := s.all()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range nodes {
		if f.name() == name {
			return f, nil
		}
		names = append(names, f.name())
	}
	return nil, fmt.Errorf("the cluster has no node %q; it has %s", name, strings.Join(names, ", "))
}

func (s *settings) name() string { return nameOf(s.number) }

// upNodes brings further nodes up, or finds them up.
func (s *settings) upNodes(ctx context.Context, images []string) error {
	nodes, err := s.all()
	if err != nil {
		return err
	}
	for _, f := range nodes[1:] {
		if err := s.upNode(ctx, f); err != nil {
			return fmt.Errorf("node %s: %w", f.name(), err)
		}
	}
	for _, f := range nodes[1:] {
		if err := f.await(ctx, "containerd", func() error { return f.inSandbox(nil, "ctr", "version").Run() }); err != nil {
			return fmt.Errorf("node %s: %w", f.name(), err)
		}
		if err := f.loadHere(ctx, images); err != nil {
			return fmt.Errorf("node %s: %w", f.name(), err)
		}
		if err := f.await(ctx, "node "+f.name(), func() error { return s.nodeUp(ctx, f.name()) }); err != nil {
			return err
		}
		step("node %s Ready", f.name())
	}
	return nil
}

// upNode starts a node, as switching it on does, or plugs its cables in.
func (s *settings) upNode(ctx context.Context, f *settings) error {
	if f.running() {
		return s.plug(f, "up")
	}
	if _, err := os.Stat(f.path("auth", "kubelet")); err != nil {
		j := joiner{name: f.name(), address: f.nodeIP, pods: podsOf(f.number), cgroup: f.cgroup()}
		if err := s.join(j, f.state); err != nil {
			return err
		}
		if err := os.MkdirAll(f.path("kubelet"), 0o755); err != nil {
			return err
		}
		if err := os.Rename(f.path("kubelet.yaml"), f.path("kubelet", "config.yaml")); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(f.path("log"), 0o755); err != nil {
		return err
	}
	// What a node of before has left: a boot finds no group and no pod's processes.
	if err := f.removeCgroups(ctx); err != nil {
		return err
	}
	if err := f.makeCgroups(); err != nil {
		return err
	}
	// A kubelet whose memory is not what it was does not begin, and the machine's is less by the hugepages of other clusters that come and go.
	if err := os.RemoveAll(f.path("kubelet", "memory_manager_state")); err != nil {
		return err
	}
	return f.startSandbox(func(pid int) error { return s.wire(f.number, pid) })
}

// switchScript has the first node be the switch that node n hangs on.
func switchScript(n, pid int) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	bridge := func(name string) {
		say("ip link show %[1]s >/dev/null 2>&1 || ip link add %[1]s type bridge", name)
		say("ip link set %s up", name)
	}
	wire := func(network, bridge, peer string) {
		name := cable(n, network)
		// A namespace whose processes were killed may take a moment to go.
		say("! ip link show %[1]s >/dev/null 2>&1 || ip link del %[1]s", name)
		say("ip link add %s type veth peer name %s netns %d", name, peer, pid)
		say("ip link set %s master %s up", name, bridge)
	}
	say("set -e")
	bridge(nodesBridge)
	say("ip addr replace %s/24 dev %s", addressOf(1), nodesBridge)
	wire("", nodesBridge, "eth0")
	for _, network := range userPlane {
		bridge(bridgeOf(network))
		wire(network, bridgeOf(network), network)
	}
	say("ip route replace %s via %s", podsOf(n), addressOf(n))
	return b.String()
}

// wire connects a node to the first one.
func (s *settings) wire(n, pid int) error {
	// In this process's own process namespace, in which pid is the node's.
	cmd := exec.Command("nsenter", "--target", strconv.Itoa(s.sandboxPID()), "--net", "--", "sh")
	cmd.Stdin = strings.NewReader(switchScript(n, pid))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("its cables: %w: %s", err, out)
	}
	return nil
}

// plug pulls a node's cables out ("down"), or plugs them in ("up"), at the switch.
func (s *settings) plug(f *settings, state string) error {
	for _, network := range append([]string{""}, userPlane...) {
		if out, err := s.inSandbox(nil, "ip", "link", "set", cable(f.number, network), state).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
	}
	return nil
}

// cut says whether a node's cables are pulled out.
func (s *settings) cut(f *settings) (bool, error) {
	out, err := s.inSandbox(nil, "ip", "-o", "link", "show", cable(f.number, "")).Output()
	if err != nil {
		return false, fmt.Errorf("cable of %s: %w", f.name(), err)
	}
	_, flags, _ := strings.Cut(string(out), "<")
	flags, _, _ = strings.Cut(flags, ">")
	return !strings.Contains(","+flags+",", ",UP,"), nil
}

// off kills all processes of a node at once.
func (f *settings) off(ctx context.Context) error {
	pid := f.sandboxPID()
	if pid == 0 {
		return nil
	}
	// Process 1 of a process namespace heeds no other signal from outside.
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("sandbox: %w", err)
	}
	return untilFor(ctx, settleTime, func() error {
		if f.running() {
			return fmt.Errorf("process %d does not end", pid)
		}
		return nil
	})
}

// node does to a node of the cluster what the verb says.
func (s *settings) node(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return errors.New("node: want off, cut or on, and a node's name")
	}
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if !s.running() {
		return errors.New("no cluster is up; `hack/cluster.sh up` makes one")
	}
	f, err := s.named(args[1])
	if err != nil {
		return err
	}
	if f.number == 1 {
		return fmt.Errorf("node %s has the API server, and is the switch of the others: take another one", f.name())
	}
	switch args[0] {
	case "off":
		if !f.running() {
			return fmt.Errorf("node %s is off", f.name())
		}
		// The cables first: the kernel, which lives on, would say to every peer that its connection is closed.
		if err := s.plug(f, "down"); err != nil {
			return err
		}
		return f.off(ctx)
	case "cut":
		if !f.running() {
			return fmt.Errorf("node %s is off", f.name())
		}
		return s.plug(f, "down")
	case "on":
		return s.upNode(ctx, f)
	default:
		return fmt.Errorf("node %s: want off (a power cut), cut (its cables are pulled out) or on", args[0])
	}
}

// nodeUp says what a node lacks.
func (s *settings) nodeUp(ctx context.Context, name string) error {
	client, err := s.client()
	if err != nil {
		return err
	}
	node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("node %s has not registered", name)
	}
	if err != nil {
		return err
	}
	return nodeReady(node)
}

// nodesUp says which further node is not up and well, and how it comes up.
func (s *settings) nodesUp(ctx context.Context) error {
	nodes, err := s.all()
	if err != nil {
		return err
	}
	for _, f := range nodes[1:] {
		wrong := s.nodeUp(ctx, f.name())
		if !f.running() {
			wrong = fmt.Errorf("node %s is off", f.name())
		} else if away, err := s.cut(f); err != nil {
			return err
		} else if away {
			wrong = fmt.Errorf("node %s is cut off", f.name())
		}
		if wrong != nil {
			return fmt.Errorf("%w; `hack/cluster.sh node on %s`, or up", wrong, f.name())
		}
	}
	return nil
}

// offAll ends all further nodes that run, also where the cluster was not brought up to its end.
func (s *settings) offAll(ctx context.Context) error {
	for n := 2; n <= mostNodes; n++ {
		if err := s.further(n).off(ctx); err != nil {
			return fmt.Errorf("node %s: %w", nameOf(n), err)
		}
	}
	return nil
}

// joinNetworks has a further node reach the pods of the others, and be part of the networks of the user plane.
func (s *settings) joinNetworks(link netlink.Link) error {
	for n := 2; n <= mostNodes; n++ {
		if n == s.number {
			continue
		}
		to := podsOf(n)
		route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: &net.IPNet{IP: to.Addr().AsSlice(), Mask: net.CIDRMask(to.Bits(), 32)}, Gw: addressOf(n).AsSlice()}
		if err := netlink.RouteAdd(route); err != nil {
			return fmt.Errorf("route to pods of %s: %w", nameOf(n), err)
		}
	}
	for _, network := range userPlane {
		attributes := netlink.NewLinkAttrs()
		attributes.Name = bridgeOf(network)
		bridge := &netlink.Bridge{LinkAttrs: attributes}
		if err := netlink.LinkAdd(bridge); err != nil {
			return fmt.Errorf("bridge %s: %w", attributes.Name, err)
		}
		port, err := netlink.LinkByName(network)
		if err != nil {
			return fmt.Errorf("cable of %s: %w", network, err)
		}
		if err := errors.Join(netlink.LinkSetMaster(port, bridge), netlink.LinkSetUp(port), netlink.LinkSetUp(bridge)); err != nil {
			return fmt.Errorf("bridge %s: %w", attributes.Name, err)
		}
	}
	return nil
}

// showShare has this sandbox see as many hugepages as a node of the cluster has, so that the kubelets of several do not promise the same ones.
func (s *settings) showShare(nodes int) error {
	if nodes < 2 {
		return nil
	}
	files, err := filepath.Glob(cellHugepages)
	if err != nil {
		return err
	}
	cells := make([]int, len(files))
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if cells[i], err = strconv.Atoi(strings.TrimSpace(string(text))); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	sum := 0
	for i, pages := range share(cells, s.hugepages) {
		sum += pages
		if err := overlay(files[i], fmt.Sprintf("hugepages-%d", i), strconv.Itoa(pages)+"\n"); err != nil {
			return err
		}
	}
	return overlay(hugepagesFile, "hugepages", strconv.Itoa(sum)+"\n")
}

// share takes a number of pages from cells, from each as much of it as it has of all.
func share(cells []int, pages int) []int {
	out := make([]int, len(cells))
	left := 0
	for _, n := range cells {
		left += n
	}
	for i, n := range cells {
		if left > 0 {
			out[i] = min(n, pages*n/left)
		}
		left, pages = left-n, pages-out[i]
	}
	return out
}

// cellHugepages are how many pages of 2 MiB each cell of the machine has. Kubelets read that, and hugepagesFile.
const cellHugepages = "/sys/devices/system/node/node*/hugepages/hugepages-2048kB/nr_hugepages"

// showBoot gives this start of the node an identity of its own: the kernel has not been booted, and a kubelet is to think so.
func showBoot() error {
	const uuid = "/proc/sys/kernel/random/uuid"
	fresh, err := os.ReadFile(uuid)
	if err != nil {
		return err
	}
	return overlay("/proc/sys/kernel/random/boot_id", "boot_id", string(fresh))
}

// overlay has a file of the kernel's say something else in this sandbox, by way of one in its private /run.
func overlay(file, name, content string) error {
	from := filepath.Join(stageDir, name)
	if err := os.WriteFile(from, []byte(content), 0o444); err != nil {
		return err
	}
	if err := syscall.Mount(from, file, "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind %s: %w", file, err)
	}
	return nil
}

// conditionOf a node, in a word.
func (s *settings) conditionOf(ctx context.Context, name string) string {
	err := s.nodeUp(ctx, name)
	if err == nil {
		return string(corev1.NodeReady)
	}
	return err.Error()
}
