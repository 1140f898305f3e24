package udr

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"

	"core5g.dev/core5g/operators/subscriberdata/sbi"
	"core5g.dev/core5g/operators/subscriberdata/subscription"
)

const service = "nudr-dr"

// Directory is what the UDR asks about subscribers.
type Directory interface {
	Subscriber(ctx context.Context, supi string) (subscription.Subscriber, error)
}

// UDR is the unified data repository.
type UDR struct {
	directory Directory
}

// New returns a UDR.
func New(directory Directory) *UDR { return &UDR{directory: directory} }

// Register adds the UDR's operations.
func (u *UDR) Register(r *sbi.Router) {
	const policy = "/nudr-dr/v2/policy-data/ues/{ueId}"
	const influence = "/nudr-dr/v2/application-data/influenceData"
	r.Handle(service, "ReadAccessAndMobilityPolicyData", "GET "+policy+"/am-data", u.amPolicyData)
	r.Handle(service, "ReadSessionManagementPolicyData", "GET "+policy+"/sm-data", u.smPolicyData)
	r.Handle(service, "ReadInfluenceData", "GET "+influence, u.influenceData)
	r.Handle(service, "CreateIndividualInfluenceDataSubscription", "POST "+influence+"/subs-to-notify", u.subscribe)
	r.Handle(service, "DeleteIndividualInfluenceDataSubscription",
		"DELETE "+influence+"/subs-to-notify/{subscriptionId...}", u.unsubscribe)
}

func (u *UDR) subscriber(r *http.Request) (subscription.Subscriber, error) {
	s, err := u.directory.Subscriber(r.Context(), r.PathValue("ueId"))
	if errors.Is(err, subscription.ErrUnknownSubscriber) {
		return s, sbi.UserNotFound(r.PathValue("ueId"))
	}
	return s, err
}

// amPolicyData is AmPolicyData of TS 29.519 5.4.2.2, of which nothing is subscribed.
func (u *UDR) amPolicyData(r *http.Request) (sbi.Answer, error) {
	if _, err := u.subscriber(r); err != nil {
		return sbi.Answer{}, err
	}
	return sbi.Answer{Status: http.StatusOK, Body: struct{}{}}, nil
}

// smPolicyData is SmPolicyData of TS 29.519 5.4.2.3.
type smPolicyData struct {
	SMPolicySnssaiData map[string]smPolicySnssaiData `json:"smPolicySnssaiData"`
}

type smPolicySnssaiData struct {
	SNSSAI          subscription.SNSSAI        `json:"snssai"`
	SMPolicyDNNData map[string]smPolicyDNNData `json:"smPolicyDnnData"`
}

type smPolicyDNNData struct {
	DNN string `json:"dnn"`
}

func (u *UDR) smPolicyData(r *http.Request) (sbi.Answer, error) {
	s, err := u.subscriber(r)
	if err != nil {
		return sbi.Answer{}, err
	}
	wanted, bySlice, err := sbi.Query[subscription.SNSSAI](r, "snssai")
	if err != nil {
		return sbi.Answer{}, err
	}
	dnn := r.URL.Query().Get("dnn")

	data := smPolicyData{SMPolicySnssaiData: make(map[string]smPolicySnssaiData)}
	for _, sl := range s.Slices {
		if bySlice && sl.SNSSAI != wanted {
			continue
		}
		d := smPolicySnssaiData{SNSSAI: sl.SNSSAI, SMPolicyDNNData: make(map[string]smPolicyDNNData)}
		for _, dn := range sl.DataNetworks {
			if dnn == "" || dn.DNN == dnn {
				d.SMPolicyDNNData[dn.DNN] = smPolicyDNNData{DNN: dn.DNN}
			}
		}
		if len(d.SMPolicyDNNData) > 0 {
			// TS 29.519's key is 1-010203; PCF 1.4.5 looks for 01010203 and ignores the other.
			data.SMPolicySnssaiData[sl.SNSSAI.String()] = d
			data.SMPolicySnssaiData[sl.SNSSAI.Hex()] = d
		}
	}
	if len(data.SMPolicySnssaiData) == 0 {
		return sbi.Answer{}, sbi.DataNotFound("the subscriber has no such slice and DNN")
	}
	return sbi.Answer{Status: http.StatusOK, Body: data}, nil
}

// influenceData answers with an empty list: PCF 1.4.5 dies of any other status.
func (u *UDR) influenceData(r *http.Request) (sbi.Answer, error) {
	if _, _, err := sbi.Query[[]subscription.SNSSAI](r, "snssais"); err != nil {
		return sbi.Answer{}, err
	}
	return sbi.Answer{Status: http.StatusOK, Body: []struct{}{}}, nil
}

// subscribe answers a subscription to influence data (TS 29.519 6.2.8). It will never change, so that
// nothing is kept.
func (u *UDR) subscribe(r *http.Request) (sbi.Answer, error) {
	var subscribed map[string]any
	if err := sbi.ReadJSON(r, &subscribed); err != nil {
		return sbi.Answer{}, err
	}
	if subscribed == nil {
		return sbi.Answer{}, sbi.BadRequest("INVALID_MSG_FORMAT", "the content is not a TrafficInfluSub")
	}
	return sbi.Answer{
		Status:   http.StatusCreated,
		Location: sbi.BaseURI(r) + r.URL.Path + "/" + uuid.NewString(),
		Body:     subscribed,
	}, nil
}

// unsubscribe succeeds for any identifier, the empty one too, which PCF 1.4.5 sends for a subscription
// that it never got.
func (u *UDR) unsubscribe(*http.Request) (sbi.Answer, error) {
	return sbi.Answer{Status: http.StatusNoContent}, nil
}
