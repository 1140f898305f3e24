package specs

import (
	"encoding/json"
	"fmt"
	"strconv"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/upf/upfc/fencing"
)

// A unit with redundancy has two pods, its members, which are alike: who of them serves is written in the unit's Lease, by themselves
// (docs/adr/0020). Each finds the other by a Service of its own; the unit's N4 Service leads to the one that the operator has put a
// label on, because the Lease names it. Their stream has an authority of its own: nobody but the members of one UPFInstance has a
// certificate of it.

// Member tells the pods of a unit apart.
type Member string

// Members of a unit. Without redundancy there is MemberA alone.
const (
	MemberA Member = "a"
	MemberB Member = "b"
)

// Members in their order.
var Members = []Member{MemberA, MemberB}

// Other is the other one.
func (m Member) Other() Member {
	if m == MemberB {
		return MemberA
	}
	return MemberB
}

// Redundant reports whether units have a standby.
func Redundant(upf *api.UPFInstance) bool {
	return upf.Spec.Redundancy != nil && upf.Spec.Redundancy.Standbys > 0
}

// MemberName names the pod of a member.
func MemberName(upf string, unit int, member Member) string {
	if member == MemberB {
		return UnitName(upf, unit) + "-b"
	}
	return UnitName(upf, unit)
}

// LeaseName names the Lease that says who serves a unit.
func LeaseName(upf string, unit int) string { return UnitName(upf, unit) }

// StandbyServiceName names the Service in front of a member's end of the stream.
func StandbyServiceName(upf string, unit int, member Member) string {
	return UnitName(upf, unit) + "-sync-" + string(member)
}

// standbyObject names what all units of a UPFInstance share: ServiceAccount, Role, NetworkPolicy, and with a suffix its certificates.
func standbyObject(upf string) string { return upf + "-standby" }

// servingLabels select the pod that serves a unit.
func servingLabels(upf *api.UPFInstance, unit int) map[string]string {
	labels := unitLabels(upf, unit)
	if Redundant(upf) {
		labels = with(labels, api.LabelServing, "true")
	}
	return labels
}

// LeadToServing has the N4 Service of a unit lead to the pod that serves it, of several.
func LeadToServing(service *corev1.Service) {
	service.Spec.Selector = with(service.Spec.Selector, api.LabelServing, "true")
}

// StandbyService leads to a member, ready or not: a standby never is.
func StandbyService(upf *api.UPFInstance, unit int, member Member) *corev1.Service {
	labels := unitLabels(upf, unit)
	return namedService(upf.Namespace, StandbyServiceName(upf.Name, unit, member), labels, with(labels, api.LabelMember, string(member)),
		ownedBy(upf, "UPFInstance"), servicePort("standby", PortStandby, corev1.ProtocolTCP))
}

// UnitLease is the Lease of a unit that nobody serves; epoch is the last one that is known.
func UnitLease(upf *api.UPFInstance, unit int, epoch int64) *coordinationv1.Lease {
	lease := &coordinationv1.Lease{
		TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"},
		ObjectMeta: metav1.ObjectMeta{
			Name: LeaseName(upf.Name, unit), Namespace: upf.Namespace, Labels: unitLabels(upf, unit),
			OwnerReferences: []metav1.OwnerReference{ownedBy(upf, "UPFInstance")},
		},
	}
	SetUnitRecord(lease, fencing.Record{Epoch: uint64(epoch)})
	return lease
}

// UnitRecord reads who serves a unit from its Lease.
func UnitRecord(lease *coordinationv1.Lease) (fencing.Record, error) {
	var record fencing.Record
	if err := json.Unmarshal([]byte(lease.Annotations[fencing.RecordAnnotation]), &record); err != nil {
		return record, fmt.Errorf("Lease %s: annotation %s says not who serves the unit (%w): delete the Lease, and a new one is made", lease.Name, fencing.RecordAnnotation, err)
	}
	return record, nil
}

// SetUnitRecord writes it there.
func SetUnitRecord(lease *coordinationv1.Lease, record fencing.Record) {
	raw, err := json.Marshal(record)
	if err != nil {
		panic(err) // numbers and strings
	}
	metav1.SetMetaDataAnnotation(&lease.ObjectMeta, fencing.RecordAnnotation, string(raw))
}

// StandbyAccess lets the members of a UPFInstance's units read and change the Leases of these, and nothing else.
func StandbyAccess(upf *api.UPFInstance, units int) (*corev1.ServiceAccount, *rbacv1.Role, *rbacv1.RoleBinding) {
	about := metav1.ObjectMeta{
		Name: standbyObject(upf.Name), Namespace: upf.Namespace, Labels: upfLabels(upf),
		OwnerReferences: []metav1.OwnerReference{ownedBy(upf, "UPFInstance")},
	}
	account := &corev1.ServiceAccount{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: about,
		AutomountServiceAccountToken: ptr.To(false),
	}
	role := &rbacv1.Role{TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"}, ObjectMeta: *about.DeepCopy()}
	rule := rbacv1.PolicyRule{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "patch"}}
	for unit := range units {
		rule.ResourceNames = append(rule.ResourceNames, LeaseName(upf.Name, unit))
	}
	if units > 0 { // a rule without names would be one for all
		role.Rules = []rbacv1.PolicyRule{rule}
	}
	binding := &rbacv1.RoleBinding{
		TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"}, ObjectMeta: *about.DeepCopy(),
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account.Name, Namespace: upf.Namespace}},
	}
	return account, role, binding
}

// StandbyPolicy admits the members of a UPFInstance's units to each other, beside what its core's policies admit.
func StandbyPolicy(upf *api.UPFInstance) *networkingv1.NetworkPolicy {
	members := metav1.LabelSelector{
		MatchLabels:      UPFSelector(upf),
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: api.LabelMember, Operator: metav1.LabelSelectorOpExists}},
	}
	return &networkingv1.NetworkPolicy{
		TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: metav1.ObjectMeta{
			Name: standbyObject(upf.Name), Namespace: upf.Namespace, Labels: upfLabels(upf),
			OwnerReferences: []metav1.OwnerReference{ownedBy(upf, "UPFInstance")},
		},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: members,
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{{
				From:  []networkingv1.NetworkPolicyPeer{{PodSelector: members.DeepCopy()}},
				Ports: []networkingv1.NetworkPolicyPort{policyPort(corev1.ProtocolTCP, PortStandby)},
			}},
		},
	}
}

// StandbyAuthorityName names the Secret with the authority of a UPFInstance's members.
func StandbyAuthorityName(upf string) string { return standbyObject(upf) + "-ca" }

// StandbyCertificate is that of the members of a UPFInstance's units: one, for neither is called by a name of its own.
func StandbyCertificate(upf *api.UPFInstance) CertificateRequest {
	return CertificateRequest{
		Secret: CertificateName(standbyObject(upf.Name)), Namespace: upf.Namespace, Labels: upfLabels(upf), Owner: ownedBy(upf, "UPFInstance"),
		DNSNames: []string{standbyServer(upf)},
		Duration: DefaultCertificateDuration, RenewBefore: DefaultCertificateDuration / renewalPart,
	}
}

func standbyServer(upf *api.UPFInstance) string {
	return fmt.Sprintf("%s.%s.svc", standbyObject(upf.Name), upf.Namespace)
}

// upfcRedundancy of upf-c.yaml; the member's name is the pod's UID, which upf-c is told beside its file.
type upfcRedundancy struct {
	Unit        string    `json:"unit"`
	Listen      string    `json:"listen"`
	Peer        string    `json:"peer"`
	Certificate string    `json:"certificate"`
	Key         string    `json:"key"`
	Authority   string    `json:"authority"`
	ServerName  string    `json:"serverName"`
	Lease       upfcLease `json:"lease"`
}

type upfcLease struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

const standbyTLSDir = "/etc/core5g-standby"

func redundancyOf(upf *api.UPFInstance, unit int, member Member) *upfcRedundancy {
	if !Redundant(upf) {
		return nil
	}
	return &upfcRedundancy{
		Unit: UnitName(upf.Name, unit), Listen: fmt.Sprintf("0.0.0.0:%d", PortStandby),
		Peer:        fmt.Sprintf("%s.%s.svc:%d", StandbyServiceName(upf.Name, unit, member.Other()), upf.Namespace, PortStandby),
		Certificate: standbyTLSDir + "/tls.crt", Key: standbyTLSDir + "/tls.key", Authority: standbyTLSDir + "/ca.crt",
		ServerName: standbyServer(upf), Lease: upfcLease{Namespace: upf.Namespace, Name: LeaseName(upf.Name, unit)},
	}
}

// interfaceNumber counts the MAC addresses of members: those of standbys come behind those of the units.
func interfaceNumber(upf *api.UPFInstance, unit int, member Member) int {
	if member == MemberB {
		return Parts(upf) + unit
	}
	return unit
}

const (
	accountVolume = "api-access"
	accountDir    = "/var/run/secrets/kubernetes.io/serviceaccount"
	podUIDEnv     = "POD_UID"
)

// asMember makes a unit's pod that of a member: upf-c alone may speak to the API server and to the other member.
func asMember(upf *api.UPFInstance, pod *corev1.Pod, unit int, member Member) *corev1.Pod {
	pod.Name = MemberName(upf.Name, unit, member)
	pod.Labels = with(pod.Labels, api.LabelMember, string(member))
	pod.Annotations[annotationNetworks] = networksAnnotation(upf, interfaceNumber(upf, unit, member), nil)
	pod.Spec.ServiceAccountName = standbyObject(upf.Name)
	pod.Spec.Affinity = apart(unitLabels(upf, unit))
	pod.Spec.Volumes = append(pod.Spec.Volumes,
		corev1.Volume{Name: "standby-tls", VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: StandbyCertificate(upf).Secret, DefaultMode: ptr.To[int32](0o440)},
		}},
		corev1.Volume{Name: accountVolume, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			DefaultMode: ptr.To[int32](0o440),
			Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: ptr.To[int64](3607)}},
				{ConfigMap: &corev1.ConfigMapProjection{
					LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}, Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
				}},
			},
		}}})
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if c.Name != string(api.FunctionUPFC) {
			continue
		}
		c.Args = append(c.Args, "-member", "$("+podUIDEnv+")")
		c.Env = append(c.Env, fromField(podUIDEnv, "metadata.uid"))
		c.Ports = append(c.Ports, port("standby", PortStandby, corev1.ProtocolTCP))
		c.VolumeMounts = append(c.VolumeMounts,
			corev1.VolumeMount{Name: "standby-tls", MountPath: standbyTLSDir, ReadOnly: true},
			corev1.VolumeMount{Name: accountVolume, MountPath: accountDir, ReadOnly: true})
	}
	return pod
}

// IsMember reports whether the pod was made for a unit with redundancy: it serves by the unit's Lease alone.
func IsMember(pod *corev1.Pod) bool { return pod.Labels[api.LabelMember] != "" }

// UnitOfPod is the number of the unit that the pod is of, and which member; false where it is no unit's.
func UnitOfPod(upf *api.UPFInstance, pod *corev1.Pod) (unit int, member Member, is bool) {
	unit, err := strconv.Atoi(pod.Labels[api.LabelUnit])
	if err != nil || unit < 0 {
		return 0, "", false
	}
	for _, m := range Members {
		if pod.Name == MemberName(upf.Name, unit, m) {
			return unit, m, true
		}
	}
	return 0, "", false
}
