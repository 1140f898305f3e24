package release

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

const namespace = "core5g"

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func makeObject(kind, name string, finalizers ...string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kindOf(kind))
	object.SetName(name)
	object.SetNamespace(namespace)
	object.SetFinalizers(finalizers)
	return object
}

func builder(t *testing.T, objects ...client.Object) *fake.ClientBuilder {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, kind := range teardownOrder {
		scheme.AddKnownTypeWithName(kindOf(kind), &unstructured.Unstructured{})
		scheme.AddKnownTypeWithName(kindOf(kind+"List"), &unstructured.UnstructuredList{})
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...)
}

// names lists what is left, as "Kind/name".
func names(t *testing.T, c client.Client) []string {
	t.Helper()
	var all []string
	for _, kind := range teardownOrder {
		items, err := Cleanup{Namespace: namespace, Release: "demo"}.list(t.Context(), c, kind)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range items {
			all = append(all, kind+"/"+item.GetName())
		}
	}
	return all
}

// everything lists what is left of all releases, as "Kind/name".
func everything(t *testing.T, c client.Client) []string {
	t.Helper()
	var all []string
	for _, kind := range teardownOrder {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kindOf(kind + "List"))
		if err := c.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
			t.Fatal(err)
		}
		for _, item := range list.Items {
			all = append(all, kind+"/"+item.GetName())
		}
	}
	return all
}

func TestApply(t *testing.T) {
	const core, upf = "kind: Core5G\napiVersion: core5g.dev/v1alpha1\nmetadata: {name: core5g}\nspec: {a: 1}\n",
		"kind: UPFInstance\napiVersion: core5g.dev/v1alpha1\nmetadata: {name: upf}\n"
	mine := func(kind, name string) client.Object {
		object := makeObject(kind, name)
		object.SetLabels(map[string]string{releaseLabel: "demo"})
		return object
	}
	tests := []struct {
		name     string
		files    map[string]string
		existing []client.Object
		want     []string
		wantErr  string
	}{
		{name: "both defaults from one file", files: map[string]string{"a.yaml": core + "---\n" + upf},
			want: []string{"UPFInstance/upf", "Core5G/core5g"}},
		{name: "applied twice changes nothing", files: map[string]string{"a.yaml": core},
			existing: []client.Object{mine("Core5G", "core5g")}, want: []string{"Core5G/core5g"}},
		{name: "what the release no longer has is deleted", files: map[string]string{"a.yaml": core},
			existing: []client.Object{mine("UPFInstance", "upf"), mine("Core5G", "old")}, want: []string{"Core5G/core5g"}},
		{name: "what a user made stays", files: map[string]string{},
			existing: []client.Object{makeObject("Core5G", "own"), mine("Core5G", "core5g")}, want: []string{"Core5G/own"}},
		{name: "a core of a user's is not taken over", files: map[string]string{"a.yaml": core},
			existing: []client.Object{makeObject("Core5G", "core5g")}, want: []string{"Core5G/core5g"},
			wantErr: "Core5G core5g: it exists and was not made by this release; it is left as it is: write another core.name, or core.create=false"},
		{name: "an empty document is no object", files: map[string]string{"a.yaml": "---\n# nothing\n---\n"}},
		{name: "another namespace is refused before anything changes",
			files:   map[string]string{"a.yaml": core, "b.yaml": "kind: UPFInstance\napiVersion: core5g.dev/v1alpha1\nmetadata: {name: x, namespace: elsewhere}\n"},
			wantErr: `b.yaml: UPFInstance "x": namespace "elsewhere" is not the release's ("core5g")`},
		{name: "a foreign kind is refused", files: map[string]string{"a.yaml": "kind: Pod\napiVersion: v1\nmetadata: {name: x}\n"},
			wantErr: `a.yaml: Pod "x": only [UPFInstance Core5G] of core5g.dev/v1alpha1 belong to a chart's defaults`},
		{name: "broken YAML names its file", files: map[string]string{"a.yaml": "kind: [\n"}, wantErr: "a.yaml: "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, content := range test.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			c := builder(t, test.existing...).Build()
			err := Apply{Directory: dir, Release: "demo", Namespace: namespace, Timeout: 10 * time.Second, Log: quiet}.Run(t.Context(), c)
			if (err == nil) != (test.wantErr == "") || err != nil && !strings.HasPrefix(err.Error(), test.wantErr) {
				t.Fatalf("error %v, want one that begins %q", err, test.wantErr)
			}
			if diff := cmp.Diff(test.want, names(t, c)); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}

func TestApplyRetriesUntilTheKindIsServedButNotARefusal(t *testing.T) {
	dir := t.TempDir()
	content := "kind: Core5G\napiVersion: core5g.dev/v1alpha1\nmetadata: {name: core5g}\n"
	if err := os.WriteFile(filepath.Join(dir, "core.yaml"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	gk := schema.GroupKind{Group: group, Kind: "Core5G"}
	tests := []struct {
		name      string
		answers   []error
		wantCalls int
		wantErr   string
	}{
		{name: "unknown kind at first", wantCalls: 3,
			answers: []error{apierrors.NewNotFound(schema.GroupResource{}, ""), apierrors.NewInternalError(io.EOF), nil}},
		{name: "refused by a rule", wantCalls: 1, wantErr: "spec.plmn",
			answers: []error{apierrors.NewInvalid(gk, "core5g", field.ErrorList{field.Required(field.NewPath("spec.plmn"), "")})}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			calls := 0
			c := builder(t).WithInterceptorFuncs(interceptor.Funcs{
				Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
					calls++
					return test.answers[calls-1]
				},
			}).Build()
			err := Apply{Directory: dir, Release: "demo", Namespace: namespace, Timeout: 10 * time.Second, Log: quiet}.Run(t.Context(), c)
			if calls != test.wantCalls {
				t.Errorf("asked %d times, want %d", calls, test.wantCalls)
			}
			if (err == nil) != (test.wantErr == "") || err != nil && !strings.Contains(err.Error(), test.wantErr) {
				t.Errorf("error %v, want one with %q", err, test.wantErr)
			}
		})
	}
}

// A List that fails once is asked again: the release does not fail for it.
func TestApplyPrunesThoughTheAPIServerIsBusy(t *testing.T) {
	old := makeObject("UPFInstance", "old")
	old.SetLabels(map[string]string{releaseLabel: "demo"})
	calls := 0
	c := builder(t, old).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			if calls++; calls == 1 {
				return apierrors.NewTooManyRequestsError("busy")
			}
			return c.List(ctx, l, opts...)
		},
	}).Build()
	if err := (Apply{Directory: t.TempDir(), Release: "demo", Namespace: namespace, Timeout: 10 * time.Second, Log: quiet}).Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if left := names(t, c); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestCleanup(t *testing.T) {
	const finalizer = "core5g.dev/operator"
	other := func(o *unstructured.Unstructured) *unstructured.Unstructured {
		o.SetLabels(map[string]string{releaseLabel: "other"})
		return o
	}
	ofCore := func(o *unstructured.Unstructured, core string) *unstructured.Unstructured {
		o.Object["spec"] = map[string]any{"coreRef": map[string]any{"name": core}}
		return o
	}
	ofHelm := func(o *unstructured.Unstructured, release string) *unstructured.Unstructured {
		o.SetAnnotations(map[string]string{helmRelease: release})
		return o
	}
	tests := []struct {
		name     string
		existing []client.Object
		// served says whether somebody removes finalizers of deleted objects.
		served bool
		keep   []string
		want   []string
		// wantAll is what is there for everybody, where that is more.
		wantAll []string
		wantErr string
	}{
		{name: "nothing to do"},
		{name: "objects whose finalizers the operator serves", served: true,
			existing: []client.Object{makeObject("Core5G", "core5g", finalizer), makeObject("Slice", "internet", finalizer)}},
		{name: "finalizers that nobody serves are removed by force",
			existing: []client.Object{makeObject("Core5G", "core5g", finalizer), makeObject("UPFInstance", "upf", finalizer)}},
		{name: "kept kinds stay", keep: []string{"Subscriber"}, want: []string{"Subscriber/one"},
			existing: []client.Object{makeObject("Core5G", "core5g"), makeObject("Subscriber", "one")}},
		{name: "what belongs to another release stays", served: true,
			existing: []client.Object{
				makeObject("Core5G", "core5g"), other(makeObject("Core5G", "second")), other(makeObject("UPFInstance", "upf2")),
				ofCore(makeObject("Slice", "theirs", finalizer), "second"), makeObject("Slice", "ours", finalizer),
				ofCore(makeObject("Subscriber", "theirs"), "second"), makeObject("Subscriber", "ours"), ofHelm(makeObject("Subscriber", "of-a-chart"), "people"),
				&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "second-amf", Namespace: namespace, Labels: map[string]string{
					"app.kubernetes.io/managed-by": "core5g-operator", "app.kubernetes.io/instance": "second",
				}}},
			}, wantAll: []string{"Slice/theirs", "UPFInstance/upf2", "Subscriber/of-a-chart", "Subscriber/theirs", "Core5G/second"}},
		{name: "a finalizer of somebody else's is left to him", want: []string{"Slice/internet"},
			existing: []client.Object{makeObject("Slice", "internet", finalizer, "example.org/backup")},
			wantErr:  "Slice internet has the finalizer example.org/backup, which is not the operator's"},
		{name: "a pod of the operator's that does not go is an error that names it", wantErr: "Pod still there: [core5g-amf]",
			existing: []client.Object{&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "core5g-amf", Namespace: namespace, Labels: managedByLabel}}}},
		{name: "pods of others do not matter",
			existing: []client.Object{&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "operator", Namespace: namespace}}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var deleted []string
			c := builder(t, test.existing...).WithInterceptorFuncs(interceptor.Funcs{
				Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
					deleted = append(deleted, o.GetObjectKind().GroupVersionKind().Kind)
					if err := c.Delete(ctx, o, opts...); err != nil || !test.served {
						return err
					}
					if err := c.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
						return client.IgnoreNotFound(err)
					}
					o.SetFinalizers(nil)
					return c.Update(ctx, o)
				},
			}).Build()
			err := Cleanup{Namespace: namespace, Release: "demo", Keep: test.keep, Timeout: time.Second, Force: time.Second, Log: quiet}.Run(t.Context(), c)
			if (err == nil) != (test.wantErr == "") || err != nil && !strings.HasPrefix(err.Error(), test.wantErr) {
				t.Fatalf("error %v, want one that begins %q", err, test.wantErr)
			}
			if diff := cmp.Diff(test.want, names(t, c)); diff != "" {
				t.Errorf("objects left (-want +got):\n%s", diff)
			}
			if test.wantAll != nil {
				if diff := cmp.Diff(test.wantAll, everything(t, c)); diff != "" {
					t.Errorf("objects left (-want +got):\n%s", diff)
				}
			}
			if len(deleted) == 2 && deleted[1] != "Core5G" {
				t.Errorf("deleted in the order %v, want the core last", deleted)
			}
		})
	}
}

func TestMainRefusesWrongCommandLines(t *testing.T) {
	tests := []struct {
		args []string
		want string
	}{
		{args: nil, want: "want a sub-command"},
		{args: []string{"remove"}, want: `unknown sub-command "remove"`},
		{args: []string{"apply", "--release=x"}, want: "want --directory, --release and --namespace"},
		{args: []string{"cleanup"}, want: "want --release and --namespace"},
		{args: []string{"cleanup", "--namespace=x"}, want: "want --release and --namespace"},
		{args: []string{"cleanup", "--namespace=x", "--release=x", "--keep=Pod"}, want: "--keep=Pod: no such kind in group core5g.dev"},
	}
	for _, test := range tests {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			var stderr bytes.Buffer
			config := func() (*rest.Config, error) { t.Error("asked for a cluster"); return nil, io.EOF }
			if got := Main(t.Context(), config, test.args, &stderr); got != exitUsage {
				t.Errorf("exit status %d, want %d", got, exitUsage)
			}
			if !strings.Contains(stderr.String(), test.want) {
				t.Errorf("stderr %q, want it to contain %q", stderr.String(), test.want)
			}
		})
	}
}
