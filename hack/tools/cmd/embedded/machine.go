package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/vishvananda/netlink"
)

// What the sandbox takes of the machine itself, and gives back: hugepages, control groups, a link.

const (
	hugepagesFile = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
	cgroupDir     = "/sys/fs/cgroup"
	hugetlbCgroup = cgroupDir + "/hugetlb"
)

// reserveHugepages raises the number of hugepages to what is wanted, and notes how many it added. A
// further cluster leaves those that are there to the others.
func (s *settings) reserveHugepages() error {
	found, err := hugepages()
	if err != nil {
		return err
	}
	nodes, err := s.count()
	if err != nil {
		return err
	}
	want := s.hugepages * nodes
	if s.instance != "" {
		want += found
	}
	got := found
	if found < want {
		if got, err = setHugepages(want); err != nil {
			return err
		}
	}
	if err := s.write(fmt.Appendf(nil, "%d\n", got-found), 0o644, "hugepages.added"); err != nil {
		return err
	}
	if got < want {
		return fmt.Errorf("the kernel found room for %d hugepages of 2 MiB, not for %d: free some memory, "+
			"or ask for fewer with CORE5G_HUGEPAGES", got, want)
	}
	return nil
}

func (s *settings) returnHugepages() error {
	text, err := os.ReadFile(s.path("hugepages.added"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	added, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return err
	}
	now, err := hugepages()
	if err != nil {
		return err
	}
	_, err = setHugepages(max(now-added, 0))
	return err
}

func hugepages() (int, error) {
	text, err := os.ReadFile(hugepagesFile)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// setHugepages asks for a number of pages and returns how many there are then.
func setHugepages(n int) (int, error) {
	if err := os.WriteFile(hugepagesFile, strconv.AppendInt(nil, int64(n), 10), 0o644); err != nil {
		return 0, err
	}
	return hugepages()
}

// cgroupHierarchies are the mounted hierarchies of cgroup v1, with that of v2 where it is mounted beside
// them, or the one of v2.
func cgroupHierarchies() ([]string, error) {
	if _, err := os.Stat(cgroupDir + "/cgroup.controllers"); err == nil {
		return []string{cgroupDir}, nil
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil, err
	}
	var found []string
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line)
		if len(fields) > 2 && strings.HasPrefix(fields[2], "cgroup") && filepath.Dir(fields[1]) == cgroupDir {
			found = append(found, fields[1])
		}
	}
	if len(found) == 0 {
		return nil, errors.New("no control groups are mounted below " + cgroupDir)
	}
	return found, nil
}

// makeCgroups makes the kubelet's root group in every hierarchy, and a group for the daemons in it.
func (s *settings) makeCgroups() error {
	hierarchies, err := cgroupHierarchies()
	if err != nil {
		return err
	}
	for _, hierarchy := range hierarchies {
		group := filepath.Join(hierarchy, s.cgroup())
		if err := os.Mkdir(group, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		// A new cpuset group of v1 is empty, and nothing can run in it.
		daemons := filepath.Join(group, daemonCgroup)
		if err := inheritCpuset(hierarchy, group); err != nil {
			return err
		}
		if err := os.Mkdir(daemons, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := inheritCpuset(group, daemons); err != nil {
			return err
		}
	}
	if hierarchies[0] == cgroupDir {
		return enableControllers()
	}
	return nil
}

func inheritCpuset(parent, group string) error {
	if _, err := os.Stat(filepath.Join(parent, "cgroup.clone_children")); err != nil {
		return nil // v2: an empty set means the parent's
	}
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		all, err := os.ReadFile(filepath.Join(parent, file))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(group, file), all, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// joinCgroups moves a process, and with it all that it will start, out of the group of the shell that
// brought the cluster up: whatever limits that one, or ends it, is not meant for the cluster.
func (s *settings) joinCgroups(pid int) error {
	hierarchies, err := cgroupHierarchies()
	if err != nil {
		return err
	}
	for _, hierarchy := range hierarchies {
		procs := filepath.Join(hierarchy, s.cgroup(), daemonCgroup, "cgroup.procs")
		if err := os.WriteFile(procs, strconv.AppendInt(nil, int64(pid), 10), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// enableControllers passes every controller of v2 on to the kubelet's root group.
func enableControllers() error {
	controllers, err := os.ReadFile(cgroupDir + "/cgroup.controllers")
	if err != nil {
		return err
	}
	for _, controller := range strings.Fields(string(controllers)) {
		if err := os.WriteFile(cgroupDir+"/cgroup.subtree_control", []byte("+"+controller), 0o644); err != nil {
			return fmt.Errorf("controller %s: %w", controller, err)
		}
	}
	return nil
}

// mountHugetlbCgroup mounts the hierarchy that limits hugepages, which few systems with cgroup v1 do,
// and makes the kubelet's root group in it.
func (s *settings) mountHugetlbCgroup() error {
	if _, err := os.Stat(cgroupDir + "/cgroup.controllers"); err == nil {
		return nil
	}
	if _, err := os.Stat(hugetlbCgroup + "/cgroup.procs"); err != nil {
		if err := os.MkdirAll(hugetlbCgroup, 0o755); err != nil {
			return err
		}
		if err := syscall.Mount("cgroup", hugetlbCgroup, "cgroup", 0, "hugetlb"); err != nil {
			return fmt.Errorf("hugetlb control group: %w", err)
		}
	}
	err := os.Mkdir(filepath.Join(hugetlbCgroup, s.cgroup()), 0o755) // a further node's is below one that is there
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// removeCgroups removes the kubelet's groups. They are empty once the last process of the sandbox has
// gone, which the kernel may take a moment for.
func (s *settings) removeCgroups(ctx context.Context) error {
	// The hugetlb hierarchy was mounted in the sandbox only; its groups live on until they are removed.
	mounted := false
	if _, err := os.Stat(hugetlbCgroup + "/cgroup.procs"); err != nil {
		if _, err := os.Stat(hugetlbCgroup); err == nil {
			if err := syscall.Mount("cgroup", hugetlbCgroup, "cgroup", 0, "hugetlb"); err != nil {
				return fmt.Errorf("hugetlb control group: %w", err)
			}
			mounted = true
		}
	}
	hierarchies, err := cgroupHierarchies()
	if err != nil {
		return err
	}
	for _, hierarchy := range hierarchies {
		top := filepath.Join(hierarchy, s.cgroup())
		if err := untilFor(ctx, settleTime, func() error { return removeGroup(top) }); err != nil {
			return err
		}
	}
	if !mounted {
		return nil
	}
	others, err := filepath.Glob(filepath.Join(hugetlbCgroup, "core5g*"))
	if err != nil {
		return err
	}
	if err := syscall.Unmount(hugetlbCgroup, 0); err != nil {
		return fmt.Errorf("hugetlb control group: %w", err)
	}
	if len(others) > 0 {
		// Another cluster has the hierarchy mounted there in its own namespace: removing the folder would
		// take the mount with it, and no container of that cluster could start any more.
		return nil
	}
	return os.Remove(hugetlbCgroup)
}

// removeGroup removes a group and those below it, the deepest first.
func removeGroup(top string) error {
	entries, err := os.ReadDir(top)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() {
			if err := removeGroup(filepath.Join(top, entry.Name())); err != nil {
				return err
			}
		}
	}
	err = os.Remove(top)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// connect makes the veth pair between the machine and the namespace of process pid.
func (s *settings) connect(pid int) error {
	attributes := netlink.NewLinkAttrs()
	attributes.Name = s.link()
	pair := &netlink.Veth{
		LinkAttrs: attributes, PeerName: "eth0", PeerNamespace: netlink.NsPid(pid),
	}
	if err := netlink.LinkAdd(pair); err != nil {
		return fmt.Errorf("link %s: %w", s.link(), err)
	}
	link, err := netlink.LinkByName(s.link())
	if err != nil {
		return err
	}
	address := &netlink.Addr{IPNet: &net.IPNet{IP: s.hostIP.AsSlice(), Mask: net.CIDRMask(30, 32)}}
	if err := netlink.AddrAdd(link, address); err != nil {
		return fmt.Errorf("address of %s: %w", s.link(), err)
	}
	return netlink.LinkSetUp(link)
}

func (s *settings) linkExists() bool {
	_, err := netlink.LinkByName(s.link())
	return err == nil
}

func (s *settings) removeLink() error {
	link, err := netlink.LinkByName(s.link())
	if errors.As(err, new(netlink.LinkNotFoundError)) {
		return nil
	}
	if err != nil {
		return err
	}
	return netlink.LinkDel(link)
}
