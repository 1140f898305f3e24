package kubectlplugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// fakePods answers by pod/container.
type fakePods struct {
	exec, logs map[string]string
	failure    string // of what has no answer; "" for one of upf-c's
	commands   []string
	// answers take the place of exec; nil: they do not.
	answers func(pod string, command []string) (string, error)
	// streamed are the commands that had streams, given the input of the last, and fails how they end.
	streamed []string
	given    string
	fails    error
}

func (f *fakePods) Stream(_ context.Context, namespace, pod, container string, in io.Reader, out, errs io.Writer, command ...string) error {
	f.streamed = append(f.streamed, strings.Join(append([]string{namespace + "/" + pod + "/" + container + ":"}, command...), " "))
	if in != nil {
		text, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		f.given = string(text)
	}
	fmt.Fprint(out, "1 read")
	fmt.Fprint(errs, "line 3: left out")
	return f.fails
}

func (f *fakePods) Exec(_ context.Context, namespace, pod, container string, command ...string) ([]byte, error) {
	f.commands = append(f.commands, strings.Join(append([]string{namespace, pod, container}, command...), " "))
	if f.answers != nil {
		answer, err := f.answers(pod, command)
		return []byte(answer), err
	}
	if answer, found := f.exec[pod+"/"+container]; found {
		return []byte(answer), nil
	}
	return nil, errors.New(or(f.failure, "upf-c is not there"))
}

func (f *fakePods) Logs(_ context.Context, _, pod, container string, previous bool, _ int64) ([]byte, error) {
	if answer, found := f.logs[fmt.Sprintf("%s/%s %v", pod, container, previous)]; found {
		return []byte(answer), nil
	}
	return nil, errors.New("no log")
}

// terminal is the plug-in on a cluster in memory, with a clock that only Sleep moves.
type terminal struct {
	client   client.Client
	pods     *fakePods
	out, err bytes.Buffer
	file     bytes.Buffer
	now      time.Time
	// onSleep plays the operator.
	onSleep func()
}

type closing struct{ io.Writer }

func (closing) Close() error { return nil }

func open(t *testing.T, objects ...client.Object) *terminal {
	t.Helper()
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	noSecrets := func(o any) {
		switch o.(type) {
		case *corev1.Secret, *corev1.SecretList:
			t.Errorf("a Secret is read")
		}
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&api.UPFInstance{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
				noSecrets(o)
				return c.Get(ctx, key, o, options...)
			},
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
				noSecrets(list)
				return c.List(ctx, list, options...)
			},
		}).Build()
	return &terminal{client: c, pods: &fakePods{}, now: noon}
}

func (x *terminal) run(t *testing.T, line string) int {
	t.Helper()
	x.out.Reset()
	x.err.Reset()
	base := Plugin{
		In: strings.NewReader("k=1\n"),
		OpenFile: func(name string) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader("content of " + name)), nil
		},
		Out: &x.out, Err: &x.err, Now: func() time.Time { return x.now },
		Sleep: func(_ context.Context, d time.Duration) error {
			x.now = x.now.Add(d)
			if x.onSleep != nil {
				x.onSleep()
			}
			return nil
		},
		Create: func(string) (io.WriteCloser, error) { return closing{&x.file}, nil },
	}
	return Run(t.Context(), strings.Fields(line), base, func(_, _, namespace string) (client.Client, Pods, string, error) {
		if namespace == "" {
			namespace = "core5g"
		}
		return x.client, x.pods, namespace, nil
	})
}

func (x *terminal) says(t *testing.T, wants ...string) {
	t.Helper()
	all := x.out.String() + x.err.String()
	for _, want := range wants {
		if !strings.Contains(all, want) {
			t.Errorf("nothing of %q in:\n%s", want, all)
		}
	}
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: "core5g", Labels: map[string]string{api.LabelName: "core5g"}}
}

func condition(kind string, status metav1.ConditionStatus, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: "Test", Message: message, LastTransitionTime: metav1.NewTime(noon)}
}

func well() []metav1.Condition {
	return []metav1.Condition{condition(api.ConditionReady, metav1.ConditionTrue, "fine")}
}

func unwell(message string) []metav1.Condition {
	return []metav1.Condition{condition(api.ConditionReady, metav1.ConditionFalse, message)}
}

func testUPF() *api.UPFInstance {
	return &api.UPFInstance{
		ObjectMeta: named("upf"),
		Spec:       api.UPFInstanceSpec{Units: ptr.To[int32](2), Drain: &api.DrainSpec{Timeout: metav1.Duration{Duration: 60 * time.Second}}},
		Status: api.UPFInstanceStatus{
			Conditions: unwell("unit upf-1 is not ready"), Units: 2, ReadyUnits: 1,
			UnitStatuses: []api.UnitStatus{
				{Name: "upf-0", State: api.UnitReady, Node: "w1", Cell: ptr.To[int32](0), N4Address: "10.96.0.10"},
				{Name: "upf-1", State: api.UnitRunning, Node: "w2", N4Address: "10.96.0.11", Message: "upf-u starts"},
			},
		},
	}
}

func testNode(name string, conditions []metav1.Condition, age time.Duration) *api.DataplaneNode {
	at := metav1.NewTime(noon.Add(-age))
	return &api.DataplaneNode{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: api.DataplaneNodeStatus{
		Conditions: conditions, ObservedAt: &at,
		Cells: []api.NUMACell{
			{ID: 0, ExclusiveCPUs: api.CPUCount{Total: 6, Free: 4},
				Hugepages:  []api.HugepagePool{{Size: "2Mi", Total: resource.MustParse("1Gi"), Free: resource.MustParse("512Mi")}},
				Interfaces: []api.NodeInterface{{Name: "ens1f0", VFs: api.VFCount{Total: 8, Free: 7}}, {Name: "ens1f1"}}},
			{ID: 1, ExclusiveCPUs: api.CPUCount{Total: 8, Free: 8}},
		},
	}}
}

func unitPod(name string, phase corev1.PodPhase) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: named(name), Status: corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{{Name: "upf-c", RestartCount: 1}}}}
	p.Labels[api.LabelUPF] = "upf"
	p.Spec.Containers = []corev1.Container{{Name: "upf-u"}, {Name: "upf-c"}}
	return p
}

func runningOperator(readyReplicas int32) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: named("core5g-operator"), Status: appsv1.DeploymentStatus{ReadyReplicas: readyReplicas}}
	d.Labels[api.LabelComponent] = "operator"
	return d
}

func testCore() []client.Object {
	return []client.Object{
		&api.Core5G{ObjectMeta: named("core5g"), Spec: api.Core5GSpec{ControlPlane: api.ControlPlaneFree5GC}, Status: api.Core5GStatus{
			Conditions: unwell("waits for the AMF"), N2: &api.N2Status{Address: "10.0.0.1:38412", Transport: "SCTP"},
			Functions: []api.FunctionStatus{{Name: "amf", Ready: metav1.ConditionFalse}, {Name: "nrf", Ready: metav1.ConditionTrue}},
		}},
		&api.Slice{ObjectMeta: named("internet"), Status: api.SliceStatus{
			Conditions: well(), SNSSAI: "1-010203", UEPools: []string{"10.45.0.0/16"}, UPF: &api.SliceUPFStatus{Name: "upf"},
		}},
		testUPF(),
		&api.Subscriber{ObjectMeta: named("phone-1"), Spec: api.SubscriberSpec{SUPI: "imsi-208930000000001"}, Status: api.SubscriberStatus{Conditions: well()}},
		&api.Subscriber{ObjectMeta: named("phone-2"), Spec: api.SubscriberSpec{SUPI: "imsi-208930000000002"}, Status: api.SubscriberStatus{Conditions: unwell("Secret phone-2 is missing")}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1"}}, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "control"}},
		unitPod("upf-0", corev1.PodRunning), unitPod("upf-1", corev1.PodRunning),
		&appsv1.Deployment{ObjectMeta: named("core5g-amf")}, runningOperator(1),
	}
}
