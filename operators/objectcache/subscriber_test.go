package objectcache

import (
	"encoding/json"
	"runtime/debug"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// decoded is a Subscriber as it comes from an API server.
func decoded(t *testing.T) *api.Subscriber {
	t.Helper()
	s := &api.Subscriber{}
	err := json.Unmarshal([]byte(`{
		"metadata": {"name": "ue-1", "namespace": "ns", "uid": "u", "resourceVersion": "7", "generation": 2, "creationTimestamp": "2026-01-02T03:04:05Z",
			"labels": {"a": "b"}, "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}, "managedFields": [{"manager": "kubectl"}]},
		"spec": {"coreRef": {"name": "core5g"}, "supi": "imsi-208930000000001", "gpsi": "msisdn-33600000001", "ambr": {"uplink": "1 Gbps", "downlink": "2 Gbps"},
			"authentication": {"algorithm": "Milenage", "amf": "8000", "secretRef": {"name": "ue-1"}}, "slices": [{"name": "internet", "dnns": ["ims"], "default": true}]},
		"status": {"observedGeneration": 2, "checkedSecret": "1/6", "conditions": [
			{"type": "CoreFound", "status": "True", "reason": "Ready", "message": "it is there"}, {"type": "Ready", "status": "True", "reason": "Ready", "message": "served"},
			{"type": "SlicesReady", "status": "False", "reason": "NotFound", "message": "create it"}]}}`), s)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestASubscriberKeepsWhatItSaysAndNotWhatOthersSayToo(t *testing.T) {
	// What nobody holds by its handle a collection would let go between the two.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	want, one, two := decoded(t), decoded(t), decoded(t)
	want.ManagedFields, want.Labels, want.Annotations = nil, nil, nil
	Subscriber(one)
	Subscriber(two)
	if d := cmp.Diff(want, one); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got := cap(one.Status.Conditions); got != 3 {
		t.Errorf("room for %d conditions, want 3", got)
	}
	same := func(a, b string) bool { return unsafe.StringData(a) == unsafe.StringData(b) }
	for what, pair := range map[string][2]string{
		"namespace": {one.Namespace, two.Namespace},
		"AMF field": {one.Spec.Authentication.AMF, two.Spec.Authentication.AMF},
		"uplink":    {string(one.Spec.AMBR.Uplink), string(two.Spec.AMBR.Uplink)},
		"slice":     {one.Spec.Slices[0].Name, two.Spec.Slices[0].Name},
		"message":   {one.Status.Conditions[2].Message, two.Status.Conditions[2].Message},
		"status":    {string(one.Status.Conditions[0].Status), string(two.Status.Conditions[0].Status)},
	} {
		if !same(pair[0], pair[1]) {
			t.Errorf("each has its own %s", what)
		}
	}
}

func TestOfASecretItsVersionIsKept(t *testing.T) {
	secret := func(labels map[string]string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: "ue-1", Namespace: "ns", UID: "u", ResourceVersion: "7", Labels: labels,
			Annotations:   map[string]string{applied: `{"data": {"k": "00"}}`, "a": "b"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}, Finalizers: []string{"a/b"},
		}}
	}
	for name, c := range map[string]struct {
		labels map[string]string
		want   metav1.ObjectMeta
	}{
		"of somebody else": {
			map[string]string{"of": "kubectl"}, metav1.ObjectMeta{Name: "ue-1", Namespace: "ns", UID: "u", ResourceVersion: "7"},
		},
		"of ours": {map[string]string{"of": "us"}, metav1.ObjectMeta{
			Name: "ue-1", Namespace: "ns", UID: "u", ResourceVersion: "7", Labels: map[string]string{"of": "us"},
			Annotations: map[string]string{"a": "b"}, Finalizers: []string{"a/b"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m := secret(c.labels)
			Secret(m, "of", "us")
			if d := cmp.Diff(c.want, m.ObjectMeta); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
