package namf

import (
	"context"
	"net/http"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/ts29571"
	consumer "core5g.dev/core5g/images/session-management/namf"
)

// Messages are N1 and N2 messages for a UE (TS 29.518 5.2.2.3.1).
type Messages interface {
	Transfer(ctx context.Context, ue string, t *Transfer) (*Transferred, error)
}

// Classes of N1 messages (TS 29.518 6.1.6.3.3) and of N2 information (6.1.6.3.4).
const (
	ClassSM    = "SM"
	ClassLPP   = "LPP"
	ClassSMS   = "SMS"
	ClassUPDP  = "UPDP" // UE policies
	ClassLCS   = "LCS"
	ClassNRPPa = "NRPPa"
	ClassPWS   = "PWS"
	ClassRAN   = "RAN"
)

// Transfer is N1N2MessageTransferReqData (TS 29.518 6.1.6.2.18). What is not said is zero; N1 or N2 is there.
type Transfer struct {
	// N1 is a NAS payload of N1Class.
	N1      []byte
	N1Class string
	// N2 is of N2Class, and of class SM of the PDU session and its S-NSSAI.
	N2      N2
	N2Class string
	// SessionID is 1 to 15, 0 of a message of no session.
	SessionID uint8
	SNSSAI    *ts29571.SNSSAI
	// NFID is the instance of who asks, as it says.
	NFID string
	// SkipIndication: where the UE is idle, N1 is not to be sent. LastMessage: none follows.
	SkipIndication, LastMessage bool
	// PPI, FiveQI and ARP are for the priority of the paging.
	PPI    *uint8
	FiveQI uint8
	ARP    *ts29571.ARP
	// FailureURI is where to tell that the UE was not reached.
	FailureURI string
	// Areas where the transfer is wanted, nil: everywhere.
	Areas             []ts29571.TAI
	ExtendedBuffering bool
	// TargetAccess is 3GPP_ACCESS or NON_3GPP_ACCESS of a session over both.
	TargetAccess string
	// CorrelationID is of location services.
	CorrelationID string
}

func (t *Transfer) fields(f *sbi.Fields) {
	uri, id := sbi.CallbackURI(t.FailureURI), sessionID(t.SessionID)
	if f.Reads() || len(t.N1) > 0 {
		f.Object("n1MessageContainer", func(f *sbi.Fields) {
			sbi.Required(f, "n1MessageClass", &t.N1Class)
			f.Binary("n1MessageContent", "n1msg", sbi.NAS, &t.N1)
			if f.Err() == nil && len(t.N1) == 0 {
				f.Fail(sbi.BadRequest("MANDATORY_IE_MISSING", "n1MessageContent is mandatory in n1MessageContainer"))
			}
		})
	}
	if f.Reads() || len(t.N2.Content) > 0 {
		f.Object("n2InfoContainer", t.n2Fields)
	}
	sbi.Member(f, "skipInd", &t.SkipIndication)
	sbi.Member(f, "lastMsgIndication", &t.LastMessage)
	sbi.Member(f, "pduSessionId", &id)
	sbi.Member(f, "ppi", &t.PPI)
	sbi.Member(f, "arp", &t.ARP)
	sbi.Member(f, "5qi", &t.FiveQI)
	sbi.Member(f, "n1n2FailureTxfNotifURI", &uri)
	f.Object("areaOfValidity", func(f *sbi.Fields) { sbi.Member(f, "taiList", &t.Areas) })
	sbi.Member(f, "extBufSupport", &t.ExtendedBuffering)
	sbi.Member(f, "targetAccess", &t.TargetAccess)
	sbi.Member(f, "nfId", &t.NFID)
	sbi.Member(f, "lcsCorrelationId", &t.CorrelationID)
	t.FailureURI = string(uri)
	if t.SessionID == 0 {
		t.SessionID = uint8(id)
	}
	t.check(f)
}

// n2Fields are an N2InfoContainer (TS 29.518 6.1.6.2.16): the member that the class has.
func (t *Transfer) n2Fields(f *sbi.Fields) {
	sbi.Required(f, "n2InformationClass", &t.N2Class)
	info := func(f *sbi.Fields) { f.Object("n2InfoContent", func(f *sbi.Fields) { t.N2.fields(f, "n2msg") }) }
	switch t.N2Class {
	case ClassSM:
		f.Object("smInfo", func(f *sbi.Fields) {
			s := SessionN2{SessionID: t.SessionID, N2: t.N2, SNSSAI: t.SNSSAI}
			s.fields(f, "n2msg")
			t.SessionID, t.N2, t.SNSSAI = s.SessionID, s.N2, s.SNSSAI
		})
	case ClassRAN:
		f.Object("ranInfo", info)
	case ClassNRPPa:
		f.Object("nrppaInfo", func(f *sbi.Fields) {
			f.Object("nrppaPdu", func(f *sbi.Fields) { t.N2.fields(f, "n2msg") })
		})
	default:
		// What this network has no use for has a content as well, wherever it is: the handler refuses the class.
		return
	}
	if f.Err() == nil && len(t.N2.Content) == 0 {
		f.Fail(sbi.BadRequest("MANDATORY_IE_MISSING", "n2InfoContainer: there is no ngapData in the member of its class"))
	}
}

func (t *Transfer) check(f *sbi.Fields) {
	switch {
	case f.Err() != nil:
	case t.N1Class == "" && t.N2Class == "":
		f.Fail(sbi.BadRequest("MANDATORY_IE_MISSING", "n1MessageContainer or n2InfoContainer: write one of them at least"))
	case t.N1Class == ClassSM && t.SessionID == 0:
		f.Fail(sbi.BadRequest("MANDATORY_IE_MISSING", "pduSessionId is mandatory with a message of class SM"))
	case t.PPI != nil && *t.PPI > 7:
		f.Fail(sbi.BadRequest("OPTIONAL_IE_INCORRECT", "ppi: write a number from 0 to 7"))
	}
}

// Transferred is the answer to a Transfer.
type Transferred struct {
	// Result is one of those of the SMF's client: Initiated and NotTransferred are answered with 200, Reaching and Waiting
	// with 202.
	Result consumer.Result
	// ID names the message that waits for the UE, for Reaching and Waiting: its URI is in the Location of the answer, and
	// in a failure notification.
	ID string
}

func (s *server) registerMessages() {
	if s.Messages == nil {
		return
	}
	s.handle(CommunicationService, "N1N2MessageTransfer", "POST "+contexts+"/{ue}/n1-n2-messages", refusedTransfer, func(req *http.Request) (sbi.Answer, error) {
		ue, err := ueOf(req)
		if err != nil {
			return sbi.Answer{}, err
		}
		var t Transfer
		if err := read(req, &t); err != nil {
			return sbi.Answer{}, err
		}
		done, err := s.Messages.Transfer(req.Context(), ue, &t)
		if err != nil {
			return sbi.Answer{}, err
		}
		answer := sbi.Answer{Status: http.StatusOK, Body: map[string]consumer.Result{"cause": done.Result}}
		if done.Result == consumer.Reaching || done.Result == consumer.Waiting {
			answer.Status, answer.Location = http.StatusAccepted, MessageURI(sbi.BaseURI(req), ue, done.ID)
		}
		return answer, nil
	})
}

// MessageURI is that of a message that waits for a UE.
func MessageURI(root, ue, id string) string {
	return root + pathOf(ue) + "/n1-n2-messages/" + id
}
