package nodeagent

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// Reasons of the conditions of a DataplaneNode.
const (
	ReasonSet            = "Set"
	ReasonOneCell        = "OneCell"
	ReasonPolicy         = "PolicyMissing"
	ReasonNoCPUs         = "NoExclusiveCPUs"
	ReasonNoHugepages    = "NoHugepages"
	ReasonHugepagesNew   = "HugepagesUnknownToKubelet"
	ReasonDisabled       = "Disabled"
	ReasonNoGroup        = "NoIOMMUGroup"
	ReasonMissing        = "ModuleMissing"
	ReasonNoSRIOV        = "NoSRIOV"
	ReasonNoVFs          = "NoVFs"
	ReasonNotOffered     = "NotOffered"
	ReasonSysfs          = "SysfsUnreadable"
	ReasonKubeletUnknown = "KubeletConfigurationUnknown"
	ReasonPodResources   = "PodResourcesUnavailable"
	ReasonSettings       = "SettingsMissing"
)

// verdict on one requirement.
type verdict struct {
	status          metav1.ConditionStatus
	reason, message string
}

func yes(reason, format string, args ...any) verdict {
	return verdict{metav1.ConditionTrue, reason, fmt.Sprintf(format, args...)}
}

func no(reason, format string, args ...any) verdict {
	return verdict{metav1.ConditionFalse, reason, fmt.Sprintf(format, args...)}
}

func unknown(reason, format string, args ...any) verdict {
	return verdict{metav1.ConditionUnknown, reason, fmt.Sprintf(format, args...)}
}

// requirement of a node, in the order in which an operator sets a node up from the bottom.
type requirement struct {
	kind  string
	check func(Observation, *api.DataplaneNodeStatus) verdict
}

func requirements() []requirement {
	return []requirement{
		{api.ConditionIOMMUEnabled, checkIOMMU},
		{api.ConditionVFIOLoaded, checkVFIO},
		{api.ConditionHugepagesPresent, checkHugepages},
		{api.ConditionCPUManagerStatic, checkCPUManager},
		{api.ConditionMemoryManagerStatic, checkMemoryManager},
		{api.ConditionTopologyAligned, checkTopology},
		{api.ConditionDevicePlugin, checkDevicePlugin},
	}
}

// preflight is the conditions of a status that has everything else already.
func preflight(o Observation, s *api.DataplaneNodeStatus, before []metav1.Condition, at metav1.Time) []metav1.Condition {
	out := slices.Clone(before)
	var missing []string
	ready := yes(api.ReasonReady, "units can be placed on this node")
	for _, r := range requirements() {
		v := r.check(o, s)
		if v.status != metav1.ConditionTrue {
			missing = append(missing, r.kind+": "+v.message)
			ready = no(ReasonSettings, "%s", strings.Join(missing, "; "))
		}
		set(&out, r.kind, v, at)
	}
	set(&out, api.ConditionReady, ready, at)
	return out
}

func set(list *[]metav1.Condition, kind string, v verdict, at metav1.Time) {
	if len(v.message) > maxMessage {
		v.message = v.message[:maxMessage]
	}
	c := metav1.Condition{Type: kind, Status: v.status, Reason: v.reason, Message: v.message, LastTransitionTime: at}
	if old := meta.FindStatusCondition(*list, kind); old != nil && old.Status == v.status {
		c.LastTransitionTime = old.LastTransitionTime
	}
	meta.SetStatusCondition(list, c)
}

// restart is how a kubelet takes over a policy: it refuses to start on the state of the old one.
func restart(state string) string {
	return "systemctl stop kubelet; rm /var/lib/kubelet/" + state + "; systemctl start kubelet, with no pods on the node"
}

func noKubelet(err error) verdict {
	return unknown(ReasonKubeletUnknown, "%v: let the node agent read the kubelet's configuration (-kubelet-config)", err)
}

func noSysfs(err error) verdict {
	return unknown(ReasonSysfs, "%v: mount the node's /sys read-only into the node agent (-sysfs)", err)
}

func noPodResources(err error) verdict {
	return unknown(ReasonPodResources, "the kubelet's podresources API does not answer: %v: mount /var/lib/kubelet/pod-resources into the node agent (-pod-resources)", err)
}

func checkIOMMU(o Observation, s *api.DataplaneNodeStatus) verdict {
	switch {
	case o.HardwareErr != nil:
		return noSysfs(o.HardwareErr)
	case s.IOMMU == api.IOMMUUnknown:
		return unknown(ReasonSysfs, "/sys/bus/pci/devices cannot be read: mount the node's /sys read-only into the node agent (-sysfs)")
	case s.IOMMU == api.IOMMUDisabled:
		return no(ReasonDisabled, "the IOMMU is off: enable VT-d or AMD-Vi in the firmware setup, add intel_iommu=on iommu=pt (AMD: iommu=pt) to the kernel command line, and reboot")
	}
	for _, cell := range o.Hardware.Cells {
		for _, pf := range cell.PFs {
			for _, vf := range pf.VFs {
				if vf.IOMMUGroup < 0 {
					return no(ReasonNoGroup, "VF %s of %s is in no IOMMU group: add intel_iommu=on iommu=pt (AMD: iommu=pt) to the kernel command line, and reboot", vf.PCIAddress, pf.Name)
				}
			}
		}
	}
	return yes(ReasonSet, "the IOMMU isolates devices")
}

func checkVFIO(o Observation, s *api.DataplaneNodeStatus) verdict {
	switch {
	case o.HardwareErr != nil:
		return noSysfs(o.HardwareErr)
	case s.VFIO == api.VFIOUnknown:
		return unknown(ReasonSysfs, "/sys/bus/pci/drivers cannot be read: mount the node's /sys read-only into the node agent (-sysfs)")
	case s.VFIO == api.VFIOMissing:
		return no(ReasonMissing, "the driver vfio-pci is not loaded: modprobe vfio-pci; echo vfio-pci > /etc/modules-load.d/vfio-pci.conf")
	}
	return yes(ReasonSet, "the driver vfio-pci is loaded")
}

func checkHugepages(o Observation, s *api.DataplaneNodeStatus) verdict {
	if o.HardwareErr != nil {
		return noSysfs(o.HardwareErr)
	}
	const how = "add hugepagesz=2M hugepages=%s to the kernel command line and reboot, or write /sys/devices/system/node/node%d/hugepages/hugepages-2048kB/nr_hugepages and restart the kubelet"
	var without []string
	var each []string
	first, kernel, kubelet := -1, false, false
	for i, cell := range s.Cells {
		each = append(each, fmt.Sprintf("%d:512", cell.ID))
		usable := false
		for _, pool := range cell.Hugepages {
			usable = usable || pool.Total.Sign() > 0
		}
		kernel = kernel || len(o.Hardware.Cells[i].Hugepages) > 0
		kubelet = kubelet || usable
		if !usable {
			without = append(without, fmt.Sprint(cell.ID))
			if first < 0 {
				first = int(cell.ID)
			}
		}
	}
	fix := fmt.Sprintf(how, strings.Join(each, ","), max(0, first))
	switch {
	case kernel && !kubelet:
		return no(ReasonHugepagesNew, "the kernel has hugepages and the kubelet gives out none: they were made after it started, or kubelet reservedMemory takes all: systemctl restart kubelet")
	case !kubelet:
		return no(ReasonNoHugepages, "there are no hugepages: %s", fix)
	case len(without) > 0:
		return yes(ReasonSet, "cell %s has no hugepages and takes no unit: %s", strings.Join(without, ", "), fix)
	}
	return yes(ReasonSet, "every cell has hugepages")
}

func checkCPUManager(o Observation, s *api.DataplaneNodeStatus) verdict {
	if o.KubeletErr != nil {
		return noKubelet(o.KubeletErr)
	}
	if policy := s.Kubelet.CPUManagerPolicy; policy != "static" {
		return no(ReasonPolicy, "cpuManagerPolicy is %s: write cpuManagerPolicy: static and reservedSystemCPUs into the kubelet's configuration; %s", policy, restart("cpu_manager_state"))
	}
	if o.ResourcesErr != nil {
		return noPodResources(o.ResourcesErr)
	}
	total, threads := int32(0), int32(1)
	for _, cell := range s.Cells {
		total += cell.ExclusiveCPUs.Total
		threads = max(threads, cell.ThreadsPerCore)
	}
	switch {
	case total == 0:
		return no(ReasonNoCPUs, "the kubelet gives out no exclusive CPUs: it has not been restarted since cpuManagerPolicy became static (%s), or reservedSystemCPUs names all CPUs", restart("cpu_manager_state"))
	case threads > 1 && s.Kubelet.CPUManagerOptions["full-pcpus-only"] != "true":
		return yes(ReasonSet, "cpuManagerPolicy is static; SMT siblings of a unit's CPUs may go to other pods: cpuManagerPolicyOptions: {full-pcpus-only: \"true\"} keeps cores whole")
	}
	return yes(ReasonSet, "cpuManagerPolicy is static")
}

func checkMemoryManager(o Observation, s *api.DataplaneNodeStatus) verdict {
	if o.KubeletErr != nil {
		return noKubelet(o.KubeletErr)
	}
	policy := s.Kubelet.MemoryManagerPolicy
	switch {
	case policy == "Static":
		return yes(ReasonSet, "memoryManagerPolicy is Static")
	case len(s.Cells) == 1:
		return yes(ReasonOneCell, "memoryManagerPolicy is %s; a node with one NUMA cell needs no other", policy)
	}
	return no(ReasonPolicy, "memoryManagerPolicy is %s: write memoryManagerPolicy: Static, and reservedMemory for each NUMA cell that adds up to kubeReserved, systemReserved and the hard eviction threshold of memory, into the kubelet's configuration; %s",
		policy, restart("memory_manager_state"))
}

func checkTopology(o Observation, s *api.DataplaneNodeStatus) verdict {
	if o.KubeletErr != nil {
		return noKubelet(o.KubeletErr)
	}
	policy := s.Kubelet.TopologyManagerPolicy
	switch {
	case policy == "single-numa-node":
		return yes(ReasonSet, "topologyManagerPolicy is single-numa-node")
	case policy == "restricted":
		return yes(ReasonSet, "topologyManagerPolicy is restricted: what fits one NUMA cell gets it")
	case len(s.Cells) == 1:
		return yes(ReasonOneCell, "topologyManagerPolicy is %s; a node with one NUMA cell needs no other", policy)
	}
	return no(ReasonPolicy, "topologyManagerPolicy is %s: write topologyManagerPolicy: single-numa-node into the kubelet's configuration, and systemctl restart kubelet", policy)
}

func checkDevicePlugin(o Observation, s *api.DataplaneNodeStatus) verdict {
	if o.HardwareErr != nil {
		return noSysfs(o.HardwareErr)
	}
	capable, made := "", ""
	offered := map[string]bool{}
	var kernelDriven []string
	for i, cell := range s.Cells {
		for j, in := range cell.Interfaces {
			pf := o.Hardware.Cells[i].PFs[j]
			if pf.MaxVFs > 0 && capable == "" {
				capable = fmt.Sprintf("%s has none of its %d VFs: echo %d > /sys/bus/pci/devices/%s/sriov_numvfs", pf.Name, pf.MaxVFs, min(8, pf.MaxVFs), pf.PCIAddress)
			}
			if in.VFs.Total > 0 && made == "" {
				made = fmt.Sprintf("no device plugin offers the VFs of %s: run the SR-IOV network device plugin with a resource for them, for example {\"resourceName\": \"n3_socket%d\", \"selectors\": {\"pfNames\": [\"%s\"]}}", in.Name, cell.ID, in.Name)
			}
			if in.ResourceName != "" {
				offered[in.ResourceName] = true
				// mlx5 VFs stay with the kernel's driver: their PMD works beside it.
				if in.VFs.Driver != "vfio-pci" && in.VFs.Driver != api.VFDriverMLX5 {
					kernelDriven = append(kernelDriven, fmt.Sprintf("%s (%s)", in.Name, in.VFs.Driver))
				}
			}
		}
	}
	switch {
	case made == "" && capable == "":
		return no(ReasonNoSRIOV, "no NIC of the node has SR-IOV: enable it in the firmware setup of machine and NIC; units with driver AFPacket need none")
	case made == "":
		return no(ReasonNoVFs, "%s", capable)
	case o.ResourcesErr != nil:
		return noPodResources(o.ResourcesErr)
	case len(offered) == 0:
		return no(ReasonNotOffered, "%s", made)
	}
	message := "VFs are offered as " + strings.Join(slices.Sorted(maps.Keys(offered)), ", ")
	if len(kernelDriven) > 0 {
		message += fmt.Sprintf("; units with driver VFIO need theirs bound to vfio-pci, which those of %s are not", strings.Join(kernelDriven, ", "))
	}
	return yes(ReasonSet, "%s", message)
}
