package cluster

import (
	"testing"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/operators/api/v1alpha1"
)

// Which sessions an overloaded unit may leave out hangs on the priority level of Slices that say none: whoever reads them gives them the definition's.
func TestASliceWithoutAPriorityLevel(t *testing.T) {
	if level := uint8(configuration.DefaultPriority); level != v1alpha1.DefaultPriorityLevel {
		t.Errorf("a file's Slice has level %d, the definition's %d", level, v1alpha1.DefaultPriorityLevel)
	}
	if got := arpOf(v1alpha1.ARP{}).Priority; got != v1alpha1.DefaultPriorityLevel {
		t.Errorf("a Slice has level %d, the definition's %d", got, v1alpha1.DefaultPriorityLevel)
	}
}
