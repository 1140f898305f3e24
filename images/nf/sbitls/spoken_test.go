package sbitls

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// peers answer by scheme: "" is not there, "broken" is reached and then lost.
type peers struct {
	by    map[string]string
	heard []string
}

func (p *peers) RoundTrip(r *http.Request) (*http.Response, error) {
	content, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	p.heard = append(p.heard, r.URL.String()+" "+string(content))
	if err := r.Body.Close(); err != nil {
		return nil, err
	}
	answer := p.by[r.URL.Scheme]
	if answer == "" {
		return nil, errors.New("nobody speaks that here")
	}
	httptrace.ContextClientTrace(r.Context()).GotConn(httptrace.GotConnInfo{})
	if answer == "broken" {
		return nil, errors.New("lost")
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(answer))}, nil
}

func TestFunctionsAreCalledAsTheySpeakNow(t *testing.T) {
	for name, c := range map[string]struct {
		scheme, uri string
		by          map[string]string
		heard       []string
		fails       bool
	}{
		"TLS was switched on": {
			scheme: "https", uri: "http://core5g-smf-shard-1:8001/x", by: map[string]string{"https": "yes"},
			heard: []string{"https://core5g-smf-shard-1:8001/x content"},
		},
		"TLS was switched on, and the other one was not started anew yet": {
			scheme: "https", uri: "http://core5g-smf-shard-1:8001/x", by: map[string]string{"http": "yes"},
			heard: []string{"https://core5g-smf-shard-1:8001/x content", "http://core5g-smf-shard-1:8001/x content"},
		},
		"TLS was switched off": {
			scheme: "http", uri: "https://core5g-smf-shard-1:8001/x", by: map[string]string{"http": "yes"},
			heard: []string{"http://core5g-smf-shard-1:8001/x content"},
		},
		"what may have been heard is not said again": {
			scheme: "https", uri: "http://core5g-smf-shard-1:8001/x", by: map[string]string{"https": "broken", "http": "yes"},
			heard: []string{"https://core5g-smf-shard-1:8001/x content"}, fails: true,
		},
		"as it is written": {
			scheme: "https", uri: "https://core5g-nrf:8000/x", by: map[string]string{"https": "yes"}, heard: []string{"https://core5g-nrf:8000/x content"},
		},
		"a function that is not of the core": {
			scheme: "https", uri: "http://nef.example.org/x", by: map[string]string{"http": "yes"}, heard: []string{"http://nef.example.org/x content"},
		},
		"an address": {scheme: "https", uri: "http://[fd00::1]:80/x", by: map[string]string{"http": "yes"}, heard: []string{"http://[fd00::1]:80/x content"}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {}})
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.uri, strings.NewReader("content"))
			if err != nil {
				t.Fatal(err)
			}
			p := &peers{by: c.by}
			if _, err := (Spoken{Scheme: c.scheme, By: p}).RoundTrip(r); (err != nil) != c.fails {
				t.Errorf("error %v", err)
			}
			if diff := cmp.Diff(c.heard, p.heard); diff != "" {
				t.Errorf("heard (-want +got):\n%s", diff)
			}
		})
	}
}
