package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/free5gc/openapi/models"
)

// When a UPF is lost, SMF 1.2.4 has the AMF release the PDU sessions of that UPF (TS 23.502 4.3.4.2 step 3b),
// and panics in a goroutine of its own, which ends the process and all other sessions, unless the AMF
// answers with success: its client gives it no status code for any other answer. So an answer that is none, or
// a refusal, says what it means for the SMF: the message was not transferred. It then tells the AMF what it
// can, and removes the session.

const n1n2Suffix = "/n1-n2-messages"

// skipped marks the release: no other transfer of this SMF has the Skip Indicator.
var skipped = []byte(`"skipInd":true`)

type release struct{ next http.RoundTripper }

func (r release) RoundTrip(request *http.Request) (*http.Response, error) {
	request, content, err := transfer(request)
	if err != nil {
		return nil, err
	}
	response, err := r.next.RoundTrip(request)
	if !bytes.Contains(content, skipped) || err == nil && (response.StatusCode == http.StatusOK || response.StatusCode == http.StatusAccepted) {
		return response, err
	}
	if err == nil {
		_ = response.Body.Close()
	}
	return answer(request, http.StatusOK, "application/json", models.N1N2MessageTransferRspData{Cause: models.N1N2MessageTransferCause_N1_MSG_NOT_TRANSFERRED}), nil
}

// transfer reads the content of an N1N2MessageTransfer (TS 29.518 5.2.2.3.1), and gives the request with that content,
// which can be sent again when a connection ends. Other requests stay as they are, and their content is nil.
func transfer(request *http.Request) (again *http.Request, content []byte, err error) {
	if !strings.HasSuffix(request.URL.Path, n1n2Suffix) || request.Body == nil {
		return request, nil, nil
	}
	content, err = io.ReadAll(request.Body)
	_ = request.Body.Close()
	if err != nil {
		return nil, nil, err
	}
	again = request.Clone(request.Context())
	again.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	again.Body, _ = again.GetBody()
	return again, content, nil
}

// answer is one that no peer has given.
func answer(request *http.Request, status int, kind string, content any) *http.Response {
	body, _ := json.Marshal(content)
	return &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status,
		Proto: "HTTP/2.0", ProtoMajor: 2,
		Header: http.Header{"Content-Type": {kind}},
		Body:   io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
		Request: request,
	}
}
