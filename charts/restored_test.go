package charts_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/specs"
)

// TestEnvtestRestoredConflict backs up a namespace in which two Slices want the same UE pool, the one that has it the elder and the last by name, and puts it back.
// All are new then, and often of one second: whoever is put back first has it, because the webhook refuses the other. So it is the same one by a file in order of
// age, as docs/upgrade.md makes it, and the other one by a tool that goes by name.
func TestEnvtestRestoredConflict(t *testing.T) {
	env, admin := apiServer(t, "../operators/config/crd", multus)
	ctx := t.Context()
	const byAge, byName = "by-age", "by-name"
	watched := []string{namespace, byAge, byName}
	for _, name := range watched[1:] {
		if err := admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	rendered, err := template(t, "--set=crds.install=false", "--set=operator.watchNamespaces={"+strings.Join(watched, ",")+"}")
	if err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	installOperator(t, admin, rendered, port)
	user := userOf(t, env.Config)

	// Nobody is asked while no operator runs. A Slice's age is told in seconds.
	elder, younger := sliceManifest("z-elder", "010203", "10.45.0.0/16"), sliceManifest("a-younger", "112233", "10.45.128.0/17")
	for _, manifest := range []string{coreManifest, upfManifest("upf", "172.30.3.16/28", "172.30.6.2/24"), elder} {
		if err := putIn(ctx, user, namespace, manifest); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "a Slice that is a second younger", func(ctx context.Context) error {
		if err := putIn(ctx, user, namespace, younger); err != nil {
			return err
		}
		var list api.SliceList
		if err := user.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return err
		}
		if len(list.Items) != 2 {
			return fmt.Errorf("%d Slices", len(list.Items))
		}
		if list.Items[0].CreationTimestamp.Time.After(list.Items[1].CreationTimestamp.Time) { // by name
			return nil
		}
		return errors.Join(errors.New("both are of one second"), user.Delete(ctx, &list.Items[0]))
	})
	until(t, "the operator's rights are known", func(context.Context) error {
		for _, at := range watched {
			if !may(t, user, namespace, "core5g-operator", at, "list", "core5g.dev", "core5gs", "") {
				return errors.New("not in " + at)
			}
		}
		return nil
	})
	runWatching(t, env, port, &refusals{}, watched, specs.Accounts{Namespaces: watched})
	awaitBundle(t, admin)
	has := func(at, name string, want metav1.ConditionStatus) {
		t.Helper()
		until(t, fmt.Sprintf("%s of Slice %s in %s", api.ConditionPoolsValid, name, at), func(ctx context.Context) error {
			slice := &api.Slice{}
			if err := user.Get(ctx, client.ObjectKey{Namespace: at, Name: name}, slice); err != nil {
				return err
			}
			if c := meta.FindStatusCondition(slice.Status.Conditions, api.ConditionPoolsValid); c == nil || c.Status != want {
				return fmt.Errorf("it is %+v, want %s", c, want)
			}
			return nil
		})
	}
	has(namespace, "z-elder", metav1.ConditionTrue)
	has(namespace, "a-younger", metav1.ConditionFalse)

	var backup []unstructured.Unstructured
	for _, kind := range []string{"UPFInstance", "Slice", "Core5G"} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(api.GroupVersion.WithKind(kind + "List"))
		if err := user.List(ctx, list, client.InNamespace(namespace)); err != nil {
			t.Fatal(err)
		}
		slices.SortStableFunc(list.Items, func(a, b unstructured.Unstructured) int {
			return a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time)
		})
		backup = append(backup, list.Items...)
	}
	// putBack returns what was refused, by name.
	putBack := func(at string, objects []unstructured.Unstructured) map[string]string {
		t.Helper()
		refused := map[string]string{}
		for _, o := range objects {
			restored := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": o.GetName(), "namespace": at}, "spec": o.Object["spec"]}}
			restored.SetGroupVersionKind(o.GroupVersionKind())
			if err := user.Patch(ctx, restored, client.Apply, client.FieldOwner("backup"), client.ForceOwnership); err != nil {
				refused[o.GetName()] = err.Error()
			}
		}
		return refused
	}
	for at, test := range map[string]struct{ first, second string }{byAge: {"z-elder", "a-younger"}, byName: {"a-younger", "z-elder"}} {
		objects := slices.Clone(backup)
		if at == byName {
			slices.SortStableFunc(objects, func(a, b unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
		}
		refused := putBack(at, objects)
		if len(refused) != 1 || !strings.Contains(refused[test.second], "of Slice "+test.first+": write a pool that is free") {
			t.Errorf("%s: refused is %q, want %s alone, for %s has it", at, refused, test.second, test.first)
		}
		has(at, test.first, metav1.ConditionTrue)
	}
}
