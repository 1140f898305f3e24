package applying

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/specs"
)

// Addresses and endpoints that were given out stand in a ConfigMap beside the custom resource (specs/allocations.go), which its controller
// alone writes. A restore brings objects in any order, children before parents and one Slice before another: an entry whose
// Slice is not there is no waste but a Slice that has yet to come, unless the status, which no backup has, knows it too: then it has gone. A Service that is there without its address was
// put back by a tool that leaves addresses out, because the address of a Service never changes: it is made anew with the one that is written down. Where that
// cannot be had any more, an Event says which one there is now.

// Allocations are the entries of one custom resource; nil keeps none.
type Allocations struct {
	Record *corev1.ConfigMap
	events record.EventRecorder
	of     client.Object
	// had is what is written, nil where nothing is; Entries is what is to be.
	had, Entries map[string]string
}

// AllocationsOf reads what is written.
func (a *Applier) AllocationsOf(ctx context.Context, of client.Object, events record.EventRecorder, record *corev1.ConfigMap) (*Allocations, error) {
	out := &Allocations{Record: record, events: events, of: of, Entries: map[string]string{}}
	there := &corev1.ConfigMap{}
	err := a.client.Get(ctx, client.ObjectKeyFromObject(record), there)
	if apierrors.IsNotFound(err) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	out.had, out.Entries = there.Data, maps.Clone(there.Data)
	if out.Entries == nil {
		out.had, out.Entries = map[string]string{}, map[string]string{}
	}
	return out, nil
}

// Keep writes what has changed.
func (a *Applier) Keep(ctx context.Context, k *Allocations) error {
	if k == nil || maps.Equal(k.had, k.Entries) {
		return nil
	}
	if k.had == nil {
		fresh := k.Record.DeepCopy()
		fresh.Data = k.Entries
		err := a.client.Create(ctx, fresh, client.FieldOwner(specs.FieldOwner))
		if err == nil {
			k.had = maps.Clone(k.Entries)
		}
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		there := &corev1.ConfigMap{}
		if err := a.Live.Get(ctx, client.ObjectKeyFromObject(k.Record), there); err != nil {
			return client.IgnoreNotFound(err)
		}
		if there.Labels[api.LabelManagedBy] != specs.FieldOwner {
			return &cluster.TakenError{Kind: "ConfigMap", Name: k.Record.Name}
		}
		return err // the cache is behind: the next pass sees it
	}
	changes := map[string]any{}
	for key := range k.had {
		if _, is := k.Entries[key]; !is {
			changes[key] = nil
		}
	}
	for key, value := range k.Entries {
		if old, is := k.had[key]; !is || old != value {
			changes[key] = value
		}
	}
	patch, err := json.Marshal(map[string]any{"data": changes})
	if err != nil {
		return err
	}
	if err := a.client.Patch(ctx, k.Record.DeepCopy(), client.RawPatch("application/merge-patch+json", patch), client.FieldOwner(specs.FieldOwner)); err != nil {
		return client.IgnoreNotFound(err)
	}
	k.had = maps.Clone(k.Entries)
	return nil
}

// ForgetAllocations takes the whole of it away, with its custom resource.
func (a *Applier) ForgetAllocations(ctx context.Context, record *corev1.ConfigMap) error {
	there := &corev1.ConfigMap{}
	err := a.Live.Get(ctx, client.ObjectKeyFromObject(record), there) // the cache may not know of the last one yet
	if err != nil || there.Labels[api.LabelManagedBy] != specs.FieldOwner {
		return client.IgnoreNotFound(err)
	}
	return client.IgnoreNotFound(a.client.Delete(ctx, there))
}

// ForgetService takes away the entries of a Service that is not wanted any more.
func (k *Allocations) ForgetService(name string) {
	if k == nil {
		return
	}
	maps.DeleteFunc(k.Entries, func(key, _ string) bool { return specs.IsAllocationOfService(key, name) })
}

// noteService writes down what a Service has.
func (k *Allocations) noteService(s *corev1.Service) {
	has := specs.AllocationsOfService(s)
	if k == nil || has[s.Name] == "" {
		return
	}
	k.ForgetService(s.Name)
	maps.Copy(k.Entries, has)
}

// ApplyService applies a Service, with the addresses that it had.
func (a *Applier) ApplyService(ctx context.Context, k *Allocations, s *corev1.Service) error {
	if err := a.giveBack(ctx, k, s); err != nil {
		return err
	}
	if err := a.Apply(ctx, s); err != nil {
		return err
	}
	k.noteService(s)
	return nil
}

// giveBack makes the Service with the addresses that are written for it, where it is not there or without them.
func (a *Applier) giveBack(ctx context.Context, k *Allocations, s *corev1.Service) error {
	if k == nil || k.Entries[s.Name] == "" || s.Spec.ClusterIP == corev1.ClusterIPNone {
		return nil
	}
	there := &corev1.Service{}
	err := a.client.Get(ctx, client.ObjectKeyFromObject(s), there)
	if client.IgnoreNotFound(err) != nil || err == nil && specs.HasAllocatedAddress(there, k.Entries) {
		return err
	}
	there = &corev1.Service{}
	err = a.Live.Get(ctx, client.ObjectKeyFromObject(s), there) // the cache may be behind what was done last
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if err == nil {
		if err := cluster.Belongs("Service", there, metav1.GetControllerOf(s)); err != nil || specs.HasAllocatedAddress(there, k.Entries) {
			return err
		}
		if err := client.IgnoreNotFound(a.client.Delete(ctx, there, client.Preconditions{UID: &there.UID})); err != nil {
			return err
		}
	}
	want := specs.WithAllocations(s, k.Entries)
	err = a.client.Create(ctx, want, client.FieldOwner(specs.FieldOwner))
	if apierrors.IsInvalid(err) {
		k.events.Eventf(k.of, corev1.EventTypeWarning, "AddressLost", "Service %s cannot have %s again, as ConfigMap %s says, and gets another address: %v",
			s.Name, words(specs.AllocationsOfService(want)), k.Record.Name, err)
		k.ForgetService(s.Name)
		return nil
	}
	if apierrors.IsAlreadyExists(err) { // it is being deleted, or somebody else was faster
		return fmt.Errorf("make Service %s with its address: %w", s.Name, err)
	}
	return err
}

func words(entries map[string]string) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		out = append(out, entries[key])
	}
	return strings.Join(out, ", ")
}

// AllocationsMoved passes the ConfigMaps that allocations stand in, of Core5Gs, of Slices or of UPFInstances by the label that names them.
func AllocationsMoved(of string) builder.WatchesOption {
	return builder.WithPredicates(predicate.NewPredicateFuncs(func(o client.Object) bool {
		l := o.GetLabels()
		if l[api.LabelComponent] != specs.ComponentAllocations {
			return false
		}
		if of == api.LabelInstance {
			return l[api.LabelSlice] == "" && l[api.LabelUPF] == ""
		}
		return l[of] != ""
	}))
}

// NamedBy leads to the custom resource that a label names.
func NamedBy(label string) func(context.Context, client.Object) []reconcile.Request {
	return func(_ context.Context, o client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace(), Name: o.GetLabels()[label]}}}
	}
}
