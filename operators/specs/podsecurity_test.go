package specs

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podsecurity "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

type builtPod struct {
	name        string
	labels      map[string]string
	annotations map[string]string
	spec        corev1.PodSpec
}

// builtPods are all pods that the builders can make.
func builtPods() []builtPod {
	core := makeCore()
	db := EmbeddedDatabase(core)
	var out []builtPod
	for _, o := range []FunctionObjects{
		DatabaseFunction(core, platform), NRF(core, platform, db), PCF(core, platform, db), CHF(core, platform, db), AMF(core, platform),
		SubscriberData(core, platform), SessionStoreFunction(core, platform, "password"), storeAt(1, "10.96.7.1", "10.96.7.2", "10.96.7.3"),
		SMF(core, makeSlice("internet", "010203", "10.45.0.0/16"), platform, SliceUserPlane{UPF: "upf", N4Address: "10.96.1.3", N3Endpoint: "172.30.3.16", SMFAddress: "10.96.1.2"}),
	} {
		template := o.Deployment.Spec.Template
		out = append(out, builtPod{o.Deployment.Name, template.Labels, template.Annotations, template.Spec})
	}
	own := makeOwnCore()
	for name, o := range map[string]FunctionObjects{
		"core5g-smf": SMFSet{Core: own}.Build(platform, nil), "workers of the AMF": AMFWorkers(own, platform), "N2 terminators": N2Terminators(own, platform), "the control plane in one pod": ControlPlane(makeFusedCore(), platform, nil),
	} {
		template := o.Deployment.Spec.Template
		out = append(out, builtPod{name, template.Labels, template.Annotations, template.Spec})
	}
	onNode := makeCore()
	onNode.Spec.SessionStore = storeOnNode()
	template := SessionStoreFunction(onNode, platform, "password").Deployment.Spec.Template
	out = append(out, builtPod{"session store in a directory of a node", template.Labels, template.Annotations, template.Spec})
	for _, driver := range []api.UPFDriver{api.DriverAFPacket, api.DriverVFIO} {
		upf := makeUPF()
		upf.Spec.Driver = driver
		pod := UPFUnit(upf, core, platform, 0, "10.96.1.3").Pod
		out = append(out, builtPod{"upf with driver " + string(driver), pod.Labels, pod.Annotations, pod.Spec})
		if driver == api.DriverVFIO {
			root := VFIOAsRoot(pod)
			out = append(out, builtPod{"upf with driver VFIO as root", root.Labels, root.Annotations, root.Spec})
			beside := BesideKernel(pod)
			out = append(out, builtPod{"upf with driver VFIO beside the kernel's", beside.Labels, beside.Annotations, beside.Spec})
		}
	}
	return out
}

// extras is everything that a pod has beyond Pod Security level "restricted", and why. docs/security.md says
// the same in more words.
var extras = map[string]string{
	// Only where the core says so, and only that directory.
	"session store in a directory of a node": `volume "data" uses restricted volume type "hostPath"`,
	// NET_RAW opens the packet socket, NET_ADMIN brings the interface up and sets its flags, SYS_NICE is what
	// containerd's default seccomp profile asks for before it allows set_mempolicy, which DPDK needs.
	"upf with driver AFPacket": `container "upf-u" must not include "NET_ADMIN", "NET_RAW", "SYS_NICE" in securityContext.capabilities.add`,
	// Without a name of its own, "upf with driver VFIO" has nothing beyond the level. Where a node gives devices
	// to root alone or limits locked memory, user 0 opens /dev/vfio and IPC_LOCK lets the NIC reach hugepages.
	"upf with driver VFIO as root": `container "upf-u" must not include "IPC_LOCK" in securityContext.capabilities.add; container "upf-u" must not set runAsUser=0; container "upf-u" must not set securityContext.runAsNonRoot=false`,
	// VFs of mlx5 stay with the kernel's driver: IPC_LOCK lets the NIC reach hugepages, NET_RAW makes queues of frames, NET_ADMIN sets the kernel's interface.
	"upf with driver VFIO beside the kernel's": `container "upf-u" must not include "IPC_LOCK", "NET_ADMIN", "NET_RAW" in securityContext.capabilities.add`,
}

// TestPodSecurity evaluates every pod as the API server's admission does in a namespace of level
// "restricted": with the checks of Kubernetes itself, at their latest version.
func TestPodSecurity(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks())
	if err != nil {
		t.Fatal(err)
	}
	level := podsecurity.LevelVersion{Level: podsecurity.LevelRestricted, Version: podsecurity.LatestVersion()}
	got := map[string]string{}
	for _, p := range builtPods() {
		var complaints []string
		for _, r := range evaluator.EvaluatePod(level, &metav1.ObjectMeta{Labels: p.labels, Annotations: p.annotations}, &p.spec) {
			if !r.Allowed {
				complaints = append(complaints, r.ForbiddenDetail)
			}
		}
		if len(complaints) > 0 {
			// Baseline and restricted each have a check of capabilities, and complain alike.
			slices.Sort(complaints)
			got[p.name] = strings.Join(slices.Compact(complaints), "; ")
		}
	}
	if diff := cmp.Diff(extras, got); diff != "" {
		t.Errorf("what pods have beyond level restricted (-listed +built), list it with its reason or take it away:\n%s", diff)
	}
}

// What Pod Security does not ask for, and every container has nevertheless.
func TestPodsAreTighterThanRestricted(t *testing.T) {
	mayTalkToTheAPIServer := map[string]bool{"core5g-subscriber-data": true, "core5g-smf": true, "workers of the AMF": true, "the control plane in one pod": true}
	for _, p := range builtPods() {
		if p.spec.AutomountServiceAccountToken == nil || *p.spec.AutomountServiceAccountToken != mayTalkToTheAPIServer[p.name] {
			t.Errorf("%s: an account's token is mounted: %v", p.name, p.spec.AutomountServiceAccountToken)
		}
		for _, v := range p.spec.Volumes {
			if v.HostPath != nil && !strings.Contains(extras[p.name], `type "hostPath"`) {
				t.Errorf("%s: volume %s is a path of the host", p.name, v.Name)
			}
		}
		for _, c := range slices.Concat(p.spec.InitContainers, p.spec.Containers) {
			if s := c.SecurityContext; s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
				t.Errorf("%s: the root of container %s is writable", p.name, c.Name)
			}
			if _, limited := c.Resources.Limits[corev1.ResourceMemory]; !limited {
				t.Errorf("%s: container %s has no limit of memory", p.name, c.Name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(extras)) {
		if !slices.ContainsFunc(builtPods(), func(p builtPod) bool { return p.name == name }) {
			t.Errorf("extras speak of %s, which nobody builds", name)
		}
	}
}
