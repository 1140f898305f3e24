package worker

import (
	"encoding/hex"
	"fmt"
	"strconv"

	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/nf/ts29571"
)

// From the words of records to those of SBI, and back.

// Accesses and radio (TS 29.571 5.4.3.1, 5.4.3.2).
const (
	access3GPP = "3GPP_ACCESS"
	radio      = "NR"
)

// plmnOf five or six digits.
func plmnOf(text string) ts29571.PLMN {
	if len(text) < 5 {
		return ts29571.PLMN{}
	}
	return ts29571.PLMN{MCC: text[:3], MNC: text[3:]}
}

func snssai(s record.Slice) ts29571.SNSSAI {
	if s.SD == nil {
		return ts29571.MakeSNSSAI(int32(s.SST), "")
	}
	return ts29571.MakeSNSSAI(int32(s.SST), hex.EncodeToString(s.SD[:]))
}

// sliceOf an S-NSSAI; false: it is none.
func sliceOf(n ts29571.SNSSAI) (record.Slice, bool) {
	out := record.Slice{SST: uint8(n.SST)}
	if n.SD == "" {
		return out, true
	}
	b, err := hex.DecodeString(n.SD)
	if err != nil || len(b) != 3 {
		return out, false
	}
	out.SD = (*[3]byte)(b)
	return out, true
}

func tai(p record.Place) ts29571.TAI {
	return ts29571.TAI{PLMN: plmnOf(p.PLMN), TAC: fmt.Sprintf("%06x", p.TAC)}
}

// locationOf a UE; nil where it was never heard.
func locationOf(p record.Place) *ts29571.Location {
	if p.PLMN == "" {
		return nil
	}
	cell := p.CellPLMN
	if cell == "" {
		cell = p.PLMN
	}
	return &ts29571.Location{TAI: tai(p), Cell: p.Cell, CellPLMN: plmnOf(cell)}
}

// guami of this set: that of the first PLMN that it serves, by which others know it whatever PLMN a UE is in.
func guami(s *procedure.Settings) ts29571.GUAMI {
	id := uint32(s.Region)<<16 | uint32(s.Set&0x3ff)<<6 | uint32(s.Pointer&0x3f)
	out := ts29571.GUAMI{AMFID: fmt.Sprintf("%06x", id)}
	if len(s.PLMNs) > 0 {
		out.PLMN = plmnOf(s.PLMNs[0].PLMN)
	}
	return out
}

func ambr(uplink, downlink uint64) *ts29571.AMBR {
	if uplink == 0 && downlink == 0 {
		return nil
	}
	return &ts29571.AMBR{Uplink: ts29571.BitRate(uplink), Downlink: ts29571.BitRate(downlink)}
}

// timeZone as TS 29.571 5.2.2 has it: +01:00.
func timeZone(s *procedure.Settings) string {
	minutes := int(s.Zone.Minutes())
	sign := "+"
	if minutes < 0 {
		sign, minutes = "-", -minutes
	}
	return sign + fmt.Sprintf("%02d:%02d", minutes/60, minutes%60)
}

func decimal(n uint8) string { return strconv.Itoa(int(n)) }
