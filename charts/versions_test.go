package charts_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/managertest"
)

// The versions of core5g.dev (docs/adr/0027-two-versions-of-one-shape.md): before is the one that the previous release has alone, and that is stored;
// now the one that users write.
const (
	before = "v1alpha1"
	now    = "v1beta1"
)

// definitionFiles are the definitions as they are applied.
func definitionFiles(t *testing.T) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	paths, err := filepath.Glob("../operators/config/crd/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no definitions: %v", err)
	}
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(content, crd); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, crd)
	}
	return all
}

// TestVersionsHaveOneShape holds what both versions stand on: nothing has to be converted, so that no object is out of reach while no
// operator runs; and the stored one is that which the definitions of the release before have, so that these can be put back.
func TestVersionsHaveOneShape(t *testing.T) {
	for _, crd := range definitionFiles(t) {
		if crd.Spec.Conversion != nil {
			t.Errorf("%s is converted by %v, and cannot be read while that does not answer", crd.Name, *crd.Spec.Conversion)
		}
		versions := map[string]apiextensionsv1.CustomResourceDefinitionVersion{}
		for _, v := range crd.Spec.Versions {
			if v.Storage != (v.Name == before) || !v.Served || v.Deprecated {
				t.Errorf("%s %s: stored %v, served %v, deprecated %v", crd.Name, v.Name, v.Storage, v.Served, v.Deprecated)
			}
			name := v.Name
			v.Name, v.Storage = "", false
			versions[name] = v
		}
		if len(versions) != 2 {
			t.Errorf("%s has %d versions, want %s and %s", crd.Name, len(versions), before, now)
		}
		if diff := cmp.Diff(versions[before], versions[now]); diff != "" {
			t.Errorf("%s: %s and %s have to be the same:\n%s", crd.Name, before, now, diff)
		}
	}
}

// TestChartsWriteWhatEveryReleaseReads: what Helm has made is compared with the cluster by the version that it was made with, also after the
// definitions have gone back.
func TestChartsWriteWhatEveryReleaseReads(t *testing.T) {
	for _, set := range valueSets(t) {
		rendered, err := set.render(t)
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range split(t, rendered) {
			objects := []*unstructured.Unstructured{doc.object}
			for _, content := range defaults(doc.object) {
				for _, inner := range split(t, content) {
					objects = append(objects, inner.object)
				}
			}
			for _, o := range objects {
				if gv := o.GroupVersionKind().GroupVersion(); gv.Group == "core5g.dev" && gv.Version != before {
					t.Errorf("%s: %s %s is of %s, want %s", set, o.GetKind(), o.GetName(), gv, before)
				}
			}
		}
	}
}

// install puts definitions in place, as a chart does, and waits until their versions are served.
func install(t *testing.T, config *rest.Config, change func(*apiextensionsv1.CustomResourceDefinition)) error {
	t.Helper()
	all := definitionFiles(t)
	for _, crd := range all {
		change(crd)
	}
	_, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{CRDs: all})
	return err
}

// storedAs has the definitions store a version, and serve these.
func storedAs(version string, served ...string) func(*apiextensionsv1.CustomResourceDefinition) {
	return func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Versions = slices.DeleteFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return !slices.Contains(served, v.Name) })
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Storage = crd.Spec.Versions[i].Name == version
		}
	}
}

// in is the object by another version, without what is of the version alone.
func in(ctx context.Context, c client.Client, o *unstructured.Unstructured, version string) (*unstructured.Unstructured, error) {
	got := &unstructured.Unstructured{}
	got.SetGroupVersionKind(o.GroupVersionKind().GroupKind().WithVersion(version))
	if err := c.Get(ctx, client.ObjectKeyFromObject(o), got); err != nil {
		return nil, err
	}
	if want := (schema.GroupVersion{Group: "core5g.dev", Version: version}).String(); got.GetAPIVersion() != want {
		return nil, fmt.Errorf("%s %s is of %s, want %s", got.GetKind(), got.GetName(), got.GetAPIVersion(), want)
	}
	got.SetManagedFields(nil) // of versions, and of who writes
	got.SetResourceVersion("")
	got.SetAPIVersion("")
	return got, nil
}

// writtenBy tells whether a field of the object was written by a version.
func writtenBy(t *testing.T, c client.Client, o *unstructured.Unstructured, version string) bool {
	t.Helper()
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(o.GroupVersionKind().GroupKind().WithVersion(before))
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), live); err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(live.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool { return f.APIVersion == "core5g.dev/"+version })
}

// followVersions runs what the operator does about objects that are written by another version than the stored one, until the test ends.
func followVersions(t *testing.T, config *rest.Config) {
	t.Helper()
	silence()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Cache: cluster.CacheOptions(), NewClient: cluster.NewClient, Metrics: server.Options{BindAddress: "0"},
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []client.Object{&api.Core5G{}, &api.Slice{}, &api.UPFInstance{}, &api.Subscriber{}} {
		if err := (&cluster.StoredVersion{Client: mgr.GetClient(), Kind: kind}).SetupWithManager(mgr); err != nil {
			t.Fatal(err)
		}
	}
	managertest.Run(t, mgr)
}

// TestEnvtestVersions goes from the definitions of the release before to these, on to those that a later one may have, and back again: every object stays what
// it is, whichever version it was written in and is read in, and whoever reads the one of before goes on.
func TestEnvtestVersions(t *testing.T) {
	env, _ := apiServer(t)
	ctx := t.Context()
	if err := install(t, env.Config, storedAs(before, before)); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(env.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}

	// Each manifest of the repository has a namespace of its own, for some have one name.
	var samples []*unstructured.Unstructured
	paths, err := filepath.Glob("../manifests/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../manifests/samples/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	add := func(manifests string) {
		files++
		at := fmt.Sprintf("sample-%d", files)
		if err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: at}}); err != nil {
			t.Fatal(err)
		}
		for _, doc := range split(t, manifests) {
			if doc.object.GroupVersionKind().Group == "core5g.dev" {
				doc.object.SetNamespace(at)
				samples = append(samples, doc.object)
			}
		}
	}
	for _, path := range append(paths, more...) {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		add(string(content))
	}
	add(coreManifest)
	kinds := map[string]bool{}
	for _, o := range samples {
		kinds[o.GetKind()] = true
	}
	if len(kinds) != 4 {
		t.Fatalf("the manifests have %v, want all four kinds that users write", kinds)
	}
	write := func(o *unstructured.Unstructured, version, by string) error {
		o = o.DeepCopy()
		o.SetGroupVersionKind(o.GroupVersionKind().GroupKind().WithVersion(version))
		return c.Patch(ctx, o, client.Apply, client.FieldOwner(by), client.ForceOwnership)
	}
	was := map[*unstructured.Unstructured]*unstructured.Unstructured{}
	for _, o := range samples {
		if err := write(o, before, "user"); err != nil {
			t.Fatalf("%s %s by %s: %v", o.GetKind(), o.GetName(), before, err)
		}
		// Its status is an operator's of before.
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(o.GroupVersionKind().GroupKind().WithVersion(before))
		live.SetNamespace(o.GetNamespace())
		live.SetName(o.GetName())
		condition := map[string]any{"type": "Ready", "status": "True", "reason": "Ready", "message": "of before", "lastTransitionTime": "2026-01-01T00:00:00Z"}
		live.Object["status"] = map[string]any{"observedGeneration": int64(1), "conditions": []any{condition}}
		if err := c.Status().Patch(ctx, live, client.Apply, client.FieldOwner("operator"), client.ForceOwnership); err != nil {
			t.Fatalf("status of %s %s: %v", o.GetKind(), o.GetName(), err)
		}
		if was[o], err = in(ctx, c, o, before); err != nil {
			t.Fatal(err)
		}
	}
	// What reads the version of before watches it all the while, as the functions of both releases do.
	reader, err := client.NewWithWatch(env.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("core5g.dev/" + before)
	list.SetKind("SliceList")

	same := func(when string, versions ...string) {
		t.Helper()
		for _, o := range samples {
			for _, version := range versions {
				got, err := in(ctx, c, o, version)
				if err != nil {
					t.Errorf("%s: %v", when, err)
					continue
				}
				if diff := cmp.Diff(was[o].Object, got.Object); diff != "" {
					t.Errorf("%s, %s %s by %s:\n%s", when, o.GetKind(), o.GetName(), version, diff)
				}
			}
		}
	}

	if err := install(t, env.Config, storedAs(before, before, now)); err != nil {
		t.Fatal(err)
	}
	same("with these definitions", before, now)

	// Whoever applies the same by the other version changes nothing, and is not refused.
	for _, o := range samples {
		if err := write(o, now, "user"); err != nil {
			t.Errorf("%s %s by %s: %v", o.GetKind(), o.GetName(), now, err)
		}
	}
	same("applied anew", before, now)
	for _, o := range samples {
		if !writtenBy(t, c, o, now) {
			t.Fatalf("nothing of %s %s is written by %s: this proves nothing", o.GetKind(), o.GetName(), now)
		}
	}

	// An object of the new version is the same as one of before, its defaults among it, and so is a refusal.
	alike := func(manifest string) (created [2]*unstructured.Unstructured) {
		t.Helper()
		for i, version := range []string{before, now} {
			o := split(t, manifest)[0].object
			o.SetNamespace("alike-" + version)
			if err := write(o, version, "user"); err != nil {
				t.Fatal(err)
			}
			got, err := in(ctx, c, o, before)
			if err != nil {
				t.Fatal(err)
			}
			created[i] = got
		}
		return created
	}
	for _, version := range []string{before, now} {
		if err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "alike-" + version}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, manifest := range []string{coreManifest, sliceManifest("first", "010203", "10.45.0.0/16"), upfManifest("upf", "172.30.3.16/28", "172.30.6.2/24"),
		subscriberManifest("a", "imsi-208930000000001", "", "first")} {
		pair := alike(manifest)
		if diff := cmp.Diff(pair[0].Object["spec"], pair[1].Object["spec"]); diff != "" {
			t.Errorf("made by %s and by %s:\n%s", before, now, diff)
		}
	}
	for name, wrong := range map[string]string{
		"a TAC without quotes":          strings.Replace(coreManifest, `"000001"`, "1", 1),
		"a pool with host bits":         sliceManifest("wrong", "112233", "10.46.0.1/16"),
		"a field that nobody knows":     strings.Replace(coreManifest, "  tacs:", "  nobody: knows\n  tacs:", 1),
		"an S-NSSAI that changes":       sliceManifest("first", "112233", "10.45.0.0/16"),
		"a SUPI that is none":           subscriberManifest("wrong", "208930000000001", "", "first"),
		"endpoints outside of N3":       upfManifest("wrong", "172.31.3.16/28", "172.30.6.2/24"),
		"a name that is too long":       sliceManifest(strings.Repeat("x", 29), "112233", "10.46.0.0/16"),
		"a value that is no longer one": strings.Replace(coreManifest, "  tacs:", "  controlPlane: Both\n  tacs:", 1),
	} {
		var refusals [2]string
		for i, version := range []string{before, now} {
			o := split(t, wrong)[0].object
			o.SetNamespace("alike-" + version)
			o.SetGroupVersionKind(o.GroupVersionKind().GroupKind().WithVersion(version))
			err := client.WithFieldValidation(c, metav1.FieldValidationStrict).Patch(ctx, o, client.Apply, client.FieldOwner("user"), client.ForceOwnership)
			if err == nil {
				t.Errorf("%s is accepted by %s", name, version)
				continue
			}
			refusals[i] = strings.ReplaceAll(err.Error(), version, "VERSION")
		}
		if refusals[0] != refusals[1] {
			t.Errorf("%s: %s says %q, %s says %q", name, before, refusals[0], now, refusals[1])
		}
	}

	// Subscribers are found by their SUPI, and units are scaled, by either.
	for _, version := range []string{before, now} {
		found := &unstructured.UnstructuredList{}
		found.SetAPIVersion("core5g.dev/" + version)
		found.SetKind("SubscriberList")
		if err := c.List(ctx, found, client.InNamespace("alike-"+now), client.MatchingFields{"spec.supi": "imsi-208930000000001"}); err != nil || len(found.Items) != 1 {
			t.Errorf("Subscribers of the SUPI by %s: %d, %v", version, len(found.Items), err)
		}
		upf := &unstructured.Unstructured{}
		upf.SetGroupVersionKind(schema.GroupVersionKind{Group: "core5g.dev", Version: version, Kind: "UPFInstance"})
		upf.SetNamespace("alike-" + now)
		upf.SetName("upf")
		scale := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": map[string]any{"replicas": int64(1)}}}
		if err := c.SubResource("scale").Update(ctx, upf, client.WithSubResourceBody(scale)); err != nil {
			t.Errorf("scaling by %s: %v", version, err)
		}
	}

	// A watch by the version of before hears of what is written by the other.
	watch, err := reader.Watch(ctx, list, client.InNamespace("alike-"+now))
	if err != nil {
		t.Fatal(err)
	}
	changed := split(t, sliceManifest("first", "010203", "10.45.0.0/16"))[0].object
	changed.SetNamespace("alike-" + now)
	changed.SetLabels(map[string]string{"changed": "yes"})
	if err := write(changed, now, "user"); err != nil {
		t.Fatal(err)
	}
	for heard := false; !heard; {
		select {
		case event, open := <-watch.ResultChan():
			o, ok := event.Object.(*unstructured.Unstructured)
			if !open || !ok {
				t.Fatalf("the watch by %s has ended: %v", before, event.Object)
			}
			if o.GetAPIVersion() != "core5g.dev/"+before {
				t.Fatalf("the watch by %s has told of one of %s", before, o.GetAPIVersion())
			}
			heard = o.GetLabels()["changed"] == "yes"
		case <-ctx.Done():
			t.Fatal("nothing is heard of a change")
		}
	}
	watch.Stop()

	// Definitions that go back while no operator runs: who applies is refused, until somebody has written otherwise.
	if err := install(t, env.Config, storedAs(before, before)); err != nil {
		t.Fatalf("the definitions of the release before are refused: %v", err)
	}
	until(t, "an apply is refused", func(context.Context) error {
		if err := write(samples[0], before, "user"); err == nil || !strings.Contains(err.Error(), "request to convert CR to an invalid group/version") {
			return fmt.Errorf("got %v", err)
		}
		return nil
	})
	annotated := &unstructured.Unstructured{}
	annotated.SetGroupVersionKind(samples[0].GroupVersionKind().GroupKind().WithVersion(before))
	annotated.SetNamespace(samples[0].GetNamespace())
	annotated.SetName(samples[0].GetName())
	if err := c.Patch(ctx, annotated, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"rolled-back":"yes"}}}`))); err != nil {
		t.Fatal(err)
	}
	if err := write(samples[0], before, "user"); err != nil {
		t.Errorf("once it is annotated: %v", err)
	}
	if err := c.Patch(ctx, annotated, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":null}}`))); err != nil {
		t.Fatal(err)
	}
	same("gone back without an operator", before)
	if err := install(t, env.Config, storedAs(before, before, now)); err != nil {
		t.Fatal(err)
	}
	if err := write(samples[0], now, "user"); err != nil {
		t.Fatal(err)
	}

	// The definitions of the release before can be put back, with what was written meanwhile, which an operator has seen to.
	followVersions(t, env.Config)
	for _, o := range samples {
		until(t, fmt.Sprintf("all of %s %s is written by %s", o.GetKind(), o.GetName(), before), func(context.Context) error {
			if writtenBy(t, c, o, now) {
				return errors.New("some of it is not")
			}
			return nil
		})
	}
	same("with an operator", before, now)
	if err := install(t, env.Config, storedAs(before, before)); err != nil {
		t.Fatalf("the definitions of the release before are refused: %v", err)
	}
	same("gone back", before)
	for _, o := range samples {
		if err := write(o, before, "user"); err != nil {
			t.Errorf("%s %s, gone back: %v", o.GetKind(), o.GetName(), err)
		}
	}
	same("gone back, applied anew", before)

	// Of a later release, which stores the new version, to this one's and not to those of before, which do not know what is stored.
	for _, definitions := range []func(*apiextensionsv1.CustomResourceDefinition){storedAs(before, before, now), storedAs(now, before, now)} {
		if err := install(t, env.Config, definitions); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "a Slice is stored by the later release", func(ctx context.Context) error {
		_, err := in(ctx, c, samples[0], now)
		return err
	})
	for _, o := range samples {
		if err := write(o, now, "later"); err != nil {
			t.Errorf("%s %s by a later release: %v", o.GetKind(), o.GetName(), err)
		}
	}
	same("of a later release", before, now)
	if err := install(t, env.Config, storedAs(before, before)); err == nil || !strings.Contains(err.Error(), "storedVersions") {
		t.Errorf("definitions that do not know what is stored: %v, want a refusal that names status.storedVersions", err)
	}
	if err := install(t, env.Config, storedAs(before, before, now)); err != nil {
		t.Fatalf("a way back from a later release is refused: %v", err)
	}
	same("gone back from a later release", before, now)
}
