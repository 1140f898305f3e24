package release

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// fieldOwner is the server-side apply owner of the chart's fields.
	fieldOwner = "core5g-chart"
	// releaseLabel marks what Apply made, so that a later run finds what is no longer wanted.
	releaseLabel = "core5g.dev/release"

	retryEvery = 500 * time.Millisecond
)

// prunedKinds are the kinds that a chart's defaults may hold.
var prunedKinds = []string{"UPFInstance", "Core5G"}

// Apply puts the custom resources of a folder in place.
type Apply struct {
	// Directory holds YAML files, each with any number of documents; an empty folder is allowed
	// and prunes everything that an earlier run made.
	Directory string
	// Release is the value of the label that marks the objects of this release.
	Release string
	// Namespace is where the objects go; one that names another namespace is refused.
	Namespace string
	// Timeout bounds the retries while the API server does not know the kinds yet.
	Timeout time.Duration
	Log     *slog.Logger
}

// Run applies every object, then deletes those that the release made earlier and no longer wants.
func (a Apply) Run(ctx context.Context, c client.Client) error {
	objects, err := a.read()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, a.Timeout)
	defer cancel()
	for _, object := range objects {
		if err := a.applyOne(ctx, c, object); err != nil {
			return err
		}
	}
	return a.prune(ctx, c, objects)
}

// read decodes the folder's files and checks them before anything is changed.
func (a Apply) read() ([]*unstructured.Unstructured, error) {
	paths, err := filepath.Glob(filepath.Join(a.Directory, "*.yaml"))
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(a.Directory); err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		found, err := a.decode(content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

func (a Apply) decode(content []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), len(content)+1)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, err
		}
		if len(object.Object) == 0 {
			continue
		}
		gvk := object.GroupVersionKind()
		if gvk != kindOf(gvk.Kind) || !slices.Contains(prunedKinds, gvk.Kind) {
			return nil, fmt.Errorf("%s %q: only %v of %s/%s belong to a chart's defaults",
				gvk.Kind, object.GetName(), prunedKinds, group, version)
		}
		if ns := object.GetNamespace(); ns != "" && ns != a.Namespace {
			return nil, fmt.Errorf("%s %q: namespace %q is not the release's (%q)",
				gvk.Kind, object.GetName(), ns, a.Namespace)
		}
		object.SetNamespace(a.Namespace)
		labels := object.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[releaseLabel] = a.Release
		object.SetLabels(labels)
		objects = append(objects, object)
	}
}

// applyOne retries while the API server does not serve the kind yet, or cannot be reached: right
// after an install the definition is established some hundred milliseconds after it was created. A
// refusal (a value that the schema or a CEL rule forbids) is final.
func (a Apply) applyOne(ctx context.Context, c client.Client, object *unstructured.Unstructured) error {
	kind, name := object.GetKind(), object.GetName()
	var last error
	err := wait.PollUntilContextCancel(ctx, retryEvery, true, func(ctx context.Context) (bool, error) {
		wanted := object.DeepCopy()
		if last = a.free(ctx, c, wanted); errors.As(last, new(takenError)) {
			return false, last
		}
		if last == nil && kind == "Core5G" {
			if last = a.settleTLS(ctx, c, wanted); apierrors.IsForbidden(last) {
				return false, last
			}
		}
		if last == nil {
			last = c.Patch(ctx, wanted, client.Apply, client.FieldOwner(fieldOwner), client.ForceOwnership)
		}
		if last == nil {
			return true, nil
		}
		if apierrors.IsInvalid(last) || apierrors.IsForbidden(last) || apierrors.IsBadRequest(last) {
			return false, last
		}
		a.Log.Info("not accepted yet, trying again", "kind", kind, "name", name, "error", last.Error())
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("%s %s: %w", kind, name, cmpErr(last, err))
	}
	a.Log.Info("applied", "kind", kind, "name", name)
	return nil
}

// takenError says that an object of the name is there, and not the release's.
type takenError struct{ kind, name, release string }

func (e takenError) Error() string {
	whose := "was not made by this release"
	if e.release != "" {
		whose = "belongs to release " + e.release
	}
	section := "core"
	if e.kind == "UPFInstance" {
		section = "upf"
	}
	return fmt.Sprintf("it exists and %s; it is left as it is: write another %s.name, or %s.create=false", whose, section, section)
}

// free looks whether the object may be written: it is not there, or this release made it.
func (a Apply) free(ctx context.Context, c client.Client, wanted *unstructured.Unstructured) error {
	there := &unstructured.Unstructured{}
	there.SetGroupVersionKind(wanted.GroupVersionKind())
	err := c.Get(ctx, client.ObjectKeyFromObject(wanted), there)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if release := there.GetLabels()[releaseLabel]; release != a.Release {
		return takenError{wanted.GetKind(), wanted.GetName(), release}
	}
	return nil
}

// prune deletes the release's objects that are not among the wanted ones. The operator is running
// and serves their finalizers.
func (a Apply) prune(ctx context.Context, c client.Client, wanted []*unstructured.Unstructured) error {
	for _, kind := range prunedKinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kindOf(kind + "List"))
		var last error
		err := wait.PollUntilContextCancel(ctx, retryEvery, true, func(ctx context.Context) (bool, error) {
			last = c.List(ctx, list, client.InNamespace(a.Namespace), client.MatchingLabels{releaseLabel: a.Release})
			if apierrors.IsForbidden(last) {
				return false, last
			}
			return last == nil, nil
		})
		if err != nil {
			return fmt.Errorf("list %s: %w", kind, cmpErr(last, err))
		}
		for i := range list.Items {
			item := &list.Items[i]
			if slices.ContainsFunc(wanted, func(w *unstructured.Unstructured) bool {
				return w.GetKind() == kind && w.GetName() == item.GetName()
			}) {
				continue
			}
			if err := c.Delete(ctx, item); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("delete %s %s: %w", kind, item.GetName(), err)
			}
			a.Log.Info("deleted: the release no longer has it", "kind", kind, "name", item.GetName())
		}
	}
	return nil
}

// cmpErr prefers the last answer of the API server over "context deadline exceeded".
func cmpErr(last, err error) error {
	if last != nil {
		return last
	}
	return err
}
