package rules

import (
	"encoding/binary"
	"errors"
	"net/netip"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/pfcp"
)

// Local F-TEIDs (TS 29.244 8.2.3), given by the CP function or chosen here (5.5.3).

// F-TEID flags.
const (
	fteidV4   = 0x01
	fteidV6   = 0x02
	fteidCH   = 0x04
	fteidCHID = 0x08
)

// parsedFTEID is the IE as it stands there.
type parsedFTEID struct {
	flags  uint8
	id     uint8 // CHOOSE ID
	teid   uint32
	v4, v6 netip.Addr
}

var errShort = errors.New("cut short")

func parseFTEID(b []byte) (f parsedFTEID, err error) {
	if len(b) < 1 {
		return f, errShort
	}
	f.flags, b = b[0], b[1:]
	if f.flags&fteidCH != 0 {
		if f.flags&fteidCHID != 0 {
			if len(b) < 1 {
				return f, errShort
			}
			f.id = b[0]
		}
		return f, nil
	}
	if len(b) < 4 {
		return f, errShort
	}
	f.teid, b = binary.BigEndian.Uint32(b), b[4:]
	f.v4, f.v6, _, err = addresses(b, f.flags&fteidV4 != 0, f.flags&fteidV6 != 0)
	return f, err
}

// addresses reads an IPv4 and an IPv6 address, where they are said to be, and returns what follows.
func addresses(b []byte, has4, has6 bool) (v4, v6 netip.Addr, rest []byte, err error) {
	if has4 {
		if len(b) < 4 {
			return v4, v6, b, errShort
		}
		v4, b = netip.AddrFrom4([4]byte(b)), b[4:]
	}
	if has6 {
		if len(b) < 16 {
			return v4, v6, b, errShort
		}
		v6, b = netip.AddrFrom16([16]byte(b)), b[16:]
	}
	return v4, v6, b, nil
}

func (p *planner) fteid(m, before *Match, core bool, e *pfcp.Element, ref named) error {
	f, err := parseFTEID(e.Value)
	if err != nil {
		return &pfcp.Reject{Cause: ie.CauseInvalidLength, Offending: ie.FTEID, Rule: ref.ref(), Detail: "F-TEID is cut short"}
	}
	m.FTEID, m.FTEID6, m.Chosen = FTEID{}, FTEID{}, false
	if f.flags&fteidCH != 0 {
		return p.choose(m, before, core, f, ref)
	}
	if f.flags&(fteidV4|fteidV6) == 0 {
		return refuse(ref, ie.FTEID, "F-TEID without an address")
	}
	for _, a := range []netip.Addr{f.v4, f.v6} {
		if a.IsValid() && !p.policy.OwnsN3(a) {
			return refuse(ref, ie.FTEID, "%s is none of this UPF's GTP-U addresses", a)
		}
	}
	if f.teid == 0 {
		return refuse(ref, ie.FTEID, "TEID 0 is reserved (TS 29.281 5.1)")
	}
	if f.v4.IsValid() {
		m.FTEID = FTEID{Addr: f.v4, TEID: f.teid}
	}
	if f.v6.IsValid() {
		m.FTEID6 = FTEID{Addr: f.v6, TEID: f.teid}
	}
	return nil
}

// maxChoices bounds the F-TEIDs that one message may ask for: a session has 255 TEIDs to choose from,
// of which some are in use.
const maxChoices = 128

// chosen is what one CHOOSE ID stands for in a message.
type chosen struct{ v4, v6 FTEID }

// choose allocates an F-TEID (CH). One CHOOSE ID stands for one F-TEID in a message, and a PDR that
// is updated keeps the one that it was given.
func (p *planner) choose(m, before *Match, core bool, f parsedFTEID, ref named) error {
	m.Chosen = true
	v4, v6 := f.flags&fteidV4 != 0, f.flags&fteidV6 != 0
	if !v4 && !v6 {
		v4 = true // TS 29.244 8.2.3 wants one of them; IPv4 is what its absence has always meant here
	}
	if before.Chosen && before.FTEID.IsValid() == v4 && before.FTEID6.IsValid() == v6 {
		m.FTEID, m.FTEID6 = before.FTEID, before.FTEID6
		return nil
	}
	hasID := f.flags&fteidCHID != 0
	if c, ok := p.chosen[f.id]; hasID && ok {
		if c.v4.IsValid() != v4 || c.v6.IsValid() != v6 {
			// TS 29.244 5.5.3: the same CHOOSE ID asks for the same F-TEID.
			return &pfcp.Reject{Cause: ie.CauseInvalidFTEIDAllocationOption, Offending: ie.FTEID, Rule: ref.ref(), Detail: "one CHOOSE ID with different IP versions"}
		}
		m.FTEID, m.FTEID6 = c.v4, c.v6
		return nil
	}
	if p.choices++; p.choices > maxChoices {
		return &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable, Offending: ie.FTEID, Rule: ref.ref(), Detail: "too many F-TEIDs to be chosen in one message"}
	}
	c4, c6, err := p.policy.ChooseFTEID(core, v4, v6)
	if r := policyRefusal(err, ie.FTEID, ref); r != nil {
		return r
	}
	if err != nil {
		return &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable, Offending: ie.FTEID, Rule: ref.ref(), Detail: err.Error()}
	}
	p.given = append(p.given, max(c4.TEID, c6.TEID))
	if m.FTEID, m.FTEID6 = c4, c6; hasID {
		if p.chosen == nil {
			p.chosen = map[uint8]chosen{}
		}
		p.chosen[f.id] = chosen{c4, c6}
	}
	return nil
}

// homeTEIDs lets the policy have another look at the TEIDs that were chosen in the message: it may want to see the
// session's UE addresses in them, which stand behind the F-TEIDs in a message, or were chosen after them.
func (p *planner) homeTEIDs(pfcp.Elements) error {
	if p.policy.HomeTEID == nil {
		return nil
	}
	for _, teid := range p.given {
		now := p.policy.HomeTEID(teid, p.change.Next)
		rename := func(m *Match) {
			for _, f := range []*FTEID{&m.FTEID, &m.FTEID6} {
				if m.Chosen && f.TEID == teid {
					f.TEID = now
				}
			}
		}
		// Only what this message has written holds a TEID that it was given: base is not touched.
		for _, r := range p.change.Next.PDRs.All() {
			rename(&r.PDI.Match)
		}
		for _, e := range p.change.Next.Endpoints.All() {
			rename(&e.Match)
		}
	}
	return nil
}
