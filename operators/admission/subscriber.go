package admission

import (
	"context"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/subscriber"
	"core5g.dev/core5g/operators/specs"
)

type subscriberRules struct{ reader }

func (r subscriberRules) asked(s *api.Subscriber) any { return s.Spec }

// judge looks at no Secret: whether there is one, and what it holds, the condition says.
func (r subscriberRules) judge(ctx context.Context, s *api.Subscriber) (verdict, error) {
	var v verdict
	same, err := r.subscribers(ctx, s.Namespace, subscriber.IndexSUPI, s.Spec.SUPI)
	if err != nil {
		return v, err
	}
	v.refuse(specs.SUPIProblem(s, same))
	if s.Spec.GPSI != "" {
		if same, err = r.subscribers(ctx, s.Namespace, subscriber.IndexGPSI, s.Spec.GPSI); err != nil {
			return v, err
		}
		v.refuse(specs.GPSIProblem(s, same))
	}
	core, err := r.core(ctx, s.Namespace, s.Spec.CoreRef.NameOrDefault())
	if err != nil {
		return v, err
	}
	if core != nil {
		v.refuse(specs.HomeProblem(s, core))
	}
	for _, subscribed := range s.Spec.Slices {
		slice, err := r.slice(ctx, s.Namespace, subscribed.Name)
		if err != nil {
			return v, err
		}
		v.warn(specs.SubscribedSliceProblem(s, subscribed, slice))
		if slice != nil {
			v.warn(specs.FlowsProblem(subscribed, slice))
		}
		v.refuse(specs.SubscriptionProblem(subscribed, core))
	}
	problem, err := subscriber.StaticAddressProblem(ctx, r.cached, s)
	if err != nil {
		return v, err
	}
	v.refuse(problem)
	return v, nil
}

func (r subscriberRules) changed(context.Context, *api.Subscriber, *api.Subscriber) ([]string, error) {
	return nil, nil
}

func (r subscriberRules) deleted(context.Context, *api.Subscriber) ([]string, error) { return nil, nil }
