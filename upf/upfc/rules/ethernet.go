package rules

// Ethernet PDU sessions (TS 23.501 5.6.10.2, TS 29.244 5.13): frames instead of packets, found by a network instance's bridge
// instead of by a UE's address. A session is of one type; rules that mix both are refused.

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/pfcp"
)

// PDNTypeEthernet is a PDN Type (TS 29.244 8.2.79).
const PDNTypeEthernet = 5

// MAC is an Ethernet address.
type MAC [6]byte

// MACRange are the addresses from Low to High.
type MACRange struct{ Low, High MAC }

// MACs are the source and the destination of a frame; each may be left out.
type MACs struct {
	HasSource, HasDestination bool
	Source, Destination       MACRange
}

// Tag is a C-TAG or S-TAG (TS 29.244 8.2.94, 8.2.95): bits of the Tag Control Information, and which of them are asked for.
// A mask of 0: the frame has such a tag.
type Tag struct {
	Has         bool
	Value, Mask uint16
}

// EthernetFilter is an Ethernet Packet Filter, TS 29.244 table 7.5.2.2-3. One of its addresses must match, and one of its
// SDF filters, where it has some.
type EthernetFilter struct {
	HasID   bool
	ID      uint32 // Ethernet Filter ID
	Both    bool   // BIDE: it may be named in the other direction
	MACs    []MACs
	HasType bool
	Type    uint16 // Ethertype
	CTag    Tag
	STag    Tag
	Filters []SDFFilter
}

// givenFilter is one with an ID, of a PDR of which side.
type givenFilter struct {
	*EthernetFilter
	core bool
}

// errRange: the upper end of a range of addresses is alone, or below the lower one.
var errRange = errors.New("no range of MAC addresses")

// IE flags of TS 29.244 8.2.93 to 8.2.95.
const (
	macSource      = 0x01
	macDestination = 0x02
	macSourceTo    = 0x04
	macDestTo      = 0x08
	tagPCP         = 0x01
	tagDEI         = 0x02
	tagVID         = 0x04
	filterBIDE     = 0x01
	sessionETHI    = 0x01
)

// filters says whether it says anything of a frame.
func (f *EthernetFilter) filters() bool {
	return len(f.MACs) > 0 || f.HasType || f.CTag.Has || f.STag.Has || len(f.Filters) > 0
}

// reversed is the filter as the other direction has it.
func (f *EthernetFilter) reversed() EthernetFilter {
	r := *f
	r.MACs = slices.Clone(f.MACs)
	for i := range r.MACs {
		m := &r.MACs[i]
		m.HasSource, m.HasDestination = m.HasDestination, m.HasSource
		m.Source, m.Destination = m.Destination, m.Source
	}
	return r
}

func parseMACs(b []byte) (m MACs, err error) {
	if len(b) < 1 {
		return m, errShort
	}
	flags := b[0]
	b = b[1:]
	for _, x := range []struct {
		flag uint8
		into *MAC
	}{{macSource, &m.Source.Low}, {macDestination, &m.Destination.Low}, {macSourceTo, &m.Source.High}, {macDestTo, &m.Destination.High}} {
		if flags&x.flag == 0 {
			continue
		}
		if len(b) < len(x.into) {
			return m, errShort
		}
		*x.into, b = MAC(b[:6]), b[6:]
	}
	m.HasSource, m.HasDestination = flags&macSource != 0, flags&macDestination != 0
	for _, x := range []struct {
		r        *MACRange
		has, top bool
	}{{&m.Source, m.HasSource, flags&macSourceTo != 0}, {&m.Destination, m.HasDestination, flags&macDestTo != 0}} {
		switch {
		case x.top && !x.has, x.top && bytes.Compare(x.r.Low[:], x.r.High[:]) > 0:
			return m, errRange
		case !x.top:
			x.r.High = x.r.Low
		}
	}
	return m, nil
}

func parseTag(b []byte) (t Tag, err error) {
	if len(b) < 3 {
		return t, errShort
	}
	t.Has = true
	// The VID's upper four bits stand before DEI and PCP, the others behind them.
	vid := uint16(b[1]>>4)<<8 | uint16(b[2])
	for _, x := range []struct {
		flag        uint8
		value, mask uint16
	}{{tagPCP, uint16(b[1]&7) << 13, 7 << 13}, {tagDEI, uint16(b[1]>>3&1) << 12, 1 << 12}, {tagVID, vid, 0x0fff}} {
		if b[0]&x.flag != 0 {
			t.Value |= x.value
			t.Mask |= x.mask
		}
	}
	return t, nil
}

// ethernetFilter reads an Ethernet Packet Filter of a PDR.
func (p *planner) ethernetFilter(e *pfcp.Element, core bool, ref named) (f EthernetFilter, err error) {
	group, err := e.Group()
	if err != nil {
		return f, err
	}
	for i := range group {
		e := &group[i]
		switch e.Type {
		case ie.EthernetFilterID:
			f.HasID = true
			f.ID, err = e.Uint32()
		case ie.EthernetFilterProperties:
			var v uint8
			v, err = e.Uint8()
			f.Both = v&filterBIDE != 0
		case ie.MACAddress:
			var m MACs
			if m, err = parseMACs(e.Value); err == nil && (m.HasSource || m.HasDestination) {
				f.MACs = append(f.MACs, m)
			}
		case ie.Ethertype:
			f.HasType = true
			f.Type, err = e.Uint16()
		case ie.CTAG:
			f.CTag, err = parseTag(e.Value)
		case ie.STAG:
			f.STag, err = parseTag(e.Value)
		case ie.SDFFilter:
			var s SDFFilter
			if s, err = parseSDFFilter(e.Value); err == nil && s.HasID && !s.filters() {
				s, err = p.filterByID(s.ID)
			}
			f.Filters = append(f.Filters, s)
		}
		if err != nil {
			return f, refuse(ref, e.Type, "Ethernet packet filter: %v", err)
		}
	}
	if len(f.Filters) > 0 && f.HasType && f.Type != etherTypeIPv4 && f.Type != etherTypeIPv6 {
		return f, refuse(ref, ie.SDFFilter, "an SDF filter of Ethertype %#04x, which is not IP", f.Type)
	}
	switch {
	case f.HasID && !f.filters():
		return p.ethernetFilterByID(f.ID, core, ref)
	case !f.filters():
		return f, refuse(ref, ie.EthernetPacketFilter, "an Ethernet packet filter that asks for nothing")
	case f.HasID:
		given := f
		p.ethernetFilters = append(p.ethernetFilters, givenFilter{&given, core})
	}
	return f, nil
}

const (
	etherTypeIPv4 = 0x0800
	etherTypeIPv6 = 0x86dd
)

// ethernetFilterByID finds a filter that was given before: of this direction, or of the other one where it is of both (TS
// 29.244 5.13.3), when source and destination change places.
func (p *planner) ethernetFilterByID(id uint32, core bool, ref named) (EthernetFilter, error) {
	known := p.ethernetFilters
	for _, r := range p.base.PDRs.All() {
		for i := range r.PDI.Ethernet {
			known = append(known, givenFilter{&r.PDI.Ethernet[i], r.PDI.SourceInterface == Core})
		}
	}
	for _, k := range known {
		switch {
		case !k.HasID || k.ID != id:
		case k.core == core:
			return *k.EthernetFilter, nil
		case k.Both:
			return k.reversed(), nil
		}
	}
	return EthernetFilter{}, refuse(ref, ie.EthernetFilterID, "Ethernet filter ID %d was not given before, or not for both directions", id)
}

// ethernetPDI reads what a PDI says of frames.
func (p *planner) ethernetPDI(pdi *PDI, group pfcp.Elements, ref named) error {
	if e := group.First(ie.EthernetPDUSessionInformation); e != nil {
		v, err := e.Uint8()
		if err != nil {
			return err
		}
		pdi.EthernetSession = v&sessionETHI != 0
	}
	for i := range group {
		if group[i].Type != ie.EthernetPacketFilter {
			continue
		}
		f, err := p.ethernetFilter(&group[i], pdi.SourceInterface == Core, ref)
		if err != nil {
			return err
		}
		pdi.Ethernet = append(pdi.Ethernet, f)
	}
	return nil
}

// bridges says whether a network of N6 is a bridge.
func (p *planner) bridges(network uint16) bool {
	return p.policy.Bridge != nil && p.policy.Bridge(network)
}

// ofEthernet says whether a PDR is about frames.
func (r *PDR) ofEthernet() bool { return r.PDI.EthernetSession || len(r.PDI.Ethernet) > 0 }

// ethernetType says of which type the session is, as the message and its PDRs have it.
func (p *planner) ethernetType(message pfcp.Elements) error {
	n := p.change.Next
	n.Ethernet = p.base.Ethernet
	pdn := uint8(0)
	if e := message.First(ie.PDNType); e != nil {
		v, err := e.Uint8()
		if err != nil {
			return err
		}
		pdn = v & 7
		n.Ethernet = n.Ethernet || pdn == PDNTypeEthernet
	}
	var first *PDR
	for _, r := range n.PDRs.All() {
		if r.ofEthernet() {
			first = r
			break
		}
	}
	if first == nil || n.Ethernet {
		return nil
	}
	ref, offending := named{pdrKind, uint32(first.ID)}, uint16(ie.EthernetPDUSessionInformation)
	if len(first.PDI.Ethernet) > 0 {
		offending = ie.EthernetPacketFilter
	}
	switch {
	case pdn != 0:
		return refuse(ref, offending, "PDR %d is of an Ethernet PDU session, and the PDN Type is IP", first.ID)
	case len(p.base.PDRs) > 0:
		return refuse(ref, offending, "PDR %d is of an Ethernet PDU session in one of IP", first.ID)
	}
	n.Ethernet = true
	return nil
}

// checkEthernet sees to it that the rules of an Ethernet session are about frames, and that it is where the UPF has a bridge;
// or that one of IP is not.
func (p *planner) checkEthernet() error {
	n := p.change.Next
	if !n.Ethernet && p.policy.Bridge == nil {
		return nil // as almost everywhere
	}
	for id, r := range n.PDRs.All() {
		ref := named{pdrKind, uint32(id)}
		if n.Ethernet {
			if err := n.checkFrames(r, ref); err != nil {
				return err
			}
		}
		var err error
		n.Matches(r, func(m *Match) {
			if err == nil && comesByN6(r, m) {
				err = p.checkBridge(n.instance(m.NetworkInstance), ref)
			}
		})
		if err != nil {
			return err
		}
	}
	for _, r := range n.FARs.All() {
		if err := p.checkEthernetFAR(r); err != nil {
			return err
		}
	}
	was, is := uint16(0), uint16(0)
	if n.Ethernet && len(p.base.PDRs) > 0 {
		was, _ = p.base.Network(p.policy.Network)
		is, _ = n.Network(p.policy.Network)
	}
	if was != is {
		return refuse(named{}, ie.NetworkInstance, "an Ethernet PDU session stays in its network instance")
	}
	return nil
}

// checkFrames refuses what a PDR asks of IP packets.
func (s *Set) checkFrames(r *PDR, ref named) error {
	const why = "PDR %d of an Ethernet PDU session has %s"
	switch {
	case len(r.PDI.Filters) > 0:
		return refuse(ref, ie.SDFFilter, why, r.ID, "an SDF filter outside an Ethernet packet filter")
	case r.PDI.Application != "":
		return refuse(ref, ie.ApplicationID, why, r.ID, "an Application ID")
	case len(r.Predefined) > 0:
		return refuse(ref, ie.ActivatePredefinedRules, why, r.ID, "a predefined rule")
	}
	var err error
	s.Matches(r, func(m *Match) {
		switch {
		case err != nil:
		case m.UEAddress.IsValid() || m.UEPrefix.IsValid():
			err = refuse(ref, ie.UEIPAddress, why, r.ID, "a UE IP address")
		case len(m.Routes) > 0:
			err = refuse(ref, ie.FramedRoute, why, r.ID, "a framed route")
		case r.Removes && !m.hasFTEID():
			err = refuse(ref, ie.OuterHeaderRemoval, why, r.ID, "an outer header to remove and no tunnel")
		}
	})
	return err
}

// checkBridge sees to it that a network instance is of the session's type.
func (p *planner) checkBridge(instance string, ref named) error {
	network := uint16(0)
	if p.policy.Network != nil {
		network, _ = p.policy.Network(instance)
	}
	switch bridge := p.bridges(network); {
	case bridge == p.change.Next.Ethernet:
		return nil
	case bridge:
		return refuse(ref, ie.NetworkInstance, "network instance %q is of Ethernet PDU sessions", instance)
	}
	return refuse(ref, ie.NetworkInstance, "network instance %q is of IP, and this an Ethernet PDU session", instance)
}

func (p *planner) checkEthernetFAR(r *FAR) error {
	n, ref := p.change.Next, named{farKind, r.ID}
	if r.leavesByN6() {
		if err := p.checkBridge(n.instanceOfFAR(r), ref); err != nil {
			return err
		}
	}
	if !n.Ethernet {
		return nil
	}
	switch {
	case len(r.Duplicates) > 0:
		return refuse(ref, ie.DuplicatingParameters, "FAR %d duplicates frames, which this UPF does not", r.ID)
	case r.Redirect != "":
		return refuse(ref, ie.RedirectInformation, "FAR %d redirects frames", r.ID)
	case r.Outer.Kind > abi.OhcGtpu6:
		return refuse(ref, ie.OuterHeaderCreation, "FAR %d sends frames into another tunnel than GTP-U", r.ID)
	}
	if !r.leavesByN6() || p.policy.Network == nil {
		return nil
	}
	session, _ := n.Network(p.policy.Network)
	if at, _ := p.policy.Network(n.instanceOfFAR(r)); at != session {
		return refuse(ref, ie.NetworkInstance, "FAR %d leads out of the network instance of an Ethernet PDU session", r.ID)
	}
	return nil
}

// AppendStations appends MAC Addresses Detected or Removed (TS 29.244 8.2.103, 8.2.104), one IE for each pair of tags.
func AppendStations(b *pfcp.IEs, ieType uint16, stations []Station) {
	for len(stations) > 0 {
		first := stations[0]
		var rest []Station
		value := []byte{0}
		for _, s := range stations {
			if s.Tags() != first.Tags() || value[0] == 255 {
				rest = append(rest, s)
				continue
			}
			value[0]++
			value = append(value, s.MAC[:]...)
		}
		for _, t := range []struct {
			has bool
			vid uint16
		}{{first.HasCTag, first.CVID}, {first.HasSTag, first.SVID}} {
			if !t.has {
				value = append(value, 0)
				continue
			}
			value = append(value, 3, tagVID)
			value = binary.BigEndian.AppendUint16(value, t.vid<<4&0xf000|t.vid&0xff)
		}
		b.Octets(ieType, value...)
		stations = rest
	}
}

// Station is a MAC address behind a session, in the VLAN of its frames.
type Station struct {
	MAC              MAC
	HasCTag, HasSTag bool
	CVID, SVID       uint16
}

// String is the address, and its VLANs where it has some: 02:00:00:00:00:01, 02:00:00:00:00:01 VLAN 10, … S-VLAN 20 VLAN 10.
func (s Station) String() string {
	text := net.HardwareAddr(s.MAC[:]).String()
	if s.HasSTag {
		text += fmt.Sprintf(" S-VLAN %d", s.SVID)
	}
	if s.HasCTag {
		text += fmt.Sprintf(" VLAN %d", s.CVID)
	}
	return text
}

// Tags is the station without its address.
func (s Station) Tags() Station {
	s.MAC = MAC{}
	return s
}
