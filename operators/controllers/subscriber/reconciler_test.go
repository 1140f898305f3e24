package subscriber

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/controllertest"
)

// judged is a Subscriber with what is around it on a fake API server that counts what is asked of it: reads are
// those past the cache.
type judged struct {
	t             *testing.T
	client        client.Client
	reconciler    *Reconciler
	reads, writes int
}

func judgedObjects() (*api.Core5G, *api.Slice, *corev1.Secret, *api.Subscriber) {
	named := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "ns", Name: name, Generation: 1}
	}
	core := &api.Core5G{ObjectMeta: named("core5g"), Spec: api.Core5GSpec{PLMNs: []api.PLMN{{MCC: "208", MNC: "93"}}, ControlPlane: api.ControlPlaneFree5GC}}
	slice := &api.Slice{
		ObjectMeta: named("internet"),
		Spec:       api.SliceSpec{DataNetworks: []api.DataNetwork{{DNN: "internet"}}},
		Status:     api.SliceStatus{Conditions: []metav1.Condition{{Type: api.ConditionReady, Status: metav1.ConditionTrue}}},
	}
	secret := &corev1.Secret{ObjectMeta: named("keys"), Data: map[string][]byte{"k": []byte(controllertest.Key), "opc": []byte(controllertest.Key)}}
	subscriber := &api.Subscriber{ObjectMeta: named("ue"), Spec: api.SubscriberSpec{
		SUPI: "imsi-208930000000001", Authentication: api.Authentication{SecretRef: api.SecretReference{Name: "keys"}},
		Slices: []api.SubscribedSlice{{Name: "internet"}},
	}}
	return core, slice, secret, subscriber
}

func judge(t *testing.T, objects ...client.Object) *judged {
	t.Helper()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	j := &judged{t: t}
	b := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&api.Subscriber{}, &api.Slice{}).WithObjects(objects...)
	if err := Index(indexer{b}); err != nil {
		t.Fatal(err)
	}
	j.client = b.Build()
	j.reconciler = &Reconciler{
		Client: interceptor.NewClient(j.client.(client.WithWatch), interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				if _, is := o.(*corev1.Secret); is {
					t.Error("a Secret is read as if the cache had what it holds")
				}
				return c.Get(ctx, key, o, opts...)
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
				j.writes++
				return c.SubResource(sub).Patch(ctx, o, p, opts...)
			},
		}),
		Live: interceptor.NewClient(j.client.(client.WithWatch), interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				j.reads++
				return c.Get(ctx, key, o, opts...)
			},
		}),
	}
	return j
}

// indexer makes the indexes of a fake client.
type indexer struct{ *fake.ClientBuilder }

func (i indexer) IndexField(_ context.Context, o client.Object, field string, of client.IndexerFunc) error {
	i.WithIndex(o, field, of)
	return nil
}

// look reconciles the Subscriber and returns it, with what that cost.
func (j *judged) look() (s *api.Subscriber, reads, writes int) {
	j.t.Helper()
	j.reads, j.writes = 0, 0
	key := client.ObjectKey{Namespace: "ns", Name: "ue"}
	if _, err := j.reconciler.Reconcile(j.t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
		j.t.Fatal(err)
	}
	s = &api.Subscriber{}
	if err := j.client.Get(j.t.Context(), key, s); err != nil {
		j.t.Fatal(err)
	}
	return s, j.reads, j.writes
}

func TestASubscriberIsReadyWhenItCanBeServed(t *testing.T) {
	for name, c := range map[string]struct {
		change          func(*api.Core5G, *api.Slice, *corev1.Secret, *api.Subscriber) []client.Object
		kind, reason    string
		words, wantWith string
	}{
		"all is there": {
			change: func(c *api.Core5G, s *api.Slice, k *corev1.Secret, u *api.Subscriber) []client.Object {
				return []client.Object{c, s, k, u}
			},
		},
		"no Core5G": {
			change: func(_ *api.Core5G, s *api.Slice, k *corev1.Secret, u *api.Subscriber) []client.Object {
				return []client.Object{s, k, u}
			},
			kind: api.ConditionCoreFound, reason: api.ReasonNotFound, words: "Core5G core5g does not exist: create it",
		},
		"another Core5G": {
			change: func(c *api.Core5G, s *api.Slice, k *corev1.Secret, u *api.Subscriber) []client.Object {
				c.Name = "mine"
				return []client.Object{c, s, k, u}
			},
			kind: api.ConditionCoreFound, reason: api.ReasonNotFound, words: "spec.coreRef.name (mine)",
		},
		"a Core5G that is being deleted": {
			change: func(c *api.Core5G, s *api.Slice, k *corev1.Secret, u *api.Subscriber) []client.Object {
				now := metav1.Now()
				c.DeletionTimestamp, c.Finalizers = &now, []string{"a/b"}
				return []client.Object{c, s, k, u}
			},
			kind: api.ConditionCoreFound, reason: api.ReasonDeleting, words: "is being deleted",
		},
		"its only Slice is not Ready": {
			change: func(c *api.Core5G, s *api.Slice, k *corev1.Secret, u *api.Subscriber) []client.Object {
				s.Status.Conditions[0].Status = metav1.ConditionFalse
				return []client.Object{c, s, k, u}
			},
			kind: api.ConditionSlicesReady, reason: api.ReasonSliceNotReady, words: "kubectl -n ns describe slice internet",
		},
		"its only Slice has said nothing yet": {
			change: func(c *api.Core5G, s *api.Slice, k *corev1.Secret, u *api.Subscriber) []client.Object {
				s.Status.Conditions = nil
				return []client.Object{c, s, k, u}
			},
			kind: api.ConditionSlicesReady, reason: api.ReasonSliceNotReady, words: "no Slice of the subscription is Ready",
		},
		"one of two Slices is Ready": {
			change: func(c *api.Core5G, s *api.Slice, k *corev1.Secret, u *api.Subscriber) []client.Object {
				other := s.DeepCopy()
				other.Name, other.Status.Conditions = "iot", nil
				u.Spec.Slices = append(u.Spec.Slices, api.SubscribedSlice{Name: "iot"})
				return []client.Object{c, s, other, k, u}
			},
			wantWith: "not Ready: `kubectl -n ns describe slice iot`",
		},
		"an address of its own": {
			change: func(c *api.Core5G, s *api.Slice, k *corev1.Secret, u *api.Subscriber) []client.Object {
				c.Spec.ControlPlane = api.ControlPlaneCore5G
				u.Spec.Slices[0].Addresses = []api.StaticAddress{{DNN: "internet", IPv4: "10.47.0.1", IPv6Prefix: "2001:db8:47::/64"}}
				return []client.Object{c, s, k, u}
			},
		},
		"an address that free5GC's SMF would pass over": {
			change: func(c *api.Core5G, s *api.Slice, k *corev1.Secret, u *api.Subscriber) []client.Object {
				u.Spec.Slices[0].Addresses = []api.StaticAddress{{DNN: "internet", IPv4: "10.47.0.1"}}
				return []client.Object{c, s, k, u}
			},
			kind: api.ConditionSlicesReady, reason: api.ReasonNotSupported, words: "write controlPlane: Core5G in Core5G core5g",
		},
		"an address that an older one has": {
			change: func(c *api.Core5G, s *api.Slice, k *corev1.Secret, u *api.Subscriber) []client.Object {
				c.Spec.ControlPlane = api.ControlPlaneCore5G
				u.Spec.Slices[0].Addresses = []api.StaticAddress{{DNN: "internet", IPv6Prefix: "2001:db8:47::/64"}}
				older := u.DeepCopy()
				older.Name, older.Spec.SUPI = "a", "imsi-208930000000002"
				return []client.Object{c, s, k, u, older}
			},
			kind: api.ConditionAddressesUnique, reason: api.ReasonDuplicate, words: "address 2001:db8:47::/64 belongs to Subscriber a already: write another one",
		},
		"networks behind its UE": {
			change: func(c *api.Core5G, s *api.Slice, k *corev1.Secret, u *api.Subscriber) []client.Object {
				c.Spec.ControlPlane = api.ControlPlaneCore5G
				u.Spec.Slices[0].FramedRoutes = []api.FramedRoutes{{DNN: "internet", Prefixes: []api.FramedRoute{"192.168.7.0/24", "2001:db8:7::/48"}}}
				return []client.Object{c, s, k, u}
			},
		},
		"a network behind its UE that holds one of an older one": {
			change: func(c *api.Core5G, s *api.Slice, k *corev1.Secret, u *api.Subscriber) []client.Object {
				c.Spec.ControlPlane = api.ControlPlaneCore5G
				u.Spec.Slices[0].FramedRoutes = []api.FramedRoutes{{DNN: "internet", Prefixes: []api.FramedRoute{"192.168.0.0/19"}}}
				older := u.DeepCopy()
				older.Name, older.Spec.SUPI = "a", "imsi-208930000000002"
				older.Spec.Slices[0].FramedRoutes[0].Prefixes[0] = "192.168.7.0/24"
				return []client.Object{c, s, k, u, older}
			},
			kind: api.ConditionAddressesUnique, reason: api.ReasonDuplicate, words: "network 192.168.0.0/19 overlaps network 192.168.7.0/24 of Subscriber a: write another one",
		},
		"an address that is routed nowhere": {
			change: func(c *api.Core5G, s *api.Slice, k *corev1.Secret, u *api.Subscriber) []client.Object {
				c.Spec.ControlPlane = api.ControlPlaneCore5G
				s.Spec.DataNetworks[0].StaticPools = []api.CIDR{"10.48.0.0/16"}
				u.Spec.Slices[0].Addresses = []api.StaticAddress{{DNN: "internet", IPv4: "10.47.0.1"}}
				return []client.Object{c, s, k, u}
			},
			kind: api.ConditionAddressesUnique, reason: api.ReasonMalformed, words: "lies in none of the staticPools of DNN internet of Slice internet (10.48.0.0/16)",
		},
		"a flow that the Slice has not": {
			change: func(c *api.Core5G, s *api.Slice, k *corev1.Secret, u *api.Subscriber) []client.Object {
				c.Spec.ControlPlane = api.ControlPlaneCore5G
				s.Spec.DataNetworks[0].Flows = []api.QoSFlow{{Name: "voice", Given: api.FlowAlways}, {Name: "video", Given: api.FlowToSubscribers}}
				u.Spec.Slices[0].Flows = []string{"video", "voice"}
				return []client.Object{c, s, k, u}
			},
			kind: api.ConditionSlicesReady, reason: api.ReasonNotFound, words: "Slice internet has no flow voice that is given ToSubscribers: write one of video",
		},
		"opc and op": {
			change: func(c *api.Core5G, s *api.Slice, k *corev1.Secret, u *api.Subscriber) []client.Object {
				k.Data["op"] = []byte(controllertest.Key)
				return []client.Object{c, s, k, u}
			},
			kind: api.ConditionAuthenticationReady, reason: api.ReasonMalformed, words: `both keys "opc" and "op"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, _, _ := judge(t, c.change(judgedObjects())...).look()
			ready := meta.FindStatusCondition(s.Status.Conditions, api.ConditionReady)
			if c.kind == "" {
				if ready.Status != metav1.ConditionTrue {
					t.Errorf("Ready is %s/%s %q", ready.Status, ready.Reason, ready.Message)
				}
				if of := meta.FindStatusCondition(s.Status.Conditions, api.ConditionSlicesReady); !strings.Contains(of.Message, c.wantWith) {
					t.Errorf("SlicesReady says %q, want …%s…", of.Message, c.wantWith)
				}
				return
			}
			got := meta.FindStatusCondition(s.Status.Conditions, c.kind)
			if got == nil || got.Status != metav1.ConditionFalse || got.Reason != c.reason || !strings.Contains(got.Message, c.words) {
				t.Fatalf("%s is %+v, want %s …%s…", c.kind, got, c.reason, c.words)
			}
			if ready.Status != metav1.ConditionFalse || ready.Message != got.Message {
				t.Errorf("Ready is %s/%s %q", ready.Status, ready.Reason, ready.Message)
			}
		})
	}
}

// A Secret is read once for each of its versions, by whichever operator: what was found stands in the status.
func TestASecretIsReadOncePerVersion(t *testing.T) {
	core, slice, secret, subscriber := judgedObjects()
	j := judge(t, core, slice, secret, subscriber)
	expect := func(when string, wantReads, wantWrites int, status metav1.ConditionStatus) {
		t.Helper()
		s, reads, writes := j.look()
		if d := cmp.Diff([]int{wantReads, wantWrites}, []int{reads, writes}); d != "" {
			t.Errorf("%s: reads and writes (-want +got):\n%s", when, d)
		}
		if got := meta.FindStatusCondition(s.Status.Conditions, api.ConditionAuthenticationReady); got.Status != status || got.ObservedGeneration != s.Generation {
			t.Errorf("%s: %+v", when, got)
		}
	}
	update := func(o client.Object) {
		t.Helper()
		if err := j.client.Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	expect("at first", 1, 1, metav1.ConditionTrue)
	expect("again", 0, 0, metav1.ConditionTrue)
	secret.Data["k"] = []byte("short")
	update(secret)
	expect("a key that is too short", 1, 1, metav1.ConditionFalse)
	expect("that again", 0, 0, metav1.ConditionFalse)

	other := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "other"}, Data: map[string][]byte{"k": []byte(controllertest.Key), "op": []byte(controllertest.Key)}}
	if err := j.client.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	other.Labels = map[string]string{"its": "version differs"}
	update(other)
	s, _, _ := j.look()
	s.Spec.Authentication.SecretRef.Name, s.Generation = "other", 2
	update(s)
	expect("another Secret", 1, 1, metav1.ConditionTrue)
	s, _, _ = j.look()
	s.Generation = 3
	update(s)
	expect("a change of the rest", 0, 1, metav1.ConditionTrue)

	s, _, _ = j.look()
	s.Status.CheckedSecret = strings.Replace(s.Status.CheckedSecret, "1/", "0/", 1)
	if err := j.client.Status().Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	expect("checked by the rules of an earlier operator", 1, 1, metav1.ConditionTrue)
	if err := j.client.Delete(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	expect("no Secret", 1, 1, metav1.ConditionFalse)
	expect("still none", 1, 0, metav1.ConditionFalse)
}

func TestWhatOfASliceConcernsItsSubscribers(t *testing.T) {
	slice := func(generation int64, ready metav1.ConditionStatus, message string) *api.Slice {
		return &api.Slice{
			ObjectMeta: metav1.ObjectMeta{Generation: generation},
			Status:     api.SliceStatus{Conditions: []metav1.Condition{{Type: api.ConditionReady, Status: ready, Message: message}}},
		}
	}
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	for name, c := range map[string]struct {
		before, now *api.Slice
		want        bool
		wantAfter   time.Duration
	}{
		"another message":     {slice(1, no, "a"), slice(1, no, "b"), false, 0},
		"its status is moved": {slice(1, yes, "a"), slice(1, yes, "b"), false, 0},
		"it becomes Ready":    {slice(1, no, "a"), slice(1, yes, "b"), true, 0},
		"it is Ready no more": {slice(1, yes, "a"), slice(1, no, "b"), true, sliceDown},
		"another DNN":         {slice(1, yes, "a"), slice(2, yes, "a"), true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got, after := sliceMatters(c.before, c.now); got != c.want || after != c.wantAfter {
				t.Errorf("%v after %s, want %v after %s", got, after, c.want, c.wantAfter)
			}
		})
	}
}

func TestWhatOfACoreConcernsItsSubscribers(t *testing.T) {
	now := metav1.Now()
	plmns := func(list ...api.PLMN) *api.Core5G { return &api.Core5G{Spec: api.Core5GSpec{PLMNs: list}} }
	one, two := api.PLMN{MCC: "208", MNC: "93"}, api.PLMN{MCC: "001", MNC: "01"}
	deleted := plmns(one)
	deleted.DeletionTimestamp = &now
	other := plmns(one)
	other.Spec.TACs = []api.TAC{"000002"}
	for name, c := range map[string]struct {
		now  *api.Core5G
		want bool
	}{
		"nothing":       {plmns(one), false},
		"another TAC":   {other, false},
		"another PLMN":  {plmns(one, two), true},
		"it is deleted": {deleted, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := coreMatters(plmns(one), c.now); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// Values that share a bucket of an index are told apart.
func TestAnIndexLeadsToThoseOfTheValueAlone(t *testing.T) {
	const value = "imsi-208930000000001"
	same := ""
	for i := 2; same == ""; i++ {
		if other := fmt.Sprintf("imsi-20893%010d", i); bucket(other) == bucket(value) {
			same = other
		}
	}
	subscriber := func(name, supi string, slices ...string) *api.Subscriber {
		s := &api.Subscriber{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: api.SubscriberSpec{SUPI: supi}}
		for _, slice := range slices {
			s.Spec.Slices = append(s.Spec.Slices, api.SubscribedSlice{Name: slice})
		}
		return s
	}
	elsewhere := subscriber("elsewhere", value, "internet")
	elsewhere.Namespace = "other"
	j := judge(t, subscriber("a", value, "internet", "iot"), subscriber("b", same, "iot"), subscriber("c", value), elsewhere)
	for name, c := range map[string]struct {
		index, value string
		want         []string
	}{
		"a SUPI of two":             {IndexSUPI, value, []string{"a", "c"}},
		"one of the same bucket":    {IndexSUPI, same, []string{"b"}},
		"nobody's":                  {IndexSUPI, "imsi-1", nil},
		"a Slice":                   {IndexSlice, "iot", []string{"a", "b"}},
		"a Slice of one":            {IndexSlice, "internet", []string{"a"}},
		"no GPSI is no GPSI of all": {IndexGPSI, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := By(t.Context(), j.client, "ns", c.index, c.value)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range list {
				got = append(got, list[i].Name)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
