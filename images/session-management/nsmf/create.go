package nsmf

import (
	"encoding/json"
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
	var c Create
	f := sbi.Reading(content, message)
	if c.fields(f); f.Err() != nil {
		return nil, f.Err()
	}
	return &c, c.check()
}

// Write is what an AMF sends. An error says what is missing.
func (c *Create) Write() (json.RawMessage, []sbi.Part, error) {
	if err := c.check(); err != nil {
		return nil, nil, err
	}
	f := sbi.Writing()
	c.fields(f)
	return f.Written()
}

func (c *Create) fields(f *sbi.Fields) {
	id, old := sessionID(c.SessionID), sessionID(c.OldSessionID)
	sbi.Member(f, "supi", &c.SUPI)
	sbi.Member(f, "unauthenticatedSupi", &c.Unauthenticated)
	sbi.Member(f, "pei", &c.PEI)
	sbi.Member(f, "gpsi", &c.GPSI)
	sbi.Required(f, "pduSessionId", &id)
	sbi.Member(f, "oldPduSessionId", &old)
	c.SessionID, c.OldSessionID = uint8(id), uint8(old)
	sbi.Member(f, "dnn", &c.DNN)
	sbi.Member(f, "selectedDnn", &c.SelectedDNN)
	sbi.Member(f, "selMode", &c.SelectionMode)
	sbi.Member(f, "sNssai", &c.SNSSAI)
	sbi.Member(f, "hplmnSnssai", &c.HomeSNSSAI)
	c.AMF.fields(f)
	c.Where.fields(f)
	sbi.Member(f, "requestType", &c.Request)
	f.Binary("n1SmMsg", n1ID, sbi.NAS, &c.N1)
	n2Fields(f, &c.N2, &c.N2Type)
	sbi.Member(f, "upCnxState", &c.UpCnxState)
	sbi.Member(f, "hoState", &c.HoState)
	sbi.Member(f, "targetId", &c.Target)
	sbi.Member(f, "directForwardingFlag", &c.DirectForwarding)
	sbi.Member(f, "indirectForwardingFlag", &c.IndirectForwarding)
	sbi.Member(f, "pcfId", &c.PCFID)
	sbi.Member(f, "pcfGroupId", &c.PCFGroupID)
	sbi.Member(f, "pcfSetId", &c.PCFSetID)
	sbi.Member(f, "udmGroupId", &c.UDMGroupID)
	sbi.Member(f, "routingIndicator", &c.RoutingIndicator)
	sbi.Member(f, "hSmfUri", &c.HomeSMF)
	sbi.Member(f, "smContextRef", &c.ContextRef)
	sbi.Member(f, "oldSmContextRef", &c.OldContextRef)
	sbi.Member(f, "oldSmfId", &c.OldSMFID)
	sbi.Member(f, "ueEpsPdnConnection", &c.EPSConnection)
	sbi.Member(f, "maRequestInd", &c.MultiAccess)
	sbi.Member(f, "cpOnlyInd", &c.ControlPlaneOnly)
	sbi.Member(f, "extendedNasSmTimerInd", &c.ExtendedTimers)
	sbi.Member(f, "supportedFeatures", &c.SupportedFeatures)
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
	if c.SUPI != "" && !ts29571.IsSUPI(c.SUPI) {
		return sbi.BadRequest("MANDATORY_IE_INCORRECT", "supi: write "+ts29571.SUPIForm)
	}
	return nil
}

func (c *Created) fields(f *sbi.Fields) {
	id := sessionID(c.SessionID)
	sbi.Member(f, "pduSessionId", &id)
	c.SessionID = uint8(id)
	sbi.Member(f, "sNssai", &c.SNSSAI)
	sbi.Member(f, "upCnxState", &c.UpCnxState)
	f.Binary("n2SmInfo", n2ID, sbi.NGAP, &c.N2)
	sbi.Member(f, "n2SmInfoType", &c.N2Type)
	sbi.Member(f, "hoState", &c.HoState)
	sbi.Member(f, "recoveryTime", &c.Recovery)
}

func (c *Created) body() (sbi.Raw, error) {
	out := *c
	if len(out.N2) == 0 {
		out.N2Type = ""
	}
	return written(out.fields)
}

// ReadCreated reads the content of the answer. Its reference and binding are in the headers.
func ReadCreated(m sbi.Message) (*Created, error) {
	var c Created
	return &c, readAnswer(m, c.fields)
}
