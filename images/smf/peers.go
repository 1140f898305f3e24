package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// SMF 1.2.4 takes the functions that the NRF names for a PDU session without a look at whether it named
// any. Without an AMF or a CHF it panics half-way, keeps the SM context, and panics again whenever this UE
// asks anew, for ever. So nobody asks it while one of them is not there.

// needed are the types of the functions that the creation of an SM context looks up.
var needed = []string{"UDM", "AMF", "PCF", "CHF"}

// discoveryTimeout is for one question to the NRF.
const discoveryTimeout = 2 * time.Second

// peers asks the NRF who is registered (TS 29.510 5.3.2).
type peers struct {
	nrf    string
	client *http.Client
}

func newPeers(nrf string, transport http.RoundTripper) *peers {
	return &peers{nrf: nrf, client: &http.Client{Timeout: discoveryTimeout, Transport: transport}}
}

// missing names a function without which no PDU session can be had, or "". An NRF that refuses the
// question (OAuth2) is no reason to hold a session back.
func (p *peers) missing(ctx context.Context) string {
	for _, nfType := range needed {
		known, err := p.registered(ctx, nfType)
		if err != nil {
			return "the NRF: " + err.Error()
		}
		if !known {
			return nfType + ": none is registered with the NRF"
		}
	}
	return ""
}

func (p *peers) registered(ctx context.Context, nfType string) (bool, error) {
	target, err := url.JoinPath(p.nrf, "/nnrf-disc/v1/nf-instances")
	if err != nil {
		return false, err
	}
	query := url.Values{"target-nf-type": {nfType}, "requester-nf-type": {"SMF"}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target+"?"+query.Encode(), nil)
	if err != nil {
		return false, err
	}
	response, err := p.client.Do(request)
	if err != nil {
		return false, err
	}
	defer func() { _ = response.Body.Close() }()
	switch {
	case response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden:
		return true, nil
	case response.StatusCode != http.StatusOK:
		return false, fmt.Errorf("status %d for %s", response.StatusCode, nfType)
	}
	var result struct {
		NFInstances []json.RawMessage `json:"nfInstances"`
	}
	if err := json.NewDecoder(response.Body).Decode(&result); err != nil {
		return false, fmt.Errorf("%s: %w", nfType, err)
	}
	return len(result.NFInstances) > 0, nil
}
