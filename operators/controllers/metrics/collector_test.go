package metrics

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/cluster"
)

func TestMetricsSayWhatConditionsSay(t *testing.T) {
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	ready := func(s metav1.ConditionStatus, reason string) []metav1.Condition {
		return []metav1.Condition{{Type: api.ConditionReady, Status: s, Reason: reason}}
	}
	own := func(name, component, slice string) metav1.ObjectMeta {
		labels := map[string]string{api.LabelManagedBy: "core5g-operator", api.LabelInstance: "core5g", api.LabelComponent: component}
		if slice != "" {
			labels[api.LabelSlice] = slice
		}
		return metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: labels}
	}
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "ns", Name: name} }
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&api.Core5G{ObjectMeta: meta("core5g"), Status: api.Core5GStatus{Conditions: ready(metav1.ConditionTrue, "Ready")}},
		&api.Slice{ObjectMeta: meta("a"), Status: api.SliceStatus{
			Conditions: ready(metav1.ConditionFalse, "PoolOverlap"), SNSSAI: "1-010203", SMF: "core5g-smf-a", UPF: &api.SliceUPFStatus{Name: "upf"},
		}},
		&api.UPFInstance{ObjectMeta: meta("upf"), Status: api.UPFInstanceStatus{
			Conditions:   ready(metav1.ConditionUnknown, "Progressing"),
			Endpoints:    []api.EndpointAllocation{{Slice: "a", Address: "172.30.3.16"}},
			UnitStatuses: []api.UnitStatus{{Name: "upf-0", Rejections: 3, State: api.UnitReady, Node: "w1", Cell: ptr.To[int32](1)}, {Name: "upf-1", State: api.UnitUnplaced}},
			CellBackoffs: []api.CellBackoff{{Node: "w2", Cell: 0, Rejections: 2}},
		}},
		&api.UPFInstance{ObjectMeta: meta("edge"), Spec: api.UPFInstanceSpec{External: &api.ExternalSpec{N4: api.ExternalN4Spec{Address: "203.0.113.7", NodeID: "UPF.Edge.example.org"}}}},
		&api.Subscriber{ObjectMeta: meta("s1"), Status: api.SubscriberStatus{Conditions: ready(metav1.ConditionTrue, "Ready")}},
		&api.Subscriber{ObjectMeta: meta("s2"), Status: api.SubscriberStatus{Conditions: ready(metav1.ConditionTrue, "Ready")}},
		&api.Subscriber{ObjectMeta: meta("s3")},
		&api.DataplaneNode{ObjectMeta: metav1.ObjectMeta{Name: "w1"}, Status: api.DataplaneNodeStatus{
			ObservedAt: &metav1.Time{Time: time.Unix(1700000000, 0)},
			Cells: []api.NUMACell{{
				ID: 1, ExclusiveCPUs: api.CPUCount{Total: 10, Free: 4},
				Hugepages: []api.HugepagePool{{Size: "2Mi", Total: resource.MustParse("1Gi"), Free: resource.MustParse("512Mi")}},
				Interfaces: []api.NodeInterface{
					{Name: "p0", ResourceName: "core5g.dev/n3", VFs: api.VFCount{Total: 4, Free: 1}},
					{Name: "p1", ResourceName: "core5g.dev/n3", VFs: api.VFCount{Total: 4, Free: 2}},
					{Name: "eno1", VFs: api.VFCount{Total: 8, Free: 8}},
				},
			}},
		}},
		&appsv1.Deployment{ObjectMeta: own("core5g-amf", "amf", ""), Status: appsv1.DeploymentStatus{ReadyReplicas: 1}},
		&appsv1.Deployment{ObjectMeta: own("core5g-smf-a", "smf", "a")},
		&appsv1.Deployment{ObjectMeta: meta("somebody-elses")},
		&corev1.Service{ObjectMeta: own("core5g-smf-a", "smf", "a"), Spec: corev1.ServiceSpec{ClusterIP: "10.96.0.7"}},
		&corev1.Secret{ObjectMeta: own("core5g-amf-tls", "amf", ""), Type: corev1.SecretTypeTLS, Data: map[string][]byte{corev1.TLSCertKey: certificate(t, time.Unix(1800000000, 0))}},
		&corev1.Secret{ObjectMeta: own("unreadable", "amf", ""), Type: corev1.SecretTypeTLS, Data: map[string][]byte{corev1.TLSCertKey: []byte("no certificate")}},
		&corev1.Secret{ObjectMeta: own("amf-config", "amf", ""), Type: corev1.SecretTypeOpaque, Data: map[string][]byte{corev1.TLSCertKey: certificate(t, time.Unix(1900000000, 0))}},
	).Build()
	registry := prometheus.NewPedanticRegistry()
	subscribers := newSubscriberCounts()
	var list api.SubscriberList
	if err := c.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		list.Items[i].UID = types.UID(list.Items[i].Name)
		subscribers.OnAdd(&list.Items[i], true)
	}
	// A scrape that went through all Subscribers would cost more the more there are.
	bounded := interceptor.NewClient(c, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			if _, all := l.(*api.SubscriberList); all {
				t.Error("a scrape lists all Subscribers")
			}
			return c.List(ctx, l, opts...)
		},
	})
	registry.MustRegister(&collector{reader: bounded, subscribers: subscribers})
	want := `
# HELP core5g_condition 1 where the condition of the object is True, 0 where it is False, -1 where it is Unknown. Subscribers are counted in core5g_subscribers.
# TYPE core5g_condition gauge
core5g_condition{kind="Core5G",name="core5g",namespace="ns",reason="Ready",type="Ready"} 1
core5g_condition{kind="Slice",name="a",namespace="ns",reason="PoolOverlap",type="Ready"} 0
core5g_condition{kind="UPFInstance",name="upf",namespace="ns",reason="Progressing",type="Ready"} -1
# HELP core5g_subscribers Number of Subscribers by the status of Ready.
# TYPE core5g_subscribers gauge
core5g_subscribers{namespace="ns",ready="True"} 2
core5g_subscribers{namespace="ns",ready="Unknown"} 1
# HELP core5g_upf_endpoints Number of N3 endpoints that a UPFInstance has given to Slices.
# TYPE core5g_upf_endpoints gauge
core5g_upf_endpoints{namespace="ns",upfinstance="edge"} 0
core5g_upf_endpoints{namespace="ns",upfinstance="upf"} 1
# HELP core5g_upf_cell_rejections Number of units in a row that a place has refused and for which it is in a back-off.
# TYPE core5g_upf_cell_rejections gauge
core5g_upf_cell_rejections{namespace="ns",node="w2",numa_cell="0",upfinstance="upf"} 2
# HELP core5g_upf_external 1 for each UPF that runs elsewhere; upf is its Node ID, by which metrics of SMFs name it.
# TYPE core5g_upf_external gauge
core5g_upf_external{namespace="ns",upf="upf.edge.example.org",upfinstance="edge"} 1
# HELP core5g_upf_unit 1 for each unit of a UPFInstance, with its place and state; numa_cell is empty where the kubelet chooses.
# TYPE core5g_upf_unit gauge
core5g_upf_unit{namespace="ns",node="w1",numa_cell="1",state="Ready",unit="upf-0",upfinstance="upf"} 1
core5g_upf_unit{namespace="ns",node="",numa_cell="",state="Unplaced",unit="upf-1",upfinstance="upf"} 1
# HELP core5g_upf_unit_rejections Number of pods in a row that were refused or failed.
# TYPE core5g_upf_unit_rejections gauge
core5g_upf_unit_rejections{namespace="ns",unit="upf-0",upfinstance="upf"} 3
core5g_upf_unit_rejections{namespace="ns",unit="upf-1",upfinstance="upf"} 0
# HELP core5g_function_ready 1 where the pod of a network function is ready, else 0; slice is empty but for SMFs.
# TYPE core5g_function_ready gauge
core5g_function_ready{core="core5g",deployment="core5g-amf",function="amf",namespace="ns",slice=""} 1
core5g_function_ready{core="core5g",deployment="core5g-smf-a",function="smf",namespace="ns",slice="a"} 0
# HELP core5g_slice_info 1 for each Slice, with its S-NSSAI, the UPFInstance that it was given, and cp_node, its SMF's Node ID on N4, under which UPFs count.
# TYPE core5g_slice_info gauge
core5g_slice_info{core="core5g",cp_node="10.96.0.7",namespace="ns",slice="a",snssai="1-010203",upfinstance="upf"} 1
# HELP core5g_certificate_expiration_timestamp_seconds When the first certificate in a TLS Secret of the core ends.
# TYPE core5g_certificate_expiration_timestamp_seconds gauge
core5g_certificate_expiration_timestamp_seconds{namespace="ns",secret="core5g-amf-tls"} 1.8e+09
# HELP core5g_dataplanenode_observed_timestamp_seconds When the node agent last wrote the DataplaneNode.
# TYPE core5g_dataplanenode_observed_timestamp_seconds gauge
core5g_dataplanenode_observed_timestamp_seconds{node="w1"} 1.7e+09
# HELP core5g_numa_cell_cpus CPUs of a NUMA cell that one container may have alone: state total, and those that are free.
# TYPE core5g_numa_cell_cpus gauge
core5g_numa_cell_cpus{node="w1",numa_cell="1",state="free"} 4
core5g_numa_cell_cpus{node="w1",numa_cell="1",state="total"} 10
# HELP core5g_numa_cell_hugepages_bytes Hugepage memory of a NUMA cell by the size of a page: state total, and what is free.
# TYPE core5g_numa_cell_hugepages_bytes gauge
core5g_numa_cell_hugepages_bytes{node="w1",numa_cell="1",page_size="2Mi",state="free"} 5.36870912e+08
core5g_numa_cell_hugepages_bytes{node="w1",numa_cell="1",page_size="2Mi",state="total"} 1.073741824e+09
# HELP core5g_numa_cell_vfs Virtual functions of NICs of a NUMA cell by the device plugin's resource: state total, and those that are free.
# TYPE core5g_numa_cell_vfs gauge
core5g_numa_cell_vfs{node="w1",numa_cell="1",resource="core5g.dev/n3",state="free"} 3
core5g_numa_cell_vfs{node="w1",numa_cell="1",resource="core5g.dev/n3",state="total"} 8
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

// certificate is a self-signed one that ends when it is told.
func certificate(t *testing.T, end time.Time) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: end}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
