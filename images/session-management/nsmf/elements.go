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

// reader reads members of an object until one of them is wrong.
type reader struct {
	content sbi.Content
	message sbi.Message
	err     error
}

// optional reads a member that may be absent. It keeps what was there.
func optional[T any](r *reader, name string, into *T) bool {
	if r.err != nil {
		return false
	}
	v, there, err := sbi.Optional[T](r.content, name)
	if r.err = err; there {
		*into = v
	}
	return there
}

// pointer reads a member that is nil where it is absent.
func pointer[T any](r *reader, name string, into **T) {
	var v T
	if optional(r, name, &v) {
		*into = &v
	}
}

// mandatory reads a member that must be there.
func mandatory[T any](r *reader, name string, into *T) {
	if r.err == nil {
		*into, r.err = sbi.Mandatory[T](r.content, name)
	}
}

// binary reads the part that a member refers to.
func (r *reader) binary(name string, into *[]byte) {
	if r.err == nil {
		*into, r.err = sbi.Referred(r.content, r.message, name)
	}
}

// n2 reads N2 information, which needs a type.
func (r *reader) n2(n2 *[]byte, kind *N2Type) {
	r.binary("n2SmInfo", n2)
	optional(r, "n2SmInfoType", kind)
	if r.err == nil && len(*n2) > 0 && *kind == "" {
		r.err = sbi.BadRequest("MANDATORY_IE_MISSING", "n2SmInfoType is mandatory with n2SmInfo")
	}
}

func (r *reader) amf(a *AMF) {
	var uri sbi.CallbackURI
	var serving network
	optional(r, "servingNfId", &a.InstanceID)
	pointer(r, "guami", &a.GUAMI)
	if optional(r, "servingNetwork", &serving) {
		a.ServingNetwork, a.NID = serving.plmn, serving.nid
	}
	if optional(r, "smContextStatusUri", &uri) {
		a.StatusURI = string(uri)
	}
	var backup []struct {
		Name string `json:"backupAmf"`
	}
	optional(r, "backupAmfInfo", &backup)
	for _, b := range backup {
		a.Backup = append(a.Backup, b.Name)
	}
	a.InstanceID = strings.TrimPrefix(a.InstanceID, urn)
}

func (r *reader) where(w *Where) {
	optional(r, "anType", &w.Access)
	optional(r, "additionalAnType", &w.AdditionalAccess)
	optional(r, "ratType", &w.RAT)
	pointer(r, "ueLocation", &w.Location)
	pointer(r, "addUeLocation", &w.AdditionalLocation)
	optional(r, "ueTimeZone", &w.TimeZone)
	optional(r, "presenceInLadn", &w.PresenceInLADN)
}

func (r *reader) why(w *Why) {
	optional(r, "cause", &w.Cause)
	pointer(r, "ngApCause", &w.NGAP)
	pointer(r, "5gMmCauseValue", &w.FiveGMM)
}
