package core

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"core5g.dev/core5g/images/subscriberdatabase"
	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/specs"
)

// checkSubscriberDatabase asks the database of subscribers, where the core has one, beside the pass. The functions serve what they have cached
// while it is away, and stay: nothing is halted by what it answers.
func (r *Reconciler) checkSubscriberDatabase(ctx context.Context, s *scope) error {
	name := specs.SubscriberDatabaseSecretName(s.core)
	if name == "" {
		meta.RemoveStatusCondition(&s.core.Status.Conditions, api.ConditionSubscriberDatabaseReady)
		return nil
	}
	secret := &corev1.Secret{}
	err := r.Get(ctx, client.ObjectKey{Namespace: s.core.Namespace, Name: name}, secret)
	if apierrors.IsNotFound(err) {
		s.conditions.No(api.ConditionSubscriberDatabaseReady, api.ReasonNotFound, fmt.Sprintf(
			"Secret %s, named by spec.subscriberDatabase.secretRef, does not exist: create it with key %q and a sealing key %q (docs/subscriber-data.md)",
			name, subscriberdatabase.FileURI, specs.SessionStoreKey))
		return nil
	}
	if err != nil {
		return err
	}
	access, err := subscriberdatabase.Parse(secret.Data)
	if err != nil {
		s.conditions.No(api.ConditionSubscriberDatabaseReady, api.ReasonMalformed, fmt.Sprintf("Secret %s: %v", name, err))
		return nil
	}
	check := r.CheckSubscriberDatabase
	if check == nil {
		check = subscriberdatabase.Check
	}
	problem := func(err error) (reason, message string) {
		return api.ReasonUnreachable, fmt.Sprintf("Secret %s: %s", name, subscriberdatabase.Explain(err))
	}
	s.databaseNext = r.reaches(ctx, s, outside{
		api.ConditionSubscriberDatabaseReady, "database of subscribers", specs.Hash(secret.Data), problem, "the database of subscribers answers",
	}, func(ctx context.Context) error { return check(ctx, access) })
	return nil
}
