package specs

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/utils/ptr"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// core5g's own AMF is workers, which share UEs by leases in the session store and are one AMF to the other functions, and N2
// terminators, which gNBs have their associations with. Workers connect to terminators: to all that are behind a headless
// Service. To the gNBs all terminators are one AMF behind one Service.
//
// Its workers have the name and component of free5GC's AMF, in whose place they are, and a label of their own: the Services
// of one do not lead to pods of the other that have not left yet.

const (
	// PortN2Workers is where terminators wait for workers.
	PortN2Workers = 38400

	// terminatorLingers is how long gNBs that can be told of single terminators have to let go of one that goes: its status, the workers that read it, an
	// association with another one, and the end of this one take some seconds.
	terminatorLingers = "10s"

	defaultWorkers     = 1
	defaultTerminators = 1
	defaultAMFShards   = 16

	// sharedAMF is the value of LabelAccessManagement: the workers of the core's AMF.
	sharedAMF = "core"
	// ComponentN2 is the component of terminators.
	ComponentN2 = "amf-n2"
	// workersService tells a terminator whose certificate its workers show.
	workersService = "WORKERS_SERVICE"
	// terminatorProgram is beside the workers' in their image.
	terminatorProgram = "/usr/bin/n2-terminator"
)

// WorkerLabels of core5g's own AMF, which select its workers.
func WorkerLabels(core *api.Core5G) map[string]string {
	return with(Labels(core.Name, string(api.FunctionAMF)), api.LabelAccessManagement, sharedAMF)
}

// AMFLabels select the pods that serve UEs: core5g's own AMF's workers or free5GC's AMF.
func AMFLabels(core *api.Core5G) map[string]string {
	if core.OwnControlPlane() {
		return WorkerLabels(core)
	}
	return Labels(core.Name, string(api.FunctionAMF))
}

// N2WorkersServiceName names the headless Service by which workers find terminators.
func N2WorkersServiceName(core string) string { return N2ServiceName(core) + "-workers" }

// AMFTerminators is how many core5g's own AMF has.
func AMFTerminators(core *api.Core5G) int32 {
	return ptr.Deref(core.Spec.AMF.Terminators, defaultTerminators)
}

func amfShards(core *api.Core5G) int32 { return ptr.Deref(core.Spec.AMF.Shards, defaultAMFShards) }

// AMFWorkers builds the workers. Catalogue, tracking areas, PLMNs and names they read themselves: none of them is part of
// what the pods are made from.
func AMFWorkers(core *api.Core5G, p Platform) FunctionObjects {
	w := functionWorkload(core, p, api.FunctionAccessManagement)
	w.object, w.labels = FunctionObjectName(core.Name, api.FunctionAMF), WorkerLabels(core)
	nrf := FunctionObjectName(core.Name, api.FunctionNRF)
	w.args = []string{
		"--core", core.Name, "--namespace", core.Namespace, "--shards", fmt.Sprint(amfShards(core)), "--service", w.object,
		"--terminators", fmt.Sprintf("%s:%d", N2WorkersServiceName(core.Name), PortN2Workers),
		"--nrf", sbiURL(core, nrf), "--log-level", logger(core).Level,
	}
	w.env = []corev1.EnvVar{
		fromField("POD_NAME", "metadata.name"), fromField(podIPEnv, "status.podIP"),
		{Name: metricsListen, Value: fmt.Sprintf(":%d", PortMetrics)}, {Name: "HEALTH_LISTEN", Value: fmt.Sprintf(":%d", PortHealth)},
	}
	w = w.keepsRecords().protected()
	w.serviceAccount = p.accessManagementAccount(core)
	w.ports = []corev1.ContainerPort{
		port("sbi", PortSBI, corev1.ProtocolTCP), port(portNameMetrics, PortMetrics, corev1.ProtocolTCP), port("health", PortHealth, corev1.ProtocolTCP),
	}
	w.readiness = httpProbe("/readyz", PortHealth, 2)
	w.liveness = httpProbe("/healthz", PortHealth, 20)
	w.resources = requests("50m", "128Mi", "2Gi")
	w.grace = 15 // its shards are given up, and their new holders found
	w.waits = []string{waitFor(nrf, PortSBI)}
	w.replicas = ptr.Deref(core.Spec.AMF.Workers, defaultWorkers)
	o := w.objects(w.service(
		servicePort("sbi", PortSBI, corev1.ProtocolTCP),
		servicePort(portNameMetrics, PortMetrics, corev1.ProtocolTCP),
	))
	o.Budget = w.budget()
	return o
}

// N2Terminators builds what gNBs have their associations with. They change as seldom as can be: each end costs gNBs one.
func N2Terminators(core *api.Core5G, p Platform) FunctionObjects {
	w := functionWorkload(core, p, api.FunctionN2Terminator)
	w.object, w.labels = N2ServiceName(core.Name), Labels(core.Name, ComponentN2)
	w.command = []string{terminatorProgram}
	w.args = []string{
		"--pod", "$(POD_NAME)", "--n2-listen", fmt.Sprintf(":%d", core.Spec.N2.Port), "--workers-listen", fmt.Sprintf(":%d", PortN2Workers),
		"--shards", fmt.Sprint(amfShards(core)), "--set", strconv.Itoa(int(ptr.Deref(core.Spec.AMF.Set, defaultSet))),
		"--metrics-listen", fmt.Sprintf(":%d", PortMetrics), "--health-listen", fmt.Sprintf(":%d", PortHealth), "--log-level", logger(core).Level,
	}
	if core.Spec.N2.NetworkAttachmentDefinition != "" {
		w.args = append(w.args, "--linger", terminatorLingers)
	}
	w.env = []corev1.EnvVar{
		fromField("POD_NAME", "metadata.name"), sctpTransport(core),
		{Name: workersService, Value: FunctionObjectName(core.Name, api.FunctionAMF)},
	}
	w = w.protected()
	w.ports = []corev1.ContainerPort{
		port("n2", core.Spec.N2.Port, n2Protocol(core)), port("workers", PortN2Workers, corev1.ProtocolTCP),
		port(portNameMetrics, PortMetrics, corev1.ProtocolTCP), port("health", PortHealth, corev1.ProtocolTCP),
	}
	w.readiness = httpProbe("/readyz", PortHealth, 2)
	w.liveness = httpProbe("/healthz", PortHealth, 20)
	w.resources = requests("20m", "32Mi", "512Mi")
	w.grace = 30 // it lingers, gNBs are told, and what workers still send goes out
	w.replicas = AMFTerminators(core)
	w = w.attachedToN2()
	workers := namedService(core.Namespace, N2WorkersServiceName(core.Name), w.labels, w.labels, w.owner, servicePort("workers", PortN2Workers, corev1.ProtocolTCP))
	workers.Spec.ClusterIP = corev1.ClusterIPNone
	o := w.objects(n2Service(w), workers)
	o.Budget = w.budget()
	return o
}

// N2TerminatorCertificate is for the connections of workers, which call every terminator by the Service's name.
func N2TerminatorCertificate(core *api.Core5G) CertificateRequest {
	object := N2ServiceName(core.Name)
	return certificateRequest(core, object, Labels(core.Name, ComponentN2), ownedBy(core, "Core5G"), N2WorkersServiceName(core.Name), object)
}

// N2TerminatorPolicy lets gNBs in from wherever they are, and the workers.
func N2TerminatorPolicy(core *api.Core5G) *networkingv1.NetworkPolicy {
	return networkPolicy(core, ComponentN2)
}
