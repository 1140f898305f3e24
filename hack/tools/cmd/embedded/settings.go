package main

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
)

const (
	nodeName      = "core5g-node"
	clusterDomain = "cluster.local"
	hostLink      = "c5g-host"

	podSubnet     = "10.244.0.0/24"
	serviceSubnet = "10.96.0.0/16"
	apiServiceIP  = "10.96.0.1"
	dnsServiceIP  = "10.96.0.10"

	// cgroupName is the group, in every hierarchy, below which the kubelet makes its own.
	cgroupName = "core5g"
	// daemonCgroup is the group of the daemons themselves, below it.
	daemonCgroup = "daemons"

	// Places in the sandbox. They do not depend on where the repository is, which keeps the paths of
	// sockets short.
	stageDir  = "/run/core5g"
	binDir    = stageDir + "/bin"
	cniBinDir = stageDir + "/cni"
	insideDir = stageDir + "/state"
	socket    = "/run/containerd/containerd.sock"
)

// settings are what the command line says.
type settings struct {
	state     string // directory, absolute
	bin       string // directory of the binaries, absolute
	cniBin    string // directory of the CNI plug-ins, absolute
	hostIP    netip.Addr
	nodeIP    netip.Addr
	hugepages int // of 2 MiB, at least
}

func newSettings(state, bin, cniBin, hostIP, hugepages string) (*settings, error) {
	s := &settings{}
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
	var err error
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
