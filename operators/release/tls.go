package release

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/specs"
)

// How the SBI of the chart's Core5G is protected where the values do not say it. A new core gets mutual TLS, and
// cert-manager's authority where the cluster has cert-manager. A change of the mode restarts the control plane,
// and one of the authority has functions refuse each other for a while: so what a core began with is written on it,
// and stays what it has until the values say something else. A core of before has no such annotation, and stays as
// the API's own defaults have it.

// settleTLS completes spec.tls of a core that is about to be applied.
func (a Apply) settleTLS(ctx context.Context, c client.Client, core *unstructured.Unstructured) error {
	said, _, err := unstructured.NestedMap(core.Object, "spec", "tls")
	if err != nil {
		return fmt.Errorf("spec.tls: %w", err)
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(core.GroupVersionKind())
	var began map[string]string
	switch err := c.Get(ctx, client.ObjectKeyFromObject(core), live); {
	case err == nil:
		written := live.GetAnnotations()[specs.AnnotationTLSBegan]
		if written == "" {
			return nil
		}
		if err := json.Unmarshal([]byte(written), &began); err != nil {
			return fmt.Errorf("annotation %s is not what it was made as, {\"mode\": …, \"authority\": …}: %w; write core.spec.tls.mode and remove the annotation", specs.AnnotationTLSBegan, err)
		}
	case apierrors.IsNotFound(err):
		if began, err = beginning(c, core); err != nil {
			return err
		}
		a.Log.Info("a new core", "mode", began["mode"], "authority", began["authority"])
	default:
		return err
	}
	text, err := json.Marshal(began)
	if err != nil {
		return err
	}
	annotations := maps.Clone(core.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[specs.AnnotationTLSBegan] = string(text)
	core.SetAnnotations(annotations)
	if said == nil {
		said = map[string]any{}
	}
	for key, value := range began {
		if _, ok := said[key]; !ok {
			said[key] = value
		}
	}
	return unstructured.SetNestedMap(core.Object, said, "spec", "tls")
}

// beginning is what a new core gets for what is not said.
func beginning(c client.Client, core *unstructured.Unstructured) (map[string]string, error) {
	typed := &api.Core5G{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(core.Object, typed); err != nil {
		return nil, err
	}
	_, err := c.RESTMapper().RESTMapping(specs.IssuerKind.GroupKind(), specs.IssuerKind.Version)
	if err != nil && !meta.IsNoMatchError(err) {
		return nil, err
	}
	b := specs.BeginTLS(typed, err == nil)
	return map[string]string{"mode": string(b.Mode), "authority": string(b.Authority)}, nil
}
