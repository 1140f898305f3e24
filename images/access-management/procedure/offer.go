package procedure

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"

	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/ngapcause"
)

// A gNB that is connected to one N2 terminator is told of the others, and of those that are going (TS 38.413 8.7.3, TNL associations): so it has several
// associations for its NG interface, and is on others by the time that one ends.
//
//	terminators that it has none with             to Add      it answers which it has made, and which it could not, with causes
//	those that it is there at, of the same weight to Update
//	those that were there, and are no more        to Remove   once it has an association with one that stays
//
// All weigh the same: any terminator serves any UE. What it could not make, or does not know how to, it is not told again until there are other terminators.

// weight of an association (TS 38.413 9.2.6.7, TNL Address Weight Factor).
const weight = 100

// mostTold is how many terminators a gNB is told of (maxnoofTNLAssociations), mostEnds how many addresses of them are remembered of it.
const (
	mostTold = 32
	mostEnds = 2 * mostTold
)

// Offer to a gNB. Message is nil where it is to hear nothing.
type Offer struct {
	Message *n2.AMFConfigurationUpdate
	// ends are those that it may know of then.
	ends   []record.End
	digest uint32
}

// NewOffer is what a gNB is to hear of the terminators; nil: there is nothing to tell of. all are the associations of its NG interface, g among them.
func NewOffer(s *Settings, g *record.GNB, all []*record.GNB) *Offer {
	if s.Removed || len(s.Terminators) == 0 {
		return nil
	}
	m := &n2.AMFConfigurationUpdate{}
	o := &Offer{Message: m, digest: s.offered(), ends: g.Ends}
	if g.Offered == 0 {
		o.ends = Ends(all)
	}
	six, stays := firstOf(g.Peer).Is6(), false
	for _, t := range s.Terminators[:min(len(s.Terminators), mostTold)] {
		at := t.address(six)
		x := n2.Association{Address: addressOf(at), Use: n2.UseForBoth, Weight: new(uint8(weight))}
		by := t.among(all)
		stays = stays || by != nil
		switch {
		case by == nil:
			m.Add = append(m.Add, x)
		case ends(by.Here, x.Address):
			m.Update = append(m.Update, x)
		}
		o.ends = with(o.ends, record.End{Address: at.AsSlice()})
		if by != nil {
			o.ends = marked(o.ends, []n2.Address{x.Address}, false)
		}
	}
	if len(m.Add) == 0 || g.Offered == o.digest {
		m.Add, m.Update = nil, nil
	}
	for _, e := range o.ends {
		if at, _ := netip.AddrFromSlice(e.Address); stays && !s.isThere(at) && len(m.Remove) < mostTold {
			m.Remove = append(m.Remove, addressOf(at))
		}
	}
	if len(m.Add)+len(m.Remove) == 0 {
		o.Message = nil
	}
	return o
}

// Noted is the gNB with the terminators that it has come to by itself, so that it is told when they go, and is not counted as one that cannot connect to them; nil:
// all are noted.
func (o *Offer) Noted(g *record.GNB) *record.GNB {
	if !slices.ContainsFunc(o.ends, func(e record.End) bool {
		return !slices.ContainsFunc(g.Ends, func(x record.End) bool { return bytes.Equal(x.Address, e.Address) && x.Refused == e.Refused })
	}) {
		return nil
	}
	is := *g // others read it
	is.Ends = o.ends
	return &is
}

// Sent is the gNB when it is sent the offer: whether it hears it nobody knows.
func (o *Offer) Sent(g *record.GNB, now int64) *record.GNB {
	is := *g // others read it
	is.Offered, is.Offering, is.Ends = 0, now, o.ends
	return &is
}

// Taken is the gNB when it has acknowledged the offer. One that knows nothing of such lists says nothing of them, and does as before.
func (o *Offer) Taken(g *record.GNB) *record.GNB {
	is := *g
	is.Offered = o.digest
	is.Ends = slices.DeleteFunc(slices.Clone(is.Ends), func(e record.End) bool { return named(o.Message.Remove, e) })
	return &is
}

// Refused is the gNB when it has refused the offer, and says no time to come again.
func (o *Offer) Refused(g *record.GNB) *record.GNB {
	var failed []n2.RefusedAssociation
	for _, a := range o.Message.Add {
		failed = append(failed, n2.RefusedAssociation{Address: a.Address, Cause: ngapcause.MiscUnspecified})
	}
	return Connected(o.Taken(g), nil, failed)
}

// Connected is the gNB when it has said which associations it has made, and which it could not.
func Connected(g *record.GNB, made []n2.Address, failed []n2.RefusedAssociation) *record.GNB {
	if len(made)+len(failed) == 0 {
		return g
	}
	is := *g
	is.Ends = marked(g.Ends, made, false)
	for _, r := range failed {
		is.Ends = marked(is.Ends, []n2.Address{r.Address}, true)
	}
	return &is
}

// marked are the ends, those of the list as refused or not.
func marked(all []record.End, list []n2.Address, refused bool) []record.End {
	out := slices.Clone(all)
	for n := range out {
		if named(list, out[n]) {
			out[n].Refused = refused
		}
	}
	return out
}

// Ends that a gNB may know of, as the records of all its associations have them.
func Ends(all []*record.GNB) (out []record.End) {
	for _, g := range all {
		for _, e := range g.Ends {
			out = with(out, e)
		}
	}
	return out
}

// with an address more, the newest of so many.
func with(list []record.End, e record.End) []record.End {
	if slices.ContainsFunc(list, func(x record.End) bool { return bytes.Equal(x.Address, e.Address) }) {
		return list
	}
	if len(list) >= mostEnds {
		list = list[1:]
	}
	return append(slices.Clip(list), e)
}

// offered is a digest of the terminators, never 0.
func (s *Settings) offered() uint32 {
	h := fnv.New32a()
	fmt.Fprint(h, s.Terminators)
	return h.Sum32() | 1
}

// isThere says whether a terminator has that address.
func (s *Settings) isThere(at netip.Addr) bool {
	return slices.ContainsFunc(s.Terminators, func(t Terminator) bool { return slices.Contains(t.Addresses, at) })
}

// among the associations the one with that terminator; nil: there is none. Where the terminator does not know its own end (SCTP over UDP) it is known by its pod.
func (t *Terminator) among(all []*record.GNB) *record.GNB {
	for _, g := range all {
		if record.PodOf(g.Terminator) == t.Pod || slices.ContainsFunc(t.Addresses, func(at netip.Addr) bool { return ends(g.Here, addressOf(at)) }) {
			return g
		}
	}
	return nil
}

// address of a terminator: of IPv6 where that is how the gNB has come, of what there is else.
func (t *Terminator) address(six bool) netip.Addr {
	for _, at := range t.Addresses {
		if at.Is6() == six {
			return at
		}
	}
	return t.Addresses[0]
}

func addressOf(at netip.Addr) n2.Address {
	if at.Is6() {
		return n2.Address{IPv6: at}
	}
	return n2.Address{IPv4: at}
}

// named says whether an end is one of the list.
func named(list []n2.Address, e record.End) bool {
	at, _ := netip.AddrFromSlice(e.Address)
	return at.IsValid() && slices.ContainsFunc(list, func(a n2.Address) bool { return a.IPv4 == at || a.IPv6 == at })
}
