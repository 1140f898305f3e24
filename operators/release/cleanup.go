package release

import (
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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// teardownOrder says which kind goes first: a slice releases its sessions while its UPF still
// answers, and the core goes last because the others point at it.
var teardownOrder = []string{"Slice", "UPFInstance", "Subscriber", "Core5G"}

// managedByLabel marks the pods that the operator made.
var managedByLabel = client.MatchingLabels{"app.kubernetes.io/managed-by": "core5g-operator"}

func isTeardownKind(kind string) bool { return slices.Contains(teardownOrder, kind) }

// Cleanup deletes the custom resources of one namespace and waits until they and their pods are
// gone. It always ends: past Timeout the finalizers that nobody served are removed by force, and
// owner references take the rest down.
type Cleanup struct {
	Namespace string
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
		u.Log.Warn("nobody served the finalizers in time: removing them",
			"kind", kind, "name", items[i].GetName(), "finalizers", items[i].GetFinalizers())
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		if err := c.Patch(ctx, &items[i], patch); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("remove finalizers of %s %s: %w", kind, items[i].GetName(), err)
		}
	}
	forced, cancel := context.WithTimeout(ctx, u.Force)
	defer cancel()
	return u.awaitGone(forced, c, kind)
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
		var names []string
		for _, pod := range pods.Items {
			names = append(names, pod.Name)
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
	return list.Items, nil
}
