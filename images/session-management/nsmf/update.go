package nsmf

import (
	"net/http"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/ts29571"
)

// Update is SmContextUpdateData (TS 29.502 6.1.6.2.4). What the AMF does not say is zero.
type Update struct {
	PEI string
	// AMF is what has changed of it: another serves the UE when InstanceID is not "" (TS 29.502 5.2.2.3.5).
	AMF   AMF
	Where Where
	// AccessCanChange: the session may move to the access that Where names (TS 23.502 4.3.2.2.1).
	AccessCanChange    bool
	AccessToReactivate string
	UpCnxState         UpCnxState
	HoState            HoState
	// ToBeSwitched and FailedToBeSwitched are of an Xn handover (TS 29.502 5.2.2.3.3).
	ToBeSwitched, FailedToBeSwitched bool
	N1, N2                           []byte
	N2Type                           N2Type
	// N2Extension comes beside N2, such as SECONDARY_RAT_USAGE.
	N2Extension     []byte
	N2ExtensionType N2Type
	// Target and TargetAMF are of an N2 handover.
	Target    *Target
	TargetAMF string
	// DataForwarding: direct or indirect forwarding is wanted (TS 29.502 5.2.2.3.9).
	DataForwarding bool
	// Release: the session is to be released by the network, with Why.
	Release bool
	Why     Why
	SNSSAI  *ts29571.SNSSAI
	// SkipN2Release: the access network has released the resources already.
	SkipN2Release  bool
	ExtendedTimers bool
	// EPSBearers are the bearers of a move to EPS, of which this SMF knows nothing, EPSRevoked those taken back.
	EPSBearers []string
	EPSRevoked []int
}

// Updated is the answer to an Update (SmContextUpdatedData, TS 29.502 6.1.6.2.5).
type Updated struct {
	UpCnxState UpCnxState
	HoState    HoState
	N1, N2     []byte
	N2Type     N2Type
	// Cause of TS 29.502 6.1.6.3.8 with which the session is being released.
	Cause string
	// DataForwarding: the tunnels for it are in N2.
	DataForwarding bool
}

func readUpdate(req *http.Request) (*Update, error) {
	content, message, err := sbi.ReadMessage(req)
	if err != nil {
		return nil, err
	}
	r := &reader{content: content, message: message}
	var u Update
	optional(r, "pei", &u.PEI)
	r.amf(&u.AMF)
	r.where(&u.Where)
	optional(r, "anTypeCanBeChanged", &u.AccessCanChange)
	optional(r, "anTypeToReactivate", &u.AccessToReactivate)
	optional(r, "upCnxState", &u.UpCnxState)
	optional(r, "hoState", &u.HoState)
	optional(r, "toBeSwitched", &u.ToBeSwitched)
	optional(r, "failedToBeSwitched", &u.FailedToBeSwitched)
	r.binary("n1SmMsg", &u.N1)
	r.n2(&u.N2, &u.N2Type)
	r.binary("n2SmInfoExt1", &u.N2Extension)
	optional(r, "n2SmInfoTypeExt1", &u.N2ExtensionType)
	pointer(r, "targetId", &u.Target)
	optional(r, "targetServingNfId", &u.TargetAMF)
	optional(r, "dataForwarding", &u.DataForwarding)
	optional(r, "release", &u.Release)
	r.why(&u.Why)
	pointer(r, "sNssai", &u.SNSSAI)
	optional(r, "skipN2PduSessionResRelInd", &u.SkipN2Release)
	optional(r, "extendedNasSmTimerInd", &u.ExtendedTimers)
	optional(r, "epsBearerSetup", &u.EPSBearers)
	optional(r, "revokeEbiList", &u.EPSRevoked)
	if r.err != nil {
		return nil, r.err
	}
	return &u, u.check()
}

// check finds what contradicts itself.
func (u *Update) check() error {
	switch {
	case u.ToBeSwitched && u.FailedToBeSwitched:
		return sbi.BadRequest("OPTIONAL_IE_INCORRECT", "toBeSwitched and failedToBeSwitched: write one of them")
	case u.HoState == HandoverPreparing && u.Target == nil:
		return sbi.BadRequest("MANDATORY_IE_MISSING", "targetId is mandatory where hoState is PREPARING")
	}
	return nil
}

type updatedData struct {
	UpCnxState     UpCnxState     `json:"upCnxState,omitempty"`
	HoState        HoState        `json:"hoState,omitempty"`
	N1             *sbi.Reference `json:"n1SmMsg,omitempty"`
	N2             *sbi.Reference `json:"n2SmInfo,omitempty"`
	N2Type         N2Type         `json:"n2SmInfoType,omitempty"`
	Cause          string         `json:"cause,omitempty"`
	DataForwarding bool           `json:"dataForwarding,omitempty"`
}

// answer is 204 where there is nothing to say (TS 29.502 6.1.3.3.4.2).
func (u *Updated) answer() (sbi.Answer, error) {
	data := updatedData{UpCnxState: u.UpCnxState, HoState: u.HoState, Cause: u.Cause, DataForwarding: u.DataForwarding}
	var parts []sbi.Part
	if len(u.N1) > 0 {
		data.N1 = sbi.Refer(n1ID)
		parts = append(parts, sbi.Part{ContentID: n1ID, ContentType: sbi.NAS, Content: u.N1})
	}
	if len(u.N2) > 0 {
		data.N2, data.N2Type = sbi.Refer(n2ID), u.N2Type
		parts = append(parts, sbi.Part{ContentID: n2ID, ContentType: sbi.NGAP, Content: u.N2})
	}
	if data == (updatedData{}) {
		return sbi.Answer{Status: http.StatusNoContent}, nil
	}
	body, err := sbi.Related(data, parts...)
	return sbi.Answer{Status: http.StatusOK, Body: body}, err
}
