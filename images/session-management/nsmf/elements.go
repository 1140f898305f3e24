package nsmf

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/ts29571"
)

// Content-Ids of what is sent.
const (
	n1ID = "n1SmMsg"
	n2ID = "n2SmInfo"

	n2ExtensionID = "n2SmInfoExt1"
)

// UpCnxState is the state of the user plane connection (TS 29.502 6.1.6.3.3).
type UpCnxState string

// The states of a user plane connection.
const (
	Activated   UpCnxState = "ACTIVATED"
	Deactivated UpCnxState = "DEACTIVATED"
	Activating  UpCnxState = "ACTIVATING"
	Suspended   UpCnxState = "SUSPENDED"
)

// HoState is the state of a handover (TS 29.502 6.1.6.3.4).
type HoState string

// The states of a handover.
const (
	HandoverNone      HoState = "NONE"
	HandoverPreparing HoState = "PREPARING"
	HandoverPrepared  HoState = "PREPARED"
	HandoverCompleted HoState = "COMPLETED"
	HandoverCancelled HoState = "CANCELLED"
)

// N2Type says which NGAP information element an N2 part is (TS 29.502 6.1.6.3.9).
type N2Type string

// The types of N2 information.
const (
	SetupRequest          N2Type = "PDU_RES_SETUP_REQ"
	SetupResponse         N2Type = "PDU_RES_SETUP_RSP"
	SetupFail             N2Type = "PDU_RES_SETUP_FAIL"
	ReleaseCommand        N2Type = "PDU_RES_REL_CMD"
	ReleaseResponse       N2Type = "PDU_RES_REL_RSP"
	ModifyRequest         N2Type = "PDU_RES_MOD_REQ"
	ModifyResponse        N2Type = "PDU_RES_MOD_RSP"
	ModifyFail            N2Type = "PDU_RES_MOD_FAIL"
	ResourceNotify        N2Type = "PDU_RES_NTY"
	ResourceNotifyRelease N2Type = "PDU_RES_NTY_REL"
	ModifyIndication      N2Type = "PDU_RES_MOD_IND"
	ModifyConfirm         N2Type = "PDU_RES_MOD_CFM"
	ModifyIndicationFail  N2Type = "PDU_RES_MOD_IND_FAIL"
	PathSwitchRequest     N2Type = "PATH_SWITCH_REQ"
	PathSwitchSetupFail   N2Type = "PATH_SWITCH_SETUP_FAIL"
	PathSwitchAcknowledge N2Type = "PATH_SWITCH_REQ_ACK"
	PathSwitchFail        N2Type = "PATH_SWITCH_REQ_FAIL"
	HandoverRequired      N2Type = "HANDOVER_REQUIRED"
	HandoverCommand       N2Type = "HANDOVER_CMD"
	HandoverPreparingFail N2Type = "HANDOVER_PREP_FAIL"
	HandoverAcknowledge   N2Type = "HANDOVER_REQ_ACK"
	HandoverAllocFail     N2Type = "HANDOVER_RES_ALLOC_FAIL"
	SecondaryRATUsage     N2Type = "SECONDARY_RAT_USAGE"
)

// AMF is what an AMF says of itself, with a new SM context, and when another has taken over (TS 29.502 5.2.2.3.5). What
// it does not say is zero.
type AMF struct {
	InstanceID string
	GUAMI      *ts29571.GUAMI
	// ServingNetwork and NID are the network that serves the UE; NID is 11 hexadecimal digits, of an SNPN.
	ServingNetwork ts29571.PLMN
	NID            string
	// StatusURI is where it wants to hear of the SM context's end.
	StatusURI string
	// Backup names the AMFs that take over, in their order (BackupAmfInfo).
	Backup []string
}

// Set is the AMF set, "" where it is not known.
func (a AMF) Set() string {
	if a.GUAMI == nil {
		return ""
	}
	return a.GUAMI.Set()
}

// Where a UE is, and how it gets there.
type Where struct {
	// Access is 3GPP_ACCESS or NON_3GPP_ACCESS, RAT such as NR; "" where it is not said.
	Access, AdditionalAccess, RAT string
	Location, AdditionalLocation  *ts29571.Location
	TimeZone                      string
	// PresenceInLADN is IN_AREA, OUT_OF_AREA, UNKNOWN or INACTIVE.
	PresenceInLADN string
}

// Why is what an AMF gives as reason; what it does not give is zero.
type Why struct {
	// Cause of TS 29.502 6.1.6.3.8, such as REL_DUE_TO_REACTIVATION.
	Cause string
	// NGAP is the access network's, FiveGMM the UE's.
	NGAP    *NGAPCause
	FiveGMM *uint8
}

// NGAPCause is a cause of TS 38.413 9.3.1.2: its group (0 radio network, 1 transport, 2 NAS, 3 protocol, 4
// miscellaneous), and its number there. free5GC's AMF writes groups from 1 on.
type NGAPCause struct{ Group, Value uint32 }

// UnmarshalJSON reads an NgApCause (TS 29.571 5.4.4.12).
func (n *NGAPCause) UnmarshalJSON(raw []byte) error {
	var in struct{ Group, Value *uint32 }
	if json.Unmarshal(raw, &in) != nil || in.Group == nil || in.Value == nil {
		return errors.New(`an NGAP cause is an object: write {"group": 0, "value": 20}`)
	}
	*n = NGAPCause{*in.Group, *in.Value}
	return nil
}

// MarshalJSON writes an NgApCause.
func (n NGAPCause) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]uint32{"group": n.Group, "value": n.Value})
}

// Target is the access node that a UE is handed over to (NgRanTargetId, TS 29.571 5.4.4.52).
type Target struct {
	PLMN ts29571.PLMN
	// GNB is the identity in hexadecimal digits and GNBBits its length; NgENB the other kind, as it is written.
	GNB     string
	GNBBits int
	NgENB   string
	TAI     ts29571.TAI
}

// UnmarshalJSON reads an NgRanTargetId.
func (t *Target) UnmarshalJSON(raw []byte) error {
	var in struct {
		Node *struct {
			PLMN *ts29571.PLMN `json:"plmnId"`
			GNB  *struct {
				Bits  int    `json:"bitLength"`
				Value string `json:"gNBValue"`
			} `json:"gNbId"`
			NgENB string `json:"ngeNbId"`
		} `json:"ranNodeId"`
		TAI *ts29571.TAI `json:"tai"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return fmt.Errorf("targetId: %w", err)
	}
	if in.Node == nil || in.TAI == nil {
		return errors.New("a target has a ranNodeId and a tai")
	}
	*t = Target{NgENB: in.Node.NgENB, TAI: *in.TAI}
	if in.Node.PLMN != nil {
		t.PLMN = *in.Node.PLMN
	}
	if in.Node.GNB != nil {
		t.GNB, t.GNBBits = in.Node.GNB.Value, in.Node.GNB.Bits
	}
	return nil
}

type targetJSON struct {
	Node targetNode  `json:"ranNodeId"`
	TAI  ts29571.TAI `json:"tai"`
}

type targetNode struct {
	PLMN  *ts29571.PLMN `json:"plmnId,omitempty"`
	GNB   *targetGNB    `json:"gNbId,omitempty"`
	NgENB string        `json:"ngeNbId,omitempty"`
}

type targetGNB struct {
	Bits  int    `json:"bitLength"`
	Value string `json:"gNBValue"`
}

// MarshalJSON writes an NgRanTargetId.
func (t Target) MarshalJSON() ([]byte, error) {
	out := targetJSON{Node: targetNode{NgENB: t.NgENB}, TAI: t.TAI}
	if t.PLMN != (ts29571.PLMN{}) {
		out.Node.PLMN = &t.PLMN
	}
	if t.GNB != "" {
		out.Node.GNB = &targetGNB{t.GNBBits, t.GNB}
	}
	return json.Marshal(out)
}

// sessionID is a PDU session identity (TS 24.007 11.2.3.1b).
type sessionID uint8

func (s *sessionID) UnmarshalJSON(raw []byte) error {
	var n int
	if json.Unmarshal(raw, &n) != nil || n < 1 || n > 15 {
		return errors.New("a PDU session identity is a number from 1 to 15")
	}
	*s = sessionID(n)
	return nil
}

// network is a PlmnIdNid (TS 29.571 5.4.4.33).
type network struct {
	plmn ts29571.PLMN
	nid  string
}

func (n *network) UnmarshalJSON(raw []byte) error {
	if err := n.plmn.UnmarshalJSON(raw); err != nil {
		return err
	}
	var in struct {
		NID string `json:"nid"`
	}
	if json.Unmarshal(raw, &in) != nil || in.NID != "" && (len(in.NID) != 11 || strings.Trim(in.NID, "0123456789abcdefABCDEF") != "") {
		return errors.New("nid: write 11 hexadecimal digits")
	}
	n.nid = in.NID
	return nil
}

// MarshalJSON writes a PlmnIdNid.
func (n network) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ts29571.PLMN
		NID string `json:"nid,omitempty"`
	}{n.plmn, n.nid})
}

// n2Fields are N2 information, which needs a type.
func n2Fields(f *sbi.Fields, n2 *[]byte, kind *N2Type) {
	f.Binary("n2SmInfo", n2ID, sbi.NGAP, n2)
	if sbi.Member(f, "n2SmInfoType", kind); len(*n2) > 0 && *kind == "" {
		f.Fail(sbi.BadRequest("MANDATORY_IE_MISSING", "n2SmInfoType is mandatory with n2SmInfo"))
	}
}

func (a *AMF) fields(f *sbi.Fields) {
	uri, serving := sbi.CallbackURI(a.StatusURI), network{a.ServingNetwork, a.NID}
	var backup []backupAMF
	for _, name := range a.Backup {
		backup = append(backup, backupAMF{name})
	}
	sbi.Member(f, "servingNfId", &a.InstanceID)
	sbi.Member(f, "guami", &a.GUAMI)
	sbi.Member(f, "servingNetwork", &serving)
	sbi.Member(f, "smContextStatusUri", &uri)
	if sbi.Member(f, "backupAmfInfo", &backup) && f.Reads() {
		a.Backup = nil
		for _, b := range backup {
			a.Backup = append(a.Backup, b.Name)
		}
	}
	a.InstanceID = strings.TrimPrefix(a.InstanceID, urn)
	a.ServingNetwork, a.NID, a.StatusURI = serving.plmn, serving.nid, string(uri)
}

type backupAMF struct {
	Name string `json:"backupAmf"`
}

func (w *Where) fields(f *sbi.Fields) {
	sbi.Member(f, "anType", &w.Access)
	sbi.Member(f, "additionalAnType", &w.AdditionalAccess)
	sbi.Member(f, "ratType", &w.RAT)
	sbi.Member(f, "ueLocation", &w.Location)
	sbi.Member(f, "addUeLocation", &w.AdditionalLocation)
	sbi.Member(f, "ueTimeZone", &w.TimeZone)
	sbi.Member(f, "presenceInLadn", &w.PresenceInLADN)
}

func (w *Why) fields(f *sbi.Fields) {
	sbi.Member(f, "cause", &w.Cause)
	sbi.Member(f, "ngApCause", &w.NGAP)
	sbi.Member(f, "5gMmCauseValue", &w.FiveGMM)
}

// written is a message of such fields.
func written(fields func(*sbi.Fields)) (sbi.Raw, error) {
	f := sbi.Writing()
	fields(f)
	text, parts, err := f.Written()
	if err != nil {
		return sbi.Raw{}, err
	}
	return sbi.Related(text, parts...)
}

// readAnswer reads the content of an answer.
func readAnswer(m sbi.Message, fields func(*sbi.Fields)) error {
	content, err := m.Content()
	if err != nil {
		return err
	}
	f := sbi.Reading(content, m)
	fields(f)
	return f.Err()
}
