package nodeagent

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// Observation is one look at the node. Each source that could not be read says why.
type Observation struct {
	Hardware  Hardware
	Kubelet   api.KubeletStatus
	Resources Resources
	// VFIOAccess is empty where nobody tells.
	VFIOAccess api.VFIOAccess

	HardwareErr, KubeletErr, ResourcesErr error
}

// Limits of the API type.
const (
	maxInterfaces = 64
	maxMessage    = 32768
)

// Status is the DataplaneNode's status of an observation. The conditions before it keep the times of their
// last transitions.
func Status(o Observation, before []metav1.Condition, now time.Time) api.DataplaneNodeStatus {
	at := metav1.NewTime(now)
	out := api.DataplaneNodeStatus{
		ObservedAt:   &at,
		Kubelet:      o.Kubelet,
		IOMMU:        o.Hardware.IOMMU,
		VFIO:         o.Hardware.VFIO,
		VFIOAccess:   o.VFIOAccess,
		IsolatedCPUs: o.Hardware.Isolated.String(),
	}
	if out.IOMMU == "" {
		out.IOMMU = api.IOMMUUnknown
	}
	if out.VFIO == "" {
		out.VFIO = api.VFIOUnknown
	}
	held := holdings(o)
	for i := range o.Hardware.Cells {
		out.Cells = append(out.Cells, held.cell(&o.Hardware.Cells[i]))
	}
	out.Summary = summarize(out.Cells)
	out.Conditions = preflight(o, &out, before, at)
	return out
}

// holding is what the kubelet can give out and has given out.
type holding struct {
	known           bool
	offeredCPUs     map[int]bool
	takenCPUs       map[int]bool
	resourceOf      map[string]string // of a device, by its id: a VF's PCI address
	takenDevices    map[string]bool
	memoryKnown     bool            // the memory manager reports memory by cell
	offeredPages    map[place]int64 // bytes
	takenPages      map[place]int64 // bytes
	offeredAnyPages bool
}

// place is a kind of hugepages in a cell.
type place struct {
	kind string
	cell int
}

func holdings(o Observation) *holding {
	h := &holding{
		known:       o.ResourcesErr == nil,
		offeredCPUs: map[int]bool{}, takenCPUs: map[int]bool{},
		resourceOf: map[string]string{}, takenDevices: map[string]bool{},
		offeredPages: map[place]int64{}, takenPages: map[place]int64{},
	}
	for _, cpu := range o.Resources.Allocatable.CPUs {
		h.offeredCPUs[cpu] = true
	}
	for _, d := range o.Resources.Allocatable.Devices {
		for _, id := range d.IDs {
			// A device of two resources belongs to the first of them, so that it is counted once.
			if r, found := h.resourceOf[id]; !found || d.Resource < r {
				h.resourceOf[id] = d.Resource
			}
		}
	}
	for _, m := range o.Resources.Allocatable.Memory {
		h.memoryKnown = true
		if len(m.Cells) == 1 && isHugepages(m.Kind) {
			h.offeredPages[place{m.Kind, m.Cells[0]}] += max(0, m.Bytes)
			h.offeredAnyPages = h.offeredAnyPages || m.Bytes > 0
		}
	}
	for _, held := range o.Resources.Held {
		for _, cpu := range held.CPUs {
			h.takenCPUs[cpu] = true
		}
		for _, d := range held.Devices {
			for _, id := range d.IDs {
				h.takenDevices[id] = true
			}
		}
		for _, m := range held.Memory {
			h.takePages(m)
		}
	}
	return h
}

func isHugepages(kind string) bool { return strings.HasPrefix(kind, "hugepages-") }

// takePages notes what a container holds. Where it spans cells the memory manager has filled them in
// ascending order.
func (h *holding) takePages(m Memory) {
	if !isHugepages(m.Kind) {
		return
	}
	left := max(0, m.Bytes)
	cells := slices.Sorted(slices.Values(m.Cells))
	for i, cell := range cells {
		at := place{m.Kind, cell}
		took := left
		if i < len(cells)-1 {
			took = min(left, max(0, h.offeredPages[at]-h.takenPages[at]))
		}
		h.takenPages[at] += took
		left -= took
	}
}

func (h *holding) cell(c *HardwareCell) api.NUMACell {
	out := api.NUMACell{
		ID:             int32(c.ID),
		CPUs:           c.CPUs.String(),
		ThreadsPerCore: int32(c.ThreadsPerCore),
	}
	free := map[int]bool{}
	for cpu := range h.offeredCPUs {
		free[cpu] = !h.takenCPUs[cpu]
	}
	out.ExclusiveCPUs = api.CPUCount{Total: int32(c.CPUs.in(h.offeredCPUs)), Free: int32(c.CPUs.in(free))}
	for _, pages := range c.Hugepages {
		out.Hugepages = append(out.Hugepages, h.hugepages(c.ID, pages))
	}
	for _, pf := range c.PFs[:min(len(c.PFs), maxInterfaces)] {
		out.Interfaces = append(out.Interfaces, h.networkInterface(pf))
	}
	return out
}

// hugepages: a pod holds what it has asked for, used or not, and others use pages without asking. What is
// free is free on both counts.
func (h *holding) hugepages(cell int, pages HardwarePages) api.HugepagePool {
	size := resource.NewQuantity(pages.PageBytes, resource.BinarySI).String()
	at := place{"hugepages-" + size, cell}
	total := pages.Total * pages.PageBytes
	if h.memoryKnown {
		total = min(total, h.offeredPages[at])
	}
	free := max(0, min(total-h.takenPages[at], pages.Free*pages.PageBytes))
	return api.HugepagePool{
		Size:  size,
		Total: *resource.NewQuantity(total, resource.BinarySI),
		Free:  *resource.NewQuantity(free, resource.BinarySI),
	}
}

// networkInterface: the status has one resource name for a PF. Where its VFs are divided over several, it is
// that with the most, and free VFs are those of it.
func (h *holding) networkInterface(pf PF) api.NodeInterface {
	out := api.NodeInterface{
		Name: pf.Name, PCIAddress: pf.PCIAddress, Driver: pf.Driver,
		Link: api.LinkDown, SpeedMbps: int32(pf.SpeedMbps),
		VFs: api.VFCount{Total: int32(len(pf.VFs)), Driver: most(pf.VFs, func(v VF) string { return v.Driver })},
	}
	if pf.Up {
		out.Link = api.LinkUp
	} else if pf.Name == pf.PCIAddress {
		out.Link = "" // nobody knows the link of a PF without an interface
	}
	out.ResourceName = most(pf.VFs, func(v VF) string { return h.resourceOf[v.PCIAddress] })
	for _, vf := range pf.VFs {
		if h.known && h.resourceOf[vf.PCIAddress] == out.ResourceName && !h.takenDevices[vf.PCIAddress] {
			out.VFs.Free++
		}
	}
	return out
}

// most is the word that most VFs have, the first of several; empty where none has one.
func most(vfs []VF, word func(VF) string) string {
	count := map[string]int{}
	best := ""
	for _, vf := range vfs {
		if w := word(vf); w != "" {
			count[w]++
		}
	}
	for w, n := range count {
		if best == "" || n > count[best] || (n == count[best] && w < best) {
			best = w
		}
	}
	return best
}
