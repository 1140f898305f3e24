package specs

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// core5g's own SMF is a set of equal pods that share shards by leases in the session store. To AMF and UPF each shard is an
// SMF: it has a Service, whose name it registers with and whose ClusterIP is its Node ID and F-SEID address on N4. Every
// pod listens for every shard, on a port of its own by the shard's number, and passes on what another pod holds: so the
// Services lead to all pods, and nothing has to change in them when a shard moves.

const (
	// shardSBI and shardPFCP are below the ports of shard 1: SBI 8001 to 8064, and PFCP 8806 to 8869.
	shardSBI, shardPFCP = PortSBI, PortPFCP
	defaultReplicas     = 2
	defaultShards       = 4

	sessionStoreDir     = "/etc/core5g/session-store"
	sessionStoreKeysDir = "/etc/core5g/session-store-keys"
)

// SMFSetOf is the set that serves a Slice.
func SMFSetOf(core *api.Core5G, slice *api.Slice) SMFSet {
	if slice.Spec.SessionManagement == api.SessionManagementDedicated {
		return SMFSet{Core: core, Slice: slice}
	}
	return SMFSet{Core: core}
}

// SMFSet says whose pods an SMF's are: the core's, with a nil Slice, or a Slice's with sessionManagement Dedicated.
type SMFSet struct {
	Core  *api.Core5G
	Slice *api.Slice
}

// SharedSMF is the value of LabelSessionManagement of the core's own set. That of a Slice's begins with "slice.".
const SharedSMF = "core"

// Object names the Deployment of the set. A Slice's own has another name than free5GC's SMF for it: both may be there
// while one takes the other's place.
func (s SMFSet) Object() string {
	if s.Slice != nil {
		return s.Core.Name + "-sm-" + s.Slice.Name
	}
	return FunctionObjectName(s.Core.Name, api.FunctionSMF)
}

// Deployment names that of the pods, which has the whole control plane in the layout Fused.
func (s SMFSet) Deployment() string {
	if s.fused() {
		return ControlPlaneName(s.Core)
	}
	return s.Object()
}

func (s SMFSet) fused() bool { return s.Slice == nil && s.Core.Fused() }

// Shards is how many there are. A Slice's own set has one, which any of its pods takes.
func (s SMFSet) Shards() int {
	if s.Slice != nil {
		return 1
	}
	if m := s.Core.Spec.SessionManagement; m != nil && m.Shards != nil {
		return int(*m.Shards)
	}
	return defaultShards
}

func (s SMFSet) replicas() int32 {
	if m := s.Core.Spec.SessionManagement; m != nil && m.Replicas != nil {
		return *m.Replicas
	}
	return defaultReplicas
}

// ShardServiceName names the Service of a shard, from 1. That of a Slice's only one is short enough for a Service.
func (s SMFSet) ShardServiceName(shard int) string {
	if s.Slice != nil {
		return s.Object()
	}
	return fmt.Sprintf("%s-shard-%d", s.Object(), shard)
}

// Labels of the set's pods, which select them.
func (s SMFSet) Labels() map[string]string {
	if s.fused() {
		return ControlPlaneLabels(s.Core)
	}
	of, labels := SharedSMF, Labels(s.Core.Name, string(api.FunctionSMF))
	if s.Slice != nil {
		of, labels = "slice."+s.Slice.Name, with(labels, api.LabelSlice, s.Slice.Name)
	}
	return with(labels, api.LabelSessionManagement, of)
}

func (s SMFSet) owner() metav1.OwnerReference {
	if s.Slice != nil {
		return ownedBy(s.Slice, "Slice")
	}
	return ownedBy(s.Core, "Core5G")
}

// Services of the shards, in their order. They come first: their ClusterIPs are part of what the pods are told.
func (s SMFSet) Services() []*corev1.Service {
	var out []*corev1.Service
	for shard := 1; shard <= s.Shards(); shard++ {
		service := namedService(s.Core.Namespace, s.ShardServiceName(shard), s.Labels(), s.Labels(), s.owner(),
			servicePort("sbi", PortSBI, corev1.ProtocolTCP), servicePort("pfcp", PortPFCP, corev1.ProtocolUDP))
		service.Spec.Ports[0].TargetPort = intstr.FromInt32(int32(shardSBI + shard))
		service.Spec.Ports[1].TargetPort = intstr.FromInt32(int32(shardPFCP + shard))
		out = append(out, service)
	}
	return out
}

// OutsideServiceName names the Service of a shard for UPFs that run elsewhere. That of a Slice's only one is short enough for a Service.
func (s SMFSet) OutsideServiceName(shard int) string {
	if s.Slice != nil {
		return s.Core.Name + "-n4-" + s.Slice.Name
	}
	return s.ShardServiceName(shard) + "-n4"
}

// OutsideServices of the shards, in their order, for UPFs that run elsewhere; none where these reach the others.
func (s SMFSet) OutsideServices() []*corev1.Service {
	m := s.Core.Spec.SessionManagement
	if m == nil || m.N4 == nil || m.N4.ServiceType != corev1.ServiceTypeLoadBalancer {
		return nil
	}
	var out []*corev1.Service
	for shard := 1; shard <= s.Shards(); shard++ {
		service := namedService(s.Core.Namespace, s.OutsideServiceName(shard), s.Labels(), s.Labels(), s.owner(), servicePort("pfcp", PortPFCP, corev1.ProtocolUDP))
		service.Annotations = m.N4.Annotations
		service.Spec.Type, service.Spec.LoadBalancerClass = m.N4.ServiceType, m.N4.LoadBalancerClass
		service.Spec.Ports[0].TargetPort = intstr.FromInt32(int32(shardPFCP + shard))
		// A UPF is known by the address that its reports come from, and so is who may report.
		service.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
		out = append(out, service)
	}
	return out
}

// BalancedAt is the address that a load balancer has given to a Service; "" for none yet.
func BalancedAt(s *corev1.Service) string {
	for _, in := range s.Status.LoadBalancer.Ingress {
		if _, err := netip.ParseAddr(in.IP); err == nil {
			return in.IP
		}
	}
	return ""
}

// Build makes the pods of the set. services are those of Services, as the API server has them, and outside those of OutsideServices: they
// are not part of what is made.
func (s SMFSet) Build(p Platform, services []*corev1.Service, outside ...*corev1.Service) FunctionObjects {
	w := functionWorkload(s.Core, p, api.FunctionSessionManagement)
	w.object, w.labels, w.owner = s.Object(), s.Labels(), s.owner()
	w.args = []string{"--core", s.Core.Name, "--namespace", s.Core.Namespace}
	if s.Slice != nil {
		w.args = append(w.args, "--slice", s.Slice.Name)
	}
	w.args = append(w.args, "--nrf", sbiURL(s.Core, FunctionObjectName(s.Core.Name, api.FunctionNRF)), "--log-level", logger(s.Core).Level)
	w.env = []corev1.EnvVar{
		fromField("POD_NAME", "metadata.name"), fromField(podIPEnv, "status.podIP"),
		{Name: "SHARDS", Value: shardList(services, outside)},
		{Name: metricsListen, Value: fmt.Sprintf(":%d", PortMetrics)}, {Name: "HEALTH_LISTEN", Value: fmt.Sprintf(":%d", PortHealth)},
	}
	w = w.keepsRecords().protected()
	w.serviceAccount = p.sessionManagementAccount(s.Core)
	w.ports = []corev1.ContainerPort{port(portNameMetrics, PortMetrics, corev1.ProtocolTCP), port("health", PortHealth, corev1.ProtocolTCP)}
	for i := range services {
		w.ports = append(w.ports, port(fmt.Sprintf("sbi-%d", i+1), int32(shardSBI+i+1), corev1.ProtocolTCP), port(fmt.Sprintf("pfcp-%d", i+1), int32(shardPFCP+i+1), corev1.ProtocolUDP))
	}
	w.readiness = httpProbe("/readyz", PortHealth, 2)
	w.liveness = httpProbe("/healthz", PortHealth, 20)
	w.resources = requests("50m", "128Mi", "2Gi")
	w.grace = 15 // its shards are given up, and their new holders found
	w.waits = []string{waitFor(FunctionObjectName(s.Core.Name, api.FunctionNRF), PortSBI)}
	w.replicas = s.replicas()
	o := w.objects()
	o.Budget = w.budget()
	return o
}

// shardList is each shard's Service and the ClusterIP of that, in the order of shards, and behind it where UPFs elsewhere reach it: nothing
// while its load balancer has given it no address.
func shardList(services, outside []*corev1.Service) string {
	var out []string
	for i, s := range services {
		at := s.Name + "=" + s.Spec.ClusterIP
		if i < len(outside) {
			at += "/" + BalancedAt(outside[i])
		}
		out = append(out, at)
	}
	return strings.Join(out, ",")
}

func fromField(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

// Certificate of the set: its pods are called by the names of all shards, whoever holds them.
func (s SMFSet) Certificate() CertificateRequest {
	names := []string{s.Object()}
	for shard := 1; shard <= s.Shards(); shard++ {
		if name := s.ShardServiceName(shard); name != s.Object() {
			names = append(names, name)
		}
	}
	return certificateRequest(s.Core, s.Object(), s.Labels(), s.owner(), names...)
}

// ControlPlaneSubnetsProblem says what keeps a unit from telling a shard's new holder from a stranger. Without subnets any
// address may take an association over, but only when who has it does not answer any more; with subnets that the SMF's pods
// are not of, nobody may. pods are those that are known, of any function of the core: their network cannot be asked for
// everywhere, and is not made up.
func ControlPlaneSubnetsProblem(upf *api.UPFInstance, core *api.Core5G, pods []netip.Addr) *Problem {
	if !core.OwnControlPlane() || upf.Spec.External != nil {
		return nil
	}
	if len(upf.Spec.N4.ControlPlaneSubnets) > 0 {
		for _, pod := range pods {
			if !within(pod, upf.Spec.N4.ControlPlaneSubnets) {
				return &Problem{api.ReasonNotSupported, fmt.Sprintf(
					"spec.n4.controlPlaneSubnets (%s) leave out %s, which a pod of the SMF has, so that it has no association with the UPF: write the network that your cluster gives pods their addresses from",
					joined(upf.Spec.N4.ControlPlaneSubnets), pod)}
			}
		}
		return nil
	}
	seen := ""
	if len(pods) > 0 {
		seen = fmt.Sprintf(", which holds %s", joined(pods))
	}
	return &Problem{api.ReasonNotSupported, fmt.Sprintf(
		"spec.n4.controlPlaneSubnets is empty, so a shard of the SMF that moves to another pod waits until the UPF has given its old one up: write the network that your cluster gives pods their addresses from%s (Core5G %s has controlPlane Core5G)", seen, core.Name)}
}

func within(a netip.Addr, subnets []api.CIDR) bool {
	return slices.ContainsFunc(subnets, func(cidr api.CIDR) bool {
		p, err := netip.ParsePrefix(string(cidr))
		return err == nil && p.Contains(a)
	})
}

func joined[T any](list []T) string {
	var out []string
	for _, x := range list {
		out = append(out, fmt.Sprint(x))
	}
	return strings.Join(out, ", ")
}
