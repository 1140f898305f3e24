package nsmf

import (
	"encoding/json"
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
	var u Update
	f := sbi.Reading(content, message)
	if u.fields(f); f.Err() != nil {
		return nil, f.Err()
	}
	return &u, u.check()
}

// Write is what an AMF sends. An error says what is missing, or contradicts itself.
func (u *Update) Write() (json.RawMessage, []sbi.Part, error) {
	if err := u.check(); err != nil {
		return nil, nil, err
	}
	f := sbi.Writing()
	u.fields(f)
	return f.Written()
}

func (u *Update) fields(f *sbi.Fields) {
	sbi.Member(f, "pei", &u.PEI)
	u.AMF.fields(f)
	u.Where.fields(f)
	sbi.Member(f, "anTypeCanBeChanged", &u.AccessCanChange)
	sbi.Member(f, "anTypeToReactivate", &u.AccessToReactivate)
	sbi.Member(f, "upCnxState", &u.UpCnxState)
	sbi.Member(f, "hoState", &u.HoState)
	sbi.Member(f, "toBeSwitched", &u.ToBeSwitched)
	sbi.Member(f, "failedToBeSwitched", &u.FailedToBeSwitched)
	f.Binary("n1SmMsg", n1ID, sbi.NAS, &u.N1)
	n2Fields(f, &u.N2, &u.N2Type)
	f.Binary("n2SmInfoExt1", n2ExtensionID, sbi.NGAP, &u.N2Extension)
	sbi.Member(f, "n2SmInfoTypeExt1", &u.N2ExtensionType)
	sbi.Member(f, "targetId", &u.Target)
	sbi.Member(f, "targetServingNfId", &u.TargetAMF)
	sbi.Member(f, "dataForwarding", &u.DataForwarding)
	sbi.Member(f, "release", &u.Release)
	u.Why.fields(f)
	sbi.Member(f, "sNssai", &u.SNSSAI)
	sbi.Member(f, "skipN2PduSessionResRelInd", &u.SkipN2Release)
	sbi.Member(f, "extendedNasSmTimerInd", &u.ExtendedTimers)
	sbi.Member(f, "epsBearerSetup", &u.EPSBearers)
	sbi.Member(f, "revokeEbiList", &u.EPSRevoked)
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

func (u *Updated) fields(f *sbi.Fields) {
	sbi.Member(f, "upCnxState", &u.UpCnxState)
	sbi.Member(f, "hoState", &u.HoState)
	f.Binary("n1SmMsg", n1ID, sbi.NAS, &u.N1)
	f.Binary("n2SmInfo", n2ID, sbi.NGAP, &u.N2)
	sbi.Member(f, "n2SmInfoType", &u.N2Type)
	sbi.Member(f, "cause", &u.Cause)
	sbi.Member(f, "dataForwarding", &u.DataForwarding)
}

// answer is 204 where there is nothing to say (TS 29.502 6.1.3.3.4.2).
func (u *Updated) answer() (sbi.Answer, error) {
	out := *u
	if len(out.N2) == 0 {
		out.N2Type = ""
	}
	f := sbi.Writing()
	if out.fields(f); f.Empty() && f.Err() == nil {
		return sbi.Answer{Status: http.StatusNoContent}, nil
	}
	body, err := written(out.fields)
	return sbi.Answer{Status: http.StatusOK, Body: body}, err
}

// ReadUpdated reads the content of the answer, of which there may be none.
func ReadUpdated(m sbi.Message) (*Updated, error) {
	var u Updated
	if len(m.JSON) == 0 {
		return &u, nil
	}
	return &u, readAnswer(m, u.fields)
}
