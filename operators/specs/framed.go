package specs

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// Networks behind UEs (framed routes, TS 23.501 5.6.14). A UE may send from all of them, so that in one network instance no other UE may have an address
// there: neither one that a UPF chooses, nor another Subscriber's.

// step is by how many bits the keys of networks differ.
func step(p netip.Prefix) int {
	if p.Addr().Is4() {
		return 8
	}
	return 16
}

func aroundKey(p netip.Prefix, bits int) string {
	n, _ := p.Addr().Prefix(bits) // no longer than p
	return "in " + n.String()
}

// NetworkKeys are what a Subscriber with framed routes or static addresses is found by: each network itself, and shorter ones around it, in steps.
func NetworkKeys(s *api.Subscriber) []string {
	var out []string
	for _, c := range subscribed(s) {
		if c.framed {
			out = append(out, c.prefix.String())
		}
		for bits := step(c.prefix); bits <= c.prefix.Bits(); bits += step(c.prefix) {
			out = append(out, aroundKey(c.prefix, bits))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// OverlappingKeys lead to all Subscribers of which a network or a static address overlaps one of this Subscriber's, and to others. An address can only be in another's
// network.
func OverlappingKeys(s *api.Subscriber) []string {
	var out []string
	for _, c := range subscribed(s) {
		for bits := step(c.prefix); bits <= c.prefix.Bits(); bits++ { // no network is shorter
			around, _ := c.prefix.Addr().Prefix(bits)
			out = append(out, around.String())
		}
		if c.framed {
			out = append(out, aroundKey(c.prefix, c.prefix.Bits()/step(c.prefix)*step(c.prefix)))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// own is a network or a static address of a Subscriber.
type own struct {
	prefix     netip.Prefix
	slice, dnn string
	framed     bool
}

func (o own) String() string {
	if o.framed {
		return "network " + o.prefix.String()
	}
	return "address " + shortest(o.prefix)
}

func subscribed(s *api.Subscriber) (out []own) {
	for _, sl := range s.Spec.Slices {
		for _, f := range sl.FramedRoutes {
			for _, text := range f.Prefixes {
				if p, err := netip.ParsePrefix(string(text)); err == nil && p.Bits() >= step(p) {
					out = append(out, own{p.Masked(), sl.Name, string(f.DNN), true})
				}
			}
		}
		for _, a := range sl.Addresses {
			for _, p := range addressesOf(a) {
				out = append(out, own{p, sl.Name, string(a.DNN), false})
			}
		}
	}
	return out
}

// FramedRoutes of a Subscriber, as the definition has them.
func FramedRoutes(s *api.Subscriber) (out []string) {
	for _, c := range subscribed(s) {
		if c.framed {
			out = append(out, c.prefix.String())
		}
	}
	return out
}

// FramedRoutesProblem says why a Subscriber cannot have the networks behind its UE, or its static addresses for another's: the data network is not there, they overlap
// a pool that UPFs choose from, or what an older Subscriber of the core has, or the same Subscriber elsewhere. others are those that OverlappingKeys lead to; all and
// upfs are the Slices and UPFInstances of the namespace.
func FramedRoutesProblem(s *api.Subscriber, others []api.Subscriber, all []api.Slice, upfs []api.UPFInstance) *Problem {
	all = slices.DeleteFunc(slices.Clone(all), func(o api.Slice) bool { return o.Spec.CoreRef.NameOrDefault() != s.Spec.CoreRef.NameOrDefault() })
	mine := subscribed(s)
	for i, c := range mine {
		where := framedNetworks(c, all, upfs)
		if c.framed {
			if problem := framedIn(c, where, all, upfs); problem != nil {
				return problem
			}
			for _, o := range mine[:i] {
				if o.framed && o.prefix.Overlaps(c.prefix) && (o.slice != c.slice || !strings.EqualFold(o.dnn, c.dnn)) && meet(where, framedNetworks(o, all, upfs)) {
					return &Problem{api.ReasonDuplicate, fmt.Sprintf(
						"%s of DNN %s overlaps %s of DNN %s of the same Subscriber, and packets to both leave by one network instance: write it for one of the two", c, c.dnn, o, o.dnn)}
				}
			}
		}
		var what own
		older := olderSubscriber(s, others, func(o *api.Subscriber) bool {
			for _, theirs := range subscribed(o) {
				if (c.framed || theirs.framed) && theirs.prefix.Overlaps(c.prefix) && meet(where, framedNetworks(theirs, all, upfs)) {
					what = theirs
					return true
				}
			}
			return false
		})
		if older != nil {
			return &Problem{api.ReasonDuplicate, fmt.Sprintf("%s overlaps %s of Subscriber %s: write another one, or have it in another network instance", c, what, older.Name)}
		}
	}
	return nil
}

// framedIn judges a network by the Slice that it is for, and by the pools of its network instance.
func framedIn(c own, where []network, all []api.Slice, upfs []api.UPFInstance) *Problem {
	for i := range all {
		slice := &all[i]
		if slice.Name == c.slice && !slices.ContainsFunc(slice.Spec.DataNetworks, func(dn api.DataNetwork) bool { return strings.EqualFold(string(dn.DNN), c.dnn) }) {
			return &Problem{api.ReasonNotFound, fmt.Sprintf("Slice %s has no data network %s: write one of its own (%s) in framedRoutes", slice.Name, c.dnn, strings.ReplaceAll(SummaryOf(slice).DNNs, ",", ", "))}
		}
		upf, _ := SelectUPF(slice, upfs)
		for j := range slice.Spec.DataNetworks {
			dn := &slice.Spec.DataNetworks[j]
			if slice.Name == c.slice && strings.EqualFold(string(dn.DNN), c.dnn) && dn.IsEthernet() {
				return &Problem{api.ReasonMalformed, fmt.Sprintf("DNN %s of Slice %s is of Ethernet, where the core routes nothing: take it out of framedRoutes", dn.DNN, slice.Name)}
			}
			for _, pool := range poolsOf(dn, upf, upfs) {
				p, err := netip.ParsePrefix(string(pool.cidr))
				chosen := slices.Contains(everyPool(*dn), pool.cidr)
				if err == nil && chosen && p.Masked().Overlaps(c.prefix) && meet(where, []network{pool.in}) {
					return &Problem{api.ReasonPoolOverlap, fmt.Sprintf(
						"%s overlaps pool %s of Slice %s, of which the UPF gives addresses to any UE: write a network outside of it", c, pool.cidr, slice.Name)}
				}
			}
		}
	}
	return nil
}

// framedNetworks are the network instances of the data network that it is for, one for each UPFInstance; none where there is no such data network (yet).
func framedNetworks(c own, all []api.Slice, upfs []api.UPFInstance) (out []network) {
	for i := range all {
		if all[i].Name != c.slice {
			continue
		}
		upf, _ := SelectUPF(&all[i], upfs)
		for j := range all[i].Spec.DataNetworks {
			dn := all[i].Spec.DataNetworks[j]
			if !strings.EqualFold(string(dn.DNN), c.dnn) {
				continue
			}
			// As pools have it: one for each UPFInstance stands for it.
			dn.UEPools, dn.StaticPools = []api.CIDR{""}, nil
			dn.UPFs = slices.Clone(dn.UPFs)
			for k := range dn.UPFs {
				dn.UPFs[k].UEPools, dn.UPFs[k].StaticPools = []api.CIDR{""}, nil
			}
			for _, pool := range poolsOf(&dn, upf, upfs) {
				out = append(out, pool.in)
			}
		}
	}
	return out
}

func meet(a, b []network) bool {
	return slices.ContainsFunc(a, func(x network) bool {
		return slices.ContainsFunc(b, func(y network) bool { return x.any || y.any || x.name == y.name })
	})
}
