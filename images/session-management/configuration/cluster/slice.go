package cluster

import (
	"errors"
	"fmt"
	"net/netip"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/record"
	"core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/specs"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// sliceOf a Slice, with the units of the UPFInstances that it means. Defaults matter where no API server has applied those of the definition.
func sliceOf(o *v1alpha1.Slice, upfs []v1alpha1.UPFInstance) (configuration.Slice, error) {
	out := configuration.Slice{Name: o.Name}
	if o.Spec.SNSSAI.SST < 1 || o.Spec.SNSSAI.SST > 255 {
		return out, fmt.Errorf("spec.snssai.sst %d: write 1 to 255", o.Spec.SNSSAI.SST)
	}
	out.SST = uint8(o.Spec.SNSSAI.SST)
	var err error
	if out.SD, err = configuration.ParseSD(o.Spec.SNSSAI.SD); err != nil {
		return out, fmt.Errorf("spec.snssai: %w", err)
	}
	upf, problem := specs.SelectUPF(o, upfs)
	if upf == nil {
		return out, errors.New(problem)
	}
	if problem := specs.ExternalPoolProblem(o, upfs); problem != nil {
		return out, errors.New(problem.Message)
	}
	for i := range o.Spec.DataNetworks {
		dn, err := dataNetworkOf(&o.Spec.DataNetworks[i], upf, upfs)
		if err != nil {
			return out, fmt.Errorf("data network %s: %w", o.Spec.DataNetworks[i].DNN, err)
		}
		out.DataNetworks = append(out.DataNetworks, dn)
	}
	return out, nil
}

func dataNetworkOf(o *v1alpha1.DataNetwork, upf *v1alpha1.UPFInstance, upfs []v1alpha1.UPFInstance) (out configuration.DataNetwork, err error) {
	out = configuration.DataNetwork{
		DNN: string(o.DNN), FiveQI: octet(o.FiveQI, configuration.DefaultFiveQI), MTU: uint16(or(o.MTU, configuration.DefaultMTU)), Policy: o.Policy == v1alpha1.PolicyPCF,
		Routed:      o.PoolRouting == v1alpha1.PoolRoutingAllUnits,
		RatingGroup: uint32(o.RatingGroup),
	}
	r := reading{}
	out.AMBR = record.AMBR{
		Uplink:   take(&r, "ambr.uplink", string(or(o.AMBR.Uplink, configuration.DefaultUplink)), configuration.ParseRate),
		Downlink: take(&r, "ambr.downlink", string(or(o.AMBR.Downlink, configuration.DefaultDownlink)), configuration.ParseRate),
	}
	out.ARP = arpOf(o.ARP)
	out.Types = list(&r, "sessionTypes", o.SessionTypes, configuration.ParseType)
	out.DNS = list(&r, "dns", o.DNS, netip.ParseAddr)
	out.PCSCF = list(&r, "pcscf", o.PCSCF, netip.ParseAddr)
	out.AlwaysOn = take(&r, "alwaysOn", string(or(o.AlwaysOn, v1alpha1.AlwaysOnNever)), configuration.ParseAlwaysOn)
	out.Charging = take(&r, "charging", string(or(o.Charging, v1alpha1.ChargingNone)), configuration.ParseCharging)
	for i := range o.Flows {
		out.Flows = append(out.Flows, flowOf(&r, &o.Flows[i]))
	}
	for _, b := range o.Breakouts {
		out.Breakouts = append(out.Breakouts, breakoutOf(&r, b, upfs))
	}
	network := func(upf *v1alpha1.UPFInstance) {
		name, problem := specs.NetworkInstanceOf(o, upf)
		if problem != nil {
			r.note(errors.New(problem.Message))
		}
		for _, unit := range reached(upf) {
			if name == "" {
				break
			}
			if out.Networks == nil {
				out.Networks = map[string]string{}
			}
			out.Networks[unit.nodeID] = name
		}
	}
	network(upf)
	for _, b := range o.Breakouts {
		if at := named(upfs, b.UPFInstance); at != nil {
			network(at)
		}
	}
	out.Units, err = servingOf(upf, o.UEPools, o.StaticPools, nil)
	r.note(err)
	for _, further := range o.UPFs {
		tacs := list(&r, "upfs.tacs", further.TACs, configuration.ParseTAC)
		if further.Fallback == v1alpha1.UPFFallbackNone {
			out.OwnAreas = append(out.OwnAreas, tacs...)
		}
		other := named(upfs, further.Name)
		if other == nil { // condition FurtherUPFsReady of the Slice says so, and the others serve
			continue
		}
		network(other)
		serving, err := servingOf(other, further.UEPools, further.StaticPools, tacs)
		r.note(err)
		out.Units = append(out.Units, serving...)
	}
	if len(out.Types) == 0 { // units may come later than the Slice
		out.Types = configuration.TypesOf(list(&r, "uePools", o.UEPools, netip.ParsePrefix))
	}
	return out, r.err
}

// servingOf are the units of a UPFInstance with their parts of pools.
func servingOf(upf *v1alpha1.UPFInstance, pools, static []v1alpha1.CIDR, tacs []uint32) ([]configuration.Serving, error) {
	var out []configuration.Serving
	for _, unit := range reached(upf) {
		s := configuration.Serving{NodeID: unit.nodeID, TACs: tacs}
		for _, of := range []struct {
			networks []v1alpha1.CIDR
			to       *[]netip.Prefix
		}{{pools, &s.Pools}, {static, &s.Static}} {
			parts, problem := specs.UnitPools(upf, of.networks, unit.number)
			if problem != "" {
				return nil, errors.New(problem)
			}
			for _, part := range parts {
				p, err := netip.ParsePrefix(part)
				if err != nil {
					return nil, fmt.Errorf("pool %.60q: write a network address and a prefix length, for example 10.45.0.0/16", part)
				}
				*of.to = append(*of.to, p)
			}
		}
		out = append(out, s)
	}
	return out, nil
}

func flowOf(r *reading, o *v1alpha1.QoSFlow) configuration.Flow {
	f := configuration.Flow{
		Name: o.Name, FiveQI: octet(o.FiveQI, 0), ARP: arpOf(o.ARP), Precedence: octet(o.Precedence, 0), OnRequest: o.Given == v1alpha1.FlowToSubscribers,
		RatingGroup: uint32(o.RatingGroup),
	}
	within := "flow " + o.Name + ": "
	rates := func(field string, rates *v1alpha1.FlowBitRates) (out record.AMBR) {
		if rates != nil {
			out.Uplink = take(r, within+field, string(rates.Uplink), configuration.ParseRate)
			out.Downlink = take(r, within+field, string(rates.Downlink), configuration.ParseRate)
		}
		return out
	}
	f.GBR, f.MBR = rates("gbr", o.GBR), rates("mbr", o.MBR)
	if o.MBR == nil {
		f.MBR = f.GBR
	}
	for i, filter := range o.Filters {
		f.Filters = append(f.Filters, filterOf(r, fmt.Sprintf("%sfilter %d", within, i), filter))
	}
	return f
}

func filterOf(r *reading, where string, o v1alpha1.FlowFilter) n1.Filter {
	var remote netip.Prefix
	if o.Remote != "" {
		remote = take(r, where, string(o.Remote), netip.ParsePrefix)
	}
	text := func(v *intstr.IntOrString) string {
		if v == nil {
			return ""
		}
		return v.String()
	}
	f, err := configuration.MakeFilter(string(o.Direction), remote, text(o.Protocol), text((*intstr.IntOrString)(o.RemotePorts)), text((*intstr.IntOrString)(o.LocalPorts)))
	if err != nil {
		r.note(fmt.Errorf("%s: %w", where, err))
	}
	if e := o.Ethernet; e != nil {
		if f.Frame, err = configuration.MakeFrame(string(e.RemoteMAC), string(e.LocalMAC), e.VLAN, e.ServiceVLAN, e.EtherType); err != nil {
			r.note(fmt.Errorf("%s: ethernet: %w", where, err))
		}
	}
	return f
}

func breakoutOf(r *reading, o v1alpha1.Breakout, upfs []v1alpha1.UPFInstance) configuration.Breakout {
	within := "breakout " + o.Name
	b := configuration.Breakout{
		Name: o.Name, UPFInstance: o.UPFInstance,
		Prefixes: list(r, within, o.Prefixes, netip.ParsePrefix), TACs: list(r, within, o.TACs, configuration.ParseTAC),
	}
	upf := named(upfs, o.UPFInstance)
	if upf == nil { // as of upfs
		return b
	}
	for _, unit := range reached(upf) {
		b.Units = append(b.Units, unit.nodeID)
	}
	return b
}

func arpOf(o v1alpha1.ARP) configuration.ARP {
	return configuration.ARP{
		Priority: octet(o.PriorityLevel, configuration.DefaultPriority), MayPreempt: o.PreemptionCapability == v1alpha1.MayPreempt,
		Preemptable: o.PreemptionVulnerability == v1alpha1.Preemptable,
	}
}

func named(upfs []v1alpha1.UPFInstance, name string) *v1alpha1.UPFInstance {
	for i := range upfs {
		if upfs[i].Name == name {
			return &upfs[i]
		}
	}
	return nil
}

// reading of an object: the first thing that cannot be read is what it is refused for.
type reading struct{ err error }

func (r *reading) note(err error) {
	if r.err == nil {
		r.err = err
	}
}

func take[T any](r *reading, field, text string, parse func(string) (T, error)) T {
	v, err := parse(text)
	if err != nil {
		r.note(fmt.Errorf("%s: %w", field, err))
	}
	return v
}

func list[S ~string, T any](r *reading, field string, texts []S, parse func(string) (T, error)) []T {
	var out []T
	for _, text := range texts {
		out = append(out, take(r, field, string(text), parse))
	}
	return out
}

// or is v unless that is zero.
func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// octet of a number that the definition bounds; one beyond an octet becomes 0, which is refused later.
func octet(v, otherwise int32) uint8 {
	v = or(v, otherwise)
	if v < 0 || v > 255 {
		return 0
	}
	return uint8(v)
}
