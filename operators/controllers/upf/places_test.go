package upf

import (
	"testing"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

func TestPlacesHaveAWordForEachUnit(t *testing.T) {
	second := int32(1)
	got := places([]api.UnitStatus{{Node: "w1", Cell: &second}, {}, {Node: "w2"}})
	if want := "w1/1 - w2"; got != want {
		t.Errorf("places %q, want %q", got, want)
	}
}
