package cluster

import (
	"fmt"
	"os"
)

// Whose AMF and SMF a core has (Core5G.spec.controlPlane).
const (
	Free5GC = "Free5GC"
	Core5G  = "Core5G"
)

// AMFWorkers of core5g's own AMF, as `make up` has them: more than one, so that they share UEs.
const AMFWorkers = 2

// ControlPlane is what CONTROL_PLANE says: `make up CONTROL_PLANE=Free5GC` brings a core up with free5GC's AMF and SMF, and the
// suite tells its stories with them. Core5G unless set.
func ControlPlane() (string, error) {
	switch plane := os.Getenv("CONTROL_PLANE"); plane {
	case "", Core5G:
		return Core5G, nil
	case Free5GC:
		return Free5GC, nil
	default:
		return "", fmt.Errorf("CONTROL_PLANE is %q: write %s or %s", plane, Core5G, Free5GC)
	}
}

// How many programs the control plane is (Core5G.spec.layout).
const (
	Distributed = "Distributed"
	Fused       = "Fused"
)

// Layout is what LAYOUT says: `make up LAYOUT=Fused` brings a core up whose control plane is one pod. Distributed unless set.
func Layout() (string, error) {
	plane, err := ControlPlane()
	if err != nil {
		return "", err
	}
	switch layout := os.Getenv("LAYOUT"); {
	case layout == "" || layout == Distributed:
		return Distributed, nil
	case layout != Fused:
		return "", fmt.Errorf("LAYOUT is %q: write %s or %s", layout, Distributed, Fused)
	case plane != Core5G:
		return "", fmt.Errorf("LAYOUT=%s needs CONTROL_PLANE=%s: free5GC's functions are programs of their own", Fused, Core5G)
	}
	return Fused, nil
}

// ComponentOf names the pods (app.kubernetes.io/component) that do in a layout what a component of the layout Distributed does; "" where nobody does.
func ComponentOf(layout, component string) string {
	if layout != Fused {
		return component
	}
	switch component {
	case "amf", "amf-n2", "smf", "subscriber-data":
		return "control-plane"
	case "nrf", "pcf", "chf", "database":
		return ""
	}
	return component
}

// ControlPlaneValues has values of the chart say that a core has that AMF and SMF, and that layout. helm takes no value away that it is to reuse.
func ControlPlaneValues(values map[string]any, plane, layout string) {
	spec := inside(inside(values, "core"), "spec")
	spec["controlPlane"], spec["layout"] = plane, layout
	if plane == Core5G {
		inside(spec, "amf")["workers"] = AMFWorkers
		return
	}
	delete(spec, "sessionManagement")
	if amf, ok := spec["amf"].(map[string]any); ok {
		for _, field := range []string{
			"workers", "terminators", "shards", "capacity", "integrity", "ciphering", "periodicRegistration", "backoff", "imsVoice", "networkName", "emergency",
		} {
			delete(amf, field)
		}
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
