package release

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// How the SBI of the chart's Core5G is protected where the values do not say it. A new core gets mutual TLS, and
// cert-manager's authority where the cluster has cert-manager. A change of the mode restarts the control plane,
// and one of the authority has functions refuse each other for a while: so what a core began with is written on it,
// and stays what it has until the values say something else. A core of before has no such annotation, and stays as
// the API's own defaults have it.

// annotationBegan holds the mode and authority of spec.tls that a core began with, in JSON.
const annotationBegan = "core5g.dev/tls-began-with"

// issuerKind tells whether there is a cert-manager.
var issuerKind = schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Issuer"}

// sbiFunctions are those whose image decides whether callers have certificates to show.
var sbiFunctions = []string{"amf", "smf", "nrf", "pcf", "chf"}

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
		written := live.GetAnnotations()[annotationBegan]
		if written == "" {
			return nil
		}
		if err := json.Unmarshal([]byte(written), &began); err != nil {
			return fmt.Errorf("annotation %s is not what it was made as, {\"mode\": …, \"authority\": …}: %w; write core.spec.tls.mode and remove the annotation", annotationBegan, err)
		}
	case apierrors.IsNotFound(err):
		if began, err = beginning(c, core, said); err != nil {
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
	annotations[annotationBegan] = string(text)
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
func beginning(c client.Client, core *unstructured.Unstructured, said map[string]any) (map[string]string, error) {
	began := map[string]string{"mode": "Mutual", "authority": "Operator"}
	foreign, err := foreignImages(core)
	if err != nil {
		return nil, err
	}
	if foreign {
		// Functions of other images have no certificate to show.
		began["mode"] = "Server"
	}
	_, err = c.RESTMapper().RESTMapping(issuerKind.GroupKind(), issuerKind.Version)
	switch {
	case err == nil:
		began["authority"] = "CertManager"
	case !meta.IsNoMatchError(err):
		return nil, err
	}
	for key := range began {
		if value, ok := said[key].(string); ok {
			began[key] = value
		}
	}
	return began, nil
}

// foreignImages tells whether a function of the SBI runs from an image that the values name.
func foreignImages(core *unstructured.Unstructured) (bool, error) {
	functions, _, err := unstructured.NestedSlice(core.Object, "spec", "functions")
	if err != nil {
		return false, fmt.Errorf("spec.functions: %w", err)
	}
	return slices.ContainsFunc(functions, func(entry any) bool {
		function, _ := entry.(map[string]any)
		name, _ := function["name"].(string)
		image, _ := function["image"].(string)
		return image != "" && slices.Contains(sbiFunctions, name)
	}), nil
}
