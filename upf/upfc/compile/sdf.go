package compile

import (
	"math"
	"net"
	"net/netip"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/rules"
)

// sdfWriter appends SDF filters for one PDR.
type sdfWriter struct {
	out    *Session
	ue4    netip.Addr
	ue6    netip.Prefix
	v4, v6 bool // the IP versions that the PDR's packets may have
}

var everyPort = []rules.PortRange{{Low: 0, High: math.MaxUint16}}

// add writes one entry for each pair of port ranges: an entry holds one range a side.
func (w *sdfWriter) add(f *rules.SDFFilter) {
	remote, local := everyPort, everyPort
	var flow rules.Flow
	ports := false
	if f.Flow != nil {
		flow = *f.Flow
		if len(flow.Remote.Ports) > 0 {
			remote, ports = flow.Remote.Ports, true
		}
		if len(flow.Local.Ports) > 0 {
			local, ports = flow.Local.Ports, true
		}
	}
	v4, v6 := w.v4 && !f.HasFlowLabel, w.v6
	for _, side := range [2]*rules.Side{&flow.Remote, &flow.Local} {
		if side.Prefix.IsValid() {
			v4, v6 = v4 && side.Prefix.Addr().Is4(), v6 && side.Prefix.Addr().Is6()
		}
	}
	if v4 {
		base := w.entry4(f, &flow, ports)
		for _, r := range remote {
			for _, l := range local {
				base.RemotePortLo, base.RemotePortHi, base.LocalPortLo, base.LocalPortHi = r.Low, r.High, l.Low, l.High
				w.out.SDFs = append(w.out.SDFs, base)
			}
		}
	}
	if v6 {
		base := w.entry6(f, &flow, ports)
		for _, r := range remote {
			for _, l := range local {
				base.RemotePortLo, base.RemotePortHi, base.LocalPortLo, base.LocalPortHi = r.Low, r.High, l.Low, l.High
				w.out.SDF6s = append(w.out.SDF6s, base)
			}
		}
	}
}

// common are the fields that both versions have.
func common(f *rules.SDFFilter, flow *rules.Flow, ports bool) (flags, proto, tos, mask uint8, spi uint32) {
	if f.HasToS {
		flags |= abi.SdfTos
		tos, mask = f.ToS&f.ToSMask, f.ToSMask
	}
	if f.HasSPI {
		flags |= abi.SdfSpi
		spi = f.SPI
	}
	if flow.HasProtocol {
		flags |= abi.SdfProto
		proto = flow.Protocol
	}
	if ports {
		flags |= abi.SdfPorts
	}
	return flags, proto, tos, mask, spi
}

func (w *sdfWriter) entry4(f *rules.SDFFilter, flow *rules.Flow, ports bool) (e abi.Sdf) {
	e.Flags, e.Proto, e.Tos, e.TosMask, e.Spi = common(f, flow, ports)
	e.RemoteAddrBe, e.RemoteMaskBe = w.side4(&flow.Remote)
	e.LocalAddrBe, e.LocalMaskBe = w.side4(&flow.Local)
	return e
}

func (w *sdfWriter) side4(side *rules.Side) (addr, mask uint32) {
	p := side.Prefix
	if side.Assigned && w.ue4.IsValid() {
		p = netip.PrefixFrom(w.ue4, 32)
	}
	if !p.IsValid() {
		return 0, 0
	}
	m := [4]byte(net.CIDRMask(p.Bits(), 32))
	return abi.AddrBe(p.Addr()), abi.AddrBe(netip.AddrFrom4(m))
}

func (w *sdfWriter) entry6(f *rules.SDFFilter, flow *rules.Flow, ports bool) (e abi.Sdf6) {
	e.Flags, e.Proto, e.Tos, e.TosMask, e.Spi = common(f, flow, ports)
	if f.HasFlowLabel {
		e.Flags |= abi.SdfFlowLabel
		e.FlowLabel = f.FlowLabel
	}
	e.RemoteAddr, e.RemoteLen = w.side6(&flow.Remote)
	e.LocalAddr, e.LocalLen = w.side6(&flow.Local)
	return e
}

func (w *sdfWriter) side6(side *rules.Side) (abi.Addr, uint8) {
	p := side.Prefix
	if side.Assigned && w.ue6.IsValid() {
		p = w.ue6
	}
	if !p.IsValid() {
		return abi.Addr{}, 0
	}
	return abi.AddrOf(p.Addr()), uint8(p.Bits())
}
