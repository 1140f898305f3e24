package charts_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

const namespace = "core5g"

// foreignKinds belong to projects that a cluster may lack, and whose definitions are not in the
// repository: where foreignDefinitions have not been built, what we say in them is only read as YAML.
var foreignKinds = map[string]bool{"PodMonitor": true, "PrometheusRule": true, "Prometheus": true, "Issuer": true, "Certificate": true,
	// What TestGitOpsSamplesRender reads.
	"Application": true, "OCIRepository": true, "GitRepository": true, "HelmRelease": true, "Kustomization": true}

// foreignDefinitions come out of these projects' Go modules with `hack/tools/build.sh monitoring certificates`.
const foreignDefinitions = "../out/prerequisites/*-crds.yaml"

// multus has the definition of NetworkAttachmentDefinition.
const multus = "../hack/tools/cmd/embedded/addons/10-multus.yaml"

// apiServer starts a Kubernetes API server with an etcd of its own, and a namespace core5g.
func apiServer(t *testing.T, crds ...string) (*envtest.Environment, client.Client) {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("no API server: set KUBEBUILDER_ASSETS to out/bin/envtest, as `make integration` does")
	}
	env := &envtest.Environment{CRDDirectoryPaths: crds, ErrorIfCRDPathMissing: true, ControlPlaneStartTimeout: 2 * time.Minute}
	// That of every provider of hack/cluster.sh: the manifests of cluster DNS name an address of it.
	env.ControlPlane.GetAPIServer().Configure().Set("service-cluster-ip-range", "10.96.0.0/16")
	config, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// Level "restricted" is refused to pods, not to what makes them: TestEnvtestManifests makes the pods.
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace,
		Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}
	if err := c.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	return env, c
}

// admit asks the API server whether it would take the object, unknown fields refused.
func admit(ctx context.Context, c client.Client, object *unstructured.Unstructured) error {
	object = object.DeepCopy()
	mapping, err := c.RESTMapper().RESTMapping(object.GroupVersionKind().GroupKind(), object.GroupVersionKind().Version)
	if err != nil {
		return err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace && object.GetNamespace() == "" {
		object.SetNamespace(namespace)
	}
	return client.WithFieldValidation(c, metav1.FieldValidationStrict).
		Patch(ctx, object, client.Apply, client.FieldOwner("admission-test"), client.ForceOwnership, client.DryRunAll)
}

// TestEnvtestManifests puts every manifest of the repository, and everything that the chart renders,
// before an API server: schema, CEL rules, unknown fields, and Pod Security for the chart's pods.
func TestEnvtestManifests(t *testing.T) {
	foreign, err := filepath.Glob(foreignDefinitions)
	if err != nil {
		t.Fatal(err)
	}
	_, c := apiServer(t, append(foreign, "../operators/config/crd", multus)...)

	for _, set := range valueSets(t) {
		t.Run("chart "+set.String(), func(t *testing.T) {
			rendered, err := set.render(t)
			if err != nil {
				t.Fatal(err)
			}
			for _, doc := range split(t, rendered) {
				checkManifest(t, c, doc.object)
				if spec, ok := podSpec(t, doc.object); ok && !isNodeAgent(doc.object) {
					pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: doc.object.GetName(), Namespace: namespace}, Spec: *spec}
					if err := c.Create(t.Context(), pod, client.DryRunAll); err != nil {
						t.Errorf("pod of %s %s: %v", doc.object.GetKind(), doc.object.GetName(), err)
					}
				}
				for file, content := range defaults(doc.object) {
					for _, object := range split(t, content) {
						t.Log(file)
						checkManifest(t, c, object.object)
					}
				}
			}
		})
	}

	for _, sample := range sampleReleases(t) {
		t.Run(sample.of+" "+sample.chart, func(t *testing.T) {
			rendered, err := sample.render(t)
			if err != nil {
				t.Fatal(err)
			}
			for _, doc := range split(t, rendered) {
				checkManifest(t, c, doc.object)
			}
		})
	}

	checked := 0
	for _, root := range []string{"../manifests", "../hack", "../e2e", "../operators/config/samples"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) && path == root {
				return nil
			}
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
				return err
			}
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if !strings.Contains(string(content), "\nkind:") && !strings.HasPrefix(string(content), "kind:") {
				return nil // not a manifest: a configuration file, an image recipe
			}
			t.Run(strings.TrimPrefix(path, "../"), func(t *testing.T) {
				for _, doc := range split(t, string(content)) {
					checkManifest(t, c, doc.object)
					checked++
				}
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if checked == 0 {
		t.Error("no manifest of the repository was checked")
	}
}

func checkManifest(t *testing.T, c client.Client, object *unstructured.Unstructured) {
	t.Helper()
	err := admit(t.Context(), c, object)
	switch {
	case err == nil:
	case meta.IsNoMatchError(err) && foreignKinds[object.GetKind()]:
		t.Logf("%s %s: the API server does not know the kind", object.GetKind(), object.GetName())
	case meta.IsNoMatchError(err) && strings.HasSuffix(object.GroupVersionKind().Group, ".config.k8s.io"):
		// Configuration of the kubelet and of kube-proxy only looks like a manifest.
	case apierrors.IsNotFound(err) && object.GetNamespace() != "":
		// A namespace that this file, or another, makes: nothing is kept in a dry run. Try ours.
		object = object.DeepCopy()
		object.SetNamespace(namespace)
		if err := admit(t.Context(), c, object); err != nil {
			t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
	default:
		t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
	}
}

// defaults returns the files of the ConfigMap that holds the default Core5G and UPFInstance.
func defaults(object *unstructured.Unstructured) map[string]string {
	if object.GetKind() != "ConfigMap" || !strings.HasSuffix(object.GetName(), "-defaults") {
		return nil
	}
	data, _, _ := unstructured.NestedStringMap(object.Object, "data")
	return data
}

// TestEnvtestRelease goes through a release's life on an API server without nodes: Helm installs and
// upgrades, the two jobs do their work with their own account's rights, Helm uninstalls.
func TestEnvtestRelease(t *testing.T) {
	env, c := apiServer(t)
	run := helmOn(t, env)
	helmRun := func(args ...string) string {
		t.Helper()
		out, err := run(append(args, "--namespace", namespace)...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	count := func(kind string) int {
		t.Helper()
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("core5g.dev/v1alpha1")
		list.SetKind(kind + "List")
		if err := c.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
			t.Fatal(err)
		}
		return len(list.Items)
	}

	notes := helmRun("install", "core5g", chart, "--no-hooks")
	for _, want := range []string{"kubectl -n core5g get core5g core5g", `WARNING: namespace core5g enforces Pod Security level "restricted"`} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes\n%s\nwant %q among them", notes, want)
		}
	}
	applyDefaults(t, env, c)
	if got := [2]int{count("Core5G"), count("UPFInstance")}; got != [2]int{1, 1} {
		t.Fatalf("%v Core5G and UPFInstance after the install, want one of each", got)
	}

	core := &unstructured.Unstructured{}
	core.SetAPIVersion("core5g.dev/v1alpha1")
	core.SetKind("Core5G")
	sbi := func() map[string]string {
		t.Helper()
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "core5g"}, core); err != nil {
			t.Fatal(err)
		}
		tls, _, _ := unstructured.NestedStringMap(core.Object, "spec", "tls")
		return tls
	}
	protected := map[string]string{"mode": "Mutual", "authority": "Operator"}
	if diff := cmp.Diff(protected, sbi()); diff != "" {
		t.Errorf("spec.tls after the install (-want +got):\n%s", diff)
	}

	helmRun("upgrade", "core5g", chart, "--no-hooks", "--set=upf.create=false", "--set=core.spec.n2.transport=SCTPOverUDP")
	applyDefaults(t, env, c)
	if got := count("UPFInstance"); got != 0 {
		t.Errorf("%d UPFInstance after an upgrade with upf.create=false, want none", got)
	}
	if diff := cmp.Diff(protected, sbi()); diff != "" {
		t.Errorf("spec.tls after the upgrade (-want +got):\n%s", diff)
	}
	if got, _, _ := unstructured.NestedString(core.Object, "spec", "n2", "transport"); got != "SCTPOverUDP" {
		t.Errorf("n2.transport %q after the upgrade, want SCTPOverUDP", got)
	}

	// Nobody serves finalizers here, as after a crash of the operator: the cleanup ends all the same.
	core.SetFinalizers([]string{"core5g.dev/operator"})
	if err := c.Update(t.Context(), core); err != nil {
		t.Fatal(err)
	}
	runJob(t, env, "cleanup", "--release=core5g", "--namespace="+namespace, "--timeout=1s", "--force-timeout=2m") // the API server has its pauses
	for _, kind := range []string{"Core5G", "UPFInstance", "Slice", "Subscriber"} {
		if got := count(kind); got != 0 {
			t.Errorf("%d %s after the cleanup, want none", got, kind)
		}
	}
	helmRun("uninstall", "core5g", "--no-hooks")
	expectOnlyDefinitions(t, c)

	// What was kept does not stand in the way of the next installation.
	helmRun("install", "core5g", chart, "--no-hooks")
	helmRun("upgrade", "core5g", chart, "--no-hooks", "--set=crds.keep=false")
	helmRun("uninstall", "core5g", "--no-hooks")
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 2*time.Minute, true, func(context.Context) (bool, error) {
		return len(definitions(t, c)) == 0, nil
	})
	if err != nil {
		t.Errorf("%v still there after an uninstall with crds.keep=false", definitions(t, c))
	}
}

// expectOnlyDefinitions looks for everything that carries the release's label.
func expectOnlyDefinitions(t *testing.T, c client.Client) {
	t.Helper()
	if got := len(definitions(t, c)); got == 0 {
		t.Error("the definitions did not stay")
	}
	for _, kind := range []string{"Deployment apps/v1", "DaemonSet apps/v1", "Job batch/v1", "ConfigMap v1", "Secret v1", "ServiceAccount v1",
		"Lease coordination.k8s.io/v1",
		"Role rbac.authorization.k8s.io/v1", "RoleBinding rbac.authorization.k8s.io/v1",
		"ValidatingWebhookConfiguration admissionregistration.k8s.io/v1", "Service v1",
		"ClusterRole rbac.authorization.k8s.io/v1", "ClusterRoleBinding rbac.authorization.k8s.io/v1"} {
		name, version, _ := strings.Cut(kind, " ")
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(version)
		list.SetKind(name + "List")
		if err := c.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		for _, item := range list.Items {
			if strings.Contains(item.GetName(), "core5g") {
				t.Errorf("%s %s is left after the uninstall", name, item.GetName())
			}
		}
	}
}

func definitions(t *testing.T, c client.Client) []string {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("apiextensions.k8s.io/v1")
	list.SetKind("CustomResourceDefinitionList")
	if err := c.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, item := range list.Items {
		if strings.HasSuffix(item.GetName(), ".core5g.dev") {
			names = append(names, item.GetName())
		}
	}
	return names
}
