package nausf

import (
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/sbi/sbitest"
	"core5g.dev/core5g/images/nf/ts29571"
	"core5g.dev/core5g/images/subscriber-data/aka"
	"core5g.dev/core5g/images/subscriber-data/aka/akatest"
	"core5g.dev/core5g/images/subscriber-data/ausf"
	"core5g.dev/core5g/images/subscriber-data/records"
	"core5g.dev/core5g/images/subscriber-data/subscription"
)

const manifests = `
apiVersion: core5g.dev/v1alpha1
kind: Core5G
metadata: {name: core5g}
spec:
  plmns: [{mcc: "208", mnc: "93"}]
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData: {k: 8baf473f2f8fd09487cccbd7097c6862, opc: 8e27b6af0e692e750f32667a3b14605d}
---
apiVersion: core5g.dev/v1alpha1
kind: Subscriber
metadata: {name: ue}
spec:
  supi: imsi-208930000000001
  authentication: {secretRef: {name: keys}, amf: "8000"}
  slices: [{name: internet}]
`

var home = ts29571.PLMN{MCC: "208", MNC: "93"}

// start is a client of core5g's own AUSF.
func start(t *testing.T) *Client {
	t.Helper()
	file := filepath.Join(t.TempDir(), "subscribers.yaml")
	if err := os.WriteFile(file, []byte(manifests), 0o600); err != nil {
		t.Fatal(err)
	}
	objects, err := subscription.OpenFile(file)
	if err != nil {
		t.Fatal(err)
	}
	log, registry := slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	router := sbi.NewRouter(log, registry)
	ausf.New(subscription.NewDirectory(objects), aka.NewSequences(time.Now, 0, nil), records.InMemory(), time.Now, log, registry).Register(router)
	return client(t, router)
}

func client(t *testing.T, h http.Handler) *Client {
	t.Helper()
	return NewClient(sbitest.Client(t, "AUSF", sbitest.Serve(t, h)))
}

func usim(t *testing.T) *akatest.USIM {
	t.Helper()
	u := new(akatest.USIM)
	for text, into := range map[string][]byte{"8baf473f2f8fd09487cccbd7097c6862": u.K[:], "8e27b6af0e692e750f32667a3b14605d": u.OPc[:]} {
		if _, err := hex.Decode(into, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range u.SEQ {
		u.SEQ[i] = uint64(time.Now().Add(-time.Minute).UnixNano()) / uint64(100*time.Millisecond)
	}
	return u
}

func TestAuthenticationAtOurAUSF(t *testing.T) {
	c, u := start(t), usim(t)
	request := &Request{Identity: "suci-0-208-93-0000-0-0-0000000001", Serving: home}
	ch, err := c.Authenticate(t.Context(), request)
	if err != nil || ch.Method != FiveGAKA {
		t.Fatalf("%+v, %v", ch, err)
	}
	resStar, kSEAF, _, err := u.Challenge(ch.RAND, ch.AUTN, home.ServingNetworkName())
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Confirm(t.Context(), ch, &resStar)
	if diff := cmp.Diff(&Result{Success: true, SUPI: "imsi-208930000000001", KSEAF: kSEAF}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for ReasonOf(err) != Forgotten { // it is, behind the answer
		if _, err = c.Confirm(t.Context(), ch, &resStar); err != nil && ReasonOf(err) != Forgotten {
			t.Fatalf("twice: %v", err)
		}
	}
	for _, wrong := range []*[16]byte{nil, {1}} {
		if ch, err = c.Authenticate(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		if got, err := c.Confirm(t.Context(), ch, wrong); err != nil || got.Success || got.Ongoing {
			t.Errorf("%v: %+v, %v", wrong, got, err)
		}
	}
	if ch, err = c.Authenticate(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.GiveUp(t.Context(), ch); err != nil {
			t.Errorf("given up: %v", err)
		}
	}
}

func TestResynchronisationAtOurAUSF(t *testing.T) {
	c, u := start(t), usim(t)
	ahead := uint64(time.Now().Add(time.Hour).UnixNano()) / uint64(100*time.Millisecond)
	for i := range u.SEQ {
		u.SEQ[i] = ahead
	}
	request := &Request{Identity: "imsi-208930000000001", Serving: home}
	ch, err := c.Authenticate(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	_, _, auts, err := u.Challenge(ch.RAND, ch.AUTN, home.ServingNetworkName())
	if !errors.Is(err, akatest.ErrSync) {
		t.Fatal(err)
	}
	request.Resync = &Resync{RAND: ch.RAND, AUTS: auts}
	if ch, err = c.Authenticate(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := u.Challenge(ch.RAND, ch.AUTN, home.ServingNetworkName()); err != nil {
		t.Errorf("after resynchronisation: %v", err)
	}
	request.Resync.AUTS[13] ^= 1
	if _, err := c.Authenticate(t.Context(), request); ReasonOf(err) != Rejected {
		t.Errorf("somebody else's AUTS: %v", err)
	}
}

func TestReasonsOfOurAUSF(t *testing.T) {
	c := start(t)
	for identity, want := range map[string]Reason{
		"suci-0-208-93-0000-0-0-0000000009": UnknownUser,
		"imsi-208930000000009":              UnknownUser,
		"suci-0-208-93-0000-7-1-00":         BadSUCI,
		"suci-0-208-93-0000-1-1-00":         BadSUCI,
		"suci-x":                            BadSUCI,
	} {
		if _, err := c.Authenticate(t.Context(), &Request{Identity: identity, Serving: home}); ReasonOf(err) != want {
			t.Errorf("%s: %v is %d, want %d", identity, err, ReasonOf(err), want)
		}
	}
	if _, err := c.Authenticate(t.Context(), &Request{Identity: "imsi-208930000000001", Serving: ts29571.PLMN{MCC: "001", MNC: "01"}}); ReasonOf(err) != NotServed {
		t.Errorf("another network: %v", err)
	}
	if ReasonOf(&sbi.Unknown{Err: io.EOF}) != Failed || ReasonOf(&sbi.Refused{Status: 500, Cause: "AV_GENERATION_PROBLEM"}) != Failed {
		t.Error("what may work next time is told the UE for ever")
	}
}

// An AUSF of another make, with EAP-AKA', a relative link, and one that is no list.
func TestEAP(t *testing.T) {
	var asked []string
	c := client(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		asked = append(asked, r.Method+" "+r.URL.Path+" "+string(raw))
		w.Header().Set("Content-Type", "application/3gppHal+json")
		switch len(asked) {
		case 1:
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, `{"authType":"EAP_AKA_PRIME","5gAuthData":"AQI=","_links":{"eap-session":{"href":"/nausf-auth/v1/ue-authentications/1/eap-session"}}}`)
		case 2:
			_, _ = io.WriteString(w, `{"eapPayload":"Aw==","authResult":"AUTHENTICATION_ONGOING"}`)
		case 3:
			_, _ = io.WriteString(w, `{"eapPayload":"BA==","authResult":"AUTHENTICATION_SUCCESS","supi":"nai-a/b@example.com","kSeaf":"`+strings.Repeat("0a", 32)+`"}`)
		default:
			_, _ = io.WriteString(w, `{"eapPayload":"BQ==","authResult":"AUTHENTICATION_FAILURE"}`)
		}
	}))
	ch, err := c.Authenticate(t.Context(), &Request{Identity: "imsi-208930000000001", Serving: home})
	if err != nil || ch.Method != EAPAKAPrime || string(ch.EAP) != "\x01\x02" {
		t.Fatalf("%+v, %v", ch, err)
	}
	key := [32]byte{}
	for i := range key {
		key[i] = 10
	}
	for _, want := range []*Result{{Ongoing: true, EAP: []byte{3}}, {Success: true, SUPI: "nai-a/b@example.com", KSEAF: key, EAP: []byte{4}}, {EAP: []byte{5}}} {
		got, err := c.EAP(t.Context(), ch, []byte{9})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	if diff := cmp.Diff([]string{
		`POST /nausf-auth/v1/ue-authentications {"supiOrSuci":"imsi-208930000000001","servingNetworkName":"5G:mnc093.mcc208.3gppnetwork.org"}`,
		`POST /nausf-auth/v1/ue-authentications/1/eap-session {"eapPayload":"CQ=="}`,
	}, asked[:2]); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

const good = `{"authType":"5G_AKA","5gAuthData":{"rand":"00000000000000000000000000000001","autn":"00000000000000000000000000000002","hxresStar":"00000000000000000000000000000003"},"_links":{"5g-aka":[{"href":"http://a/b"}]}}`

func TestAnswersThatAreNone(t *testing.T) {
	for sentence, c := range map[string]struct{ old, new, want string }{
		"another network":     {`{"authType"`, `{"servingNetworkName":"5G:x","authType"`, "and the UE is in"},
		"EAP-TLS":             {`5G_AKA`, `EAP_TLS`, "no UE of this network"},
		"no method":           {`"authType":"5G_AKA",`, ``, "authType is mandatory"},
		"a short RAND":        {`00000000000000000000000000000001`, `01`, "write 32 hexadecimal digits"},
		"no AUTN":             {`"autn"`, `"aunt"`, "has rand, autn and hxresStar"},
		"no link":             {`5g-aka`, `eap-session`, "has no link 5g-aka"},
		"an empty link":       {`[{"href":"http://a/b"}]`, `[]`, "has no link 5g-aka"},
		"a link to elsewhere": {`http://a/b`, `file:///etc/passwd`, "leads nowhere"},
		"a payload of none":   {`"5G_AKA","5gAuthData":{"rand":"00000000000000000000000000000001","autn":"00000000000000000000000000000002","hxresStar":"00000000000000000000000000000003"}`, `"EAP_AKA_PRIME","5gAuthData":""`, "no EAP message"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if !strings.Contains(good, c.old) {
				t.Fatalf("%s is not in it", c.old)
			}
			cl := client(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/3gppHal+json")
				w.WriteHeader(http.StatusCreated)
				_, _ = io.WriteString(w, strings.Replace(good, c.old, c.new, 1))
			}))
			_, err := cl.Authenticate(t.Context(), &Request{Serving: home})
			var unknown *sbi.Unknown
			if !errors.As(err, &unknown) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	for in, want := range map[string]string{
		`{}`:                       "neither an authResult",
		`{"authResult":"PERHAPS"}`: "is not known",
		`{"authResult":"AUTHENTICATION_SUCCESS","supi":"imsi-1"}`:                                                          "kseaf is not there",
		`{"authResult":"AUTHENTICATION_SUCCESS","supi":"imsi-1","kseaf":"secret"}`:                                         "write 64 hexadecimal digits",
		`{"authResult":"AUTHENTICATION_SUCCESS","supi":"imei-353492100000007","kseaf":"` + strings.Repeat("0a", 32) + `"}`: "its supi is none: it is imsi- and 5 to 15 digits",
	} {
		if got, err := readResult(sbi.Message{JSON: []byte(in)}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %+v, %v", in, got, err)
		}
	}
}

func FuzzAnswers(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(`{"authType":"EAP_AKA_PRIME","5gAuthData":"AQI=","_links":{"eap-session":{"href":"/x"}}}`))
	f.Add([]byte(`{"eapPayload":"BA==","authResult":"AUTHENTICATION_SUCCESS","supi":"nai-a/b@example.com","kSeaf":"` + strings.Repeat("0a", 32) + `"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m := sbi.Message{JSON: raw}
		if ch, err := readChallenge(m, home.ServingNetworkName()); err == nil && (ch.Resource.URI == "" || ch.Method == EAPAKAPrime && len(ch.EAP) == 0) {
			t.Errorf("%+v", ch)
		}
		if r, err := readResult(m); err == nil && (r.Success && (r.SUPI == "" || r.Ongoing) || !r.Success && r.KSEAF != [32]byte{}) {
			t.Errorf("%+v", r)
		}
	})
}
