package cluster

import (
	"fmt"
	"os"
)

// Whose SMF a core has (Core5G.spec.controlPlane).
const (
	Free5GC = "Free5GC"
	Core5G  = "Core5G"
)

// ControlPlane is what CONTROL_PLANE says: `make up CONTROL_PLANE=Core5G` brings a core up with core5g's own SMF, and the suite
// tells its stories with that. Free5GC unless set.
func ControlPlane() (string, error) {
	switch plane := os.Getenv("CONTROL_PLANE"); plane {
	case "", Free5GC:
		return Free5GC, nil
	case Core5G:
		return Core5G, nil
	default:
		return "", fmt.Errorf("CONTROL_PLANE is %q: write %s or %s", plane, Free5GC, Core5G)
	}
}

// PodNetwork is where pods have their addresses: UPFs are told (UPFInstance.spec.n4.controlPlaneSubnets), so that they know the
// SMF's pods. It is that of the clusters that are made here; "" of one that others made.
func PodNetwork() string {
	if os.Getenv("CORE5G_CLUSTER") == "existing" {
		return os.Getenv("CORE5G_POD_NETWORK")
	}
	return "10.244.0.0/16"
}
