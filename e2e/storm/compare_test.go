package storm

import (
	"testing"

	"core5g.dev/core5g/e2e/cluster"

	"github.com/google/go-cmp/cmp"
)

func TestWhatIsCompared(t *testing.T) {
	for sentence, x := range map[string]struct {
		comparison Comparison
		want       []cluster.Serving
	}{
		"all three, in the order in which they are named": {
			Comparison{Layouts: []string{"Fused", "Free5GC", "Distributed"}, Rounds: 2, Starts: 20},
			[]cluster.Serving{{Plane: "Core5G", Layout: "Fused"}, {Plane: "Free5GC", Layout: "Distributed"}, {Plane: "Core5G", Layout: "Distributed"}},
		},
		"a layout that there is not": {Comparison{Layouts: []string{"Distributed", "fused"}, Rounds: 1, UEs: 5}, nil},
		"none":                       {Comparison{Rounds: 1, Starts: 20}, nil},
		"no round":                   {Comparison{Layouts: []string{"Fused"}, Starts: 20}, nil},
		"nothing to measure":         {Comparison{Layouts: []string{"Fused"}, Rounds: 1}, nil},
	} {
		got, err := x.comparison.servings()
		if diff := cmp.Diff(x.want, got); diff != "" || (err == nil) != (x.want != nil) {
			t.Errorf("%s: %v (-want +got):\n%s", sentence, err, diff)
		}
	}
}
