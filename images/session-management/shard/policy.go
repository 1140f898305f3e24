package shard

import (
	"encoding/hex"
	"errors"
	"strings"

	"core5g.dev/core5g/images/nf/ts29571"
	"core5g.dev/core5g/images/session-management/npcf"
	"core5g.dev/core5g/images/session-management/nsmf"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
)

// policySession is what the PCF is told of a session.
func (s *Shard) policySession(rec *record.Session, sub *procedure.Subscription) (*npcf.Session, error) {
	plmn, err := plmnOf(rec.PLMN)
	if err != nil {
		return nil, err
	}
	out := &npcf.Session{
		SUPI: rec.SUPI, SessionID: rec.ID, Type: sessionTypeNames[rec.Type], DNN: rec.DNN, SNSSAI: SNSSAI(rec.SST, rec.SD),
		NotificationURI: nsmf.PolicyURI(s.URI, rec.Ref()), Access: "3GPP_ACCESS", ServingNetwork: plmn, IPv4: rec.IPv4, IPv6: rec.IPv6,
		AMBR: &ts29571.AMBR{Uplink: ts29571.BitRate(rec.AMBR.Uplink), Downlink: ts29571.BitRate(rec.AMBR.Downlink)}, SMFInstanceID: s.InstanceID,
	}
	if len(rec.Flows) > 0 {
		f := rec.Flows[0]
		out.QoS = &npcf.DefaultQoS{FiveQI: f.FiveQI, ARP: ts29571.ARP{Priority: f.Priority, MayPreempt: f.MayPreempt, Preemptable: f.Preemptable}}
	}
	if sub != nil {
		out.AMBR, out.QoS = subscribedQoS(sub)
	}
	out.RAT, out.Location = rec.RAT, locationOf(rec, plmn)
	return out, nil
}

// A record has a PLMN as MCC and MNC, one behind the other.
const mccDigits = 3

func plmnOf(digits string) (ts29571.PLMN, error) {
	if len(digits) < 5 || len(digits) > 6 || strings.Trim(digits, "0123456789") != "" {
		return ts29571.PLMN{}, errors.New("a PLMN has five or six digits")
	}
	return ts29571.PLMN{MCC: digits[:mccDigits], MNC: digits[mccDigits:]}, nil
}

func sdOf(slice *ts29571.SNSSAI) (sst uint8, sd *[3]byte) {
	if slice == nil {
		return 0, nil
	}
	if b, err := hex.DecodeString(slice.SD); err == nil && len(b) == 3 {
		sd = (*[3]byte)(b)
	}
	return uint8(slice.SST), sd
}
