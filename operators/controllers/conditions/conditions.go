// Package conditions says in the status of an object how it is.
package conditions

import (
	"context"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// List of the conditions of one object, with the generation that they speak of.
type List struct {
	list       *[]metav1.Condition
	generation int64
}

// Of speaks of a generation of the object.
func Of(list *[]metav1.Condition, generation int64) List {
	return List{list, generation}
}

// Set a condition; its time moves with its status alone.
func (c List) Set(kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(c.list, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: c.generation,
	})
}

// Yes sets it True.
func (c List) Yes(kind, reason, message string) {
	c.Set(kind, metav1.ConditionTrue, reason, message)
}

// No sets it False.
func (c List) No(kind, reason, message string) {
	c.Set(kind, metav1.ConditionFalse, reason, message)
}

// Unknown sets it so.
func (c List) Unknown(kind, reason, message string) {
	c.Set(kind, metav1.ConditionUnknown, reason, message)
}

// Find a condition; nil where there is none.
func (c List) Find(kind string) *metav1.Condition {
	return meta.FindStatusCondition(*c.list, kind)
}

// Message of a condition; "" where there is none.
func (c List) Message(kind string) string {
	if found := c.Find(kind); found != nil {
		return found.Message
	}
	return ""
}

// Is reports whether a condition is True.
func (c List) Is(kind string) bool { return meta.IsStatusConditionTrue(*c.list, kind) }

// Sum sets Ready from the named conditions: the first that is not True says why. It reports whether
// Ready has changed its status.
func (c List) Sum(kinds []string, ready string) bool {
	before := meta.FindStatusCondition(*c.list, api.ConditionReady)
	was := metav1.ConditionUnknown
	if before != nil {
		was = before.Status
	}
	status, reason, message := metav1.ConditionTrue, api.ReasonReady, ready
	for _, kind := range kinds {
		found := meta.FindStatusCondition(*c.list, kind)
		if found == nil {
			status, reason, message = metav1.ConditionFalse, api.ReasonProgressing, kind+" is not known yet"
			break
		}
		if found.Status != metav1.ConditionTrue {
			status, reason, message = metav1.ConditionFalse, found.Reason, found.Message
			break
		}
	}
	c.Set(api.ConditionReady, status, reason, message)
	return status != was
}

// PatchStatus writes the status when it has changed. The optimistic lock makes a decision that was
// taken on an old copy fail instead of overwriting a newer one.
func PatchStatus(ctx context.Context, c client.Client, base, object client.Object, before, after any) error {
	if reflect.DeepEqual(before, after) {
		return nil
	}
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(c.Status().Patch(ctx, object, patch))
}

// Announce makes an Event of a change of Ready, with the cause.
func Announce(recorder record.EventRecorder, object client.Object, list []metav1.Condition) {
	for _, c := range list {
		if c.Type != api.ConditionReady {
			continue
		}
		kind := corev1.EventTypeNormal
		if c.Status != metav1.ConditionTrue && c.Reason != api.ReasonProgressing {
			kind = corev1.EventTypeWarning
		}
		recorder.Event(object, kind, c.Reason, c.Message)
	}
}
