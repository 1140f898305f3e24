package specs

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// subscriberDataServices are the functions that one program serves; each has a Service of its own, so
// that a site can take one of them over.
var subscriberDataServices = []string{"ausf", "udm", "udr", "nssf"}

// SubscriberData builds AUSF, UDM, UDR and NSSF: one program that serves them from Subscribers, Slices
// and Secrets. What it remembers lies in the session store, where there is one: then it may be several pods. Without it is one, in memory.
func SubscriberData(core *api.Core5G, p Platform) FunctionObjects {
	w := functionWorkload(core, p, api.FunctionSubscriberData)
	w.args = []string{
		"--core=" + core.Name,
		"--namespace=" + core.Namespace,
		"--nrf=" + sbiURL(core, FunctionObjectName(core.Name, api.FunctionNRF)),
		"--log-level=" + logger(core).Level,
	}
	if core.OwnControlPlane() { // which tells the UE; free5GC's forgets it without a word
		w.args = append(w.args, "--withdraw")
	}
	if SBIOverTLS(core) {
		for _, nf := range subscriberDataServices {
			w.args = append(w.args, "--"+nf+"="+sbiURL(core, core.Name+"-"+nf))
		}
		w = w.overTLS("/etc/core5g/tls")
	}
	if NeedsSessionStore(core) {
		w.env = append(w.env, fromField("POD_NAME", "metadata.name"))
		w = w.keepsRecords()
		w.replicas = ptr.Deref(core.Spec.SubscriberDataReplicas, 1)
	}
	w = w.knowsSubscribers()
	w.serviceAccount = p.subscriberDataAccount(core)
	w.scratch = map[string]string{"tmp": "/tmp"}
	w.ports = []corev1.ContainerPort{
		port("sbi", PortSBI, corev1.ProtocolTCP),
		port("metrics", PortMetrics, corev1.ProtocolTCP),
		port("health", PortHealth, corev1.ProtocolTCP),
	}
	w.readiness = httpProbe("/readyz", PortHealth, 2)
	w.liveness = httpProbe("/healthz", PortHealth, 20)
	w.resources = requests("20m", "48Mi", "512Mi")
	services := []*corev1.Service{w.service(
		servicePort("sbi", PortSBI, corev1.ProtocolTCP),
		servicePort("metrics", PortMetrics, corev1.ProtocolTCP),
	)}
	for _, nf := range subscriberDataServices {
		services = append(services, namedService(core.Namespace, core.Name+"-"+nf, w.labels, w.labels, w.owner,
			servicePort("sbi", PortSBI, corev1.ProtocolTCP)))
	}
	o := w.objects(services...)
	if w.replicas > 0 {
		o.Budget = w.budget()
		for _, s := range o.Services { // one that has not read the objects yet is no use where there are others
			s.Spec.PublishNotReadyAddresses = false
		}
	}
	return o
}

// subscriberDatabaseDir is where the Secret of the database of subscribers is mounted.
const subscriberDatabaseDir = "/etc/subscriber-database"

// SubscriberDatabaseSecretName names the Secret that leads to the database of subscribers, "" where the core has none.
func SubscriberDatabaseSecretName(core *api.Core5G) string {
	if core.Spec.SubscriberData != api.SubscriberDataPostgreSQL || core.Spec.SubscriberDatabase == nil {
		return ""
	}
	return core.Spec.SubscriberDatabase.SecretRef.Name
}

// knowsSubscribers mounts what leads to the database of subscribers, where there is one. The program reads it again when it changes.
func (w workload) knowsSubscribers() workload {
	if secret := SubscriberDatabaseSecretName(w.core); secret != "" {
		w.env = append(w.env, corev1.EnvVar{Name: "SUBSCRIBER_DATABASE_DIR", Value: subscriberDatabaseDir},
			corev1.EnvVar{Name: "SUBSCRIBER_DATABASE_CORE", Value: w.core.Namespace + "/" + w.core.Name})
		w.secrets = append(w.secrets, mountedSecret{"subscriber-database", secret, subscriberDatabaseDir})
	}
	return w
}
