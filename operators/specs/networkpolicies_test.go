package specs

import (
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"k8s.io/utils/ptr"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// caller is a pod that opens connections.
type caller struct {
	labels    map[string]string
	namespace string
}

func pod(core, component string) caller {
	return caller{namespace: "core5g", labels: Labels(core, component)}
}

// admitted reads the policies as an enforcer does: a pod that none selects is open, any other takes what
// one rule of one policy lets in.
func admitted(t *testing.T, policies []*networkingv1.NetworkPolicy, from caller, to map[string]string, protocol corev1.Protocol, port int) bool {
	t.Helper()
	selected := false
	for _, p := range policies {
		if !matches(t, &p.Spec.PodSelector, to) {
			continue
		}
		selected = true
		for _, rule := range p.Spec.Ingress {
			onPort := slices.ContainsFunc(rule.Ports, func(q networkingv1.NetworkPolicyPort) bool {
				return *q.Protocol == protocol && q.Port.IntValue() <= port && port <= int(ptr.Deref(q.EndPort, q.Port.IntVal))
			})
			fromPeer := len(rule.From) == 0 || slices.ContainsFunc(rule.From, func(peer networkingv1.NetworkPolicyPeer) bool {
				if peer.NamespaceSelector == nil && from.namespace != p.Namespace {
					return false
				}
				if peer.NamespaceSelector != nil && !matches(t, peer.NamespaceSelector, map[string]string{corev1.LabelMetadataName: from.namespace}) {
					return false
				}
				return matches(t, peer.PodSelector, from.labels)
			})
			if onPort && fromPeer {
				return true
			}
		}
	}
	return !selected
}

func matches(t *testing.T, s *metav1.LabelSelector, have map[string]string) bool {
	t.Helper()
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		t.Fatal(err)
	}
	return selector.Matches(labels.Set(have))
}

func TestNetworkPoliciesAdmitWhoNeedsIt(t *testing.T) {
	core := makeCore()
	core.Spec.SessionStore = &api.SessionStoreSpec{}
	policies := NetworkPolicies(core)
	foreign := caller{namespace: "core5g", labels: map[string]string{"app": "curious"}}
	prometheus := caller{namespace: "monitoring", labels: map[string]string{api.LabelName: "prometheus"}}
	operator := caller{namespace: "core5g", labels: map[string]string{api.LabelName: "core5g", api.LabelInstance: "any-release", api.LabelComponent: "operator"}}
	const tcp, udp, sctp = corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP
	for sentence, c := range map[string]struct {
		from     caller
		to       string
		protocol corev1.Protocol
		port     int
		want     bool
	}{
		"the AMF makes SM contexts":                            {pod("core5g", "amf"), "smf", tcp, PortSBI, true},
		"the SMF has the AMF page":                             {pod("core5g", "smf"), "amf", tcp, PortSBI, true},
		"every function registers":                             {pod("core5g", "chf"), "nrf", tcp, PortSBI, true},
		"the operator asks the NRF":                            {operator, "nrf", tcp, PortSBI, true},
		"the operator uses the SMF's user-plane API":           {operator, "smf", tcp, PortSBI, true},
		"the AMF has nothing to say to the CHF":                {pod("core5g", "amf"), "chf", tcp, PortSBI, false},
		"the UPF has nothing to say on the SBI":                {pod("core5g", "upf"), "smf", tcp, PortSBI, false},
		"an AMF of another core is a stranger":                 {pod("other", "amf"), "smf", tcp, PortSBI, false},
		"a stranger does not reach the NRF":                    {foreign, "nrf", tcp, PortSBI, false},
		"a stranger does not reach subscriber data":            {foreign, "subscriber-data", tcp, PortSBI, false},
		"the SMF speaks PFCP to the UPF":                       {pod("core5g", "smf"), "upf", udp, PortPFCP, true},
		"the UPF reports to the SMF":                           {pod("core5g", "upf"), "smf", udp, PortPFCP, true},
		"the operator releases associations":                   {operator, "upf", udp, PortPFCP, true},
		"a stranger speaks no PFCP":                            {foreign, "upf", udp, PortPFCP, false},
		"the AMF speaks no PFCP":                               {pod("core5g", "amf"), "upf", udp, PortPFCP, false},
		"an SMF of another core does not reach this UPF":       {pod("other", "smf"), "upf", udp, PortPFCP, false},
		"the NRF reaches the database":                         {pod("core5g", "nrf"), "database", tcp, PortDatabase, true},
		"session management reaches the session store":         {caller{namespace: "core5g", labels: SMFSet{Core: core}.Labels()}, "session-store", tcp, PortSessionStore, true},
		"and so do the pods of a Slice of its own":             {caller{namespace: "core5g", labels: SMFSet{Core: core, Slice: makeSlice("internet", "010203", "10.45.0.0/16")}.Labels()}, "session-store", tcp, PortSessionStore, true},
		"free5GC's SMF has no business there":                  {pod("core5g", "smf"), "session-store", tcp, PortSessionStore, false},
		"the SMF has no business there":                        {pod("core5g", "smf"), "database", tcp, PortDatabase, false},
		"a stranger neither":                                   {foreign, "database", tcp, PortDatabase, false},
		"Prometheus reads metrics from its own namespace":      {prometheus, "upf", tcp, PortMetrics, true},
		"Prometheus gets nothing else":                         {prometheus, "nrf", tcp, PortSBI, false},
		"a stranger reads no metrics":                          {foreign, "upf", tcp, PortMetrics, false},
		"the operator counts sessions":                         {operator, "upf", tcp, PortMetrics, true},
		"a gNB reaches N2 from wherever":                       {caller{namespace: "elsewhere"}, "amf", sctp, 38412, true},
		"a gNB gets no further":                                {caller{namespace: "elsewhere"}, "amf", tcp, PortSBI, false},
		"the probes' port is for the node, not for other pods": {foreign, "subscriber-data", tcp, PortHealth, false},
	} {
		if got := admitted(t, policies, c.from, Labels("core5g", c.to), c.protocol, c.port); got != c.want {
			t.Errorf("%s: admitted %v, want %v", sentence, got, c.want)
		}
	}

	core.Spec.NetworkPolicy.MetricsFrom = []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "curious"}}}}
	policies = NetworkPolicies(core)
	if !admitted(t, policies, foreign, Labels("core5g", "upf"), tcp, PortMetrics) || admitted(t, policies, prometheus, Labels("core5g", "upf"), tcp, PortMetrics) {
		t.Error("metricsFrom does not replace the default peers")
	}
}

// core5g's own AMF: gNBs reach the terminators alone, workers these and each other.
func TestNetworkPoliciesOfTheOwnAMF(t *testing.T) {
	core := makeOwnCore()
	policies := NetworkPolicies(core)
	worker := caller{namespace: "core5g", labels: WorkerLabels(core)}
	gnb, smf := caller{namespace: "elsewhere"}, caller{namespace: "core5g", labels: SMFSet{Core: core}.Labels()}
	terminator := pod("core5g", ComponentN2)
	for sentence, c := range map[string]struct {
		from, to caller
		protocol corev1.Protocol
		port     int
		want     bool
	}{
		"a gNB reaches N2 from wherever":        {gnb, terminator, corev1.ProtocolSCTP, 38412, true},
		"a gNB reaches no worker":               {gnb, worker, corev1.ProtocolSCTP, 38412, false},
		"a gNB is no worker":                    {gnb, terminator, corev1.ProtocolTCP, PortN2Workers, false},
		"a worker reaches the terminators":      {worker, terminator, corev1.ProtocolTCP, PortN2Workers, true},
		"another function does not":             {smf, terminator, corev1.ProtocolTCP, PortN2Workers, false},
		"a worker passes on to another":         {worker, worker, corev1.ProtocolTCP, PortSBI, true},
		"a worker keeps records":                {worker, pod("core5g", "session-store"), corev1.ProtocolTCP, PortSessionStore, true},
		"a terminator keeps none":               {terminator, pod("core5g", "session-store"), corev1.ProtocolTCP, PortSessionStore, false},
		"the SMF has the AMF page":              {smf, worker, corev1.ProtocolTCP, PortSBI, true},
		"a terminator has nothing to say there": {terminator, worker, corev1.ProtocolTCP, PortSBI, false},
		"a worker makes SM contexts":            {worker, smf, corev1.ProtocolTCP, shardSBI + 1, true},
	} {
		if got := admitted(t, policies, c.from, c.to.labels, c.protocol, c.port); got != c.want {
			t.Errorf("%s: admitted %v, want %v", sentence, got, c.want)
		}
	}
}

// The pod of the layout Fused is open to gNBs and units, and reaches the session store and units.
func TestNetworkPoliciesOfTheLayoutFused(t *testing.T) {
	core := makeFusedCore()
	policies := NetworkPolicies(core)
	plane := caller{namespace: "core5g", labels: ControlPlaneLabels(core)}
	unit := caller{namespace: "core5g", labels: Labels(core.Name, componentUPF)}
	gnb := caller{namespace: "elsewhere"}
	for sentence, c := range map[string]struct {
		from, to caller
		protocol corev1.Protocol
		port     int
		want     bool
	}{
		"a gNB comes":                          {gnb, plane, corev1.ProtocolSCTP, 38412, true},
		"a unit reports to the last shard":     {unit, plane, corev1.ProtocolUDP, shardPFCP + 2, true},
		"and to none behind it":                {unit, plane, corev1.ProtocolUDP, shardPFCP + 3, false},
		"nobody else speaks N4":                {gnb, plane, corev1.ProtocolUDP, shardPFCP + 1, false},
		"nobody calls it":                      {unit, plane, corev1.ProtocolTCP, PortSBI, false},
		"it makes sessions in a unit":          {plane, unit, corev1.ProtocolUDP, PortPFCP, true},
		"it keeps records":                     {plane, caller{namespace: "core5g", labels: Labels(core.Name, string(api.FunctionSessionStore))}, corev1.ProtocolTCP, PortSessionStore, true},
		"who has its component alone does not": {caller{namespace: "core5g", labels: Labels(core.Name, string(api.FunctionControlPlane))}, caller{namespace: "core5g", labels: Labels(core.Name, string(api.FunctionSessionStore))}, corev1.ProtocolTCP, PortSessionStore, false},
	} {
		if got := admitted(t, policies, c.from, c.to.labels, c.protocol, c.port); got != c.want {
			t.Errorf("%s: admitted %v, want %v", sentence, got, c.want)
		}
	}
}

// Every pod of a core that listens to anything must be selected by a policy: a new component without one
// would be open to all.
func TestEveryComponentHasANetworkPolicy(t *testing.T) {
	core := makeCore()
	core.Spec.SessionStore = &api.SessionStoreSpec{}
	policies := append(NetworkPolicies(core), N2TerminatorPolicy(core), ControlPlanePolicy(core))
	pods := map[string]map[string]string{}
	for _, p := range builtPods() {
		pods[p.name] = p.labels
	}
	for _, name := range slices.Sorted(maps.Keys(pods)) {
		if !slices.ContainsFunc(policies, func(p *networkingv1.NetworkPolicy) bool { return matches(t, &p.Spec.PodSelector, pods[name]) }) {
			t.Errorf("no NetworkPolicy selects the pod of %s", name)
		}
	}
}

func TestNetworkPoliciesAdmitAnOperatorOfAnotherNamespace(t *testing.T) {
	core := makeCore()
	labelled := map[string]string{api.LabelName: "core5g", api.LabelInstance: "any-release", api.LabelComponent: "operator"}
	for operatorAt, namespaces := range map[string]map[string]bool{
		"":             {core.Namespace: true, "operators": false},
		core.Namespace: {core.Namespace: true, "operators": false},
		"operators":    {core.Namespace: false, "operators": true, "elsewhere": false},
	} {
		policies := NetworkPolicies(core)
		for _, policy := range policies {
			Platform{OperatorNamespace: operatorAt}.AdmitOperator(policy)
		}
		for namespace, want := range namespaces {
			from := caller{namespace: namespace, labels: labelled}
			if got := admitted(t, policies, from, Labels(core.Name, "nrf"), corev1.ProtocolTCP, PortSBI); got != want {
				t.Errorf("with the operator in %q, one of %s reaches the NRF: %v, want %v", operatorAt, namespace, got, want)
			}
		}
		if amf := pod(core.Name, "amf"); !admitted(t, policies, amf, Labels(core.Name, "smf"), corev1.ProtocolTCP, PortSBI) {
			t.Errorf("with the operator in %q, the AMF does not reach the SMF", operatorAt)
		}
	}
}
