package core

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"core5g.dev/core5g/images/subscriberdatabase"
	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/conditions"
)

func TestTheDatabaseOfSubscribersHasACondition(t *testing.T) {
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	whole := map[string][]byte{"uri": []byte("postgresql://core5g:geheim@db/core5g"), "1": []byte(strings.Repeat("k", 32))}
	for name, c := range map[string]struct {
		secret   map[string][]byte
		asked    error
		status   metav1.ConditionStatus
		reason   string
		contains string
		next     time.Duration
	}{
		"no Secret":             {nil, nil, metav1.ConditionFalse, api.ReasonNotFound, `Secret subscribers, named by spec.subscriberDatabase.secretRef, does not exist: create it with key "uri" and a sealing key "1"`, 0},
		"a Secret that lacks":   {map[string][]byte{"uri": whole["uri"]}, nil, metav1.ConditionFalse, api.ReasonMalformed, "no sealing key", 0},
		"a database":            {whole, nil, metav1.ConditionTrue, api.ReasonReady, "answers", storeCheckEvery},
		"one that is away":      {whole, errors.New("connection refused"), metav1.ConditionFalse, api.ReasonUnreachable, "look whether it runs", storeRetryEvery},
		"one with other keys":   {whole, subscriberdatabase.ErrSealing, metav1.ConditionFalse, api.ReasonUnreachable, "the keys of the subscriber database", storeRetryEvery},
		"one of a newer core5g": {whole, subscriberdatabase.ErrSchema, metav1.ConditionFalse, api.ReasonUnreachable, "the schema of the subscriber database", storeRetryEvery},
	} {
		t.Run(name, func(t *testing.T) {
			builder := fake.NewClientBuilder().WithScheme(scheme)
			if c.secret != nil {
				builder = builder.WithObjects(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "subscribers"}, Data: c.secret})
			}
			r := &Reconciler{Client: builder.Build(), Registrations: &Registrations{}, CheckSubscriberDatabase: func(context.Context, *subscriberdatabase.Access) error { return c.asked }}
			core := &api.Core5G{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "core5g"}, Spec: api.Core5GSpec{
				SubscriberData: api.SubscriberDataPostgreSQL, SubscriberDatabase: &api.SubscriberDatabaseSpec{SecretRef: api.SecretReference{Name: "subscribers"}},
			}}
			s := &scope{core: core, conditions: conditions.Of(&core.Status.Conditions, core.Generation)}
			if err := r.checkSubscriberDatabase(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			got := meta.FindStatusCondition(core.Status.Conditions, api.ConditionSubscriberDatabaseReady)
			if got == nil || got.Status != c.status || got.Reason != c.reason || !strings.Contains(got.Message, c.contains) || strings.Contains(got.Message, "geheim") {
				t.Errorf("the condition is %+v", got)
			}
			if s.databaseNext != c.next {
				t.Errorf("it is asked again after %s, want %s", s.databaseNext, c.next)
			}
			core.Spec.SubscriberData, core.Spec.SubscriberDatabase = api.SubscriberDataKubernetes, nil
			if err := r.checkSubscriberDatabase(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			if meta.FindStatusCondition(core.Status.Conditions, api.ConditionSubscriberDatabaseReady) != nil {
				t.Error("a core without a database has the condition still")
			}
		})
	}
}
