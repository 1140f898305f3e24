package controllers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"core5g.dev/core5g/images/associations"
	"core5g.dev/core5g/images/nf/sbitls"
	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/apiservertest"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/controllertest"
	"core5g.dev/core5g/operators/controllers/core"
	"core5g.dev/core5g/operators/controllers/managertest"
	"core5g.dev/core5g/operators/controllers/upf"
	"core5g.dev/core5g/operators/controllers/workloads"
	"core5g.dev/core5g/operators/specs"
	"core5g.dev/core5g/upf/upfc/topology"
)

// environment is a real API server with the controllers running against it. There is no kubelet and no
// Deployment controller: tests play both.
type environment struct {
	client client.Client
	env    *envtest.Environment
	nrfs   *controllertest.FakeNRFs
	clock  *testClock
	smfs   *fakeSMFs
	// sessions of pods, "namespace/name" to int64, and asked how often each was asked, to *atomic.Int64.
	sessions, asked sync.Map
	// topologies are what units say that are not where they were placed, by namespace/name.
	topologies sync.Map
	// associations are what pods of the SMF say, by namespace.
	associations sync.Map
	// calls of the controllers to the API server, by verb and path without names.
	calls callCounter
	// rights that the controllers have made use of.
	rights usedRights
	// about Subscribers and their Secrets, what the controllers have asked for.
	about subscriberCalls
	// metrics is what would be scraped.
	metrics *prometheus.Registry
	// released are the associations that UPFs were told are over, "upf smf"; silent are UPFs that do not answer.
	released, silent sync.Map
	// synced are servers of session stores that have everything, by address.
	synced sync.Map
	// unreached are N2 terminators that do not answer, by namespace/name.
	unreached sync.Map
}

// What tests have the clock pass, under names that no object of theirs has.
const (
	backoffFirst       = upf.BackoffFirst
	smfReleaseTimeout  = upf.SMFReleaseTimeout
	registrationPeriod = core.RegistrationPeriod
	restoreGrace       = core.RestoreGrace
)

// testClock is the real clock plus what the test has added. While it is held, only what is added moves it.
type testClock struct {
	mu     sync.Mutex
	offset time.Duration
	held   time.Time
}

func (c *testClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.held.IsZero() {
		return c.held.Add(c.offset)
	}
	return time.Now().Add(c.offset)
}

func (c *testClock) hold(t *testing.T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = time.Now()
	t.Cleanup(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.held, c.offset = time.Time{}, 0
	})
}

func (c *testClock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += d
}

// startAPIServer is one of the test's own.
func startAPIServer(t *testing.T) (*envtest.Environment, *rest.Config) {
	t.Helper()
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewTextHandler(io.Discard, nil)))
	if os.Getenv("CORE5G_TEST_LOG") != "" {
		ctrl.SetLogger(logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, nil)))
	}
	env, restConfig := apiservertest.Start(t, func(env *envtest.Environment) {
		// A fleet has more units than the default range has addresses for their N4 Services.
		env.ControlPlane.GetAPIServer().Configure().Set("service-cluster-ip-range", "10.0.0.0/16")
	})
	restConfig.QPS, restConfig.Burst = 500, 1000
	return env, restConfig
}

func startEnvironment(t *testing.T) *environment {
	t.Helper()
	env, restConfig := startAPIServer(t)
	e := &environment{
		env: env, nrfs: controllertest.NewFakeNRFs(), smfs: newFakeSMFs(), clock: &testClock{}, metrics: prometheus.NewRegistry(),
	}
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	if e.client, err = client.New(restConfig, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	managed := rest.CopyConfig(restConfig)
	managed.Wrap(e.calls.wrap)
	managed.Wrap(e.rights.wrap)
	managed.Wrap(e.about.wrap)
	mgr, err := ctrl.NewManager(managed, ctrl.Options{
		Scheme: scheme, Cache: cluster.CacheOptions(), NewClient: cluster.NewClient, Metrics: server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)}, // a test may have two clusters
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := Setup(mgr, Options{
		Platform: specs.Platform{Registry: "core5g", Tag: "dev", OperatorImage: "core5g/operator:dev", SubscriberDataServiceAccount: "core5g-subscriber-data"},
		NRF:      func(baseURL string, identity *sbitls.Identity) core.NRFClient { return e.nrfs.At(baseURL, identity) },
		Release: func(_ context.Context, upfAddress, smfNodeID string) error {
			if _, is := e.silent.Load(upfAddress); is {
				return errors.New("no answer")
			}
			e.released.Store(upfAddress+" "+smfNodeID, true)
			return nil
		},
		Sessions: func(_ context.Context, pod *corev1.Pod) (int64, error) {
			asked, _ := e.asked.LoadOrStore(pod.Namespace+"/"+pod.Name, &atomic.Int64{})
			asked.(*atomic.Int64).Add(1)
			n, _ := e.sessions.LoadOrStore(pod.Namespace+"/"+pod.Name, int64(0))
			return n.(int64), nil
		},
		Topology: func(ctx context.Context, pod *corev1.Pod) (*topology.Topology, error) {
			if of, found := e.topologies.Load(pod.Namespace + "/" + pod.Name); found {
				return of.(func(*corev1.Pod) (*topology.Topology, error))(pod)
			}
			return controllertest.TopologyOfPod(ctx, pod)
		},
		Associations: func(_ context.Context, pod *corev1.Pod, units []string) (*associations.Report, error) {
			if of, found := e.associations.Load(pod.Namespace); found {
				return of.(func([]string) (*associations.Report, error))(units)
			}
			return nil, errors.New("connection refused")
		},
		UserPlane: e.smfs.at,
		StoreSynced: func(_ context.Context, address, _ string) (bool, error) {
			_, is := e.synced.Load(address)
			return is, nil
		},
		Reach: func(_ context.Context, pod *corev1.Pod) error {
			if _, is := e.unreached.Load(pod.Namespace + "/" + pod.Name); is {
				return errors.New("no route to host")
			}
			return nil
		},
		Now:     e.clock.now,
		Metrics: e.metrics,
	}); err != nil {
		t.Fatal(err)
	}
	managertest.Run(t, mgr)
	return e
}

// callCounter counts requests by method and kind of resource; watches are left out.
type callCounter struct {
	mu sync.Mutex
	n  map[string]int
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (c *callCounter) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		parts := strings.Split(r.URL.Path, "/")
		if at := slices.Index(parts, "namespaces"); at >= 0 && at+2 < len(parts) && r.URL.Query().Get("watch") == "" {
			what := r.Method + " " + parts[at+2]
			if at+4 < len(parts) {
				what += "/" + parts[at+4]
			}
			c.mu.Lock()
			if c.n == nil {
				c.n = map[string]int{}
			}
			c.n[what]++
			c.mu.Unlock()
		}
		return next.RoundTrip(r)
	})
}

// take returns the counts and begins anew.
func (c *callCounter) take() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.n
	c.n = map[string]int{}
	return out
}

func (e *environment) installAttachmentKind(t *testing.T) {
	t.Helper()
	if _, err := envtest.InstallCRDs(e.env.Config, envtest.CRDInstallOptions{Paths: []string{"testdata"}}); err != nil {
		t.Fatal(err)
	}
}

var namespaces struct {
	sync.Mutex
	n int
}

// namespace makes a namespace of the test's own.
func (e *environment) namespace(t *testing.T) string {
	t.Helper()
	namespaces.Lock()
	namespaces.n++
	name := fmt.Sprintf("test-%d", namespaces.n)
	namespaces.Unlock()
	e.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	return name
}

func (e *environment) create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		if err := e.client.Create(t.Context(), o); err != nil {
			t.Fatalf("create %T %s: %v", o, o.GetName(), err)
		}
	}
}

// edit changes what was read. It says nothing of the version that this was: the operator may write at the same moment.
func (e *environment) edit(t *testing.T, o client.Object, change func()) {
	t.Helper()
	before := o.DeepCopyObject().(client.Object)
	change()
	if err := e.client.Patch(t.Context(), o, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

func (e *environment) editStatus(t *testing.T, o client.Object, change func()) {
	t.Helper()
	before := o.DeepCopyObject().(client.Object)
	change()
	if err := e.client.Status().Patch(t.Context(), o, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// patience is far above what anything takes here: a machine may have other work, and only a failure waits for its end.
const patience = 2 * time.Minute

func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(30 * time.Millisecond)
	}
}

// get fetches, and fails the test when there is nothing.
func (e *environment) get(t *testing.T, o client.Object, namespace, name string) {
	t.Helper()
	if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
		t.Fatalf("%T %s: %v", o, name, err)
	}
}

func conditionsOf(o client.Object) []metav1.Condition {
	switch o := o.(type) {
	case *api.Core5G:
		return o.Status.Conditions
	case *api.Slice:
		return o.Status.Conditions
	case *api.UPFInstance:
		return o.Status.Conditions
	case *api.Subscriber:
		return o.Status.Conditions
	case *api.DataplaneNode:
		return o.Status.Conditions
	}
	return nil
}

// wantCondition waits until a condition has the status, the reason and, somewhere, the words.
func (e *environment) wantCondition(t *testing.T, o client.Object, kind string, status metav1.ConditionStatus, reason, words string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%T %s: %s=%s/%s %q", o, o.GetName(), kind, status, reason, words), func() error {
		return e.hasCondition(t, o, kind, status, reason, words)
	})
}

// wantServed is wantCondition with a Deployment controller that runs on: what the operator makes or changes meanwhile
// becomes available too.
func (e *environment) wantServed(t *testing.T, o client.Object, kind string, status metav1.ConditionStatus, reason, words string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%T %s: %s=%s/%s %q", o, o.GetName(), kind, status, reason, words), func() error {
		e.makeAvailable(t, o.GetNamespace())
		return e.hasCondition(t, o, kind, status, reason, words)
	})
}

func (e *environment) hasCondition(t *testing.T, o client.Object, kind string, status metav1.ConditionStatus, reason, words string) error {
	t.Helper()
	if err := e.client.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		return err
	}
	c := meta.FindStatusCondition(conditionsOf(o), kind)
	if c == nil {
		return errors.New("no such condition")
	}
	if (status != "" && c.Status != status) || (reason != "" && c.Reason != reason) || !strings.Contains(c.Message, words) {
		return fmt.Errorf("is %s/%s %q", c.Status, c.Reason, c.Message)
	}
	if c.ObservedGeneration != o.GetGeneration() {
		return fmt.Errorf("speaks of generation %d, the object is at %d", c.ObservedGeneration, o.GetGeneration())
	}
	return nil
}

// makeAvailable plays the Deployment controller for every Deployment of the namespace, now.
func (e *environment) makeAvailable(t *testing.T, namespace string) {
	t.Helper()
	var list appsv1.DeploymentList
	if err := e.client.List(t.Context(), &list, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		d := &list.Items[i]
		n, before := *d.Spec.Replicas, d.DeepCopy()
		d.Status = appsv1.DeploymentStatus{
			ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n,
		}
		// The operator may have taken it away meanwhile.
		if err := e.client.Status().Patch(t.Context(), d, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
	}
}

// makeReady plays scheduler, Multus and kubelet for a pod.
func (e *environment) makeReady(t *testing.T, namespace, name string) {
	t.Helper()
	pod := &corev1.Pod{}
	e.get(t, pod, namespace, name)
	if pod.Spec.NodeName == "" {
		binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Target: corev1.ObjectReference{Kind: "Node", Name: "node-1"}}
		if err := e.client.SubResource("binding").Create(t.Context(), pod, binding); err != nil {
			t.Fatal(err)
		}
		e.get(t, pod, namespace, name)
	}
	e.edit(t, pod, func() {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, workloads.AnnotationNetworkStatus, `[{"interface":"eth0"},{"interface":"n3"},{"interface":"n6"}]`)
	})
	e.editStatus(t, pod, func() {
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
			{Type: corev1.PodReady, Status: corev1.ConditionTrue},
		}
	})
}

// stopPods plays the kubelet for pods that are being deleted.
func (e *environment) stopPods(t *testing.T, namespace string) {
	t.Helper()
	var list corev1.PodList
	if err := e.client.List(t.Context(), &list, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		if !list.Items[i].DeletionTimestamp.IsZero() {
			if err := client.IgnoreNotFound(e.client.Delete(t.Context(), &list.Items[i], client.GracePeriodSeconds(0))); err != nil {
				t.Fatal(err)
			}
		}
	}
}
