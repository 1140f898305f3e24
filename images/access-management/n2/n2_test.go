package n2

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var equal = cmpopts.EquateComparable(netip.Addr{})

func TestRoundTrip(t *testing.T) {
	seen := map[Kind]bool{}
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			seen[s.message.Kind()] = true
			b, err := Write(s.message)
			if err != nil {
				t.Fatal(err)
			}
			got, fault := Read(b)
			if fault != nil {
				t.Fatalf("%x: %v", b, fault)
			}
			if diff := cmp.Diff(s.message, got, equal); diff != "" {
				t.Errorf("%x (-want +got):\n%s", b, diff)
			}
		})
	}
	for _, kind := range Kinds() {
		if !seen[kind] {
			t.Errorf("no sample of %s", kind)
		}
		if made := kind.empty(); made.Kind() != kind {
			t.Errorf("%s makes %T, which is %s", kind, made, made.Kind())
		}
	}
}
