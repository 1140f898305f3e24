package nsmf

import (
	"net/http"
	"time"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/ts29571"
)

// RequestType is what a UE wants of a PDU session (TS 29.502 6.1.6.3.5).
type RequestType string

// The request types. free5GC's AMF leaves the first out.
const (
	InitialRequest    RequestType = "INITIAL_REQUEST"
	ExistingSession   RequestType = "EXISTING_PDU_SESSION"
	InitialEmergency  RequestType = "INITIAL_EMERGENCY_REQUEST"
	ExistingEmergency RequestType = "EXISTING_EMERGENCY_PDU_SESSION"
)

// Create is SmContextCreateData (TS 29.502 6.1.6.2.2). What the AMF does not say is zero; identifiers are as it wrote
// them, without "urn:uuid:" where it has that.
type Create struct {
	// SUPI is imsi-..., nai-..., or "" of an emergency session without one; Unauthenticated: it is not proved.
	SUPI, PEI, GPSI string
	Unauthenticated bool
	// SessionID is 1 to 15, OldSessionID that of the session that this one replaces (SSC mode 3), 0 for none.
	SessionID, OldSessionID uint8
	// DNN is what the UE asked for or subscribed to, SelectedDNN what the AMF put in its place. SelectionMode is
	// VERIFIED, UE_DNN_NOT_VERIFIED or NW_DNN_NOT_VERIFIED.
	DNN, SelectedDNN, SelectionMode string
	// SNSSAI of the serving network, nil only of an emergency session; HomeSNSSAI of the home network.
	SNSSAI, HomeSNSSAI *ts29571.SNSSAI
	AMF                AMF
	Where              Where
	Request            RequestType
	// N1 is the 5GSM message of the UE, nil in procedures without.
	N1     []byte
	N2     []byte
	N2Type N2Type
	// UpCnxState and HoState: the user plane is wanted at once, or the UE is being handed over here.
	UpCnxState UpCnxState
	HoState    HoState
	Target     *Target
	// DirectForwarding and IndirectForwarding of data in a handover from EPS.
	DirectForwarding, IndirectForwarding bool
	// PCFID, PCFGroupID and PCFSetID name the PCF that serves the UE.
	PCFID, PCFGroupID, PCFSetID string
	UDMGroupID                  string
	RoutingIndicator            string
	// HomeSMF is of home routed roaming, ContextRef, OldContextRef and OldSMFID of another SMF's context that moves here.
	HomeSMF, ContextRef, OldContextRef, OldSMFID string
	// EPSConnection is the PDN connection that moves here from EPS, as it came.
	EPSConnection string
	// MultiAccess: the UE asks for a session over both accesses. ControlPlaneOnly: without a user plane.
	MultiAccess, ControlPlaneOnly bool
	// ExtendedTimers: the UE needs the long 5GSM timers (TS 24.501 4.17.2).
	ExtendedTimers    bool
	SupportedFeatures string
}

// Created is the answer to a Create (SmContextCreatedData, TS 29.502 6.1.6.2.3).
type Created struct {
	// Ref of the SM context: letters, digits, and - . _ ~.
	Ref string
	// Root is the API root of the URI that the context is told by, "" for the one that the AMF called.
	Root string
	// Binding is the 3gpp-Sbi-Binding header (TS 29.500 5.2.3.2.6) of this context, "" for the one of Options.
	Binding   string
	SessionID uint8
	SNSSAI    *ts29571.SNSSAI
	// N2, N2Type, UpCnxState and HoState are of a handover from EPS or of an activation.
	N2         []byte
	N2Type     N2Type
	UpCnxState UpCnxState
	HoState    HoState
	// Recovery is when the SMF last lost contexts; zero: it tells nothing.
	Recovery time.Time
}

func readCreate(req *http.Request) (*Create, error) {
	content, message, err := sbi.ReadMessage(req)
	if err != nil {
		return nil, err
	}
	r := &reader{content: content, message: message}
	var c Create
	var id, old sessionID
	optional(r, "supi", &c.SUPI)
	optional(r, "unauthenticatedSupi", &c.Unauthenticated)
	optional(r, "pei", &c.PEI)
	optional(r, "gpsi", &c.GPSI)
	mandatory(r, "pduSessionId", &id)
	optional(r, "oldPduSessionId", &old)
	optional(r, "dnn", &c.DNN)
	optional(r, "selectedDnn", &c.SelectedDNN)
	optional(r, "selMode", &c.SelectionMode)
	pointer(r, "sNssai", &c.SNSSAI)
	pointer(r, "hplmnSnssai", &c.HomeSNSSAI)
	r.amf(&c.AMF)
	r.where(&c.Where)
	optional(r, "requestType", &c.Request)
	r.binary("n1SmMsg", &c.N1)
	r.n2(&c.N2, &c.N2Type)
	optional(r, "upCnxState", &c.UpCnxState)
	optional(r, "hoState", &c.HoState)
	pointer(r, "targetId", &c.Target)
	optional(r, "directForwardingFlag", &c.DirectForwarding)
	optional(r, "indirectForwardingFlag", &c.IndirectForwarding)
	optional(r, "pcfId", &c.PCFID)
	optional(r, "pcfGroupId", &c.PCFGroupID)
	optional(r, "pcfSetId", &c.PCFSetID)
	optional(r, "udmGroupId", &c.UDMGroupID)
	optional(r, "routingIndicator", &c.RoutingIndicator)
	optional(r, "hSmfUri", &c.HomeSMF)
	optional(r, "smContextRef", &c.ContextRef)
	optional(r, "oldSmContextRef", &c.OldContextRef)
	optional(r, "oldSmfId", &c.OldSMFID)
	optional(r, "ueEpsPdnConnection", &c.EPSConnection)
	optional(r, "maRequestInd", &c.MultiAccess)
	optional(r, "cpOnlyInd", &c.ControlPlaneOnly)
	optional(r, "extendedNasSmTimerInd", &c.ExtendedTimers)
	optional(r, "supportedFeatures", &c.SupportedFeatures)
	if r.err != nil {
		return nil, r.err
	}
	c.SessionID, c.OldSessionID = uint8(id), uint8(old)
	return &c, c.check()
}

// check finds what a session cannot do without (TS 29.502 table 6.1.6.2.2-1).
func (c *Create) check() error {
	emergency := c.Request == InitialEmergency || c.Request == ExistingEmergency
	for _, m := range []struct {
		name    string
		missing bool
	}{
		{"supi", c.SUPI == "" && !emergency},
		{"pei", c.PEI == "" && c.SUPI == ""},
		{"dnn", c.DNN == "" && !emergency},
		{"sNssai", c.SNSSAI == nil && !emergency},
		{"servingNfId", c.AMF.InstanceID == ""},
		{"servingNetwork", c.AMF.ServingNetwork.MCC == ""},
		{"anType", c.Where.Access == ""},
		{"smContextStatusUri", c.AMF.StatusURI == ""},
	} {
		if m.missing {
			return sbi.BadRequest("MANDATORY_IE_MISSING", m.name+" is mandatory")
		}
	}
	return nil
}

type createdData struct {
	SessionID  uint8           `json:"pduSessionId,omitempty"`
	SNSSAI     *ts29571.SNSSAI `json:"sNssai,omitempty"`
	UpCnxState UpCnxState      `json:"upCnxState,omitempty"`
	N2         *sbi.Reference  `json:"n2SmInfo,omitempty"`
	N2Type     N2Type          `json:"n2SmInfoType,omitempty"`
	HoState    HoState         `json:"hoState,omitempty"`
	Recovery   *time.Time      `json:"recoveryTime,omitempty"`
}

func (c *Created) body() (sbi.Raw, error) {
	data := createdData{SessionID: c.SessionID, SNSSAI: c.SNSSAI, UpCnxState: c.UpCnxState, HoState: c.HoState}
	if !c.Recovery.IsZero() {
		data.Recovery = &c.Recovery
	}
	var parts []sbi.Part
	if len(c.N2) > 0 {
		data.N2, data.N2Type = sbi.Refer(n2ID), c.N2Type
		parts = append(parts, sbi.Part{ContentID: n2ID, ContentType: sbi.NGAP, Content: c.N2})
	}
	return sbi.Related(data, parts...)
}
