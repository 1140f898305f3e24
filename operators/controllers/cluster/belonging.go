package cluster

import (
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// TakenRetry is how soon a name that somebody else has is looked at again: his objects are in no cache.
const TakenRetry = 10 * time.Second

// TakenError says that an object of somebody else has a name that is needed.
type TakenError struct {
	Kind, Name string
	// Holder is who controls the object, if anybody does.
	Holder *metav1.OwnerReference
	// passing is set where an earlier object of the owner's name controls it: it is about to go.
	passing bool
}

func (e *TakenError) Error() string {
	switch {
	case e.passing:
		return fmt.Sprintf("%s %s belongs to an earlier %s %s and goes with it; it is made anew then", e.Kind, e.Name, e.Holder.Kind, e.Holder.Name)
	case e.Holder != nil:
		return fmt.Sprintf("%s %s exists and belongs to %s %s: it is left as it is; delete it, or give it another name", e.Kind, e.Name, e.Holder.Kind, e.Holder.Name)
	default:
		return fmt.Sprintf("%s %s exists and was not made by the operator: it is left as it is; delete it, or give it another name", e.Kind, e.Name)
	}
}

// Belongs returns a TakenError where what is there is not the owner's.
func Belongs(kind string, live client.Object, owner *metav1.OwnerReference) error {
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
	return &TakenError{Kind: kind, Name: live.GetName(), Holder: holder, passing: passing}
}

// Orphan reports whether the operator has made the object, and nobody controls it: its owner was deleted and left it behind, or it was put back from a
// backup without the reference.
func Orphan(o client.Object) bool {
	return len(o.GetOwnerReferences()) == 0 && o.GetLabels()[api.LabelManagedBy] == specs.FieldOwner
}

// AsTaken finds a TakenError in err.
func AsTaken(err error) (*TakenError, bool) {
	var taken *TakenError
	is := errors.As(err, &taken)
	return taken, is
}

// Owns reports whether the object has the owner among its owners.
func Owns(owner, object client.Object) bool {
	for _, o := range object.GetOwnerReferences() {
		if o.UID == owner.GetUID() {
			return true
		}
	}
	return false
}
