package standby

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/fencing"
)

func TestLease(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var asked []string
	var status int
	var body lease
	var text string // in place of body
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var sent lease
		_ = json.NewDecoder(r.Body).Decode(&sent)
		asked = append(asked, strings.Join([]string{r.Method, r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Content-Type"),
			sent.Metadata.ResourceVersion, sent.Metadata.Annotations[annotation], sent.Spec.HolderIdentity}, " "))
		w.WriteHeader(status)
		if text != "" {
			_, _ = w.Write([]byte(text))
		} else {
			_ = json.NewEncoder(w).Encode(body)
		}
	}))
	defer s.Close()
	l, err := NewLease(config.Lease{Server: s.URL, Namespace: "core5g", Name: "upf-0", Token: token})
	if err != nil {
		t.Fatal(err)
	}
	record := fencing.Record{Epoch: 7, Holder: "a/1", Standby: "b/2", Renewed: 9}
	const written = `{"Epoch":7,"Holder":"a/1","Standby":"b/2","Renewed":9}`
	stored := lease{Metadata: leaseMeta{ResourceVersion: "12", Annotations: map[string]string{annotation: written}}}

	for name, tt := range map[string]struct {
		status  int
		body    lease
		text    string
		want    fencing.Seen
		wantErr string
	}{
		"there is one":          {200, stored, "", fencing.Seen{Record: record, Version: "12"}, ""},
		"there is none yet":     {404, lease{}, "", fencing.Seen{}, ""},
		"it may not be read":    {403, lease{}, "", fencing.Seen{}, "status 403"},
		"the server is ill":     {500, lease{}, "", fencing.Seen{}, "status 500"},
		"what comes is no JSON": {200, lease{}, "<html>", fencing.Seen{}, "invalid character"},
		"it has no version":     {200, lease{}, "", fencing.Seen{}, "no resourceVersion"},
		"it is somebody else's": {200, lease{Metadata: leaseMeta{ResourceVersion: "1"}}, "", fencing.Seen{}, "delete the Lease if no unit uses it"},
	} {
		status, body, text = tt.status, tt.body, tt.text
		got, err := l.Read(context.Background())
		if (err == nil) != (tt.wantErr == "") || err != nil && !strings.Contains(err.Error(), tt.wantErr) {
			t.Errorf("%s: error %v, want %q", name, err, tt.wantErr)
		}
		if err == nil {
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	}

	for name, tt := range map[string]struct {
		version   fencing.Version
		status    int
		want      fencing.Outcome
		wantAsked string
	}{
		"it is replaced":               {"12", 200, fencing.Done, "PATCH /apis/coordination.k8s.io/v1/namespaces/core5g/leases/upf-0 Bearer secret application/merge-patch+json 12 " + written + " a/1"},
		"it is made":                   {"", 201, fencing.Done, "POST /apis/coordination.k8s.io/v1/namespaces/core5g/leases Bearer secret application/json  " + written + " a/1"},
		"another was faster":           {"12", 409, fencing.Refused, ""},
		"another one has made it":      {"", 409, fencing.Refused, ""},
		"it is gone":                   {"12", 404, fencing.Refused, ""},
		"the server is ill":            {"12", 500, fencing.Unknown, ""},
		"the server lost who it asked": {"12", 504, fencing.Unknown, ""},
	} {
		status, body, text, asked = tt.status, stored, "", nil
		got, version, err := l.Write(context.Background(), fencing.Write{Record: record, If: tt.version})
		if got != tt.want || (err != nil) != (tt.want == fencing.Unknown) || got == fencing.Done && version != "12" {
			t.Errorf("%s: %v, version %q, %v, want %v", name, got, version, err, tt.want)
		}
		if tt.wantAsked != "" && (len(asked) != 1 || asked[0] != tt.wantAsked) {
			t.Errorf("%s: asked %q, want %q", name, asked, tt.wantAsked)
		}
	}
	s.Close()
	if got, _, err := l.Write(context.Background(), fencing.Write{Record: record, If: "12"}); got != fencing.Unknown || err == nil {
		t.Errorf("nobody answers: %v, %v", got, err)
	}
}
