package procedure

import (
	"testing"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/ngapcause"
)

// TS 38.413 10.4, 10.6: messages that can be read, and do not go with what is.
func TestErrors(t *testing.T) {
	says := func(name string, m n2.Message) act {
		return gnbSays("gNB: "+name, func(*teller) n2.Message { return m })
	}
	notify := says("PDU Session Resource Notify", &n2.PDUSessionResourceNotify{Sessions: []n2.Session{{ID: 1, Transfer: []byte{9}}}})
	moves := says("PDU Session Resource Modify Indication", &n2.PDUSessionResourceModifyIndication{Sessions: []n2.Session{{ID: 1, Transfer: []byte{9}}}})
	done := says("PDU Session Resource Setup Response", &n2.PDUSessionResourceSetupResponse{Sessions: []n2.Session{{ID: 1, Transfer: []byte{9}}}})
	required := says("Handover Required", &n2.HandoverRequired{Target: n2.HandoverTarget{Node: n2.RANNode{Kind: n2.GNB, PLMN: plmnOf("20893"), ID: 2, Bits: 24}, TAI: n2.TAI{PLMN: plmnOf("20893"), TAC: 7}}})
	unknown := says("Error Indication", &n2.ErrorIndication{Cause: cause(ngapcause.UnknownLocalUEID)})
	released := says("UE Context Release Complete", &n2.UEContextReleaseComplete{})
	// by is a message with other names than the UE's.
	by := func(name string, change func(*record.Attachment), m n2.Message) act {
		return act{name: name, event: func(tr *teller) Event {
			a := at(gnb1, 9)
			a.AMF = record.AttachmentID(shard, 99)
			if tr.st.Record != nil && tr.st.Record.N2 != nil {
				a = *tr.st.Record.N2
			}
			if change != nil {
				change(&a)
			}
			return FromAccess{At: a, Message: m}
		}}
	}
	another := func(a *record.Attachment) { a.RAN = 77 }
	elsewhere := func(a *record.Attachment) { a.Association, a.GNB = 2, gnb2.Key() }
	begun := func(tr *teller) {
		idleUE(tr)
		tr.lead(first("", gnb1, 3, 1, serviceRequest(n1.ServiceData, n1.Of(1), n1.Of(1))))
	}
	uplink := &n2.UplinkNASTransport{}
	switches := &n2.PathSwitchRequest{RAN: 9, SourceAMF: n2.AMFUEID(record.AttachmentID(shard, 99)), Sessions: []n2.Session{{ID: 1, Transfer: []byte{1}}}}
	tell(t, "errors", []story{
		{name: "10.4: of resources without a context: what has a failure is answered with that, a response with nothing", from: begun, acts: []act{notify, moves, done, required}},
		{name: "10.4: messages of an AMF: a request is answered, a response is not", from: withSession, acts: []act{
			says("Initial Context Setup Request", &n2.InitialContextSetupRequest{}), says("Handover Command", &n2.HandoverCommand{}),
		}},
		{name: "10.4: a response that nobody waits for", from: withSession, acts: []act{says("Initial Context Setup Response", &n2.InitialContextSetupResponse{})}},
		{name: "10.6: nobody has that AMF UE NGAP ID", acts: []act{
			by("gNB: Uplink NAS Transport", nil, uplink), by("gNB: UE Context Release Request", nil, &n2.UEContextReleaseRequest{}),
		}},
		{name: "10.6: the last messages of a connection, and Error Indications, are not answered", acts: []act{
			by("gNB: UE Context Release Complete", nil, &n2.UEContextReleaseComplete{}), by("gNB: Handover Failure", nil, &n2.HandoverFailure{}), by("gNB: Error Indication", nil, &n2.ErrorIndication{}),
		}},
		{name: "10.6: a path switch of a UE that is not there fails", acts: []act{by("gNB: Path Switch Request", nil, switches)}},
		{name: "10.6: another RAN UE NGAP ID than the UE's", from: withSession, acts: []act{
			by("gNB: Uplink NAS Transport", another, uplink), by("gNB: Error Indication", another, &n2.ErrorIndication{Cause: cause(ngapcause.UnknownLocalUEID)}),
		}},
		{name: "10.6: the UE's names, by another gNB", from: withSession, acts: []act{by("gNB 2: Uplink NAS Transport", elsewhere, uplink)}},
		{name: "10.6: the gNB does not know the UE's names: the UE is idle, and its packets wait", from: withSession, acts: []act{unknown, updated, released}},
	})
}
