package suite

import (
	"strings"
	"testing"
	"time"
)

// A bad custom resource is refused at once, with a message that says what to write instead.
func TestBadResourcesAreRefused(t *testing.T) {
	slice := func(spec string) string {
		return "apiVersion: core5g.dev/v1alpha1\nkind: Slice\nmetadata: {name: bad}\nspec: " + spec
	}
	tests := []struct{ name, manifest, want string }{
		{
			"an SD that is not six hexadecimal digits",
			slice(`{snssai: {sst: 1, sd: "12345"}, dataNetworks: [{dnn: internet, uePools: [10.50.0.0/16]}]}`),
			"sd",
		},
		{
			"an SST out of range",
			slice(`{snssai: {sst: 256}, dataNetworks: [{dnn: internet, uePools: [10.50.0.0/16]}]}`),
			"sst",
		},
		{
			"a pool that is no prefix",
			slice(`{snssai: {sst: 1, sd: "010203"}, dataNetworks: [{dnn: internet, uePools: [10.50.0.0]}]}`),
			"uePools",
		},
		{
			"a slice without a data network",
			slice(`{snssai: {sst: 1, sd: "010203"}, dataNetworks: []}`),
			"dataNetworks",
		},
		{
			"a SUPI that is none",
			"apiVersion: core5g.dev/v1alpha1\nkind: Subscriber\nmetadata: {name: bad}\nspec: {supi: \"12345\", authentication: {secretRef: {name: x}}, slices: [{name: internet}]}",
			"supi",
		},
		{
			"UPF endpoints outside their subnet",
			"apiVersion: core5g.dev/v1alpha1\nkind: UPFInstance\nmetadata: {name: bad}\nspec: {n3: {attachment: {type: Bridge, bridge: n3}, subnet: 172.30.3.0/24, endpoints: 172.31.3.16/28}, n6: {attachment: {type: Bridge, bridge: n6}, address: 172.30.6.9/24, gateway: 172.30.6.1}}",
			"endpoints",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx := story(t, time.Minute)
			_, err := k.Input(ctx, tt.manifest, "apply", "--dry-run=server", "-f", "-")
			if err == nil {
				t.Fatal("was accepted")
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the message does not name %s: %v", tt.want, err)
			}
			t.Log(err)
		})
	}
}

func TestSliceIdentityIsImmutable(t *testing.T) {
	ctx := story(t, time.Minute)
	_, err := k.Run(ctx, "patch", "slice", firstSlice, "--type=merge", "--dry-run=server", "-p", `{"spec":{"snssai":{"sst":2}}}`)
	if err == nil || !strings.Contains(err.Error(), "immutable") {
		t.Fatalf("want a refusal that says immutable, got %v", err)
	}
}
