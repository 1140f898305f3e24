package metrics

import (
	"context"
	"crypto/x509"
	"encoding/pem"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

var (
	functionDesc = prometheus.NewDesc("core5g_function_ready",
		"1 where the pod of a network function is ready, else 0; slice is empty but for SMFs.",
		[]string{"namespace", "core", "function", "slice", "deployment"}, nil)
	sliceDesc = prometheus.NewDesc("core5g_slice_info",
		"1 for each Slice, with its S-NSSAI, the UPFInstance that it was given, and cp_node, its SMF's Node ID on N4, under which UPFs count.",
		[]string{"namespace", "slice", "snssai", "core", "upfinstance", "cp_node"}, nil)
	certificateDesc = prometheus.NewDesc("core5g_certificate_expiration_timestamp_seconds",
		"When the first certificate in a TLS Secret of the core ends.", []string{"namespace", "secret"}, nil)
)

// ownObjects selects what the operator has made.
func ownObjects() client.ListOption {
	return client.MatchingLabels{api.LabelManagedBy: api.ManagedBy}
}

func (c *collector) collectFunctions(ctx context.Context, ch chan<- prometheus.Metric) {
	var deployments appsv1.DeploymentList
	if c.reader.List(ctx, &deployments, ownObjects(), client.UnsafeDisableDeepCopy) != nil {
		return
	}
	for i := range deployments.Items {
		d := &deployments.Items[i]
		ready := 0.0
		if d.Status.ReadyReplicas > 0 {
			ready = 1
		}
		ch <- prometheus.MustNewConstMetric(functionDesc, prometheus.GaugeValue, ready,
			d.Namespace, d.Labels[api.LabelInstance], d.Labels[api.LabelComponent], d.Labels[api.LabelSlice], d.Name)
	}
}

func (c *collector) collectSlices(ctx context.Context, ch chan<- prometheus.Metric, slices []api.Slice) {
	var services corev1.ServiceList
	if c.reader.List(ctx, &services, ownObjects(), client.UnsafeDisableDeepCopy) != nil {
		return
	}
	addresses := map[types.NamespacedName]string{}
	for i := range services.Items {
		addresses[client.ObjectKeyFromObject(&services.Items[i])] = services.Items[i].Spec.ClusterIP
	}
	for i := range slices {
		s := &slices[i]
		upf := ""
		if s.Status.UPF != nil {
			upf = s.Status.UPF.Name
		}
		ch <- prometheus.MustNewConstMetric(sliceDesc, prometheus.GaugeValue, 1, s.Namespace, s.Name, s.Status.SNSSAI,
			s.Spec.CoreRef.NameOrDefault(), upf, addresses[types.NamespacedName{Namespace: s.Namespace, Name: s.Status.SMF}])
	}
}

// collectCertificates reads the certificates, not the keys beside them.
func (c *collector) collectCertificates(ctx context.Context, ch chan<- prometheus.Metric) {
	secrets := &metav1.PartialObjectMetadataList{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if c.reader.List(ctx, secrets, ownObjects()) != nil {
		return
	}
	for i := range secrets.Items {
		s := &corev1.Secret{}
		if c.reader.Get(ctx, client.ObjectKeyFromObject(&secrets.Items[i]), s) != nil || s.Type != corev1.SecretTypeTLS {
			continue
		}
		block, _ := pem.Decode(s.Data[corev1.TLSCertKey])
		if block == nil {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			continue
		}
		ch <- prometheus.MustNewConstMetric(certificateDesc, prometheus.GaugeValue, float64(certificate.NotAfter.Unix()), s.Namespace, s.Name)
	}
}
