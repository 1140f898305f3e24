package specs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

const (
	upfConfigDir = "/etc/core5g"
	upfRunDir    = "/run/upf"
	upfSocket    = upfRunDir + "/upf.sock"
)

// upfuConfig is upf-u.yaml.
type upfuConfig struct {
	Workers    int32          `json:"workers,omitempty"`
	Memory     int64          `json:"memory"`
	Socket     string         `json:"socket"`
	Interfaces map[string]any `json:"interfaces"` // an upfuInterface, or of n6 a list by network instance
	Routes     []upfuRoute    `json:"routes,omitempty"`
	UEToUE     string         `json:"ue_to_ue"`
	Redundancy bool           `json:"redundancy,omitempty"`
	Limits     *upfuLimits    `json:"limits,omitempty"`
}

type upfuInterface struct {
	NetworkInstance string    `json:"network_instance,omitempty"`
	Driver          string    `json:"driver,omitempty"`
	Device          string    `json:"device,omitempty"`
	Resource        string    `json:"resource,omitempty"`
	Addresses       string    `json:"addresses,omitempty"`
	Address         string    `json:"address,omitempty"`
	Address6        string    `json:"address6,omitempty"`
	PrefixLength    int       `json:"prefix_length,omitempty"`
	Gateway         routers   `json:"gateway,omitempty"`
	Gateway6        routers   `json:"gateway6,omitempty"`
	MTU             int32     `json:"mtu"`
	VLAN            int32     `json:"vlan,omitempty"`
	NAT44           *upfuNAT  `json:"nat44,omitempty"`
	Ethernet        *struct{} `json:"ethernet,omitempty"` // a bridge with the bounds that upf-u has of itself
}

// routers are gateways of one IP version. One is written as it always was, so that no unit restarts for it.
type routers []string

// MarshalJSON implements json.Marshaler.
func (r routers) MarshalJSON() ([]byte, error) {
	if len(r) == 1 {
		return json.Marshal(r[0])
	}
	return json.Marshal([]string(r))
}

// routersOf a gateway and the second one, where there are such.
func routersOf(gateways ...*api.IPAddress) (out routers) {
	for _, g := range gateways {
		if g != nil {
			out = append(out, string(*g))
		}
	}
	return out
}

type upfuRoute struct {
	Interface       string `json:"interface"`
	NetworkInstance string `json:"network_instance,omitempty"`
	Prefix          string `json:"prefix"`
	Via             string `json:"via"`
}

// upfcConfig is upf-c.yaml.
type upfcConfig struct {
	NodeID    string        `json:"nodeID"`
	PFCP      upfcPFCP      `json:"pfcp"`
	Dataplane upfcDataplane `json:"dataplane"`
	N3        upfcN3        `json:"n3"`
	// NamedPools: core5g's own SMF says with each session which pool the address is of.
	NamedPools      bool                 `json:"namedPools,omitempty"`
	PredefinedRules []upfcPredefinedRule `json:"predefinedRules,omitempty"`
	Redundancy      *upfcRedundancy      `json:"redundancy,omitempty"`
	Metrics         upfcListen           `json:"metrics"`
	Health          upfcListen           `json:"health"`
	Log             upfcLog              `json:"log"`
}

type upfcPFCP struct {
	Listen    string `json:"listen"`
	Advertise string `json:"advertise"`
	// ControlPlaneSubnets are those of the SMFs.
	ControlPlaneSubnets []api.CIDR `json:"controlPlaneSubnets,omitempty"`
}

type upfcDataplane struct {
	Socket string `json:"socket"`
}

type upfcN3 struct {
	Endpoints []string `json:"endpoints"`
}

type upfcListen struct {
	Listen string `json:"listen"`
}

type upfcLog struct {
	Level  string `json:"level"`
	Format string `json:"format"`
}

// Unit is one UPF unit as it should be.
type Unit struct {
	Pod    *corev1.Pod
	Config *corev1.ConfigMap
	// TemplateHash covers everything that the unit is made from: image, resources, configuration.
	TemplateHash string
	// SpecHash covers what the user asked for: only a change of it restarts a running unit by itself.
	SpecHash string
}

func upfLabels(upf *api.UPFInstance) map[string]string {
	return with(Labels(upf.Spec.CoreRef.NameOrDefault(), "upf"), api.LabelUPF, upf.Name)
}

// UPFSelector selects the pods of a UPFInstance.
func UPFSelector(upf *api.UPFInstance) map[string]string {
	return map[string]string{api.LabelManagedBy: api.ManagedBy, api.LabelUPF: upf.Name}
}

func unitLabels(upf *api.UPFInstance, unit int) map[string]string {
	return with(upfLabels(upf), api.LabelUnit, strconv.Itoa(unit))
}

// N4Service builds the Service in front of a unit's PFCP. Its ClusterIP is the node identifier of the
// UPF: it stays when the pod is replaced, so that SMFs need not notice.
func N4Service(upf *api.UPFInstance, unit int) *corev1.Service {
	labels := unitLabels(upf, unit)
	return namedService(upf.Namespace, N4ServiceName(upf.Name, unit), labels, servingLabels(upf, unit), ownedBy(upf, "UPFInstance"),
		servicePort("pfcp", PortPFCP, corev1.ProtocolUDP),
		servicePort("metrics", PortMetrics, corev1.ProtocolTCP))
}

// N4OutsideService is the Service of a unit's PFCP for SMFs of other clusters; nil where none is asked for. The address that a load balancer gives it is
// the unit's Node ID then, which no other cluster has: ClusterIPs are alike everywhere.
func N4OutsideService(upf *api.UPFInstance, unit int) *corev1.Service {
	n4 := upf.Spec.N4
	if n4.ServiceType != corev1.ServiceTypeLoadBalancer {
		return nil
	}
	service := namedService(upf.Namespace, N4OutsideServiceName(upf.Name, unit), unitLabels(upf, unit), servingLabels(upf, unit), ownedBy(upf, "UPFInstance"),
		servicePort("pfcp", PortPFCP, corev1.ProtocolUDP))
	service.Annotations = n4.Annotations
	service.Spec.Type, service.Spec.LoadBalancerClass = n4.ServiceType, n4.LoadBalancerClass
	// Who may have an association is known by his address, and so is who takes one over.
	service.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	return service
}

// CPUs that UPF-U gets to itself.
func CPUs(upf *api.UPFInstance) int32 {
	if upf.Spec.CPUs != nil {
		return *upf.Spec.CPUs
	}
	if upf.Spec.Workers <= 1 {
		return 1
	}
	return upf.Spec.Workers + 1
}

// UPFUnit builds the pod and the configuration of a unit, of its member a where there is redundancy. The core may be nil where it does
// not exist (yet): a UPF needs none to run.
func UPFUnit(upf *api.UPFInstance, core *api.Core5G, p Platform, unit int, n4Address string) Unit {
	return UPFMember(upf, core, p, unit, MemberA, n4Address)
}

// UPFMember builds a member of a unit.
func UPFMember(upf *api.UPFInstance, core *api.Core5G, p Platform, unit int, member Member, n4Address string) Unit {
	files := map[string]string{
		"upf-u.yaml": toYAML(upfuConfigOf(upf, unit)),
		"upf-c.yaml": toYAML(upfcConfigOf(upf, core, unit, member, n4Address)),
	}
	pod := upfPod(upf, core, p, unit)
	if Redundant(upf) {
		pod = asMember(upf, pod, unit, member)
	}
	u := Unit{Pod: pod, SpecHash: upfSpecHash(upf, core, unit, n4Address)}
	u.TemplateHash = Hash(struct {
		Annotations map[string]string
		Spec        corev1.PodSpec
		Files       map[string]string
	}{pod.Annotations, pod.Spec, files})
	// The configuration has the hash in its name and never changes: a container that restarts within a
	// running pod reads what the pod was made from.
	config := pod.Name + "-" + u.TemplateHash
	for i := range pod.Spec.Volumes {
		if pod.Spec.Volumes[i].ConfigMap != nil {
			pod.Spec.Volumes[i].ConfigMap.Name = config
		}
	}
	pod.Annotations[AnnotationTemplateHash] = u.TemplateHash
	pod.Annotations[AnnotationSpecHash] = u.SpecHash
	u.Config = &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Name: config, Namespace: upf.Namespace, Labels: unitLabels(upf, unit),
			OwnerReferences: []metav1.OwnerReference{ownedBy(upf, "UPFInstance")},
		},
		Immutable: ptr.To(true),
		Data:      files,
	}
	return u
}

// upfSpecHash leaves out what does not change a unit, and takes in the N4 address, without which the
// SMFs would not find the unit, its addresses where there are several units, and whose SMF it has: when that
// changes, no session is left that a restart could end.
func upfSpecHash(upf *api.UPFInstance, core *api.Core5G, unit int, n4Address string) string {
	spec := upf.Spec.DeepCopy()
	spec.AdministrativeState = ""
	spec.Units, spec.MaxUnits, spec.Drain, spec.UpdateStrategy = nil, nil, nil, nil
	// What is left out is as good as its default written, and the default number of sessions is what units had before there was the field.
	amount, memory := hugepageAmount(upf), upfuMemory(upf)
	spec.Hugepages.Amount, spec.Memory = &amount, &memory
	if Sessions(upf) == api.DefaultSessions {
		spec.Sessions = 0
	}
	spec.N6.UnitAddresses = nil
	for i := range spec.NetworkInstances {
		spec.NetworkInstances[i].UnitAddresses = nil
	}
	if !Redundant(upf) {
		spec.Redundancy = nil
	}
	spec.N4.ServiceType, spec.N4.LoadBalancerClass, spec.N4.Annotations = "", nil, nil // they change the N4 address, or nothing
	if !Planned(upf) {
		spec.Placement = nil
	} else {
		// Who stays where he is need not be asked anew when only the next ones are meant.
		spec.Placement = &api.PlacementSpec{Policy: spec.Placement.Policy}
	}
	var addresses []string
	if Parts(upf) > 1 {
		addresses = []string{UnitN3Endpoints(upf, unit), UnitN6Address(upf, unit)}
		for _, n := range UnitNetworks(upf, unit) {
			addresses = append(addresses, n.Addresses...)
		}
		addresses = append(addresses, unitNATAddresses(upf, unit)...)
	}
	return Hash(struct {
		Spec      json.RawMessage
		N4Address string
		Addresses []string `json:",omitempty"`
		OwnSMF    bool     `json:",omitempty"`
	}{withFormerFields(spec), n4Address, addresses, ownSMF(core)})
}

// ownSMF reports whether units are those of an SMF of core5g's: that of their core, or where they have none, of a core in another cluster.
func ownSMF(core *api.Core5G) bool { return core == nil || core.OwnControlPlane() }

// withFormerFields is the spec with what 0.2 had in every one of them, and in the same place: no unit restarts because such a field has gone.
func withFormerFields(spec *api.UPFInstanceSpec) json.RawMessage {
	b, _ := json.Marshal(spec) // never fails
	b = bytes.Replace(b, []byte(`"driver":`), []byte(`"role":"Anchor","driver":`), 1)
	return bytes.Replace(bytes.Replace(b, []byte(`"n4":{`), []byte(`"n4":{"serviceType":"ClusterIP",`), 1), []byte(`"ClusterIP",}`), []byte(`"ClusterIP"}`), 1)
}

func upfuConfigOf(upf *api.UPFInstance, unit int) upfuConfig {
	spec := upf.Spec
	n3 := interfaceOf(upf, InterfaceN3)
	n3.Addresses = UnitN3Endpoints(upf, unit)
	if subnet, err := netip.ParsePrefix(string(spec.N3.Subnet)); err == nil {
		n3.PrefixLength = subnet.Bits()
	}
	n3.Gateway = routersOf(spec.N3.Gateway, spec.N3.SecondGateway)
	n6 := interfaceOf(upf, InterfaceN6)
	n6.Address, n6.Gateway = UnitN6Address(upf, unit), routersOf(&spec.N6.Gateway, spec.N6.SecondGateway)
	n6.NAT44 = natOf(upf, spec.N6.NAT44, unit)
	amount := hugepageAmount(upf)
	c := upfuConfig{
		Memory:     amount.Value() >> 20,
		Socket:     upfSocket,
		Interfaces: map[string]any{InterfaceN3: n3, InterfaceN6: n6},
		UEToUE:     strings.ToLower(string(spec.UEToUE)),
		Redundancy: Redundant(upf),
		Limits:     limitsOf(upf),
	}
	if spec.Workers > 1 {
		// One worker is the default, and then shares the CPU with the control thread.
		c.Workers = spec.Workers
	}
	if len(spec.NetworkInstances) > 0 {
		c.Interfaces[InterfaceN6] = networksOf(upf, n6, unit)
	}
	route := func(networkInstance string, routes []api.Route) {
		for _, r := range routes {
			c.Routes = append(c.Routes, upfuRoute{Interface: InterfaceN6, NetworkInstance: networkInstance, Prefix: string(r.Destination), Via: string(r.Via)})
		}
	}
	route("", spec.N6.Routes)
	for _, n := range spec.NetworkInstances {
		route(string(n.Name), n.Routes)
	}
	return c
}

// interfaceOf is an interface without its addresses. A virtual function is known by its resource alone,
// {cell} included: which one it is, the device plugin tells the container when it starts.
func interfaceOf(upf *api.UPFInstance, name string) upfuInterface {
	in := upfuInterface{Driver: driverName(upf.Spec.Driver), Device: name}
	for _, a := range attachmentsOf(upf) {
		if a.iface != name {
			continue
		}
		in.MTU, in.VLAN = a.mtu, a.upfuVLAN()
		if upf.Spec.Driver == api.DriverVFIO {
			in.Device, in.Resource = "", a.spec.ResourceName
		}
	}
	return in
}

func driverName(d api.UPFDriver) string {
	if d == api.DriverVFIO {
		return "vfio"
	}
	return "af_packet"
}

func upfcConfigOf(upf *api.UPFInstance, core *api.Core5G, unit int, member Member, n4Address string) upfcConfig {
	level := "info"
	if core != nil {
		level = logger(core).Level
	}
	return upfcConfig{
		NodeID: n4Address,
		PFCP: upfcPFCP{
			Listen: fmt.Sprintf("0.0.0.0:%d", PortPFCP), Advertise: n4Address,
			ControlPlaneSubnets: upf.Spec.N4.ControlPlaneSubnets,
		},
		Dataplane: upfcDataplane{Socket: upfSocket},
		N3:        upfcN3{Endpoints: []string{UnitN3Endpoints(upf, unit)}}, NamedPools: ownSMF(core), PredefinedRules: predefinedRules(upf),
		Redundancy: redundancyOf(upf, unit, member),
		Metrics:    upfcListen{Listen: fmt.Sprintf(":%d", PortMetrics)},
		Health:     upfcListen{Listen: fmt.Sprintf(":%d", PortHealth)},
		Log:        upfcLog{Level: level, Format: "json"},
	}
}

func pageSize(upf *api.UPFInstance) string {
	if upf.Spec.Hugepages.Size == "" {
		return "2Mi"
	}
	return upf.Spec.Hugepages.Size
}

// guaranteed makes requests and limits equal, which the kubelet's static CPU manager needs of every
// container of the pod.
func guaranteed(list corev1.ResourceList) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: list, Limits: list.DeepCopy()}
}

func upfuResources(upf *api.UPFInstance, core *api.Core5G) corev1.ResourceRequirements {
	size := pageSize(upf)
	list := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(int64(CPUs(upf)), resource.DecimalSI),
		corev1.ResourceMemory: upfuMemory(upf),
		corev1.ResourceName(corev1.ResourceHugePagesPrefix + size): hugepageAmount(upf),
	}
	for _, a := range attachmentsOf(upf) {
		if a.spec.ResourceName != "" {
			addDevice(list, a.spec.ResourceName)
		}
	}
	out := guaranteed(list)
	f := Function(core, api.FunctionUPFU)
	if f == nil || f.Resources == nil || Planned(upf) { // plans are made of whole CPUs
		return out
	}
	// What the UPFInstance says nothing of (hugepages, devices, memory) stays, unless it is written there too.
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		replaceResource(&out, f.Resources, name)
	}
	return out
}

// replaceResource takes request and limit of one resource from somewhere else, where either is written.
func replaceResource(of, from *corev1.ResourceRequirements, name corev1.ResourceName) {
	request, requested := from.Requests[name]
	limit, limited := from.Limits[name]
	if !requested && !limited {
		return
	}
	if delete(of.Requests, name); requested {
		of.Requests[name] = request
	}
	if delete(of.Limits, name); limited {
		of.Limits[name] = limit
	}
}

// wholeCPUs has Go run on as many CPUs at a time as the container's limit is, rounded up. By itself it takes two at least, and whatever becomes ready
// wakes a second thread: a quarter of what a session request costs, of a share that one thread uses up.
var wholeCPUs = corev1.EnvVar{Name: "GOMAXPROCS", ValueFrom: &corev1.EnvVarSource{
	ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu", Divisor: resource.MustParse("1")},
}}

func upfPod(upf *api.UPFInstance, core *api.Core5G, p Platform, unit int) *corev1.Pod {
	mounts := []corev1.VolumeMount{
		{Name: "config", MountPath: upfConfigDir, ReadOnly: true},
		{Name: "run", MountPath: upfRunDir},
	}
	upfu := corev1.Container{
		Name:            string(api.FunctionUPFU),
		Image:           p.Image(core, api.FunctionUPFU),
		ImagePullPolicy: p.pullPolicy(core),
		// The program itself must be the entry point: its file capabilities do not pass through a shell.
		Args:            []string{"-c", upfConfigDir + "/upf-u.yaml"},
		Resources:       upfuResources(upf, core),
		VolumeMounts:    mounts,
		SecurityContext: restricted(),
	}
	if upf.Spec.Driver != api.DriverVFIO {
		// NET_RAW opens the packet socket, NET_ADMIN sets the interface's flags at its start. SYS_NICE is
		// there because containerd's RuntimeDefault forbids set_mempolicy without it, which DPDK needs on
		// hugepages; the program does not carry it.
		upfu.SecurityContext.Capabilities.Add = []corev1.Capability{"NET_RAW", "NET_ADMIN", "SYS_NICE"}
	}
	upfcCPU, env := "100m", []corev1.EnvVar{wholeCPUs}
	if Redundant(upf) {
		upfcCPU, env = "500m", nil // a takeover reads all sessions in, by two threads, and packets wait for that
	}
	upfc := corev1.Container{
		Name:            string(api.FunctionUPFC),
		Image:           p.Image(core, api.FunctionUPFC),
		ImagePullPolicy: p.pullPolicy(core),
		Args:            []string{"-config", upfConfigDir + "/upf-c.yaml"},
		Ports: []corev1.ContainerPort{
			port("pfcp", PortPFCP, corev1.ProtocolUDP),
			port("metrics", PortMetrics, corev1.ProtocolTCP),
			port("health", PortHealth, corev1.ProtocolTCP),
		},
		Env: env,
		Resources: guaranteed(corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(upfcCPU), corev1.ResourceMemory: upfcNeed(upf).of(upf),
		}),
		VolumeMounts:    mounts,
		SecurityContext: restricted(),
		ReadinessProbe:  httpProbe("/readyz", PortHealth, 1),
		LivenessProbe:   httpProbe("/healthz", PortHealth, 10),
	}
	if f := Function(core, api.FunctionUPFC); f != nil && f.Resources != nil {
		upfc.Resources = *f.Resources
	}
	labels := unitLabels(upf, unit)
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: UnitName(upf.Name, unit), Namespace: upf.Namespace, Labels: labels,
			OwnerReferences: []metav1.OwnerReference{ownedBy(upf, "UPFInstance")},
			Annotations:     map[string]string{annotationNetworks: networksAnnotation(upf, unit, nil)},
		},
		Spec: corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyAlways,
			TerminationGracePeriodSeconds: ptr.To[int64](10),
			AutomountServiceAccountToken:  ptr.To(false),
			EnableServiceLinks:            ptr.To(false),
			SecurityContext:               podSecurity(userID),
			ImagePullSecrets:              pullSecrets(core),
			NodeSelector:                  upf.Spec.NodeSelector,
			Tolerations:                   upf.Spec.Tolerations,
			PriorityClassName:             upf.Spec.PriorityClassName,
			Containers:                    []corev1.Container{upfu, upfc},
			Volumes: []corev1.Volume{
				{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}},
				{Name: "run", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
					Medium: corev1.StorageMediumMemory, SizeLimit: ptr.To(volumeNeed(upf).of(upf)),
				}}},
			},
		},
	}
}
