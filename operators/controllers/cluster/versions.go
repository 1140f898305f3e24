package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/specs"
)

// The definitions serve two versions of one shape (docs/adr/0027-two-versions-of-one-shape.md), and the API server remembers in metadata.managedFields by
// which of them each field was written. The definitions of the release before know one of them. Where they are put back, an API server refuses any server-side
// apply to an object of which a field was written by the other one: "request to convert CR to an invalid group/version", which the job of a `helm rollback`
// would wait for in vain. kubectl writes by the newest version, be it one annotation. So what is remembered is written anew as of the version that is stored:
// the fields are the same ones, and whose they are. (Not by a patch of the status, which an API server does not take them from.)

// StoredVersion has an object's fields written by the version that is stored.
type StoredVersion struct {
	client.Client
	// Kind of the objects.
	Kind client.Object
}

// SetupWithManager follows the objects of the kind that have fields of another version.
func (r *StoredVersion) SetupWithManager(mgr ctrl.Manager) error {
	kind, err := mgr.GetClient().GroupVersionKindFor(r.Kind)
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).Named(strings.ToLower(kind.Kind)+"-version").
		For(r.Kind, builder.WithPredicates(predicate.NewPredicateFuncs(func(o client.Object) bool { return OfAnotherVersion(o.GetManagedFields()) }))).
		Complete(r)
}

// Reconcile writes the notes of one object anew. Where somebody else has been at it meanwhile, the cache will say so.
func (r *StoredVersion) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	o := r.Kind.DeepCopyObject().(client.Object)
	if err := r.Get(ctx, req.NamespacedName, o); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	fields := o.GetManagedFields()
	if !OfAnotherVersion(fields) {
		return ctrl.Result{}, nil
	}
	fields = slices.Clone(fields)
	for i := range fields {
		if isOfAnotherVersion(fields[i]) {
			fields[i].APIVersion = api.GroupVersion.String()
		}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": o.GetResourceVersion(), "managedFields": fields}})
	if err != nil {
		return ctrl.Result{}, err
	}
	err = r.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(specs.FieldOwner))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return ctrl.Result{}, nil
	}
	if err != nil {
		err = fmt.Errorf("write the fields of another version as of %s: %w", api.GroupVersion, err)
	}
	if apierrors.IsInvalid(err) { // it has been before there was a rule
		err = reconcile.TerminalError(err)
	}
	return ctrl.Result{}, err
}

func isOfAnotherVersion(f metav1.ManagedFieldsEntry) bool {
	return strings.HasPrefix(f.APIVersion, api.GroupVersion.Group+"/") && f.APIVersion != api.GroupVersion.String()
}

func OfAnotherVersion(fields []metav1.ManagedFieldsEntry) bool {
	return slices.ContainsFunc(fields, isOfAnotherVersion)
}
