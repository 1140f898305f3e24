// Package controllertest has what tests of several controllers begin with: objects of each kind, and others whom the operator speaks to.
package controllertest

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"core5g.dev/core5g/images/associations"
	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/specs"
)

// OwnControlPlane has the namespace's core served by core5g's own AMF and SMF, the former of two workers.
func OwnControlPlane(core *api.Core5G) {
	core.Spec.ControlPlane, core.Spec.AMF.Workers = api.ControlPlaneCore5G, ptr.To[int32](2)
}

// Parse a manifest of one object.
func Parse[T any](t *testing.T, namespace, manifest string) *T {
	t.Helper()
	object := new(T)
	if err := yaml.UnmarshalStrict([]byte(manifest), object); err != nil {
		t.Fatal(err)
	}
	any(object).(client.Object).SetNamespace(namespace)
	return object
}

// Core is of free5GC's AMF and SMF: its Slices have SMFs and sessions that end for themselves. Its SBI is in clear text.
func Core(t *testing.T, namespace string) *api.Core5G {
	return Parse[api.Core5G](t, namespace, `
metadata: {name: core5g}
spec:
  plmns: [{mcc: "208", mnc: "93"}]
  tacs: ["000001"]
  sliceCatalogue: [{sst: 1, sd: "010203"}, {sst: 1, sd: "112233"}]
  controlPlane: Free5GC
  tls: {mode: Disabled}
`)
}

// UPF is of one unit, without placement.
func UPF(t *testing.T, namespace string) *api.UPFInstance {
	return Parse[api.UPFInstance](t, namespace, `
metadata: {name: upf}
spec:
  n3:
    attachment: {type: Bridge, bridge: c5g-n3}
    subnet: 172.30.3.0/24
    endpoints: 172.30.3.16/28
  n6:
    attachment: {type: Bridge, bridge: c5g-n6}
    address: 172.30.6.2/24
    gateway: 172.30.6.1
`)
}

// Slice has one data network, internet.
func Slice(t *testing.T, namespace, name, sd, pool string) *api.Slice {
	return Parse[api.Slice](t, namespace, fmt.Sprintf(`
metadata: {name: %s}
spec:
  snssai: {sst: 1, sd: %q}
  dataNetworks: [{dnn: internet, uePools: [%s]}]
`, name, sd, pool))
}

// EdgeNode is the Node ID of ExternalUPF.
const EdgeNode = "upf.edge.example.org"

// ExternalUPF runs elsewhere.
func ExternalUPF(namespace string) *api.UPFInstance {
	return &api.UPFInstance{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "edge"}, Spec: api.UPFInstanceSpec{External: &api.ExternalSpec{
		N4: api.ExternalN4Spec{Address: "203.0.113.7", NodeID: EdgeNode}, N3: api.ExternalN3Spec{Endpoints: []api.CIDR{"203.0.113.16/28"}},
	}}}
}

// OwnSMFPod is one of the core's SMF, as its Deployment would make it.
func OwnSMFPod(namespace string) *corev1.Pod {
	core := &api.Core5G{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "core5g"}}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "core5g-smf-x", Labels: specs.SMFSet{Core: core}.Labels()},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "smf", Image: "smf"}}},
	}
}

// Reporting is an SMF of four shards, each of which says the same of the UPF.
func Reporting(unit associations.Unit) *associations.Report {
	unit.NodeID = EdgeNode
	report := &associations.Report{}
	for n := range 4 {
		report.Shards = append(report.Shards, associations.Shard{
			Name: fmt.Sprint("smf/", n+1), Node: fmt.Sprint("10.96.0.", n+1), Units: []associations.Unit{{NodeID: "10.96.1.1", Associated: true}, unit},
		})
	}
	return report
}

// OutOfService is how somebody says that a machine is off.
var OutOfService = corev1.Taint{Key: corev1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute}

// OwnAddresses gives the n-th UPFInstance of a fleet N3 and N6 addresses that no other has.
func OwnAddresses(upf *api.UPFInstance, n int) {
	upf.Spec.N3 = api.N3Spec{Attachment: api.AttachmentSpec{Type: api.AttachmentBridge, Bridge: "n3"}, Subnet: "172.30.0.0/16", Endpoints: api.CIDR(fmt.Sprintf("172.30.%d.%d/28", n/16, n%16*16)), MTU: 1500}
	upf.Spec.N6 = api.N6Spec{Attachment: api.AttachmentSpec{Type: api.AttachmentBridge, Bridge: "n6"}, Address: api.InterfaceAddress(fmt.Sprintf("172.31.%d.%d/16", 128+n/250, 2+n%250)), Gateway: "172.31.0.1", MTU: 1500}
}

// CallsPerInstance bounds what one UPFInstance of one unit costs the API server from its creation until it
// is Ready: finalizer, two NetworkAttachmentDefinitions, N4 Service, budget, configuration, a look past the cache
// before the finalizer, each of these three and the pod, pod, gate, and the status on the way.
const CallsPerInstance = 16

// TerminatorPod is an N2 terminator that is ready.
func TerminatorPod(namespace, core, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + "/" + name), Labels: specs.Labels(core, specs.ComponentN2)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "n2", Image: "core5g/access-management:dev"}}},
		Status: corev1.PodStatus{PodIP: "10.244.0.9", Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue}, {Type: corev1.ContainersReady, Status: corev1.ConditionTrue},
		}},
	}
}

// Key of a Subscriber, and its OPc: both the same.
const Key = "8baf473f2f8fd09487cccbd7097c6862"
