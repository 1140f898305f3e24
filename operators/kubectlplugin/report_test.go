package kubectlplugin

import (
	"archive/tar"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The keys of the phones in manifests/, and a home network key of 32 octets.
var testKeys = []string{
	"8baf473f2f8fd09487cccbd7097c6862", "8e27b6af0e692e750f32667a3b14605d",
	"c53c22208b61860b06c62e5406a7b330c2b577aa5558981510d128247d38bd1d",
}

// ways in which programs print a key.
func ways(key string) map[string]string {
	raw, err := hex.DecodeString(key)
	if err != nil {
		panic(err)
	}
	var decimals, pairs, goSyntax []string
	for _, b := range raw {
		decimals = append(decimals, fmt.Sprint(b))
		pairs = append(pairs, fmt.Sprintf("%02x", b))
		goSyntax = append(goSyntax, fmt.Sprintf("%#x", b))
	}
	return map[string]string{
		"hexadecimal":          key,
		"upper case":           strings.ToUpper(key),
		"with 0x":              "0x" + key,
		"glued":                "k" + key + "opc",
		"pairs":                strings.Join(pairs, " "),
		"pairs with colons":    strings.Join(pairs, ":"),
		"decimals":             "[" + strings.Join(decimals, " ") + "]",
		"JSON numbers":         "[" + strings.Join(decimals, ",") + "]",
		"Go syntax":            "{" + strings.Join(goSyntax, ", ") + "}",
		"base64":               base64.StdEncoding.EncodeToString(raw),
		"base64 of the digits": base64.StdEncoding.EncodeToString([]byte(key)),
		"base64 for URLs":      base64.URLEncoding.EncodeToString(raw),
	}
}

func TestCleanRemovesKeysHoweverTheyArePrinted(t *testing.T) {
	r := NewRedactor()
	for _, key := range testKeys {
		for way, text := range ways(key) {
			got := r.Clean("before " + text + " after")
			if strings.Contains(got, strings.Trim(text, "[]{}")) || !strings.Contains(got, "removed]") {
				t.Errorf("%s: %q stays", way, got)
			}
			if !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") {
				t.Errorf("%s: what is around it goes: %q", way, got)
			}
		}
	}
}

func TestClean(t *testing.T) {
	r := NewRedactor()
	// In two parts, so that nobody who looks for keys finds one here.
	const key = " PRIVATE" + " KEY-----"
	pem := "-----BEGIN EC" + key + "\n    MHcCAQEE\n    oUQDQgAE\n    -----END EC" + key
	for name, c := range map[string]struct{ in, want string }{
		"a PEM key":           {"tls: |\n    " + pem + "\nnext", "tls: |\n    [private key removed]\nnext"},
		"a PEM key cut off":   {"-----BEGIN" + key + "\nMHcC", "[private key removed]"},
		"a token":             {"sent eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln to", "sent [token removed] to"},
		"an Authorization":    {"Authorization: Bearer abcdefgh1234", "Authorization: Bearer [removed]"},
		"a database URI":      {"uri: mongodb://core:pa:ss@db.example:27017/core", "uri: mongodb://[removed]@db.example:27017/core"},
		"a password":          {`password: "pa ss", next: 1`, `password: [removed], next: 1`},
		"a password in JSON":  {`{"password":"x1","user":"a"}`, `{"password":[removed],"user":"a"}`},
		"a reference stays":   {"secretRef:\n  name: phone-1\n", "secretRef:\n  name: phone-1\n"},
		"a URI stays":         {"https://nrf.core5g:8000/nnrf-nfm/v1", "https://nrf.core5g:8000/nnrf-nfm/v1"},
		"an image stays":      {"core5g/amf@sha256:" + testKeys[2], "core5g/amf@sha256:" + testKeys[2]},
		"a UUID stays":        {"uid: 0c6a1c3e-6f0a-4b57-9a6e-0d7b4f2f3c11", "uid: 0c6a1c3e-6f0a-4b57-9a6e-0d7b4f2f3c11"},
		"a SUPI and a MAC":    {"imsi-208930000000001 02:00:00:00:00:01", "imsi-208930000000001 02:00:00:00:00:01"},
		"an IPv6 stays":       {"2001:db8:0:1:2:3:4:5", "2001:db8:0:1:2:3:4:5"},
		"automounting stays":  {"automountServiceAccountToken: true", "automountServiceAccountToken: true"},
		"a SEID and a number": {"seid 0x1f00000001 octets 123456789012", "seid 0x1f00000001 octets 123456789012"},
	} {
		if got := r.Clean(c.in); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func unpack(t *testing.T, packed io.Reader) map[string]string {
	t.Helper()
	unzipped, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if dir, _, _ := strings.Cut(header.Name, "/"); dir != "core5g-report-20260101-120000" {
			t.Errorf("%s is not in the report's folder", header.Name)
		}
		_, name, _ := strings.Cut(path.Clean(header.Name), "/")
		out[name] = string(content)
	}
}

// Keys are put wherever a careless program or user could: none of them leaves.
func TestAReportHasEverythingButSecrets(t *testing.T) {
	objects := testCore()
	secret := &corev1.Secret{ObjectMeta: named("phone-1"), Data: map[string][]byte{"k": []byte(testKeys[0]), "opc": []byte(testKeys[1])}}
	applied, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	for _, key := range testKeys {
		for way, text := range ways(key) {
			fmt.Fprintf(&log, "milenage %s: %s\n", way, text)
		}
	}
	pod := unitPod("core5g-amf-1", corev1.PodRunning)
	delete(pod.Labels, "core5g.dev/upfinstance")
	pod.Spec.Containers = []corev1.Container{{Name: "amf", Env: []corev1.EnvVar{{Name: "DB_PASSWORD", Value: "sesame-1"}, {Name: "POD_IP", Value: "10.0.0.7"}}}}
	pod.Status.ContainerStatuses = nil
	pod.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: string(applied) + "sesame-2", "note": "key " + testKeys[0]}
	strangers := &corev1.ConfigMap{ObjectMeta: v1.ObjectMeta{Name: "somebody-elses", Namespace: "core5g"}, Data: map[string]string{"x": "sesame-3"}}
	elsewhere := &corev1.ConfigMap{ObjectMeta: v1.ObjectMeta{Name: "x", Namespace: "other", Labels: map[string]string{"app.kubernetes.io/name": "core5g"}}, Data: map[string]string{"x": "sesame-4"}}
	config := &corev1.ConfigMap{ObjectMeta: named("core5g-pcf"), Data: map[string]string{"pcfcfg.yaml": "mongodb:\n  url: mongodb://root:sesame-5@db/x\n  password: sesame-6\n" + log.String()}}
	event := &corev1.Event{ObjectMeta: named("upf-0.1"), Message: "Scheduled with " + testKeys[1]}

	x := open(t, append(objects, secret, pod, strangers, elsewhere, config, event, testNode("w1", well(), 0))...)
	x.pods.exec = map[string]string{"upf-0/upf-c": "[]", "upf-1/upf-c": "[]"}
	x.pods.logs = map[string]string{
		"upf-0/upf-u false": "worker 0 runs\n", "upf-0/upf-c false": log.String(), "upf-0/upf-c true": "ended\n",
		"upf-1/upf-u false": "worker 0 runs\n", "core5g-amf-1/amf false": "NGAP listens\n",
	}
	if got := x.run(t, "report"); got != 0 {
		t.Fatalf("exit status %d: %s", got, x.err.String())
	}
	x.says(t, "core5g-report-20260101-120000.tar.gz: ", "keys, passwords and tokens are removed")
	files := unpack(t, &x.file)

	for name, content := range files {
		for i := 1; i <= 6; i++ {
			if strings.Contains(content, fmt.Sprintf("sesame-%d", i)) {
				t.Errorf("%s has sesame-%d", name, i)
			}
		}
		for _, key := range testKeys {
			for way, text := range ways(key) {
				if strings.Contains(content, strings.Trim(text, "[]{}")) {
					t.Errorf("%s has a key: %s", name, way)
				}
			}
		}
	}
	for name, want := range map[string]string{
		"status.txt":                  "phone-2     False",
		"sessions.txt":                "0 PDU sessions in 2 of 2 units",
		"objects/core5gs.yaml":        "name: core5g",
		"objects/slices.yaml":         "name: internet",
		"objects/upfinstances.yaml":   "timeout: 1m0s",
		"objects/subscribers.yaml":    "supi: imsi-208930000000001",
		"objects/dataplanenodes.yaml": "name: w1",
		"objects/nodes.yaml":          "name: control",
		"objects/pods.yaml":           "10.0.0.7",
		"objects/configmaps.yaml":     "core5g-pcf",
		"objects/deployments.yaml":    "core5g-amf",
		"objects/events.yaml":         "Scheduled with [",
		"logs/upf-0/upf-u.log":        "worker 0 runs",
		"logs/upf-0/upf-c.log":        "milenage",
		"logs/core5g-amf-1/amf.log":   "NGAP listens",
		// What could not be had is named, and the rest is there.
		"logs/upf-0/upf-c.previous.log": "ended",
		"errors.txt":                    "logs/upf-1/upf-c.log: no log",
	} {
		if !strings.Contains(files[name], want) {
			t.Errorf("%s lacks %q:\n%s", name, want, files[name])
		}
	}
	if strings.Contains(files["errors.txt"], "dataplanenodes") {
		t.Errorf("errors.txt: %s", files["errors.txt"])
	}
	if _, found := files["objects/secrets.yaml"]; found {
		t.Error("Secrets are in the report")
	}
}

func TestAReportToStandardOutput(t *testing.T) {
	x := open(t, []client.Object{testUPF()}...)
	if got := x.run(t, "report -o -"); got != 0 {
		t.Fatalf("exit status %d: %s", got, x.err.String())
	}
	if files := unpack(t, &x.out); files["status.txt"] == "" {
		t.Errorf("the files are %v", files)
	}
}
