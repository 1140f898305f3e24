package placement

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

func observed() (*api.DataplaneNode, *corev1.Node) {
	at := metav1.NewTime(time.Unix(2000, 0))
	report := &api.DataplaneNode{ObjectMeta: metav1.ObjectMeta{Name: "w1"}, Status: api.DataplaneNodeStatus{
		ObservedAt: &at,
		Kubelet:    api.KubeletStatus{CPUManagerOptions: map[string]string{"full-pcpus-only": "true"}},
		Conditions: []metav1.Condition{{Type: api.ConditionReady, Status: metav1.ConditionTrue}},
		Cells: []api.NUMACell{{
			ID: 1, ThreadsPerCore: 2, ExclusiveCPUs: api.CPUCount{Total: 8, Free: 6},
			Hugepages: []api.HugepagePool{{Size: "2Mi", Total: resource.MustParse("1Gi"), Free: resource.MustParse("512Mi")}},
			Interfaces: []api.NodeInterface{
				{Name: "ens1f0", ResourceName: "core5g.dev/n3_socket1", VFs: api.VFCount{Total: 7, Free: 5}},
				{Name: "ens1f1", ResourceName: "core5g.dev/n3_socket1", VFs: api.VFCount{Total: 7, Free: 2}},
				{Name: "ens1f2", ResourceName: "core5g.dev/n6_socket1", VFs: api.VFCount{Total: 7, Free: 7}, Link: api.LinkDown},
			},
		}},
	}}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1", Labels: map[string]string{"upf": "yes"}}, Status: corev1.NodeStatus{
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Unix(1000, 0))}},
	}}
	return report, node
}

func TestObserve(t *testing.T) {
	report, node := observed()
	want := Inventory{{Name: "w1", Cells: []Cell{{
		ID: 1, CPUs: 6, CPUStep: 2, Hugepages: map[string]int64{"2Mi": 512 * mi}, Devices: map[string]int{"core5g.dev/n3_socket1": 7},
	}}}}
	if diff := cmp.Diff(want, Observe([]api.DataplaneNode{*report}, []corev1.Node{*node}, Terms{})); diff != "" {
		t.Errorf("inventory (-want +got):\n%s", diff)
	}
}

func TestObserveSaysWhyANodeIsUnusable(t *testing.T) {
	conditions := func(r *api.DataplaneNode, list map[string]string) {
		r.Status.Conditions = []metav1.Condition{{Type: api.ConditionReady, Status: metav1.ConditionFalse}}
		for _, kind := range []string{api.ConditionCPUManagerStatic, api.ConditionTopologyAligned, api.ConditionMemoryManagerStatic,
			api.ConditionHugepagesPresent, api.ConditionDevicePlugin, api.ConditionIOMMUEnabled, api.ConditionVFIOLoaded} {
			c := metav1.Condition{Type: kind, Status: metav1.ConditionTrue}
			if message, bad := list[kind]; bad {
				c.Status, c.Message = metav1.ConditionFalse, message
			}
			r.Status.Conditions = append(r.Status.Conditions, c)
		}
	}
	maintenance := corev1.Taint{Key: "maintenance", Effect: corev1.TaintEffectNoSchedule}
	tests := map[string]struct {
		spoil func(r *api.DataplaneNode, n *corev1.Node)
		terms Terms
		want  string
	}{
		"nothing is wrong":           {terms: Terms{Selector: map[string]string{"upf": "yes"}, Devices: true, VFIO: true}},
		"the node is gone":           {spoil: func(_ *api.DataplaneNode, n *corev1.Node) { n.Name = "w2" }, want: "is no node of the cluster"},
		"another label is asked for": {terms: Terms{Selector: map[string]string{"upf": "no"}}, want: "has no label upf=no"},
		"cordoned":                   {spoil: func(_ *api.DataplaneNode, n *corev1.Node) { n.Spec.Unschedulable = true }, want: "is cordoned"},
		"a taint":                    {spoil: func(_ *api.DataplaneNode, n *corev1.Node) { n.Spec.Taints = []corev1.Taint{maintenance} }, want: "has taint maintenance:NoSchedule, which spec.tolerations does not name"},
		"a tolerated taint": {spoil: func(_ *api.DataplaneNode, n *corev1.Node) { n.Spec.Taints = []corev1.Taint{maintenance} },
			terms: Terms{Tolerations: []corev1.Toleration{{Key: "maintenance", Operator: corev1.TolerationOpExists}}}},
		"the kubelet is away": {spoil: func(_ *api.DataplaneNode, n *corev1.Node) {
			n.Status.Conditions[0].Status = corev1.ConditionUnknown
		}, want: "is not ready"},
		"after a reboot the old report counts no more": {spoil: func(_ *api.DataplaneNode, n *corev1.Node) {
			n.Status.Conditions[0].LastTransitionTime = metav1.NewTime(time.Unix(3000, 0))
		}, want: "has come back and is not observed yet"},
		"after a reboot the device plugin is missing": {spoil: func(r *api.DataplaneNode, _ *corev1.Node) {
			conditions(r, map[string]string{api.ConditionDevicePlugin: "no resource of a PF is allocatable"})
		}, terms: Terms{Devices: true}, want: "DataplaneNode is not ready: DevicePlugin: no resource of a PF is allocatable"},
		"a unit without devices needs no device plugin": {spoil: func(r *api.DataplaneNode, _ *corev1.Node) {
			conditions(r, map[string]string{api.ConditionDevicePlugin: "none", api.ConditionVFIOLoaded: "modprobe vfio-pci"})
		}},
		"VFIO needs vfio-pci": {spoil: func(r *api.DataplaneNode, _ *corev1.Node) {
			conditions(r, map[string]string{api.ConditionVFIOLoaded: "modprobe vfio-pci"})
		}, terms: Terms{VFIO: true}, want: "DataplaneNode is not ready: VFIOLoaded: modprobe vfio-pci"},
		"a report without the condition": {spoil: func(r *api.DataplaneNode, _ *corev1.Node) { r.Status.Conditions = nil },
			want: "DataplaneNode does not say CPUManagerStatic"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			report, node := observed()
			if test.spoil != nil {
				test.spoil(report, node)
			}
			got := Observe([]api.DataplaneNode{*report}, []corev1.Node{*node}, test.terms)
			if len(got) != 1 || got[0].Unusable != test.want {
				t.Errorf("got %+v, want unusable %q", got, test.want)
			}
		})
	}
}
