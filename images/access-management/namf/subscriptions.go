package namf

import (
	"context"
	"net/http"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/ts29571"
)

const (
	nonUE    = "/namf-comm/v1/non-ue-n2-messages"
	statuses = "/namf-comm/v1/subscriptions"
)

// Subscriptions are who wants to hear of messages, and of AMFs (TS 29.518 5.2.2.3.3 to 5.2.2.5). The identifiers that
// they are given are of letters, digits, and - . _ ~.
type Subscriptions interface {
	// SubscribeMessages asks for N1 and N2 messages of a UE.
	SubscribeMessages(ctx context.Context, ue string, m *MessageSubscription) (id string, err error)
	UnsubscribeMessages(ctx context.Context, ue, id string) error
	// TransferNonUE sends N2 information of no UE to access networks, such as warnings.
	TransferNonUE(ctx context.Context, n *NonUE) (*NonUETransferred, error)
	SubscribeNonUE(ctx context.Context, m *MessageSubscription) (id string, err error)
	UnsubscribeNonUE(ctx context.Context, id string) error
	// SubscribeStatus asks to hear that GUAMIs become unavailable. Replace changes what is asked for.
	SubscribeStatus(ctx context.Context, s *StatusSubscription) (id string, err error)
	ReplaceStatus(ctx context.Context, id string, s *StatusSubscription) error
	UnsubscribeStatus(ctx context.Context, id string) error
}

// MessageSubscription is UeN1N2InfoSubscriptionCreateData or NonUeN2InfoSubscriptionCreateData (TS 29.518 6.1.6.2.10,
// 6.1.6.2.12).
type MessageSubscription struct {
	// N1Class and N2Class are of the messages, "" for none of the kind; the URIs are where to send them.
	N1Class, N1URI string
	N2Class, N2URI string
	// NFID is the instance of who asks, as it says.
	NFID string
}

func (m *MessageSubscription) check(f *sbi.Fields) {
	switch {
	case f.Err() != nil:
	case m.N1Class == "" && m.N2Class == "":
		f.Fail(sbi.BadRequest("MANDATORY_IE_MISSING", "n1MessageClass or n2InformationClass: write one of them at least"))
	case m.N1Class != "" && m.N1URI == "":
		f.Fail(sbi.BadRequest("MANDATORY_IE_MISSING", "n1NotifyCallbackUri is mandatory with n1MessageClass"))
	case m.N2Class != "" && m.N2URI == "":
		f.Fail(sbi.BadRequest("MANDATORY_IE_MISSING", "n2NotifyCallbackUri is mandatory with n2InformationClass"))
	}
}

func (m *MessageSubscription) fields(f *sbi.Fields) {
	n1, n2 := sbi.CallbackURI(m.N1URI), sbi.CallbackURI(m.N2URI)
	sbi.Member(f, "n1MessageClass", &m.N1Class)
	sbi.Member(f, "n1NotifyCallbackUri", &n1)
	sbi.Member(f, "n2InformationClass", &m.N2Class)
	sbi.Member(f, "n2NotifyCallbackUri", &n2)
	sbi.Member(f, "nfId", &m.NFID)
	m.N1URI, m.N2URI = string(n1), string(n2)
	m.check(f)
}

// NonUE is N2InformationTransferReqData (TS 29.518 6.1.6.2.14).
type NonUE struct {
	// Areas or Nodes (global RAN node identifiers, as they came) are who gets it; none: all.
	Areas []ts29571.TAI
	Nodes []sbi.Content
	RAT   string
	// Class is that of the information: PWS, NRPPa, RAN.
	Class string
	N2    N2
	// Message and Serial are the identifier and the serial number of a warning.
	Message, Serial *uint16
}

func (n *NonUE) fields(f *sbi.Fields) {
	sbi.Member(f, "taiList", &n.Areas)
	sbi.Member(f, "ratSelector", &n.RAT)
	sbi.Member(f, "globalRanNodeList", &n.Nodes)
	there := f.Object("n2Information", func(f *sbi.Fields) {
		sbi.Required(f, "n2InformationClass", &n.Class)
		content := func(f *sbi.Fields) { n.N2.fields(f, "n2msg") }
		switch n.Class {
		case ClassPWS:
			f.Object("pwsInfo", func(f *sbi.Fields) {
				sbi.Member(f, "messageIdentifier", &n.Message)
				sbi.Member(f, "serialNumber", &n.Serial)
				f.Object("pwsContainer", content)
			})
		case ClassNRPPa:
			f.Object("nrppaInfo", func(f *sbi.Fields) { f.Object("nrppaPdu", content) })
		case ClassRAN:
			f.Object("ranInfo", func(f *sbi.Fields) { f.Object("n2InfoContent", content) })
		default:
			return // the handler refuses the class
		}
		if f.Err() == nil && len(n.N2.Content) == 0 {
			f.Fail(sbi.BadRequest("MANDATORY_IE_MISSING", "n2Information: there is no ngapData in the member of its class"))
		}
	})
	if !there && f.Err() == nil {
		f.Fail(sbi.BadRequest("MANDATORY_IE_MISSING", "n2Information is mandatory"))
	}
}

// NonUETransferred is the answer to a NonUE.
type NonUETransferred struct {
	// NotSentTo are areas without an access network.
	NotSentTo []ts29571.TAI
}

// StatusSubscription is SubscriptionData (TS 29.518 6.1.6.2.2).
type StatusSubscription struct {
	// URI is where to tell.
	URI string
	// GUAMIs of interest, none: all of this AMF.
	GUAMIs []ts29571.GUAMI
}

func (s *StatusSubscription) fields(f *sbi.Fields) {
	uri := sbi.CallbackURI(s.URI)
	sbi.Required(f, "amfStatusUri", &uri)
	sbi.Member(f, "guamiList", &s.GUAMIs)
	s.URI = string(uri)
}

func (s *server) registerSubscriptions() {
	h := s.Subscriptions
	if h == nil {
		return
	}
	add := func(operation, pattern string, op sbi.Operation) {
		s.handle(CommunicationService, operation, pattern, nil, op)
	}
	add("N1N2MessageSubscribe", "POST "+contexts+"/{ue}/n1-n2-messages/subscriptions", func(req *http.Request) (sbi.Answer, error) {
		ue, err := ueOf(req)
		if err != nil {
			return sbi.Answer{}, err
		}
		var m MessageSubscription
		if err := read(req, &m); err != nil {
			return sbi.Answer{}, err
		}
		id, err := h.SubscribeMessages(req.Context(), ue, &m)
		return s.made(req, pathOf(ue)+"/n1-n2-messages/subscriptions/"+id, map[string]string{"n1n2NotifySubscriptionId": id}), err
	})
	add("N1N2MessageUnSubscribe", "DELETE "+contexts+"/{ue}/n1-n2-messages/subscriptions/{id}", func(req *http.Request) (sbi.Answer, error) {
		ue, err := ueOf(req)
		if err != nil {
			return sbi.Answer{}, err
		}
		id, err := idOf(req, "id", SubscriptionNotFound)
		if err != nil {
			return sbi.Answer{}, err
		}
		return nothing, h.UnsubscribeMessages(req.Context(), ue, id)
	})
	add("NonUeN2MessageTransfer", "POST "+nonUE+"/transfer", func(req *http.Request) (sbi.Answer, error) {
		var n NonUE
		if err := read(req, &n); err != nil {
			return sbi.Answer{}, err
		}
		done, err := h.TransferNonUE(req.Context(), &n)
		if err != nil {
			return sbi.Answer{}, err
		}
		out := map[string]any{"result": "N2_INFO_TRANSFER_INITIATED"}
		if len(done.NotSentTo) > 0 && n.Class == ClassPWS {
			out["pwsRspData"] = map[string]any{"messageIdentifier": n.Message, "serialNumber": n.Serial, "unknownTaiList": done.NotSentTo}
		}
		return sbi.Answer{Status: http.StatusOK, Body: out}, nil
	})
	add("NonUeN2InfoSubscribe", "POST "+nonUE+"/subscriptions", func(req *http.Request) (sbi.Answer, error) {
		var m MessageSubscription
		if err := read(req, &m); err != nil {
			return sbi.Answer{}, err
		}
		id, err := h.SubscribeNonUE(req.Context(), &m)
		return s.made(req, nonUE+"/subscriptions/"+id, map[string]string{"n2NotifySubscriptionId": id, "n2InformationClass": m.N2Class}), err
	})
	add("NonUeN2InfoUnSubscribe", "DELETE "+nonUE+"/subscriptions/{id}", withID(h.UnsubscribeNonUE))
	add("AMFStatusChangeSubscribe", "POST "+statuses, func(req *http.Request) (sbi.Answer, error) {
		var v StatusSubscription
		if err := read(req, &v); err != nil {
			return sbi.Answer{}, err
		}
		id, err := h.SubscribeStatus(req.Context(), &v)
		if err != nil {
			return sbi.Answer{}, err
		}
		body, err := write(&v)
		return s.made(req, statuses+"/"+id, body), err
	})
	add("AMFStatusChangeSubscribeModfy", "PUT "+statuses+"/{id}", func(req *http.Request) (sbi.Answer, error) {
		id, err := idOf(req, "id", SubscriptionNotFound)
		if err != nil {
			return sbi.Answer{}, err
		}
		var v StatusSubscription
		if err := read(req, &v); err != nil {
			return sbi.Answer{}, err
		}
		if err := h.ReplaceStatus(req.Context(), id, &v); err != nil {
			return sbi.Answer{}, err
		}
		return ok(&v)
	})
	add("AMFStatusChangeUnSubscribe", "DELETE "+statuses+"/{id}", withID(h.UnsubscribeStatus))
}

// withID ends what has the identifier in the path.
func withID(end func(context.Context, string) error) sbi.Operation {
	return func(req *http.Request) (sbi.Answer, error) {
		id, err := idOf(req, "id", SubscriptionNotFound)
		if err != nil {
			return sbi.Answer{}, err
		}
		return nothing, end(req.Context(), id)
	}
}
