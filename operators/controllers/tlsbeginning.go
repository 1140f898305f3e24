package controllers

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/specs"
)

// beginTLS writes down what a new core begins with where its spec does not say how the SBI is protected, so that it is the same however the core was made. One
// that an operator has looked at before, without writing it down, is of before, and stays in clear text.
func (r *CoreReconciler) beginTLS(ctx context.Context, core *api.Core5G) error {
	if !specs.TLSIsOpen(core) {
		return nil
	}
	_, err := r.RESTMapper().RESTMapping(specs.IssuerKind.GroupKind(), specs.IssuerKind.Version)
	if err != nil && !meta.IsNoMatchError(err) {
		return err
	}
	began := specs.BeginTLS(core, err == nil)
	text, err := json.Marshal(began)
	if err != nil {
		return err
	}
	before := core.DeepCopy()
	if core.Annotations == nil {
		core.Annotations = map[string]string{}
	}
	core.Annotations[specs.AnnotationTLSBegan] = string(text)
	if err := r.Patch(ctx, core, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(specs.FieldOwner)); err != nil {
		return fmt.Errorf("write down what a new core begins with: %w", err)
	}
	logf.FromContext(ctx).Info("a new core", "mode", began.Mode, "authority", began.Authority)
	return nil
}
