package compile

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net"
	"net/netip"
	"slices"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
)

// gtpuPort is the peer's (TS 29.281 4.4.2).
const gtpuPort = 2152

// Input is all that the outcome depends on.
type Input struct {
	Rules    *rules.Set
	QERSlots map[uint32]uint32 // by QER ID
	URRSlots map[uint32]uint32 // by URR ID
	// Local is the outer source address for a session that has no local F-TEID of its own.
	Local netip.Addr
}

// Session is what a SESSION_PUT carries.
type Session struct {
	PDRs  []abi.Pdr
	FARs  []abi.Far
	QERs  []abi.Qer
	URRs  []abi.Urr
	BARs  []abi.Bar
	SDFs  []abi.Sdf
	SDF6s []abi.Sdf6
	Text  string // redirect URLs
}

// Size is the length of its arrays in octets.
func (s *Session) Size() int {
	return len(abi.Bytes(s.PDRs)) + len(abi.Bytes(s.FARs)) + len(abi.Bytes(s.QERs)) +
		len(abi.Bytes(s.URRs)) + len(abi.Bytes(s.BARs)) + len(abi.Bytes(s.SDFs)) + len(abi.Bytes(s.SDF6s)) + len(s.Text)
}

// Compile refuses, with a *pfcp.Reject, only what is too big for upf-u.
func Compile(in Input) (*Session, error) {
	s := &Session{}
	farAt := map[uint32]uint16{}
	for _, id := range slices.Sorted(maps.Keys(in.Rules.FARs)) {
		farAt[id] = uint16(len(s.FARs))
		s.FARs = append(s.FARs, far(in, in.Rules.FARs[id]))
	}
	qerAt := map[uint32]uint16{}
	for _, id := range slices.Sorted(maps.Keys(in.Rules.QERs)) {
		qerAt[id] = uint16(len(s.QERs))
		s.QERs = append(s.QERs, qer(in, in.Rules.QERs[id]))
	}
	urrAt := map[uint32]uint16{}
	for _, id := range slices.Sorted(maps.Keys(in.Rules.URRs)) {
		urrAt[id] = uint16(len(s.URRs))
		s.URRs = append(s.URRs, urr(in, in.Rules.URRs[id], farAt))
	}

	// TS 29.244 8.2.11: the lowest precedence value is tried first.
	order := slices.SortedFunc(maps.Values(in.Rules.PDRs), func(a, b *rules.PDR) int {
		return cmp.Or(cmp.Compare(a.Precedence, b.Precedence), cmp.Compare(a.ID, b.ID))
	})
	ue := in.Rules.UEAddress()
	for _, r := range order {
		p := abi.Pdr{
			Precedence: r.Precedence, PdrId: r.ID, SourceInterface: r.PDI.SourceInterface, Far: farAt[r.FAR],
			NQer: uint8(len(r.QERs)),
		}
		if r.PDI.FTEID.IsValid() {
			p.Flags |= abi.PdrTeid
			p.N3Addr, p.Teid = abi.AddrOf(r.PDI.FTEID.Addr), r.PDI.FTEID.TEID
		}
		// A PDR that names no UE address still belongs to this one UE: uplink packets of another
		// source are spoofed, whatever the CP function left out.
		if ue.IsValid() {
			p.Flags |= abi.PdrUeIpv4
			p.UeAddrBe = abi.AddrBe(ue)
		}
		if r.RemoveGTPU {
			p.Flags |= abi.PdrRemove
		}
		for i, id := range r.QERs {
			p.Qer[i] = qerAt[id]
		}
		for _, id := range r.URRs {
			if in.Rules.URRs[id].Is(rules.Paused) {
				continue // TS 29.244 8.2.68 INAM: what passes meanwhile is not measured
			}
			p.Urr[p.NUrr] = urrAt[id]
			p.NUrr++
		}
		first := len(s.SDFs)
		for _, f := range r.PDI.Filters {
			s.SDFs = appendSDF(s.SDFs, f, ue)
		}
		if len(s.SDFs) > abi.SessionSdfs {
			return nil, tooBig(r, fmt.Sprintf("more than %d SDF filters in a session", abi.SessionSdfs))
		}
		p.SdfFirst, p.SdfCount = uint16(first), uint16(len(s.SDFs)-first)
		if len(r.PDI.Filters) > 0 {
			p.Flags |= abi.PdrSdf
		}
		if len(r.PDI.QFIs) == 0 {
			s.PDRs = append(s.PDRs, p)
		}
		for _, qfi := range r.PDI.QFIs { // one of them must match: a PDR for each
			p.Flags |= abi.PdrQfi
			p.Qfi = qfi
			s.PDRs = append(s.PDRs, p)
		}
		if len(s.PDRs) > abi.SessionPdrs {
			return nil, tooBig(r, fmt.Sprintf("more than %d PDRs in a session", abi.SessionPdrs))
		}
	}
	if len(s.FARs) > abi.SessionFars {
		return nil, &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable, Detail: "too many FARs in a session"}
	}
	return s, nil
}

func tooBig(r *rules.PDR, detail string) error {
	return &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable,
		Rule: &pfcp.RuleRef{Type: ie.RuleIDTypePDR, ID: uint32(r.ID)}, Detail: detail}
}

func far(in Input, r *rules.FAR) abi.Far {
	f := abi.Far{FarId: r.ID, Action: r.Action, DestinationInterface: r.Destination, Bar: abi.None16}
	if r.HasToS {
		f.Flags |= abi.FarTos
		f.Tos, f.TosMask = r.ToS&r.ToSMask, r.ToSMask
	}
	if r.Tunnel.IsValid() {
		f.Ohc = abi.OhcGtpu4
		f.PeerAddr, f.Teid, f.PeerPort = abi.AddrOf(r.Tunnel.Addr), r.Tunnel.TEID, gtpuPort
		f.LocalAddr = abi.AddrOf(Local(in.Rules, r.Destination, in.Local))
	}
	return f
}

// Local is the outer source address towards an interface: the session's own F-TEID there, else any
// of its F-TEIDs, else the given one.
func Local(set *rules.Set, towards uint8, otherwise netip.Addr) netip.Addr {
	local, best := otherwise, math.MaxInt
	for id, r := range set.PDRs {
		if !r.PDI.FTEID.IsValid() {
			continue
		}
		rank := int(id) // the lowest PDR ID, so that the outcome is the same each time
		if r.PDI.SourceInterface != towards {
			rank += 1 << 16
		}
		if rank < best {
			local, best = r.PDI.FTEID.Addr, rank
		}
	}
	return local
}

func qer(in Input, r *rules.QER) abi.Qer {
	q := abi.Qer{QerId: r.ID, Slot: in.QERSlots[r.ID], Qfi: r.QFI}
	if r.ULClosed {
		q.Flags |= abi.QerGateUlClosed
	}
	if r.DLClosed {
		q.Flags |= abi.QerGateDlClosed
	}
	if r.HasMBR {
		q.Flags |= abi.QerMbr
		q.MbrUl, q.MbrDl = r.MBRUL, r.MBRDL
	}
	return q
}

func urr(in Input, r *rules.URR, farAt map[uint32]uint16) abi.Urr {
	u := abi.Urr{UrrId: r.ID, Slot: in.URRSlots[r.ID], QuotaFar: abi.None16}
	if r.Is(rules.BeforeQoS) {
		u.Flags |= abi.UrrBeforeQos
	}
	if r.Timed() {
		u.Flags |= abi.UrrTimed
	}
	if more := r.Rest(); more.HasQuotaFAR {
		u.QuotaFar = farAt[more.QuotaFAR]
	}
	return u
}

// appendSDF adds one entry for each pair of port ranges: an entry holds one range a side.
func appendSDF(list []abi.Sdf, f rules.SDFFilter, ue netip.Addr) []abi.Sdf {
	base := abi.Sdf{RemotePortHi: math.MaxUint16, LocalPortHi: math.MaxUint16}
	if f.HasToS {
		base.Flags |= abi.SdfTos
		base.Tos, base.TosMask = f.ToS&f.ToSMask, f.ToSMask
	}
	if f.HasSPI {
		base.Flags |= abi.SdfSpi
		base.Spi = f.SPI
	}
	if f.Flow == nil {
		return append(list, base)
	}
	if f.Flow.HasProtocol {
		base.Flags |= abi.SdfProto
		base.Proto = f.Flow.Protocol
	}
	base.RemoteAddrBe, base.RemoteMaskBe = addrMask(f.Flow.Remote, ue)
	base.LocalAddrBe, base.LocalMaskBe = addrMask(f.Flow.Local, ue)
	if len(f.Flow.Remote.Ports)+len(f.Flow.Local.Ports) > 0 {
		base.Flags |= abi.SdfPorts
	}
	every := []rules.PortRange{{Low: 0, High: math.MaxUint16}}
	for _, remote := range either(f.Flow.Remote.Ports, every) {
		for _, local := range either(f.Flow.Local.Ports, every) {
			e := base
			e.RemotePortLo, e.RemotePortHi = remote.Low, remote.High
			e.LocalPortLo, e.LocalPortHi = local.Low, local.High
			list = append(list, e)
		}
	}
	return list
}

func either(a, b []rules.PortRange) []rules.PortRange {
	if len(a) > 0 {
		return a
	}
	return b
}

func addrMask(side rules.Side, ue netip.Addr) (addr, mask uint32) {
	p := side.Prefix
	if side.Assigned && ue.IsValid() {
		p = netip.PrefixFrom(ue, 32)
	}
	if !p.IsValid() {
		return 0, 0
	}
	m := [4]byte(net.CIDRMask(p.Bits(), 32))
	return abi.AddrBe(p.Addr()), abi.AddrBe(netip.AddrFrom4(m))
}
