package compile

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
)

// Input is all that the outcome depends on.
type Input struct {
<<<<<<< working
	Rules     *rules.Set
	QERSlots  map[uint32]uint32 // by QER ID
	GBRSlots  map[uint32]uint32 // by QER ID, of those with a GBR
	URRSlots  map[uint32]uint32 // by URR ID
	Exhausted map[uint32]bool   // URRs whose quota is used up: their PDRs drop
	// Applications gives the flows that PFD management provided for an Application ID. One that is
	// not known any more matches nothing.
	Applications func(id string) []rules.Flow
	Local        Addresses
=======
	Rules    *rules.Set
	QERSlots map[uint32]uint32 // by QER ID
	URRSlots map[uint32]uint32 // by URR ID
	// Local is the outer source address for a session that has no local F-TEID of its own.
	Local netip.Addr
>>>>>>> usage
}

// Addresses are the UPF's own, by IP version: the outer source for a session that has no local
// F-TEID of the version.
type Addresses struct{ V4, V6 netip.Addr }

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

<<<<<<< working
// index is a sort of rule in the order in which its array has them.
type index[K cmp.Ordered] []K

func indexOf[K cmp.Ordered, V any](m map[K]V) index[K] {
	if len(m) == 0 {
		return nil
=======
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
>>>>>>> usage
	}
	ids := make(index[K], 0, len(m))
	for id := range m {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// at is where a rule is in its array; UPF_NONE16 when it is not there.
func (x index[K]) at(id K) uint16 {
	i, ok := slices.BinarySearch(x, id)
	if !ok {
		return abi.None16
	}
	return uint16(i)
}

// compiler is one run of Compile.
type compiler struct {
	in      Input
	out     *Session
	fars    index[uint32]
	qers    index[uint32]
	urrs    index[uint32]
	bars    index[uint8]
	ue4     netip.Addr
	ue6     netip.Prefix
	blocked int // index of the FAR that stands in where a quota is exhausted; -1: not there yet
}

// Compile refuses, with a *pfcp.Reject, only what is too big for upf-u.
func Compile(in Input) (*Session, error) {
	r := in.Rules
	c := &compiler{
		in: in, fars: indexOf(r.FARs), qers: indexOf(r.QERs), urrs: indexOf(r.URRs), bars: indexOf(r.BARs),
		ue4: r.UEAddress(), ue6: r.UEPrefix(), blocked: -1,
		out: &Session{
			PDRs: make([]abi.Pdr, 0, len(r.PDRs)), FARs: make([]abi.Far, 0, len(r.FARs)),
			QERs: make([]abi.Qer, 0, len(r.QERs)), URRs: make([]abi.Urr, 0, len(r.URRs)),
		},
	}
<<<<<<< working
	for _, id := range c.bars {
		c.out.BARs = append(c.out.BARs, bar(r.BARs[id]))
=======
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
>>>>>>> usage
	}
	if err := c.allFARs(); err != nil {
		return nil, err
	}
	for _, id := range c.qers {
		c.out.QERs = append(c.out.QERs, c.qer(r.QERs[id]))
	}
	for _, id := range c.urrs {
		c.out.URRs = append(c.out.URRs, c.urr(r.URRs[id]))
	}
	// TS 29.244 8.2.11: the lowest precedence value is tried first.
	order := make([]*rules.PDR, 0, len(r.PDRs))
	for _, p := range r.PDRs {
		order = append(order, p)
	}
	slices.SortFunc(order, func(a, b *rules.PDR) int {
		return cmp.Or(cmp.Compare(a.Precedence, b.Precedence), cmp.Compare(a.ID, b.ID))
	})
	for _, p := range order {
		if err := c.pdr(p); err != nil {
			return nil, err
		}
	}
	if len(c.out.FARs) > abi.SessionFars {
		return nil, &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable, Detail: "too many FARs and duplicates in a session"}
	}
	return c.out, nil
}

func tooBig(r *rules.PDR, format string, args ...any) error {
	return &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable,
		Rule: &pfcp.RuleRef{Type: ie.RuleIDTypePDR, ID: uint32(r.ID)}, Detail: fmt.Sprintf(format, args...)}
}
