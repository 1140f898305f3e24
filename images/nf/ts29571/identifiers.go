package ts29571

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// SNSSAI names a network slice. SD is six lower-case hexadecimal digits, or empty.
type SNSSAI struct {
	SST int32  `json:"sst"`
	SD  string `json:"sd,omitempty"`
}

// MakeSNSSAI returns an S-NSSAI that compares with ==, whatever the case of its SD was. The SD ffffff
// means "no SD" (TS 23.003 28.4.2).
func MakeSNSSAI(sst int32, sd string) SNSSAI {
	sd = strings.ToLower(sd)
	if sd == "ffffff" {
		sd = ""
	}
	return SNSSAI{SST: sst, SD: sd}
}

// UnmarshalJSON reads an Snssai of TS 29.571 5.4.4.2, as MakeSNSSAI would make it, and refuses what is none.
func (s *SNSSAI) UnmarshalJSON(raw []byte) error {
	var in struct {
		SST *int64 `json:"sst"`
		SD  string `json:"sd"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return errors.New(`an S-NSSAI is an object: write {"sst": 1, "sd": "010203"}`)
	}
	if in.SST == nil {
		return errors.New("an S-NSSAI has an sst: write a number from 0 to 255")
	}
	if *in.SST < 0 || *in.SST > 255 {
		return fmt.Errorf("sst %d: write a number from 0 to 255", *in.SST)
	}
	// free5GC's functions leave an absent sd out or write it as an empty string.
	if in.SD != "" && !isHex(in.SD, 6) {
		return fmt.Errorf("sd %.16q: write six hexadecimal digits", in.SD)
	}
	*s = MakeSNSSAI(int32(*in.SST), in.SD)
	return nil
}

// String returns the form of TS 29.571 5.4.4.2 for map keys: 1-010203.
func (s SNSSAI) String() string {
	if s.SD == "" {
		return fmt.Sprintf("%d", s.SST)
	}
	return fmt.Sprintf("%d-%s", s.SST, s.SD)
}

// Hex returns the form that free5GC's functions look up: two hexadecimal digits of SST and the SD, in
// lower case, 01010203.
func (s SNSSAI) Hex() string { return fmt.Sprintf("%02x%s", s.SST, s.SD) }

// PLMN is a public land mobile network.
type PLMN struct {
	MCC string `json:"mcc"`
	MNC string `json:"mnc"`
}

// UnmarshalJSON reads a PlmnId of TS 29.571 5.4.4.3 and refuses what is none.
func (p *PLMN) UnmarshalJSON(raw []byte) error {
	var in struct {
		MCC string `json:"mcc"`
		MNC string `json:"mnc"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return errors.New(`a PLMN is an object: write {"mcc": "208", "mnc": "93"}`)
	}
	if !isDigits(in.MCC, 3, 3) {
		return fmt.Errorf("mcc %.16q: write three digits", in.MCC)
	}
	if !isDigits(in.MNC, 2, 3) {
		return fmt.Errorf("mnc %.16q: write two or three digits", in.MNC)
	}
	*p = PLMN{MCC: in.MCC, MNC: in.MNC}
	return nil
}

// TAI is a tracking area identity. TAC is six lower-case hexadecimal digits, or four.
type TAI struct {
	PLMN PLMN
	TAC  string
}

// UnmarshalJSON reads a Tai of TS 29.571 5.4.4.4 and refuses what is none.
func (t *TAI) UnmarshalJSON(raw []byte) error {
	var in struct {
		PLMN json.RawMessage `json:"plmnId"`
		TAC  string          `json:"tac"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return errors.New(`a TAI is an object: write {"plmnId": {"mcc": "208", "mnc": "93"}, "tac": "000001"}`)
	}
	if in.PLMN == nil {
		return errors.New("a TAI has a plmnId")
	}
	var plmn PLMN
	if err := plmn.UnmarshalJSON(in.PLMN); err != nil {
		return err
	}
	if !isHex(in.TAC, 6) && !isHex(in.TAC, 4) {
		return fmt.Errorf("tac %.16q: write six hexadecimal digits", in.TAC)
	}
	*t = TAI{PLMN: plmn, TAC: strings.ToLower(in.TAC)}
	return nil
}

// GUAMI is the globally unique identifier of an AMF. AMFID is six lower-case hexadecimal digits.
type GUAMI struct {
	PLMN  PLMN
	AMFID string
}

// UnmarshalJSON reads a Guami of TS 29.571 5.4.4.27, as it compares with ==, and refuses what is none.
func (g *GUAMI) UnmarshalJSON(raw []byte) error {
	var in struct {
		PLMN  json.RawMessage `json:"plmnId"`
		AMFID string          `json:"amfId"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return errors.New(`a GUAMI is an object: write {"plmnId": {"mcc": "208", "mnc": "93"}, "amfId": "cafe00"}`)
	}
	if in.PLMN == nil {
		return errors.New("a GUAMI has a plmnId")
	}
	var plmn PLMN
	if err := plmn.UnmarshalJSON(in.PLMN); err != nil {
		return err
	}
	if !isHex(in.AMFID, 6) {
		return fmt.Errorf("amfId %.16q: write six hexadecimal digits", in.AMFID)
	}
	*g = GUAMI{PLMN: plmn, AMFID: strings.ToLower(in.AMFID)}
	return nil
}

func isDigits(s string, shortest, longest int) bool {
	return len(s) >= shortest && len(s) <= longest && strings.Trim(s, "0123456789") == ""
}

func isHex(s string, length int) bool {
	return len(s) == length && strings.Trim(s, "0123456789abcdefABCDEF") == ""
}

// ServingNetworkName is the name of TS 33.501 6.1.1.4: the MNC has three digits (TS 24.501 9.12.1).
func (p PLMN) ServingNetworkName() string {
	mnc := p.MNC
	if len(mnc) == 2 {
		mnc = "0" + mnc
	}
	return "5G:mnc" + mnc + ".mcc" + p.MCC + ".3gppnetwork.org"
}
