package ts29571

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// Location is where a UE is (UserLocation, 5.4.4.7). Of several accesses that it names, NR comes before E-UTRA, and
// that before non-3GPP access.
type Location struct {
	// TAI is the tracking area, zero where it is not known.
	TAI TAI
	// Cell is the NR cell identity, 36 bits, or the E-UTRA cell identity, 28 bits.
	Cell  uint64
	EUTRA bool
	// CellPLMN is the cell's.
	CellPLMN PLMN
	// Non3GPP: the UE is behind an N3IWF, and has no cell.
	Non3GPP bool
	// Raw is the JSON that was read. It is written again as it came, with what is not understood here.
	Raw json.RawMessage
}

type locationJSON struct {
	NR *struct {
		TAI  *TAI            `json:"tai"`
		NCGI json.RawMessage `json:"ncgi"`
	} `json:"nrLocation"`
	EUTRA *struct {
		TAI  *TAI            `json:"tai"`
		ECGI json.RawMessage `json:"ecgi"`
	} `json:"eutraLocation"`
	N3GA *struct {
		TAI *TAI `json:"n3gppTai"`
	} `json:"n3gaLocation"`
}

// UnmarshalJSON reads a UserLocation and refuses what is none.
func (l *Location) UnmarshalJSON(raw []byte) error {
	var in locationJSON
	if err := json.Unmarshal(raw, &in); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			return errors.New("a UserLocation is an object with nrLocation, eutraLocation or n3gaLocation")
		}
		return err
	}
	out := Location{Raw: append(json.RawMessage(nil), raw...)}
	var err error
	var tai *TAI
	switch {
	case in.NR != nil:
		tai = in.NR.TAI
		out.CellPLMN, out.Cell, err = readCell(in.NR.NCGI, "nrCellId", 9)
	case in.EUTRA != nil:
		tai, out.EUTRA = in.EUTRA.TAI, true
		out.CellPLMN, out.Cell, err = readCell(in.EUTRA.ECGI, "eutraCellId", 7)
	case in.N3GA != nil:
		tai, out.Non3GPP = in.N3GA.TAI, true
	}
	if tai != nil {
		out.TAI = *tai
	}
	*l = out
	return err
}

// readCell reads an Ncgi or Ecgi (5.4.4.5, 5.4.4.6), whose cell has so many hexadecimal digits.
func readCell(raw json.RawMessage, name string, digits int) (plmn PLMN, cell uint64, err error) {
	if raw == nil || string(raw) == "null" {
		return plmn, 0, nil
	}
	var in map[string]json.RawMessage
	var text string
	if json.Unmarshal(raw, &in) != nil || json.Unmarshal(in[name], &text) != nil || !isHex(text, digits) {
		return plmn, 0, fmt.Errorf("%s: write %d hexadecimal digits", name, digits)
	}
	if in["plmnId"] != nil {
		if err := plmn.UnmarshalJSON(in["plmnId"]); err != nil {
			return plmn, 0, err
		}
	}
	cell, err = strconv.ParseUint(text, 16, 64)
	return plmn, cell, err
}

// MarshalJSON writes a UserLocation: what was read, else what is known.
func (l Location) MarshalJSON() ([]byte, error) {
	if l.Raw != nil {
		return l.Raw, nil
	}
	tai := map[string]any{"plmnId": l.TAI.PLMN, "tac": l.TAI.TAC}
	switch {
	case l.Non3GPP:
		return json.Marshal(map[string]any{"n3gaLocation": map[string]any{"n3gppTai": tai}})
	case l.EUTRA:
		return json.Marshal(map[string]any{"eutraLocation": map[string]any{
			"tai": tai, "ecgi": map[string]any{"plmnId": l.CellPLMN, "eutraCellId": fmt.Sprintf("%07x", l.Cell)},
		}})
	}
	return json.Marshal(map[string]any{"nrLocation": map[string]any{
		"tai": tai, "ncgi": map[string]any{"plmnId": l.CellPLMN, "nrCellId": fmt.Sprintf("%09x", l.Cell)},
	}})
}

// TACNumber is the tracking area code as a number.
func (t TAI) TACNumber() uint32 {
	n, _ := strconv.ParseUint(t.TAC, 16, 32) // UnmarshalJSON has looked
	return uint32(n)
}

// MarshalJSON writes a Tai (5.4.4.4).
func (t TAI) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"plmnId": t.PLMN, "tac": t.TAC})
}

// MarshalJSON writes a Guami (5.4.4.27).
func (g GUAMI) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"plmnId": g.PLMN, "amfId": g.AMFID})
}

// Set is the identifier of the set that the AMF is of (TS 23.003 28.12, TS 29.571 5.3.2 NfSetId), "" where the GUAMI is
// not one. The 24 bits of an AMF identifier are region (8), set (10) and pointer (6).
func (g GUAMI) Set() string {
	region, set, _, ok := g.Parts()
	if !ok || g.PLMN.MNC == "" {
		return ""
	}
	mnc := g.PLMN.MNC
	if len(mnc) == 2 {
		mnc = "0" + mnc
	}
	return fmt.Sprintf("set%03x.region%02x.amfset.5gc.mnc%s.mcc%s", set, region, mnc, g.PLMN.MCC)
}

// Parts are region, set and pointer of the AMF identifier; false where it is none.
func (g GUAMI) Parts() (region uint8, set uint16, pointer uint8, ok bool) {
	n, err := strconv.ParseUint(g.AMFID, 16, 24)
	return uint8(n >> 16), uint16(n >> 6 & 0x3ff), uint8(n & 0x3f), err == nil && len(g.AMFID) == 6
}
