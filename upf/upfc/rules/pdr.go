package rules

import (
	"slices"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/pfcp"
)

// PDR is a Packet Detection Rule, TS 29.244 tables 7.5.2.2-1 and 7.5.4.2-1.
type PDR struct {
	ID         uint16
	Precedence uint32
	PDI        PDI
	Removes    bool
	Removal    uint8 // Outer Header Removal Description (TS 29.244 8.2.64), if Removes
	FAR        uint32
	QERs       []uint32
	URRs       []uint32
	// Predefined are the names of the predefined rules that are active; Deactivated: those that were are not any more.
	Predefined  []string
	Deactivated bool
}

// Outer Header Removal Descriptions (TS 29.244 8.2.64).
const (
	removeGTPU4  = 0
	removeGTPU6  = 1
	removeGTPU   = 6 // over whatever version of IP
	removalsEnd  = 7 // from here on they are about Ethernet
	tunnelRemove = 1<<removeGTPU4 | 1<<removeGTPU6 | 1<<removeGTPU
)

// What asks for something else than a PDR without it would do, and is not had here, is refused;
// other IEs that are not known are ignored.
var unsupportedInPDR = []uint16{
	ie.MARID, ie.ActivationTime, ie.DeactivationTime, ie.PacketReplicationAndDetectionCarryOnInformation,
	ie.IPMulticastAddressingInfo, ie.MPTCPApplicableIndication, ie.TransportDelayReporting,
}

func (p *planner) pdr(r *PDR, group pfcp.Elements, create bool) error {
	ref := named{pdrKind, uint32(r.ID)}
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
		pdi, err := p.pdi(r, group, e, ref)
		if err != nil {
			return err
		}
		r.PDI = pdi
	} else if create {
		return pfcp.Missing(ie.PDI, "Create PDR")
	}
	if e := group.First(ie.OuterHeaderRemoval); e.Removes(create) {
		r.Removes, r.Removal = false, 0
	} else if e != nil {
		v, err := e.Uint8()
		if err != nil {
			return err
		}
		if v >= removalsEnd {
			return refuse(ref, ie.OuterHeaderRemoval, "Outer Header Removal %d is not supported", v)
		}
		r.Removes, r.Removal = true, v
	}
	if e := group.First(ie.FARID); e != nil {
		v, err := e.Uint32()
		if err != nil {
			return err
		}
		r.FAR = v
	} else if create {
		return &pfcp.Reject{Cause: ie.CauseConditionalIEMissing, Offending: ie.FARID, Rule: ref.ref(), Detail: "Create PDR without FAR ID"}
	}
	if err := p.ruleIDs(group, ie.QERID, &r.QERs, abi.PdrQers, create, ref); err != nil {
		return err
	}
	if err := p.ruleIDs(group, ie.URRID, &r.URRs, abi.PdrUrrs, create, ref); err != nil {
		return err
	}
	if err := p.predefined(r, group, ref); err != nil {
		return err
	}
	return unsupported(group, unsupportedInPDR, ref)
}

// ruleIDs reads the list of QER IDs or URR IDs of a PDR. When present it replaces (TS 29.244 table
// 7.5.4.2-1); one of length 0 in an update takes all away (5.6.3).
func (p *planner) ruleIDs(group pfcp.Elements, ieType uint16, into *[]uint32, limit int, create bool, ref named) error {
	if cap(p.ids)-len(p.ids) < limit {
		p.ids = make([]uint32, 0, max(16, limit))
	}
	list := p.ids[len(p.ids):]
	present := false
	for i := range group {
		e := &group[i]
		if e.Type != ieType {
			continue
		}
		present = true
		if e.Removes(create) {
			continue
		}
		v, err := e.Uint32()
		if err != nil {
			return err
		}
		if !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	if len(list) > limit {
		return &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable, Offending: ieType, Rule: ref.ref(), Detail: "more rules in one PDR than upf-u takes"}
	}
	if !present {
		return nil
	}
	*into = nil
	if n := len(p.ids) + len(list); len(list) > 0 {
		*into, p.ids = p.ids[len(p.ids):n:n], p.ids[:n]
	}
	return nil
}
