package nodeagent

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// Hardware is what sysfs says of the node.
type Hardware struct {
	Cells    []HardwareCell
	Isolated CPUs
	IOMMU    api.IOMMUState
	VFIO     api.VFIOState
}

// HardwareCell is one NUMA cell.
type HardwareCell struct {
	ID             int
	CPUs           CPUs
	ThreadsPerCore int
	Hugepages      []HardwarePages
	PFs            []PF
}

// HardwarePages are the hugepages of one size.
type HardwarePages struct {
	PageBytes, Total, Free int64 // Total and Free in pages
}

// PF is a network device that is no virtual function.
type PF struct {
	// Name of its interface, or its PCI address where it has none.
	Name, PCIAddress, Driver string
	Up                       bool
	SpeedMbps                int
	// MaxVFs that it could have; VFs that it has.
	MaxVFs int
	VFs    []VF
}

// VF is a virtual function.
type VF struct {
	PCIAddress, Driver string
	// IOMMUGroup is -1 where it has none.
	IOMMUGroup int
}

const (
	sysCPU  = "devices/system/cpu"
	sysNode = "devices/system/node"
	sysPCI  = "bus/pci/devices"
	// classNetwork begins the PCI class of network controllers.
	classNetwork = "0x02"
)

// ReadHardware reads the sysfs that root is the top of. What a kernel or a device does not have is missing
// from the result; an error means that root is no sysfs.
func ReadHardware(root fs.FS) (Hardware, error) {
	s := sysfs{root}
	var h Hardware
	online, err := s.cpus(sysCPU + "/online")
	if err != nil {
		return h, fmt.Errorf("sysfs: %w", err)
	}
	if h.Isolated, err = s.cpus(sysCPU + "/isolated"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return h, fmt.Errorf("sysfs: %w", err)
	}
	h.IOMMU, h.VFIO = s.iommu(), s.vfio()
	if h.Cells, err = s.cells(online); err != nil {
		return h, fmt.Errorf("sysfs: %w", err)
	}
	s.pfs(h.Cells)
	return h, nil
}

type sysfs struct{ root fs.FS }

// text is the content of a file without blanks around it, empty where it cannot be read.
func (s sysfs) text(name string) string {
	content, err := fs.ReadFile(s.root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(content))
}

// number in a file, otherwise where there is none.
func (s sysfs) number(name string, otherwise int64) int64 {
	n, err := strconv.ParseInt(s.text(name), 10, 64)
	if err != nil {
		return otherwise
	}
	return n
}

func (s sysfs) cpus(name string) (CPUs, error) {
	content, err := fs.ReadFile(s.root, name)
	if err != nil {
		return nil, err
	}
	list, err := ParseCPUs(string(content))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return list, nil
}

// target is the last element of what a symbolic link points to.
func (s sysfs) target(name string) string {
	to, err := fs.ReadLink(s.root, name)
	if err != nil {
		return ""
	}
	return path.Base(to)
}

func (s sysfs) exists(name string) bool {
	_, err := fs.Stat(s.root, name)
	return err == nil
}

// names in a directory, sorted; none where it cannot be read.
func (s sysfs) names(dir string) []string {
	entries, err := fs.ReadDir(s.root, dir)
	if err != nil {
		return nil
	}
	out := make([]string, 0, len(entries))
	for _, e := range entries {
		out = append(out, e.Name())
	}
	slices.Sort(out)
	return out
}

// iommu: the kernel puts devices into groups when it isolates them, and into none otherwise. The links of the
// devices are looked at: a mount of /sys/kernel, which has the groups, would have the kernel's debugging
// interfaces too.
func (s sysfs) iommu() api.IOMMUState {
	devices, err := fs.ReadDir(s.root, sysPCI)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return api.IOMMUUnknown
	case slices.ContainsFunc(devices, func(e fs.DirEntry) bool { return s.target(path.Join(sysPCI, e.Name(), "iommu_group")) != "" }):
		return api.IOMMUEnabled
	}
	return api.IOMMUDisabled
}

func (s sysfs) vfio() api.VFIOState {
	drivers, err := fs.ReadDir(s.root, "bus/pci/drivers")
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return api.VFIOUnknown
	case slices.ContainsFunc(drivers, func(e fs.DirEntry) bool { return e.Name() == "vfio-pci" }):
		return api.VFIOLoaded
	}
	return api.VFIOMissing
}

// cells of the node. A kernel without NUMA has one, with everything.
func (s sysfs) cells(online CPUs) ([]HardwareCell, error) {
	ids, err := s.cpus(sysNode + "/online") // a list of cells is written as one of CPUs
	if errors.Is(err, fs.ErrNotExist) {
		return []HardwareCell{{CPUs: online, ThreadsPerCore: s.threads(online), Hugepages: s.hugepages("kernel/mm/hugepages")}}, nil
	}
	if err != nil {
		return nil, err
	}
	var out []HardwareCell
	for _, id := range ids {
		dir := fmt.Sprintf("%s/node%d", sysNode, id)
		cpus, err := s.cpus(dir + "/cpulist")
		if err != nil {
			return nil, err
		}
		out = append(out, HardwareCell{ID: id, CPUs: cpus, ThreadsPerCore: s.threads(cpus), Hugepages: s.hugepages(dir + "/hugepages")})
	}
	return out, nil
}

// threads is the number of SMT siblings of those of the CPUs that have the most.
func (s sysfs) threads(cpus CPUs) int {
	most := 1
	for _, cpu := range cpus {
		siblings, err := s.cpus(fmt.Sprintf("%s/cpu%d/topology/thread_siblings_list", sysCPU, cpu))
		if err == nil {
			most = max(most, len(siblings))
		}
	}
	return most
}

// hugepages of the sizes that there are pages of, smallest first.
func (s sysfs) hugepages(dir string) []HardwarePages {
	var out []HardwarePages
	for _, name := range s.names(dir) {
		size, isPool := strings.CutPrefix(name, "hugepages-")
		kib, err := strconv.ParseInt(strings.TrimSuffix(size, "kB"), 10, 64)
		total := s.number(path.Join(dir, name, "nr_hugepages"), 0)
		if !isPool || err != nil || total <= 0 {
			continue
		}
		free := s.number(path.Join(dir, name, "free_hugepages"), 0)
		out = append(out, HardwarePages{PageBytes: kib << 10, Total: total, Free: max(0, min(free, total))})
	}
	slices.SortFunc(out, func(a, b HardwarePages) int { return int((a.PageBytes - b.PageBytes) >> 10) })
	return out
}

// pfs gives each PF to its cell. One that belongs to no cell, as in virtual machines, is given to the first.
func (s sysfs) pfs(cells []HardwareCell) {
	if len(cells) == 0 {
		return
	}
	for _, address := range s.names(sysPCI) {
		dir := path.Join(sysPCI, address)
		if !strings.HasPrefix(s.text(dir+"/class"), classNetwork) || s.exists(dir+"/physfn") {
			continue
		}
		node := int(s.number(dir+"/numa_node", -1))
		at := max(0, slices.IndexFunc(cells, func(c HardwareCell) bool { return c.ID == node }))
		cells[at].PFs = append(cells[at].PFs, s.pf(address, dir))
	}
	for i := range cells {
		slices.SortFunc(cells[i].PFs, func(a, b PF) int { return strings.Compare(a.Name, b.Name) })
	}
}

func (s sysfs) pf(address, dir string) PF {
	p := PF{Name: address, PCIAddress: address, Driver: s.target(dir + "/driver"), MaxVFs: int(max(0, s.number(dir+"/sriov_totalvfs", 0)))}
	if net := s.netdev(dir); net != "" {
		p.Name = path.Base(net)
		p.Up = s.text(net+"/operstate") == "up"
		if speed := s.number(net+"/speed", 0); p.Up && speed > 0 && speed < 1<<31 {
			p.SpeedMbps = int(speed)
		}
	}
	for i := range int(s.number(dir+"/sriov_numvfs", 0)) {
		link := fmt.Sprintf("%s/virtfn%d", dir, i)
		vf := s.target(link)
		if vf == "" {
			continue
		}
		group, err := strconv.Atoi(s.target(path.Join(sysPCI, vf, "iommu_group")))
		if err != nil {
			group = -1
		}
		p.VFs = append(p.VFs, VF{PCIAddress: vf, Driver: s.target(path.Join(sysPCI, vf, "driver")), IOMMUGroup: group})
	}
	return p
}

// netdev finds the interface of a PCI device. In switchdev mode a NIC has one for each VF too, whose
// phys_port_name is that of a VF (pf0vf3): the uplink's is p0, or there is none. Virtio has its interfaces
// one directory deeper.
func (s sysfs) netdev(dir string) string {
	candidates := []string{dir + "/net"}
	for _, name := range s.names(dir) {
		if strings.HasPrefix(name, "virtio") {
			candidates = append(candidates, path.Join(dir, name, "net"))
		}
	}
	for _, net := range candidates {
		for _, name := range s.names(net) {
			if !strings.Contains(s.text(path.Join(net, name, "phys_port_name")), "f") {
				return path.Join(net, name)
			}
		}
	}
	return ""
}
