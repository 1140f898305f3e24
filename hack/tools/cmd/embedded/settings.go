package main

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	nodeName      = "core5g-node"
	clusterDomain = "cluster.local"

	podSubnet     = "10.244.0.0/24"
	serviceSubnet = "10.96.0.0/16"
	apiServiceIP  = "10.96.0.1"
	dnsServiceIP  = "10.96.0.10"

	// daemonCgroup is the group of the daemons themselves, below the cluster's.
	daemonCgroup = "daemons"

	// Places in the sandbox. They do not depend on where the repository is, which keeps the paths of
	// sockets short.
	stageDir  = "/run/core5g"
	binDir    = stageDir + "/bin"
	cniBinDir = stageDir + "/cni"
	insideDir = stageDir + "/state"
	socket    = "/run/containerd/containerd.sock"
)

// takenNames are those whose link would be that of the usual cluster, or a bridge of the user plane.
var takenNames = []string{"host", "n3", "n6"}

// settings are what the command line says.
type settings struct {
	state  string // directory, absolute
	bin    string // directory of the binaries, absolute
	cniBin string // directory of the CNI plug-ins, absolute
	hostIP netip.Addr
	nodeIP netip.Addr
	// number of the node that these settings are of, and how many nodes the cluster shall have; 0: what it has, or one.
	number, nodes int
	hugepages     int // of 2 MiB, at least
	// instance tells the clusters of one machine apart; the usual one has no name.
	instance string
}

// An instance's name becomes part of a link's name, which may have 15 octets.
var instanceName = regexp.MustCompile("^[a-z0-9]{0,11}$")

func newSettings(state, bin, cniBin, hostIP, hugepages, instance string) (*settings, error) {
	if !instanceName.MatchString(instance) || slices.Contains(takenNames, instance) {
		return nil, fmt.Errorf("-instance %q: want up to 11 lower-case letters and digits, none of %s", instance, strings.Join(takenNames, ", "))
	}
	s := &settings{number: 1}
	for _, dir := range []struct {
		to   *string
		from string
	}{{&s.state, state}, {&s.bin, bin}, {&s.cniBin, cniBin}} {
		absolute, err := filepath.Abs(dir.from)
		if err != nil {
			return nil, err
		}
		*dir.to = absolute
	}
	// The cluster that is up is the one that was brought up here.
	noted, err := os.ReadFile(s.path("instance"))
	if s.instance = strings.TrimSpace(string(noted)); err != nil {
		s.instance = instance
	}
	if noted, err := os.ReadFile(s.path("host-ip")); err == nil {
		hostIP = strings.TrimSpace(string(noted))
	}
	if s.hostIP, err = netip.ParseAddr(hostIP); err != nil || !s.hostIP.Is4() {
		return nil, fmt.Errorf("-host-ip %q: want an IPv4 address", hostIP)
	}
	s.nodeIP = s.hostIP.Next()
	if s.hugepages, err = strconv.Atoi(hugepages); err != nil || s.hugepages < 0 {
		return nil, fmt.Errorf("-hugepages %q: want a number of 2 MiB pages", hugepages)
	}
	return s, nil
}

func (s *settings) path(parts ...string) string {
	return filepath.Join(append([]string{s.state}, parts...)...)
}

// link is the machine's end of the veth pair to the sandbox.
func (s *settings) link() string {
	if s.instance == "" {
		return "c5g-host"
	}
	return "c5g-" + s.instance
}

// cgroup is the group, in every hierarchy, below which the kubelet makes its own; that of a further node is below the first one's.
func (s *settings) cgroup() string {
	group := "core5g"
	if s.instance != "" {
		group += "-" + s.instance
	}
	if s.number > 1 {
		group = filepath.Join(group, s.name())
	}
	return group
}

func (s *settings) kubeconfig() string { return s.path("kubeconfig") }

func (s *settings) server() string { return "https://" + s.nodeIP.String() + ":6443" }

// write puts a file of the state directory in place, with the directories above it.
func (s *settings) write(content []byte, mode os.FileMode, parts ...string) error {
	file := s.path(parts...)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, content, mode)
}
