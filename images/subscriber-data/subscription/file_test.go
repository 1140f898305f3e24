package subscription

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/images/subscriber-data/suci"
)

const manifests = `
apiVersion: core5g.dev/v1alpha1
kind: Core5G
metadata: {name: core5g}
spec:
  plmns: [{mcc: "208", mnc: "93"}]
  homeNetworkKeys: [{id: 1, profile: A, secretRef: {name: home}}]
---
apiVersion: core5g.dev/v1alpha1
kind: Slice
metadata: {name: internet}
spec:
  snssai: {sst: 1, sd: "0A0B0C"}
  dataNetworks: [{dnn: internet, uePools: [10.45.0.0/16]}, {dnn: ims, uePools: ["2001:db8::/48"]}]
---
apiVersion: v1
kind: Secret
metadata: {name: home}
stringData: {privateKey: c53c22208b61860b06c62e5406a7b330c2b577aa5558981510d128247d38bd1d}
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
data: {k: OGJhZjQ3M2YyZjhmZDA5NDg3Y2NjYmQ3MDk3YzY4NjI=}
stringData: {opc: 8e27b6af0e692e750f32667a3b14605d}
---
apiVersion: core5g.dev/v1alpha1
kind: Subscriber
metadata: {name: ue}
spec:
  supi: imsi-208930000000001
  authentication: {secretRef: {name: keys}}
  slices: [{name: internet}, {name: absent}]
`

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	// As an editor does: a new file in the place of the old one.
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func TestFileIsServedAsManifests(t *testing.T) {
	path := filepath.Join(t.TempDir(), "subscribers.yaml")
	writeFile(t, path, manifests)
	file, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- file.Watch(ctx, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	d := NewDirectory(file)
	s, err := d.Subscriber(ctx, "imsi-208930000000001")
	if err != nil || len(s.Slices) != 1 || s.Slices[0].SNSSAI != (SNSSAI{SST: 1, SD: "0a0b0c"}) || !s.Slices[0].Default {
		t.Fatalf("subscriber %+v, error %v", s, err)
	}
	if dn := s.Slices[0].DataNetworks; dn[0].SessionTypes[0] != "IPV4" || dn[1].SessionTypes[0] != "IPV6" || dn[0].AMBR.Uplink != "1 Gbps" {
		t.Errorf("data networks %+v", dn)
	}
	if _, err := d.Credentials(ctx, "imsi-208930000000001"); err != nil {
		t.Error(err)
	}
	if _, err := d.HomeNetworkKey(ctx, 1, suci.ProfileA); err != nil {
		t.Error(err)
	}
	if _, err := d.HomeNetworkKey(ctx, 1, suci.ProfileB); !errors.Is(err, suci.ErrUnknownKey) {
		t.Errorf("error %v, want %v", err, suci.ErrUnknownKey)
	}

	// A change is taken over, a mistake is not. Both are written until the watcher, which may not have
	// started, has seen them.
	await := func(text string, condition func() bool) bool {
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
			writeFile(t, path, text)
			time.Sleep(5 * time.Millisecond)
			if condition() {
				return true
			}
		}
		return false
	}
	known := func(supi string) bool { _, err := d.Subscriber(ctx, supi); return err == nil }
	if !await(strings.ReplaceAll(manifests, "0000000001", "0000000002"), func() bool { return known("imsi-208930000000002") }) {
		t.Error("the change is not taken over")
	}
	writeFile(t, path, "kind: [")
	if await(manifests, func() bool { return known("imsi-208930000000001") }); !known("imsi-208930000000001") {
		t.Error("no recovery after a file that cannot be read")
	}
}

func TestFileRefuses(t *testing.T) {
	subscriber := manifests[strings.LastIndex(manifests, "---"):]
	tests := map[string]struct{ text, want string }{
		"nothing":                        {"", "it holds no Core5G"},
		"no YAML":                        {"{", "document 1: it is not YAML"},
		"an unknown kind":                {manifests + "---\nkind: Pod\n", `document 6: unexpected kind "Pod"`},
		"an unknown field":               {strings.Replace(manifests, "plmns:", "plmn:", 1), "plmn"},
		"one SUPI twice":                 {manifests + subscriber, "a second Subscriber with SUPI imsi-208930000000001"},
		"two cores":                      {manifests + "---\nkind: Core5G\n", "a second Core5G"},
		"a Secret that cannot be parsed": {strings.Replace(manifests, "stringData: {opc", "stringDatum: {opc", 1), "the Secret cannot be read"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f.yaml")
			writeFile(t, path, test.text)
			_, err := OpenFile(path)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error %v, want %q in it", err, test.want)
			}
			if strings.Contains(err.Error(), "8e27b6af") {
				t.Errorf("the error quotes a key: %v", err)
			}
		})
	}
}

// A Subscriber that was accepted before its PLMN was looked at, or whose core has lost it, gets no challenge.
func TestASUPIOfAnotherNetworkHasNoKeys(t *testing.T) {
	foreign := strings.ReplaceAll(manifests, "imsi-208930000000001", "imsi-310410000000001")
	path := filepath.Join(t.TempDir(), "subscribers.yaml")
	for supi, text := range map[string]string{"imsi-208930000000001": manifests, "imsi-310410000000001": foreign} {
		writeFile(t, path, text)
		file, err := OpenFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = NewDirectory(file).Credentials(t.Context(), supi)
		if want := text == foreign; errors.Is(err, ErrUnknownSubscriber) != want || (err != nil) != want {
			t.Errorf("the keys of %s: %v, want none: %v", supi, err, want)
		}
	}
}
