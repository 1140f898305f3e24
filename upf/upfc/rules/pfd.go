package rules

import (
	"encoding/binary"
	"fmt"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/pfcp"
)

// Packet Flow Descriptions (TS 29.244 6.2.5, 8.2.39). An application is known by flow descriptions, which become SDF filters,
// and by domain names, which upf-u looks for (upfu/packet/detection.h). URLs and custom content are refused.

// PFD Contents flags.
const (
	pfdFD   = 0x01
	pfdURL  = 0x02
	pfdDN   = 0x04
	pfdCP   = 0x08
	pfdDNP  = 0x10
	pfdAFD  = 0x20
	pfdAURL = 0x40
	pfdADNP = 0x80
)

// maxPFDs bounds the flow descriptions of one application, each of which becomes SDF filters in every PDR that names it, and its
// domain names.
const maxPFDs = 512

// ApplicationPFDs is one "Application ID's PFDs" IE: nothing in it takes the application away.
type ApplicationPFDs struct {
	ID           string
	Number       uint64 // by which upf-u knows its domains; whoever keeps it gives it
	Descriptions []string
	Flows        []Flow
	Domains      []Domain
}

// Empty says whether it describes nothing.
func (a *ApplicationPFDs) Empty() bool { return len(a.Flows) == 0 && len(a.Domains) == 0 }

// ParseApplicationPFDs reads the grouped IE (table 7.4.3.1-2).
func ParseApplicationPFDs(e *pfcp.Element) (*ApplicationPFDs, error) {
	group, err := e.Group()
	if err != nil {
		return nil, err
	}
	id := group.First(ie.ApplicationID)
	if id == nil {
		return nil, pfcp.Missing(ie.ApplicationID, "Application ID's PFDs")
	}
	a := &ApplicationPFDs{ID: string(id.Value)}
	if a.ID == "" {
		return nil, pfcp.Incorrect(ie.ApplicationID, "empty Application ID")
	}
	for i := range group {
		if group[i].Type != ie.PFDContext {
			continue
		}
		context, err := group[i].Group()
		if err != nil {
			return nil, err
		}
		if context.First(ie.PFDContents) == nil {
			return nil, pfcp.Missing(ie.PFDContents, "PFD context")
		}
		for j := range context {
			if context[j].Type != ie.PFDContents {
				continue
			}
			if err := a.contents(context[j].Value); err != nil {
				return nil, err
			}
		}
	}
	if len(a.Flows) > maxPFDs || len(a.Domains) > maxPFDs {
		return nil, &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable, Offending: ie.PFDContents, Detail: "too many flow descriptions or domain names for application " + a.ID}
	}
	return a, nil
}

// contents adds what one PFD Contents describes.
func (a *ApplicationPFDs) contents(b []byte) error {
	c, err := parsePFDContents(b)
	switch err {
	case nil:
	case errShort:
		return &pfcp.Reject{Cause: ie.CauseInvalidLength, Offending: ie.PFDContents, Detail: "PFD Contents is cut short"}
	default:
		return &pfcp.Reject{Cause: ie.CauseServiceNotSupported, Offending: ie.PFDContents, Detail: "PFD Contents of application " + a.ID + ": " + err.Error()}
	}
	for _, n := range c.names {
		d, err := ParseDomain(n.name, n.protocol)
		if err != nil {
			return &pfcp.Reject{Cause: ie.CauseServiceNotSupported, Offending: ie.PFDContents, Detail: fmt.Sprintf("domain name %q of application %s: %v", n.name, a.ID, err)}
		}
		a.Domains = append(a.Domains, *d)
	}
	for _, text := range c.flows {
		f, err := ParseFlow(text)
		if err != nil {
			return pfcp.Incorrect(ie.PFDContents, "flow description %q of application %s: %v", text, a.ID, err)
		}
		a.Descriptions, a.Flows = append(a.Descriptions, text), append(a.Flows, *f)
	}
	return nil
}

// pfdContents is what of a PFD Contents is known.
type pfdContents struct {
	flows []string
	names []domainName
}

// domainName is one with the protocol that stands beside it, or none.
type domainName struct{ name, protocol string }

// parsePFDContents reads the IE's value: flow descriptions, or domain names.
func parsePFDContents(b []byte) (c pfdContents, err error) {
	if len(b) < 2 {
		return c, errShort
	}
	flags, b := b[0], b[2:]
	take := func() (v []byte) {
		if err != nil || len(b) < 2 {
			err = errShort
			return nil
		}
		n := int(binary.BigEndian.Uint16(b))
		if len(b)-2 < n {
			err = errShort
			return nil
		}
		v, b = b[2:2+n], b[2+n:]
		return v
	}
	// within takes fields out of one that holds several.
	within := func(each func()) {
		outer, rest := take(), b
		for b = outer; err == nil && len(b) > 0; {
			each()
		}
		b = rest
	}
	flows, names := flags&(pfdFD|pfdAFD) != 0, flags&(pfdDN|pfdADNP) != 0
	switch {
	case flags&(pfdURL|pfdAURL) != 0:
		return c, refusal("URLs are not looked for in packets")
	case flags&pfdCP != 0:
		return c, refusal("custom PFD content is not known")
	case flows && names:
		return c, refusal("a flow description and a domain name that have to match together are not known: give each a PFD Contents of its own")
	case flags&pfdDNP != 0 && flags&pfdDN == 0:
		return c, refusal("a domain name protocol without a domain name")
	case !flows && !names:
		return c, refusal("neither a flow description nor a domain name")
	}
	if flags&pfdFD != 0 {
		c.flows = append(c.flows, string(take()))
	}
	if flags&pfdDN != 0 {
		c.names = append(c.names, domainName{name: string(take())})
	}
	if flags&pfdDNP != 0 {
		c.names[0].protocol = string(take())
	}
	if flags&pfdAFD != 0 {
		within(func() { c.flows = append(c.flows, string(take())) })
	}
	if flags&pfdADNP != 0 {
		within(func() {
			name := string(take())
			c.names = append(c.names, domainName{name, string(take())})
		})
	}
	return c, err
}
