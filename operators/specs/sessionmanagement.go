package specs

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// ControlPlaneProblem says what of a Slice the SMF of its core does not know: with controlPlane Free5GC it would be
// passed over without a word.
func ControlPlaneProblem(slice *api.Slice, core *api.Core5G) *Problem {
	if core == nil || core.OwnControlPlane() {
		return nil
	}
	if slice.Spec.SNSSAI.SD == "" {
		return &Problem{api.ReasonNotSupported, fmt.Sprintf(
			"an S-NSSAI without sd needs core5g's own SMF: write an sd, or controlPlane: Core5G in Core5G %s, which ends all PDU sessions of the core once", core.Name)}
	}
	for _, dn := range slice.Spec.DataNetworks {
		for _, field := range []struct {
			name string
			set  bool
		}{
			{"an IPv6 network in uePools", hasIPv6(dn.UEPools)},
			{"sessionTypes", len(dn.SessionTypes) > 0 && (len(dn.SessionTypes) > 1 || dn.SessionTypes[0] != api.SessionIPv4)},
			{"staticPools", len(dn.StaticPools) > 0},
			// That of free5GC names the DNN.
			{"networkInstance", dn.NetworkInstance != "" && dn.NetworkInstance != dn.DNN},
			{"pcscf", len(dn.PCSCF) > 0},
			{"alwaysOn", dn.AlwaysOn != "" && dn.AlwaysOn != api.AlwaysOnNever},
			{"policy: Slice", dn.Policy == api.PolicySlice},
			{"charging", dn.Charging != ""},
			{"ratingGroup", dn.RatingGroup != 0},
			{"flows", len(dn.Flows) > 0},
			{"breakouts", len(dn.Breakouts) > 0},
			{"upfs", len(dn.UPFs) > 0},
			{"poolRouting", dn.PoolRouting != ""},
		} {
			if field.set {
				return &Problem{api.ReasonNotSupported, fmt.Sprintf(
					"%s of DNN %s needs core5g's own SMF: leave it out, or write controlPlane: Core5G in Core5G %s, which ends all PDU sessions of the core once", field.name, dn.DNN, core.Name)}
			}
		}
	}
	for i, dn := range slice.Spec.DataNetworks {
		for _, other := range slice.Spec.DataNetworks[:i] {
			for _, pool := range dn.UEPools {
				if slices.ContainsFunc(other.UEPools, func(o api.CIDR) bool { return overlap(string(pool), string(o)) }) {
					return &Problem{api.ReasonNotSupported, fmt.Sprintf(
						"pool %s of both DNN %s and DNN %s needs core5g's own SMF: give each data network pools of its own, or write controlPlane: Core5G in Core5G %s, which ends all PDU sessions of the core once",
						pool, other.DNN, dn.DNN, core.Name)}
				}
			}
		}
	}
	return nil
}

func hasIPv6(pools []api.CIDR) bool {
	for _, cidr := range pools {
		if p, err := netip.ParsePrefix(string(cidr)); err == nil && p.Addr().Is6() {
			return true
		}
	}
	return false
}

// FlowProblem says which QoS flow of a Slice contradicts itself, beyond what its definition refuses.
func FlowProblem(slice *api.Slice) *Problem {
	for _, dn := range slice.Spec.DataNetworks {
		for _, f := range dn.Flows {
			fail := func(what string) *Problem {
				return &Problem{api.ReasonMalformed, fmt.Sprintf("flow %s of DNN %s: %s", f.Name, dn.DNN, what)}
			}
			if f.GBR != nil && f.MBR != nil {
				for _, d := range []struct {
					direction string
					gbr, mbr  api.FlowBitRate
				}{{"uplink", f.GBR.Uplink, f.MBR.Uplink}, {"downlink", f.GBR.Downlink, f.MBR.Downlink}} {
					if bitRate(string(d.mbr)) < bitRate(string(d.gbr)) {
						return fail(fmt.Sprintf("mbr.%s %s is below gbr.%s %s: write as much at least", d.direction, d.mbr, d.direction, d.gbr))
					}
				}
			}
			for _, filter := range f.Filters {
				if problem := filterProblem(filter, dn.IsEthernet()); problem != "" {
					return fail(problem)
				}
				for _, ports := range []*api.Ports{filter.RemotePorts, filter.LocalPorts} {
					if ports != nil && !isPorts(ports.String()) {
						return fail(fmt.Sprintf("ports %s: write one from 1 to 65535, or a range with the lower one first, for example 5060-5061", ports))
					}
				}
			}
		}
	}
	return nil
}

// filterProblem says what of a filter the packets of its data network have not.
func filterProblem(f api.FlowFilter, ofEthernet bool) string {
	e := f.Ethernet
	switch {
	case e == nil:
		return ""
	case !ofEthernet:
		return "a filter has ethernet, and UEs send IP packets without frames: leave it out, or write sessionTypes: [Ethernet]"
	case *e == (api.EthernetFilter{}):
		return "ethernet of a filter is empty: write one of remoteMAC, localMAC, vlan, serviceVLAN, etherType, or leave it out"
	}
	for _, mac := range []api.MACAddress{e.RemoteMAC, e.LocalMAC} {
		if mac == "00:00:00:00:00:00" {
			return "a filter has the MAC address 00:00:00:00:00:00, which is none's: write another, or leave it out"
		}
	}
	ofIP := f.Remote != "" || f.Protocol != nil || f.RemotePorts != nil || f.LocalPorts != nil
	if t := strings.ToLower(e.EtherType); ofIP && t != "" && t != "0x0800" && t != "0x86dd" {
		return fmt.Sprintf("a filter has etherType %s, which is none of IP, and what an IP packet would have: write etherType \"0x0800\" or \"0x86dd\", or leave either out", e.EtherType)
	}
	return ""
}

// bitRate in Kbps; 0 for what the definition refuses.
func bitRate(text string) uint64 {
	number, unit, _ := strings.Cut(text, " ")
	n, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return 0
	}
	return n * map[string]uint64{"Kbps": 1, "Mbps": 1e3, "Gbps": 1e6, "Tbps": 1e9}[unit]
}

func isPorts(text string) bool {
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	a, errA := strconv.ParseUint(first, 10, 16)
	b, errB := strconv.ParseUint(last, 10, 16)
	return errA == nil && errB == nil && a >= 1 && a <= b
}

// StaticAddressProblem says why a Subscriber cannot have its static addresses in a Slice: the data network is not there, the
// address lies in a pool that UPFs choose from, or an older Subscriber of the core has it; others are those with the same one.
func StaticAddressProblem(s *api.Subscriber, subscribed api.SubscribedSlice, slice *api.Slice, others []api.Subscriber) *Problem {
	for _, a := range subscribed.Addresses {
		for _, address := range addressesOf(a) {
			if older := olderSubscriber(s, others, func(o *api.Subscriber) bool { return hasAddress(o, address) }); older != nil {
				return &Problem{api.ReasonDuplicate, fmt.Sprintf("address %s belongs to Subscriber %s already: write another one", shortest(address), older.Name)}
			}
			if slice != nil {
				if problem := addressIn(slice, a.DNN, address); problem != nil {
					return problem
				}
			}
		}
	}
	return nil
}

// addressIn judges a static address by the Slice that it is for.
func addressIn(slice *api.Slice, dnn api.DNN, address netip.Prefix) *Problem {
	var static []string
	found, placed := false, false
	for _, dn := range slice.Spec.DataNetworks {
		if !strings.EqualFold(string(dn.DNN), string(dnn)) {
			continue
		}
		found = true
		if dn.IsEthernet() {
			return &Problem{api.ReasonMalformed, fmt.Sprintf("DNN %s of Slice %s is of Ethernet, where the core gives no IP addresses: take it out of addresses", dn.DNN, slice.Name)}
		}
		for _, pool := range staticPools(dn) {
			static = append(static, string(pool))
			p, err := netip.ParsePrefix(string(pool))
			placed = placed || err == nil && p.Bits() <= address.Bits() && p.Masked().Contains(address.Addr())
		}
	}
	for _, dn := range slice.Spec.DataNetworks {
		if placed && !strings.EqualFold(string(dn.DNN), string(dnn)) {
			continue // pools of another network instance may have it, and CheckPools lets no others
		}
		for _, pool := range everyPool(dn) {
			if p, err := netip.ParsePrefix(string(pool)); err == nil && p.Masked().Overlaps(address) {
				return &Problem{api.ReasonPoolOverlap, fmt.Sprintf(
					"address %s lies in pool %s of Slice %s, which the UPF gives to any UE: write one outside of it", shortest(address), pool, slice.Name)}
			}
		}
	}
	switch {
	case !found:
		return &Problem{api.ReasonNotFound, fmt.Sprintf("Slice %s has no data network %s: write one of its own (%s) in addresses", slice.Name, dnn, strings.ReplaceAll(SummaryOf(slice).DNNs, ",", ", "))}
	case len(static) > 0 && !placed:
		return &Problem{api.ReasonMalformed, fmt.Sprintf("address %s lies in none of the staticPools of DNN %s of Slice %s (%s), so no packet would come to it: write one of them",
			shortest(address), dnn, slice.Name, strings.Join(static, ", "))}
	}
	return nil
}

// everyPool that UPFs choose the addresses of a data network from, and staticPools that are routed to them.
func everyPool(dn api.DataNetwork) []api.CIDR {
	pools := append([]api.CIDR(nil), dn.UEPools...)
	for _, u := range dn.UPFs {
		pools = append(pools, u.UEPools...)
	}
	return pools
}

func staticPools(dn api.DataNetwork) []api.CIDR {
	pools := append([]api.CIDR(nil), dn.StaticPools...)
	for _, u := range dn.UPFs {
		pools = append(pools, u.StaticPools...)
	}
	return pools
}

// StaticAddresses of a Subscriber, as prefixes, in their shortest form.
func StaticAddresses(s *api.Subscriber) []string {
	var out []string
	for _, subscribed := range s.Spec.Slices {
		for _, a := range subscribed.Addresses {
			for _, address := range addressesOf(a) {
				out = append(out, address.String())
			}
		}
	}
	return out
}

func addressesOf(a api.StaticAddress) []netip.Prefix {
	var out []netip.Prefix
	if v4, err := netip.ParseAddr(string(a.IPv4)); err == nil {
		out = append(out, netip.PrefixFrom(v4, v4.BitLen()))
	}
	if v6, err := netip.ParsePrefix(string(a.IPv6Prefix)); err == nil {
		out = append(out, v6.Masked())
	}
	return out
}

func hasAddress(s *api.Subscriber, address netip.Prefix) bool {
	for _, subscribed := range s.Spec.Slices {
		for _, a := range subscribed.Addresses {
			for _, other := range addressesOf(a) {
				if other.Overlaps(address) {
					return true
				}
			}
		}
	}
	return false
}

func shortest(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}

// FlowsProblem says which flow of a subscription its Slice has not.
func FlowsProblem(subscribed api.SubscribedSlice, slice *api.Slice) *Problem {
	var there []string
	for _, dn := range slice.Spec.DataNetworks {
		for _, f := range dn.Flows {
			if f.Given == api.FlowToSubscribers {
				there = append(there, f.Name)
			}
		}
	}
	for _, name := range subscribed.Flows {
		if !slices.Contains(there, name) {
			what := "it has none"
			if len(there) > 0 {
				what = "write one of " + strings.Join(there, ", ")
			}
			return &Problem{api.ReasonNotFound, fmt.Sprintf("Slice %s has no flow %s that is given ToSubscribers: %s, or add it to a data network of the Slice", slice.Name, name, what)}
		}
	}
	return nil
}

// SubscriptionProblem says what of a subscription the SMF of its core does not know.
func SubscriptionProblem(subscribed api.SubscribedSlice, core *api.Core5G) *Problem {
	if core == nil || core.OwnControlPlane() || len(subscribed.Addresses)+len(subscribed.FramedRoutes)+len(subscribed.Flows) == 0 {
		return nil
	}
	return &Problem{api.ReasonNotSupported, fmt.Sprintf(
		"addresses, framedRoutes and flows of Slice %s need core5g's own SMF: leave them out, or write controlPlane: Core5G in Core5G %s, which ends all PDU sessions of the core once", subscribed.Name, core.Name)}
}
