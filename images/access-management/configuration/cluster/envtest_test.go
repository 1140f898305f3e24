package cluster

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/customresources"
	"core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/apiservertest"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// From a real API server, as an account that may read Core5Gs and no more: what is there is read before Begin returns, and what changes is heard of.
func TestEnvtestFollowsTheCore5G(t *testing.T) {
	environment, config := apiservertest.Start(t, nil)
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme), rbacv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	admin, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	create := func(o client.Object) {
		t.Helper()
		if err := admin.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}})
	create(&rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "amf", Namespace: "ns"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"core5g.dev"}, Resources: []string{"core5gs"}, Verbs: []string{"get", "list", "watch"}}},
	})
	create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "amf", Namespace: "ns"},
		RoleRef:    rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: "amf"},
		Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: "amf"}},
	})
	there := core(t, "name: North")
	create(there)
	account, err := environment.AddUser(envtest.User{Name: "amf"}, nil)
	if err != nil {
		t.Fatal(err)
	}

	follow := func(name string) (*customresources.Watcher[procedure.Settings], chan *procedure.Settings) {
		t.Helper()
		group, ctx := errgroup.WithContext(t.Context())
		t.Cleanup(func() {
			if err := group.Wait(); err != nil {
				t.Error(err)
			}
		})
		objects, err := customresources.OpenAs(account.Config(), "ns")
		if err != nil {
			t.Fatal(err)
		}
		w := NewWatcher(objects, "ns", name, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
		told := make(chan *procedure.Settings, 10)
		w.Follow(func(_, now *procedure.Settings) { told <- now })
		if err := w.Begin(ctx, group.Go, objects); err != nil {
			t.Fatal(err)
		}
		return w, told
	}
	next := func(what string, told chan *procedure.Settings) *procedure.Settings {
		t.Helper()
		select {
		case now := <-told:
			return now
		case <-time.After(time.Minute):
			t.Fatalf("nobody is told: %s", what)
			return nil
		}
	}
	w, told := follow("core5g")
	if now := w.Current(); now == nil || now.Name != "North" {
		t.Fatalf("in force is %+v", now)
	}
	if got := next("what is there", told); got.Name != "North" {
		t.Errorf("%+v", got)
	}
	there.Spec.AMF.Name = "South"
	if err := admin.Update(t.Context(), there); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if got := next("a change", told); got.Name != "South" {
		t.Errorf("%+v", got)
	}
	t.Logf("in force after %s", time.Since(began))

	late, told := follow("late")
	if now := late.Current(); now != nil {
		t.Errorf("of a Core5G that is not there: %+v", now)
	}
	another := core(t, "name: East")
	another.Name = "late"
	create(another)
	if got := next("one that comes late", told); got.Name != "East" {
		t.Errorf("%+v", got)
	}
}
