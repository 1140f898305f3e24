package compile

import (
	"net/netip"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/rules"
)

// ethernetFilters adds the Ethernet packet filters of a PDR, an entry for each pair of addresses of one.
func (c *compiler) ethernetFilters(p *abi.Pdr, r *rules.PDR) error {
	p.Flags |= abi.PdrEthernet
	first := len(c.out.EthernetFilters)
	for i := range r.PDI.Ethernet {
		f := &r.PDI.Ethernet[i]
		e, err := c.ethernetFilter(r, f)
		if err != nil {
			return err
		}
		if len(f.MACs) == 0 {
			c.out.EthernetFilters = append(c.out.EthernetFilters, e)
		}
		for _, m := range f.MACs {
			c.out.EthernetFilters = append(c.out.EthernetFilters, withMACs(e, m))
		}
	}
	if len(c.out.EthernetFilters) > abi.SessionEthernetFilters {
		return tooBig(r, "more than %d Ethernet packet filters in a session", abi.SessionEthernetFilters)
	}
	p.SdfFirst, p.SdfCount = uint16(first), uint16(len(c.out.EthernetFilters)-first)
	return nil
}

func withMACs(e abi.EthernetFilter, m rules.MACs) abi.EthernetFilter {
	if m.HasSource {
		e.Flags |= abi.EthernetSource
		e.SourceLo, e.SourceHi = m.Source.Low, m.Source.High
	}
	if m.HasDestination {
		e.Flags |= abi.EthernetDestination
		e.DestinationLo, e.DestinationHi = m.Destination.Low, m.Destination.High
	}
	return e
}

// ethernetFilter is a filter without its addresses.
func (c *compiler) ethernetFilter(r *rules.PDR, f *rules.EthernetFilter) (e abi.EthernetFilter, err error) {
	if f.HasType {
		e.Flags |= abi.EthernetType
		e.Type = f.Type
	}
	if f.CTag.Has {
		e.Flags |= abi.EthernetCTag
		e.CTag, e.CMask = f.CTag.Value, f.CTag.Mask
	}
	if f.STag.Has {
		e.Flags |= abi.EthernetSTag
		e.STag, e.SMask = f.STag.Value, f.STag.Mask
	}
	if len(f.Filters) == 0 {
		return e, nil
	}
	e.Flags |= abi.EthernetSdf
	first, first6 := len(c.out.SDFs), len(c.out.SDF6s)
	// "assigned" is any address: the UPF knows none of the UE's.
	w := sdfWriter{out: c.out, ue4: netip.Addr{}, v4: true, v6: true}
	for i := range f.Filters {
		w.add(&f.Filters[i])
	}
	if len(c.out.SDFs) > abi.SessionSdfs || len(c.out.SDF6s) > abi.SessionSdfs {
		return e, tooBig(r, "more than %d SDF filters in a session", abi.SessionSdfs)
	}
	e.SdfFirst, e.SdfCount = uint16(first), uint16(len(c.out.SDFs)-first)
	e.Sdf6First, e.Sdf6Count = uint16(first6), uint16(len(c.out.SDF6s)-first6)
	return e, nil
}
