package controllers

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/controllertest"
	"core5g.dev/core5g/operators/specs"
)

// One API server serves every behaviour below, each in a namespace of its own.
func TestEnvtest(t *testing.T) {
	e := startEnvironment(t)
	t.Cleanup(func() { e.rights.compare(t) })
	t.Run("a UPFInstance without Multus says so and recovers", e.testWithoutMultus)
	t.Run("cert-manager may be missing, and come", e.testCertManager)
	// These move the clock that all share.
	t.Run("certificates are renewed in time", e.testCertificateRenewal)
	t.Run("a refused UPF pod is data", e.testUnitRejected)
	t.Run("a cell that refuses a unit is left alone for a while", e.testCellBackoff)
	t.Run("a misaligned unit is replaced", e.testMisaligned)
	t.Run("a unit that is misaligned everywhere is made ever more seldom", e.testMisalignedEverywhere)
	t.Run("a change replaces one drained unit after the other", e.testRollingReplacement)
	t.Run("units come and go without restarting the SMF", e.testScale)
	t.Run("ShuttingDown waits for the sessions of the only unit", e.testShuttingDown)
	t.Run("deletion waits for sessions, and not for ever", e.testDrainedDeletion)
	t.Run("a fleet of UPFInstances", e.testFleet)
	t.Run("many Subscribers cost little", e.testManySubscribers)
	t.Run("names that a user's objects have", e.testNamesTaken)
	t.Run("functions that lost their registration are put back again", e.testRegistrationLost)
	for name, test := range map[string]func(*testing.T){
		"the API server refuses what the schema forbids":         e.testRefusals,
		"a Core5G becomes its functions":                         e.testCore,
		"an SBI with TLS has certificates":                       e.testCertificates,
		"a new core begins with mutual TLS":                      e.testTLSBegins,
		"free5GC's AMF and core5g's own take each other's place": e.testOwnAMF,
		"a core changes its layout, and back":                    e.testLayouts,
		"NetworkPolicies come with a core and go when told":      e.testNetworkPolicies,
		"an external database comes from a Secret":               e.testExternalDatabase,
		"what the AMF cannot use is said, and holds up nothing":  e.testWhatTheAMFCannotUse,
		"a session store is made where it is asked for":          e.testSessionStore,
		"a session store of three":                               e.testStoreOfThree,
		"a site's session store is looked at":                    e.testExternalSessionStore,
		"a Slice comes and goes without touching anything else":  e.testSliceLife,
		"a selector that is a mistake takes nothing away":        e.testSelectorMistake,
		"Slices that cannot be say why":                          e.testSliceProblems,
		"a data network of Ethernet has no pools":                e.testEthernet,
		"a UPF unit is restarted only when it was asked for":     e.testUnitUpdates,
		"a unit with a standby is taken over":                    e.testStandby,
		"a unit of a lost node":                                  e.testLostNode,
		"an N2 terminator that does not answer":                  e.testSilentTerminator,
		"one UPF a socket":                                       e.testPerSocket,
		"what is short is said and waited for":                   e.testNoFit,
		"Preferred flags a misaligned unit":                      e.testMisalignedIsFlagged,
		"units with virtual functions":                           e.testVFIO,
		"Preferred leaves a unit to the scheduler":               e.testPreferred,
		"two instances do not get one cell":                      e.testTwoInstances,
		"a cordoned node is left for another place":              e.testCordon,
		"a cordoned node is left where the scheduler places":     e.testCordonAny,
		"a rebooted node waits for its device plugin":            e.testReboot,
		"sixty-four nodes":                                       e.testManyNodes,
		"OnApproval waits for the user":                          e.testOnApproval,
		"administrativeState Locked and back":                    e.testLocked,
		"an address of two UPFInstances is the older's":          e.testAddressOverlap,
		"memory that holds no such sessions":                     e.testTooLittleMemory,
		"a UPFInstance is deleted after its pods":                e.testUPFDeletion,
		"a UPF that runs elsewhere":                              e.testExternalUPF,
		"a UPF whose SMF runs elsewhere":                         e.testUPFOfAnotherCluster,
		"a Subscriber says what is wrong and never says a key":   e.testSubscriber,
		"somebody else's change of an object is undone":          e.testDrift,
		"columns show whole lists":                               e.testColumns,
		"fields are of the version that is stored":               e.testVersionOfFields,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

func (e *environment) testWithoutMultus(t *testing.T) {
	ns := e.namespace(t)
	upf := controllertest.UPF(t, ns)
	e.create(t, upf)
	e.wantCondition(t, upf, api.ConditionN3Attached, metav1.ConditionFalse, api.ReasonNoMultus, "install Multus")
	e.wantCondition(t, upf, api.ConditionReady, metav1.ConditionFalse, api.ReasonNoMultus, "install Multus")
	pod := &corev1.Pod{}
	if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "upf-0"}, pod); !apierrors.IsNotFound(err) {
		t.Errorf("a pod was made without its interfaces: %v", err)
	}
	e.installAttachmentKind(t)
	eventually(t, "the pod is made once the kind exists", func() error {
		// A change of annotations stands for the periodic look, which is half a minute away.
		e.nudge(t, upf)
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "upf-0"}, pod)
	})
	nad := &unstructured.Unstructured{}
	nad.SetGroupVersionKind(specs.AttachmentKind)
	e.get(t, nad, ns, "upf-n3")
	if config, _, _ := unstructured.NestedString(nad.Object, "spec", "config"); !strings.Contains(config, `"bridge":"c5g-n3"`) {
		t.Errorf("n3 is attached by %s", config)
	}
}

func (e *environment) nudge(t *testing.T, o client.Object) {
	t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"test/nudge":"%d"}}}`, time.Now().UnixNano())
	if err := e.client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

func (e *environment) testRefusals(t *testing.T) {
	ns := e.namespace(t)
	slice := controllertest.Slice(t, ns, "internet", "010203", "10.45.0.0/16")
	e.create(t, slice)
	if got := slice.Spec.DataNetworks[0]; got.FiveQI != 9 || got.MTU != 1400 || got.AMBR.Uplink != "1 Gbps" || got.ARP.PriorityLevel != 8 {
		t.Errorf("defaults of a data network: %+v", got)
	}
	if slice.Spec.UPFSelector == nil || slice.Spec.UPFSelector.Name != "upf" || slice.Spec.CoreRef.Name != "core5g" {
		t.Errorf("defaults of a Slice: %+v", slice.Spec)
	}
	for name, c := range map[string]struct {
		do   func() error
		want string
	}{
		"a changed S-NSSAI": {func() error {
			return e.client.Patch(t.Context(), slice, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"snssai":{"sd":"112233"}}}`)))
		}, "create a second Slice with the new S-NSSAI"},
		"a pool with host bits": {func() error {
			return e.client.Create(t.Context(), controllertest.Slice(t, ns, "b", "010203", "10.45.0.1/16"))
		}, "write the network address of that prefix"},
		"a bad sd": {func() error {
			return e.client.Create(t.Context(), controllertest.Slice(t, ns, "c", "xyz", "10.45.0.0/16"))
		}, "6 hexadecimal digits"},
		"the same DNN twice": {func() error {
			s := controllertest.Slice(t, ns, "d", "010203", "10.45.0.0/16")
			s.Spec.DataNetworks = append(s.Spec.DataNetworks, s.Spec.DataNetworks[0])
			return e.client.Create(t.Context(), s)
		}, "Duplicate value"},
		"two standbys of a unit": {func() error {
			u := controllertest.UPF(t, ns)
			u.Spec.Redundancy = &api.RedundancySpec{Standbys: 2}
			return e.client.Create(t.Context(), u)
		}, "a unit has one standby at most: write 1, or 0 for none"},
		"endpoints outside the subnet": {func() error {
			u := controllertest.UPF(t, ns)
			u.Spec.N3.Endpoints = "172.30.9.0/28"
			return e.client.Create(t.Context(), u)
		}, "must lie within n3.subnet 172.30.3.0/24"},
		"an external session store without a Secret": {func() error {
			return createWithStore(e, t, ns, &api.SessionStoreSpec{Type: api.SessionStoreExternal})
		}, "name the Secret with the keys addresses, username and password"},
		"an embedded session store with a Secret": {func() error {
			return createWithStore(e, t, ns, &api.SessionStoreSpec{SecretRef: &api.SecretReference{Name: "site"}})
		}, "write type External, or leave secretRef out"},
		"storage of an external session store": {func() error {
			return createWithStore(e, t, ns, &api.SessionStoreSpec{
				Type: api.SessionStoreExternal, SecretRef: &api.SecretReference{Name: "site"}, Storage: &api.SessionStoreStorage{},
			})
		}, "sessionStore.storage is of the embedded store"},
		"a directory of no node": {func() error {
			return createWithStore(e, t, ns, &api.SessionStoreSpec{Storage: &api.SessionStoreStorage{Type: api.SessionStoreHostPath, HostPath: "/data"}})
		}, "needs storage.hostPath and storage.node"},
		"a node of a claim": {func() error {
			return createWithStore(e, t, ns, &api.SessionStoreSpec{Storage: &api.SessionStoreStorage{Node: "w1"}})
		}, "only read with storage.type HostPath"},
		"the size of a directory": {func() error {
			return createWithStore(e, t, ns, &api.SessionStoreSpec{Storage: &api.SessionStoreStorage{
				Type: api.SessionStoreHostPath, HostPath: "/data", Node: "w1", Size: ptr.To(resource.MustParse("1Gi")),
			}})
		}, "leave them out with storage.type HostPath"},
		"a claim of nothing": {func() error {
			return createWithStore(e, t, ns, &api.SessionStoreSpec{Storage: &api.SessionStoreStorage{Size: ptr.To(resource.MustParse("0"))}})
		}, "storage.size must be above 0"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.do()
			if err == nil || !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want a refusal that says %q", err, c.want)
			}
		})
	}
}

func (e *environment) testCore(t *testing.T) {
	ns := e.namespace(t)
	core := controllertest.Core(t, ns)
	e.create(t, core)
	e.wantCondition(t, core, api.ConditionConfigurationValid, metav1.ConditionTrue, "", "")
	for _, name := range []string{"core5g-database", "core5g-nrf", "core5g-pcf", "core5g-chf", "core5g-amf", "core5g-subscriber-data"} {
		eventually(t, name, func() error {
			d := &appsv1.Deployment{}
			if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, d); err != nil {
				return err
			}
			if !cluster.Owns(core, d) {
				return errors.New("does not belong to the Core5G")
			}
			return nil
		})
	}
	for _, name := range []string{"core5g-nrf", "core5g-ausf", "core5g-udm", "core5g-udr", "core5g-nssf", "core5g-amf-n2"} {
		e.get(t, &corev1.Service{}, ns, name)
	}
	e.wantCondition(t, core, api.ConditionReady, metav1.ConditionFalse, api.ReasonProgressing, "")
	e.wantServed(t, core, api.ConditionReady, metav1.ConditionTrue, api.ReasonReady, "")
	if core.Status.N2 == nil || !strings.HasSuffix(core.Status.N2.Address, ":38412") {
		t.Errorf("N2 is %v", core.Status.N2)
	}
	if len(core.Status.Functions) != 6 {
		t.Errorf("functions: %v", core.Status.Functions)
	}
}

// What core5g's own AMF cannot use of a Core5G, which it reads itself, is a condition; everything else goes on.
func (e *environment) testWhatTheAMFCannotUse(t *testing.T) {
	ns := e.namespace(t)
	core := controllertest.Core(t, ns)
	core.Spec.ControlPlane, core.Spec.SessionStore = api.ControlPlaneCore5G, &api.SessionStoreSpec{}
	core.Spec.TACs = []api.TAC{"00000a", "00000A"}
	e.create(t, core)
	e.wantCondition(t, core, api.ConditionConfigurationValid, metav1.ConditionFalse, api.ReasonMalformed, "the AMF cannot use the Core5G as it is, and serves as before, or not at all where it is new: tac 00000a is there twice: write it once")
	e.wantCondition(t, core, api.ConditionReady, metav1.ConditionFalse, api.ReasonMalformed, "tac 00000a is there twice")
	eventually(t, "the SMF is made all the same", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "core5g-smf"}, &appsv1.Deployment{})
	})
	e.edit(t, core, func() { core.Spec.TACs = []api.TAC{"00000a"} })
	e.wantCondition(t, core, api.ConditionConfigurationValid, metav1.ConditionTrue, api.ReasonReady, "")
}

func (e *environment) testExternalDatabase(t *testing.T) {
	ns := e.namespace(t)
	core := controllertest.Core(t, ns)
	core.Spec.Database = api.DatabaseSpec{Type: api.DatabaseExternal, URISecretRef: &api.SecretKeyReference{Name: "mongo"}}
	e.create(t, core)
	e.wantCondition(t, core, api.ConditionConfigurationValid, metav1.ConditionFalse, api.ReasonNotFound, `create it with key "uri"`)
	e.create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "mongo"}, StringData: map[string]string{"uri": "mongodb://u:hidden@db"}})
	e.wantCondition(t, core, api.ConditionConfigurationValid, metav1.ConditionTrue, "", "")
	secret := &corev1.Secret{}
	eventually(t, "the NRF's configuration is a Secret", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "core5g-nrf-config"}, secret)
	})
	if !strings.Contains(string(secret.Data["nrfcfg.yaml"]), "mongodb://u:hidden@db") {
		t.Error("the NRF is not told the URI")
	}
	var configs corev1.ConfigMapList
	if err := e.client.List(t.Context(), &configs, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	for _, c := range configs.Items {
		if strings.Contains(fmt.Sprint(c.Data), "hidden") {
			t.Errorf("ConfigMap %s holds the password", c.Name)
		}
	}
	if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "core5g-database"}, &appsv1.Deployment{}); !apierrors.IsNotFound(err) {
		t.Errorf("an embedded database runs beside the external one: %v", err)
	}
}

// snapshot is what must not move: every Deployment and pod with its generation.
func (e *environment) snapshot(t *testing.T, ns string) map[string]string {
	t.Helper()
	out := map[string]string{}
	var deployments appsv1.DeploymentList
	var pods corev1.PodList
	var configs corev1.ConfigMapList
	for _, l := range []client.ObjectList{&deployments, &pods, &configs} {
		if err := e.client.List(t.Context(), l, client.InNamespace(ns), client.HasLabels{api.LabelManagedBy}); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range deployments.Items {
		out["Deployment "+d.Name] = fmt.Sprint(d.UID, d.Generation, specs.Hash(d.Spec.Template))
	}
	for _, p := range pods.Items {
		out["Pod "+p.Name] = fmt.Sprint(p.UID, p.DeletionTimestamp)
	}
	for _, c := range configs.Items {
		if c.Labels[api.LabelComponent] == specs.ComponentAllocations {
			continue // no pod reads it: it is the status that outlives a restore
		}
		out["ConfigMap "+c.Name] = fmt.Sprint(c.UID, c.ResourceVersion)
	}
	return out
}

func (e *environment) testSliceLife(t *testing.T) {
	ns := e.namespace(t)
	core, upf := controllertest.Core(t, ns), controllertest.UPF(t, ns)
	first := controllertest.Slice(t, ns, "internet", "010203", "10.45.0.0/16")
	// The Slice comes first: the order does not matter.
	e.create(t, first)
	e.wantCondition(t, first, api.ConditionReady, metav1.ConditionFalse, "", "Core5G core5g does not exist")
	e.create(t, upf, core)
	eventually(t, "the SMF", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "core5g-smf-internet"}, &appsv1.Deployment{})
	})
	eventually(t, "the UPF's pod", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "upf-0"}, &corev1.Pod{})
	})
	e.makeReady(t, ns, "upf-0")
	e.wantCondition(t, upf, api.ConditionReady, metav1.ConditionTrue, "", "")
	// The core's functions are made beside the Slice's, and the AMF is the last: all stand before what
	// must not move is looked at.
	eventually(t, "the AMF", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "core5g-amf"}, &appsv1.Deployment{})
	})
	e.wantServed(t, first, api.ConditionReady, metav1.ConditionTrue, "", "")
	if first.Status.UPF.N3Endpoint != "172.30.3.16" {
		t.Errorf("N3 endpoint %s", first.Status.UPF.N3Endpoint)
	}
	config := &corev1.ConfigMap{}
	e.get(t, config, ns, "core5g-smf-internet-config")
	for _, want := range []string{"172.30.3.16", first.Status.UPF.N4Address, "10.45.0.0/16"} {
		if !strings.Contains(config.Data["smfcfg.yaml"], want) {
			t.Errorf("the SMF is not told %s", want)
		}
	}

	before := e.snapshot(t, ns)
	second := controllertest.Slice(t, ns, "second", "112233", "10.46.0.0/16")
	e.create(t, second)
	eventually(t, "the second SMF", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "core5g-smf-second"}, &appsv1.Deployment{})
	})
	e.wantServed(t, second, api.ConditionReady, metav1.ConditionTrue, "", "")
	if second.Status.UPF.N3Endpoint != "172.30.3.17" {
		t.Errorf("N3 endpoint %s", second.Status.UPF.N3Endpoint)
	}
	after := e.snapshot(t, ns)
	for name, was := range before {
		if after[name] != was {
			t.Errorf("%s was touched by a new Slice: %s, was %s", name, after[name], was)
		}
	}

	smf := &corev1.Service{}
	e.get(t, smf, ns, "core5g-smf-internet")

	// The first one goes; the second keeps everything, its endpoint included.
	kept := e.snapshot(t, ns)
	if err := e.client.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Slice ends", func() error {
		err := e.client.Get(t.Context(), client.ObjectKeyFromObject(first), first)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("still there: %v", err)
	})
	if _, ok := e.released.Load(first.Status.UPF.N4Address + " " + smf.Spec.ClusterIP); !ok {
		t.Error("the UPF was not told that the SMF's association is over")
	}
	eventually(t, "its endpoint is free", func() error {
		e.get(t, upf, ns, "upf")
		if len(upf.Status.Endpoints) != 1 || upf.Status.Endpoints[0].Slice != "second" || upf.Status.Endpoints[0].Address != "172.30.3.17" {
			return fmt.Errorf("%v", upf.Status.Endpoints)
		}
		return nil
	})
	for name, now := range e.snapshot(t, ns) {
		if kept[name] != now {
			t.Errorf("%s was touched by the end of a Slice: %s, was %s", name, now, kept[name])
		}
	}
	if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "core5g-smf-internet"}, &appsv1.Deployment{}); !apierrors.IsNotFound(err) {
		t.Errorf("the SMF of the deleted Slice: %v", err)
	}

	// Its pool is free again, and its address too.
	again := controllertest.Slice(t, ns, "again", "010203", "10.45.0.0/16")
	e.create(t, again)
	e.wantCondition(t, again, api.ConditionPoolsValid, metav1.ConditionTrue, "", "")
	eventually(t, "the freed endpoint is given out again", func() error {
		e.get(t, again, ns, "again")
		if again.Status.UPF == nil || again.Status.UPF.N3Endpoint != "172.30.3.16" {
			return fmt.Errorf("%+v", again.Status.UPF)
		}
		return nil
	})
}

// A data network of Ethernet says where it cannot be, and is there with nothing of pools where it can.
func (e *environment) testEthernet(t *testing.T) {
	ns := e.namespace(t)
	core, upf := controllertest.Core(t, ns), controllertest.UPF(t, ns)
	core.Spec.ControlPlane = api.ControlPlaneCore5G
	lan := controllertest.Parse[api.Slice](t, ns, `
metadata: {name: plant}
spec:
  snssai: {sst: 1, sd: "010203"}
  dataNetworks: [{dnn: lan, sessionTypes: [Ethernet], flows: [{name: goose, fiveQI: 69, precedence: 1, filters: [{ethernet: {etherType: "0x88b8"}}]}]}]
`)
	e.create(t, core, upf, lan)
	e.wantCondition(t, lan, api.ConditionPoolsValid, metav1.ConditionFalse, api.ReasonNotFound, "UPFInstance upf has no network instance lan for DNN lan, and n6 is for IP")
	eventually(t, "another UPFInstance, which is not there yet", func() error {
		e.get(t, lan, ns, "plant")
		before := lan.DeepCopy()
		lan.Spec.UPFSelector = &api.UPFSelector{Name: "later"}
		return e.client.Patch(t.Context(), lan, client.MergeFrom(before))
	})
	e.wantCondition(t, lan, api.ConditionPoolsValid, metav1.ConditionTrue, api.ReasonReady, "of Ethernet, which has no UE pools")
}

func (e *environment) testSliceProblems(t *testing.T) {
	ns := e.namespace(t)
	core, upf := controllertest.Core(t, ns), controllertest.UPF(t, ns)
	upf.Spec.N3.Endpoints = "172.30.3.16/31"
	first := controllertest.Slice(t, ns, "a-first", "010203", "10.45.0.0/16")
	e.create(t, core, upf, first)
	e.wantCondition(t, first, api.ConditionUPFReady, metav1.ConditionFalse, "", "")

	overlap := controllertest.Slice(t, ns, "b-overlap", "112233", "10.45.128.0/17")
	e.create(t, overlap)
	e.wantCondition(t, overlap, api.ConditionPoolsValid, metav1.ConditionFalse, api.ReasonPoolOverlap, "Slice a-first")

	duplicate := controllertest.Slice(t, ns, "c-duplicate", "010203", "10.50.0.0/16")
	e.create(t, duplicate)
	e.wantCondition(t, duplicate, api.ConditionAdvertised, metav1.ConditionFalse, api.ReasonDuplicate, "belongs to Slice a-first")
	// Two addresses are there, three Slices want one.
	e.wantCondition(t, upf, api.ConditionEndpointsAllocated, metav1.ConditionFalse, api.ReasonExhausted, "c-duplicate")

	outside := controllertest.Slice(t, ns, "d-outside", "aabbcc", "10.60.0.0/16")
	outside.Spec.UPFSelector = &api.UPFSelector{MatchLabels: map[string]string{"site": "north"}}
	e.create(t, outside)
	e.wantCondition(t, outside, api.ConditionAdvertised, metav1.ConditionFalse, api.ReasonRestartRequired, "restarts the AMF")
	e.wantCondition(t, outside, api.ConditionUPFReady, metav1.ConditionFalse, api.ReasonNotFound, "site=north")
	// A restart of the AMF would not help alone: what else is missing comes first.
	e.wantCondition(t, outside, api.ConditionReady, metav1.ConditionFalse, api.ReasonNotFound, "site=north")
	for _, name := range []string{"b-overlap", "c-duplicate", "d-outside"} {
		err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "core5g-smf-" + name}, &appsv1.Deployment{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("an SMF of Slice %s was started: %v", name, err)
		}
	}

	// The API server of the tests has Services in 10.0.0.0/16.
	service := controllertest.Slice(t, ns, "e-service", "aabbcd", "10.0.128.0/17")
	e.create(t, service)
	e.wantCondition(t, service, api.ConditionPoolsValid, metav1.ConditionFalse, api.ReasonPoolOverlap,
		"overlaps the cluster's Service network 10.0.0.0/16: write a pool that is free")
	// A network that the cluster is given later takes no pool away.
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: ns + "-late"},
		Spec:       corev1.NodeSpec{PodCIDR: "10.60.0.0/24", PodCIDRs: []string{"10.60.0.0/24"}},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.61.0.1"}}},
	}
	if err := e.client.Create(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	probes := 0
	eventually(t, "the operator knows of the node", func() error {
		probes++
		probe := controllertest.Slice(t, ns, fmt.Sprintf("f-probe-%d", probes), "aabbce", "10.61.0.0/16")
		if err := e.client.Create(t.Context(), probe); err != nil {
			return err
		}
		e.wantCondition(t, probe, api.ConditionPoolsValid, "", "", "")
		if c := meta.FindStatusCondition(probe.Status.Conditions, api.ConditionPoolsValid); !strings.Contains(c.Message, "overlaps the address 10.61.0.1 of node "+node.Name) {
			return errors.Join(errors.New(c.Message), e.client.Delete(t.Context(), probe))
		}
		return nil
	})
	eventually(t, "Slice d-outside is looked at again", func() error {
		e.get(t, outside, ns, "d-outside")
		outside.Spec.DataNetworks[0].MTU = 1300
		return e.client.Update(t.Context(), outside)
	})
	eventually(t, "Slice d-outside has been looked at", func() error {
		e.get(t, outside, ns, "d-outside")
		if outside.Status.ObservedGeneration != outside.Generation {
			return errors.New("not yet")
		}
		return nil
	})
	e.wantCondition(t, outside, api.ConditionPoolsValid, metav1.ConditionTrue, "", "")

	// Into the catalogue with it: the AMF rolls, and the Slice is advertised.
	amf := &appsv1.Deployment{}
	eventually(t, "the AMF", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "core5g-amf"}, amf)
	})
	was := amf.Generation
	eventually(t, "the catalogue grows", func() error {
		e.get(t, core, ns, "core5g")
		core.Spec.SliceCatalogue = append(core.Spec.SliceCatalogue, api.SNSSAI{SST: 1, SD: "AABBCC"})
		return e.client.Update(t.Context(), core)
	})
	e.wantCondition(t, outside, api.ConditionAdvertised, metav1.ConditionTrue, api.ReasonInCatalogue, "")
	eventually(t, "the AMF rolls", func() error {
		e.get(t, amf, ns, "core5g-amf")
		if amf.Generation == was {
			return errors.New("unchanged")
		}
		return nil
	})

	// The older one goes: the overlap is over.
	if err := e.client.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	e.wantCondition(t, overlap, api.ConditionPoolsValid, metav1.ConditionTrue, "", "")
	e.wantCondition(t, duplicate, api.ConditionAdvertised, metav1.ConditionTrue, "", "")
}

// runningUPF makes a UPFInstance with a unit that is Ready.
func (e *environment) runningUPF(t *testing.T, ns string) (*api.UPFInstance, *corev1.Pod) {
	t.Helper()
	upf := controllertest.UPF(t, ns)
	e.create(t, upf)
	pod := &corev1.Pod{}
	eventually(t, "the pod", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "upf-0"}, pod)
	})
	e.makeReady(t, ns, "upf-0")
	e.wantCondition(t, upf, api.ConditionReady, metav1.ConditionTrue, "", "1 units forward packets")
	e.get(t, pod, ns, "upf-0")
	return upf, pod
}

func (e *environment) wantReplaced(t *testing.T, ns string, old *corev1.Pod) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	eventually(t, "the pod is replaced", func() error {
		e.stopPods(t, ns)
		if err := e.client.Get(t.Context(), client.ObjectKeyFromObject(old), pod); err != nil {
			return err
		}
		if pod.UID == old.UID {
			return errors.New("it is the same")
		}
		return nil
	})
	return pod
}

func (e *environment) testUnitUpdates(t *testing.T) {
	ns := e.namespace(t)
	core := controllertest.Core(t, ns)
	e.create(t, core)
	upf, pod := e.runningUPF(t, ns)
	e.wantCondition(t, upf, api.ConditionUpdatePending, metav1.ConditionFalse, api.ReasonUpToDate, "")

	// Something that only the operator turns into a change of the pod.
	eventually(t, "another image", func() error {
		e.get(t, core, ns, "core5g")
		core.Spec.Images.Tag = "v2"
		return e.client.Update(t.Context(), core)
	})
	e.wantCondition(t, upf, api.ConditionUpdatePending, metav1.ConditionTrue, "", "kubectl annotate")
	same := &corev1.Pod{}
	e.get(t, same, ns, "upf-0")
	if same.UID != pod.UID || !same.DeletionTimestamp.IsZero() {
		t.Fatal("the unit was restarted without being asked for")
	}
	e.wantCondition(t, upf, api.ConditionReady, metav1.ConditionTrue, "", "")

	// The user lets it through, as the condition says.
	var message string
	for _, c := range upf.Status.Conditions {
		if c.Type == api.ConditionUpdatePending {
			message = c.Message
		}
	}
	_, hash, _ := strings.Cut(message, api.AnnotationApplyUpdate+"=")
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, api.AnnotationApplyUpdate, hash)
	if err := e.client.Patch(t.Context(), upf, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
	updated := e.wantReplaced(t, ns, pod)
	if got := updated.Spec.Containers[0].Image; got != "core5g/upf-u:v2" {
		t.Errorf("the new unit runs %s", got)
	}
	e.makeReady(t, ns, "upf-0")
	e.wantCondition(t, upf, api.ConditionUpdatePending, metav1.ConditionFalse, api.ReasonUpToDate, "")

	// The user changes the UPFInstance.
	eventually(t, "another block", func() error {
		e.get(t, upf, ns, "upf")
		upf.Spec.N3.Endpoints = "172.30.3.32/28"
		return e.client.Update(t.Context(), upf)
	})
	changed := e.wantReplaced(t, ns, updated)
	config := &corev1.ConfigMap{}
	e.get(t, config, ns, changed.Spec.Volumes[0].ConfigMap.Name)
	if !strings.Contains(config.Data["upf-u.yaml"], "172.30.3.32/28") {
		t.Error("the new unit does not read the new block")
	}

	// More units than there are addresses for say so, and the one that runs is left alone.
	eventually(t, "scale", func() error {
		e.get(t, upf, ns, "upf")
		two := int32(2)
		upf.Spec.Units = &two
		return e.client.Update(t.Context(), upf)
	})
	e.wantCondition(t, upf, api.ConditionUnitsReady, metav1.ConditionFalse, api.ReasonAddressesMissing, "spec.n6.unitAddresses")
	e.wantCondition(t, upf, api.ConditionEndpointsAllocated, metav1.ConditionFalse, api.ReasonAddressesMissing, "spec.n6.unitAddresses")
	e.get(t, same, ns, "upf-0")
	if same.UID != changed.UID || !same.DeletionTimestamp.IsZero() {
		t.Fatal("the unit was restarted for a number that cannot be")
	}

	// A pod that somebody deletes comes back.
	if err := e.client.Delete(t.Context(), changed, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	e.wantReplaced(t, ns, changed)
}

func (e *environment) testUnitRejected(t *testing.T) {
	// However slow the machine is, the back-off is over when the test says so.
	e.clock.hold(t)
	ns := e.namespace(t)
	upf := controllertest.UPF(t, ns)
	e.create(t, upf)
	pod := &corev1.Pod{}
	eventually(t, "the pod", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "upf-0"}, pod)
	})
	e.editStatus(t, pod, func() {
		pod.Status.Phase = corev1.PodFailed
		pod.Status.Reason = "TopologyAffinityError"
		pod.Status.Message = "Resources cannot be allocated with Topology locality"
	})
	e.wantCondition(t, upf, api.ConditionPlaced, metav1.ConditionFalse, "Rejected", "TopologyAffinityError")
	e.wantCondition(t, upf, api.ConditionReady, metav1.ConditionFalse, "", "TopologyAffinityError")
	if got := upf.Status.UnitStatuses[0]; got.Rejections != 1 || got.RetryAfter == nil {
		t.Errorf("unit: %+v", got)
	}
	// First the status, then the end of the pod.
	gone := func() error {
		now := &corev1.Pod{}
		err := e.client.Get(t.Context(), client.ObjectKeyFromObject(pod), now)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil && now.UID != pod.UID {
			t.Fatal("the next pod was made at once")
		}
		return fmt.Errorf("still there: %v", err)
	}
	eventually(t, "the refused pod goes", gone)
	var events corev1.EventList
	eventually(t, "the Event", func() error {
		if err := e.client.List(t.Context(), &events, client.InNamespace(ns)); err != nil {
			return err
		}
		for _, ev := range events.Items {
			if ev.Reason == "TopologyAffinityError" && ev.InvolvedObject.Name == "upf" {
				return nil
			}
		}
		return fmt.Errorf("not among %d", len(events.Items))
	})
	if err := gone(); err != nil {
		t.Error(err)
	}
	e.clock.add(backoffFirst)
	eventually(t, "the next pod", func() error {
		e.nudge(t, upf)
		return e.client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod)
	})
}

func (e *environment) testLocked(t *testing.T) {
	ns := e.namespace(t)
	upf, pod := e.runningUPF(t, ns)
	address := upf.Status.UnitStatuses[0].N4Address
	set := func(state api.AdministrativeState) {
		eventually(t, string(state), func() error {
			e.get(t, upf, ns, "upf")
			upf.Spec.AdministrativeState = state
			return e.client.Update(t.Context(), upf)
		})
	}
	set(api.StateLocked)
	eventually(t, "the pod goes", func() error {
		e.stopPods(t, ns)
		if err := e.client.Get(t.Context(), client.ObjectKeyFromObject(pod), &corev1.Pod{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("still there: %v", err)
		}
		return nil
	})
	e.wantCondition(t, upf, api.ConditionUnitsReady, metav1.ConditionFalse, api.ReasonLocked, "write Unlocked")
	set(api.StateUnlocked)
	e.wantReplaced(t, ns, pod)
	e.makeReady(t, ns, "upf-0")
	e.wantCondition(t, upf, api.ConditionReady, metav1.ConditionTrue, "", "")
	if got := upf.Status.UnitStatuses[0].N4Address; got != address {
		t.Errorf("the N4 address moved from %s to %s", address, got)
	}
}

func (e *environment) testUPFDeletion(t *testing.T) {
	ns := e.namespace(t)
	upf, pod := e.runningUPF(t, ns)
	if err := e.client.Delete(t.Context(), upf); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pod is asked to stop", func() error {
		if err := e.client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
			return err
		}
		if pod.DeletionTimestamp.IsZero() {
			return errors.New("it runs")
		}
		return nil
	})
	e.get(t, upf, ns, "upf") // the object waits for the pod
	e.stopPods(t, ns)
	eventually(t, "the object goes", func() error {
		if err := e.client.Get(t.Context(), client.ObjectKeyFromObject(upf), upf); !apierrors.IsNotFound(err) {
			return fmt.Errorf("still there: %v", err)
		}
		return nil
	})
}

func (e *environment) testSubscriber(t *testing.T) {
	ns := e.namespace(t)
	const key = "8baf473f2f8fd09487cccbd7097c6862"
	subscriber := controllertest.Parse[api.Subscriber](t, ns, `
metadata: {name: a}
spec:
  supi: imsi-208930000000001
  authentication: {secretRef: {name: keys}}
  slices: [{name: internet, dnns: [internet]}]
`)
	core := controllertest.Core(t, ns)
	e.create(t, subscriber)
	e.wantCondition(t, subscriber, api.ConditionCoreFound, metav1.ConditionFalse, api.ReasonNotFound, "Core5G core5g does not exist")
	e.create(t, core)
	e.wantCondition(t, subscriber, api.ConditionCoreFound, metav1.ConditionTrue, "", "")
	if subscriber.Spec.Authentication.AMF != "8000" {
		t.Errorf("defaults: %+v", subscriber.Spec.Authentication)
	}
	e.wantCondition(t, subscriber, api.ConditionAuthenticationReady, metav1.ConditionFalse, api.ReasonNotFound, "create it with keys")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "keys"}, StringData: map[string]string{"k": key}}
	e.create(t, secret)
	e.wantCondition(t, subscriber, api.ConditionAuthenticationReady, metav1.ConditionFalse, api.ReasonMalformed, `no key "opc"`)
	e.edit(t, secret, func() { secret.StringData = map[string]string{"opc": key[:30] + "zz"} })
	e.wantCondition(t, subscriber, api.ConditionAuthenticationReady, metav1.ConditionFalse, api.ReasonMalformed, "has 32 characters that are not all hexadecimal digits")
	e.edit(t, secret, func() { secret.StringData = map[string]string{"opc": key} })
	e.wantCondition(t, subscriber, api.ConditionAuthenticationReady, metav1.ConditionTrue, "", "")
	e.wantCondition(t, subscriber, api.ConditionSlicesReady, metav1.ConditionFalse, api.ReasonNotFound, "Slice internet does not exist")
	slice := controllertest.Slice(t, ns, "internet", "010203", "10.45.0.0/16")
	e.create(t, slice)
	e.wantCondition(t, subscriber, api.ConditionSlicesReady, metav1.ConditionFalse, api.ReasonSliceNotReady, "describe slice internet")
	e.serve(t, ns, slice)
	e.wantCondition(t, subscriber, api.ConditionReady, metav1.ConditionTrue, "", "")
	smf := &appsv1.Deployment{}
	e.get(t, smf, ns, "core5g-smf-internet")
	e.editStatus(t, smf, func() { smf.Status.ReadyReplicas, smf.Status.AvailableReplicas = 0, 0 })
	e.wantCondition(t, subscriber, api.ConditionReady, metav1.ConditionFalse, api.ReasonSliceNotReady, "")
	e.wantServed(t, subscriber, api.ConditionReady, metav1.ConditionTrue, "", "")

	eventually(t, "a data network that the Slice does not have", func() error {
		e.get(t, subscriber, ns, "a")
		subscriber.Spec.Slices[0].DNNs = []api.DNN{"ims"}
		return e.client.Update(t.Context(), subscriber)
	})
	e.wantCondition(t, subscriber, api.ConditionSlicesReady, metav1.ConditionFalse, api.ReasonNotFound, "no data network ims")

	twin := subscriber.DeepCopy()
	twin.ObjectMeta = metav1.ObjectMeta{Namespace: ns, Name: "b"}
	e.create(t, twin)
	e.wantCondition(t, twin, api.ConditionAuthenticationReady, metav1.ConditionFalse, api.ReasonDuplicate, "belongs to Subscriber a")
	namesake := subscriber.DeepCopy()
	namesake.ObjectMeta = metav1.ObjectMeta{Namespace: ns, Name: "d"}
	namesake.Spec.SUPI, namesake.Spec.GPSI = "imsi-208930000000004", "msisdn-33600000001"
	eventually(t, "a number", func() error {
		e.get(t, subscriber, ns, "a")
		subscriber.Spec.GPSI = namesake.Spec.GPSI
		return e.client.Update(t.Context(), subscriber)
	})
	e.create(t, namesake)
	e.wantCondition(t, namesake, api.ConditionGPSIUnique, metav1.ConditionFalse, api.ReasonDuplicate, "belongs to Subscriber a")
	e.wantCondition(t, subscriber, api.ConditionGPSIUnique, metav1.ConditionTrue, "", "")
	eventually(t, "the number is free", func() error {
		e.get(t, subscriber, ns, "a")
		subscriber.Spec.GPSI = ""
		return e.client.Update(t.Context(), subscriber)
	})
	e.wantCondition(t, namesake, api.ConditionGPSIUnique, metav1.ConditionTrue, "", "")
	stranger := subscriber.DeepCopy()
	stranger.ObjectMeta = metav1.ObjectMeta{Namespace: ns, Name: "c"}
	stranger.Spec.SUPI = "imsi-999700000000001"
	e.create(t, stranger)
	e.wantCondition(t, stranger, api.ConditionAuthenticationReady, metav1.ConditionFalse, api.ReasonMalformed, "begins with no PLMN")

	eventually(t, "all are counted, by what their status says", func() error {
		families, err := e.metrics.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if f.GetName() == "core5g_subscribers" && m.GetLabel()[0].GetValue() == ns {
					got[m.GetLabel()[1].GetValue()] = m.GetGauge().GetValue()
				}
			}
		}
		if want := map[string]float64{"False": 4}; !maps.Equal(got, want) {
			return fmt.Errorf("counted %v, want %v", got, want)
		}
		return nil
	})

	var events corev1.EventList
	var subscribers api.SubscriberList
	for _, l := range []client.ObjectList{&events, &subscribers} {
		if err := e.client.List(t.Context(), l, client.InNamespace(ns)); err != nil {
			t.Fatal(err)
		}
	}
	if said := fmt.Sprintf("%+v %+v", events.Items, subscribers.Items); strings.Contains(said, key[:16]) {
		t.Error("a key is in an Event or a status")
	}
	if err := e.client.Delete(t.Context(), core); err != nil {
		t.Fatal(err)
	}
	e.wantCondition(t, subscriber, api.ConditionCoreFound, metav1.ConditionFalse, "", "Core5G core5g")
}

// serve plays everything that makes a Slice of the namespace's core Ready.
func (e *environment) serve(t *testing.T, ns string, slice *api.Slice) {
	t.Helper()
	e.create(t, controllertest.UPF(t, ns))
	eventually(t, "the UPF's pod", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "upf-0"}, &corev1.Pod{})
	})
	e.makeReady(t, ns, "upf-0")
	for _, name := range []string{"core5g-amf", "core5g-smf-" + slice.Name} {
		eventually(t, name, func() error {
			return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, &appsv1.Deployment{})
		})
	}
	e.wantServed(t, slice, api.ConditionReady, metav1.ConditionTrue, "", "")
}

func (e *environment) testAddressOverlap(t *testing.T) {
	ns := e.namespace(t)
	older, younger := controllertest.UPF(t, ns), controllertest.UPF(t, ns)
	older.Name, younger.Name = "a", "b"
	e.create(t, older)
	e.create(t, younger)
	e.wantCondition(t, younger, api.ConditionReady, metav1.ConditionFalse, api.ReasonAddressOverlap, "spec.n3.endpoints 172.30.3.16/28 overlaps 172.30.3.16/28 of UPFInstance a")
	e.wantCondition(t, older, api.ConditionEndpointsAllocated, metav1.ConditionTrue, "", "")
	var pods corev1.PodList
	if err := e.client.List(t.Context(), &pods, client.InNamespace(ns), client.MatchingLabels(specs.UPFSelector(younger))); err != nil || len(pods.Items) > 0 {
		t.Errorf("%d pods with addresses of another UPFInstance, %v", len(pods.Items), err)
	}
	eventually(t, "the older goes elsewhere", func() error {
		e.get(t, older, ns, "a")
		older.Spec.N3.Endpoints, older.Spec.N6.Address = "172.30.3.32/28", "172.30.6.3/24"
		return e.client.Update(t.Context(), older)
	})
	e.wantCondition(t, younger, api.ConditionEndpointsAllocated, metav1.ConditionTrue, "", "")
	eventually(t, "the younger has its unit", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "b-0"}, &corev1.Pod{})
	})
}

// No unit is made that could not hold its sessions, and what is left out follows them.
func (e *environment) testTooLittleMemory(t *testing.T) {
	ns := e.namespace(t)
	upf := controllertest.UPF(t, ns)
	upf.Spec.Sessions, upf.Spec.Hugepages.Amount = 400000, ptr.To(resource.MustParse("256Mi"))
	e.create(t, upf)
	e.wantCondition(t, upf, api.ConditionReady, metav1.ConditionFalse, api.ReasonTooLittleMemory, "spec.hugepages.amount 256Mi is too little for spec.sessions 400000 of UPFInstance upf: write 464Mi at least")
	pod := &corev1.Pod{}
	if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "upf-0"}, pod); !apierrors.IsNotFound(err) {
		t.Errorf("a unit is made that has no room: %v", err)
	}
	eventually(t, "the amount is left out", func() error {
		e.get(t, upf, ns, "upf")
		upf.Spec.Hugepages.Amount = nil
		return e.client.Update(t.Context(), upf)
	})
	e.wantCondition(t, upf, api.ConditionEndpointsAllocated, metav1.ConditionTrue, "", "")
	eventually(t, "the unit", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "upf-0"}, pod)
	})
	if amount := pod.Spec.Containers[0].Resources.Limits["hugepages-2Mi"]; amount.String() != "1008Mi" {
		t.Errorf("the unit has %s of hugepages", &amount)
	}
}

func (e *environment) testDrift(t *testing.T) {
	ns := e.namespace(t)
	e.create(t, controllertest.Core(t, ns))
	d := &appsv1.Deployment{}
	eventually(t, "the NRF", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "core5g-nrf"}, d)
	})
	patch := `{"spec":{"replicas":0}}`
	if err := e.client.Patch(t.Context(), d, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
	eventually(t, "one replica again", func() error {
		e.get(t, d, ns, "core5g-nrf")
		if *d.Spec.Replicas != 1 {
			return fmt.Errorf("%d replicas", *d.Spec.Replicas)
		}
		return nil
	})
	service := &corev1.Service{}
	e.get(t, service, ns, "core5g-nrf")
	if err := e.client.Delete(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Service again", func() error {
		fresh := &corev1.Service{}
		if err := e.client.Get(t.Context(), client.ObjectKeyFromObject(service), fresh); err != nil {
			return err
		}
		if fresh.UID == service.UID {
			return errors.New("it is the deleted one")
		}
		return nil
	})
}

func (e *environment) testRegistrationLost(t *testing.T) {
	ns := e.namespace(t)
	core := controllertest.Core(t, ns)
	e.create(t, core)
	eventually(t, "the AMF", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "core5g-amf"}, &appsv1.Deployment{})
	})
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "amf-pod", Labels: specs.Labels("core5g", "amf"), Annotations: map[string]string{}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "amf", Image: "x"}}},
	}
	e.create(t, pod)
	e.makeReady(t, ns, "amf-pod")
	e.wantServed(t, core, api.ConditionRegistered, metav1.ConditionFalse, api.ReasonRegistrationMis, "AMF core5g-amf")
	fake := e.nrfs.At("http://core5g-nrf."+ns+".svc:8000", nil)
	fake.Put("amf-1", "AMF", "core5g-amf")
	e.wantCondition(t, core, api.ConditionRegistered, metav1.ConditionTrue, "", "")
	fake.Lose()
	e.clock.add(registrationPeriod)
	e.nudge(t, pod) // stands for the periodic check
	e.wantCondition(t, core, api.ConditionRegistered, metav1.ConditionFalse, api.ReasonRegistrationMis, "")
	e.clock.add(restoreGrace)
	eventually(t, "the profile is put back", func() error {
		e.nudge(t, pod)
		if !fake.Has("amf-1") {
			return errors.New("it is missing")
		}
		return nil
	})
	e.wantCondition(t, core, api.ConditionRegistered, metav1.ConditionTrue, "", "")
	again := &corev1.Pod{}
	e.get(t, again, ns, "amf-pod")
	if again.UID != pod.UID {
		t.Error("the AMF was restarted")
	}
}
