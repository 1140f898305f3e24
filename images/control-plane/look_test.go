package controlplane

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/images/onlookers"
	"core5g.dev/core5g/images/signalling"
)

// A trace is asked of the part that is named, in the pod's own sockets.
func TestTheTraceOfAPart(t *testing.T) {
	pod := t.Name() + fmt.Sprint(time.Now().UnixNano())
	tracers := map[string]*signalling.Tracer{}
	for part, program := range map[string]string{"amf": "access-management", "smf": "session-management"} {
		tracers[part] = signalling.New(time.Now)
		mux := http.NewServeMux()
		onlookers.HandleTrace(mux, tracers[part])
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- onlookers.Serve(ctx, program, pod, onlookers.Bounded(mux)) }()
		defer func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}()
	}
	ask := func(line string) (page signalling.Page, err error) {
		args := strings.Fields(line)
		look := Look(args)
		if look == nil {
			t.Fatalf("%q is for the program", line)
		}
		var out bytes.Buffer
		for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) { // until it listens
			out.Reset()
			err = look(t.Context(), args, &out)
			if err == nil || !strings.Contains(err.Error(), "answers here") || time.Now().After(end) {
				break
			}
		}
		if err == nil {
			err = json.Unmarshal(out.Bytes(), &page)
		}
		return page, err
	}
	for part, tracer := range tracers {
		line := "trace -part " + part + " -pod " + pod + " imsi-1"
		if _, err := ask(line); err != nil {
			t.Fatal(err)
		}
		tracer.Add("imsi-1", signalling.Entry{Message: part})
		if page, err := ask(line); err != nil || len(page.Entries) != 1 || page.Entries[0].Message != part {
			t.Errorf("%s: %+v, %v", part, page, err)
		}
	}
	for _, line := range []string{"trace imsi-1", "trace -part", "trace -part upf imsi-1"} {
		if _, err := ask(line); err == nil || !strings.Contains(err.Error(), "write trace -part amf") {
			t.Errorf("%q: %v", line, err)
		}
	}
	for _, line := range []string{"sessions -pod x", "session imsi-1/1", "ues", "ue imsi-1"} {
		if Look(strings.Fields(line)) == nil {
			t.Errorf("%q is not looked at", line)
		}
	}
	if Look([]string{"-core", "x"}) != nil || Look(nil) != nil {
		t.Error("what is the program's own is looked at")
	}
}
