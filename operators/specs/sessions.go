package specs

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// A unit has room for spec.sessions, and memory for them. Both containers keep a part of each session: UPF-U its rules, maps and slots on
// hugepages, and on its heap the octets that UPF-C wants to have back; UPF-C its index, and the records on the volume in memory, which are charged
// to whoever wrote them. A pod of the default size holds the default number, and a larger one grows by what the further sessions take. Figures are
// those of make bench-n4 with 400,000 sessions (docs/sizing.md), with room for larger rules than there.

// need is what one of the pod's memories has to have, in octets.
type need struct {
	base  int64 // with DefaultSessions
	more  int64 // of each further session
	fixed int64 // least: of everything else
	least int64 // least: of each session
}

const (
	mebi = 1 << 20
	// memoryStep is what amounts are rounded up to.
	memoryStep = 16 * mebi
	// networkOctets on hugepages is what a session takes of the tables of each network instance, or NAT44, beside the first.
	networkOctets = 96
	// mappingOctets on hugepages is what a mapping of NAT44 takes.
	mappingOctets = 56
)

// hugepageNeed: slots take 288 octets of a session, maps up to 220, its rules the rest: 250 with two PDRs, 512 are taken as the least. Packet buffers and
// what workers have take 64 MiB and more.
func hugepageNeed(upf *api.UPFInstance) need {
	n := need{base: 512 * mebi, more: 1536, fixed: 64 * mebi, least: 1024}
	networks, mappings := int64(len(upf.Spec.NetworkInstances)), int64(0)
	for _, nat := range natNetworks(upf) {
		networks++
		mappings += int64(nat.nat.Mappings)
	}
	n.more, n.least = n.more+networks*networkOctets, n.least+networks*networkOctets
	n.fixed += mappings * mappingOctets
	return n
}

// upfuNeed beside hugepages: 265 octets, and for each worker a count of what waits.
func upfuNeed(upf *api.UPFInstance) need {
	of := 320 + 2*int64(max(upf.Spec.Workers, 1))
	return need{base: 256 * mebi, more: of, fixed: 64 * mebi, least: of}
}

// upfcNeed: 430 octets of its own, 270 of a record, and as many as a counter's copy while UPF-U begins anew; a standby holds 500 more of the unit that it
// takes over.
func upfcNeed(upf *api.UPFInstance) need {
	if Redundant(upf) {
		return need{base: 256 * mebi, more: 2048, fixed: 96 * mebi, least: 1536}
	}
	return need{base: 128 * mebi, more: 1280, fixed: 64 * mebi, least: 1024}
}

// volumeNeed: records lie there twice while UPF-C takes over what it left, and copies of counters beside them.
func volumeNeed(*api.UPFInstance) need { return need{base: 64 * mebi, more: 1024} }

// of a unit, when nothing else is written.
func (n need) of(upf *api.UPFInstance) resource.Quantity {
	octets := n.base + n.more*max(0, int64(Sessions(upf))-api.DefaultSessions)
	return *resource.NewQuantity(roundUp(octets, memoryStep), resource.BinarySI)
}

// atLeast is what no unit can do without.
func (n need) atLeast(upf *api.UPFInstance) resource.Quantity {
	return *resource.NewQuantity(roundUp(n.fixed+n.least*int64(Sessions(upf)), memoryStep), resource.BinarySI)
}

func roundUp(n, to int64) int64 { return (n + to - 1) / to * to }

// Sessions that a unit has room for.
func Sessions(upf *api.UPFInstance) int32 {
	if upf.Spec.Sessions == 0 {
		return api.DefaultSessions
	}
	return upf.Spec.Sessions
}

func hugepageAmount(upf *api.UPFInstance) resource.Quantity {
	if upf.Spec.Hugepages.Amount != nil {
		return *upf.Spec.Hugepages.Amount
	}
	return ofPages(upf, hugepageNeed(upf).of(upf))
}

// ofPages is an amount in whole pages.
func ofPages(upf *api.UPFInstance, amount resource.Quantity) resource.Quantity {
	page := resource.MustParse(pageSize(upf))
	return *resource.NewQuantity(roundUp(amount.Value(), page.Value()), resource.BinarySI)
}

// upfuMemory is UPF-U's beside its hugepages.
func upfuMemory(upf *api.UPFInstance) resource.Quantity {
	if upf.Spec.Memory != nil {
		return *upf.Spec.Memory
	}
	return upfuNeed(upf).of(upf)
}

// upfuLimits of upf-u.yaml.
type upfuLimits struct {
	SessionsMax int32 `json:"sessions_max"`
}

// limitsOf a unit; nil: those that UPF-U has of itself, so that no unit restarts because the field has come.
func limitsOf(upf *api.UPFInstance) *upfuLimits {
	if n := Sessions(upf); n != api.DefaultSessions {
		return &upfuLimits{n}
	}
	return nil
}

// MemoryProblem says what is written of memory, here or in the core's functions, and is too little for the sessions. Units of the default number are
// not judged: they have always been as large as somebody wrote. The core may be nil.
func MemoryProblem(upf *api.UPFInstance, core *api.Core5G) *Problem {
	if upf.Spec.External != nil || Sessions(upf) <= api.DefaultSessions {
		return nil
	}
	pages, memory := hugepageNeed(upf), upfuNeed(upf)
	for _, written := range []struct {
		field           string
		has             *resource.Quantity
		least, byItself resource.Quantity
	}{
		{"spec.hugepages.amount", upf.Spec.Hugepages.Amount, ofPages(upf, pages.atLeast(upf)), ofPages(upf, pages.of(upf))},
		{"spec.memory", upf.Spec.Memory, memory.atLeast(upf), memory.of(upf)},
		{functionMemory(core, api.FunctionUPFU), limitOf(core, api.FunctionUPFU, upf), memory.atLeast(upf), memory.of(upf)},
		{functionMemory(core, api.FunctionUPFC), limitOf(core, api.FunctionUPFC, upf), upfcNeed(upf).atLeast(upf), upfcNeed(upf).of(upf)},
	} {
		if written.has != nil && written.has.Cmp(written.least) < 0 {
			return &Problem{api.ReasonTooLittleMemory, fmt.Sprintf("%s %s is too little for spec.sessions %d of UPFInstance %s: write %s at least, or leave it out (null takes out what is there), and it is %s",
				written.field, written.has, Sessions(upf), upf.Name, &written.least, &written.byItself)}
		}
	}
	return nil
}

func functionMemory(core *api.Core5G, name api.FunctionName) string {
	if core == nil {
		return ""
	}
	return fmt.Sprintf("spec.functions[%s].resources.limits.memory of Core5G %s", name, core.Name)
}

// limitOf is the memory that the core's functions let a container have, nil: they say nothing of it.
func limitOf(core *api.Core5G, name api.FunctionName, upf *api.UPFInstance) *resource.Quantity {
	f := Function(core, name)
	if f == nil || f.Resources == nil || name == api.FunctionUPFU && Planned(upf) {
		return nil
	}
	limit, is := f.Resources.Limits[corev1.ResourceMemory]
	if !is {
		return nil
	}
	return &limit
}
