package udr

import (
	"context"
	"errors"
	"net/http"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/subscriber-data/records"
	"core5g.dev/core5g/images/subscriber-data/subscription"
)

const service = "nudr-dr"

// subscriptionsOfOne limits the subscriptions that concern one subscriber: the PCF has one for each of up to 15 PDU
// sessions.
const subscriptionsOfOne = 16

// Directory is what the UDR asks about subscribers.
type Directory interface {
	Confirmed(ctx context.Context, supi string) (subscription.Subscriber, error)
}

// UDR is the unified data repository.
type UDR struct {
	directory                       Directory
	policyChanges, influenceChanges *records.Subscriptions
}

// New returns a UDR. What it must remember is in the records.
func New(directory Directory, kept *records.Records) *UDR {
	return &UDR{
		directory:        directory,
		policyChanges:    records.NewSubscriptions(kept, "policy", subscriptionsOfOne),
		influenceChanges: records.NewSubscriptions(kept, "influence", subscriptionsOfOne),
	}
}

// Register adds the UDR's operations.
func (u *UDR) Register(r *sbi.Router) {
	const policy = "/nudr-dr/v2/policy-data/ues/{ueId}"
	const influence = "/nudr-dr/v2/application-data/influenceData"
	r.Handle(service, "ReadAccessAndMobilityPolicyData", "GET "+policy+"/am-data", u.amPolicyData)
	r.Handle(service, "ReadSessionManagementPolicyData", "GET "+policy+"/sm-data", u.smPolicyData)
	r.Handle(service, "ReadInfluenceData", "GET "+influence, u.influenceData)
	for _, kind := range []struct {
		name, path    string
		subscriptions *records.Subscriptions
		check         func(context.Context, sbi.Content) (string, error)
	}{
		{"PolicyDataSubscription", "/nudr-dr/v2/policy-data/subs-to-notify", u.policyChanges, u.checkPolicySubscription},
		{"InfluenceDataSubscription", influence + "/subs-to-notify", u.influenceChanges, u.checkInfluenceSubscription},
	} {
		r.Handle(service, "CreateIndividual"+kind.name, "POST "+kind.path, subscribe(kind.subscriptions, kind.check))
		r.Handle(service, "ReadIndividual"+kind.name, "GET "+kind.path+"/{subscriptionId}", readSubscription(kind.subscriptions))
		r.Handle(service, "ReplaceIndividual"+kind.name, "PUT "+kind.path+"/{subscriptionId}", replaceSubscription(kind.subscriptions, kind.check))
		// With an empty identifier too, which PCF 1.4.5 sends for a subscription that it never got.
		r.Handle(service, "DeleteIndividual"+kind.name, "DELETE "+kind.path+"/{subscriptionId...}", unsubscribe(kind.subscriptions))
	}
}

func (u *UDR) subscriber(r *http.Request) (subscription.Subscriber, error) {
	return u.lookUp(r.Context(), r.PathValue("ueId"))
}

func (u *UDR) lookUp(ctx context.Context, ue string) (subscription.Subscriber, error) {
	s, err := u.directory.Confirmed(ctx, ue)
	if errors.Is(err, subscription.ErrUnknownSubscriber) {
		return s, sbi.UserNotFound(ue)
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
