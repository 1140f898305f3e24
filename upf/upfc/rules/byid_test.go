package rules

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is kept by ID is what a map of the same history has, in order.
func TestByIDIsAMapInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var list ByID[uint16, int]
	want := map[uint16]int{}
	for step := range 5000 {
		id := uint16(r.IntN(40))
		switch r.IntN(5) {
		case 0:
			list.Delete(id)
			delete(want, id)
		case 1:
			odd := func(id uint16, v int) bool { return id == 7 || v%11 == 3 }
			list.DeleteFunc(odd)
			maps.DeleteFunc(want, odd)
		default:
			list.Put(id, step)
			want[id] = step
		}
		if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Collect(list.IDs())); diff != "" {
			t.Fatalf("IDs (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, maps.Collect(list.All())); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		for id := range uint16(42) {
			is, known := want[id]
			if got, ok := list.Find(id); got != is || ok != known || list.Has(id) != known || list.Get(id) != is {
				t.Fatalf("%d: %d %t, want %d %t", id, got, ok, is, known)
			}
		}
	}
}

func TestByIDIsCopied(t *testing.T) {
	var list ByID[uint32, int]
	list.Put(3, 30)
	list.Put(1, 10)
	other := list.Clone()
	other.Put(3, 31)
	other.Put(2, 20)
	list.Delete(1)
	if diff := cmp.Diff(ByID[uint32, int]{{ID: 3, Value: 30}}, list); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(ByID[uint32, int]{{ID: 1, Value: 10}, {ID: 2, Value: 20}, {ID: 3, Value: 31}}, other); diff != "" {
		t.Errorf("the copy (-want +got):\n%s", diff)
	}
}

// upfctl and its readers have objects by ID.
func TestByIDInJSON(t *testing.T) {
	b, err := json.Marshal(struct{ QERs, FARs ByID[uint32, *QER] }{QERs: ByID[uint32, *QER]{{ID: 7, Value: nil}}})
	if want := `{"QERs":{"7":null},"FARs":{}}`; err != nil || string(b) != want {
		t.Errorf("%s, %v; want %s", b, err, want)
	}
}
