package nodeagent

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/placement"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func hardware(t testing.TB, from tree) Hardware {
	t.Helper()
	h, err := ReadHardware(from.fs())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func aligned() api.KubeletStatus {
	return api.KubeletStatus{
		CPUManagerPolicy: "static", CPUManagerOptions: map[string]string{"full-pcpus-only": "true"},
		TopologyManagerPolicy: "single-numa-node", TopologyManagerScope: "container", MemoryManagerPolicy: "Static",
	}
}

// server is twoSockets as a kubelet sees it that has all of it to give, and on which one unit runs.
func server(t testing.TB) Observation {
	return Observation{
		Hardware: hardware(t, twoSockets()), Kubelet: aligned(),
		Resources: Resources{
			Allocatable: Assets{
				CPUs: []int{1, 2, 3, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15},
				Devices: []Devices{
					{Resource: "core5g.dev/n3_socket0", IDs: []string{"0000:3b:02.0", "0000:3b:02.1", "0000:3b:02.2"}},
					{Resource: "core5g.dev/n3_socket1", IDs: []string{"0000:af:02.0", "0000:af:02.1"}},
				},
				Memory: []Memory{
					{Kind: "memory", Bytes: 64 << 30, Cells: []int{0}}, {Kind: "memory", Bytes: 64 << 30, Cells: []int{1}},
					{Kind: "hugepages-2Mi", Bytes: 1 << 30, Cells: []int{0}}, {Kind: "hugepages-2Mi", Bytes: 1 << 30, Cells: []int{1}},
				},
			},
			Held: []Assets{{
				CPUs:    []int{2, 10},
				Devices: []Devices{{Resource: "core5g.dev/n3_socket0", IDs: []string{"0000:3b:02.1"}}},
				Memory:  []Memory{{Kind: "memory", Bytes: 256 << 20, Cells: []int{0}}, {Kind: "hugepages-2Mi", Bytes: 512 << 20, Cells: []int{0}}},
			}},
		},
	}
}

func pool(size, total, free string) []api.HugepagePool {
	return []api.HugepagePool{{Size: size, Total: resource.MustParse(total), Free: resource.MustParse(free)}}
}

func TestStatusOfAServer(t *testing.T) {
	got := Status(server(t), nil, noon)
	at := metav1.NewTime(noon)
	want := api.DataplaneNodeStatus{
		ObservedAt: &at, Kubelet: aligned(), IOMMU: api.IOMMUEnabled, VFIO: api.VFIOLoaded, IsolatedCPUs: "2-3,6-7,10-11,14-15",
		Summary: api.NodeSummary{Cells: 2, CPUs: "4/6 8/8", Hugepages: "512Mi/1Gi 1000Mi/1Gi", VFs: "2/3 2/2"},
		Cells: []api.NUMACell{
			{
				CPUs: "0-3,8-11", ThreadsPerCore: 2, ExclusiveCPUs: api.CPUCount{Total: 6, Free: 4}, Hugepages: pool("2Mi", "1Gi", "512Mi"),
				Interfaces: []api.NodeInterface{
					{Name: "ens1f0", PCIAddress: "0000:3b:00.0", Driver: "ice", Link: api.LinkUp, SpeedMbps: 100000,
						VFs: api.VFCount{Total: 3, Free: 2, Driver: "vfio-pci"}, ResourceName: "core5g.dev/n3_socket0"},
					{Name: "ens1f1", PCIAddress: "0000:3b:00.1", Driver: "ice", Link: api.LinkDown},
				},
			},
			{
				// The kernel has 12 pages less: somebody uses them who has not asked the kubelet.
				ID: 1, CPUs: "4-7,12-15", ThreadsPerCore: 2, ExclusiveCPUs: api.CPUCount{Total: 8, Free: 8}, Hugepages: pool("2Mi", "1Gi", "1000Mi"),
				Interfaces: []api.NodeInterface{
					{Name: "ens5f0np0", PCIAddress: "0000:af:00.0", Driver: "mlx5_core", Link: api.LinkUp, SpeedMbps: 200000,
						VFs: api.VFCount{Total: 2, Free: 2, Driver: "mlx5_core"}, ResourceName: "core5g.dev/n3_socket1"},
				},
			},
		},
	}
	conditions := got.Conditions
	got.Conditions = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, c := range conditions {
		if c.Status != metav1.ConditionTrue || c.Message == "" || !c.LastTransitionTime.Equal(&at) {
			t.Errorf("condition %+v", c)
		}
	}
	if len(conditions) != len(requirements())+1 {
		t.Errorf("%d conditions", len(conditions))
	}
}

func TestWhatIsFree(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(*Observation)
		wantCPUs int32  // free in cell 0
		wantHuge string // free in cell 0
		wantTwo  string // free in cell 1
		wantVFs  int32  // free of the first PF
	}{
		"a unit runs": {change: func(*Observation) {}, wantCPUs: 4, wantHuge: "512Mi", wantTwo: "1000Mi", wantVFs: 2},
		"nothing runs": {
			change:   func(o *Observation) { o.Resources.Held = nil },
			wantCPUs: 6, wantHuge: "1Gi", wantTwo: "1000Mi", wantVFs: 3,
		},
		"pages of two cells, the first of which is full": {
			change: func(o *Observation) {
				o.Resources.Held = append(o.Resources.Held, Assets{Memory: []Memory{{Kind: "hugepages-2Mi", Bytes: 768 << 20, Cells: []int{1, 0}}}})
			},
			wantCPUs: 4, wantHuge: "0", wantTwo: "768Mi", wantVFs: 2,
		},
		"a memory manager that reports nothing": {
			change: func(o *Observation) {
				o.Resources.Allocatable.Memory, o.Resources.Held[0].Memory = nil, nil
				o.Hardware.Cells[0].Hugepages[0].Free = 100
			},
			wantCPUs: 4, wantHuge: "200Mi", wantTwo: "1000Mi", wantVFs: 2,
		},
		"VFs that the device plugin does not have, or not any more": {
			change: func(o *Observation) {
				o.Resources.Allocatable.Devices[0].IDs = []string{"0000:3b:02.1", "0000:3b:02.2"}
			},
			wantCPUs: 4, wantHuge: "512Mi", wantTwo: "1000Mi", wantVFs: 1,
		},
		"a PF whose VFs are divided": {
			change: func(o *Observation) {
				o.Resources.Allocatable.Devices = []Devices{
					{Resource: "a.dev/one", IDs: []string{"0000:3b:02.0"}},
					{Resource: "b.dev/two", IDs: []string{"0000:3b:02.1", "0000:3b:02.2"}},
				}
			},
			wantCPUs: 4, wantHuge: "512Mi", wantTwo: "1000Mi", wantVFs: 1,
		},
		"a kubelet that does not answer has nothing to give": {
			change: func(o *Observation) {
				o.Resources, o.ResourcesErr = Resources{}, errors.New("connection refused")
			},
			wantCPUs: 0, wantHuge: "1Gi", wantTwo: "1000Mi", wantVFs: 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := server(t)
			c.change(&o)
			cells := Status(o, nil, noon).Cells
			if got := cells[0].ExclusiveCPUs.Free; got != c.wantCPUs {
				t.Errorf("%d CPUs free, want %d", got, c.wantCPUs)
			}
			for i, want := range []string{c.wantHuge, c.wantTwo} {
				if got := cells[i].Hugepages[0].Free; got.Cmp(resource.MustParse(want)) != 0 {
					t.Errorf("%s of hugepages free in cell %d, want %s", got.String(), i, want)
				}
			}
			if got := cells[0].Interfaces[0].VFs.Free; got != c.wantVFs {
				t.Errorf("%d VFs free, want %d", got, c.wantVFs)
			}
		})
	}
}

func TestPreflight(t *testing.T) {
	const yes, no, unknown = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
	for name, c := range map[string]struct {
		tree   tree
		change func(*Observation)
		kind   string
		want   metav1.ConditionStatus
		reason string
		// says is part of the message: what is missing, and how to set it.
		says []string
	}{
		"a CPU manager without a policy": {
			change: func(o *Observation) { o.Kubelet.CPUManagerPolicy = "none" },
			kind:   api.ConditionCPUManagerStatic, want: no, reason: ReasonPolicy,
			says: []string{"cpuManagerPolicy is none", "cpuManagerPolicy: static", "rm /var/lib/kubelet/cpu_manager_state"},
		},
		"a kubelet that was not restarted": {
			change: func(o *Observation) { o.Resources.Allocatable.CPUs = nil },
			kind:   api.ConditionCPUManagerStatic, want: no, reason: ReasonNoCPUs, says: []string{"reservedSystemCPUs"},
		},
		"cores that may be split": {
			change: func(o *Observation) { o.Kubelet.CPUManagerOptions = nil },
			kind:   api.ConditionCPUManagerStatic, want: yes, reason: ReasonSet, says: []string{"full-pcpus-only"},
		},
		"no kubelet configuration": {
			change: func(o *Observation) {
				o.Kubelet, o.KubeletErr = api.KubeletStatus{}, errors.New("open config.yaml: file does not exist")
			},
			kind: api.ConditionCPUManagerStatic, want: unknown, reason: ReasonKubeletUnknown, says: []string{"config.yaml", "-kubelet-config"},
		},
		"no podresources": {
			change: func(o *Observation) { o.ResourcesErr = errors.New("refused") },
			kind:   api.ConditionCPUManagerStatic, want: unknown, reason: ReasonPodResources, says: []string{"/var/lib/kubelet/pod-resources"},
		},
		"a memory manager without a policy": {
			change: func(o *Observation) { o.Kubelet.MemoryManagerPolicy = "None" },
			kind:   api.ConditionMemoryManagerStatic, want: no, reason: ReasonPolicy, says: []string{"memoryManagerPolicy: Static", "reservedMemory"},
		},
		"a topology manager that only tries": {
			change: func(o *Observation) { o.Kubelet.TopologyManagerPolicy = "best-effort" },
			kind:   api.ConditionTopologyAligned, want: no, reason: ReasonPolicy, says: []string{"best-effort", "topologyManagerPolicy: single-numa-node"},
		},
		"a topology manager that is strict enough": {
			change: func(o *Observation) { o.Kubelet.TopologyManagerPolicy = "restricted" },
			kind:   api.ConditionTopologyAligned, want: yes, reason: ReasonSet, says: []string{"restricted"},
		},
		"one cell needs no topology manager": {
			tree: oneSocket(), change: func(o *Observation) { o.Kubelet.TopologyManagerPolicy = "none" },
			kind: api.ConditionTopologyAligned, want: yes, reason: ReasonOneCell, says: []string{"none", "one NUMA cell"},
		},
		"one cell needs no memory manager": {
			tree: oneSocket(), change: func(o *Observation) { o.Kubelet.MemoryManagerPolicy = "None" },
			kind: api.ConditionMemoryManagerStatic, want: yes, reason: ReasonOneCell, says: []string{"None", "one NUMA cell"},
		},
		"no hugepages": {
			tree: twoSockets().cell(0, "0-3,8-11", 0, 0).cell(1, "4-7,12-15", 0, 0),
			kind: api.ConditionHugepagesPresent, want: no, reason: ReasonNoHugepages,
			says: []string{"hugepages=0:512,1:512", "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages"},
		},
		"hugepages in one cell": {
			tree: twoSockets().cell(1, "4-7,12-15", 0, 0),
			kind: api.ConditionHugepagesPresent, want: yes, reason: ReasonSet, says: []string{"cell 1 has no hugepages and takes no unit", "node1/hugepages"},
		},
		"hugepages that the kubelet has not seen": {
			change: func(o *Observation) { o.Resources.Allocatable.Memory = o.Resources.Allocatable.Memory[:2] },
			kind:   api.ConditionHugepagesPresent, want: no, reason: ReasonHugepagesNew, says: []string{"systemctl restart kubelet"},
		},
		"no IOMMU": {
			tree: twoSockets().ungrouped(),
			kind: api.ConditionIOMMUEnabled, want: no, reason: ReasonDisabled, says: []string{"intel_iommu=on iommu=pt", "reboot"},
		},
		"a VF outside every group": {
			tree: twoSockets().without("devices/pci0000:00/0000:00:01.0/0000:3b:02.1/iommu_group"),
			kind: api.ConditionIOMMUEnabled, want: no, reason: ReasonNoGroup, says: []string{"0000:3b:02.1", "ens1f0"},
		},
		"no vfio": {
			tree: twoSockets().without("bus/pci/drivers/vfio-pci"),
			kind: api.ConditionVFIOLoaded, want: no, reason: ReasonMissing, says: []string{"modprobe vfio-pci", "/etc/modules-load.d"},
		},
		"no SR-IOV": {
			tree: oneSocket(),
			kind: api.ConditionDevicePlugin, want: no, reason: ReasonNoSRIOV, says: []string{"AFPacket"},
		},
		"SR-IOV without VFs": {
			tree: makeTree("0").cell(0, "0", 1, 1).nic("0000:3b:00.0", "ens1f0", "ice", 0, 1).vfs("0000:3b:00.0", "", 0, 4, 0, 0),
			kind: api.ConditionDevicePlugin, want: no, reason: ReasonNoVFs, says: []string{"ens1f0 has none of its 4 VFs: echo 4 > /sys/bus/pci/devices/0000:3b:00.0/sriov_numvfs"},
		},
		"VFs that nobody offers": {
			change: func(o *Observation) { o.Resources.Allocatable.Devices = nil },
			kind:   api.ConditionDevicePlugin, want: no, reason: ReasonNotOffered, says: []string{"ens1f0", `"pfNames": ["ens1f0"]`},
		},
		"VFs of which the kubelet does not tell": {
			change: func(o *Observation) { o.Resources, o.ResourcesErr = Resources{}, errors.New("refused") },
			kind:   api.ConditionDevicePlugin, want: unknown, reason: ReasonPodResources, says: []string{"refused"},
		},
		"VFs with the kernel's driver": {
			change: func(o *Observation) {
				for i := range o.Hardware.Cells[0].PFs[0].VFs {
					o.Hardware.Cells[0].PFs[0].VFs[i].Driver = "iavf"
				}
			},
			kind: api.ConditionDevicePlugin, want: yes, reason: ReasonSet, says: []string{"core5g.dev/n3_socket0, core5g.dev/n3_socket1", "vfio-pci", "ens1f0 (iavf)"},
		},
		"no sysfs": {
			change: func(o *Observation) { o.Hardware, o.HardwareErr = Hardware{}, errors.New("sysfs: no such file") },
			kind:   api.ConditionVFIOLoaded, want: unknown, reason: ReasonSysfs, says: []string{"-sysfs"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := server(t)
			if c.tree != nil {
				o.Hardware = hardware(t, c.tree)
			}
			if c.change != nil {
				c.change(&o)
			}
			s := Status(o, nil, noon)
			got := meta.FindStatusCondition(s.Conditions, c.kind)
			if got == nil || got.Status != c.want || got.Reason != c.reason {
				t.Fatalf("%+v, want %s %s", got, c.want, c.reason)
			}
			for _, want := range c.says {
				if !strings.Contains(got.Message, want) {
					t.Errorf("message %q lacks %q", got.Message, want)
				}
			}
			ready := meta.FindStatusCondition(s.Conditions, api.ConditionReady)
			if c.want == yes {
				return
			}
			if ready.Status != no || ready.Reason != ReasonSettings || !strings.Contains(ready.Message, c.kind+": "+got.Message) {
				t.Errorf("Ready is %+v, want False with what %s says", ready, c.kind)
			}
		})
	}
}

func TestTransitionsKeepTheirTime(t *testing.T) {
	first := Status(server(t), nil, noon)
	o := server(t)
	o.Hardware.VFIO = api.VFIOMissing
	second := Status(o, first.Conditions, noon.Add(time.Hour))
	for kind, want := range map[string]time.Time{
		api.ConditionVFIOLoaded: noon.Add(time.Hour), api.ConditionReady: noon.Add(time.Hour), api.ConditionIOMMUEnabled: noon,
	} {
		if got := meta.FindStatusCondition(second.Conditions, kind).LastTransitionTime; !got.Time.Equal(want) {
			t.Errorf("%s has changed at %s, want %s", kind, got, want)
		}
	}
	if meta.FindStatusCondition(first.Conditions, api.ConditionVFIOLoaded).Status != metav1.ConditionTrue {
		t.Error("the conditions before were changed")
	}
}

// What the agent reports is what the planner places units by.
func TestThePlannerUnderstandsTheStatus(t *testing.T) {
	report := api.DataplaneNode{ObjectMeta: metav1.ObjectMeta{Name: "w1"}, Status: Status(server(t), nil, noon)}
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1"}}
	inventory := placement.Observe([]api.DataplaneNode{report}, []corev1.Node{node}, placement.Terms{Devices: true, VFIO: true})
	want := placement.Inventory{{Name: "w1", Cells: []placement.Cell{
		{ID: 0, CPUs: 4, CPUStep: 2, Hugepages: map[string]int64{"2Mi": 512 << 20}, Devices: map[string]int{"core5g.dev/n3_socket0": 2}},
		{ID: 1, CPUs: 8, CPUStep: 2, Hugepages: map[string]int64{"2Mi": 1000 << 20}, Devices: map[string]int{"core5g.dev/n3_socket1": 2}},
	}}}
	if diff := cmp.Diff(want, inventory); diff != "" {
		t.Error(diff)
	}
}
