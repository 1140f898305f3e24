package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// SMF 1.2.4 takes the functions that the NRF names for a PDU session without a look at whether it named
// any. Without an AMF or a CHF it panics half-way, keeps the SM context, and panics again whenever this UE
// asks anew, for ever. So nobody asks it while one of them is not there, or is there only with the profile of
// an earlier life: after a change of TLS mode the functions restart one after the other, and until a function
// has, the NRF tells of it by its old scheme, which the SM context would keep.

// needed are the types of the functions that the creation of an SM context looks up.
var needed = []string{"UDM", "AMF", "PCF", "CHF"}

// discoveryTimeout is for one question to the NRF.
const discoveryTimeout = 2 * time.Second

// peers asks the NRF who is registered (TS 29.510 5.3.2).
type peers struct {
	nrf string
	// scheme of all SBIs of this core, as of the SMF's own.
	scheme string
	client *http.Client
}

func newPeers(nrf, scheme string, transport http.RoundTripper) *peers {
	return &peers{nrf: nrf, scheme: scheme, client: &http.Client{Timeout: discoveryTimeout, Transport: transport}}
}

// missing names a function without which no PDU session can be had, or "". An NRF that refuses the
// question (OAuth2) is no reason to hold a session back.
func (p *peers) missing(ctx context.Context) string {
	for _, nfType := range needed {
		lack, err := p.lack(ctx, nfType)
		if err != nil {
			return "the NRF: " + err.Error()
		}
		if lack != "" {
			return nfType + ": " + lack
		}
	}
	return ""
}

// lack says what is wrong with the functions of a type, or "".
func (p *peers) lack(ctx context.Context, nfType string) (string, error) {
	target, err := url.JoinPath(p.nrf, "/nnrf-disc/v1/nf-instances")
	if err != nil {
		return "", err
	}
	query := url.Values{"target-nf-type": {nfType}, "requester-nf-type": {"SMF"}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target+"?"+query.Encode(), nil)
	if err != nil {
		return "", err
	}
	response, err := p.client.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	switch {
	case response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden:
		return "", nil
	case response.StatusCode != http.StatusOK:
		return "", fmt.Errorf("status %d for %s", response.StatusCode, nfType)
	}
	var result struct {
		NFInstances []struct {
			NFServices []struct {
				APIPrefix string `json:"apiPrefix"`
			} `json:"nfServices"`
		} `json:"nfInstances"`
	}
	if err := json.NewDecoder(response.Body).Decode(&result); err != nil {
		return "", fmt.Errorf("%s: %w", nfType, err)
	}
	if len(result.NFInstances) == 0 {
		return "none is registered with the NRF", nil
	}
	// The SMF takes the first.
	for _, service := range result.NFInstances[0].NFServices {
		if scheme, _, ok := strings.Cut(service.APIPrefix, "://"); ok && scheme != p.scheme {
			return fmt.Sprintf("its profile in the NRF is of before the change from %s to %s", scheme, p.scheme), nil
		}
	}
	return "", nil
}
