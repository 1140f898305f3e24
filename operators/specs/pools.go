package specs

import (
	"fmt"
	"net/netip"
	"slices"
	"sort"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// Problem is what is wrong with an object: as a condition of it, and as the answer of the admission webhook.
type Problem struct {
	// Reason is a condition reason.
	Reason  string
	Message string
}

// Older reports whether a has the older claim on what two objects want: the one created first, and by
// name where both were created in the same second.
func Older(a, b metav1.Object) bool {
	ta, tb := a.GetCreationTimestamp().Time, b.GetCreationTimestamp().Time
	if !ta.Equal(tb) {
		return ta.Before(tb)
	}
	return a.GetName() < b.GetName()
}

// CheckPools judges a Slice's pools: against each other, against those of older Slices of the core,
// and against the subnets of its UPF. In another network instance of N6 an address is another UE's. upfs are those of the namespace; of one that is not
// among them nobody knows the network instances, and its pools overlap whatever has their addresses. It returns nil when they can be used.
func CheckPools(slice *api.Slice, others []api.Slice, upf *api.UPFInstance, upfs []api.UPFInstance) *Problem {
	if problem := NetworkInstanceProblem(slice, upf, upfs); problem != nil {
		return problem
	}
	var mine []claim
	for i := range slice.Spec.DataNetworks {
		dn := &slice.Spec.DataNetworks[i]
		for _, pool := range poolsOf(dn, upf, upfs) {
			prefix, err := netip.ParsePrefix(string(pool.cidr))
			if err != nil {
				return &Problem{api.ReasonMalformed, fmt.Sprintf("pool %q of DNN %s: %v", pool.cidr, dn.DNN, err)}
			}
			c := claim{prefix: prefix.Masked(), what: fmt.Sprintf("pool %s of DNN %s", pool.cidr, dn.DNN), in: pool.in}
			for _, m := range mine {
				if m.overlaps(c) {
					return &Problem{api.ReasonPoolOverlap, fmt.Sprintf(
						"%s overlaps %s of the same Slice: give each data network pools of its own", c.what, m.what)}
				}
			}
			mine = append(mine, c)
		}
	}
	for _, taken := range takenBefore(slice, others, upf, upfs) {
		for _, m := range mine {
			if m.overlaps(taken) {
				return &Problem{api.ReasonPoolOverlap, fmt.Sprintf("%s overlaps %s: write a pool that is free", m.what, taken.what)}
			}
		}
	}
	return nil
}

// network is a network instance of N6 by name, "" for n6; any stands for all.
type network struct {
	name string
	any  bool
}

type poolIn struct {
	cidr api.CIDR
	in   network
}

// poolsOf a data network, from which UPFs choose or which are routed to them, each in its network instance. The UPFInstance that its Slice selects may be nil.
func poolsOf(dn *api.DataNetwork, upf *api.UPFInstance, upfs []api.UPFInstance) (out []poolIn) {
	add := func(upf *api.UPFInstance, pools ...api.CIDR) {
		in := network{any: upf == nil}
		if upf != nil {
			name, problem := NetworkInstanceOf(dn, upf)
			in = network{name: strings.ToLower(name), any: problem != nil}
		}
		for _, cidr := range pools {
			out = append(out, poolIn{cidr, in})
		}
	}
	add(upf, dn.UEPools...)
	for _, further := range dn.UPFs {
		add(upfNamed(upfs, further.Name), further.UEPools...)
	}
	add(upf, dn.StaticPools...)
	for _, further := range dn.UPFs {
		add(upfNamed(upfs, further.Name), further.StaticPools...)
	}
	return out
}

// FiveQIProblem says which 5QIs of a Slice mean what the operator of the network has defined (TS 23.501 5.7.4): a gNB
// that has not been told refuses the PDU session.
func FiveQIProblem(slice *api.Slice) *Problem {
	for _, dn := range slice.Spec.DataNetworks {
		if dn.FiveQI >= 128 {
			return &Problem{api.ReasonNotSupported, fmt.Sprintf(
				"5QI %d of DNN %s is not standardized: configure every gNB with what it means, or write 9, another of 5 to 10, 69, 70, 79, 80", dn.FiveQI, dn.DNN)}
		}
	}
	return nil
}

// SummaryOf a Slice's data networks.
func SummaryOf(slice *api.Slice) api.SliceSummary {
	var dnns, pools []string
	for _, dn := range slice.Spec.DataNetworks {
		dnns = append(dnns, string(dn.DNN))
		for _, p := range dn.UEPools {
			pools = append(pools, string(p))
		}
	}
	return api.SliceSummary{DNNs: strings.Join(dnns, ","), UEPools: strings.Join(pools, ",")}
}

type claim struct {
	prefix netip.Prefix
	what   string
	in     network
}

func (c claim) overlaps(o claim) bool {
	return (c.in.any || o.in.any || c.in.name == o.in.name) && c.prefix.Overlaps(o.prefix)
}

func takenBefore(slice *api.Slice, others []api.Slice, upf *api.UPFInstance, upfs []api.UPFInstance) []claim {
	var out []claim
	sorted := append([]api.Slice(nil), others...)
	sort.Slice(sorted, func(i, j int) bool { return Older(&sorted[i], &sorted[j]) })
	for i := range sorted {
		o := &sorted[i]
		if o.Name == slice.Name || o.Spec.CoreRef.NameOrDefault() != slice.Spec.CoreRef.NameOrDefault() || !Older(o, slice) {
			continue
		}
		at, _ := SelectUPF(o, upfs)
		for i := range o.Spec.DataNetworks {
			for _, pool := range poolsOf(&o.Spec.DataNetworks[i], at, upfs) {
				if p, err := netip.ParsePrefix(string(pool.cidr)); err == nil {
					out = append(out, claim{p.Masked(), fmt.Sprintf("pool %s of Slice %s", pool.cidr, o.Name), pool.in})
				}
			}
		}
	}
	if upf == nil {
		return out
	}
	if upf.Spec.External != nil {
		return append(out, externalClaims(upf)...)
	}
	out = append(out, natClaims(upf)...)
	subnet := func(cidr, what string, in network) {
		if p, err := netip.ParsePrefix(cidr); err == nil {
			out = append(out, claim{p.Masked(), fmt.Sprintf("%s %s of UPFInstance %s", what, p.Masked(), upf.Name), in})
		}
	}
	subnet(string(upf.Spec.N3.Subnet), "the N3 subnet", network{any: true})
	subnet(string(upf.Spec.N6.Address), "the N6 subnet", network{})
	for _, n := range upf.Spec.NetworkInstances {
		for _, address := range n.Addresses {
			subnet(string(address), fmt.Sprintf("the subnet of network instance %s,", n.Name), network{name: strings.ToLower(string(n.Name))})
		}
	}
	return out
}

// SNSSAIProblem judges the S-NSSAI of a Slice beside those of older Slices of the core.
func SNSSAIProblem(slice *api.Slice, others []api.Slice) *Problem {
	if older := duplicateSNSSAI(slice, others); older != nil {
		return &Problem{api.ReasonDuplicate, fmt.Sprintf(
			"S-NSSAI %s belongs to Slice %s already: add the data networks there, or write another S-NSSAI", slice.Spec.SNSSAI, older.Name)}
	}
	return nil
}

// duplicateSNSSAI returns the older Slice of the core that has the same S-NSSAI, or nil: the AMF takes
// the first SMF that the NRF names for an S-NSSAI.
func duplicateSNSSAI(slice *api.Slice, others []api.Slice) *api.Slice {
	for i := range others {
		o := &others[i]
		if o.Name != slice.Name && o.Spec.CoreRef.NameOrDefault() == slice.Spec.CoreRef.NameOrDefault() &&
			o.Spec.SNSSAI.Equal(slice.Spec.SNSSAI) && Older(o, slice) {
			return o
		}
	}
	return nil
}

// AdvertisedProblem says why the AMF does not tell gNBs and UEs of a Slice; the core may be nil.
func AdvertisedProblem(slice *api.Slice, core *api.Core5G) *Problem {
	name := slice.Spec.CoreRef.NameOrDefault()
	if core == nil {
		return &Problem{api.ReasonNotFound, fmt.Sprintf("Core5G %s does not exist: create it, or name another in spec.coreRef", name)}
	}
	if slices.ContainsFunc(core.Spec.Catalogue(), slice.Spec.SNSSAI.Equal) {
		return nil
	}
	if core.OwnControlPlane() && slices.ContainsFunc(core.Spec.PLMNs, func(p api.PLMN) bool { return len(p.SliceCatalogue) > 0 }) {
		return &Problem{api.ReasonNotInCatalogue, fmt.Sprintf("S-NSSAI %s is in no catalogue of Core5G %s, so no UE can ask for it: add %s to spec.sliceCatalogue, or to that of one of spec.plmns, which restarts nothing",
			slice.Spec.SNSSAI, name, inCatalogue(slice.Spec.SNSSAI))}
	}
	if core.OwnControlPlane() {
		return &Problem{api.ReasonNotInCatalogue, fmt.Sprintf("S-NSSAI %s is not in spec.sliceCatalogue of Core5G %s, so no UE can ask for it: add %s there, which restarts nothing",
			slice.Spec.SNSSAI, name, inCatalogue(slice.Spec.SNSSAI))}
	}
	return &Problem{api.ReasonRestartRequired, fmt.Sprintf("S-NSSAI %s is not in spec.sliceCatalogue of Core5G %s, so no UE can ask for it. "+
		"Adding %s there restarts the AMF, and every UE registers anew: choose the moment",
		slice.Spec.SNSSAI, name, inCatalogue(slice.Spec.SNSSAI))}
}

// EmergencyProblem says why a core's emergency services cannot be served.
func EmergencyProblem(core *api.Core5G) *Problem {
	e := core.Spec.AMF.Emergency
	if e == nil {
		return nil
	}
	for i, p := range core.Spec.PLMNs {
		where := "spec.sliceCatalogue"
		if len(p.SliceCatalogue) > 0 {
			where = fmt.Sprintf("spec.plmns[%d].sliceCatalogue", i)
		}
		if !slices.ContainsFunc(core.Spec.CatalogueOf(p), e.SNSSAI.Equal) {
			return &Problem{api.ReasonNotInCatalogue, fmt.Sprintf("S-NSSAI %s of spec.amf.emergency is not in %s: add %s there, or write one of it", e.SNSSAI, where, inCatalogue(e.SNSSAI))}
		}
	}
	return nil
}

// inCatalogue is how an S-NSSAI is written there.
func inCatalogue(s api.SNSSAI) string {
	if s.SD == "" {
		return fmt.Sprintf("{sst: %d}", s.SST)
	}
	return fmt.Sprintf("{sst: %d, sd: %q}", s.SST, strings.ToLower(s.SD))
}
