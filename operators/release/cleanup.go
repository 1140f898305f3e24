package release

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// teardownOrder says which kind goes first: a slice releases its sessions while its UPF still
// answers, and the core goes last because the others point at it.
var teardownOrder = []string{"Slice", "UPFInstance", "Subscriber", "Core5G"}

// helmRelease is the annotation that Helm writes on what it has made.
const helmRelease = "meta.helm.sh/release-name"

// managedByLabel marks the pods that the operator made.
var managedByLabel = client.MatchingLabels{api.LabelManagedBy: api.ManagedBy}

func isTeardownKind(kind string) bool { return slices.Contains(teardownOrder, kind) }

// Cleanup deletes the custom resources of one namespace and waits until they and their pods are
// gone. What belongs to another release stays. It always ends: past Timeout the operator's finalizers that nobody
// served are removed by force, and owner references take the rest down. A finalizer of somebody else's is his to
// remove: it is an error that names it.
type Cleanup struct {
	Namespace string
	// Release is the one that is uninstalled.
	Release string
	// Keep lists kinds that stay.
	Keep []string
	// Timeout is shared by the orderly deletions; Force is added once finalizers were removed.
	Timeout, Force time.Duration
	Log            *slog.Logger
}

// Run is safe to repeat.
func (u Cleanup) Run(ctx context.Context, c client.Client) error {
	orderly, cancel := context.WithTimeout(ctx, u.Timeout)
	defer cancel()
	for _, kind := range teardownOrder {
		if slices.Contains(u.Keep, kind) {
			continue
		}
		if err := u.deleteKind(ctx, orderly, c, kind); err != nil {
			return err
		}
	}
	forced, cancel := context.WithTimeout(ctx, u.Timeout+u.Force)
	defer cancel()
	return u.awaitPods(forced, c)
}

// deleteKind deletes the objects of one kind and waits for their end, first for the operator to
// serve the finalizers, then, when that did not end in time, without them.
func (u Cleanup) deleteKind(ctx, orderly context.Context, c client.Client, kind string) error {
	items, err := u.list(ctx, c, kind)
	if err != nil || len(items) == 0 {
		return err
	}
	for i := range items {
		if err := c.Delete(ctx, &items[i], client.PropagationPolicy("Background")); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete %s %s: %w", kind, items[i].GetName(), err)
		}
		u.Log.Info("deleting", "kind", kind, "name", items[i].GetName())
	}
	if err := u.awaitGone(orderly, c, kind); err == nil || !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if items, err = u.list(ctx, c, kind); err != nil {
		return err
	}
	for i := range items {
		before := items[i].DeepCopy()
		if !controllerutil.RemoveFinalizer(&items[i], api.Finalizer) {
			continue
		}
		u.Log.Warn("nobody served the operator's finalizer in time: removing it", "kind", kind, "name", items[i].GetName())
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		if err := c.Patch(ctx, &items[i], patch); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("remove the finalizer of %s %s: %w", kind, items[i].GetName(), err)
		}
	}
	forced, cancel := context.WithTimeout(ctx, u.Force)
	defer cancel()
	err = u.awaitGone(forced, c, kind)
	if err == nil {
		return nil
	}
	for i := range items {
		if others := items[i].GetFinalizers(); len(others) > 0 {
			return fmt.Errorf("%s %s has the finalizer %s, which is not the operator's: whoever put it there has to take it off", kind, items[i].GetName(), strings.Join(others, ", "))
		}
	}
	return err
}

// awaitGone waits until no object of the kind is left.
func (u Cleanup) awaitGone(ctx context.Context, c client.Client, kind string) error {
	return u.await(ctx, kind, func(ctx context.Context) ([]string, error) {
		items, err := u.list(ctx, c, kind)
		var names []string
		for _, item := range items {
			names = append(names, item.GetName())
		}
		return names, err
	})
}

// awaitPods waits until garbage collection has taken the operator's pods.
func (u Cleanup) awaitPods(ctx context.Context, c client.Client) error {
	err := u.await(ctx, "Pod", func(ctx context.Context) ([]string, error) {
		pods := &corev1.PodList{}
		err := c.List(ctx, pods, client.InNamespace(u.Namespace), managedByLabel)
		if err != nil {
			return nil, err
		}
		cores, err := u.othersCores(ctx, c)
		var names []string
		for _, pod := range pods.Items {
			if !slices.Contains(cores, pod.Labels[api.LabelInstance]) {
				names = append(names, pod.Name)
			}
		}
		return names, err
	})
	if err == nil {
		u.Log.Info("nothing of the operator's is left", "namespace", u.Namespace)
	}
	return err
}

// await polls until list returns no name. An API server that does not answer is asked again until
// the context ends; then the error says what was left, or why nobody knows.
func (u Cleanup) await(ctx context.Context, kind string, list func(context.Context) ([]string, error)) error {
	left := ""
	var last error
	err := wait.PollUntilContextCancel(ctx, retryEvery, true, func(ctx context.Context) (bool, error) {
		var names []string
		if names, last = list(ctx); last != nil {
			return false, nil
		}
		if now := strings.Join(names, " "); now != left {
			left = now
			u.Log.Info("still there", "kind", kind, "names", left)
		}
		return len(names) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("%s still there: [%s]: %w", kind, left, errors.Join(err, last))
	}
	return nil
}

// list returns the objects of a kind; a cluster that does not know the kind has none.
func (u Cleanup) list(ctx context.Context, c client.Client, kind string) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kindOf(kind + "List"))
	if err := c.List(ctx, list, client.InNamespace(u.Namespace)); err != nil {
		if meta.IsNoMatchError(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("list %s: %w", kind, err)
	}
	cores, err := u.othersCores(ctx, c)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(o unstructured.Unstructured) bool {
		core, _, _ := unstructured.NestedString(o.Object, "spec", "coreRef", "name")
		return u.others(&o) || (kind != "Core5G" && slices.Contains(cores, cmp.Or(core, api.DefaultCore)))
	}), nil
}

// othersCores names the Core5Gs of other releases: what refers to them is theirs too.
func (u Cleanup) othersCores(ctx context.Context, c client.Client) ([]string, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kindOf("Core5GList"))
	if err := c.List(ctx, list, client.InNamespace(u.Namespace)); err != nil && !meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("list Core5G: %w", err)
	}
	var names []string
	for i := range list.Items {
		if u.others(&list.Items[i]) {
			names = append(names, list.Items[i].GetName())
		}
	}
	return names, nil
}

// others reports whether the chart's mark, or on a Subscriber Helm's, names another release.
func (u Cleanup) others(o *unstructured.Unstructured) bool {
	release := o.GetLabels()[releaseLabel]
	if release == "" && o.GetKind() == "Subscriber" {
		release = o.GetAnnotations()[helmRelease] // a chart of the user's own may hold them
	}
	return release != "" && release != u.Release
}
