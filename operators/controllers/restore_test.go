package controllers

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/certificates"
	"core5g.dev/core5g/operators/controllers/controllertest"
	"core5g.dev/core5g/operators/specs"
)

// backedUp are the kinds that a backup of a core holds, children before parents, which is about the order that tools restore
// in: what is named by others first, custom resources last and by their names.
var backedUp = []schema.GroupVersionKind{
	corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"),
	corev1.SchemeGroupVersion.WithKind("Secret"),
	corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	corev1.SchemeGroupVersion.WithKind("Service"),
	appsv1.SchemeGroupVersion.WithKind("Deployment"),
	api.GroupVersion.WithKind("Subscriber"),
	api.GroupVersion.WithKind("UPFInstance"),
	api.GroupVersion.WithKind("Slice"),
	api.GroupVersion.WithKind("Core5G"),
}

// madeAnew are kinds of which a backup needs nothing: the operator makes them of the custom resources, and they go with them.
var madeAnew = []schema.GroupVersionKind{
	corev1.SchemeGroupVersion.WithKind("Pod"),
	corev1.SchemeGroupVersion.WithKind("ServiceAccount"),
	coordinationv1.SchemeGroupVersion.WithKind("Lease"),
	networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"),
	policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"),
	rbacv1.SchemeGroupVersion.WithKind("Role"),
	rbacv1.SchemeGroupVersion.WithKind("RoleBinding"),
	specs.AttachmentKind,
}

// dump takes the namespace's objects as a tool for backups does: with specification, labels, finalizers and owners, without status.
func (e *environment) dump(t *testing.T, ns string) []unstructured.Unstructured {
	t.Helper()
	var out []unstructured.Unstructured
	for _, kind := range backedUp {
		list := e.all(t, ns, kind)
		slices.SortFunc(list, func(a, b unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
		for _, o := range list {
			o.SetUID("")
			o.SetResourceVersion("")
			o.SetGeneration(0)
			o.SetManagedFields(nil)
			o.SetCreationTimestamp(metav1.Time{})
			unstructured.RemoveNestedField(o.Object, "status")
			out = append(out, o)
		}
	}
	return out
}

func (e *environment) all(t *testing.T, ns string, kind schema.GroupVersionKind) []unstructured.Unstructured {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := e.client.List(t.Context(), list, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// withoutAllocations is what some tools make of an object before they put it back: no owners, and of Services neither addresses nor the nodes' ports.
func withoutAllocations(o unstructured.Unstructured) unstructured.Unstructured {
	o = *o.DeepCopy()
	o.SetOwnerReferences(nil)
	if o.GetKind() != "Service" {
		return o
	}
	if ip, _, _ := unstructured.NestedString(o.Object, "spec", "clusterIP"); ip != corev1.ClusterIPNone {
		unstructured.RemoveNestedField(o.Object, "spec", "clusterIP")
		unstructured.RemoveNestedField(o.Object, "spec", "clusterIPs")
	}
	ports, _, _ := unstructured.NestedSlice(o.Object, "spec", "ports")
	for _, p := range ports {
		delete(p.(map[string]any), "nodePort")
	}
	_ = unstructured.SetNestedSlice(o.Object, ports, "spec", "ports")
	return o
}

// collect plays the garbage collector: what has an owner that is not there goes.
func (e *environment) collect(t *testing.T, ns string) {
	t.Helper()
	there := map[types.UID]bool{}
	var objects []unstructured.Unstructured
	for _, kind := range slices.Concat(madeAnew, backedUp) {
		for _, o := range e.all(t, ns, kind) {
			there[o.GetUID()] = true
			objects = append(objects, o)
		}
	}
	for i := range objects {
		o := &objects[i]
		lost := func(r metav1.OwnerReference) bool { return !there[r.UID] }
		if len(o.GetOwnerReferences()) == 0 || !slices.ContainsFunc(o.GetOwnerReferences(), lost) {
			continue
		}
		uid := o.GetUID()
		if err := e.client.Delete(t.Context(), o, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
	}
}

// givenOut is what others know the core by: addresses of Services and ports of nodes, N3 and N4 endpoints, where gNBs go, and digests of
// the Secrets that must stay.
func (e *environment) givenOut(t *testing.T, ns string, secrets ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	var services corev1.ServiceList
	if err := e.client.List(t.Context(), &services, client.InNamespace(ns), client.HasLabels{api.LabelManagedBy}); err != nil {
		t.Fatal(err)
	}
	for i := range services.Items {
		if strings.Contains(services.Items[i].Name, "-sync-") { // known by name
			continue
		}
		maps.Copy(out, specs.AllocationsOfService(&services.Items[i]))
	}
	for _, name := range []string{"core5g", "own"} {
		core := &api.Core5G{}
		if e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, core) == nil && core.Status.N2 != nil {
			out["N2 of "+name] = core.Status.N2.Address
		}
	}
	upf := &api.UPFInstance{}
	if e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "upf"}, upf) == nil {
		for _, a := range upf.Status.Endpoints {
			out["N3 of "+a.Slice] = a.Address
		}
	}
	for _, name := range []string{"a", "b"} {
		slice := &api.Slice{}
		if e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, slice) == nil && slice.Status.UPF != nil {
			out["user plane of "+name] = slice.Status.UPF.Name + " " + slice.Status.UPF.N3Endpoint + " " + slice.Status.UPF.N4Address
		}
	}
	for _, name := range secrets {
		secret := &corev1.Secret{}
		if e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, secret) == nil {
			out["Secret "+name] = specs.Hash(secret.Data)
		}
	}
	return out
}

// settle waits until everything serves, with kubelet, Deployment controller and garbage collector running on.
func (e *environment) settle(t *testing.T, ns string) {
	t.Helper()
	eventually(t, "everything serves", func() error {
		e.collect(t, ns)
		e.makeAvailable(t, ns)
		if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "upf-0"}, &corev1.Pod{}); err == nil {
			e.makeReady(t, ns, "upf-0")
		}
		named := func(o client.Object, name string) client.Object {
			o.SetNamespace(ns)
			o.SetName(name)
			return o
		}
		for _, c := range []struct {
			object client.Object
			kind   string
		}{
			{named(&api.Core5G{}, "core5g"), api.ConditionReady},
			{named(&api.Core5G{}, "own"), api.ConditionCertificatesReady},
			{named(&api.UPFInstance{}, "upf"), api.ConditionReady},
			{named(&api.Slice{}, "b"), api.ConditionReady},
			{named(&api.Slice{}, "a"), api.ConditionReady},
			{named(&api.Subscriber{}, "ue"), api.ConditionReady},
		} {
			if err := e.hasCondition(t, c.object, c.kind, metav1.ConditionTrue, "", ""); err != nil {
				return fmt.Errorf("%T %s: %s: %w", c.object, c.object.GetName(), c.kind, err)
			}
		}
		for _, name := range []string{"own-smf", "own-amf", "own-session-store"} {
			if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, &appsv1.Deployment{}); err != nil {
				return err
			}
		}
		return nil
	})
}

// wipe takes the namespace's objects away, as a deletion of all of them would.
func (e *environment) wipe(t *testing.T, ns string) {
	t.Helper()
	for _, kind := range []string{"Slice", "UPFInstance", "Subscriber", "Core5G"} {
		eventually(t, "the end of every "+kind, func() error {
			list := e.all(t, ns, api.GroupVersion.WithKind(kind))
			for i := range list {
				if err := client.IgnoreNotFound(e.client.Delete(t.Context(), &list[i])); err != nil {
					return err
				}
			}
			e.stopPods(t, ns)
			if len(list) > 0 {
				return fmt.Errorf("%s is still there", list[0].GetName())
			}
			return nil
		})
	}
	eventually(t, "the end of the rest", func() error {
		e.collect(t, ns)
		left := 0
		for _, kind := range backedUp {
			list := e.all(t, ns, kind)
			for i := range list {
				if err := client.IgnoreNotFound(e.client.Delete(t.Context(), &list[i], client.GracePeriodSeconds(0))); err != nil {
					return err
				}
				if len(list[i].GetFinalizers()) > 0 { // of a controller that does not run here
					e.patch(t, &list[i], `{"metadata":{"finalizers":null}}`)
				}
			}
			left += len(list)
		}
		if left > 0 {
			return fmt.Errorf("%d objects are still there", left)
		}
		return nil
	})
}

// A core is backed up and put back into an empty cluster: everything serves again, with the addresses and endpoints that it had, and nothing has to be
// told to anybody.
func TestIntegrationRestore(t *testing.T) {
	source := startEnvironment(t)
	source.installAttachmentKind(t)
	const ns = "site"
	source.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})
	core, own := controllertest.Core(t, ns), controllertest.Core(t, ns)
	core.Spec.N2.ServiceType = corev1.ServiceTypeNodePort
	own.Name = "own"
	controllertest.OwnControlPlane(own)
	own.Spec.TLS = api.TLSSpec{Mode: api.TLSMutual, Authority: api.TLSAuthorityOperator}
	own.Spec.SessionStore = &api.SessionStoreSpec{}
	// The elder Slice is not the first by name: who is allocated to anew, has the other's endpoint.
	b, a := controllertest.Slice(t, ns, "b", "112233", "10.46.0.0/16"), controllertest.Slice(t, ns, "a", "010203", "10.45.0.0/16")
	subscriber := controllertest.Parse[api.Subscriber](t, ns, `
metadata: {name: ue}
spec:
  supi: imsi-208930000000001
  authentication: {secretRef: {name: keys}}
  slices: [{name: a, dnns: [internet]}]
`)
	keys := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "keys"}, StringData: map[string]string{"k": controllertest.Key, "opc": controllertest.Key}}
	source.create(t, core, own, controllertest.UPF(t, ns), b)
	eventually(t, "the endpoint of the elder Slice", func() error {
		upf := &api.UPFInstance{}
		source.get(t, upf, ns, "upf")
		if specs.EndpointOf(upf, "b") != "172.30.3.16" {
			return fmt.Errorf("endpoints %v", upf.Status.Endpoints)
		}
		return nil
	})
	source.create(t, a, keys, subscriber)
	source.settle(t, ns)
	// What must never be made anew, and what is made anew only where an owner takes it along.
	kept, owned := []string{"keys", "own-session-store-keys"}, []string{specs.AuthorityName("own"), "own-session-store"}
	var before map[string]string
	eventually(t, "all is given out, and written down", func() error { // passes go on behind what serves
		before = source.givenOut(t, ns, kept...)
		written := map[string]string{}
		for _, name := range []string{"core5g-addresses", "own-addresses", "upf-endpoints"} {
			record := &corev1.ConfigMap{}
			if err := source.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, record); err != nil {
				return err
			}
			maps.Copy(written, record.Data)
		}
		for _, service := range []string{"core5g-chf", "own-smf-shard-4", "own-amf", "upf-0-n4"} {
			if before[service] == "" || written[service] != before[service] {
				return fmt.Errorf("%s has %q, and %q is written", service, before[service], written[service])
			}
		}
		for _, n2 := range []string{"N2 of core5g", "N2 of own", "user plane of a", "user plane of b"} {
			if before[n2] == "" {
				return errors.New("there is no " + n2)
			}
		}
		return nil
	})
	for _, name := range owned {
		before["Secret "+name] = source.givenOut(t, ns, name)["Secret "+name]
	}
	if before["N3 of a"] != "172.30.3.17" || before["core5g-amf-n2.n2"] == "" || before["own-smf-shard-4"] == "" || before["upf-0-n4"] == "" {
		t.Fatalf("given out: %v", before)
	}
	backup := source.dump(t, ns)
	wantBefore := func(secrets ...string) map[string]string {
		want := maps.Clone(before)
		maps.DeleteFunc(want, func(key, _ string) bool {
			name, is := strings.CutPrefix(key, "Secret ")
			return is && !slices.Contains(secrets, name)
		})
		return want
	}

	e := startEnvironment(t)
	e.installAttachmentKind(t)
	for _, name := range []string{ns, "elsewhere"} {
		e.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	restore := func(t *testing.T, change func(unstructured.Unstructured) unstructured.Unstructured) {
		t.Helper()
		for _, o := range backup {
			o = change(*o.DeepCopy())
			if err := e.client.Create(t.Context(), &o); err != nil {
				t.Fatalf("put back %s %s: %v", o.GetKind(), o.GetName(), err)
			}
			e.collect(t, ns)
		}
	}
	serves := func(t *testing.T, want map[string]string, secrets ...string) {
		t.Helper()
		e.settle(t, ns)
		eventually(t, "what was given out", func() error {
			e.collect(t, ns)
			if diff := cmp.Diff(want, e.givenOut(t, ns, secrets...)); diff != "" {
				return errors.New("(-before +after):\n" + diff)
			}
			return nil
		})
		// What serves belongs to what it was made for, and would go with it.
		for _, kind := range backedUp[:5] {
			for _, o := range e.all(t, ns, kind) {
				ours := o.GetLabels()[api.LabelManagedBy] == specs.FieldOwner
				stays := o.GetLabels()[api.LabelComponent] == specs.ComponentAllocations || o.GetName() == "own-session-store-keys" || o.GetKind() == "PersistentVolumeClaim"
				if ours && !stays && metav1.GetControllerOf(&o) == nil {
					t.Errorf("%s %s belongs to nobody", o.GetKind(), o.GetName())
				}
			}
		}
		// No pass goes on and on.
		for _, o := range []client.Object{&api.Core5G{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "core5g"}}, &api.UPFInstance{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "upf"}}} {
			for _, c := range []string{api.ConditionReady} {
				e.wantCondition(t, o, c, metav1.ConditionTrue, "", "")
			}
			if c := meta.FindStatusCondition(conditionsOf(o), api.ConditionEndpointsAllocated); c != nil && strings.Contains(c.Message, "not there") {
				t.Errorf("endpoints: %s", c.Message)
			}
		}
	}

	t.Run("as it was written down, with owners that are not there any more", func(t *testing.T) {
		restore(t, func(o unstructured.Unstructured) unstructured.Unstructured { return o })
		serves(t, wantBefore(kept...), kept...)
		if end, ok := certificates.End(e.secret(t, ns, specs.AuthorityName("own")).Data); !ok || end.IsZero() {
			t.Error("the authority was not made anew")
		}
	})
	if t.Failed() {
		return
	}
	e.wipe(t, ns)
	t.Run("by a tool that leaves out owners and addresses", func(t *testing.T) {
		// Somebody has one of the addresses by now.
		e.create(t, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: "squatter"},
			Spec:       corev1.ServiceSpec{ClusterIP: before["core5g-chf"], Ports: []corev1.ServicePort{{Port: 80}}},
		})
		restore(t, withoutAllocations)
		all := slices.Concat(kept, owned)
		e.settle(t, ns)
		chf := &corev1.Service{}
		eventually(t, "the Event of the address that is lost", func() error {
			var events corev1.EventList
			if err := e.client.List(t.Context(), &events, client.InNamespace(ns)); err != nil {
				return err
			}
			for _, ev := range events.Items {
				if ev.Reason == "AddressLost" && strings.Contains(ev.Message, "core5g-chf cannot have "+before["core5g-chf"]+" again") {
					return nil
				}
			}
			return errors.New("none")
		})
		e.get(t, chf, ns, "core5g-chf")
		want := wantBefore(all...)
		want["core5g-chf"] = chf.Spec.ClusterIP
		serves(t, want, all...)
		record := &corev1.ConfigMap{}
		e.get(t, record, ns, "core5g-addresses")
		if record.Data["core5g-chf"] != chf.Spec.ClusterIP {
			t.Errorf("%s is written for core5g-chf, which has %s", record.Data["core5g-chf"], chf.Spec.ClusterIP)
		}
	})
	if t.Failed() {
		return
	}
	// What was given goes with who had it.
	slice := &api.Slice{}
	e.get(t, slice, ns, "b")
	if err := e.client.Delete(t.Context(), slice); err != nil {
		t.Fatal(err)
	}
	endpoints := func() error {
		record := &corev1.ConfigMap{}
		e.get(t, record, ns, "upf-endpoints")
		if diff := cmp.Diff([]api.EndpointAllocation{{Slice: "a", Address: "172.30.3.17"}}, specs.AllocatedEndpoints(record.Data)); diff != "" {
			return errors.New(diff)
		}
		return nil
	}
	eventually(t, "the endpoint is free", endpoints)
	// What is written down is what is used.
	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "upf-endpoints"}}
	e.patch(t, record, `{"data":{"n3.a":"172.30.3.20"}}`)
	eventually(t, "the endpoint that was written", func() error {
		upf := &api.UPFInstance{}
		e.get(t, upf, ns, "upf")
		if got := specs.EndpointOf(upf, "a"); got != "172.30.3.20" {
			return fmt.Errorf("it is %s", got)
		}
		return nil
	})
	e.wipe(t, ns)
}
