package charts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// The samples for Argo CD and Flux (manifests/gitops) cannot be run here: both want a registry, a git server and themselves. What can be
// looked at without them is: that there is no field but those that are known here, that charts, versions and names are there, that values render, in which order what comes, and
// what Argo CD would say of the health of an object, in the interpreter that it has.

const gitops = "../manifests/gitops"

// release is what either of the two has a chart rendered as.
type sampleRelease struct {
	of, chart, version, name, namespace string
	values                              map[string]any
}

type objectReference struct{ Name, Namespace string }

type metadata struct {
	Name, Namespace     string
	Annotations, Labels map[string]string
	Finalizers          []string
}

// application has the fields of Argo CD's kind that the sample writes.
type application struct {
	APIVersion, Kind string
	Metadata         metadata
	Spec             struct {
		Project string
		Source  struct {
			RepoURL, Chart, Path, TargetRevision string
			Helm                                 struct {
				ReleaseName  string
				ValuesObject map[string]any
			}
		}
		Destination       struct{ Server, Namespace string }
		IgnoreDifferences []struct {
			Group, Kind       string
			JQPathExpressions []string
		}
		SyncPolicy struct {
			Automated                struct{ Prune, SelfHeal bool }
			SyncOptions              []string
			ManagedNamespaceMetadata struct{ Labels map[string]string }
			Retry                    struct {
				Limit   int
				Backoff struct {
					Duration, MaxDuration string
					Factor                int
				}
			}
		}
	}
}

// helmRelease, ociRepository and kustomization have those of Flux's.
type helmRelease struct {
	APIVersion, Kind string
	Metadata         metadata
	Spec             struct {
		Interval, Timeout, ReleaseName string
		ChartRef                       struct{ Kind, Name string }
		DependsOn                      []objectReference
		Install                        struct{ Remediation struct{ Retries int } }
		Upgrade                        struct {
			Remediation struct {
				Retries  int
				Strategy string
			}
		}
		Values map[string]any
	}
}

type ociRepository struct {
	APIVersion, Kind string
	Metadata         metadata
	Spec             struct {
		Interval, URL string
		Ref           struct{ Tag string }
		LayerSelector struct{ MediaType, Operation string }
	}
}

type kustomization struct {
	APIVersion, Kind string
	Metadata         metadata
	Spec             struct {
		Interval, RetryInterval, Timeout, Path, TargetNamespace string
		SourceRef                                               struct{ Kind, Name string }
		DependsOn                                               []objectReference
		HealthChecks                                            []struct{ APIVersion, Kind, Name, Namespace string }
		Prune, Wait                                             bool
	}
}

// sampleOf reads the objects of a sample, each into the type of its kind, with no field that this does not have.
func sampleOf[T any](t *testing.T, file, kind string) []T {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(gitops, file))
	if err != nil {
		t.Fatal(err)
	}
	var found []T
	for _, doc := range split(t, string(content)) {
		if doc.object.GetKind() != kind {
			continue
		}
		var one T
		if err := yaml.UnmarshalStrict([]byte(doc.text), &one); err != nil {
			t.Fatalf("%s: %s %s: %v", file, kind, doc.object.GetName(), err)
		}
		found = append(found, one)
	}
	if len(found) == 0 {
		t.Fatalf("%s has no %s", file, kind)
	}
	return found
}

// sampleReleases are those of both, the operator's first.
func sampleReleases(t *testing.T) []sampleRelease {
	t.Helper()
	var all []sampleRelease
	for _, a := range sampleOf[application](t, "argocd.yaml", "Application") {
		if s := a.Spec.Source; s.Chart != "" {
			all = append(all, sampleRelease{"Argo CD", s.Chart, s.TargetRevision, s.Helm.ReleaseName, a.Spec.Destination.Namespace, s.Helm.ValuesObject})
		}
	}
	sources := map[string]ociRepository{}
	for _, s := range sampleOf[ociRepository](t, "flux.yaml", "OCIRepository") {
		sources[s.Metadata.Namespace+"/"+s.Metadata.Name] = s
	}
	for _, h := range sampleOf[helmRelease](t, "flux.yaml", "HelmRelease") {
		source, ok := sources[h.Metadata.Namespace+"/"+h.Spec.ChartRef.Name]
		if !ok || h.Spec.ChartRef.Kind != "OCIRepository" {
			t.Fatalf("HelmRelease %s has the chart of %s %s, which is not in its namespace", h.Metadata.Name, h.Spec.ChartRef.Kind, h.Spec.ChartRef.Name)
		}
		all = append(all, sampleRelease{"Flux", filepath.Base(source.Spec.URL), source.Spec.Ref.Tag, h.Spec.ReleaseName, h.Metadata.Namespace, h.Spec.Values})
	}
	return all
}

// render renders the sample's chart with its values.
func (s sampleRelease) render(t *testing.T) (string, error) {
	t.Helper()
	values, err := yaml.Marshal(s.values)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(path, values, 0o600); err != nil {
		t.Fatal(err)
	}
	return templateOf(t, s.chart, s.name, s.namespace, "--values", path)
}

// TestGitOpsSamplesRender renders what either would install: the operator of all namespaces, and a core without a hook.
func TestGitOpsSamplesRender(t *testing.T) {
	var chartfile struct{ Version string }
	text, err := os.ReadFile(filepath.Join(chart, "Chart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &chartfile); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, sample := range sampleReleases(t) {
		t.Run(sample.of+" "+sample.chart, func(t *testing.T) {
			seen[sample.of+" "+sample.chart]++
			if sample.version != chartfile.Version {
				t.Errorf("version %s, the charts are %s", sample.version, chartfile.Version)
			}
			rendered, err := sample.render(t)
			if err != nil {
				t.Fatal(err)
			}
			kinds := map[string]bool{}
			for _, doc := range split(t, rendered) {
				kinds[doc.object.GetKind()] = true
				if doc.object.GetAnnotations()["helm.sh/hook"] != "" {
					t.Errorf("%s %s is a hook", doc.object.GetKind(), doc.object.GetName())
				}
			}
			core := sample.chart == chart
			for kind, want := range map[string]bool{"Core5G": core, "UPFInstance": core, "CustomResourceDefinition": !core, "Deployment": !core} {
				if kinds[kind] != want {
					t.Errorf("it has a %s: %t, want %t", kind, kinds[kind], want)
				}
			}
			if !core && !strings.Contains(rendered, "--watch-namespaces=*") {
				t.Error("the operator does not act where the core is")
			}
		})
	}
	for _, want := range []string{"Argo CD core5g", "Argo CD core5g-operator", "Flux core5g", "Flux core5g-operator"} {
		if seen[want] != 1 {
			t.Errorf("%s is there %d times", want, seen[want])
		}
	}
}

// TestGitOpsOrder wants the operator before the core, and the core before what the site has in it.
func TestGitOpsOrder(t *testing.T) {
	var waves []int
	for _, a := range sampleOf[application](t, "argocd.yaml", "Application") {
		wave, err := strconv.Atoi(a.Metadata.Annotations["argocd.argoproj.io/sync-wave"])
		if err != nil {
			t.Errorf("Application %s: sync-wave: %v", a.Metadata.Name, err)
		}
		waves = append(waves, wave)
		if !slices.Contains(a.Metadata.Finalizers, "resources-finalizer.argocd.argoproj.io") || !slices.Contains(a.Spec.SyncPolicy.SyncOptions, "ServerSideApply=true") {
			t.Errorf("Application %s: its objects would stay behind, or are too large to be applied by a client", a.Metadata.Name)
		}
	}
	if !slices.IsSorted(waves) || len(slices.Compact(slices.Clone(waves))) != 3 {
		t.Errorf("waves %v, want three, one after the other", waves)
	}

	releases := map[objectReference]bool{}
	for _, h := range sampleOf[helmRelease](t, "flux.yaml", "HelmRelease") {
		for _, before := range h.Spec.DependsOn {
			if !releases[before] {
				t.Errorf("HelmRelease %s depends on %v, which is not before it", h.Metadata.Name, before)
			}
		}
		if len(h.Spec.DependsOn) == 0 != (h.Metadata.Name == operatorChart) {
			t.Errorf("HelmRelease %s depends on %v", h.Metadata.Name, h.Spec.DependsOn)
		}
		releases[objectReference{h.Metadata.Name, h.Metadata.Namespace}] = true
	}
	// Objects of the core are looked at by the names that the chart gives them.
	made := map[string]bool{}
	for _, sample := range sampleReleases(t) {
		if sample.of != "Flux" {
			continue
		}
		rendered, err := sample.render(t)
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range split(t, rendered) {
			made[fmt.Sprint(doc.object.GetAPIVersion(), doc.object.GetKind(), doc.object.GetNamespace(), doc.object.GetName())] = true
		}
	}
	before := map[string]bool{}
	for _, k := range sampleOf[kustomization](t, "flux.yaml", "Kustomization") {
		for _, check := range k.Spec.HealthChecks {
			if !made[fmt.Sprint(check.APIVersion, check.Kind, check.Namespace, check.Name)] {
				t.Errorf("Kustomization %s waits for %v, which nobody makes", k.Metadata.Name, check)
			}
		}
		for _, d := range k.Spec.DependsOn {
			if !before[d.Name] {
				t.Errorf("Kustomization %s depends on %s, which is not before it", k.Metadata.Name, d.Name)
			}
		}
		if len(k.Spec.HealthChecks) == 0 && len(k.Spec.DependsOn) == 0 {
			t.Errorf("Kustomization %s waits for nothing", k.Metadata.Name)
		}
		before[k.Metadata.Name] = true
	}
}

// TestArgoHealth has the sample's rules judge objects, as Argo CD does: with the object as obj, in Lua.
func TestArgoHealth(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(gitops, "argocd.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string]string{}
	for _, doc := range split(t, string(content)) {
		if doc.object.GetName() == "argocd-cm" {
			rules, _, _ = unstructured.NestedStringMap(doc.object.Object, "data")
		}
	}
	ready := func(status string) map[string]any {
		return map[string]any{"observedGeneration": 2.0, "conditions": []any{
			map[string]any{"type": "NetworkAttached", "status": "True", "message": "no"}, map[string]any{"type": "Ready", "status": status, "message": "said"}}}
	}
	object := func(status map[string]any, more ...string) map[string]any {
		o := map[string]any{"metadata": map[string]any{"name": "x", "generation": 2.0}}
		for _, key := range more {
			o["metadata"].(map[string]any)[key] = "2026-01-01T00:00:00Z"
		}
		if status != nil {
			o["status"] = status
		}
		return o
	}
	behind := ready("True")
	behind["observedGeneration"] = 1.0
	for sentence, test := range map[string]struct {
		object                  map[string]any
		wantStatus, wantMessage string
	}{
		"nobody has looked at it":           {object(nil), "Progressing", "no operator has looked at it yet: is there one of its namespace?"},
		"it is Ready":                       {object(ready("True")), "Healthy", "said"},
		"it is not":                         {object(ready("False")), "Progressing", "said"},
		"it was, before its last change":    {object(behind), "Progressing", "the operator has not seen the last change yet"},
		"it is Ready, and is being deleted": {object(ready("True"), "deletionTimestamp"), "Progressing", "it is being deleted"},
	} {
		for _, kind := range []string{"Core5G", "UPFInstance", "Slice", "Subscriber"} {
			if status, message := healthOf(t, rules["resource.customizations.health.core5g.dev_"+kind], test.object); status != test.wantStatus || message != test.wantMessage {
				t.Errorf("%s %s: %s, %q; want %s, %q", kind, sentence, status, message, test.wantStatus, test.wantMessage)
			}
		}
	}
	application := rules["resource.customizations.health.argoproj.io_Application"]
	for want, o := range map[string]map[string]any{
		"Progressing": {"metadata": map[string]any{"name": "x"}},
		"Degraded":    {"status": map[string]any{"health": map[string]any{"status": "Degraded"}}},
		"Healthy":     {"status": map[string]any{"health": map[string]any{"status": "Healthy", "message": "all"}}},
	} {
		if status, _ := healthOf(t, application, o); status != want {
			t.Errorf("an Application of %v is %s, want %s", o, status, want)
		}
	}
}

// healthOf runs a rule.
func healthOf(t *testing.T, rule string, object map[string]any) (status, message string) {
	t.Helper()
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	if err := l.CallByParam(lua.P{Fn: l.NewFunction(lua.OpenBase), Protect: true}); err != nil {
		t.Fatal(err)
	}
	l.SetGlobal("obj", toLua(l, object))
	if err := l.DoString(rule); err != nil {
		t.Fatalf("%v in\n%s", err, rule)
	}
	table, ok := l.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("it returns %v", l.Get(-1))
	}
	return table.RawGetString("status").String(), table.RawGetString("message").String()
}

func toLua(l *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case map[string]any:
		table := l.NewTable()
		for key, item := range v {
			table.RawSetString(key, toLua(l, item))
		}
		return table
	case []any:
		table := l.NewTable()
		for _, item := range v {
			table.Append(toLua(l, item))
		}
		return table
	case string:
		return lua.LString(v)
	case float64:
		return lua.LNumber(v)
	default:
		panic(fmt.Sprintf("no %T in a test's object", value))
	}
}
