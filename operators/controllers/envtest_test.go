package controllers

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
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
