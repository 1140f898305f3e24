package charts_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// nodeAgentExtras is what the node agent has beyond level "restricted", and why: it must be uid 0 for the
// kubelet's podresources socket, and it reads the node.
var nodeAgentExtras = []string{
	"runAsNonRoot is not true",
	"volume sys-devices is a path of the host",
	"volume sys-bus is a path of the host",
	"volume sys-kernel-mm is a path of the host",
	"volume pod-resources is a path of the host",
	"volume kubelet-config is a path of the host",
	"volume kubelet-config-dir is a path of the host",
	"volume runtime-config is a path of the host",
}

// isNodeAgent says which pod may have these.
func isNodeAgent(object *unstructured.Unstructured) bool {
	return object.GetKind() == "DaemonSet" && object.GetName() == "core5g-node-agent"
}

// TestPodSecurity holds every pod that the chart renders to Pod Security level "restricted" with a
// read-only root file system, the node agent but for its extras.
func TestPodSecurity(t *testing.T) {
	for _, set := range valueSets(t) {
		t.Run(set.String(), func(t *testing.T) {
			rendered, err := set.render(t)
			if err != nil {
				t.Fatal(err)
			}
			pods := 0
			for _, doc := range split(t, rendered) {
				spec, ok := podSpec(t, doc.object)
				if !ok {
					continue
				}
				pods++
				for _, complaint := range insecure(spec) {
					if isNodeAgent(doc.object) && slices.Contains(nodeAgentExtras, complaint) {
						continue
					}
					t.Errorf("%s %s: %s", doc.object.GetKind(), doc.object.GetName(), complaint)
				}
			}
			if pods < set.wantPods || set.wantPods == 0 && pods > 0 {
				t.Errorf("%d pod templates, want %d at least, and none where there is nothing to run", pods, set.wantPods)
			}
		})
	}
}

// TestNodeAgentReads holds the node agent to looking: what it mounts of the node is read-only, and neither a
// tree that has writable ones below it nor a file of its own.
func TestNodeAgentReads(t *testing.T) {
	tests := []struct {
		name      string
		args      []string
		wantPaths []string
		wantProxy bool
	}{
		{name: "the kubelet's file", wantPaths: []string{"/sys/devices", "/sys/bus", "/sys/kernel/mm", "/var/lib/kubelet/pod-resources", "/var/lib/kubelet/config.yaml"}},
		{name: "and its drop-ins", args: []string{"--set=nodeAgent.kubeletConfigDir=/etc/kubelet.d"},
			wantPaths: []string{"/sys/devices", "/sys/bus", "/sys/kernel/mm", "/var/lib/kubelet/pod-resources", "/var/lib/kubelet/config.yaml", "/etc/kubelet.d"}},
		{name: "and the container runtime's", args: []string{"--set=nodeAgent.runtimeConfig=/etc/containerd/config.toml"},
			wantPaths: []string{"/sys/devices", "/sys/bus", "/sys/kernel/mm", "/var/lib/kubelet/pod-resources", "/var/lib/kubelet/config.yaml", "/etc/containerd/config.toml"}},
		{name: "through the API server", args: []string{"--set=nodeAgent.kubeletConfig=configz"},
			wantPaths: []string{"/sys/devices", "/sys/bus", "/sys/kernel/mm", "/var/lib/kubelet/pod-resources"}, wantProxy: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			rendered, err := template(t, test.args...)
			if err != nil {
				t.Fatal(err)
			}
			agents, proxy := 0, false
			for _, doc := range split(t, rendered) {
				if doc.object.GetKind() == "ClusterRole" && strings.HasSuffix(doc.object.GetName(), "-node-agent") {
					proxy = strings.Contains(doc.text, "nodes/proxy")
				}
				if !isNodeAgent(doc.object) {
					continue
				}
				agents++
				spec, _ := podSpec(t, doc.object)
				var paths []string
				for i, volume := range spec.Volumes {
					paths = append(paths, volume.HostPath.Path)
					if mount := spec.Containers[0].VolumeMounts[i]; mount.Name != volume.Name || !mount.ReadOnly {
						t.Errorf("%s is mounted as %+v, want it read-only", volume.HostPath.Path, mount)
					}
				}
				if diff := cmp.Diff(test.wantPaths, paths); diff != "" {
					t.Errorf("paths of the node (-want +got):\n%s", diff)
				}
			}
			if agents != 1 || proxy != test.wantProxy {
				t.Errorf("%d agents, nodes/proxy %t; want 1, %t", agents, proxy, test.wantProxy)
			}
		})
	}
}

// TestInsecureSeesWhatItShould takes one setting after the other away from a pod that has them all.
func TestInsecureSeesWhatItShould(t *testing.T) {
	yes, no := true, false
	good := func() *corev1.PodSpec {
		return &corev1.PodSpec{
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &yes,
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers: []corev1.Container{{Name: "a", SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes,
				Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": {}}, Limits: corev1.ResourceList{"memory": {}}}}},
		}
	}
	tests := []struct {
		name  string
		spoil func(*corev1.PodSpec)
		want  int
	}{
		{"nothing wrong", func(*corev1.PodSpec) {}, 0},
		{"no pod security context", func(p *corev1.PodSpec) { p.SecurityContext = nil }, 2},
		{"root allowed", func(p *corev1.PodSpec) { p.SecurityContext.RunAsNonRoot = &no }, 1},
		{"host network", func(p *corev1.PodSpec) { p.HostNetwork = true }, 1},
		{"no container security context", func(p *corev1.PodSpec) { p.Containers[0].SecurityContext = nil }, 3},
		{"escalation", func(p *corev1.PodSpec) { p.Containers[0].SecurityContext.AllowPrivilegeEscalation = &yes }, 1},
		{"writable root", func(p *corev1.PodSpec) { p.Containers[0].SecurityContext.ReadOnlyRootFilesystem = nil }, 1},
		{"capabilities kept", func(p *corev1.PodSpec) { p.Containers[0].SecurityContext.Capabilities.Drop = nil }, 1},
		{"capabilities added", func(p *corev1.PodSpec) {
			p.Containers[0].SecurityContext.Capabilities.Add = []corev1.Capability{"NET_RAW"}
		}, 1},
		{"privileged", func(p *corev1.PodSpec) { p.Containers[0].SecurityContext.Privileged = &yes }, 1},
		{"no memory limit", func(p *corev1.PodSpec) { p.Containers[0].Resources.Limits = nil }, 1},
		{"an init container counts too", func(p *corev1.PodSpec) { p.InitContainers = []corev1.Container{{Name: "b"}} }, 4},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			pod := good()
			test.spoil(pod)
			if got := insecure(pod); len(got) != test.want {
				t.Errorf("%d complaints %q, want %d", len(got), got, test.want)
			}
		})
	}
}

func podSpec(t *testing.T, object *unstructured.Unstructured) (*corev1.PodSpec, bool) {
	t.Helper()
	path := []string{"spec", "template", "spec"}
	switch object.GetKind() {
	case "Pod":
		path = path[:1]
	case "Deployment", "StatefulSet", "DaemonSet", "Job", "ReplicaSet":
	case "CronJob":
		path = append([]string{"spec", "jobTemplate"}, path...)
	default:
		return nil, false
	}
	raw, found, err := unstructured.NestedMap(object.Object, path...)
	if err != nil || !found {
		t.Fatalf("%s %s has no pod template: %v", object.GetKind(), object.GetName(), err)
	}
	spec := &corev1.PodSpec{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(raw, spec, true); err != nil {
		t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
	}
	return spec, true
}

// insecure lists what keeps a pod from level "restricted" and a read-only root.
func insecure(pod *corev1.PodSpec) []string {
	var complaints []string
	complain := func(bad bool, text string) {
		if bad {
			complaints = append(complaints, text)
		}
	}
	is := func(value *bool, want bool) bool { return value != nil && *value == want }
	context := pod.SecurityContext
	if context == nil {
		context = &corev1.PodSecurityContext{}
	}
	complain(!is(context.RunAsNonRoot, true), "runAsNonRoot is not true")
	complain(context.SeccompProfile == nil || context.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault,
		"seccompProfile is not RuntimeDefault")
	complain(pod.HostNetwork || pod.HostPID || pod.HostIPC, "shares a namespace of the host")
	for _, volume := range pod.Volumes {
		complain(volume.HostPath != nil, "volume "+volume.Name+" is a path of the host")
	}
	for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		prefix := "container " + container.Name + ": "
		security := container.SecurityContext
		if security == nil {
			security = &corev1.SecurityContext{}
		}
		complain(!is(security.AllowPrivilegeEscalation, false), prefix+"allowPrivilegeEscalation is not false")
		complain(!is(security.ReadOnlyRootFilesystem, true), prefix+"readOnlyRootFilesystem is not true")
		complain(is(security.Privileged, true), prefix+"privileged")
		drops, adds := false, 0
		if security.Capabilities != nil {
			drops = slices.Contains(security.Capabilities.Drop, "ALL")
			adds = len(security.Capabilities.Add)
		}
		complain(!drops, prefix+"capabilities do not drop ALL")
		complain(adds > 0, prefix+"adds capabilities")
		_, limited := container.Resources.Limits[corev1.ResourceMemory]
		complain(!limited, prefix+"no memory limit")
	}
	return complaints
}

// TestRBAC checks that nothing grants a wildcard and that the cluster-wide rules only read, except for
// kinds of our own, and for what TestWebhookRights looks at.
func TestRBAC(t *testing.T) {
	rendered, err := template(t)
	if err != nil {
		t.Fatal(err)
	}
	roles := 0
	for _, doc := range split(t, rendered) {
		kind := doc.object.GetKind()
		if kind != "Role" && kind != "ClusterRole" {
			continue
		}
		roles++
		role := &rbacv1.ClusterRole{} // a Role has the same fields
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(doc.object.Object, role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, list := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs} {
				if slices.Contains(list, "*") {
					t.Errorf("%s %s: %v grants a wildcard", kind, role.Name, rule)
				}
			}
			if kind == "ClusterRole" && !slices.Contains(rule.APIGroups, "core5g.dev") && role.Name != webhookConfiguration &&
				slices.ContainsFunc(rule.Verbs, func(v string) bool { return !slices.Contains([]string{"get", "list", "watch"}, v) }) {
				t.Errorf("ClusterRole %s: %v writes outside the release's namespace", role.Name, rule)
			}
		}
	}
	if roles < 2 {
		t.Errorf("%d roles, want those of the operator and of the jobs", roles)
	}
}
