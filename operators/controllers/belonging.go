package controllers

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/specs"
)

// Names of objects follow from the names of custom resources, so that a user's own object may have one
// already. It is left as it is: nothing is written to it, nobody comes to own it, and nobody deletes it. The
// custom resource that needs the name says so, and has it when the object is gone.
//
// An object is the operator's where the custom resource that it is made for controls it, or where nobody does
// and it has the operator's label: it was left behind by a deletion with --cascade=orphan.

// takenRetry is how soon a name that somebody else has is looked at again: his objects are in no cache.
const takenRetry = 10 * time.Second

// takenError says that an object of somebody else has a name that is needed.
type takenError struct {
	kind, name string
	// holder is who controls the object, if anybody does.
	holder *metav1.OwnerReference
	// passing is set where an earlier object of the owner's name controls it: it is about to go.
	passing bool
}

func (e *takenError) Error() string {
	switch {
	case e.passing:
		return fmt.Sprintf("%s %s belongs to an earlier %s %s and goes with it; it is made anew then", e.kind, e.name, e.holder.Kind, e.holder.Name)
	case e.holder != nil:
		return fmt.Sprintf("%s %s exists and belongs to %s %s: it is left as it is; delete it, or give it another name", e.kind, e.name, e.holder.Kind, e.holder.Name)
	default:
		return fmt.Sprintf("%s %s exists and was not made by the operator: it is left as it is; delete it, or give it another name", e.kind, e.name)
	}
}

// belongs returns a takenError where what is there is not the owner's.
func belongs(kind string, live client.Object, owner *metav1.OwnerReference) error {
	if owner == nil {
		return nil
	}
	for _, o := range live.GetOwnerReferences() {
		if o.UID == owner.UID {
			return nil
		}
	}
	holder := metav1.GetControllerOf(live)
	if holder == nil && live.GetLabels()[api.LabelManagedBy] == specs.Labels("", "")[api.LabelManagedBy] {
		return nil
	}
	passing := holder != nil && holder.Kind == owner.Kind && holder.APIVersion == owner.APIVersion && holder.Name == owner.Name
	return &takenError{kind: kind, name: live.GetName(), holder: holder, passing: passing}
}

// orphan reports whether the operator has made the object, and nobody controls it: its owner was deleted and left it behind, or it was put back from a
// backup without the reference.
func orphan(o client.Object) bool {
	return len(o.GetOwnerReferences()) == 0 && o.GetLabels()[api.LabelManagedBy] == specs.FieldOwner
}

// free looks past the cache, which has the operator's own objects alone, whether a name is free.
func (a *applier) free(ctx context.Context, gvk schema.GroupVersionKind, desired client.Object) error {
	there := &metav1.PartialObjectMetadata{}
	there.SetGroupVersionKind(gvk)
	err := a.live.Get(ctx, client.ObjectKeyFromObject(desired), there)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for %s %s: %w", gvk.Kind, desired.GetName(), err)
	}
	return belongs(gvk.Kind, there, metav1.GetControllerOf(desired))
}

// secretTaken returns why a Secret with a certificate is not to be written; "" where it may be. One that
// cert-manager has made for the operator's Certificate has nobody's reference at first.
func secretTaken(secret *corev1.Secret, owner metav1.OwnerReference) string {
	if secret.UID == "" || secret.Annotations[annotationIssued] == secret.Name {
		return ""
	}
	if err := belongs("Secret", secret, &owner); err != nil {
		return err.Error()
	}
	return ""
}

// asTaken finds a takenError in err.
func asTaken(err error) (*takenError, bool) {
	var taken *takenError
	is := errors.As(err, &taken)
	return taken, is
}
