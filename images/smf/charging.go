package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
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

// repaired gives the SMF the answers that it cannot do without.
func repaired(next http.RoundTripper) http.RoundTripper {
	return charging{next: next, patience: chargingPatience}
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
	const status = http.StatusServiceUnavailable
	body, _ := json.Marshal(map[string]any{
		"title": http.StatusText(status), "status": status, "detail": "the CHF does not answer: " + err.Error(),
	})
	return &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status,
		Proto: "HTTP/2.0", ProtoMajor: 2,
		Header: http.Header{"Content-Type": {"application/problem+json"}},
		Body:   io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
		Request: request,
	}
}
