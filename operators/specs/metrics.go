package specs

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// metricsListen is what this project's programs around free5GC's functions read.
const metricsListen = "METRICS_LISTEN"

const portNameMetrics = "metrics"

// observed lets this project's program around one of free5GC's functions serve metrics. An image that a site
// brings has what free5GC has: nothing in SMF and CHF.
func (w workload) observed() workload {
	if foreignImage(w.core, w.function) {
		return w
	}
	w.env = append(w.env, corev1.EnvVar{Name: metricsListen, Value: fmt.Sprintf(":%d", PortMetrics)})
	for _, p := range w.ports {
		if p.Name == portNameMetrics {
			return w
		}
	}
	w.ports = append(w.ports, port(portNameMetrics, PortMetrics, corev1.ProtocolTCP))
	return w
}

// keepUnobserved takes back what observed gave, where the container that runs was made by an operator that did
// not know it.
func keepUnobserved(want, have *corev1.Container) {
	if hasEnv(*have, metricsListen) {
		return
	}
	want.Env = slices.DeleteFunc(want.Env, func(e corev1.EnvVar) bool { return e.Name == metricsListen })
	isMetrics := func(p corev1.ContainerPort) bool { return p.Name == portNameMetrics }
	if !slices.ContainsFunc(have.Ports, isMetrics) {
		want.Ports = slices.DeleteFunc(want.Ports, isMetrics)
	}
}

// foreignImage says whether the site brings an image of its own for a function.
func foreignImage(core *api.Core5G, fn api.FunctionName) bool {
	f := Function(core, fn)
	return f != nil && f.Image != ""
}
