package discovery

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"core5g.dev/core5g/images/nf/sbi"
)

const (
	callbackPath = "/nf-status-callback/v1/"
	// validity is asked of the NRF; subscriptions are made anew after half of what it grants.
	validity = 10 * time.Minute
	// retry is the pause after a subscription that was not to be had.
	retry = 5 * time.Second
	// forgetLimit bounds the way out.
	forgetLimit = time.Second
)

// Register adds the route by which the NRF tells of changes.
func (c *Cache) Register(r *sbi.Router) {
	r.Handle("nf-status-callback", "NFStatusNotify", "POST "+callbackPath+"{nfType}", func(req *http.Request) (sbi.Answer, error) {
		// What has changed is asked for: a notification says too little, and may have been overtaken by another.
		if _, err := sbi.ReadContent(req); err != nil {
			return sbi.Answer{}, err
		}
		c.Changed(req.PathValue("nfType"))
		return sbi.Answer{Status: http.StatusNoContent}, nil
	})
}

// Changed has the NRF asked anew for functions of a type. What it said last is used while it does not answer.
func (c *Cache) Changed(nfType string) {
	now := c.options.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.entries {
		if e.nfType == nfType {
			e.expire(now)
		}
	}
}

// subscription is SubscriptionData of TS 29.510 6.1.6.2.16.
type subscription struct {
	URI       string            `json:"nfStatusNotificationUri"`
	Condition map[string]string `json:"subscrCond"`
	Events    []string          `json:"reqNotifEvents"`
	Type      string            `json:"reqNfType"`
	Instance  string            `json:"reqNfInstanceId,omitempty"`
	Until     time.Time         `json:"validityTime"`
}

// granted is what the NRF made of one.
type granted struct {
	uri   string // "" where it said none
	renew time.Time
}

// Run looks up what is needed ahead, and has the NRF tell of changes of all types that are looked for, until ctx ends. It does nothing where there is
// no NRF, and no more than the former without a CallbackRoot.
func (c *Cache) Run(ctx context.Context) {
	if c.options.NRF == "" {
		return
	}
	var ahead sync.WaitGroup
	ahead.Go(func() { c.lookAhead(ctx) })
	defer ahead.Wait()
	if c.options.CallbackRoot == "" {
		return
	}
	held := map[string]granted{}
	complained := false
	for ctx.Err() == nil {
		next := c.options.Now().Add(validity)
		for _, nfType := range c.wanted() {
			g, ok := held[nfType]
			if now := c.options.Now(); !ok || !now.Before(g.renew) {
				renewed, err := c.subscribe(ctx, nfType)
				if err != nil {
					if !complained {
						c.options.Log.Warn("the NRF tells of no changes, trying on", "nrf", c.options.NRF, "nf_type", nfType, "error", err)
					}
					complained = true
					renewed = granted{renew: now.Add(retry)}
				} else {
					complained = false
					c.unsubscribe(ctx, g)
				}
				held[nfType], g = renewed, renewed
			}
			if g.renew.Before(next) {
				next = g.renew
			}
		}
		timer := time.NewTimer(max(next.Sub(c.options.Now()), time.Millisecond))
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-c.wake:
			if c.isBack() {
				held = map[string]granted{}
			}
		}
		timer.Stop()
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), forgetLimit)
	defer cancel()
	for _, g := range held {
		c.unsubscribe(last, g)
	}
}

// lookAhead asks until each service is known: at the beginning its functions may not have registered yet.
func (c *Cache) lookAhead(ctx context.Context) {
	for _, s := range c.options.Ahead {
		for {
			if _, err := c.Find(ctx, s); err == nil {
				break
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
		}
	}
}

// wanted are the types that were looked for.
func (c *Cache) wanted() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.types))
}

// subscribe hears the answer also where ctx ends meanwhile: what nobody knows of cannot be taken back.
func (c *Cache) subscribe(ctx context.Context, nfType string) (granted, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askLimit)
	defer cancel()
	now := c.options.Now()
	body, err := json.Marshal(subscription{
		URI: c.options.CallbackRoot + callbackPath + url.PathEscape(nfType), Condition: map[string]string{"nfType": nfType},
		Events: []string{"NF_REGISTERED", "NF_DEREGISTERED", "NF_PROFILE_CHANGED"},
		Type:   c.options.Type, Instance: c.options.InstanceID, Until: now.Add(validity).UTC(),
	})
	if err != nil {
		return granted{}, err
	}
	uri := c.options.NRF + "/nnrf-nfm/v1/subscriptions"
	status, raw, err := c.do(ctx, http.MethodPost, uri, bytes.NewReader(body))
	if err != nil {
		return granted{}, err
	}
	if status != http.StatusCreated && status != http.StatusOK {
		return granted{}, fmt.Errorf("the NRF answered %d to the subscription", status)
	}
	var answer struct {
		ID    string    `json:"subscriptionId"`
		Until time.Time `json:"validityTime"`
	}
	_ = json.Unmarshal(raw, &answer) // what is not there is as it was asked for
	g := granted{renew: now.Add(validity / 2)}
	if answer.ID != "" {
		g.uri = uri + "/" + url.PathEscape(answer.ID)
	}
	if half := now.Add(answer.Until.Sub(now) / 2); half.After(now) && half.Before(g.renew) {
		g.renew = half
	}
	return g, nil
}

func (c *Cache) unsubscribe(ctx context.Context, g granted) {
	if g.uri == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	// One that stays ends by itself.
	_, _, _ = c.do(ctx, http.MethodDelete, g.uri, nil)
}
