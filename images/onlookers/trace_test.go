package onlookers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/images/signalling"
)

func TestTrace(t *testing.T) {
	tracer := signalling.New(time.Now)
	mux := http.NewServeMux()
	HandleTrace(mux, tracer)
	pod := t.Name() + fmt.Sprint(time.Now().UnixNano())
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, "tested", pod, Bounded(mux)) }()
	defer func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	run := func(line string) (page signalling.Page, err error) {
		var out bytes.Buffer
		if err := RunTrace(t.Context(), "tested", append([]string{"-pod", pod}, strings.Fields(line)...), &out); err != nil {
			return page, err
		}
		return page, json.Unmarshal(out.Bytes(), &page)
	}
	page, err := run("-for 1m 208930000000001")
	for end := time.Now().Add(time.Minute); err != nil && time.Now().Before(end); page, err = run("-for 1m 208930000000001") { // until it listens
		time.Sleep(time.Millisecond)
	}
	if err != nil || len(page.Entries) != 0 || !tracer.Wants("imsi-208930000000001") {
		t.Fatalf("%+v, %v", page, err)
	}
	tracer.Add("imsi-208930000000001", signalling.Entry{Protocol: signalling.NGAP, Message: "Paging", Octets: []byte{1}})
	if page, err = run("-after 0 imsi-208930000000001"); err != nil || len(page.Entries) != 1 || page.Entries[0].Message != "Paging" || page.Next != 1 {
		t.Errorf("%+v, %v", page, err)
	}
	if page, err = run("-after 1 imsi-208930000000001"); err != nil || len(page.Entries) != 0 {
		t.Errorf("%+v, %v", page, err)
	}
	for line, want := range map[string]string{"": "write a SUPI", "-for 1h imsi-1": "write 1s to 10m0s", "imsi-1 -nas": "write a SUPI", "-x imsi-1": "trace SUPI"} {
		if _, err := run(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want something with %q", line, err, want)
		}
	}
}
