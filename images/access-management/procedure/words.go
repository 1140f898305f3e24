package procedure

import (
	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"
)

// From the words of NGAP to those of records, and back.

// NameOf a gNB (record.GNBName).
func NameOf(node n2.RANNode) string { return record.GNBName(plmnText(node.PLMN), node.ID, node.Bits) }

func plmnText(p n2.PLMN) string { return p.MCC() + p.MNC() }

// plmnOf five or six digits; those of the configuration and of records are.
func plmnOf(text string) n2.PLMN {
	if len(text) < 5 {
		return n2.PLMN{}
	}
	p, err := n1.MakePLMN(text[:3], text[3:])
	if err != nil {
		return n2.PLMN{}
	}
	return n2.PLMN(p)
}

func sliceOf(s n2.SNSSAI) record.Slice {
	out := record.Slice{SST: s.SST}
	if s.HasSD {
		out.SD = &[3]byte{byte(s.SD >> 16), byte(s.SD >> 8), byte(s.SD)}
	}
	return out
}

func slicesOf(list []n2.SNSSAI) []record.Slice {
	var out []record.Slice
	for _, s := range list {
		out = append(out, sliceOf(s))
	}
	return out
}

func snssai(s record.Slice) n2.SNSSAI {
	out := n2.SNSSAI{SST: s.SST}
	if s.SD != nil {
		out.SD, out.HasSD = uint32(s.SD[0])<<16|uint32(s.SD[1])<<8|uint32(s.SD[2]), true
	}
	return out
}

func snssais(list []record.Slice) []n2.SNSSAI {
	var out []n2.SNSSAI
	for _, s := range list {
		out = append(out, snssai(s))
	}
	return out
}

// placeOf a location, at that time; false: it is no cell's.
func placeOf(l n2.UserLocation, now int64) (record.Place, bool) {
	if l.Kind != n2.LocationNR && l.Kind != n2.LocationEUTRA {
		return record.Place{}, false
	}
	p := record.Place{PLMN: plmnText(l.TAI.PLMN), TAC: uint32(l.TAI.TAC), Cell: l.Cell.ID, At: now}
	if cell := plmnText(l.Cell.PLMN); cell != p.PLMN {
		p.CellPLMN = cell
	}
	return p, true
}

func tais(a record.Area) []n2.TAI {
	var out []n2.TAI
	for _, tac := range a.TACs {
		out = append(out, n2.TAI{PLMN: plmnOf(a.PLMN), TAC: n2.TAC(tac)})
	}
	return out
}

func ids(a *record.Attachment) n2.UEIDs {
	return n2.UEIDs{AMF: n2.AMFUEID(a.AMF), RAN: n2.RANUEID(a.RAN)}
}

func (s *Settings) guami(plmn string) n2.GUAMI {
	return n2.GUAMI{PLMN: plmnOf(plmn), Region: s.Region, Set: s.Set, Pointer: s.Pointer}
}
