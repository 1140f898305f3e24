package specs

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

func TestClusterProblem(t *testing.T) {
	networks := ClusterNetworks(
		[]networkingv1.ServiceCIDR{{Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.96.0.0/16", "fd00:96::/112"}}}},
		[]corev1.Node{{
			ObjectMeta: metav1.ObjectMeta{Name: "w1"},
			Spec:       corev1.NodeSpec{PodCIDRs: []string{"10.244.3.0/24"}},
			Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: "192.168.7.10"}, {Type: corev1.NodeHostName, Address: "w1"},
			}},
		}},
		[]corev1.Service{
			{ObjectMeta: metav1.ObjectMeta{Name: "core5g-amf"}, Spec: corev1.ServiceSpec{ClusterIPs: []string{"10.99.1.2"}}},
			{ObjectMeta: metav1.ObjectMeta{Name: "headless"}, Spec: corev1.ServiceSpec{ClusterIPs: []string{corev1.ClusterIPNone}}},
		},
		[]corev1.Pod{
			{ObjectMeta: metav1.ObjectMeta{Name: "upf-0"}, Status: corev1.PodStatus{PodIPs: []corev1.PodIP{{IP: "10.0.5.17"}}}},
			{ObjectMeta: metav1.ObjectMeta{Name: "pending"}},
		},
	)
	for name, c := range map[string]struct{ pool, want string }{
		"a network of its own":            {"10.45.0.0/16", ""},
		"the Service network":             {"10.96.128.0/17", "pool 10.96.128.0/17 of DNN internet overlaps the cluster's Service network 10.96.0.0/16: write a pool that is free"},
		"a network around it":             {"10.64.0.0/10", "pool 10.64.0.0/10 of DNN internet overlaps the cluster's Service network 10.96.0.0/16: write a pool that is free"},
		"the pod network of a node":       {"10.244.0.0/16", "pool 10.244.0.0/16 of DNN internet overlaps the pod network of node w1 10.244.3.0/24: write a pool that is free"},
		"a node":                          {"192.168.0.0/16", "pool 192.168.0.0/16 of DNN internet overlaps the address 192.168.7.10 of node w1: write a pool that is free"},
		"a Service of an unknown network": {"10.99.0.0/16", "pool 10.99.0.0/16 of DNN internet overlaps the address 10.99.1.2 of Service core5g-amf: write a pool that is free"},
		"a pod of an unknown network":     {"10.0.4.0/22", "pool 10.0.4.0/22 of DNN internet overlaps the address 10.0.5.17 of pod upf-0: write a pool that is free"},
		"what is no network":              {"10.96.0.0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ClusterProblem(makeSlice("internet", "010203", c.pool), networks)
			if c.want == "" {
				if got != nil {
					t.Errorf("refused: %s", got.Message)
				}
				return
			}
			if got == nil || got.Reason != api.ReasonPoolOverlap || got.Message != c.want {
				t.Errorf("got %v, want %q", got, c.want)
			}
		})
	}
}
