package cluster

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/operators/api/v1alpha1"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
)

// server is an API server that may be away, and the informers of its cache.
type server struct {
	client.WithWatch
	away      atomic.Bool
	refused   chan struct{}
	informers map[string]*controllertest.FakeInformer
}

func (s *server) GetInformer(_ context.Context, o client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	i := &controllertest.FakeInformer{}
	switch o.(type) {
	case *v1alpha1.Slice:
		s.informers["Slice"] = i
	case *v1alpha1.UPFInstance:
		s.informers["UPFInstance"] = i
	case *v1alpha1.Core5G:
		s.informers["Core5G"] = i
	}
	return i, nil
}

func serve(t *testing.T, o Objects) *server {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	s := &server{refused: make(chan struct{}, 1), informers: map[string]*controllertest.FakeInformer{}}
	b := fake.NewClientBuilder().WithScheme(scheme).WithObjects(o.Core)
	for i := range o.Slices {
		b.WithObjects(&o.Slices[i])
	}
	for i := range o.UPFInstances {
		b.WithObjects(&o.UPFInstances[i])
	}
	s.WithWatch = b.WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if s.away.Load() {
				select {
				case s.refused <- struct{}{}:
				default:
				}
				return errors.New("connection refused")
			}
			return c.List(ctx, list, opts...)
		},
	}).Build()
	return s
}

// A change of any object is in force soon, and who follows is told of it once.
func TestWatcherFollowsChanges(t *testing.T) {
	s := serve(t, objects(t))
	w := NewWatcher(s, "ns", "core5g", slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	if err := w.Watch(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if w.Current() != nil {
		t.Error("there is a Snapshot before there was a look")
	}
	told := make(chan [2]*configuration.Snapshot, 10)
	w.Follow(func(before, now *configuration.Snapshot) { told <- [2]*configuration.Snapshot{before, now} })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { w.Run(ctx); close(ended) }()
	defer func() { cancel(); <-ended }()
	next := func() [2]*configuration.Snapshot {
		select {
		case pair := <-told:
			return pair
		case <-time.After(time.Minute):
			t.Fatal("nobody is told")
			return [2]*configuration.Snapshot{}
		}
	}
	first := next()
	if first[0] != nil || len(first[1].Slices()) != 2 || w.Current() != first[1] {
		t.Fatalf("first %v", first)
	}
	var slice v1alpha1.Slice
	if err := s.Get(ctx, client.ObjectKey{Namespace: "ns", Name: "iot"}, &slice); err != nil {
		t.Fatal(err)
	}
	old := slice.DeepCopy()
	slice.Spec.DataNetworks[0].MTU = 1450
	if err := s.Update(ctx, &slice); err != nil {
		t.Fatal(err)
	}
	for range 3 { // as an informer with the status comes again and again
		s.informers["Slice"].Update(old, &slice)
	}
	second := next()
	if second[0] != first[1] || second[1].Named("iot", "internet").MTU != 1450 || first[1].Named("iot", "internet").MTU != 1400 {
		t.Errorf("second %v", second)
	}
	var u v1alpha1.UPFInstance
	if err := s.Get(ctx, client.ObjectKey{Namespace: "ns", Name: "upf"}, &u); err != nil {
		t.Fatal(err)
	}
	u.Spec.AdministrativeState = v1alpha1.StateShuttingDown
	if err := s.Update(ctx, &u); err != nil {
		t.Fatal(err)
	}
	s.informers["UPFInstance"].Update(&u, &u)
	if third := next(); third[1].Unit("10.96.1.3").State != configuration.Draining {
		t.Errorf("third %v", third)
	}
	if err := s.Delete(ctx, &slice); err != nil {
		t.Fatal(err)
	}
	s.informers["Slice"].Delete(&slice)
	if fourth := next(); len(fourth[1].Slices()) != 1 {
		t.Errorf("fourth %v", fourth)
	}
	if len(told) != 0 {
		t.Errorf("%d more Snapshots than changes", len(told))
	}
	late := make(chan *configuration.Snapshot, 1)
	w.Follow(func(before, now *configuration.Snapshot) { late <- now })
	if got := <-late; got != w.Current() {
		t.Error("who comes late is not told what is in force")
	}
}

// An API server that is away leaves what was, and one that is back is asked without anybody's word.
func TestWatcherOutlivesTheAPIServer(t *testing.T) {
	s := serve(t, objects(t))
	registry := prometheus.NewRegistry()
	w := NewWatcher(s, "ns", "core5g", slog.New(slog.DiscardHandler), registry)
	s.away.Store(true)
	if err := w.Refresh(t.Context()); err == nil || w.Current() != nil {
		t.Fatalf("%v, %v", err, w.Current())
	}
	s.away.Store(false)
	if err := w.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	was := w.Current()
	s.away.Store(true)
	if err := w.Refresh(t.Context()); err == nil || w.Current() != was {
		t.Fatalf("%v, %v", err, w.Current())
	}
	if got := testutil.ToFloat64(w.Metrics.Failures); got != 2 {
		t.Errorf("%v failures, want 2", got)
	}
	<-s.refused
	told := make(chan struct{}, 1)
	w.Follow(func(before, _ *configuration.Snapshot) {
		if before != nil {
			told <- struct{}{}
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { w.Run(ctx); close(ended) }()
	defer func() { cancel(); <-ended }()
	if err := s.Delete(ctx, &objects(t).Slices[1]); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.refused: // Run has asked in vain
	case <-told:
		t.Fatal("told of what could not be read")
	}
	s.away.Store(false)
	select {
	case <-told:
	case <-time.After(time.Minute):
		t.Error("not asked again")
	}
}

// What cannot be used is said once in the log, stands in a metric as long as it is so, and is said to be well again.
func TestWatcherNamesWhatItRefuses(t *testing.T) {
	s := serve(t, objects(t))
	var log bytes.Buffer
	w := NewWatcher(s, "ns", "core5g", slog.New(slog.NewTextHandler(&log, nil)), prometheus.NewRegistry())
	refresh := func(sd string) string {
		t.Helper()
		var slice v1alpha1.Slice
		if err := s.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "iot"}, &slice); err != nil {
			t.Fatal(err)
		}
		slice.Spec.SNSSAI.SD = sd
		if err := s.Update(t.Context(), &slice); err != nil {
			t.Fatal(err)
		}
		log.Reset()
		if err := w.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		return log.String()
	}
	if said := refresh("112233"); said != "" {
		t.Errorf("of a good one: %s", said)
	}
	if said := refresh("wrong"); strings.Count(said, "\n") != 1 || !strings.Contains(said, "kind=Slice name=iot in_force=earlier") || !strings.Contains(said, "six hexadecimal digits") {
		t.Errorf("of a wrong one: %s", said)
	}
	if said := refresh("wrong"); said != "" {
		t.Errorf("once more: %s", said)
	}
	if got := testutil.ToFloat64(w.Metrics.Refused.WithLabelValues("Slice", "iot", "earlier")); got != 1 {
		t.Errorf("metric %v", got)
	}
	if said := refresh("112233"); !strings.Contains(said, "can be used again") {
		t.Errorf("of a good one again: %s", said)
	}
	if got := testutil.CollectAndCount(w.Metrics.Refused); got != 0 {
		t.Errorf("%d are still refused", got)
	}
	if got := testutil.ToFloat64(w.Metrics.Changes); got != 1 {
		t.Errorf("%v changes, want 1", got)
	}
}

// Pods serve the Slices that are theirs: one with pods of its own, or all others of the core.
func TestWatcherServesItsSlices(t *testing.T) {
	for of, want := range map[string]string{"": "internet", "iot": "iot", "internet": "", "nothing": ""} {
		o := objects(t)
		o.Slices[1].Spec.SessionManagement = v1alpha1.SessionManagementDedicated
		o.Slices = append(o.Slices, slice(t, 3, "stranger", "999999", "dnn: internet, uePools: [10.49.0.0/16]"))
		o.Slices[2].Spec.CoreRef.Name = "another"
		w := NewWatcher(serve(t, o), "ns", "core5g", slog.New(slog.DiscardHandler), prometheus.NewRegistry())
		w.Serve(of)
		if err := w.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range w.Current().Slices() {
			got = append(got, s.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("pods of %q serve %v, want %q", of, got, want)
		}
	}
}
