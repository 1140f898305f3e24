package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// TestFieldsOfAnotherVersionAreKept: nothing is kept of what nobody has to write anew.
func TestFieldsOfAnotherVersionAreKept(t *testing.T) {
	stored := metav1.ManagedFieldsEntry{Manager: "a", APIVersion: "core5g.dev/v1alpha1"}
	another := metav1.ManagedFieldsEntry{Manager: "b", APIVersion: "core5g.dev/v1beta1"}
	of := func(fields ...metav1.ManagedFieldsEntry) *api.Subscriber {
		return &api.Subscriber{ObjectMeta: metav1.ObjectMeta{Name: "phone", ManagedFields: fields}}
	}
	for name, c := range map[string]struct{ o, want any }{
		"all of the stored one": {of(stored), of()},
		"some of another one":   {of(stored, another), of(stored, another)},
		"another project's object": {&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{APIVersion: "v1"}}}},
			&metav1.PartialObjectMetadata{}},
		"a deletion that was missed": {cache.DeletedFinalStateUnknown{Key: "phone"}, cache.DeletedFinalStateUnknown{Key: "phone"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := withVersions(c.o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}
