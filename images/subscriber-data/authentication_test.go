package subscriberdata

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"k8s.io/apimachinery/pkg/types"

	corev1 "k8s.io/api/core/v1"

	"core5g.dev/core5g/images/nf/sbitls"
	"core5g.dev/core5g/images/subscriber-data/aka"
	"core5g.dev/core5g/images/subscriber-data/aka/akatest"
	"core5g.dev/core5g/images/subscriber-data/subscription"
	"core5g.dev/core5g/operators/api/v1alpha1"
)

// confirmation is an answer to 5g-aka-confirmation.
type confirmation struct {
	AuthResult, SUPI, KSEAF string
}

func (c *testCore) confirm(ch challenge, resStar [16]byte) (confirmation, reply) {
	c.t.Helper()
	r := c.do("PUT", ch.confirm, fmt.Sprintf(`{"resStar":"%x"}`, resStar))
	var out confirmation
	if r.status == http.StatusOK {
		r.into(c.t, &out)
	}
	return out, r
}

func TestAuthenticationSucceedsWithAUSIM(t *testing.T) {
	tests := map[string]string{
		"by SUPI":                    supiOne,
		"by SUCI, null scheme":       "suci-0-208-93-0000-0-0-0000000001",
		"by SUCI, another indicator": "suci-0-208-93-678-0-0-0000000001",
	}
	for name, identity := range tests {
		t.Run(name, func(t *testing.T) {
			c := startCore(t, defaultObjects()...)
			usim := usimOf(t, testK, testOPc)
			for range 3 {
				ch, r := c.authenticate(identity, "")
				if r.status != http.StatusCreated {
					t.Fatalf("status %d: %s", r.status, r.body)
				}
				if want := c.uri + strings.TrimSuffix(ch.confirm, "/5g-aka-confirmation"); r.location != want {
					t.Errorf("Location %q, want %q", r.location, want)
				}
				resStar, kseaf, _, err := usim.Challenge(ch.rand, ch.autn, testSNN)
				if err != nil {
					t.Fatalf("the USIM says: %v", err)
				}
				got, r := c.confirm(ch, resStar)
				if r.status != http.StatusOK || got.AuthResult != "AUTHENTICATION_SUCCESS" || got.SUPI != supiOne ||
					got.KSEAF != fmt.Sprintf("%x", kseaf) {
					t.Errorf("status %d: %s, want KSEAF %x", r.status, r.body, kseaf)
				}
				c.until("it is forgotten", func() bool {
					again, r := c.confirm(ch, resStar)
					if r.status == http.StatusOK && again != got {
						t.Errorf("a second confirmation: %s, and the first %+v", r.body, got)
					}
					return r.status == http.StatusNotFound && r.cause(t) == "CONTEXT_NOT_FOUND"
				})
			}
		})
	}
}

func TestAuthenticationByOPGivesTheSameAsByOPc(t *testing.T) {
	c := startCore(t, defaultObjects()...)
	usim := usimOf(t, "465b5ce8b199b49faa5f0a2ee238a6bc", "cd63cb71954a9f4e48a5994e37a02baf")
	ch, _ := c.authenticate(supiTwo, "")
	if _, _, _, err := usim.Challenge(ch.rand, ch.autn, testSNN); err != nil {
		t.Errorf("the USIM says: %v", err)
	}
}

func TestAuthenticationFailsWithAWrongRES(t *testing.T) {
	c := startCore(t, defaultObjects()...)
	for _, body := range []string{
		`{"resStar":"00000000000000000000000000000000"}`, `{"resStar":"00"}`, `{"resStar":null}`, `{}`,
	} {
		ch, _ := c.authenticate(supiOne, "")
		r := c.do("PUT", ch.confirm, body)
		if want := `{"authResult":"AUTHENTICATION_FAILURE"}`; r.status != http.StatusOK || string(r.body) != want {
			t.Errorf("%s: status %d: %s, want %s", body, r.status, r.body, want)
		}
	}
	if got := c.metric("core5g_authentications_total", "wrong_res"); got != 4 {
		t.Errorf("core5g_authentications_total{result=wrong_res} = %v, want 4", got)
	}
}

func TestAuthenticationRefuses(t *testing.T) {
	const a = "b2e92f836055a255837debf850b528997ce0201cb82adfe4be1f587d07d8457dcb02352410cddd9e730ef3fa87"
	body := func(identity string) string {
		return `{"supiOrSuci":"` + identity + `","servingNetworkName":"` + testSNN + `"}`
	}
	tests := map[string]struct {
		body       string
		wantStatus int
		wantCause  string
	}{
		"a SUPI without a Subscriber":  {body("imsi-208930000000009"), 404, "USER_NOT_FOUND"},
		"a SUCI without a Subscriber":  {body("suci-0-208-93-0000-0-0-0000000009"), 404, "USER_NOT_FOUND"},
		"something that is no SUPI":    {body("5g-guti"), 404, "USER_NOT_FOUND"},
		"a malformed SUCI":             {body("suci-0-208"), 400, "MANDATORY_IE_INCORRECT"},
		"an unknown protection scheme": {body("suci-0-208-93-0000-e-1-00"), 501, "UNSUPPORTED_PROTECTION_SCHEME"},
		"an unknown home network key":  {body("suci-0-274-012-678-1-27-" + a), 403, "INVALID_HN_PUBLIC_KEY_IDENTIFIER"},
		"a key of the other profile":   {body("suci-0-274-012-678-1-2-" + a), 403, "INVALID_HN_PUBLIC_KEY_IDENTIFIER"},
		"a SUCI with a wrong MAC tag":  {body("suci-0-274-012-678-1-1-" + a[:len(a)-1] + "0"), 403, "INVALID_SCHEME_OUTPUT"},
		"another serving network": {
			`{"supiOrSuci":"` + supiOne + `","servingNetworkName":"5G:mnc001.mcc001.3gppnetwork.org"}`, 403, "SERVING_NETWORK_NOT_AUTHORIZED",
		},
		"a serving network without 5G: in front": {
			`{"supiOrSuci":"` + supiOne + `","servingNetworkName":"` + strings.TrimPrefix(testSNN, "5G:") + `"}`, 403, "SERVING_NETWORK_NOT_AUTHORIZED",
		},
		"a serving network with a NID behind it": {
			`{"supiOrSuci":"` + supiOne + `","servingNetworkName":"` + testSNN + `:000007ed9d5"}`, 403, "SERVING_NETWORK_NOT_AUTHORIZED",
		},
		"a serving network with something behind it": {
			`{"supiOrSuci":"` + supiOne + `","servingNetworkName":"` + testSNN + `."}`, 403, "SERVING_NETWORK_NOT_AUTHORIZED",
		},
		"a serving network in another case": {
			`{"supiOrSuci":"` + supiOne + `","servingNetworkName":"` + strings.ToLower(testSNN) + `"}`, 403, "SERVING_NETWORK_NOT_AUTHORIZED",
		},
		"no serving network":      {`{"supiOrSuci":"` + supiOne + `"}`, 400, "MANDATORY_IE_MISSING"},
		"no identity":             {`{"servingNetworkName":"` + testSNN + `"}`, 400, "MANDATORY_IE_MISSING"},
		"no content":              {"", 400, "INVALID_MSG_FORMAT"},
		"content that is no JSON": {"{", 400, "INVALID_MSG_FORMAT"},
		"too much content":        {`"` + strings.Repeat("x", 300<<10) + `"`, 413, "INVALID_MSG_FORMAT"},
		"keys that cannot be read": {
			body(supiThree), 500, "AV_GENERATION_PROBLEM",
		},
		"an AUTS of another length": {
			strings.TrimSuffix(body(supiOne), "}") + `,"resynchronizationInfo":{"rand":"00","auts":"00"}}`, 400, "OPTIONAL_IE_INCORRECT",
		},
		"an AUTS of somebody else": {
			strings.TrimSuffix(body(supiOne), "}") + `,"resynchronizationInfo":{"rand":"` + strings.Repeat("0", 32) +
				`","auts":"` + strings.Repeat("0", 28) + `"}}`, 403, "AUTHENTICATION_REJECTED",
		},
	}
	c := startCore(t, defaultObjects()...)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := c.do("POST", "/nausf-auth/v1/ue-authentications", test.body)
			if cause := r.cause(t); r.status != test.wantStatus || cause != test.wantCause {
				t.Errorf("%d %s, want %d %s", r.status, cause, test.wantStatus, test.wantCause)
			}
		})
	}
}

func TestRefusalsNameInTheLogWhatTheAnswerDoesNot(t *testing.T) {
	const nobody = "imsi-208930000000009"
	c := startCore(t, defaultObjects()...)
	for name, test := range map[string]struct {
		method, path, body string
		want               string
	}{
		"whom the AUSF does not know": {"POST", "/nausf-auth/v1/ue-authentications",
			`{"supiOrSuci":"suci-0-208-93-0000-0-0-0000000009","servingNetworkName":"` + testSNN + `"}`, "USER_NOT_FOUND: no subscriber has this SUPI\" supi=" + nobody},
		"whom the UDM does not know": {"GET", "/nudm-sdm/v2/" + nobody + "/nssai", "", "supi=" + nobody},
		"slices that the UE may not use": {"GET", "/nnssf-nsselection/v2/network-slice-information?nf-type=AMF&nf-id=x&tai=" +
			url.QueryEscape(`{"plmnId":{"mcc":"208","mnc":"93"},"tac":"000001"}`) + "&slice-info-request-for-registration=" +
			url.QueryEscape(`{"subscribedNssai":[{"subscribedSnssai":{"sst":1,"sd":"010203"}}],"requestedNssai":[{"sst":1,"sd":"445566"}]}`), "",
			"requested=1-445566 subscribed=1-010203 served="},
	} {
		t.Run(name, func(t *testing.T) {
			said := len(c.log.String())
			r := c.do(test.method, test.path, test.body)
			if strings.Contains(string(r.body), "0000000009") {
				t.Errorf("the answer repeats the SUPI: %s", r.body)
			}
			if log := c.log.String()[said:]; !strings.Contains(log, test.want) {
				t.Errorf("nothing of %q in the log:\n%s", test.want, log)
			}
		})
	}
}

func TestAuthenticationDeconcealsProfiles(t *testing.T) {
	// The identity of TS 33.501 Annex C.4 with the home network keys of defaultObjects.
	subscriber := makeSubscriber("imsi-274012001002086")
	objects := append(defaultObjects(), subscriber, makeSecret("keys-274012001002086", map[string]string{"k": testK, "opc": testOPc}))
	for _, o := range objects {
		if core, is := o.(*v1alpha1.Core5G); is {
			core.Spec.PLMNs = append(core.Spec.PLMNs, v1alpha1.PLMN{MCC: "274", MNC: "012"})
		}
	}
	c := startCore(t, objects...)
	for name, identity := range map[string]string{
		"A": "suci-0-274-012-678-1-1-b2e92f836055a255837debf850b528997ce0201cb82adfe4be1f587d07d8457dcb02352410cddd9e730ef3fa87",
		"B": "suci-0-274-012-678-2-2-039AAB8376597021E855679A9778EA0B67396E68C66DF32C0F41E9ACCA2DA9B9D146A33FC2716AC7DAE96AA30A4D",
	} {
		ch, r := c.authenticate(identity, "")
		if r.status != http.StatusCreated {
			t.Fatalf("profile %s: status %d: %s", name, r.status, r.body)
		}
		resStar, _, _, err := usimOf(t, testK, testOPc).Challenge(ch.rand, ch.autn, testSNN)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := c.confirm(ch, resStar); got.SUPI != "imsi-274012001002086" {
			t.Errorf("profile %s: %+v", name, got)
		}
	}
}

func TestAuthenticationResynchronises(t *testing.T) {
	c := startCore(t, defaultObjects()...)
	usim := usimOf(t, testK, testOPc)
	for i := range usim.SEQ {
		usim.SEQ[i] += 1 << 30 // far ahead
	}
	ch, _ := c.authenticate(supiOne, "")
	_, _, auts, err := usim.Challenge(ch.rand, ch.autn, testSNN)
	if !errors.Is(err, akatest.ErrSync) {
		t.Fatalf("the USIM says: %v", err)
	}
	ch, r := c.authenticate(supiOne, fmt.Sprintf(`,"resynchronizationInfo":{"rand":"%x","auts":"%x"}`, ch.rand, auts))
	if r.status != http.StatusCreated {
		t.Fatalf("status %d: %s", r.status, r.body)
	}
	for range 3 {
		resStar, _, _, err := usim.Challenge(ch.rand, ch.autn, testSNN)
		if err != nil {
			t.Fatalf("after the resynchronisation the USIM says: %v", err)
		}
		if got, _ := c.confirm(ch, resStar); got.AuthResult != "AUTHENTICATION_SUCCESS" {
			t.Errorf("%+v", got)
		}
		ch, _ = c.authenticate(supiOne, "")
	}
}

func TestAuthenticationContextsExpireAndAreBounded(t *testing.T) {
	c := startCore(t, defaultObjects()...)
	first, _ := c.authenticate(supiOne, "")
	c.advance(59 * time.Second)
	second, _ := c.authenticate(supiOne, "")
	c.advance(time.Second)
	if _, r := c.confirm(first, [16]byte{}); r.status != http.StatusNotFound {
		t.Errorf("an expired context: status %d", r.status)
	}
	if r := c.do("DELETE", second.confirm, ""); r.status != http.StatusNoContent {
		t.Errorf("deletion of an open context: status %d", r.status)
	}
	if _, r := c.confirm(second, [16]byte{}); r.status != http.StatusNotFound {
		t.Errorf("a deleted context: status %d", r.status)
	}
	if r := c.do("PUT", "/nausf-auth/v1/ue-authentications/"+supiOne+"/5g-aka-confirmation", `{"resStar":""}`); r.status != http.StatusNotFound {
		t.Errorf("an unknown context: status %d", r.status)
	}
}

func TestEAPIsRefusedClearly(t *testing.T) {
	c := startCore(t, defaultObjects()...)
	r := c.do("POST", "/nausf-auth/v1/ue-authentications/x/eap-session", `{"eapPayload":"AA=="}`)
	if r.status != http.StatusNotImplemented || !strings.Contains(string(r.body), "5G-AKA") {
		t.Errorf("status %d: %s", r.status, r.body)
	}
}

func TestKeysAppearNowhere(t *testing.T) {
	c := startCore(t, defaultObjects()...)
	var out strings.Builder
	note := func(r reply) { out.WriteString(r.location + " " + string(r.body) + "\n") }
	usim := usimOf(t, testK, testOPc)
	for _, identity := range []string{supiOne, supiTwo, supiThree, "imsi-1", "suci-0-208-93-0000-0-0-0000000001"} {
		ch, r := c.authenticate(identity, "")
		note(r)
		if r.status != http.StatusCreated {
			continue
		}
		_, r = c.confirm(ch, [16]byte{1})
		note(r)
		note(c.do("POST", "/nausf-auth/v1/ue-authentications", fmt.Sprintf(
			`{"supiOrSuci":"%s","servingNetworkName":"%s","resynchronizationInfo":{"rand":"%x","auts":"%x"}}`,
			identity, testSNN, ch.rand, [14]byte{1})))
		_, r = c.authenticate(identity, fmt.Sprintf(`,"resynchronizationInfo":{"rand":"%x","auts":"%x"}`, ch.rand, usim.AUTS(ch.rand)))
		note(r)
	}
	ch, _ := c.authenticate(supiOne, "")
	resStar, kseaf, _, err := usim.Challenge(ch.rand, ch.autn, testSNN)
	if err != nil {
		t.Fatal(err)
	}
	if _, r := c.confirm(ch, resStar); r.status != http.StatusOK {
		t.Fatalf("status %d", r.status)
	}
	for _, path := range []string{"nudm-sdm/v2/" + supiOne + "/am-data", "nudr-dr/v2/policy-data/ues/" + supiOne + "/sm-data"} {
		note(c.do("GET", "/"+path, ""))
	}
	// A Secret that cannot be read at all, and one that vanished.
	var secret corev1.Secret
	if err := c.objects.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: "keys-208930000000001"}, &secret); err != nil {
		t.Fatal(err)
	}
	secret.Data["k"] = []byte(strings.Repeat("z", 4) + testK[4:])
	if err := c.objects.Update(t.Context(), &secret); err != nil {
		t.Fatal(err)
	}
	_, r := c.authenticate(supiOne, "")
	note(r)
	if err := c.objects.Delete(t.Context(), &secret); err != nil {
		t.Fatal(err)
	}
	_, r = c.authenticate(supiOne, "")
	note(r)

	for _, family := range c.metrics() {
		if _, err := expfmt.MetricFamilyToText(&out, family); err != nil {
			t.Fatal(err)
		}
	}
	out.WriteString(c.log.String())
	text := out.String()
	if !strings.Contains(text, "authentication succeeded") || !strings.Contains(text, "core5g_authentications_total") {
		t.Fatal("the log or the metrics are not in what is searched")
	}
	secrets := map[string]string{
		"K": testK, "OPc": testOPc, "K of 2": "465b5ce8b199b49faa5f0a2ee238a6bc", "OP of 2": "cdc202d5123e20f62b6d676ac72cb318",
		"OPc of 2": "cd63cb71954a9f4e48a5994e37a02baf", "K of 3": "0396eb317b6d1c36f19c1c84cd6ffd1",
		"home network key": "c53c22208b61860b06c62e5406a7b330", "KSEAF": fmt.Sprintf("%x", kseaf), "RES*": fmt.Sprintf("%x", resStar),
	}
	for name, secret := range secrets {
		part := secret[8:24] // also the middle of a key, as an error of a parser would quote it
		forms := []string{secret, part, strings.ToUpper(part), base64.StdEncoding.EncodeToString([]byte(secret))[:20]}
		if len(secret)%2 == 0 {
			raw := mustHex(t, secret)
			forms = append(forms, string(raw), base64.StdEncoding.EncodeToString(raw)[:16], strings.Trim(fmt.Sprint(raw[:6]), "[]"))
		}
		for _, form := range forms {
			if i := strings.Index(text, form); i >= 0 {
				t.Errorf("%s is in the output: …%q…", name, text[max(0, i-80):min(len(text), i+40)])
			}
		}
	}
}

func (c *testCore) metrics() []*dto.MetricFamily {
	c.t.Helper()
	families, err := c.registry.Gather()
	if err != nil {
		c.t.Fatal(err)
	}
	return families
}

// metric is the counter of the family that has the label values.
func (c *testCore) metric(name string, labels ...string) float64 {
	c.t.Helper()
	for _, family := range c.metrics() {
		if family.GetName() != name {
			continue
		}
	next:
		for _, m := range family.Metric {
			for _, want := range labels {
				found := false
				for _, l := range m.Label {
					found = found || l.GetValue() == want
				}
				if !found {
					continue next
				}
			}
			return m.GetCounter().GetValue()
		}
	}
	return 0
}

// Challenges of many subscribers, over HTTP/2 in clear: what keys in memory leave to be paid for.
func BenchmarkChallenges(b *testing.B) {
	const subscribers = 1000
	var file strings.Builder
	file.WriteString("kind: Core5G\nmetadata: {name: core5g}\nspec: {plmns: [{mcc: \"208\", mnc: \"93\"}]}\n")
	for n := range subscribers {
		fmt.Fprintf(&file, "---\nkind: Secret\nmetadata: {name: keys-%d}\nstringData: {k: %s, opc: %s}\n", n, testK, testOPc)
		fmt.Fprintf(&file, "---\nkind: Subscriber\nmetadata: {name: ue-%d}\nspec: {supi: imsi-20893%010d, authentication: {secretRef: {name: keys-%d}, amf: \"8000\"}, slices: [{name: internet}]}\n", n, n, n)
	}
	path := filepath.Join(b.TempDir(), "subscribers.yaml")
	if err := os.WriteFile(path, []byte(file.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	objects, err := subscription.OpenFile(path)
	if err != nil {
		b.Fatal(err)
	}
	directory, log := subscription.NewDirectory(objects), slog.New(slog.DiscardHandler)
	server := httptest.NewUnstartedServer(NewHandler(Parts{
		Directory: directory, NRF: "http://nrf", Now: time.Now, Log: log, Registry: prometheus.NewRegistry(), Callbacks: sbitls.Unprotected(),
		// Reserved far ahead: what is measured is not the clock.
		Sequences: aka.NewSequences(time.Now, 0, func(context.Context, uint64) error { return nil }),
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	b.Cleanup(server.Close)
	transport := sbitls.Unprotected()
	b.Cleanup(transport.CloseIdleConnections)
	var next atomic.Uint64
	b.SetParallelism(16)
	cpu := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := cpu()
	b.ResetTimer()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			body := fmt.Sprintf(`{"supiOrSuci":"imsi-20893%010d","servingNetworkName":"%s"}`, next.Add(1)%subscribers, testSNN)
			request, err := http.NewRequest(http.MethodPost, server.URL+"/nausf-auth/v1/ue-authentications", strings.NewReader(body))
			if err != nil {
				b.Error(err)
				return
			}
			response, err := transport.RoundTrip(request)
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
			if response.StatusCode != http.StatusCreated {
				b.Errorf("status %d", response.StatusCode)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "challenges/s")
	// With that of the client: on a machine that does other things too, it says more than the time.
	b.ReportMetric(float64((cpu()-before).Microseconds())/float64(b.N), "cpu-µs/challenge")
}
