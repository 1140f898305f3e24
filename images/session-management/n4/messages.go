package n4

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// Flags and values of TS 29.244.
const (
	actionDrop, actionForward, actionBuffer, actionNotify = 0x01, 0x02, 0x04, 0x08

	fteidIPv4, fteidIPv6, fteidChoose, fteidChooseID = 0x01, 0x02, 0x04, 0x08
	uplinkChooseID, relayChooseID                    = 1, 2

	ueIPv6, ueIPv4, ueDestination, ueChooseIPv4, ueChooseIPv6, uePrefixLength = 0x01, 0x02, 0x04, 0x10, 0x20, 0x40

	headerGTPUIPv4, headerGTPUIPv6 = 0x0100, 0x0200
	removeGTPU                     = 6 // GTP-U/UDP/IP
	sendEndMarkers                 = 0x02
	pdnIPv4, pdnIPv6, pdnIPv4v6    = 1, 2, 3
	// kilobit: rates are told in kbit/s (TS 29.244 8.2.8, 8.2.9), rounded up.
	kilobit = 1000
)

// Establishment asks for a session; Node ID and CP F-SEID are its sender's. The unit chooses the F-TEID (FTUP) and the UE's addresses (UEIP) where the record
// has none: a record that has them, because its unit has lost it, gets the same ones.
func Establishment(s *record.Session, set Settings) ([]*ie.IE, error) {
	set = set.at(s.Unit.NodeID)
	r := rulesOf(s, set)
	pdn, ok := pdnTypes[s.Type]
	if !ok {
		return nil, fmt.Errorf("PDU session type %d has no rules", s.Type)
	}
	ies := []*ie.IE{ie.NewPDNType(pdn)}
	for _, p := range r.pdrs {
		if p.unknown != "" {
			return nil, p.fault()
		}
		ies = append(ies, ie.NewCreatePDR(p.elements(s, set)...))
	}
	ies = append(ies,
		ie.NewCreateFAR(ie.NewFARID(farUplink), ie.NewApplyAction(actionForward),
			ie.NewForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceCore), ie.NewNetworkInstance(set.Core))),
		ie.NewCreateFAR(append(r.far.elements(), ie.NewForwardingParameters(r.far.forwarding(set)...))...),
		ie.NewCreateBAR(ie.NewBARID(barDownlink), ie.NewDownlinkDataNotificationDelay(0)))
	for _, q := range r.qers {
		ies = append(ies, ie.NewCreateQER(q.elements()...))
	}
	for _, g := range r.urrs {
		ies = append(ies, ie.NewCreateURR(urrElements(g)...))
	}
	if r.frames {
		ies = append(ies, macURR())
	}
	if r.relay != (record.Tunnel{}) {
		ies = append(ies, relayPDR(s.Handover.Relay, set), ie.NewCreateFAR(relayFAR(r.relay, set, false)...))
	}
	return ies, nil
}

// restore is RESTI of PFCPSEReq-Flags.
const restore = 0x01

// Restored asks for a session that the unit has had: what it had chosen for it, it takes again (TS 29.244 8.2.177, RESTI).
func Restored(establishment []*ie.IE) []*ie.IE {
	return append(establishment, ie.NewPFCPSEReqFlags(restore))
}

// Modification asks for the difference between two records of a session: none where it has none. endMarkers has the unit
// end the tunnel that it leaves (TS 29.281 7.3.2). all has every rule told that stays, too, but for URRs.
func Modification(before, after *record.Session, set Settings, endMarkers, all bool) ([]*ie.IE, error) {
	set = set.at(after.Unit.NodeID)
	old, r := rulesOf(before, set), rulesOf(after, set)
	var ies []*ie.IE
	for _, p := range old.pdrs {
		if _, stays := r.pdr(p.id); !stays {
			ies = append(ies, ie.NewRemovePDR(ie.NewPDRID(p.id)))
		}
	}
	none := record.Tunnel{}
	if old.relay != none && r.relay == none {
		ies = append(ies, ie.NewRemovePDR(ie.NewPDRID(pdrRelay)), ie.NewRemoveFAR(ie.NewFARID(farRelay)))
	}
	for _, q := range old.qers {
		if _, stays := r.qer(q.id); !stays {
			ies = append(ies, ie.NewRemoveQER(ie.NewQERID(q.id)))
		}
	}
	for _, g := range old.urrs {
		if !r.hasURR(g.URR) {
			ies = append(ies, ie.NewRemoveURR(ie.NewURRID(g.URR)))
		}
	}
	for _, p := range r.pdrs {
		switch was, existed := old.pdr(p.id); {
		case existed && was == p && (!all || p.unknown != ""):
		case p.unknown != "":
			return nil, p.fault()
		case !existed:
			ies = append(ies, ie.NewCreatePDR(p.elements(after, set)...))
		default:
			ies = append(ies, ie.NewUpdatePDR(p.elements(after, set)...))
		}
	}
	if r.far != old.far || all {
		elements := append(r.far.elements(), ie.NewUpdateForwardingParameters(r.far.forwarding(set)...))
		if endMarkers && old.far.state == toAccess && r.far.state == toAccess && old.far.tunnel != r.far.tunnel {
			elements[len(elements)-1] = ie.NewUpdateForwardingParameters(append(r.far.forwarding(set), ie.NewPFCPSMReqFlags(sendEndMarkers))...)
		}
		ies = append(ies, ie.NewUpdateFAR(elements...))
	}
	switch {
	case r.relay == none || r.relay == old.relay && !all:
	case old.relay == none:
		ies = append(ies, relayPDR(after.Handover.Relay, set), ie.NewCreateFAR(relayFAR(r.relay, set, false)...))
	default:
		ies = append(ies, ie.NewUpdateFAR(relayFAR(r.relay, set, true)...))
	}
	for _, q := range r.qers {
		switch was, existed := old.qer(q.id); {
		case !existed:
			ies = append(ies, ie.NewCreateQER(q.elements()...))
		case was != q || all:
			ies = append(ies, ie.NewUpdateQER(q.elements()...))
		}
	}
	for _, g := range r.urrs {
		switch {
		case !old.hasURR(g.URR):
			ies = append(ies, ie.NewCreateURR(urrElements(g)...))
		case g.Renew: // never all: a quota that is told twice is granted twice
			ies = append(ies, ie.NewUpdateURR(urrElements(g)...))
		}
	}
	return ies, nil
}

func (p pdrRule) fault() error {
	return fmt.Errorf("the Slice has no flow %q with such filters", p.unknown)
}

// relayPDR takes what the source of a handover forwards: the container of each packet, and its QFI in it, goes on as it came.
func relayPDR(local record.Tunnel, set Settings) *ie.IE {
	return ie.NewCreatePDR(ie.NewPDRID(pdrRelay), ie.NewPrecedence(defaultPrecedence),
		ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceAccess), fteid(local, relayChooseID), ie.NewNetworkInstance(set.Access)),
		ie.NewOuterHeaderRemoval(removeGTPU, 0), ie.NewFARID(farRelay))
}

func relayFAR(to record.Tunnel, set Settings, update bool) []*ie.IE {
	parameters := (farRule{state: toAccess, tunnel: to}).forwarding(set)
	ies := []*ie.IE{ie.NewFARID(farRelay), ie.NewApplyAction(actionForward)}
	if update {
		return append(ies, ie.NewUpdateForwardingParameters(parameters...))
	}
	return append(ies, ie.NewForwardingParameters(parameters...))
}

// Relayed is where the unit takes what the source of a handover forwards, by the Created PDRs of its answer.
func Relayed(list []*ie.IE) (record.Tunnel, error) { return chosenTunnel(list, pdrRelay) }

func (p pdrRule) elements(s *record.Session, set Settings) []*ie.IE {
	var pdi []*ie.IE
	if p.uplink {
		pdi = append(pdi, ie.NewSourceInterface(ie.SrcInterfaceAccess), fteid(s.Uplink, uplinkChooseID), ie.NewNetworkInstance(set.Access))
	} else {
		pdi = append(pdi, ie.NewSourceInterface(ie.SrcInterfaceCore), ie.NewNetworkInstance(set.Core))
	}
	switch frames := s.Type == n1.Ethernet; {
	case !frames:
		pdi = append(pdi, ueAddress(s, !p.uplink))
		if !p.uplink {
			pdi = append(pdi, framedRoutes(s)...)
		}
	case !p.uplink:
		pdi = append(pdi, ie.NewEthernetPDUSessionInformation(wholeSession))
	}
	for _, f := range p.frameFilters() {
		pdi = append(pdi, packetFilter(f, p.uplink))
	}
	if p.sdf != "" {
		for line := range strings.SplitSeq(p.sdf, "\n") {
			pdi = append(pdi, ie.NewSDFFilter(line, "", "", "", 0))
		}
	}
	ies := []*ie.IE{ie.NewPDRID(p.id), ie.NewPrecedence(p.precedence), ie.NewPDI(pdi...)}
	ies = append(ies, poolsOf(s, set)...)
	if p.uplink {
		ies = append(ies, ie.NewOuterHeaderRemoval(removeGTPU, 0))
	}
	ies = append(ies, ie.NewFARID(p.far))
	for id := range strings.FieldsSeq(p.qers) {
		n, _ := strconv.ParseUint(id, 10, 32) // written above
		ies = append(ies, ie.NewQERID(uint32(n)))
	}
	if p.urr != 0 {
		ies = append(ies, ie.NewURRID(p.urr))
	}
	if p.uplink && s.Type == n1.Ethernet {
		ies = append(ies, ie.NewURRID(urrMACs))
	}
	return ies
}

// poolsOf the session where the unit is to choose an address: each as a UE IP Address Pool Identity, a length of two
// octets and a name (TS 29.244 8.2.128).
func poolsOf(s *record.Session, set Settings) (ies []*ie.IE) {
	for _, pool := range set.Pools {
		v4 := pool.Addr().Is4()
		if v4 && (s.IPv4.IsValid() || s.Type == n1.IPv6) || !v4 && (s.IPv6.IsValid() || s.Type == n1.IPv4) {
			continue
		}
		name, named := set.pools[pool]
		if !named {
			name = pool.String()
		}
		if name == "" {
			continue
		}
		ies = append(ies, ie.New(ie.UEIPAddressPoolIdentity, append([]byte{0, byte(len(name))}, name...)))
	}
	return ies
}

// fteid that the session has, or one that the unit chooses, the same for all PDRs of a choose ID.
func fteid(t record.Tunnel, choose uint8) *ie.IE {
	if t.TEID == 0 {
		return ie.NewFTEID(fteidIPv4|fteidChoose|fteidChooseID, 0, nil, nil, choose)
	}
	flags := uint8(0)
	var v4, v6 net.IP
	if t.IPv4.IsValid() {
		flags, v4 = flags|fteidIPv4, t.IPv4.AsSlice()
	}
	if t.IPv6.IsValid() {
		flags, v6 = flags|fteidIPv6, t.IPv6.AsSlice()
	}
	return ie.NewFTEID(flags, t.TEID, v4, v6, 0)
}

// ueAddress of the session, or of what of it the unit is to choose (TS 29.244 8.2.62).
func ueAddress(s *record.Session, destination bool) *ie.IE {
	var flags uint8
	var addresses []byte
	if destination {
		flags |= ueDestination
	}
	if s.Type == n1.IPv4 || s.Type == n1.IPv4v6 {
		if s.IPv4.IsValid() {
			flags |= ueIPv4
			addresses = append(addresses, s.IPv4.AsSlice()...)
		} else {
			flags |= ueChooseIPv4
		}
	}
	if s.Type == n1.IPv6 || s.Type == n1.IPv4v6 {
		if s.IPv6.IsValid() {
			flags |= ueIPv6
			addresses = append(addresses, s.IPv6.Addr().AsSlice()...)
			if s.IPv6.Bits() != 64 {
				flags |= uePrefixLength
				addresses = append(addresses, byte(s.IPv6.Bits()))
			}
		} else {
			flags |= ueChooseIPv6
		}
	}
	return ie.New(ie.UEIPAddress, append([]byte{flags}, addresses...))
}

func (f farRule) elements() []*ie.IE {
	action := map[farState]uint8{toAccess: actionForward, buffering: actionBuffer, notifying: actionBuffer | actionNotify, dropping: actionDrop}[f.state]
	ies := []*ie.IE{ie.NewFARID(farDownlink), ie.NewApplyAction(action)}
	if f.state == buffering || f.state == notifying {
		ies = append(ies, ie.NewBARID(barDownlink))
	}
	return ies
}

func (f farRule) forwarding(set Settings) []*ie.IE {
	ies := []*ie.IE{ie.NewDestinationInterface(ie.DstInterfaceAccess), ie.NewNetworkInstance(set.Access)}
	if f.state == toAccess {
		if f.tunnel.IPv4.IsValid() {
			return append(ies, ie.NewOuterHeaderCreation(headerGTPUIPv4, f.tunnel.TEID, f.tunnel.IPv4.String(), "", 0, 0, 0))
		}
		return append(ies, ie.NewOuterHeaderCreation(headerGTPUIPv6, f.tunnel.TEID, "", f.tunnel.IPv6.String(), 0, 0, 0))
	}
	return ies
}

func (q qerRule) elements() []*ie.IE {
	ies := []*ie.IE{ie.NewQERID(q.id), ie.NewGateStatus(gate(q.closed, n1.Uplink), gate(q.closed, n1.Downlink))}
	if q.mbrUp != 0 || q.mbrDown != 0 {
		ies = append(ies, ie.NewMBR(kilobits(q.mbrUp), kilobits(q.mbrDown)))
	}
	if q.gbrUp != 0 || q.gbrDown != 0 {
		ies = append(ies, ie.NewGBR(kilobits(q.gbrUp), kilobits(q.gbrDown)))
	}
	if q.isFlow {
		ies = append(ies, ie.NewQFI(q.qfi))
	}
	return ies
}

// gate of a direction (TS 29.244 8.2.7): 1 is closed.
func gate(closed uint8, direction n1.Direction) uint8 {
	if n1.Direction(closed)&direction != 0 {
		return 1
	}
	return 0
}

func kilobits(bps uint64) uint64 { return (bps + kilobit - 1) / kilobit }

// Refusal is an answer of the unit that accepts nothing.
type Refusal struct {
	// Cause of TS 29.244 8.2.1.
	Cause uint8
}

func (r *Refusal) Error() string { return fmt.Sprintf("the UPF refused with cause %d", r.Cause) }

// Established writes into the session what the unit has chosen. An answer that lacks what it was asked for, or that
// contradicts what the session has, is an error, and the session stays as it was.
func Established(s *record.Session, m *message.SessionEstablishmentResponse) error {
	if err := accepted(m.Cause); err != nil {
		return err
	}
	out := *s
	if m.UPFSEID == nil {
		return errors.New("the UPF's answer has no UP F-SEID")
	}
	id, err := m.UPFSEID.FSEID()
	if err != nil {
		return fmt.Errorf("the UPF's F-SEID: %w", err)
	}
	out.UPSEID = id.SEID
	for _, created := range m.CreatedPDR {
		if f, err := created.FTEID(); err == nil && out.Uplink.TEID == 0 {
			out.Uplink = record.Tunnel{TEID: f.TEID}
			out.Uplink.IPv4, _ = netip.AddrFromSlice(f.IPv4Address.To4())
			if f.IPv4Address == nil {
				out.Uplink.IPv6, _ = netip.AddrFromSlice(f.IPv6Address)
			}
		}
		children, err := created.CreatedPDR()
		if err != nil {
			return fmt.Errorf("a Created PDR of the UPF: %w", err)
		}
		for _, c := range children {
			if c.Type == ie.UEIPAddress && s.Type != n1.Ethernet {
				if err := chosen(&out, c); err != nil {
					return err
				}
			}
		}
	}
	switch {
	case out.Uplink.TEID == 0 || !out.Uplink.IPv4.IsValid() && !out.Uplink.IPv6.IsValid():
		return errors.New("the UPF has chosen no F-TEID")
	case (s.Type == n1.IPv4 || s.Type == n1.IPv4v6) && !out.IPv4.IsValid():
		return errors.New("the UPF has chosen no IPv4 address")
	case (s.Type == n1.IPv6 || s.Type == n1.IPv4v6) && !out.IPv6.IsValid():
		return errors.New("the UPF has chosen no IPv6 prefix")
	}
	*s = out
	return nil
}

func chosen(s *record.Session, c *ie.IE) error {
	a, err := c.UEIPAddress()
	if err != nil {
		return fmt.Errorf("the UPF's UE IP Address: %w", err)
	}
	if v4, ok := netip.AddrFromSlice(a.IPv4Address.To4()); ok && a.Flags&ueIPv4 != 0 {
		if s.IPv4.IsValid() && s.IPv4 != v4 {
			return fmt.Errorf("the UPF has chosen %s for a session that has %s", v4, s.IPv4)
		}
		s.IPv4 = v4
	}
	if v6, ok := netip.AddrFromSlice(a.IPv6Address.To16()); ok && a.Flags&ueIPv6 != 0 {
		bits := 64
		if a.Flags&uePrefixLength != 0 {
			bits = int(a.IPv6PrefixLength)
		}
		prefix, err := v6.Prefix(bits)
		if err != nil {
			return fmt.Errorf("the UPF's UE IP Address: %w", err)
		}
		if s.IPv6.IsValid() && s.IPv6 != prefix {
			return fmt.Errorf("the UPF has chosen %s for a session that has %s", prefix, s.IPv6)
		}
		s.IPv6 = prefix
	}
	return nil
}

// Modified is nil where the unit has accepted.
func Modified(m *message.SessionModificationResponse) error { return accepted(m.Cause) }

func accepted(cause *ie.IE) error {
	if cause == nil {
		return errors.New("the UPF's answer has no cause")
	}
	c, err := cause.Cause()
	if err != nil {
		return fmt.Errorf("the UPF's cause: %w", err)
	}
	if c != ie.CauseRequestAccepted {
		return &Refusal{Cause: c}
	}
	return nil
}
