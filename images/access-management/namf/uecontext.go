package namf

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/ts29571"
	smf "core5g.dev/core5g/images/session-management/nsmf"
)

// What AMF and SMF say in the same words.
type (
	// NGAPCause is a cause of TS 38.413 9.3.1.2.
	NGAPCause = smf.NGAPCause
	// Target is the access node that a UE is handed over to.
	Target = smf.Target
)

// N2 is an information element of NGAP as it travels (N2InfoContent, TS 29.518 6.1.6.2.27).
type N2 struct {
	// Kind says which (TS 29.518 6.1.6.3.6), such as SRC_TO_TAR_CONTAINER. Procedure is the NGAP procedure code of a whole
	// message, 0 where it is not said.
	Kind      string
	Procedure int
	Content   []byte
}

// fields of the content, whose part has that Content-Id.
func (n *N2) fields(f *sbi.Fields, contentID string) {
	sbi.Member(f, "ngapMessageType", &n.Procedure)
	sbi.Member(f, "ngapIeType", &n.Kind)
	f.Binary("ngapData", contentID, sbi.NGAP, &n.Content)
}

// member is a member that is an N2InfoContent.
func (n *N2) member(f *sbi.Fields, name string) bool {
	if !f.Reads() && len(n.Content) == 0 {
		return false
	}
	return f.Object(name, func(f *sbi.Fields) { n.fields(f, name) })
}

// SessionN2 is N2 information of a PDU session (N2SmInformation, TS 29.518 6.1.6.2.26).
type SessionN2 struct {
	SessionID uint8
	N2        N2
	SNSSAI    *ts29571.SNSSAI
	// SubjectToHandover: the session moves with the UE.
	SubjectToHandover bool
}

func (s *SessionN2) fields(f *sbi.Fields, contentID string) {
	id := sessionID(s.SessionID)
	sbi.Required(f, "pduSessionId", &id)
	s.SessionID = uint8(id)
	if f.Reads() || len(s.N2.Content) > 0 {
		f.Object("n2InfoContent", func(f *sbi.Fields) { s.N2.fields(f, contentID) })
	}
	sbi.Member(f, "sNssai", &s.SNSSAI)
	sbi.Member(f, "subjectToHo", &s.SubjectToHandover)
}

// sessions is a list of them.
func sessions(f *sbi.Fields, name string, list *[]SessionN2) {
	sbi.Objects(f, name, list, func(f *sbi.Fields, s *SessionN2) {
		s.fields(f, name+"-"+string(rune('a'+s.SessionID%16)))
	})
}

// sessionID is a PDU session identity (TS 24.007 11.2.3.1b). It has 16 bits because a list of octets would be text in JSON.
type sessionID uint16

func (s *sessionID) UnmarshalJSON(raw []byte) error {
	var n int
	if json.Unmarshal(raw, &n) != nil || n < 1 || n > 15 {
		return errors.New("a PDU session identity is a number from 1 to 15")
	}
	*s = sessionID(n)
	return nil
}

// UEContext is a UE as another AMF is told of it (TS 29.518 6.1.6.2.25), as far as this AMF keeps it. What is zero is not
// said.
type UEContext struct {
	SUPI            string
	Unauthenticated bool
	GPSIs           []string
	PEI             string
	RFSP, UsedRFSP  uint16
	AMBR            *ts29571.AMBR
	Security        *Security
	// Capability is the 5GMM capability, from its length octet on as in NAS.
	Capability []byte
	// Policy is the association at the PCF, and what it wants to hear of.
	PCFID, PolicyURI string
	PolicyTriggers   []string
	ForbiddenRATs    []string
	ForbiddenAreas   []ts29571.Area
	ServiceArea      *ts29571.ServiceArea
	Mobility         []Mobility
	Sessions         []Session
}

// Security is what a K_AMF came from and where it stands (SeafData, TS 29.518 6.1.6.2.50). It is never printed.
type Security struct {
	// KSI is 0 to 6, Mapped: of a context that came from EPS.
	KSI    uint8
	Mapped bool
	// KAMF is 32 octets; Derived: it is K_AMF', made for the AMF that is told (TS 33.501 6.9.3).
	KAMF    []byte
	Derived bool
	NH      []byte
	NCC     *uint8
	// ChangeWanted: keys are to be taken from KAMF anew.
	ChangeWanted bool
}

// String hides the keys.
func (s *Security) String() string { return "security context, hidden" }

// GoString hides the keys.
func (s *Security) GoString() string { return s.String() }

// Mobility is what is kept of one access (MmContext, TS 29.518 6.1.6.2.38).
type Mobility struct {
	// Access is 3GPP_ACCESS or NON_3GPP_ACCESS.
	Access string
	// Integrity is NIA0 to NIA3, Ciphering NEA0 to NEA3.
	Integrity, Ciphering string
	// Downlink and Uplink are NAS COUNTs.
	Downlink, Uplink *uint32
	// Capability is the UE security capability, as in NAS.
	Capability []byte
	Allowed    []ts29571.SNSSAI
}

// Session is a PDU session, and where its SMF has it (PduSessionContext, TS 29.518 6.1.6.2.37).
type Session struct {
	SessionID uint8
	// Ref is the URI of the SM context.
	Ref           string
	SNSSAI        *ts29571.SNSSAI
	DNN           string
	Access        string
	SMFInstanceID string
	SMFBinding    string
	SelectedDNN   string
}

func (u *UEContext) fields(f *sbi.Fields) {
	sbi.Member(f, "supi", &u.SUPI)
	sbi.Member(f, "supiUnauthInd", &u.Unauthenticated)
	sbi.Member(f, "gpsiList", &u.GPSIs)
	sbi.Member(f, "pei", &u.PEI)
	sbi.Member(f, "subRfsp", &u.RFSP)
	sbi.Member(f, "usedRfsp", &u.UsedRFSP)
	sbi.Member(f, "subUeAmbr", &u.AMBR)
	security := u.Security
	if f.Reads() {
		security = new(Security)
	}
	if security != nil && f.Object("seafData", security.fields) {
		u.Security = security
	}
	sbi.Member(f, "5gMmCapability", &u.Capability)
	sbi.Member(f, "pcfId", &u.PCFID)
	sbi.Member(f, "pcfAmPolicyUri", &u.PolicyURI)
	sbi.Member(f, "amPolicyReqTriggerList", &u.PolicyTriggers)
	sbi.Member(f, "restrictedRatList", &u.ForbiddenRATs)
	sbi.Member(f, "forbiddenAreaList", &u.ForbiddenAreas)
	sbi.Member(f, "serviceAreaRestriction", &u.ServiceArea)
	sbi.Objects(f, "mmContextList", &u.Mobility, func(f *sbi.Fields, m *Mobility) { m.fields(f) })
	sbi.Objects(f, "sessionContextList", &u.Sessions, func(f *sbi.Fields, s *Session) { s.fields(f) })
}

// key is octets in hexadecimal digits, of which an error shows none.
type key []byte

func (k *key) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil && len(text) == 64 {
		if out, err := hex.DecodeString(text); err == nil {
			*k = out
			return nil
		}
	}
	return errors.New("write 64 hexadecimal digits")
}

func (k key) MarshalJSON() ([]byte, error) { return json.Marshal(hex.EncodeToString(k)) }

func (s *Security) fields(f *sbi.Fields) {
	kind, kAMF, nh := "KAMF", key(s.KAMF), key(s.NH)
	if s.Derived {
		kind = "KPRIMEAMF"
	}
	f.Object("ngKsi", func(f *sbi.Fields) {
		tsc := "NATIVE"
		if s.Mapped {
			tsc = "MAPPED"
		}
		sbi.Required(f, "tsc", &tsc)
		sbi.Required(f, "ksi", &s.KSI)
		if s.Mapped = tsc == "MAPPED"; s.KSI > 6 {
			f.Fail(sbi.BadRequest("MANDATORY_IE_INCORRECT", "ksi: write a number from 0 to 6"))
		}
	})
	f.Object("keyAmf", func(f *sbi.Fields) {
		sbi.Required(f, "keyType", &kind)
		sbi.Required(f, "keyVal", &kAMF)
	})
	sbi.Member(f, "nh", &nh)
	sbi.Member(f, "ncc", &s.NCC)
	sbi.Member(f, "keyAmfChangeInd", &s.ChangeWanted)
	s.KAMF, s.NH, s.Derived = kAMF, nh, kind == "KPRIMEAMF"
	if s.NCC != nil && *s.NCC > 7 {
		f.Fail(sbi.BadRequest("OPTIONAL_IE_INCORRECT", "ncc: write a number from 0 to 7"))
	}
}

// count is a NAS COUNT, of 24 bits (TS 33.501 6.4.3.1).
type count uint32

func (c *count) UnmarshalJSON(raw []byte) error {
	var n uint32
	if json.Unmarshal(raw, &n) != nil || n > 0xffffff {
		return errors.New("a NAS COUNT is a number of 24 bits")
	}
	*c = count(n)
	return nil
}

func (m *Mobility) fields(f *sbi.Fields) {
	downlink, uplink := (*count)(m.Downlink), (*count)(m.Uplink)
	sbi.Required(f, "accessType", &m.Access)
	f.Object("nasSecurityMode", func(f *sbi.Fields) {
		sbi.Member(f, "integrityAlgorithm", &m.Integrity)
		sbi.Member(f, "cipheringAlgorithm", &m.Ciphering)
	})
	sbi.Member(f, "nasDownlinkCount", &downlink)
	sbi.Member(f, "nasUplinkCount", &uplink)
	sbi.Member(f, "ueSecurityCapability", &m.Capability)
	sbi.Member(f, "allowedNssai", &m.Allowed)
	m.Downlink, m.Uplink = (*uint32)(downlink), (*uint32)(uplink)
}

func (s *Session) fields(f *sbi.Fields) {
	id := sessionID(s.SessionID)
	sbi.Required(f, "pduSessionId", &id)
	s.SessionID = uint8(id)
	sbi.Required(f, "smContextRef", &s.Ref)
	sbi.Member(f, "sNssai", &s.SNSSAI)
	sbi.Member(f, "dnn", &s.DNN)
	sbi.Member(f, "selectedDnn", &s.SelectedDNN)
	sbi.Member(f, "accessType", &s.Access)
	sbi.Member(f, "smfServiceInstanceId", &s.SMFInstanceID)
	sbi.Member(f, "smfBindingInfo", &s.SMFBinding)
	if f.Reads() && strings.TrimSpace(s.Ref) == "" {
		f.Fail(sbi.BadRequest("MANDATORY_IE_INCORRECT", "smContextRef: it must not be empty"))
	}
}
