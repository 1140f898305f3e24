package nodeagent

import (
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// tree is a sysfs in memory, with directories and links where the kernel has them.
type tree fstest.MapFS

func makeTree(online string) tree {
	t := tree{}
	return t.file("devices/system/cpu/online", online).file("devices/system/cpu/isolated", "")
}

func (t tree) file(name, content string) tree {
	t[name] = &fstest.MapFile{Data: []byte(content + "\n")}
	return t
}

func (t tree) dir(name string) tree {
	t[name] = &fstest.MapFile{Mode: fs.ModeDir | 0o555}
	return t
}

func (t tree) link(name, target string) tree {
	t[name] = &fstest.MapFile{Mode: fs.ModeSymlink | 0o777, Data: []byte(target)}
	return t
}

func (t tree) without(prefix string) tree {
	maps.DeleteFunc(t, func(name string, _ *fstest.MapFile) bool { return strings.HasPrefix(name, prefix) })
	return t
}

// ungrouped is what an IOMMU that is off leaves.
func (t tree) ungrouped() tree {
	maps.DeleteFunc(t, func(name string, _ *fstest.MapFile) bool { return strings.HasSuffix(name, "/iommu_group") })
	return t
}

func (t tree) fs() fs.FS { return fstest.MapFS(t) }

// cell with CPUs, and pages of 2 MiB of which some are free.
func (t tree) cell(id int, cpus string, pages, free int) tree {
	dir := fmt.Sprintf("devices/system/node/node%d", id)
	return t.file("devices/system/node/online", fmt.Sprintf("0-%d", id)).file(dir+"/cpulist", cpus).
		file(dir+"/hugepages/hugepages-2048kB/nr_hugepages", fmt.Sprint(pages)).
		file(dir+"/hugepages/hugepages-2048kB/free_hugepages", fmt.Sprint(free)).
		file(dir+"/hugepages/hugepages-1048576kB/nr_hugepages", "0").
		file(dir+"/hugepages/hugepages-1048576kB/free_hugepages", "0")
}

func (t tree) siblings(lists ...string) tree {
	for _, list := range lists {
		cpus, err := ParseCPUs(list)
		if err != nil {
			panic(err)
		}
		for _, cpu := range cpus {
			t.file(fmt.Sprintf("devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu), list)
		}
	}
	return t
}

// device puts a PCI device where the kernel has it, behind a link.
func (t tree) device(address, class, driver string, node int) (string, tree) {
	dir := "devices/pci0000:00/0000:00:01.0/" + address
	t.link("bus/pci/devices/"+address, "../../../"+dir)
	t.file(dir+"/class", class).file(dir+"/numa_node", fmt.Sprint(node))
	if driver != "" {
		t.link(dir+"/driver", "../../../../bus/pci/drivers/"+driver)
	}
	return dir, t
}

func (t tree) nic(address, name, driver string, node, speed int) tree {
	dir, _ := t.device(address, "0x020000", driver, node)
	if name == "" {
		return t
	}
	if speed == 0 {
		return t.file(dir+"/net/"+name+"/operstate", "down").file(dir+"/net/"+name+"/speed", "-1")
	}
	return t.file(dir+"/net/"+name+"/operstate", "up").file(dir+"/net/"+name+"/speed", fmt.Sprint(speed))
}

// vfs of a PF at <bus>:02.0 and on, in IOMMU groups of their own from the given one.
func (t tree) vfs(pf, driver string, node, most, made, group int) tree {
	dir := "devices/pci0000:00/0000:00:01.0/" + pf
	t.file(dir+"/sriov_totalvfs", fmt.Sprint(most)).file(dir+"/sriov_numvfs", fmt.Sprint(made))
	for i := range made {
		address := vf(pf, i)
		own, _ := t.device(address, "0x020000", driver, node)
		t.link(own+"/physfn", "../"+pf).link(dir+fmt.Sprintf("/virtfn%d", i), "../"+address)
		t.link(own+"/iommu_group", fmt.Sprintf("../../../../kernel/iommu_groups/%d", group+i))
	}
	return t
}

func vf(pf string, i int) string { return fmt.Sprintf("%s:02.%d", pf[:7], i) }

func (t tree) vfio() tree { return t.dir("bus/pci/drivers/vfio-pci") }

// oneSocket is the smallest node: two CPUs, one cell, one interface of a virtual machine.
func oneSocket() tree {
	t := makeTree("0-1").cell(0, "0-1", 256, 256).siblings("0", "1").dir("bus/pci/drivers/virtio-pci")
	dir, _ := t.device("0000:00:03.0", "0x020000", "virtio-pci", -1)
	return t.file(dir+"/virtio0/net/eth0/operstate", "up").file(dir+"/virtio0/net/eth0/speed", "-1")
}

// twoSockets is a server with SMT and a NIC on each socket, the second of which is Mellanox.
func twoSockets() tree {
	t := makeTree("0-15").file("devices/system/cpu/isolated", "2-3,6-7,10-11,14-15").
		cell(0, "0-3,8-11", 512, 512).cell(1, "4-7,12-15", 512, 500).
		siblings("0,8", "1,9", "2,10", "3,11", "4,12", "5,13", "6,14", "7,15").vfio()
	t.nic("0000:3b:00.0", "ens1f0", "ice", 0, 100000).vfs("0000:3b:00.0", "vfio-pci", 0, 128, 3, 40)
	t.nic("0000:3b:00.1", "ens1f1", "ice", 0, 0).vfs("0000:3b:00.1", "", 0, 128, 0, 0)
	t.nic("0000:af:00.0", "ens5f0np0", "mlx5_core", 1, 200000).vfs("0000:af:00.0", "mlx5_core", 1, 16, 2, 60)
	t.file("devices/pci0000:00/0000:00:01.0/0000:af:00.0/net/ens5f0_0/phys_port_name", "pf0vf0")
	t.file("devices/pci0000:00/0000:00:01.0/0000:af:00.0/net/ens5f0np0/phys_port_name", "p0")
	t.device("0000:00:1f.2", "0x010601", "ahci", 0)
	return t
}

func pages(size, total, free int64) []HardwarePages {
	return []HardwarePages{{PageBytes: size, Total: total, Free: free}}
}

func TestReadHardware(t *testing.T) {
	const m2 = 2 << 20
	group := func(pf, driver string, n, first int) (out []VF) {
		for i := range n {
			out = append(out, VF{PCIAddress: vf(pf, i), Driver: driver, IOMMUGroup: first + i})
		}
		return out
	}
	eth0 := PF{Name: "eth0", PCIAddress: "0000:00:03.0", Driver: "virtio-pci", Up: true}
	for name, c := range map[string]struct {
		tree      tree
		want      Hardware
		wantError string
	}{
		"one socket, no SR-IOV, no IOMMU": {
			tree: oneSocket(),
			want: Hardware{IOMMU: api.IOMMUDisabled, VFIO: api.VFIOMissing, Cells: []HardwareCell{
				{CPUs: CPUs{0, 1}, ThreadsPerCore: 1, Hugepages: pages(m2, 256, 256), PFs: []PF{eth0}},
			}},
		},
		"two sockets with SMT, ice and mlx5": {
			tree: twoSockets(),
			want: Hardware{Isolated: CPUs{2, 3, 6, 7, 10, 11, 14, 15}, IOMMU: api.IOMMUEnabled, VFIO: api.VFIOLoaded, Cells: []HardwareCell{
				{CPUs: CPUs{0, 1, 2, 3, 8, 9, 10, 11}, ThreadsPerCore: 2, Hugepages: pages(m2, 512, 512), PFs: []PF{
					{Name: "ens1f0", PCIAddress: "0000:3b:00.0", Driver: "ice", Up: true, SpeedMbps: 100000, MaxVFs: 128, VFs: group("0000:3b:00.0", "vfio-pci", 3, 40)},
					{Name: "ens1f1", PCIAddress: "0000:3b:00.1", Driver: "ice", MaxVFs: 128},
				}},
				{ID: 1, CPUs: CPUs{4, 5, 6, 7, 12, 13, 14, 15}, ThreadsPerCore: 2, Hugepages: pages(m2, 512, 500), PFs: []PF{
					{Name: "ens5f0np0", PCIAddress: "0000:af:00.0", Driver: "mlx5_core", Up: true, SpeedMbps: 200000, MaxVFs: 16, VFs: group("0000:af:00.0", "mlx5_core", 2, 60)},
				}},
			}},
		},
		"igb, with seven VFs of the kernel's driver": {
			tree: makeTree("0-3").cell(0, "0-1", 96, 96).cell(1, "2-3", 96, 96).vfio().
				nic("0000:21:00.0", "eth1", "igb", 1, 1000).vfs("0000:21:00.0", "igbvf", 1, 7, 7, 3),
			want: Hardware{IOMMU: api.IOMMUEnabled, VFIO: api.VFIOLoaded, Cells: []HardwareCell{
				{CPUs: CPUs{0, 1}, ThreadsPerCore: 1, Hugepages: pages(m2, 96, 96)},
				{ID: 1, CPUs: CPUs{2, 3}, ThreadsPerCore: 1, Hugepages: pages(m2, 96, 96), PFs: []PF{
					{Name: "eth1", PCIAddress: "0000:21:00.0", Driver: "igb", Up: true, SpeedMbps: 1000, MaxVFs: 7, VFs: group("0000:21:00.0", "igbvf", 7, 3)},
				}},
			}},
		},
		"a PF that vfio-pci drives has its address for a name": {
			tree: makeTree("0").cell(0, "0", 0, 0).vfio().nic("0000:21:00.0", "", "vfio-pci", 0, 0),
			want: Hardware{IOMMU: api.IOMMUDisabled, VFIO: api.VFIOLoaded, Cells: []HardwareCell{
				{CPUs: CPUs{0}, ThreadsPerCore: 1, PFs: []PF{{Name: "0000:21:00.0", PCIAddress: "0000:21:00.0", Driver: "vfio-pci"}}},
			}},
		},
		"a kernel without NUMA is one cell": {
			tree: makeTree("0-3").file("kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "2").
				file("kernel/mm/hugepages/hugepages-1048576kB/free_hugepages", "1"),
			want: Hardware{IOMMU: api.IOMMUDisabled, VFIO: api.VFIOMissing, Cells: []HardwareCell{
				{CPUs: CPUs{0, 1, 2, 3}, ThreadsPerCore: 1, Hugepages: pages(1<<30, 2, 1)},
			}},
		},
		"files of a device that are missing": {
			tree: oneSocket().without("devices/system/cpu/isolated").without("devices/system/cpu/cpu").
				without("devices/pci0000:00/0000:00:01.0/0000:00:03.0/numa_node").without("devices/pci0000:00/0000:00:01.0/0000:00:03.0/virtio0"),
			want: Hardware{IOMMU: api.IOMMUDisabled, VFIO: api.VFIOMissing, Cells: []HardwareCell{
				{CPUs: CPUs{0, 1}, ThreadsPerCore: 1, Hugepages: pages(m2, 256, 256), PFs: []PF{
					{Name: "0000:00:03.0", PCIAddress: "0000:00:03.0", Driver: "virtio-pci"},
				}},
			}},
		},
		"no sysfs at all":       {tree: tree{}, wantError: "devices/system/cpu/online"},
		"a cell without a list": {tree: oneSocket().without("devices/system/node/node0/cpulist"), wantError: "node0/cpulist"},
		"a list that is none":   {tree: oneSocket().file("devices/system/cpu/online", "all"), wantError: `"all" is not a list of CPUs such as 0-3,8`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ReadHardware(c.tree.fs())
			if c.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), c.wantError) {
					t.Fatalf("error %v, want one with %q", err, c.wantError)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCPUsAreReadAsTheKernelWritesThem(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "0": "0", "0-3": "0-3", "0,1,2": "0-2", "8-9,0-1,4\n": "0-1,4,8-9", "1,1-2": "1-2",
	} {
		got, err := ParseCPUs(text)
		if err != nil || got.String() != want {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"a", "1-", "-1", "3-1", "0-99999999", "1,,2"} {
		if got, err := ParseCPUs(text); err == nil {
			t.Errorf("%q is read as %q", text, got)
		}
	}
}

func FuzzParseCPUs(f *testing.F) {
	f.Add("0-3,8")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		cpus, err := ParseCPUs(text)
		if err != nil {
			return
		}
		again, err := ParseCPUs(cpus.String())
		if err != nil || again.String() != cpus.String() {
			t.Errorf("%q is %q, and that %q, %v", text, cpus, again, err)
		}
	})
}
