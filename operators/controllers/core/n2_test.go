package core

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/conditions"
	"core5g.dev/core5g/operators/controllers/workloads"
)

// What status says of pods that gNBs connect to on a network of N2's own.
func TestAddressesOnN2(t *testing.T) {
	labels := map[string]string{"app": "n2"}
	pod := func(name, networks string, change ...func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "core5g", Name: name, Labels: labels}, Status: corev1.PodStatus{PodIP: "10.244.0.7"}}
		if networks != "" {
			p.Annotations = map[string]string{workloads.AnnotationNetworkStatus: networks}
		}
		for _, c := range change {
			c(p)
		}
		return p
	}
	const eth0 = `{"name":"cbr0","interface":"eth0","ips":["10.244.0.7"],"default":true}`
	n2 := func(ips string) string {
		return `[` + eth0 + `,{"name":"ran/n2","interface":"n2","ips":[` + ips + `]}]`
	}
	for name, c := range map[string]struct {
		definition string
		pods       []*corev1.Pod
		want       []string
		lacks      string // the pod that AMFReady names
	}{
		"none is asked for":        {"", []*corev1.Pod{pod("a", n2(`"172.30.2.5"`))}, nil, ""},
		"two pods, of two each":    {"ran/n2", []*corev1.Pod{pod("b", n2(`"172.30.2.6"`)), pod("a", n2(`"172.30.2.5","2001:db8::5"`))}, []string{"172.30.2.5:38412", "172.30.2.6:38412", "[2001:db8::5]:38412"}, ""},
		"no Multus":                {"n2", []*corev1.Pod{pod("a", "")}, nil, "a"},
		"an annotation of nothing": {"n2", []*corev1.Pod{pod("a", "null")}, nil, "a"},
		"one that cannot be read":  {"n2", []*corev1.Pod{pod("a", "[")}, nil, "a"},
		"an interface without":     {"n2", []*corev1.Pod{pod("a", n2(``)), pod("b", n2(`"172.30.2.6"`))}, []string{"172.30.2.6:38412"}, "a"},
		"a pod that has not begun": {"n2", []*corev1.Pod{pod("a", "", func(p *corev1.Pod) { p.Status.PodIP = "" })}, nil, ""},
		"a pod that is leaving": {"n2", []*corev1.Pod{pod("a", n2(`"172.30.2.5"`), func(p *corev1.Pod) {
			p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: metav1.Now().Time}, []string{"a/b"}
		})}, nil, ""},
		"another function's pod": {"n2", []*corev1.Pod{pod("a", n2(`"172.30.2.5"`), func(p *corev1.Pod) { p.Labels = nil })}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			objects := fake.NewClientBuilder()
			for _, p := range c.pods {
				objects = objects.WithObjects(p)
			}
			core := &api.Core5G{ObjectMeta: metav1.ObjectMeta{Namespace: "core5g", Name: "core5g"}}
			core.Spec.N2 = api.N2Spec{Port: 38412, NetworkAttachmentDefinition: c.definition}
			core.Status.N2 = &api.N2Status{Address: "10.96.0.9:38412"}
			s := &scope{core: core, conditions: conditions.Of(&core.Status.Conditions, 1)}
			s.conditions.Yes(api.ConditionAMFReady, api.ReasonReady, "")
			if err := (&Reconciler{Client: objects.Build()}).observeN2Network(t.Context(), s, labels); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, core.Status.N2.Addresses); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if ready := core.Status.Conditions[0]; (ready.Status == metav1.ConditionTrue) != (c.lacks == "") || !strings.Contains(ready.Message, c.lacks) {
				t.Errorf("AMFReady is %s, %s, want pod %q in it", ready.Status, ready.Message, c.lacks)
			}
		})
	}
}
