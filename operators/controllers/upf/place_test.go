package upf

import "testing"

// What a kubelet says when a node cannot give what was planned keeps units from that place; whatever else ends a pod
// does not.
func TestRefusalsThatAreOfThePlace(t *testing.T) {
	for reason, want := range map[string]bool{
		"TopologyAffinityError":      true,
		"SMTAlignmentError":          true,
		"UnexpectedAdmissionError":   true,
		"OutOfcpu":                   true,
		"OutOfhugepages-2Mi":         true,
		"OutOfcore5g.dev/n3_socket0": true,
		"Evicted":                    false,
		"NodeShutdown":               false,
		"OOMKilled":                  false,
		"UnitFailed":                 false,
		"":                           false,
	} {
		if got := refusesPlace(reason); got != want {
			t.Errorf("%q keeps units from the place: %t, want %t", reason, got, want)
		}
	}
}
