package charts_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"core5g.dev/core5g/operators/release"
)

// TestChartsAreOfOneVersion holds what the charts say of themselves together: they are released as one.
func TestChartsAreOfOneVersion(t *testing.T) {
	type head struct{ Version, AppVersion, KubeVersion, Type string }
	read := func(chart string) (h head) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(chart, "Chart.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var named struct {
			head
			Name string
		}
		if err := yaml.Unmarshal(text, &named); err != nil {
			t.Fatal(err)
		}
		if named.Name != chart {
			t.Errorf("chart %s calls itself %s", chart, named.Name)
		}
		return named.head
	}
	want := read(chart)
	for _, other := range []string{operatorChart, upfChart} {
		if diff := cmp.Diff(want, read(other)); diff != "" {
			t.Errorf("%s is otherwise than %s (-%[2]s +%[1]s):\n%s", other, chart, diff)
		}
	}
}

// TestChartsApartHaveNoHooks looks at what Argo CD and Flux are given: nothing that waits for Helm, and each object in one chart alone.
func TestChartsApartHaveNoHooks(t *testing.T) {
	const customResource = "core5g.dev/v1alpha1"
	tests := []struct {
		name, chart string
		args        []string
		// wantCustom are all objects of core5g's own kinds, and where there are some there is nothing else.
		wantCustom []string
	}{
		{name: "the operator", chart: operatorChart},
		{name: "the core and its UPF", chart: chart, args: []string{"--set=operator.create=false"}, wantCustom: []string{"Core5G core5g", "UPFInstance upf"}},
		{name: "a core without a UPF", chart: chart, args: []string{"--set=operator.create=false,upf.create=false"}, wantCustom: []string{"Core5G core5g"}},
		{name: "all of monitoring is the operator's", chart: chart, args: []string{"--set=operator.create=false,monitoring.enabled=Always,monitoring.dashboards.enabled=Always"},
			wantCustom: []string{"Core5G core5g", "UPFInstance upf"}},
		{name: "a UPF that runs elsewhere", chart: upfChart, args: []string{"--values", "core5g-upf/testdata/external.values.yaml"}, wantCustom: []string{"UPFInstance core5g"}},
		{name: "UPF units", chart: upfChart, args: []string{"--values", "core5g-upf/testdata/units.values.yaml"}, wantCustom: []string{"UPFInstance edge"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			rendered, err := templateOf(t, test.chart, "core5g", "core5g", test.args...)
			if err != nil {
				t.Fatal(err)
			}
			var custom []string
			docs := split(t, rendered)
			for _, doc := range docs {
				for key := range doc.object.GetAnnotations() {
					if strings.HasPrefix(key, "helm.sh/hook") {
						t.Errorf("%s %s is a hook", doc.object.GetKind(), doc.object.GetName())
					}
				}
				if doc.object.GetKind() == "Job" {
					t.Errorf("there is a Job %s", doc.object.GetName())
				}
				if doc.object.GetAPIVersion() == customResource {
					custom = append(custom, doc.object.GetKind()+" "+doc.object.GetName())
				}
			}
			if diff := cmp.Diff(test.wantCustom, custom); diff != "" {
				t.Errorf("custom resources (-want +got):\n%s", diff)
			}
			if len(custom) > 0 && len(docs) != len(custom) || len(docs) == 0 {
				t.Errorf("%d objects, %d of them core5g's own", len(docs), len(custom))
			}
		})
	}
}

// objectsOf are the rendered objects by kind and name, without what names the chart.
func objectsOf(t *testing.T, rendered string) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{}
	for _, doc := range split(t, rendered) {
		labels := doc.object.GetLabels()
		delete(labels, "helm.sh/chart")
		doc.object.SetLabels(labels)
		all[doc.object.GetKind()+" "+doc.object.GetNamespace()+"/"+doc.object.GetName()] = doc.object.Object
	}
	return all
}

// TestOperatorChartIsTheOperatorOfTheOtherOne renders both: one release of core5g is one of core5g-operator, and what applies and
// removes the core.
func TestOperatorChartIsTheOperatorOfTheOtherOne(t *testing.T) {
	ofTheCore := []string{"ConfigMap core5g/core5g-defaults", "Job core5g/core5g-defaults", "Job core5g/core5g-cleanup",
		"ServiceAccount core5g/core5g-release", "Role core5g/core5g-release", "RoleBinding core5g/core5g-release"}
	for name, args := range map[string][]string{
		"nothing set":  nil,
		"monitoring":   {"--set=monitoring.enabled=Always", "--set=crds.keep=false"},
		"cert-manager": {"--set=webhook.certificates=CertManager", "--set=operator.replicas=2", "--set=operator.watchNamespaces={paris,lyon}"},
	} {
		t.Run(name, func(t *testing.T) {
			whole, err := template(t, args...)
			if err != nil {
				t.Fatal(err)
			}
			alone, err := templateOf(t, operatorChart, "core5g", "core5g", args...)
			if err != nil {
				t.Fatal(err)
			}
			want := objectsOf(t, whole)
			for _, key := range ofTheCore {
				if want[key] == nil {
					t.Errorf("%s has no %s", chart, key)
				}
				delete(want, key)
			}
			if diff := cmp.Diff(want, objectsOf(t, alone)); diff != "" {
				t.Errorf("objects (-of %s +of %s):\n%s", chart, operatorChart, diff)
			}
		})
	}
	for release, want := range map[string]string{"core5g-operator": "core5g-operator", "operator": "operator", "site": "site-operator"} {
		rendered, err := templateOf(t, operatorChart, release, "system")
		if err != nil {
			t.Fatal(err)
		}
		if objectsOf(t, rendered)["Deployment system/"+want] == nil {
			t.Errorf("release %s has no Deployment %s", release, want)
		}
	}
}

// TestInstanceIsWhatTheJobWouldApply renders the core both ways: with the operator of another release it is the same. What neither says of
// spec.tls the job or the operator writes down, and both alike.
func TestInstanceIsWhatTheJobWouldApply(t *testing.T) {
	for name, args := range map[string][]string{
		"nothing set":           nil,
		"everything set":        {"--values", "core5g/testdata/full.values.yaml"},
		"other images, no said": {"--set-json=core.spec.functions=[{\"name\":\"nrf\",\"image\":\"x/nrf:1\"}]"},
	} {
		t.Run(name, func(t *testing.T) {
			applied, err := template(t, args...)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]any{}
			for _, doc := range split(t, applied) {
				for _, content := range defaults(doc.object) {
					for _, object := range split(t, content) {
						want[object.object.GetKind()+" "+object.object.GetName()] = object.object.Object["spec"]
					}
				}
			}
			plain, err := template(t, append(args, "--set=operator.create=false")...)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]any{}
			for _, doc := range split(t, plain) {
				got[doc.object.GetKind()+" "+doc.object.GetName()] = doc.object.Object["spec"]
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("specs (-applied by the job +of the release):\n%s", diff)
			}
		})
	}
	plain, err := template(t, "--set=operator.create=false", "--set=core.spec.tls.mode=Disabled")
	if err != nil {
		t.Fatal(err)
	}
	if mode, _, _ := unstructured.NestedString(split(t, plain)[0].object.Object, "spec", "tls", "mode"); mode != "Disabled" {
		t.Errorf("tls.mode %q, want what the values say, Disabled", mode)
	}
}

// TestValuesOfBeforeHaveAnOperator renders what `helm upgrade --reuse-values` does of a release that was made before there was operator.create.
func TestValuesOfBeforeHaveAnOperator(t *testing.T) {
	before, err := template(t, "--set=operator.create=null")
	if err != nil {
		t.Fatal(err)
	}
	now, err := template(t)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(objectsOf(t, now), objectsOf(t, before)); diff != "" {
		t.Errorf("objects (-with the value +without):\n%s", diff)
	}
}

// TestUPFChartRefuses wants a UPFInstance of which it is said where it is.
func TestUPFChartRefuses(t *testing.T) {
	for name, test := range map[string]struct{ arg, want string }{
		"nothing":              {"--set=name=edge", "write n3 and n6"},
		"one network":          {"--set-json=spec.n3={\"attachment\":{\"type\":\"Bridge\",\"bridge\":\"n3\"},\"subnet\":\"10.3.0.0/24\",\"endpoints\":\"10.3.0.16/28\"}", "write n3 and n6"},
		"what the API has not": {"--set=spec.hugePages.size=2Mi", "additional properties 'hugePages' not allowed"},
		"a value it has not":   {"--set=upf.spec.units=2", "additional properties 'upf' not allowed"},
	} {
		if _, err := templateOf(t, upfChart, "edge", "core5g", test.arg); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// helmOn returns what runs Helm on an API server, as who may do everything.
func helmOn(t *testing.T, env *envtest.Environment) func(args ...string) (string, error) {
	t.Helper()
	admin, err := env.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := admin.KubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	return func(args ...string) (string, error) {
		cmd := exec.Command(helm(t), args...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+path, "HELM_PLUGINS="+home,
			"HELM_CONFIG_HOME="+home, "HELM_CACHE_HOME="+home, "HELM_DATA_HOME="+home)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return string(out), fmt.Errorf("helm %v: %w\n%s", args, err, out)
		}
		return string(out), nil
	}
}

// TestEnvtestChartsApart goes through the lives of releases apart on an API server: operator and core beside each other without a hook,
// and one release of chart core5g whose operator is handed to another one and taken back. The core is never deleted and made anew, and nothing of its
// spec changes, so that no function of it is restarted for that.
func TestEnvtestChartsApart(t *testing.T) {
	env, c := apiServer(t)
	run := helmOn(t, env)
	must := func(args ...string) {
		t.Helper()
		if _, err := run(args...); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"system", "paris"} {
		if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	get := func(at, kind, name string) (*unstructured.Unstructured, error) {
		o := &unstructured.Unstructured{}
		o.SetAPIVersion("core5g.dev/v1alpha1")
		o.SetKind(kind)
		err := c.Get(t.Context(), client.ObjectKey{Namespace: at, Name: name}, o)
		return o, err
	}
	there := func(at, kind, name string) *unstructured.Unstructured {
		t.Helper()
		o, err := get(at, kind, name)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	same := func(what string, before, after *unstructured.Unstructured) {
		t.Helper()
		if before.GetUID() != after.GetUID() {
			t.Errorf("%s: %s is another one", what, after.GetKind())
		}
		if diff := cmp.Diff(before.Object["spec"], after.Object["spec"]); diff != "" || before.GetGeneration() != after.GetGeneration() {
			t.Errorf("%s: spec of %s, generation %d and %d (-before +after):\n%s", what, after.GetKind(), before.GetGeneration(), after.GetGeneration(), diff)
		}
	}

	// Before there are definitions a core cannot be; with the operator's release there it can.
	if _, err := run("install", "core5g", chart, "-n", "paris", "--set=operator.create=false"); err == nil || !strings.Contains(err.Error(), `no matches for kind "Core5G"`) {
		t.Errorf("a core before its definitions: %v", err)
	}
	must("install", "core5g-operator", operatorChart, "-n", "system", "--set=operator.watchNamespaces={paris}")
	notes, err := run("install", "core5g", chart, "-n", "paris", "--set=operator.create=false")
	if err != nil || !strings.Contains(notes, "Its operator is another release's") || strings.Contains(notes, "prometheus-operator") {
		t.Errorf("notes of a core alone: %v\n%s", err, notes)
	}
	must("install", "edge", upfChart, "-n", "paris", "--values", "core5g-upf/testdata/external.values.yaml")
	core := there("paris", "Core5G", "core5g")
	there("paris", "UPFInstance", "upf")
	there("paris", "UPFInstance", "edge")
	must("upgrade", "core5g", chart, "-n", "paris", "--set=operator.create=false,upf.create=false,logLevel=Debug")
	if after := there("paris", "Core5G", "core5g"); after.GetUID() != core.GetUID() || after.Object["spec"].(map[string]any)["logLevel"] != "Debug" {
		t.Errorf("after an upgrade the Core5G is %s with logLevel %v, was %s", after.GetUID(), after.Object["spec"].(map[string]any)["logLevel"], core.GetUID())
	}
	if _, err := get("paris", "UPFInstance", "upf"); !apierrors.IsNotFound(err) {
		t.Errorf("UPFInstance upf after an upgrade with upf.create=false: %v, want that it is not there", err)
	}
	must("uninstall", "edge", "-n", "paris")
	must("uninstall", "core5g", "-n", "paris")
	for kind, name := range map[string]string{"Core5G": "core5g", "UPFInstance": "edge"} {
		if _, err := get("paris", kind, name); !apierrors.IsNotFound(err) {
			t.Errorf("%s %s after its release: %v, want that it is not there", kind, name, err)
		}
	}
	must("install", "core5g", chart, "-n", "paris", "--set=operator.create=false,core.keep=true,upf.create=false")
	must("uninstall", "core5g", "-n", "paris")
	there("paris", "Core5G", "core5g")
	must("uninstall", "core5g-operator", "-n", "system")
	if len(definitions(t, c)) == 0 {
		t.Error("the definitions went with the operator's release")
	}

	// One release, as it is today. Its definitions are the ones that the release before has kept.
	must("install", "core5g", chart, "-n", namespace, "--no-hooks", "--take-ownership")
	applyDefaults(t, env, c)
	core, upf := there(namespace, "Core5G", "core5g"), there(namespace, "UPFInstance", "upf")
	// Helm takes a custom resource over as it is, without the annotation that core.keep would give a new one.
	for _, o := range []*unstructured.Unstructured{core, upf} {
		if err := c.Patch(t.Context(), o.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"helm.sh/resource-policy":"keep"}}}`))); err != nil {
			t.Fatal(err)
		}
	}
	apart := []string{"upgrade", "core5g", chart, "-n", namespace, "--reset-then-reuse-values", "--set=operator.create=false,core.keep=true,upf.keep=true"}
	if _, err := run(apart...); err == nil || !strings.Contains(err.Error(), "invalid ownership metadata") {
		t.Errorf("the core of a job as an object of the release, without --take-ownership: %v", err)
	}
	must(append(apart, "--take-ownership")...)
	same("handed over", core, there(namespace, "Core5G", "core5g"))
	same("handed over", upf, there(namespace, "UPFInstance", "upf"))
	if len(definitions(t, c)) == 0 {
		t.Fatal("the definitions went with the release's operator")
	}
	account := &corev1.ServiceAccount{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "core5g-operator"}, account); !apierrors.IsNotFound(err) {
		t.Errorf("the release's own operator: %v, want that it is not there", err)
	}
	must("install", "core5g-operator", operatorChart, "-n", "system", "--set=operator.watchNamespaces={"+namespace+"}", "--take-ownership")

	// And back: what is kept is what the job finds.
	must("uninstall", "core5g-operator", "-n", "system")
	must("upgrade", "core5g", chart, "-n", namespace, "--reset-then-reuse-values", "--set=operator.create=true", "--no-hooks", "--take-ownership")
	same("taken back", core, there(namespace, "Core5G", "core5g"))
	applyDefaults(t, env, c)
	same("taken back, and applied", core, there(namespace, "Core5G", "core5g"))
	same("taken back, and applied", upf, there(namespace, "UPFInstance", "upf"))
}

// applyDefaults does what the job of release core5g does, with its account.
func applyDefaults(t *testing.T, env *envtest.Environment, c client.Client) {
	t.Helper()
	config := &corev1.ConfigMap{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "core5g-defaults"}, config); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range config.Data {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	runJob(t, env, "apply", "--directory="+dir, "--release=core5g", "--namespace="+namespace)
}

// runJob runs a command of the release's jobs with their own account, so that a right that the chart forgot shows.
func runJob(t *testing.T, env *envtest.Environment, args ...string) {
	t.Helper()
	account := rest.CopyConfig(env.Config)
	account.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + namespace + ":core5g-release"}
	var log strings.Builder
	if status := release.Main(t.Context(), func() (*rest.Config, error) { return account, nil }, args, &log); status != 0 {
		t.Fatalf("%v: status %d\n%s", args, status, log.String())
	}
}

// TestEnvtestOperatorsBesideEachOther installs operators beside each other: what two of them would both look after is refused, whichever comes first, unless one of them
// does nothing.
func TestEnvtestOperatorsBesideEachOther(t *testing.T) {
	env, c := apiServer(t, "../operators/config/crd")
	run := helmOn(t, env)
	for _, name := range []string{"system", "paris", "lyon", "lille"} {
		if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	step := func(refusal, do, release, at string, values ...string) {
		t.Helper()
		args := []string{do, release, operatorChart, "-n", at}
		if do == "uninstall" {
			args = []string{do, release, "-n", at}
		} else {
			args = append(args, "--set=crds.install=false,nodeAgent.create=false")
		}
		for _, v := range values {
			args = append(args, "--set="+v)
		}
		switch _, err := run(args...); {
		case refusal == "" && err != nil:
			t.Fatal(err)
		case refusal != "" && (err == nil || !strings.Contains(err.Error(), refusal)):
			t.Errorf("%v: %v, want %q", args, err, refusal)
		}
	}
	const everywhere = "operator.watchNamespaces={*}"
	step("", "install", "all", "system", everywhere)
	step("", "upgrade", "all", "system", everywhere, "logLevel=Debug")
	step("operator all-operator of namespace system acts in all namespaces", "install", "one", "paris")
	step("operator all-operator of namespace system acts in all namespaces", "install", "more", "lille", everywhere)
	step("", "upgrade", "all", "system", everywhere, "operator.replicas=0")
	step("", "install", "one", "paris", "operator.watchNamespaces={lyon}")
	step("operator one-operator of namespace paris acts in paris, lyon", "upgrade", "all", "system", everywhere)
	step("", "uninstall", "all", "system")
	step("operator one-operator of namespace paris acts in paris, lyon", "install", "all", "system", everywhere)
	step("operator one-operator of namespace paris acts in lyon", "install", "two", "lyon")
	step("operator one-operator of namespace paris acts in paris", "install", "two", "lille", "operator.watchNamespaces={paris}")
	step("", "install", "two", "lille", "operator.watchNamespaces={system}")
	step("", "upgrade", "one", "paris", "operator.watchNamespaces={lyon}", "logLevel=Debug")
}
