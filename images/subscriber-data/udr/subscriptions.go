package udr

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/subscriber-data/records"
	"core5g.dev/core5g/images/subscriber-data/subscription"
)

// Subscriptions to changes of policy data and of influence data (TS 29.519 5.2 and 6.2). They are kept until they are
// deleted. Nobody is notified: a changed subscription is in force with the next policy association, and influence data
// is always empty.

// monitoredUE finds the UE in the URI of a resource of policy data.
var monitoredUE = regexp.MustCompile(`/policy-data/ues/([^/?#]+)`)

// checkPolicySubscription checks a PolicyDataSubscription (TS 29.519 5.4.2.9) and returns a UE that it is about.
func (u *UDR) checkPolicySubscription(ctx context.Context, c sbi.Content) (string, error) {
	if _, err := sbi.Mandatory[sbi.CallbackURI](c, "notificationUri"); err != nil {
		return "", err
	}
	resources, err := sbi.Mandatory[[]sbi.Text](c, "monitoredResourceUris")
	if err != nil {
		return "", err
	}
	if len(resources) == 0 {
		return "", sbi.BadRequest("MANDATORY_IE_INCORRECT", "monitoredResourceUris is empty: name at least one resource")
	}
	var ues []string
	for _, resource := range resources {
		if found := monitoredUE.FindStringSubmatch(string(resource)); found != nil {
			ues = append(ues, found[1])
		}
	}
	return u.known(ctx, ues)
}

// checkInfluenceSubscription checks a TrafficInfluSub (TS 29.519 6.4.2.3) and returns a UE that it is about.
func (u *UDR) checkInfluenceSubscription(ctx context.Context, c sbi.Content) (string, error) {
	if _, err := sbi.Mandatory[sbi.CallbackURI](c, "notificationUri"); err != nil {
		return "", err
	}
	dnns, _, err := sbi.Optional[[]string](c, "dnns")
	if err != nil {
		return "", err
	}
	snssais, _, err := sbi.Optional[[]subscription.SNSSAI](c, "snssais")
	if err != nil {
		return "", err
	}
	groups, _, err := sbi.Optional[[]string](c, "internalGroupIds")
	if err != nil {
		return "", err
	}
	supis, _, err := sbi.Optional[[]string](c, "supis")
	if err != nil {
		return "", err
	}
	if len(dnns)+len(snssais)+len(groups)+len(supis) == 0 {
		return "", sbi.BadRequest("MANDATORY_IE_MISSING", "one of dnns, snssais, internalGroupIds and supis is mandatory")
	}
	return u.known(ctx, supis)
}

// known returns the first of the UEs; all must have a subscription.
func (u *UDR) known(ctx context.Context, ues []string) (string, error) {
	for _, ue := range ues {
		if _, err := u.lookUp(ctx, ue); err != nil {
			return "", err
		}
	}
	if len(ues) == 0 {
		return "", nil
	}
	return ues[0], nil
}

type check func(context.Context, sbi.Content) (string, error)

func subscribe(kept *records.Subscriptions, check check) sbi.Operation {
	return func(r *http.Request) (sbi.Answer, error) {
		content, err := sbi.ReadContent(r)
		if err != nil {
			return sbi.Answer{}, err
		}
		ue, err := check(r.Context(), content)
		if err != nil {
			return sbi.Answer{}, err
		}
		body, err := json.Marshal(content)
		if err != nil {
			return sbi.Answer{}, err
		}
		id, err := kept.Add(r.Context(), ue, body)
		if err != nil {
			return sbi.Answer{}, err
		}
		return sbi.Answer{Status: http.StatusCreated, Location: sbi.BaseURI(r) + r.URL.Path + "/" + id, Body: content}, nil
	}
}

func readSubscription(kept *records.Subscriptions) sbi.Operation {
	return func(r *http.Request) (sbi.Answer, error) {
		found, there, err := kept.Get(r.Context(), r.PathValue("subscriptionId"))
		if err != nil {
			return sbi.Answer{}, err
		}
		if !there {
			return sbi.Answer{}, sbi.SubscriptionNotFound()
		}
		return sbi.Answer{Status: http.StatusOK, Body: found.Body}, nil
	}
}

func replaceSubscription(kept *records.Subscriptions, check check) sbi.Operation {
	return func(r *http.Request) (sbi.Answer, error) {
		content, err := sbi.ReadContent(r)
		if err != nil {
			return sbi.Answer{}, err
		}
		if _, err := check(r.Context(), content); err != nil {
			return sbi.Answer{}, err
		}
		there, err := kept.Replace(r.Context(), r.PathValue("subscriptionId"), func(records.Subscription) ([]byte, error) { return json.Marshal(content) })
		if err != nil {
			return sbi.Answer{}, err
		}
		if !there {
			return sbi.Answer{}, sbi.SubscriptionNotFound()
		}
		return sbi.Answer{Status: http.StatusOK, Body: content}, nil
	}
}

func unsubscribe(kept *records.Subscriptions) sbi.Operation {
	return func(r *http.Request) (sbi.Answer, error) {
		there, err := kept.Remove(r.Context(), "", r.PathValue("subscriptionId"))
		if err != nil {
			return sbi.Answer{}, err
		}
		if !there {
			return sbi.Answer{}, sbi.SubscriptionNotFound()
		}
		return sbi.Answer{Status: http.StatusNoContent}, nil
	}
}
