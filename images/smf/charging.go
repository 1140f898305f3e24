package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// SMF 1.2.4 looks into the CHF's answer before it looks whether there is one. Without an answer it panics:
// at the start of a PDU session (Charging Data Request[Initial]) half-way, with an SM context that stays;
// and when the UE asks anew, at the release of that context (Charging Data Request[Termination]), again at
// each attempt, because the context keeps the CHF's URI of then: where the CHF has meanwhile restarted with
// another scheme, nobody will ever answer there. So every charging request of the SMF gets an answer: if
// not the CHF's, then 503. With that the SMF goes on without charging, as TS 32.255 5.2.1.7 has it for
// failure handling "continue".

const (
	chargingPath = "/nchf-convergedcharging/"
	// chargingPatience is for one answer of the CHF. The SMF holds its SM context as long.
	chargingPatience = 5 * time.Second
	maxChargingData  = 1 << 20
)

// repaired gives the SMF the answers that it cannot do without, and UEs what the SMF does not tell them of their DNNs:
// link MTUs and second DNS servers.
func repaired(next http.RoundTripper, mtus map[string]uint16, servers map[string]netip.Addr) http.RoundTripper {
	return charging{next: linkMTU{secondDNS{release{next}, servers}, mtus}, patience: chargingPatience}
}

// charging gives every charging request an answer.
type charging struct {
	next     http.RoundTripper
	patience time.Duration
}

func (c charging) RoundTrip(request *http.Request) (*http.Response, error) {
	if !strings.HasPrefix(request.URL.Path, chargingPath) {
		return c.next.RoundTrip(request)
	}
	ctx, cancel := context.WithTimeout(request.Context(), c.patience)
	defer cancel()
	response, err := c.next.RoundTrip(request.WithContext(ctx))
	if err != nil {
		return unanswered(request, err), nil
	}
	// The context ends here, so the answer is read here.
	body, err := io.ReadAll(io.LimitReader(response.Body, maxChargingData))
	_ = response.Body.Close()
	if err != nil {
		return unanswered(request, err), nil
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// unanswered has problem details (TS 29.500 5.2.7.2), which the SMF logs.
func unanswered(request *http.Request, err error) *http.Response {
	return answer(request, http.StatusServiceUnavailable, "application/problem+json", map[string]any{
		"title": "Service Unavailable", "status": http.StatusServiceUnavailable,
		"detail": "the CHF does not answer: " + err.Error(),
	})
}
