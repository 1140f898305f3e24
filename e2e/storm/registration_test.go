package storm

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"core5g.dev/core5g/e2e/ran/config"
	api "core5g.dev/core5g/operators/api/v1alpha1"
)

var here = site{mcc: "208", mnc: "93", tac: "000001", sst: "1", sd: "010203", dnn: "internet", secret: "phone-1"}

func TestEverySUPIHasFifteenDigits(t *testing.T) {
	for want, s := range map[string]site{
		"imsi-208930000110000": here,
		"imsi-310410000110000": {mcc: "310", mnc: "410"},
	} {
		if got := s.supi(config.MaxUEs - 1); got != want {
			t.Errorf("the last SUPI of %s/%s is %s, want %s", s.mcc, s.mnc, got, want)
		}
	}
}

func TestSubscribersAreThoseOfTheUEs(t *testing.T) {
	manifests := strings.Split(here.subscribers(3), "---\n")[1:]
	if len(manifests) != 3 {
		t.Fatalf("%d manifests, want 3", len(manifests))
	}
	for n, manifest := range manifests {
		var s api.Subscriber
		if err := yaml.UnmarshalStrict([]byte(manifest), &s); err != nil {
			t.Fatal(err)
		}
		if string(s.Spec.SUPI) != here.supi(n) || s.Spec.Authentication.SecretRef.Name != "phone-1" || s.Spec.Slices[0].Name != slice {
			t.Errorf("Subscriber %d: %+v", n, s.Spec)
		}
	}
}

func TestGNBHasAConfigurationThatItTakes(t *testing.T) {
	for name, s := range map[string]site{
		"with a slice differentiator": here,
		"without":                     {mcc: "208", mnc: "93", tac: "000001", sst: "2"},
	} {
		secret, _, _ := strings.Cut(s.gnb("core5g/ran:dev"), "---\n")
		var o struct{ Data map[string][]byte }
		if err := yaml.Unmarshal([]byte(secret), &o); err != nil {
			t.Fatal(err)
		}
		c, err := config.Parse(name, o.Data["ran.yaml"])
		if err != nil {
			t.Fatal(err)
		}
		if c.Device != "none" || c.N3Address.String() != gNBAddress || len(c.UEs) != 0 {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

func TestUEsAreCountedByTheirSessions(t *testing.T) {
	in, outside, err := attached([]byte(`{"ues": [
		{"supi": "a", "state": "registered", "sessions": [{"id": 1, "address": "10.45.0.1"}]},
		{"supi": "b", "state": "registered", "sessions": [{"id": 1}]},
		{"supi": "c", "state": "registering", "last_error": "no answer", "sessions": []},
		{"supi": "d", "state": "registering", "last_error": "no answer"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"registered": 1, "registering, no answer": 2}, outside); in != 1 || diff != "" {
		t.Errorf("%d are in, want 1; outside (-want +got):\n%s", in, diff)
	}
}

const kubelet = `{"pods": [
	{"podRef": {"name": "amf-x", "namespace": "core5g"}, "containers": [
		{"cpu": {"time": "2026-01-02T03:04:06Z", "usageCoreNanoSeconds": 1500000000}, "memory": {"workingSetBytes": 1048576}},
		{"cpu": {"time": "2026-01-02T03:04:05Z", "usageCoreNanoSeconds": 500000000}, "memory": {"workingSetBytes": 1048576}}]},
	{"podRef": {"name": "amf-x", "namespace": "elsewhere"}, "containers": [{"cpu": {"usageCoreNanoSeconds": 1}, "memory": {}}]},
	{"podRef": {"name": "ran", "namespace": "core5g"}, "containers": [{"cpu": {"usageCoreNanoSeconds": 1}, "memory": {}}]}]}`

func TestUsageIsThatOfTheCore(t *testing.T) {
	got, err := usages([]byte(kubelet), map[string]string{"amf-x": "amf"})
	if err != nil {
		t.Fatal(err)
	}
	want := Usages{"amf": {CPU: 2 * time.Second, Memory: 2 << 20, At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := usages([]byte(kubelet), map[string]string{"amf-x": "amf", "ran": "ran"}); err == nil || !strings.Contains(err.Error(), "pod ran") {
		t.Errorf("a pod without figures: %v", err)
	}
}

// Of ten seconds, half a second would have been taken by an AMF that nobody asks, at a twentieth of a CPU.
func TestCPUIsWhatTheFunctionsTookForWhatWasAsked(t *testing.T) {
	second := func(n int) time.Time { return time.Date(2026, 1, 2, 3, 4, n, 0, time.UTC) }
	before := idleOf(
		Usages{"amf": {CPU: 500 * time.Millisecond, At: second(0)}, "smf": {CPU: time.Minute, At: second(0)}, "upf": {At: second(0)}},
		Usages{"amf": {CPU: time.Second, At: second(10)}, "smf": {CPU: time.Minute, At: second(10)}, "upf": {At: second(10)}, "nrf": {CPU: time.Second, At: second(10)}})
	var out strings.Builder
	cpu, err := tell(&out, before, Usages{
		"amf": {CPU: 3 * time.Second, Memory: 5 << 20, At: second(20)}, "smf": {CPU: time.Second, At: second(20)},
		"pcf": {CPU: time.Second, At: second(20)}, "nrf": {CPU: time.Second, At: second(20)}, "upf": {CPU: time.Hour, At: second(20)},
	})
	if err != nil {
		t.Fatal(err)
	}
	// Not the UPF's, and not what began again meanwhile.
	if diff := cmp.Diff(map[string]time.Duration{"amf": 1500 * time.Millisecond, "pcf": time.Second, "nrf": 0}, cpu); diff != "" {
		t.Errorf("CPU (-want +got):\n%s", diff)
	}
	for _, want := range []string{"5.0 %", "restarted"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("nothing is told of %q:\n%s", want, &out)
		}
	}
}
