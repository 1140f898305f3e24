package specs

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// userID that network functions run as.
const userID = 1000

// workload is one function that runs as a Deployment. Every function of free5GC's is one process with one identity at
// the NRF, hence one replica and strategy Recreate; core5g's own AMF, SMF and subscriber data are as many pods as are asked for.
type workload struct {
	core     *api.Core5G
	platform Platform
	function api.FunctionName
	// object is the name of the Deployment and of everything around it.
	object string
	owner  metav1.OwnerReference
	labels map[string]string

	command    []string
	args       []string
	workingDir string
	env        []corev1.EnvVar
	ports      []corev1.ContainerPort
	readiness  *corev1.Probe
	// liveness and startup are left out for programs that end by themselves when they are broken.
	liveness  *corev1.Probe
	resources corev1.ResourceRequirements
	grace     int64
	// serviceAccount is empty for pods that do not speak to the API server.
	serviceAccount string
	// waits are peers that must listen before the program starts, as tcp://host:port.
	waits []string
	// config is mounted read-only at configPath, file name to content.
	config       map[string]string
	configPath   string
	configSecret bool
	// hashed, where set, stands for config in what makes the pods roll.
	hashed map[string]string
	// scratch are writable paths, name to path.
	scratch map[string]string
	// tlsPath is where the SBI's certificate is mounted; empty for a function without one.
	tlsPath string
	// replicas of a function whose pods share the work; 0: it is one process with one identity.
	replicas int32
	// networks are what Multus is asked for, as its annotation has it.
	networks string
	// secrets of others that are mounted.
	secrets []mountedSecret
	// settled: what the pods know is in a volume, and they are soonest back where that is.
	settled bool
}

type mountedSecret struct{ volume, secret, path string }

func ownedBy(o metav1.Object, kind string) metav1.OwnerReference {
	return *metav1.NewControllerRef(o, api.GroupVersion.WithKind(kind))
}

// functionWorkload begins a function of the core.
func functionWorkload(core *api.Core5G, p Platform, fn api.FunctionName) workload {
	return workload{
		core:      core,
		platform:  p,
		function:  fn,
		object:    FunctionObjectName(core.Name, fn),
		owner:     ownedBy(core, "Core5G"),
		labels:    Labels(core.Name, string(fn)),
		grace:     10,
		resources: requests("20m", "64Mi", "512Mi"),
	}
}

// requests asks for little and allows bursts: on a node of two CPUs a UPF takes one whole CPU.
func requests(cpu, memory, memoryLimit string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse(cpu),
			corev1.ResourceMemory: resource.MustParse(memory),
		},
		Limits: corev1.ResourceList{
			corev1.ResourceMemory: resource.MustParse(memoryLimit),
		},
	}
}

func tcpProbe(port int) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:     corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(int32(port))}},
		PeriodSeconds:    2,
		TimeoutSeconds:   5,
		FailureThreshold: 3,
	}
}

func httpProbe(path string, port int, period int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:     corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(int32(port))}},
		PeriodSeconds:    period,
		TimeoutSeconds:   5,
		FailureThreshold: 3,
	}
}

func port(name string, number int32, protocol corev1.Protocol) corev1.ContainerPort {
	return corev1.ContainerPort{Name: name, ContainerPort: number, Protocol: protocol}
}

// restricted is the security context of Pod Security level "restricted".
func restricted() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false),
		ReadOnlyRootFilesystem:   ptr.To(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

func podSecurity(uid int64) *corev1.PodSecurityContext {
	return &corev1.PodSecurityContext{
		RunAsNonRoot:   ptr.To(true),
		RunAsUser:      ptr.To(uid),
		RunAsGroup:     ptr.To(uid),
		FSGroup:        ptr.To(uid),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

func (w workload) configName() string { return w.object + "-config" }

// configHash covers names and content of the mounted files, or what stands for them.
func (w workload) configHash() string {
	if w.hashed != nil {
		return Hash(w.hashed)
	}
	return Hash(w.config)
}

// configObject is the ConfigMap, or the Secret where the configuration holds credentials.
func (w workload) configObject() (*corev1.ConfigMap, *corev1.Secret) {
	meta := metav1.ObjectMeta{
		Name: w.configName(), Namespace: w.core.Namespace, Labels: w.labels,
		OwnerReferences: []metav1.OwnerReference{w.owner},
	}
	if w.configSecret {
		data := map[string][]byte{}
		for k, v := range w.config {
			data[k] = []byte(v)
		}
		return nil, &corev1.Secret{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: meta, Type: corev1.SecretTypeOpaque, Data: data,
		}
	}
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: meta, Data: w.config,
	}, nil
}

func (w workload) deployment() *appsv1.Deployment {
	container := corev1.Container{
		Name:            string(w.function),
		Image:           w.platform.Image(w.core, w.function),
		ImagePullPolicy: w.platform.pullPolicy(w.core),
		Command:         w.command,
		Args:            w.args,
		WorkingDir:      w.workingDir,
		Env:             w.env,
		Ports:           w.ports,
		ReadinessProbe:  w.readiness,
		LivenessProbe:   w.liveness,
		Resources:       w.resources,
		SecurityContext: restricted(),
	}
	override := ptr.Deref(Function(w.core, w.function), api.FunctionSpec{})
	if override.Resources != nil {
		container.Resources = *override.Resources
	}
	pod := corev1.PodSpec{
		AutomountServiceAccountToken:  ptr.To(w.serviceAccount != ""),
		ServiceAccountName:            w.serviceAccount,
		EnableServiceLinks:            ptr.To(false),
		TerminationGracePeriodSeconds: ptr.To(w.grace),
		SecurityContext:               podSecurity(userID),
		ImagePullSecrets:              pullSecrets(w.core),
	}
	annotations := map[string]string{}
	if w.networks != "" {
		annotations[annotationNetworks] = w.networks
	}
	if len(w.config) > 0 {
		annotations[AnnotationConfigHash] = w.configHash()
		source := corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: w.configName()},
		}}
		if w.configSecret {
			source = corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: w.configName()}}
		}
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "config", VolumeSource: source})
		container.VolumeMounts = append(container.VolumeMounts,
			corev1.VolumeMount{Name: "config", MountPath: w.configPath, ReadOnly: true})
	}
	for _, name := range slices.Sorted(maps.Keys(w.scratch)) {
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: ptr.To(resource.MustParse("256Mi"))},
		}})
		container.VolumeMounts = append(container.VolumeMounts,
			corev1.VolumeMount{Name: name, MountPath: w.scratch[name]})
	}
	if w.tlsPath != "" {
		volume, mount := w.tlsMount()
		pod.Volumes, container.VolumeMounts = append(pod.Volumes, volume), append(container.VolumeMounts, mount)
	}
	for _, s := range w.secrets {
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: s.volume, VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: s.secret, DefaultMode: ptr.To[int32](0o440)},
		}})
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: s.volume, MountPath: s.path, ReadOnly: true})
	}
	if len(w.waits) > 0 {
		pod.InitContainers = []corev1.Container{w.platform.waitContainer(w.core, w.waits)}
	}
	pod.Containers = []corev1.Container{container}
	replicas, strategy := int32(1), appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	if w.replicas > 0 {
		replicas = w.replicas
		strategy = appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{
			MaxUnavailable: ptr.To(intstr.FromInt32(0)), MaxSurge: ptr.To(intstr.FromInt32(1)),
		}}
		pod.Affinity = apart(w.labels)
	}
	placed(&pod, override, w.labels)
	if !w.settled {
		pod.Tolerations = withLeaves(pod.Tolerations)
	}
	return &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{
			Name: w.object, Namespace: w.core.Namespace, Labels: w.labels,
			OwnerReferences: []metav1.OwnerReference{w.owner},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas:             ptr.To(replicas),
			RevisionHistoryLimit: ptr.To[int32](2),
			Strategy:             strategy,
			Selector:             &metav1.LabelSelector{MatchLabels: w.labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: w.labels, Annotations: annotations},
				Spec:       pod,
			},
		},
	}
}

// placed says which nodes the pods may have, as the core does.
func placed(pod *corev1.PodSpec, f api.FunctionSpec, labels map[string]string) {
	pod.NodeSelector, pod.Tolerations, pod.PriorityClassName = maps.Clone(f.NodeSelector), f.Tolerations, f.PriorityClassName
	if f.Affinity != nil {
		affinity := f.Affinity.DeepCopy()
		if affinity.PodAntiAffinity == nil && pod.Affinity != nil {
			affinity.PodAntiAffinity = pod.Affinity.PodAntiAffinity
		}
		pod.Affinity = affinity
	}
	for _, c := range f.TopologySpreadConstraints {
		if c.LabelSelector == nil {
			c.LabelSelector = &metav1.LabelSelector{MatchLabels: labels}
		}
		pod.TopologySpreadConstraints = append(pod.TopologySpreadConstraints, c)
	}
}

// LeavesLostNode is how long a function's pod stays on a node of which nothing is heard, or that says that it is not ready: a tenth of what Kubernetes gives pods that
// say nothing of it. Kubernetes has waited for most of a minute before.
const LeavesLostNode = 30 * time.Second

// leaves are the taints of such a node.
var leaves = []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable}

// withLeaves has pods leave such a node, unless a core says when.
func withLeaves(tolerations []corev1.Toleration) []corev1.Toleration {
	out := slices.Clone(tolerations)
	for _, key := range leaves {
		taint := &corev1.Taint{Key: key, Effect: corev1.TaintEffectNoExecute}
		if !slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool { return t.ToleratesTaint(taint) }) {
			out = append(out, leaving(key))
		}
	}
	return out
}

func leaving(key string) corev1.Toleration {
	return corev1.Toleration{
		Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To(int64(LeavesLostNode / time.Second)),
	}
}

// keepLeaves takes from a template what an older operator has not given the live one.
func keepLeaves(want, have *corev1.PodSpec) {
	want.Tolerations = slices.DeleteFunc(slices.Clone(want.Tolerations), func(t corev1.Toleration) bool {
		return reflect.DeepEqual(t, leaving(t.Key)) && !slices.ContainsFunc(have.Tolerations, func(h corev1.Toleration) bool { return h.Key == t.Key })
	})
	if len(want.Tolerations) == 0 {
		want.Tolerations = nil
	}
}

// onNode binds a pod to the node that has its files, whatever else was said.
func onNode(pod *corev1.PodSpec, node string) {
	if pod.NodeSelector == nil {
		pod.NodeSelector = map[string]string{}
	}
	pod.NodeSelector[corev1.LabelHostname] = node
}

// apart has pods run on different nodes where there are some.
func apart(labels map[string]string) *corev1.Affinity {
	return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
		Weight: 100, PodAffinityTerm: corev1.PodAffinityTerm{LabelSelector: &metav1.LabelSelector{MatchLabels: labels}, TopologyKey: corev1.LabelHostname},
	}}}}
}

// waitContainer holds a pod back until its peers listen, so that no function crash-loops for want of
// one. It runs the operator's image, hence works with foreign network function images too.
func (p Platform) waitContainer(core *api.Core5G, peers []string) corev1.Container {
	return corev1.Container{
		Name:            "wait",
		Image:           p.OperatorImage,
		ImagePullPolicy: p.pullPolicy(core),
		Command:         append([]string{"/core5g-operator", "wait"}, peers...),
		SecurityContext: restricted(),
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("5m"), corev1.ResourceMemory: resource.MustParse("16Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")},
		},
	}
}

// KeepRunning gives a Deployment what it has in the cluster of the wait container's image, and not what an older operator did not
// give it, unless its function's image or configuration, or what it waits for, changes: a new operator alone
// replaces no network function.
func KeepRunning(wanted, live *appsv1.Deployment) {
	want, have := &wanted.Spec.Template, &live.Spec.Template
	if len(have.Spec.Containers) != len(want.Spec.Containers) || want.Spec.Containers[0].Image != have.Spec.Containers[0].Image ||
		want.Annotations[AnnotationConfigHash] != have.Annotations[AnnotationConfigHash] {
		return
	}
	keepLeaves(&want.Spec, &have.Spec)                    // of 0.2
	if !hasEnv(have.Spec.Containers[0], workersService) { // of 0.2
		c := &want.Spec.Containers[0]
		c.Env = slices.DeleteFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == workersService })
	}
	if len(want.Spec.InitContainers) != 1 || len(have.Spec.InitContainers) != 1 ||
		!slices.Equal(want.Spec.InitContainers[0].Command, have.Spec.InitContainers[0].Command) {
		return
	}
	want.Spec.InitContainers[0].Image = have.Spec.InitContainers[0].Image
	keepUnobserved(&want.Spec.Containers[0], &have.Spec.Containers[0])
}

func hasEnv(c corev1.Container, name string) bool {
	return slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == name })
}

// service in front of the workload. Peers learn its name from the NRF as soon as a function has
// registered, which is before the first readiness probe: not-ready addresses are published.
func (w workload) service(ports ...corev1.ServicePort) *corev1.Service {
	return namedService(w.core.Namespace, w.object, w.labels, w.labels, w.owner, ports...)
}

func namedService(namespace, name string, labels, selector map[string]string, owner metav1.OwnerReference, ports ...corev1.ServicePort) *corev1.Service {
	return &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: namespace, Labels: labels,
			OwnerReferences: []metav1.OwnerReference{owner},
		},
		Spec: corev1.ServiceSpec{
			Type:                     corev1.ServiceTypeClusterIP,
			Selector:                 selector,
			Ports:                    ports,
			PublishNotReadyAddresses: true,
		},
	}
}

func servicePort(name string, number int32, protocol corev1.Protocol) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Port: number, Protocol: protocol, TargetPort: intstr.FromInt32(number)}
}

// FunctionObjects is what one network function needs in the cluster, in the order of creation.
type FunctionObjects struct {
	Function   api.FunctionName
	ConfigMap  *corev1.ConfigMap
	Secret     *corev1.Secret
	Services   []*corev1.Service
	Deployment *appsv1.Deployment
	// Budget is nil for a function of one pod.
	Budget *policyv1.PodDisruptionBudget
}

func (w workload) objects(services ...*corev1.Service) FunctionObjects {
	o := FunctionObjects{Function: w.function, Services: services, Deployment: w.deployment()}
	if len(w.config) > 0 {
		o.ConfigMap, o.Secret = w.configObject()
	}
	return o
}

func waitFor(host string, port int) string { return fmt.Sprintf("tcp://%s:%d", host, port) }
