package specs

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// What the functions of core5g's own have in common that run as several pods: what they know is in the session store.

// protected mounts the certificate of the SBI, where there is one. The program takes addresses from elsewhere.
func (w workload) protected() workload {
	if SBIOverTLS(w.core) {
		w.tlsPath = "/etc/core5g/tls"
		w.env = append(w.env, corev1.EnvVar{Name: "SBI_TLS_DIR", Value: w.tlsPath}, corev1.EnvVar{Name: "SBI_CLIENT_CERTIFICATES", Value: clientCertificates(w.core)})
	}
	return w
}

// keepsRecords mounts what leads to the session store.
func (w workload) keepsRecords() workload {
	w.env = append(w.env,
		corev1.EnvVar{Name: "SESSION_STORE_DIR", Value: sessionStoreDir}, corev1.EnvVar{Name: "SESSION_STORE_KEYS_DIR", Value: sessionStoreKeysDir},
		corev1.EnvVar{Name: "SESSION_STORE_PREFIX", Value: SessionStorePrefix(w.core)},
	)
	if n := SessionStoreMembers(w.core); n > 1 { // addresses are read once, when a pod starts
		w.env = append(w.env, corev1.EnvVar{Name: "SESSION_STORE_MEMBERS", Value: fmt.Sprint(n)})
	}
	w.secrets = []mountedSecret{
		{"session-store", SessionStoreSecretName(w.core), sessionStoreDir}, {"session-store-keys", SessionStoreKeysName(w.core.Name), sessionStoreKeysDir},
	}
	return w
}

// budget lets one pod go at a time; also the only one, for a node that is drained must not wait for ever.
func (w workload) budget() *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: metav1.ObjectMeta{
			Name: w.object, Namespace: w.core.Namespace, Labels: w.labels, OwnerReferences: []metav1.OwnerReference{w.owner},
		},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable:             ptr.To(intstr.FromInt32(1)),
			Selector:                   &metav1.LabelSelector{MatchLabels: w.labels},
			UnhealthyPodEvictionPolicy: ptr.To(policyv1.AlwaysAllow),
		},
	}
}
