package subscriberdata

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"core5g.dev/core5g/images/subscriber-data/aka"
	"core5g.dev/core5g/images/subscriber-data/subscription"
	"core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/apiservertest"
)

// TestEnvtestReadsAsItsAccount reads from a real API server as an account that may do what docs/subscriber-data.md
// says and no more.
func TestEnvtestReadsAsItsAccount(t *testing.T) {
	environment, config := apiservertest.Start(t, nil)

	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme), rbacv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	admin, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	create := func(o client.Object) {
		t.Helper()
		if err := admin.Create(ctx, o); err != nil {
			t.Fatal(err)
		}
	}
	create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	create(&rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "subscriber-data", Namespace: namespace},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"core5g.dev"}, Resources: []string{"core5gs", "slices", "subscribers"}, Verbs: []string{"get", "list", "watch"}},
			{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "watch"}},
			{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "create", "update"}},
		},
	})
	create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "subscriber-data", Namespace: namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: "subscriber-data"},
		Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: "subscriber-data"}},
	})
	create(&v1alpha1.Core5G{
		ObjectMeta: metav1.ObjectMeta{Name: "core5g", Namespace: namespace},
		Spec: v1alpha1.Core5GSpec{
			PLMNs: []v1alpha1.PLMN{{MCC: "208", MNC: "93"}}, TACs: []v1alpha1.TAC{"000001"},
			SliceCatalogue: []v1alpha1.SNSSAI{{SST: 1, SD: "010203"}},
		},
	})
	account, err := environment.AddUser(envtest.User{Name: "subscriber-data"}, nil)
	if err != nil {
		t.Fatal(err)
	}

	serving, stop := context.WithCancel(ctx)
	group, groupContext := errgroup.WithContext(serving)
	t.Cleanup(func() {
		stop()
		if err := group.Wait(); err != nil {
			t.Error(err)
		}
	})
	c := Config{Core: "core5g", Namespace: namespace}
	objects, reservation, err := openCluster(groupContext, group, account.Config(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	directory := subscription.NewDirectory(objects)

	core, err := directory.Core(ctx)
	if err != nil || len(core.PLMNs) != 1 {
		t.Fatalf("core %+v, error %v", core, err)
	}
	if _, err := directory.Subscriber(ctx, supiOne); !errors.Is(err, subscription.ErrUnknownSubscriber) {
		t.Fatalf("before: %v", err)
	}
	create(makeSlice("internet", "010203", v1alpha1.DataNetwork{DNN: "internet", UEPools: []v1alpha1.CIDR{"10.45.0.0/16"}}))
	subscriber := makeSubscriber(supiOne, v1alpha1.SubscribedSlice{Name: "internet"})
	create(subscriber)
	eventually(t, "the subscriber and its slice are seen", func() bool {
		s, err := directory.Subscriber(ctx, supiOne)
		return err == nil && len(s.Slices) == 1 && s.Slices[0].DataNetworks[0].FiveQI == 9
	})
	if _, err := directory.Credentials(ctx, supiOne); !errors.Is(err, subscription.ErrNotFound) {
		t.Errorf("without the Secret: %v", err)
	}
	secret := makeSecret("keys-208930000000001", map[string]string{"k": testK, "opc": testOPc})
	create(secret)
	if _, err := directory.Credentials(ctx, supiOne); err != nil {
		t.Errorf("with the Secret: %v", err)
	}
	// The Lease is made, changed, and never taken back.
	now := aka.TickAt(time.Now())
	for _, step := range []struct{ reserve, want uint64 }{{now, now}, {now + 6000, now + 6000}, {now, now + 6000}} {
		if err := reservation.reserve(ctx, step.reserve); err != nil {
			t.Fatal(err)
		}
		if got, err := reservation.load(ctx); err != nil || got != step.want {
			t.Errorf("tick %d is reserved, want %d; error %v", got, step.want, err)
		}
	}
	if err := admin.Delete(ctx, subscriber); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the subscriber is gone", func() bool {
		_, err := directory.Subscriber(ctx, supiOne)
		return errors.Is(err, subscription.ErrUnknownSubscriber)
	})
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("in vain: %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
