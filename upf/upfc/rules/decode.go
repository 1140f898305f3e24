package rules

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/pfcp"
)

// Decoding of the grouped IEs. Each function changes a rule that the caller made or copied, so
// that one function serves Create and Update: an IE that is absent leaves its part as it was.

func ruleID32(group pfcp.Elements, ieType uint16, of string) (uint32, error) {
	e := group.First(ieType)
	if e == nil {
		return 0, pfcp.Missing(ieType, of)
	}
	return e.Uint32()
}

func ids32(group pfcp.Elements, ieType uint16) ([]uint32, error) {
	var out []uint32
	for _, e := range group.All(ieType) {
		v, err := e.Uint32()
		if err != nil {
			return nil, err
		}
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out, nil
}

func (p *planner) pdr(r *PDR, group pfcp.Elements, create bool) error {
	fail := func(ieType uint16, format string, args ...any) error {
		return pfcp.RuleFailure(ieType, ie.RuleIDTypePDR, uint32(r.ID), format, args...)
	}
	if e := group.First(ie.Precedence); e != nil {
		v, err := e.Uint32()
		if err != nil {
			return err
		}
		r.Precedence = v
	} else if create {
		return pfcp.Missing(ie.Precedence, "Create PDR")
	}
	if e := group.First(ie.PDI); e != nil {
		pdi, err := p.pdi(r, e)
		if err != nil {
			return err
		}
		r.PDI = *pdi
	} else if create {
		return pfcp.Missing(ie.PDI, "Create PDR")
	}
	if e := group.First(ie.OuterHeaderRemoval); e != nil {
		v, err := e.Uint8()
		if err != nil {
			return err
		}
		// TS 29.244 8.2.64: 0 is GTP-U/UDP/IPv4, 6 GTP-U/UDP/IP whatever its version.
		if v != 0 && v != 6 {
			return fail(ie.OuterHeaderRemoval, "description %d is not supported", v)
		}
		r.RemoveGTPU = true
	}
	if e := group.First(ie.FARID); e != nil {
		v, err := e.Uint32()
		if err != nil {
			return err
		}
		r.FAR = v
	} else if create {
		return &pfcp.Reject{Cause: ie.CauseConditionalIEMissing, Offending: ie.FARID,
			Rule: &pfcp.RuleRef{Type: ie.RuleIDTypePDR, ID: uint32(r.ID)}, Detail: "Create PDR without FAR ID"}
	}
	for _, list := range []struct {
		ieType uint16
		into   *[]uint32
		max    int
	}{{ie.QERID, &r.QERs, abi.PdrQers}, {ie.URRID, &r.URRs, abi.PdrUrrs}} {
		v, err := ids32(group, list.ieType)
		if err != nil {
			return err
		}
		if len(v) > list.max {
			return &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable, Offending: list.ieType,
				Rule: &pfcp.RuleRef{Type: ie.RuleIDTypePDR, ID: uint32(r.ID)}, Detail: "more rules in one PDR than upf-u takes"}
		}
		if v != nil { // TS 29.244 table 7.5.4.2-1: when present, it replaces
			*list.into = v
		}
	}
	for _, unsupported := range []uint16{ie.ActivatePredefinedRules, ie.DeactivatePredefinedRules, ie.MARID} {
		if group.First(unsupported) != nil {
			return fail(unsupported, "not supported")
		}
	}
	return nil
}

func (p *planner) pdi(r *PDR, e *pfcp.Element) (*PDI, error) {
	fail := func(ieType uint16, format string, args ...any) error {
		return pfcp.RuleFailure(ieType, ie.RuleIDTypePDR, uint32(r.ID), format, args...)
	}
	group, err := e.Group()
	if err != nil {
		return nil, err
	}
	pdi := &PDI{}
	si := group.First(ie.SourceInterface)
	if si == nil {
		return nil, pfcp.Missing(ie.SourceInterface, "PDI")
	}
	if pdi.SourceInterface, err = si.Uint8(); err != nil {
		return nil, err
	}
	switch pdi.SourceInterface &= 0x0f; pdi.SourceInterface {
	case Access, Core:
	case N6LAN:
		pdi.SourceInterface = Core
	default:
		return nil, fail(ie.SourceInterface, "source interface %d is not supported", pdi.SourceInterface)
	}
	if e := group.First(ie.NetworkInstance); e != nil {
		if pdi.NetworkInstance, err = p.networkInstance(e, ie.RuleIDTypePDR, uint32(r.ID)); err != nil {
			return nil, err
		}
	}
	if e := group.First(ie.FTEID); e != nil {
		if err := p.fteid(r, pdi, e); err != nil {
			return nil, err
		}
	}
	if e := group.First(ie.UEIPAddress); e != nil {
		if pdi.UEAddress, err = ueAddress(e, fail); err != nil {
			return nil, err
		}
	}
	for _, e := range group.All(ie.QFI) {
		v, err := e.Uint8()
		if err != nil {
			return nil, err
		}
		if v &= 0x3f; !slices.Contains(pdi.QFIs, v) {
			pdi.QFIs = append(pdi.QFIs, v)
		}
	}
	for _, e := range group.All(ie.SDFFilter) {
		f, err := parseSDFFilter(e.Value)
		if err != nil {
			return nil, fail(ie.SDFFilter, "SDF filter: %v", err)
		}
		if f.HasID && f.Flow == nil && !f.HasToS && !f.HasSPI {
			// TS 29.244 8.2.5: the ID stands for a filter that was given before, in another PDR.
			if f, err = p.filterByID(f.ID); err != nil {
				return nil, fail(ie.SDFFilter, "%v", err)
			}
		} else if f.HasID {
			p.filters[f.ID] = f
		}
		pdi.Filters = append(pdi.Filters, f)
	}
	for _, unsupported := range []uint16{ie.ApplicationID, ie.EthernetPacketFilter, ie.TrafficEndpointID, ie.FramedRoute} {
		if group.First(unsupported) != nil {
			return nil, fail(unsupported, "PDI with an IE of type %d is not supported", unsupported)
		}
	}
	return pdi, nil
}

func (p *planner) fteid(r *PDR, pdi *PDI, e *pfcp.Element) error {
	fail := func(format string, args ...any) error {
		return pfcp.RuleFailure(ie.FTEID, ie.RuleIDTypePDR, uint32(r.ID), format, args...)
	}
	f, err := e.IE().FTEID()
	if err != nil {
		return &pfcp.Reject{Cause: ie.CauseInvalidLength, Offending: ie.FTEID, Detail: "F-TEID is cut short"}
	}
	if f.HasCh() {
		if f.HasIPv6() && !f.HasIPv4() {
			return fail("an F-TEID on IPv6 cannot be chosen")
		}
		return p.choose(r, pdi, f.HasChID(), f.ChooseID)
	}
	a, ok := netip.AddrFromSlice(f.IPv4Address)
	if !f.HasIPv4() || !ok {
		return fail("F-TEID without IPv4 address")
	}
	if !p.policy.OwnsN3(a) {
		return fail("%s is none of this UPF's N3 addresses", a)
	}
	if f.TEID == 0 {
		return fail("TEID 0 is reserved (TS 29.281 5.1)")
	}
	pdi.FTEID = FTEID{Addr: a, TEID: f.TEID}
	return nil
}

// choose allocates an F-TEID (CH). One CHOOSE ID stands for one F-TEID in a message, and a PDR that
// is updated keeps the one that it was given.
func (p *planner) choose(r *PDR, pdi *PDI, hasID bool, id uint8) error {
	pdi.Chosen = true
	if r.PDI.Chosen && r.PDI.FTEID.IsValid() {
		pdi.FTEID = r.PDI.FTEID
		return nil
	}
	if f, ok := p.chosen[id]; hasID && ok {
		pdi.FTEID = f
		return nil
	}
	f, err := p.policy.ChooseFTEID()
	if err != nil {
		return &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable, Offending: ie.FTEID,
			Rule: &pfcp.RuleRef{Type: ie.RuleIDTypePDR, ID: uint32(r.ID)}, Detail: err.Error()}
	}
	if pdi.FTEID = f; hasID {
		p.chosen[id] = f
	}
	return nil
}

// UE IP Address flags (TS 29.244 8.2.62).
const (
	ueV6   = 0x01
	ueV4   = 0x02
	ueCHV4 = 0x10
	ueCHV6 = 0x20
)

func ueAddress(e *pfcp.Element, fail func(uint16, string, ...any) error) (netip.Addr, error) {
	flags, err := e.Uint8()
	if err != nil {
		return netip.Addr{}, err
	}
	switch {
	case flags&(ueCHV4|ueCHV6) != 0:
		return netip.Addr{}, &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable, Offending: ie.UEIPAddress,
			Detail: "this UPF has no pool of UE IP addresses to choose from"}
	case flags&ueV6 != 0:
		return netip.Addr{}, fail(ie.UEIPAddress, "IPv6 UE addresses are not supported")
	case flags&ueV4 == 0:
		return netip.Addr{}, fail(ie.UEIPAddress, "UE IP Address without an address")
	case len(e.Value) < 5:
		return netip.Addr{}, &pfcp.Reject{Cause: ie.CauseInvalidLength, Offending: ie.UEIPAddress, Detail: "UE IP Address is cut short"}
	}
	a := netip.AddrFrom4([4]byte(e.Value[1:5]))
	if a.IsUnspecified() || a.IsMulticast() {
		return netip.Addr{}, fail(ie.UEIPAddress, "%s is no UE's address", a)
	}
	return a, nil
}

func (p *planner) networkInstance(e *pfcp.Element, ruleType uint8, id uint32) (string, error) {
	n := pfcp.Name(e.Value)
	if p.policy.NetworkInstance != nil && !p.policy.NetworkInstance(n) {
		return "", pfcp.RuleFailure(ie.NetworkInstance, ruleType, id, "network instance %q is not configured", n)
	}
	return n, nil
}

// Apply Action bits that are not carried out: doing something else silently would be worse.
const unsupportedActions = 0x10 | 0x20 | 0x40 // DUPL, IPMA, IPMD

func (p *planner) far(r *FAR, group pfcp.Elements, create bool) error {
	fail := func(ieType uint16, format string, args ...any) error {
		return pfcp.RuleFailure(ieType, ie.RuleIDTypeFAR, r.ID, format, args...)
	}
	if e := group.First(ie.ApplyAction); e != nil {
		v, err := e.Uint8() // one octet before Release 16, two since; the second is about paging delay
		if err != nil {
			return err
		}
		if v&unsupportedActions != 0 {
			return fail(ie.ApplyAction, "apply action %#x is not supported", v)
		}
		switch v & (Drop | Forward | Buffer) {
		case Drop, Forward, Buffer:
		default:
			return pfcp.Incorrect(ie.ApplyAction, "apply action %#x: exactly one of DROP, FORW and BUFF is needed", v)
		}
		if v&Notify != 0 && v&Buffer == 0 {
			return pfcp.Incorrect(ie.ApplyAction, "apply action %#x: NOCP needs BUFF", v)
		}
		r.Action = v & (Drop | Forward | Buffer | Notify)
	} else if create {
		return pfcp.Missing(ie.ApplyAction, "Create FAR")
	}

	parameters, of := ie.ForwardingParameters, "Forwarding Parameters"
	if !create {
		parameters, of = ie.UpdateForwardingParameters, "Update Forwarding Parameters"
	}
	e := group.First(parameters)
	if e == nil {
		if create && r.Action&Forward != 0 {
			return &pfcp.Reject{Cause: ie.CauseConditionalIEMissing, Offending: parameters,
				Rule: &pfcp.RuleRef{Type: ie.RuleIDTypeFAR, ID: r.ID}, Detail: "FORW without Forwarding Parameters"}
		}
		return nil
	}
	inner, err := e.Group()
	if err != nil {
		return err
	}
	if e := inner.First(ie.DestinationInterface); e != nil {
		v, err := e.Uint8()
		if err != nil {
			return err
		}
		switch v &= 0x0f; v {
		case Access, Core:
			r.Destination = v
		case N6LAN:
			r.Destination = Core
		default:
			return fail(ie.DestinationInterface, "destination interface %d is not supported", v)
		}
	} else if create {
		return pfcp.Missing(ie.DestinationInterface, of)
	}
	if e := inner.First(ie.NetworkInstance); e != nil {
		if r.NetworkInstance, err = p.networkInstance(e, ie.RuleIDTypeFAR, r.ID); err != nil {
			return err
		}
	}
	if e := inner.First(ie.TransportLevelMarking); e != nil {
		v, err := e.Uint16()
		if err != nil {
			return err
		}
		r.HasToS, r.ToS, r.ToSMask = true, uint8(v>>8), uint8(v)
	}
	if e := inner.First(ie.OuterHeaderCreation); e != nil {
		t, err := outerHeader(e, fail)
		if err != nil {
			return err
		}
		if e := inner.First(ie.PFCPSMReqFlags); e != nil && len(e.Value) > 0 && e.Value[0]&smreqSNDEM != 0 && r.Tunnel.IsValid() && r.Tunnel != t {
			p.change.EndMarkers = append(p.change.EndMarkers, r.Tunnel)
		}
		r.Tunnel = t
	}
	for _, unsupported := range []uint16{ie.RedirectInformation, ie.HeaderEnrichment, ie.ForwardingPolicy} {
		if inner.First(unsupported) != nil {
			return fail(unsupported, "%s with an IE of type %d is not supported", of, unsupported)
		}
	}
	return nil
}

// PFCPSMReq-Flags (TS 29.244 8.2.74).
const (
	smreqSNDEM = 0x02
	smreqQAURR = 0x04
)

// outerHeaderGTPU4 is the Outer Header Creation Description for GTP-U/UDP/IPv4 (TS 29.244 8.2.56).
const outerHeaderGTPU4 = 0x0100

func outerHeader(e *pfcp.Element, fail func(uint16, string, ...any) error) (FTEID, error) {
	if len(e.Value) < 2 {
		return FTEID{}, &pfcp.Reject{Cause: ie.CauseInvalidLength, Offending: e.Type, Detail: "Outer Header Creation is cut short"}
	}
	// Octet 6 holds N19 and N6 indications, which change nothing here.
	if d := binary.BigEndian.Uint16(e.Value) &^ 0xff; d != outerHeaderGTPU4 {
		return FTEID{}, fail(e.Type, "outer header creation %#04x is not supported", d)
	}
	if len(e.Value) < 10 {
		return FTEID{}, &pfcp.Reject{Cause: ie.CauseInvalidLength, Offending: e.Type, Detail: "Outer Header Creation is cut short"}
	}
	return FTEID{TEID: binary.BigEndian.Uint32(e.Value[2:]), Addr: netip.AddrFrom4([4]byte(e.Value[6:10]))}, nil
}

func bitrates(e *pfcp.Element) (ul, dl uint64, err error) {
	if len(e.Value) < 10 {
		return 0, 0, &pfcp.Reject{Cause: ie.CauseInvalidLength, Offending: e.Type, Detail: "bit rates are cut short"}
	}
	kbit := func(b []byte) uint64 {
		return (uint64(b[0])<<32 | uint64(binary.BigEndian.Uint32(b[1:]))) * 1000
	}
	return kbit(e.Value), kbit(e.Value[5:]), nil
}

func (p *planner) qer(r *QER, group pfcp.Elements, create bool) error {
	var err error
	if e := group.First(ie.GateStatus); e != nil {
		v, err := e.Uint8()
		if err != nil {
			return err
		}
		r.ULClosed, r.DLClosed = v>>2&3 != 0, v&3 != 0
	} else if create {
		return pfcp.Missing(ie.GateStatus, "Create QER")
	}
	if e := group.First(ie.MBR); e != nil {
		if r.MBRUL, r.MBRDL, err = bitrates(e); err != nil {
			return err
		}
		r.HasMBR = true
	}
	if e := group.First(ie.GBR); e != nil {
		if r.GBRUL, r.GBRDL, err = bitrates(e); err != nil {
			return err
		}
		r.HasGBR = true
	}
	if e := group.First(ie.QFI); e != nil {
		v, err := e.Uint8()
		if err != nil {
			return err
		}
		r.QFI = v & 0x3f
	}
	return nil
}
