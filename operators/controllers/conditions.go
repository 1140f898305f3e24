package controllers

import (
	"context"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// conditions of one object, with the generation that they speak of.
type conditions struct {
	list       *[]metav1.Condition
	generation int64
}

// conditionsOver speaks of a generation of the object.
func conditionsOver(list *[]metav1.Condition, generation int64) conditions {
	return conditions{list, generation}
}

func (c conditions) set(kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(c.list, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: c.generation,
	})
}

func (c conditions) yes(kind, reason, message string) {
	c.set(kind, metav1.ConditionTrue, reason, message)
}

func (c conditions) no(kind, reason, message string) {
	c.set(kind, metav1.ConditionFalse, reason, message)
}

func (c conditions) unknown(kind, reason, message string) {
	c.set(kind, metav1.ConditionUnknown, reason, message)
}

func (c conditions) find(kind string) *metav1.Condition {
	return meta.FindStatusCondition(*c.list, kind)
}

// message of a condition; "" where there is none.
func (c conditions) message(kind string) string {
	if found := c.find(kind); found != nil {
		return found.Message
	}
	return ""
}

func (c conditions) is(kind string) bool { return meta.IsStatusConditionTrue(*c.list, kind) }

// sum sets Ready from the named conditions: the first that is not True says why. It reports whether
// Ready has changed its status.
func (c conditions) sum(kinds []string, ready string) bool {
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
	c.set(api.ConditionReady, status, reason, message)
	return status != was
}

// patchStatus writes the status when it has changed. The optimistic lock makes a decision that was
// taken on an old copy fail instead of overwriting a newer one.
func patchStatus(ctx context.Context, c client.Client, base, object client.Object, before, after any) error {
	if reflect.DeepEqual(before, after) {
		return nil
	}
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(c.Status().Patch(ctx, object, patch))
}
