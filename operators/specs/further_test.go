package specs

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// What a Slice says of UPFInstances beside that of its selector: which there are not, and what becomes of its tracking areas without one.
func TestFurtherUPFs(t *testing.T) {
	slice := &api.Slice{Spec: api.SliceSpec{DataNetworks: []api.DataNetwork{{
		DNN:  "internet",
		UPFs: []api.DataNetworkUPF{{Name: "edge", TACs: []api.TAC{"000002", "000003"}, Fallback: api.UPFFallbackNone}, {Name: "near", TACs: []api.TAC{"000004"}}, {Name: "more"}},
	}, {
		DNN: "ims", UPFs: []api.DataNetworkUPF{{Name: "edge"}}, Breakouts: []api.Breakout{{Name: "cache", UPFInstance: "cache"}},
	}}}}
	if got, want := FurtherUPFs(slice), []string{"edge", "near", "more", "cache"}; !slices.Equal(got, want) {
		t.Errorf("they are %q, want %q", got, want)
	}
	var upfs []api.UPFInstance
	for _, name := range []string{"edge", "near", "more", "cache"} {
		upfs = append(upfs, api.UPFInstance{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	for name, c := range map[string]struct {
		change func([]api.UPFInstance) []api.UPFInstance
		want   string
	}{
		"all are there":       {func(all []api.UPFInstance) []api.UPFInstance { return all }, ""},
		"one of upfs is not":  {func(all []api.UPFInstance) []api.UPFInstance { return all[1:] }, "UPFInstance edge does not exist: create it, or name another in upfs of DNN internet"},
		"one of breakouts":    {func(all []api.UPFInstance) []api.UPFInstance { return all[:3] }, "UPFInstance cache does not exist: create it, or name another in breakouts of DNN ims"},
		"one is another core": {func(all []api.UPFInstance) []api.UPFInstance { all[1].Spec.CoreRef.Name = "other"; return all }, "UPFInstance near belongs to Core5G other: name one of Core5G core5g in upfs of DNN internet"},
	} {
		t.Run(name, func(t *testing.T) {
			problem := FurtherUPFProblem(slice, c.change(slices.Clone(upfs)))
			if (problem == nil) != (c.want == "") || problem != nil && problem.Message != c.want {
				t.Errorf("got %v, want %q", problem, c.want)
			}
		})
	}
	for upf, want := range map[string]string{
		"edge": "in tracking areas 000002, 000003 are refused", "near": "in tracking areas 000004 go to others of the Slice", "more": "go without it", "cache": "go without it",
	} {
		if got := WithoutUPF(slice, upf); !strings.Contains(got, want) {
			t.Errorf("without %s: %q, want %q", upf, got, want)
		}
	}
}
