package specs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// The SBI over https (TS 33.501 13.1). Each function has a certificate of its own in a Secret of type
// kubernetes.io/tls, made by the operator's own certification authority or by cert-manager; pods mount it
// and need not know which. The Secret's content is not part of what makes pods roll: the functions of this
// project read it anew when it changes.

// CertificateKind is cert-manager's. It is another project's and may be absent, hence unstructured.
var CertificateKind = schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}

// Times of certificates where a Core5G says nothing.
const (
	DefaultCertificateDuration = 90 * 24 * time.Hour
	// renewalPart of the duration is left when a certificate is renewed.
	renewalPart = 3
)

const (
	tlsVolume = "sbi-tls"
	// free5gcCertDir is relative to /free5gc, where the functions start.
	free5gcCertDir = "./cert"
	podIPEnv       = "POD_IP"
)

type nfTLS struct {
	PEM string `json:"pem"`
	Key string `json:"key"`
}

// AnnotationTLSBegan of a Core5G holds what its SBI began with where its spec does not say it: a TLSBeginning, in JSON. A change of the mode restarts the
// control plane, and one of the authority has functions refuse each other for a while: so a core keeps it, whatever becomes of the cluster, until its spec says
// something else. Who makes a core first writes it: the chart's job, or the operator.
const AnnotationTLSBegan = "core5g.dev/tls-began-with"

// TLSBeginning is how the SBI of a core is protected that does not say it.
type TLSBeginning struct {
	Mode      api.TLSMode      `json:"mode"`
	Authority api.TLSAuthority `json:"authority"`
}

// BeginTLS is that of a new core, as far as its spec does not say it: mutual TLS, but where a function runs from an image that its spec names, which has no
// certificate to show; and cert-manager's authority where the cluster has cert-manager.
func BeginTLS(core *api.Core5G, certManager bool) TLSBeginning {
	b := TLSBeginning{api.TLSMutual, api.TLSAuthorityOperator}
	for _, f := range core.Spec.Functions {
		switch f.Name {
		case api.FunctionAMF, api.FunctionSMF, api.FunctionNRF, api.FunctionPCF, api.FunctionCHF:
			if f.Image != "" {
				b.Mode = api.TLSServer
			}
		}
	}
	if certManager {
		b.Authority = api.TLSAuthorityCertManager
	}
	return TLSBeginning{cmp.Or(core.Spec.TLS.Mode, b.Mode), cmp.Or(core.Spec.TLS.Authority, b.Authority)}
}

// TLSBegan reads what a core began with; nothing, where it is one of before, which the annotation says nothing of.
func TLSBegan(core *api.Core5G) (b TLSBeginning, err error) {
	text := core.Annotations[AnnotationTLSBegan]
	if text == "" {
		return TLSBeginning{}, nil
	}
	if err := json.Unmarshal([]byte(text), &b); err != nil || !slices.Contains([]api.TLSMode{api.TLSDisabled, api.TLSServer, api.TLSMutual}, b.Mode) ||
		!slices.Contains([]api.TLSAuthority{api.TLSAuthorityOperator, api.TLSAuthorityCertManager}, b.Authority) {
		return TLSBeginning{}, fmt.Errorf(`annotation %s is %q, and not what it was made as, {"mode": "Mutual", "authority": "Operator"} for example: write spec.tls.mode and authority, and remove it`,
			AnnotationTLSBegan, text)
	}
	return b, nil
}

// TLSIsOpen tells whether nobody has said yet how the SBI of a core is protected, and who signs: it is new, and its operator is about to write down what it
// begins with.
func TLSIsOpen(core *api.Core5G) bool {
	tls := core.Spec.TLS
	return core.Annotations[AnnotationTLSBegan] == "" && CoreIsNew(core) &&
		(tls.Mode == "" || tls.Mode != api.TLSDisabled && tls.Authority == "" && tls.IssuerRef == nil)
}

// CoreIsNew tells whether no operator has looked at a core yet.
func CoreIsNew(core *api.Core5G) bool {
	return core.Status.ObservedGeneration == 0 && len(core.Status.Conditions) == 0
}

// TLSProblem says why functions of the core cannot be made: it is not known whether they speak https.
func TLSProblem(core *api.Core5G) *Problem {
	if TLSIsOpen(core) {
		return &Problem{api.ReasonProgressing, "Core5G " + core.Name + " has just been made"}
	}
	if _, err := TLSBegan(core); err != nil && core.Spec.TLS.Mode == "" {
		return &Problem{api.ReasonMalformed, err.Error()}
	}
	return nil
}

// tlsOf completes spec.tls of a core by what it began with, and by what one of before has.
func tlsOf(core *api.Core5G) TLSBeginning {
	began, _ := TLSBegan(core) // one that cannot be read is said by condition ConfigurationValid
	return TLSBeginning{
		Mode:      cmp.Or(core.Spec.TLS.Mode, began.Mode, api.TLSDisabled),
		Authority: cmp.Or(core.Spec.TLS.Authority, began.Authority, api.TLSAuthorityOperator),
	}
}

// SBIOverTLS tells whether the functions of the core speak https.
func SBIOverTLS(core *api.Core5G) bool {
	return core != nil && tlsOf(core).Mode != api.TLSDisabled
}

func sbiScheme(core *api.Core5G) string {
	if SBIOverTLS(core) {
		return "https"
	}
	return "http"
}

// SBIURL is where the operator itself finds a Service of the core.
func SBIURL(core *api.Core5G, service string) string {
	return fmt.Sprintf("%s://%s.%s.svc:%d", sbiScheme(core), service, core.Namespace, PortSBI)
}

func sbiURL(core *api.Core5G, host string) string {
	return fmt.Sprintf("%s://%s:%d", sbiScheme(core), host, PortSBI)
}

func sbi(core *api.Core5G, service string) nfSBI {
	s := nfSBI{Scheme: sbiScheme(core), RegisterIPv4: service, BindingIPv4: "0.0.0.0", Port: PortSBI}
	if SBIOverTLS(core) {
		// One address: the function itself goes to the loopback interface, behind what speaks TLS.
		s.BindingIPv4 = podIPEnv
		files := &nfTLS{PEM: free5gcCertDir + "/tls.crt", Key: free5gcCertDir + "/tls.key"}
		s.TLS = files
	}
	return s
}

// CertificateRequest is the certificate that a function needs.
type CertificateRequest struct {
	// Secret that holds it, and name of cert-manager's Certificate.
	Secret    string
	Namespace string
	Labels    map[string]string
	Owner     metav1.OwnerReference
	// DNSNames are those that peers call the function by.
	DNSNames []string
	// Duration that it is valid for, and how long before the end it is renewed.
	Duration, RenewBefore time.Duration
}

// CertificateName names the Secret with the certificate of a Deployment or Service.
func CertificateName(object string) string { return object + "-tls" }

// AuthorityName names the Secret with the core's own certification authority.
func AuthorityName(core string) string { return core + "-ca" }

// OperatorCertificateName names the Secret with which the operator calls the core's NRF and SMFs.
func OperatorCertificateName(core string) string { return CertificateName(core + "-operator") }

func certificateRequest(core *api.Core5G, object string, labels map[string]string, owner metav1.OwnerReference, services ...string) CertificateRequest {
	r := CertificateRequest{
		Secret: CertificateName(object), Namespace: core.Namespace, Labels: labels, Owner: owner,
		Duration: DefaultCertificateDuration,
	}
	for _, s := range services {
		r.DNSNames = append(r.DNSNames, s, s+"."+core.Namespace+".svc")
	}
	if d := core.Spec.TLS.Duration; d != nil {
		r.Duration = d.Duration
	}
	r.RenewBefore = r.Duration / renewalPart
	if d := core.Spec.TLS.RenewBefore; d != nil {
		r.RenewBefore = d.Duration
	}
	return r
}

// CoreCertificates are those of the functions that a core has one of, and the operator's.
func CoreCertificates(core *api.Core5G) []CertificateRequest {
	var out []CertificateRequest
	owner := ownedBy(core, "Core5G")
	for _, fn := range []api.FunctionName{api.FunctionNRF, api.FunctionPCF, api.FunctionCHF, api.FunctionAMF, api.FunctionSubscriberData} {
		object := FunctionObjectName(core.Name, fn)
		services := []string{object}
		if fn == api.FunctionSubscriberData {
			for _, nf := range subscriberDataServices {
				services = append(services, core.Name+"-"+nf)
			}
		}
		out = append(out, certificateRequest(core, object, Labels(core.Name, string(fn)), owner, services...))
	}
	if core.OwnControlPlane() {
		out = append(out, SMFSet{Core: core}.Certificate(), N2TerminatorCertificate(core))
	}
	return append(out, certificateRequest(core, core.Name+"-operator", Labels(core.Name, componentOperator), owner, core.Name+"-operator"))
}

// SMFCertificate is that of a Slice's SMF.
func SMFCertificate(core *api.Core5G, slice *api.Slice) CertificateRequest {
	if core.OwnControlPlane() && slice.Spec.SessionManagement == api.SessionManagementDedicated {
		return SMFSetOf(core, slice).Certificate()
	}
	w := smfWorkload(core, slice, Platform{})
	return certificateRequest(core, w.object, w.labels, w.owner, w.object)
}

// Certificate has cert-manager make the certificate.
func Certificate(issuer *api.IssuerReference, r CertificateRequest) *unstructured.Unstructured {
	names := make([]any, len(r.DNSNames))
	for i, n := range r.DNSNames {
		names[i] = n
	}
	return certManagerObject(CertificateKind, r.Secret, r.Namespace, r.Labels, r.Owner, map[string]any{
		"secretName":     r.Secret,
		"secretTemplate": map[string]any{"labels": asAny(r.Labels)},
		"dnsNames":       names,
		"duration":       r.Duration.String(),
		"renewBefore":    r.RenewBefore.String(),
		"usages":         []any{"digital signature", "server auth", "client auth"},
		"privateKey":     map[string]any{"algorithm": "ECDSA", "size": int64(256), "rotationPolicy": "Always"},
		"issuerRef":      issuerReference(issuer),
	})
}

// overTLS mounts the certificate into the pod at the path.
func (w workload) overTLS(path string) workload {
	if !SBIOverTLS(w.core) {
		return w
	}
	w.tlsPath = path
	w.env = append(w.env,
		corev1.EnvVar{Name: podIPEnv, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}},
		corev1.EnvVar{Name: "SBI_TLS_DIR", Value: path},
		corev1.EnvVar{Name: "SBI_CLIENT_CERTIFICATES", Value: clientCertificates(w.core)},
	)
	return w
}

func clientCertificates(core *api.Core5G) string {
	if tlsOf(core).Mode == api.TLSServer {
		return "optional"
	}
	return "required"
}

func (w workload) tlsMount() (corev1.Volume, corev1.VolumeMount) {
	return corev1.Volume{Name: tlsVolume, VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: CertificateName(w.object), DefaultMode: ptr.To[int32](0o440)},
		}},
		corev1.VolumeMount{Name: tlsVolume, MountPath: w.tlsPath, ReadOnly: true}
}
