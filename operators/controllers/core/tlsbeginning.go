package core

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

// beginTLS writes down what a new core begins with where its spec does not say how the SBI is protected, so that it is the same however the core was made; and
// what a spec says, so that a core whose spec does not say it any more goes on as it is, and not in clear text. One that an operator has looked at before, whose
// spec says nothing, is of before, and stays in clear text.
func (r *Reconciler) beginTLS(ctx context.Context, core *api.Core5G) error {
	fresh := specs.CoreIsNew(core)
	if core.Annotations[specs.AnnotationTLSBegan] != "" || !fresh && core.Spec.TLS.Mode == "" {
		return nil
	}
	certManager := false // of a core that is there already the operator signs, unless its spec says otherwise
	if fresh {
		_, err := r.RESTMapper().RESTMapping(specs.IssuerKind.GroupKind(), specs.IssuerKind.Version)
		if err != nil && !meta.IsNoMatchError(err) {
			return err
		}
		certManager = err == nil
	}
	began := specs.BeginTLS(core, certManager)
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
	logf.FromContext(ctx).Info("how the SBI is protected is written down", "new", fresh, "mode", began.Mode, "authority", began.Authority)
	return nil
}
