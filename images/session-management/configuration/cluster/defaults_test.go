package cluster

import (
	"testing"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/operators/api/v1alpha1"

	"github.com/google/go-cmp/cmp"
)

// Whoever reads Slices gives one that says nothing what the definition does. Which sessions an overloaded unit may leave out hangs on its priority level.
func TestASliceThatSaysNothing(t *testing.T) {
	type given struct {
		FiveQI, Priority, MTU int
		Uplink, Downlink      v1alpha1.BitRate
	}
	definition := given{v1alpha1.DefaultFiveQI, v1alpha1.DefaultPriorityLevel, v1alpha1.DefaultMTU, v1alpha1.DefaultUplink, v1alpha1.DefaultDownlink}
	file := given{configuration.DefaultFiveQI, configuration.DefaultPriority, configuration.DefaultMTU, configuration.DefaultUplink, configuration.DefaultDownlink}
	if d := cmp.Diff(definition, file); d != "" {
		t.Errorf("a file's Slice has other defaults than the definition (-definition +file):\n%s", d)
	}
	fromFile, err := configuration.Parse([]byte("slices: [{name: internet, sst: 1, dataNetworks: [{dnn: internet, sessionTypes: [IPv4]}]}]"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := dataNetworkOf(&v1alpha1.DataNetwork{DNN: "internet"}, &v1alpha1.UPFInstance{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := fromFile.Named("internet", "internet")
	for what, both := range map[string][2]any{
		"5QI": {got.FiveQI, want.FiveQI}, "ARP": {got.ARP, want.ARP}, "MTU": {got.MTU, want.MTU}, "AMBR": {got.AMBR, want.AMBR},
	} {
		if d := cmp.Diff(both[0], both[1]); d != "" {
			t.Errorf("%s (-Slice +file):\n%s", what, d)
		}
	}
}
