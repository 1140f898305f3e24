package rules

import (
	"encoding/binary"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/pfcp"
)

// Packet Flow Descriptions (TS 29.244 6.2.5, 8.2.39). An application is known by flow descriptions
// alone: what would need a look into the packets (URLs, domain names, custom content) is refused.

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

// maxPFDs bounds the flow descriptions of one application: each becomes SDF filters in every PDR
// that names it.
const maxPFDs = 512

// ApplicationPFDs is one "Application ID's PFDs" IE: no flows takes the application away.
type ApplicationPFDs struct {
	ID           string
	Descriptions []string
	Flows        []Flow
}

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
	if len(a.Flows) > maxPFDs {
		return nil, &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable, Offending: ie.PFDContents, Detail: "too many flow descriptions for application " + a.ID}
	}
	return a, nil
}

// contents adds the flow descriptions of one PFD Contents.
func (a *ApplicationPFDs) contents(b []byte) error {
	list, err := parsePFDContents(b)
	switch err {
	case nil:
	case errShort:
		return &pfcp.Reject{Cause: ie.CauseInvalidLength, Offending: ie.PFDContents, Detail: "PFD Contents is cut short"}
	default:
		return &pfcp.Reject{Cause: ie.CauseServiceNotSupported, Offending: ie.PFDContents, Detail: "PFD Contents of application " + a.ID + ": " + err.Error()}
	}
	for _, text := range list {
		f, err := ParseFlow(text)
		if err != nil {
			return pfcp.Incorrect(ie.PFDContents, "flow description %q of application %s: %v", text, a.ID, err)
		}
		a.Descriptions, a.Flows = append(a.Descriptions, text), append(a.Flows, *f)
	}
	return nil
}

// parsePFDContents reads the IE's value: the flow description and the additional ones.
func parsePFDContents(b []byte) (list []string, err error) {
	if len(b) < 2 {
		return nil, errShort
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
	if flags&(pfdURL|pfdAURL) != 0 {
		return nil, refusal("URLs are not looked for in packets")
	}
	if flags&(pfdDN|pfdDNP|pfdADNP) != 0 {
		return nil, refusal("domain names are not looked for in packets")
	}
	if flags&pfdCP != 0 {
		return nil, refusal("custom PFD content is not known")
	}
	if flags&(pfdFD|pfdAFD) == 0 {
		return nil, refusal("no flow description")
	}
	if flags&pfdFD != 0 {
		list = append(list, string(take()))
	}
	if flags&pfdAFD != 0 {
		b = take()
		for err == nil && len(b) > 0 {
			list = append(list, string(take()))
		}
	}
	return list, err
}
