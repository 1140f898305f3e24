package objectcache

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

const applied = corev1.LastAppliedConfigAnnotation

func object(annotations map[string]string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: "ue-1", Annotations: annotations, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
	}}
}

func TestManagedFieldsAreTakenOut(t *testing.T) {
	annotations := map[string]string{applied: "{}", "a": "b"}
	o := object(annotations)
	if _, err := WithoutManagedFields(o); err != nil {
		t.Fatal(err)
	}
	want := object(annotations)
	want.ManagedFields = nil
	if d := cmp.Diff(want, o); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	tombstone := toolscache.DeletedFinalStateUnknown{Key: "ue-1", Obj: o}
	if got, err := WithoutManagedFields(tombstone); err != nil || got != any(tombstone) {
		t.Errorf("a tombstone: %v, %v", got, err)
	}
}

// server answers as an API server: a list of any age comes whole, the newest in pages of the limit.
type server struct {
	objects int
	asked   []metav1.ListOptions
}

func (s *server) list(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
	s.asked = append(s.asked, options)
	from, to := 0, s.objects
	if options.Continue != "" {
		if _, err := fmt.Sscan(options.Continue, &from); err != nil {
			return nil, err
		}
	}
	list := &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
	if options.ResourceVersion == "" && options.Limit > 0 && from+int(options.Limit) < to {
		to = from + int(options.Limit)
		list.Continue = fmt.Sprint(to)
	}
	for i := from; i < to; i++ {
		o := object(map[string]string{applied: "{}"})
		o.Name = fmt.Sprintf("ue-%d", i)
		list.Items = append(list.Items, *o)
	}
	return list, nil
}

func TestAnInformerListsInPages(t *testing.T) {
	const objects, page = 1234, 500
	s := &server{objects: objects}
	watcher := watch.NewFake()
	informer := NewInformer(WithoutManagedFields)(&toolscache.ListWatch{
		ListWithContextFunc:  s.list,
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return watcher, nil },
	}, &metav1.PartialObjectMetadata{}, 0, toolscache.Indexers{})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); informer.RunWithContext(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	if !toolscache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		t.Fatal("not synced")
	}
	var limits []int64
	for _, o := range s.asked {
		limits = append(limits, o.Limit)
	}
	if d := cmp.Diff([]int64{page, page, page}, limits); d != "" {
		t.Errorf("pages (-want +got):\n%s", d)
	}
	stored := informer.GetStore().List()
	if len(stored) != objects {
		t.Errorf("%d objects, want %d", len(stored), objects)
	}
	for _, o := range stored {
		if m := o.(*metav1.PartialObjectMetadata); m.ManagedFields != nil {
			t.Fatalf("%s keeps %v", m.Name, m.ManagedFields)
		}
	}
	// What the watch brings is after the list.
	watcher.Modify(func() *metav1.PartialObjectMetadata {
		o := object(nil)
		o.Labels = map[string]string{"changed": "yes"}
		return o
	}())
	deadline := time.Now().Add(30 * time.Second)
	for {
		o, _, err := informer.GetStore().GetByKey("ue-1")
		if err == nil && o.(*metav1.PartialObjectMetadata).Labels["changed"] == "yes" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("a change does not come through")
		}
		time.Sleep(10 * time.Millisecond)
	}
}
