package procedure

import (
	"slices"

	"core5g.dev/core5g/images/access-management/record"
)

// Which slices a UE gets (TS 23.501 5.15.5.2.1), without an NSSF: what it asks for, as far as it has subscribed to it and as its tracking area and the
// catalogue have it. Where it asks for nothing, or for nothing that it has subscribed to, its default S-NSSAIs.

// Causes of TS 24.501 9.11.3.46.
const (
	notInPLMN uint8 = 0
	notInArea uint8 = 1
)

// mostAllowed S-NSSAIs a UE may have (TS 24.501 9.11.3.37).
const mostAllowed = 8

// selected is what came of it.
type selected struct {
	allowed  []record.Slice
	rejected []record.Rejected
}

// selectSlices of those that a UE asks for and has subscribed to; here are those of its tracking area, catalogue those of the PLMN.
func selectSlices(asked []record.Slice, subscribed []SubscribedSlice, here, catalogue []record.Slice) selected {
	var out selected
	available := func(s record.Slice) bool { return has(here, s) && has(catalogue, s) }
	for _, s := range asked {
		switch {
		case !slices.ContainsFunc(subscribed, func(x SubscribedSlice) bool { return x.Slice.Is(s) }), !has(catalogue, s):
			out.reject(s, notInPLMN)
		case !available(s):
			out.reject(s, notInArea)
		default:
			out.allow(s)
		}
	}
	if len(out.allowed) > 0 {
		return out
	}
	for _, s := range subscribed {
		if s.Default && available(s.Slice) {
			out.allow(s.Slice)
		}
	}
	return out
}

func (x *selected) allow(s record.Slice) {
	if !has(x.allowed, s) && len(x.allowed) < mostAllowed {
		x.allowed = append(x.allowed, s)
	}
}

func (x *selected) reject(s record.Slice, cause uint8) {
	if !slices.ContainsFunc(x.rejected, func(r record.Rejected) bool { return r.Slice.Is(s) }) && len(x.rejected) < mostAllowed {
		x.rejected = append(x.rejected, record.Rejected{Slice: s, Cause: cause})
	}
}

func has(list []record.Slice, s record.Slice) bool { return slices.ContainsFunc(list, s.Is) }

// mostTracking areas a UE may be given (TS 24.501 9.11.3.9).
const mostTracking = 16

// areaOf a UE: its tracking area, and those others of its gNB that are served and have the same slices (TS 23.501 5.3.4.1, 5.15.3: all that is allowed is
// allowed in all of the area). UEs that go to and fro between the cells of a gNB need not say so.
func areaOf(at record.Place, g *record.GNB, s *Settings, allowed []record.Slice) record.Area {
	out := record.Area{PLMN: at.PLMN, TACs: []uint32{at.TAC}}
	if g == nil {
		return out
	}
	for _, tac := range g.TACs(at.PLMN) {
		here := g.Slices(at.PLMN, tac)
		if tac == at.TAC || !s.plmn(at.PLMN).serves(tac) || len(out.TACs) == mostTracking ||
			slices.ContainsFunc(allowed, func(a record.Slice) bool { return !has(here, a) }) {
			continue
		}
		out.TACs = append(out.TACs, tac)
	}
	return out
}
