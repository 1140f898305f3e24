package sessions

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/agent/addresses"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
)

// Local F-TEIDs and UE addresses belong to one session each: a packet could not be told whose it is
// otherwise. upf-u, which has them in its maps anyway, is asked instead of an account here: it refuses
// a transaction that takes what another session has, and names that session.

// taken is upf-u's refusal of rules because another session has an F-TEID or UE address of theirs.
type taken struct {
	refused *dataplane.Refused
	index   uint32 // of the session that was refused
	next    *rules.Set
	node    string
}

func (t *taken) Error() string { return t.refused.Error() }

// conflict is the same as an answer to the CP function.
type conflict struct {
	*pfcp.Reject
	holder uint64 // SEID
	// stale: the holder is the same CP function's in the same network instance. The CP function,
	// which has chosen the F-TEID or address, has plainly given it to another session since. One that was chosen
	// here is its holder's, whoever asks for it.
	stale bool
	// chosen: the F-TEID or address was chosen here; another one may be free.
	chosen bool
}

func (c *conflict) Unwrap() error { return c.Reject }

// explain finds out what a refused session and the holder both have. The caller has locked neither.
func (ss *Sessions) explain(err error) error {
	if err == nil {
		return nil
	}
	var t *taken
	if !errors.As(err, &t) {
		return err
	}
	h := ss.o.Leases.Lock(t.refused.Holder)
	if h == nil {
		return ss.refusal(t.refused) // it is going
	}
	defer h.Unlock()
	for id, f := range t.next.FTEIDs() {
		for _, g := range h.Rules.FTEIDs() {
			if t.refused.Refusal == abi.RefusedFteid && f == g {
				return &conflict{pfcp.RuleFailure(ie.FTEID, ie.RuleIDTypePDR, uint32(id), "F-TEID %s %#x belongs to session %#x", f.Addr, f.TEID, h.UPSEID),
					h.UPSEID, h.Node == t.node && !addresses.ChosenFTEID(h.Rules, g), addresses.ChosenFor(f.TEID, t.index)}
			}
		}
	}
	for id, u := range t.next.UEs() {
		for other, v := range h.Rules.UEs() {
			if t.refused.Refusal == abi.RefusedUeIp && u.Overlaps(v) {
				stale := h.Node == t.node && !addresses.ChosenUE(h.Rules, v) && h.Rules.InstanceOf(other) == t.next.InstanceOf(id)
				return &conflict{pfcp.RuleFailure(ie.UEIPAddress, ie.RuleIDTypePDR, uint32(id), "UE IP address %s belongs to session %#x", u.Addr(), h.UPSEID),
					h.UPSEID, stale, addresses.ChosenUE(t.next, u)}
			}
		}
	}
	// A framed route likewise.
	for _, p := range t.next.Routes() {
		if t.refused.Refusal == abi.RefusedUeIp && held(h.Rules, p) {
			offending := uint16(ie.FramedRoute)
			if p.Addr().Is6() {
				offending = ie.FramedIPv6Route
			}
			return &conflict{Reject: &pfcp.Reject{Cause: ie.CauseRuleCreationModificationFailure, Offending: offending,
				Detail: fmt.Sprintf("framed route %s belongs to session %#x", p, h.UPSEID)}, holder: h.UPSEID,
				stale: h.Node == t.node && slices.Contains(h.Rules.Routes(), p) && h.Rules.NetworkInstance() == t.next.NetworkInstance()}
		}
	}
	return ss.refusal(t.refused)
}

// held says whether a session has this framed route, or this prefix as its UE's.
func held(s *rules.Set, p netip.Prefix) bool {
	return slices.Contains(s.Routes(), p) || s.UEPrefix() == p
}
