package specs

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// Who may open a connection to which part of a core. PFCP has no authentication at all, the database of a
// core asks for no password, and an SBI in clear text believes everybody: the network is their only guard.
// What is not in these tables does not get through, wherever the cluster enforces NetworkPolicies.
//
// N2 is open to all: gNBs live outside the cluster. N3 and N6 are no pod network, and no NetworkPolicy
// reaches them. Probes come from the node itself, which every enforcer lets through.

// componentOperator is the operator's own pod, in the same namespace unless AdmitOperator says another.
const componentOperator = "operator"

// componentUPF is a UPF unit; it holds upf-c and upf-u.
const componentUPF = "upf"

// sbiCallers are the consumers of each function's services and the senders of notifications to it.
var sbiCallers = map[api.FunctionName][]string{
	api.FunctionNRF: {"amf", "smf", "pcf", "chf", "subscriber-data", componentOperator},
	// N1N2MessageTransfer (SMF), policy updates (PCF), deregistration (UDM), status notifications (NRF).
	api.FunctionAMF: {"smf", "pcf", "subscriber-data", "nrf"},
	// SM contexts (AMF), policy updates (PCF), recharging (CHF); the operator through the user-plane API.
	api.FunctionSMF: {"amf", "pcf", "chf", "subscriber-data", "nrf", componentOperator},
	// AM, UE and SM policies; changed policy data (UDR).
	api.FunctionPCF:            {"amf", "smf", "subscriber-data", "nrf"},
	api.FunctionCHF:            {"smf", "pcf"},
	api.FunctionSubscriberData: {"amf", "smf", "pcf", "nrf"},
}

// pfcpCallers: sessions come from the SMFs, reports go back to them, and the operator releases the
// association of a Slice that is gone.
var pfcpCallers = map[string][]string{
	componentUPF:            {"smf", componentOperator},
	string(api.FunctionSMF): {componentUPF},
}

var databaseCallers = []string{"nrf", "pcf", "chf"}

// recordKeepers are the labels of pods that keep records in the session store. Their component does not tell them from
// free5GC's, which keep none.
var recordKeepers = []string{api.LabelSessionManagement, api.LabelAccessManagement}

// NetworkPolicyName names the policy of a component of a core.
func NetworkPolicyName(core, component string) string { return core + "-" + component }

// NetworkPolicies are all policies of a core, one for each component.
func NetworkPolicies(core *api.Core5G) []*networkingv1.NetworkPolicy {
	out := append(controlPlanePolicies(core), networkPolicy(core, componentUPF))
	if EmbeddedSessionStore(core) {
		out = append(out, SessionStorePolicy(core))
	}
	return out
}

// controlPlanePolicies are those of the control plane's pods, in the core's layout.
func controlPlanePolicies(core *api.Core5G) []*networkingv1.NetworkPolicy {
	if core.Fused() {
		return []*networkingv1.NetworkPolicy{ControlPlanePolicy(core)}
	}
	var out []*networkingv1.NetworkPolicy
	for _, component := range []string{"nrf", "amf", "smf", "pcf", "chf", "subscriber-data", "database"} {
		out = append(out, networkPolicy(core, component))
	}
	if core.OwnControlPlane() {
		out = append(out, N2TerminatorPolicy(core))
	}
	return out
}

// AdmitOperator has a core's policy let in the operator where that runs in another namespace than the core: a peer
// without a namespace is a pod of the policy's own.
func (p Platform) AdmitOperator(policy *networkingv1.NetworkPolicy) {
	if p.OperatorNamespace == "" || p.OperatorNamespace == policy.Namespace {
		return
	}
	for _, rule := range policy.Spec.Ingress {
		for i := range rule.From {
			peer := &rule.From[i]
			if peer.NamespaceSelector == nil && peer.PodSelector != nil && peer.PodSelector.MatchLabels[api.LabelComponent] == componentOperator {
				peer.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: p.OperatorNamespace}}
			}
		}
	}
}

// SessionStorePolicy is that of the embedded session store.
func SessionStorePolicy(core *api.Core5G) *networkingv1.NetworkPolicy {
	return networkPolicy(core, string(api.FunctionSessionStore))
}

func networkPolicy(core *api.Core5G, component string) *networkingv1.NetworkPolicy {
	policy := &networkingv1.NetworkPolicy{
		TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: metav1.ObjectMeta{
			Name: NetworkPolicyName(core.Name, component), Namespace: core.Namespace, Labels: Labels(core.Name, component),
			OwnerReferences: []metav1.OwnerReference{ownedBy(core, "Core5G")},
		},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: *componentSelector(core, component),
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
		},
	}
	admit := func(from []networkingv1.NetworkPolicyPeer, ports ...networkingv1.NetworkPolicyPort) {
		policy.Spec.Ingress = append(policy.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{From: from, Ports: ports})
	}
	if component == string(api.FunctionSMF) && core.OwnControlPlane() {
		// Each shard has ports of its own at every pod, and pods pass on to each other what is another's.
		shards := int32(SMFSet{Core: core}.Shards())
		admit(components(core, append([]string{component}, sbiCallers[api.FunctionSMF]...)), policyPorts(corev1.ProtocolTCP, shardSBI+1, shardSBI+shards))
		admit(components(core, pfcpCallers[component]), policyPorts(corev1.ProtocolUDP, shardPFCP+1, shardPFCP+shards))
	}
	if callers := sbiCallers[api.FunctionName(component)]; callers != nil {
		if component == string(api.FunctionAMF) && core.OwnControlPlane() {
			callers = append([]string{component}, callers...) // workers pass on to each other what is another's
		}
		admit(components(core, callers), policyPort(corev1.ProtocolTCP, PortSBI))
	}
	if callers := pfcpCallers[component]; callers != nil {
		if component == componentUPF && core.Fused() {
			callers = append([]string{string(api.FunctionControlPlane)}, callers...)
		}
		admit(components(core, callers), policyPort(corev1.ProtocolUDP, PortPFCP))
	}
	switch component {
	case string(api.FunctionDatabase):
		admit(components(core, databaseCallers), policyPort(corev1.ProtocolTCP, PortDatabase))
		return policy
	case string(api.FunctionSessionStore):
		// The operator asks whether the store is as it must be.
		ports := []networkingv1.NetworkPolicyPort{policyPort(corev1.ProtocolTCP, PortSessionStore)}
		from := append(keepersOf(core), components(core, []string{"subscriber-data", componentOperator})...)
		if SessionStoreMembers(core) > 1 { // they follow, and watch, each other
			ports = append(ports, policyPort(corev1.ProtocolTCP, PortSentinel))
			from = append(from, components(core, []string{component})...)
		}
		admit(from, ports...)
		return policy
	case string(api.FunctionAMF):
		if !core.OwnControlPlane() {
			admit(nil, policyPort(n2Protocol(core), int(core.Spec.N2.Port)))
		}
	case string(api.FunctionControlPlane):
		admit(nil, policyPort(n2Protocol(core), int(core.Spec.N2.Port)))
		admit(components(core, []string{componentUPF}), policyPorts(corev1.ProtocolUDP, shardPFCP+1, shardPFCP+int32(SMFSet{Core: core}.Shards())))
	case ComponentN2:
		admit(nil, policyPort(n2Protocol(core), int(core.Spec.N2.Port)))
		admit(components(core, []string{string(api.FunctionAMF)}), policyPort(corev1.ProtocolTCP, PortN2Workers))
	}
	scrapers := metricsPeers(core)
	if component == ComponentN2 || component == componentUPF || core.OwnControlPlane() && (component == string(api.FunctionSMF) || component == string(api.FunctionControlPlane)) {
		// The operator counts sessions before it ends a unit, asks the SMF for its associations with UPFs that run elsewhere, and N2 terminators whether they are there.
		scrapers = append(scrapers, components(core, []string{componentOperator})...)
	}
	admit(scrapers, policyPort(corev1.ProtocolTCP, PortMetrics))
	return policy
}

// metricsPeers are those that may read metrics: what the core's specification says, or every Prometheus
// that carries the name its own operator gives it.
func metricsPeers(core *api.Core5G) []networkingv1.NetworkPolicyPeer {
	if from := core.Spec.NetworkPolicy.MetricsFrom; len(from) > 0 {
		return slices.Clone(from)
	}
	return []networkingv1.NetworkPolicyPeer{{
		NamespaceSelector: &metav1.LabelSelector{},
		PodSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{api.LabelName: "prometheus"}},
	}}
}

func componentSelector(core *api.Core5G, component string) *metav1.LabelSelector {
	labels := map[string]string{api.LabelName: "core5g", api.LabelComponent: component}
	if component != componentOperator {
		// The operator's instance is the release that installed it.
		labels[api.LabelInstance] = core.Name
	}
	return &metav1.LabelSelector{MatchLabels: labels}
}

func components(core *api.Core5G, names []string) []networkingv1.NetworkPolicyPeer {
	var out []networkingv1.NetworkPolicyPeer
	for _, name := range names {
		out = append(out, networkingv1.NetworkPolicyPeer{PodSelector: componentSelector(core, name)})
	}
	return out
}

func keepersOf(core *api.Core5G) []networkingv1.NetworkPolicyPeer {
	var out []networkingv1.NetworkPolicyPeer
	for _, label := range recordKeepers {
		out = append(out, networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{
			MatchLabels:      map[string]string{api.LabelName: "core5g", api.LabelInstance: core.Name},
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: label, Operator: metav1.LabelSelectorOpExists}},
		}})
	}
	return out
}

// policyPorts are those from the first to the last.
func policyPorts(protocol corev1.Protocol, first, last int32) networkingv1.NetworkPolicyPort {
	p := policyPort(protocol, int(first))
	p.EndPort = ptr.To(last)
	return p
}

func policyPort(protocol corev1.Protocol, number int) networkingv1.NetworkPolicyPort {
	return networkingv1.NetworkPolicyPort{Protocol: ptr.To(protocol), Port: ptr.To(intstr.FromInt(number))}
}
