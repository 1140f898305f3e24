package specs

import (
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// The layout Fused is one pod, of one program, in place of AMF, N2 terminators, SMF, subscriber data, NRF, PCF, CHF and database. Beside it are the session
// store, which keeps what there is of UEs and sessions, and the UPF. The Services of N2 and of the SMF's shards are those of the layout Distributed: their
// addresses are known to gNBs and units, and in records.

// ControlPlaneLabels select the pod of the layout Fused. It keeps records as AMF and SMF do.
func ControlPlaneLabels(core *api.Core5G) map[string]string {
	return with(with(Labels(core.Name, string(api.FunctionControlPlane)), api.LabelSessionManagement, SharedSMF), api.LabelAccessManagement, sharedAMF)
}

// ControlPlaneName names the Deployment of the layout Fused.
func ControlPlaneName(core *api.Core5G) string {
	return FunctionObjectName(core.Name, api.FunctionControlPlane)
}

// ControlPlane builds the pod of the layout Fused. shards are the Services of SMFSet.Services, as the API server has them, and outside those of
// SMFSet.OutsideServices: they are not part of what is made.
func ControlPlane(core *api.Core5G, p Platform, shards []*corev1.Service, outside ...*corev1.Service) FunctionObjects {
	w := functionWorkload(core, p, api.FunctionControlPlane)
	w.labels = ControlPlaneLabels(core)
	w.args = []string{
		"--core", core.Name, "--namespace", core.Namespace, "--scheme", sbiScheme(core), "--set", strconv.Itoa(int(ptr.Deref(core.Spec.AMF.Set, defaultSet))),
		"--amf-shards", fmt.Sprint(amfShards(core)), "--amf-service", FunctionObjectName(core.Name, api.FunctionAMF),
		"--n2-listen", fmt.Sprintf(":%d", core.Spec.N2.Port), "--log-level", logger(core).Level,
	}
	w.env = []corev1.EnvVar{
		fromField("POD_NAME", "metadata.name"), fromField(podIPEnv, "status.podIP"), {Name: "SMF_SHARDS", Value: shardList(shards, outside)}, sctpTransport(core),
		{Name: metricsListen, Value: fmt.Sprintf(":%d", PortMetrics)}, {Name: "HEALTH_LISTEN", Value: fmt.Sprintf(":%d", PortHealth)},
	}
	w = w.keepsRecords().knowsSubscribers()
	w.serviceAccount = p.controlPlaneAccount(core)
	w.scratch = map[string]string{"tmp": "/tmp"}
	w.ports = []corev1.ContainerPort{
		port("n2", core.Spec.N2.Port, n2Protocol(core)), port(portNameMetrics, PortMetrics, corev1.ProtocolTCP), port("health", PortHealth, corev1.ProtocolTCP),
	}
	for i := range shards {
		w.ports = append(w.ports, port(fmt.Sprintf("pfcp-%d", i+1), int32(shardPFCP+i+1), corev1.ProtocolUDP))
	}
	w.readiness = httpProbe("/readyz", PortHealth, 2)
	w.liveness = httpProbe("/healthz", PortHealth, 20)
	w.resources = requests("100m", "192Mi", "4Gi")
	w.grace = 30 // shards are given up, and gNBs are told
	w = w.attachedToN2()
	o := w.objects(n2Service(w), w.service(servicePort(portNameMetrics, PortMetrics, corev1.ProtocolTCP)))
	o.Budget = w.budget()
	return o
}

// ControlPlanePolicy lets gNBs in from wherever they are, and what units report to the SMF's shards.
func ControlPlanePolicy(core *api.Core5G) *networkingv1.NetworkPolicy {
	return networkPolicy(core, string(api.FunctionControlPlane))
}

// LayoutObjects is what a core has of a layout, and not of its own.
type LayoutObjects struct {
	// Deployments, whose pods have to be gone before others take their place.
	Deployments []*appsv1.Deployment
	// Policies guard these pods until then.
	Policies []*networkingv1.NetworkPolicy
	// Rest is what nobody is interested in any more.
	Rest []client.Object
}

// OtherLayout is what a core has of the layout that it is not in. Session store, claims and PodDisruptionBudgets, which mean nobody then, stay.
func OtherLayout(core *api.Core5G, p Platform) LayoutObjects {
	if !core.Fused() {
		w := functionWorkload(core, p, api.FunctionControlPlane)
		w.labels = ControlPlaneLabels(core)
		o := w.objects(w.service())
		return LayoutObjects{
			Deployments: []*appsv1.Deployment{o.Deployment}, Policies: []*networkingv1.NetworkPolicy{ControlPlanePolicy(core)}, Rest: []client.Object{o.Services[0]},
		}
	}
	other := core.DeepCopy()
	other.Spec.Layout = api.LayoutDistributed
	of := CoreFunctions(other, p, EmbeddedDatabase(other))
	set := SMFSet{Core: other}
	of = append(of, set.Build(p, nil))
	out := LayoutObjects{Policies: controlPlanePolicies(other)}
	for _, f := range of {
		out.Deployments = append(out.Deployments, f.Deployment)
		if f.ConfigMap != nil {
			out.Rest = append(out.Rest, f.ConfigMap)
		}
		if f.Secret != nil {
			out.Rest = append(out.Rest, f.Secret)
		}
		for _, s := range f.Services {
			if s.Name != N2ServiceName(core.Name) {
				out.Rest = append(out.Rest, s)
			}
		}
	}
	return out
}

// LayoutProblem says what of a Slice the layout of its core does not have.
func LayoutProblem(slice *api.Slice, core *api.Core5G) *Problem {
	if !core.Fused() || slice.Spec.SessionManagement != api.SessionManagementDedicated {
		return nil
	}
	return &Problem{api.ReasonNotSupported, fmt.Sprintf(
		"sessionManagement Dedicated needs pods of its own, and Core5G %s has one pod for all (layout Fused): write Shared, or layout: Distributed there", core.Name)}
}
