package admission

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/specs"
)

// Paths of the webhooks, which the chart's ValidatingWebhookConfiguration names.
const (
	PathCore5G      = "/validate/core5gs"
	PathSlice       = "/validate/slices"
	PathUPFInstance = "/validate/upfinstances"
	PathSubscriber  = "/validate/subscribers"
)

// verdict is what is said of one object.
type verdict struct {
	// refusals no later object can heal, warnings one can.
	refusals, warnings []string
}

func (v *verdict) refuse(problems ...*specs.Problem) {
	for _, p := range problems {
		if p != nil {
			v.refusals = append(v.refusals, p.Message)
		}
	}
}

func (v *verdict) warn(problems ...*specs.Problem) {
	for _, p := range problems {
		if p != nil {
			v.warnings = append(v.warnings, p.Message)
		}
	}
}

// rules of one kind.
type rules[T client.Object] interface {
	// judge an object as if it were the youngest of all.
	judge(ctx context.Context, object T) (verdict, error)
	// changed says what a change does to what runs.
	changed(ctx context.Context, before, after T) ([]string, error)
	// deleted says who misses the object.
	deleted(ctx context.Context, object T) ([]string, error)
	// asked is what the user has written of it.
	asked(object T) any
}

// Register serves the webhooks of every kind. Few objects are read past the cache, so that those of the same
// file are seen; Subscribers, of which there are many, are not.
func Register(mgr ctrl.Manager, p specs.Platform) {
	r := reader{cached: mgr.GetClient(), live: mgr.GetAPIReader(), platform: p}
	serve(mgr, PathCore5G, &api.Core5G{}, coreRules{r})
	serve(mgr, PathSlice, &api.Slice{}, sliceRules{r})
	serve(mgr, PathUPFInstance, &api.UPFInstance{}, upfRules{r})
	serve(mgr, PathSubscriber, &api.Subscriber{}, subscriberRules{r})
}

func serve[T client.Object](mgr ctrl.Manager, path string, kind T, r rules[T]) {
	mgr.GetWebhookServer().Register(path, admission.WithCustomValidator(mgr.GetScheme(), kind, validator[T]{r}))
}

// validator is how every kind is judged.
type validator[T client.Object] struct{ rules rules[T] }

var _ webhook.CustomValidator = validator[*api.Slice]{}

// ValidateCreate implements webhook.CustomValidator.
func (v validator[T]) ValidateCreate(ctx context.Context, object runtime.Object) (admission.Warnings, error) {
	now, err := v.judge(ctx, object.(T))
	if err != nil {
		return unanswered(ctx, err)
	}
	return now.warnings, refusal(now.refusals)
}

// ValidateUpdate implements webhook.CustomValidator.
func (v validator[T]) ValidateUpdate(ctx context.Context, old, object runtime.Object) (admission.Warnings, error) {
	before, after := old.(T), object.(T)
	if after.GetDeletionTimestamp() != nil || equality.Semantic.DeepEqual(v.rules.asked(before), v.rules.asked(after)) {
		return nil, nil
	}
	was, err := v.judge(ctx, before)
	if err != nil {
		return unanswered(ctx, err)
	}
	now, err := v.judge(ctx, after)
	if err != nil {
		return unanswered(ctx, err)
	}
	var fresh []string
	for _, r := range now.refusals {
		if slices.Contains(was.refusals, r) {
			now.warnings = append(now.warnings, r)
			continue
		}
		fresh = append(fresh, r)
	}
	if len(fresh) > 0 {
		return now.warnings, refusal(fresh)
	}
	effects, err := v.rules.changed(ctx, before, after)
	if err != nil {
		return unanswered(ctx, err)
	}
	return append(now.warnings, effects...), nil
}

// ValidateDelete implements webhook.CustomValidator.
func (v validator[T]) ValidateDelete(ctx context.Context, object runtime.Object) (admission.Warnings, error) {
	o := object.(T)
	if o.GetDeletionTimestamp() != nil {
		return nil, nil
	}
	missed, err := v.rules.deleted(ctx, o)
	if err != nil {
		return unanswered(ctx, err)
	}
	return missed, nil
}

// judge takes the object for the youngest: whoever asks for what another has is refused, also where the other
// came later.
func (v validator[T]) judge(ctx context.Context, object T) (verdict, error) {
	youngest := object.DeepCopyObject().(T)
	youngest.SetCreationTimestamp(metav1.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC))
	return v.rules.judge(ctx, youngest)
}

func refusal(all []string) error {
	if len(all) == 0 {
		return nil
	}
	text := all[0]
	for _, more := range all[1:] {
		text += "; " + more
	}
	return fmt.Errorf("%s", text)
}

// unanswered admits what could not be judged.
func unanswered(ctx context.Context, err error) (admission.Warnings, error) {
	log.FromContext(ctx).Error(err, "admitted without a look at other objects")
	return admission.Warnings{"core5g could not look at the other objects, conditions will say what is wrong: " + err.Error()}, nil
}
