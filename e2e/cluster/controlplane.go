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

// AMFWorkers of core5g's own AMF: more than one, so that they share UEs.
const AMFWorkers = 2

// AMF is what AMF says: `make up CONTROL_PLANE=Core5G AMF=Core5G` brings a core up with core5g's own AMF as well. Free5GC unless
// set.
func AMF() (string, error) {
	plane, err := ControlPlane()
	if err != nil {
		return "", err
	}
	switch amf := os.Getenv("AMF"); {
	case amf == "" || amf == Free5GC:
		return Free5GC, nil
	case amf != Core5G:
		return "", fmt.Errorf("AMF is %q: write %s or %s", amf, Free5GC, Core5G)
	case plane != Core5G:
		return "", fmt.Errorf("AMF=%s needs CONTROL_PLANE=%s: core5g's own AMF keeps UEs in the session store", amf, Core5G)
	default:
		return Core5G, nil
	}
}

// ControlPlaneValues has values of the chart say that a core has that SMF and AMF. helm takes no value away that it is to reuse.
func ControlPlaneValues(values map[string]any, plane, amf string) {
	spec := inside(inside(values, "core"), "spec")
	spec["controlPlane"] = plane
	if plane == Core5G && amf == Core5G {
		inside(spec, "amf")["workers"] = AMFWorkers
	} else if of, ok := spec["amf"].(map[string]any); ok {
		delete(of, "workers")
	}
}

func inside(values map[string]any, key string) map[string]any {
	in, ok := values[key].(map[string]any)
	if !ok {
		in = map[string]any{}
		values[key] = in
	}
	return in
}

// PodNetwork is where pods have their addresses: UPFs are told (UPFInstance.spec.n4.controlPlaneSubnets), so that they know the
// SMF's pods. It is that of the clusters that are made here; "" of one that others made.
func PodNetwork() string {
	if os.Getenv("CORE5G_CLUSTER") == "existing" {
		return os.Getenv("CORE5G_POD_NETWORK")
	}
	return "10.244.0.0/16"
}
