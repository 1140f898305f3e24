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
	ready := func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	leaving := func(p *corev1.Pod) {
		p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: metav1.Now().Time}, []string{"a/b"}
	}
	a, b := api.N2Pod{Name: "a", Addresses: []string{"172.30.2.5:38412"}}, api.N2Pod{Name: "b", Addresses: []string{"172.30.2.6:38412", "[2001:db8::6]:38412"}}
	two := []string{"172.30.2.5:38412", "172.30.2.6:38412", "[2001:db8::6]:38412"}
	ofB := n2(`"172.30.2.6","2001:db8::6"`)
	for name, c := range map[string]struct {
		before []api.N2Pod
		pods   []*corev1.Pod
		want   []string
		told   []api.N2Pod
	}{
		"all are Ready":                          {nil, []*corev1.Pod{pod("b", ofB, ready), pod("a", n2(`"172.30.2.5"`), ready)}, two, []api.N2Pod{a, b}},
		"one is not yet":                         {nil, []*corev1.Pod{pod("b", ofB, ready), pod("a", n2(`"172.30.2.5"`))}, two, []api.N2Pod{b}},
		"one was, and is not for a moment":       {[]api.N2Pod{a, b}, []*corev1.Pod{pod("b", ofB, ready), pod("a", n2(`"172.30.2.5"`))}, two, []api.N2Pod{a, b}},
		"one goes":                               {[]api.N2Pod{a, b}, []*corev1.Pod{pod("b", ofB, ready), pod("a", n2(`"172.30.2.5"`), ready, leaving)}, two[1:], []api.N2Pod{b}},
		"one has gone":                           {[]api.N2Pod{a, b}, []*corev1.Pod{pod("b", ofB, ready)}, two[1:], []api.N2Pod{b}},
		"one has another address, and is Ready":  {[]api.N2Pod{{Name: "a", Addresses: []string{"172.30.2.9:38412"}}}, []*corev1.Pod{pod("a", n2(`"172.30.2.5"`), ready)}, two[:1], []api.N2Pod{a}},
		"no definition is asked for any more":    {},
		"all are Ready, and Multus says nothing": {[]api.N2Pod{a}, []*corev1.Pod{pod("a", "", ready)}, nil, nil},
	} {
		t.Run("told: "+name, func(t *testing.T) {
			status, _ := observed(t, "ran/n2", labels, c.pods, c.before)
			if diff := cmp.Diff(c.want, status.Addresses); diff != "" {
				t.Errorf("addresses (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.told, status.Pods); diff != "" {
				t.Errorf("pods (-want +got):\n%s", diff)
			}
		})
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
			status, conditions := observed(t, c.definition, labels, c.pods, nil)
			if diff := cmp.Diff(c.want, status.Addresses); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if ready := conditions[0]; (ready.Status == metav1.ConditionTrue) != (c.lacks == "") || !strings.Contains(ready.Message, c.lacks) {
				t.Errorf("AMFReady is %s, %s, want pod %q in it", ready.Status, ready.Message, c.lacks)
			}
		})
	}
}

// observed of those pods, with what status has said of them before.
func observed(t *testing.T, definition string, labels map[string]string, pods []*corev1.Pod, before []api.N2Pod) (*api.N2Status, []metav1.Condition) {
	t.Helper()
	objects := fake.NewClientBuilder()
	for _, p := range pods {
		objects = objects.WithObjects(p)
	}
	core := &api.Core5G{ObjectMeta: metav1.ObjectMeta{Namespace: "core5g", Name: "core5g"}}
	core.Spec.N2 = api.N2Spec{Port: 38412, NetworkAttachmentDefinition: definition}
	core.Status.N2 = &api.N2Status{Address: "10.96.0.9:38412"}
	s := &scope{core: core, conditions: conditions.Of(&core.Status.Conditions, 1)}
	s.conditions.Yes(api.ConditionAMFReady, api.ReasonReady, "")
	if err := (&Reconciler{Client: objects.Build()}).observeN2Network(t.Context(), s, labels, before); err != nil {
		t.Fatal(err)
	}
	return core.Status.N2, core.Status.Conditions
}
