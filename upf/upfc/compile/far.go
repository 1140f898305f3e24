package compile

import (
	"math"
	"net/netip"
	"time"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
)

// gtpuPort is the peer's (TS 29.281 4.4.2).
const gtpuPort = 2152

// allFARs adds the FARs, and behind them the Duplicating Parameters of those that duplicate.
func (c *compiler) allFARs() error {
	s := c.out
	for id, r := range c.in.Rules.FARs.All() {
		f := c.forwarding(&r.Forwarding, c.linked(r))
		f.FarId, f.Action = r.ID, r.Action
		network, ok := c.in.Rules.NetworkOf(r, c.in.Network)
		if !ok {
			return noNetwork(&pfcp.RuleRef{Type: ie.RuleIDTypeFAR, ID: id})
		}
		f.Network = network
		if r.HasBAR {
			f.Bar = place(c.in.Rules.BARs, r.BAR)
		}
		if r.Redirect != "" {
			if len(s.Text)+len(r.Redirect) > math.MaxUint16 {
				return &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable, Offending: ie.RedirectInformation,
					Rule: &pfcp.RuleRef{Type: ie.RuleIDTypeFAR, ID: id}, Detail: "too many redirect URLs in a session"}
			}
			f.Flags |= abi.FarRedirect
			f.TextFirst, f.TextCount = uint16(len(s.Text)), uint16(len(r.Redirect))
			s.Text += r.Redirect
		}
		s.FARs = append(s.FARs, f)
	}
	for i := range c.in.Rules.FARs {
		r := c.in.Rules.FARs[i].Value
		if r.Action&rules.Duplicate == 0 {
			continue
		}
		s.FARs[i].DupFirst, s.FARs[i].DupCount = uint16(len(s.FARs)), uint16(len(r.Duplicates))
		for j := range r.Duplicates {
			d := c.forwarding(&r.Duplicates[j], nil)
			d.FarId, d.Action = r.ID, abi.FarForw
			s.FARs = append(s.FARs, d)
		}
	}
	return nil
}

// linked is the Linked Traffic Endpoint of a FAR: packets leave from where its answers come in.
func (c *compiler) linked(r *rules.FAR) *rules.Match {
	if r.HasEndpoint {
		if e := c.in.Rules.Endpoints.Get(r.Endpoint); e != nil {
			return &e.Match
		}
	}
	return nil
}

func (c *compiler) forwarding(r *rules.Forwarding, linked *rules.Match) abi.Far {
	f := abi.Far{DestinationInterface: r.Destination, Bar: abi.None16}
	if r.HasToS {
		f.Flags |= abi.FarTos
		f.Tos, f.TosMask = r.ToS&r.ToSMask, r.ToSMask
	}
	if f.Ohc = r.Outer.Kind; f.Ohc != abi.OhcNone {
		f.PeerAddr, f.Teid, f.PeerPort = abi.AddrOf(r.Outer.Addr), r.Outer.TEID, r.Outer.Port
		if r.Outer.Tunnel().IsValid() {
			f.PeerPort = gtpuPort
		}
		f.LocalAddr = abi.AddrOf(local(c.in.Rules, r.Destination, linked, r.Outer.Addr.Is6(), c.in.Local))
	}
	return f
}

// local is the outer source address towards an interface: that of the linked endpoint, else the
// session's own F-TEID there, else the UPF's on N9 where the way is to the core and there is an N9,
// else any of the session's F-TEIDs, else the UPF's on N3.
func local(set *rules.Set, towards uint8, linked *rules.Match, v6 bool, own Local) netip.Addr {
	of := func(m *rules.Match) rules.FTEID {
		if v6 {
			return m.FTEID6
		}
		return m.FTEID
	}
	if linked != nil && of(linked).IsValid() {
		return of(linked).Addr
	}
	best, rank := own.N3.Of(v6), math.MaxInt
	if n9 := own.N9.Of(v6); towards == rules.Core && n9.IsValid() {
		best, rank = n9, 1<<16
	}
	for id, r := range set.PDRs.All() {
		at := int(id) // the lowest PDR ID, so that the outcome is the same each time
		if r.PDI.SourceInterface != towards {
			at += 1 << 16
		}
		if at >= rank {
			continue
		}
		found := false
		set.Matches(r, func(m *rules.Match) {
			if f := of(m); f.IsValid() && !found {
				found = true
				best, rank = f.Addr, at
			}
		})
	}
	return best
}

// EndMarker is the record that sends one into a tunnel that a path switch leaves.
func EndMarker(set *rules.Set, o *rules.Outer, towards uint8, own Local) abi.EndMarker {
	return abi.EndMarker{
		PeerAddr: abi.AddrOf(o.Addr), Teid: o.TEID, PeerPort: gtpuPort, Ohc: o.Kind,
		LocalAddr: abi.AddrOf(local(set, towards, nil, o.Addr.Is6(), own)),
	}
}

func bar(r *rules.BAR) abi.Bar {
	return abi.Bar{
		BarId: uint32(r.ID), DurationMs: milliseconds(r.Duration, math.MaxUint32),
		DelayMs: uint16(milliseconds(r.Delay, math.MaxUint16)), PacketsMax: r.Packets,
	}
}

func milliseconds(d time.Duration, limit uint64) uint32 {
	return uint32(min(uint64(max(d, 0)/time.Millisecond), limit))
}
