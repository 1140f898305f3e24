package specs

import (
	"flag"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"k8s.io/utils/ptr"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/placement"
	upfcconfig "core5g.dev/core5g/upf/upfc/config"
)

var update = flag.Bool("update", false, "write the golden files")

var platform = Platform{
	Registry: "core5g", Tag: "dev", OperatorImage: "core5g/operator:dev",
	SubscriberDataServiceAccount: "core5g-subscriber-data", SessionManagementServiceAccount: "core5g-session-management",
	AccessManagementServiceAccount: "core5g-access-management", ControlPlaneServiceAccount: "core5g-control-plane",
}

// makeCore is of free5GC's AMF and SMF, with what else the API server fills in.
func makeCore() *api.Core5G {
	return &api.Core5G{
		ObjectMeta: metav1.ObjectMeta{Name: "core5g", Namespace: "core5g", UID: types.UID("core-uid")},
		Spec: api.Core5GSpec{
			PLMNs:          []api.PLMN{{MCC: "208", MNC: "93"}},
			TACs:           []api.TAC{"000001"},
			SliceCatalogue: []api.SNSSAI{{SST: 1, SD: "010203"}, {SST: 1, SD: "112233"}},
			AMF:            api.AMFSpec{Name: "AMF", DefaultDNN: "internet"},
			N2:             api.N2Spec{Transport: api.TransportSCTP, Port: 38412, ServiceType: corev1.ServiceTypeClusterIP},
			ControlPlane:   api.ControlPlaneFree5GC,
			LogLevel:       api.LogInfo,
		},
	}
}

// makeOwnCore is of core5g's own AMF and SMF, the former of two workers.
func makeOwnCore() *api.Core5G {
	core := makeCore()
	core.Spec.ControlPlane, core.Spec.AMF.Workers = api.ControlPlaneCore5G, ptr.To[int32](2)
	return core
}

func makeSlice(name, sd, pool string) *api.Slice {
	return &api.Slice{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "core5g", UID: types.UID(name + "-uid")},
		Spec: api.SliceSpec{
			CoreRef:      api.CoreReference{Name: "core5g"},
			SNSSAI:       api.SNSSAI{SST: 1, SD: sd},
			DataNetworks: []api.DataNetwork{{DNN: "internet", UEPools: []api.CIDR{api.CIDR(pool)}, DNS: []api.IPAddress{"1.1.1.1"}}},
		},
	}
}

func makeUPF() *api.UPFInstance {
	return &api.UPFInstance{
		ObjectMeta: metav1.ObjectMeta{Name: "upf", Namespace: "core5g", UID: types.UID("upf-uid")},
		Spec: api.UPFInstanceSpec{
			CoreRef: api.CoreReference{Name: "core5g"},
			Units:   ptr.To[int32](1), Driver: api.DriverAFPacket, Workers: 1,
			UEToUE: api.UEToUEDeny, AdministrativeState: api.StateUnlocked,
			N3: api.N3Spec{
				Attachment: api.AttachmentSpec{Type: api.AttachmentBridge, Bridge: "c5g-n3"},
				Subnet:     "172.30.3.0/24", Endpoints: "172.30.3.16/28", MTU: 1500,
			},
			N6: api.N6Spec{
				Attachment: api.AttachmentSpec{Type: api.AttachmentBridge, Bridge: "c5g-n6"},
				Address:    "172.30.6.2/24", Gateway: "172.30.6.1", MTU: 1500,
				Routes: []api.Route{{Destination: "192.0.2.0/24", Via: "172.30.6.3"}},
			},
		},
	}
}

func (o FunctionObjects) all() []client.Object {
	var out []client.Object
	if o.ConfigMap != nil {
		out = append(out, o.ConfigMap)
	}
	if o.Secret != nil {
		out = append(out, o.Secret)
	}
	for _, s := range o.Services {
		out = append(out, s)
	}
	if o.Budget != nil {
		out = append(out, o.Budget)
	}
	return append(out, o.Deployment)
}

func storeOnNode() *api.SessionStoreSpec {
	return &api.SessionStoreSpec{Type: api.SessionStoreEmbedded, Storage: &api.SessionStoreStorage{
		Type: api.SessionStoreHostPath, HostPath: "/var/lib/core5g/session-store", Node: "w1",
	}}
}

func TestBuildersGolden(t *testing.T) {
	core := makeCore()
	embedded := EmbeddedDatabase(core)
	external := Database{URI: "mongodb://user:password@db.example.org:27018,db2.example.org/?replicaSet=rs0", External: true}
	overUDP := makeCore()
	overUDP.Spec.N2 = api.N2Spec{Transport: api.TransportSCTPOverUDP, Port: 38412, ServiceType: corev1.ServiceTypeNodePort, NodePort: ptr.To[int32](30412)}
	foreign := makeCore()
	foreign.Spec.Functions = []api.FunctionSpec{{Name: api.FunctionCHF, Image: "free5gc/chf:v4.2.0"}}
	charged := makeCore()
	charged.Spec.Charging = &api.ChargingSpec{CDRStorage: &api.CDRStorage{PersistentVolumeClaim: "cdrs"}}
	chargedOnNode := makeCore()
	chargedOnNode.Spec.Charging = &api.ChargingSpec{CDRStorage: &api.CDRStorage{HostPath: "/var/lib/core5g/cdrs", Node: "w1"}}
	onNode := makeCore()
	onNode.Spec.SessionStore = storeOnNode()
	upf := makeUPF()
	unit := UPFUnit(upf, core, platform, 0, "10.96.1.3")
	sriov := makeUPF()
	sriov.Spec.N3.Attachment = api.AttachmentSpec{Type: api.AttachmentHostDevice, ResourceName: "core5g.dev/n3_socket0"}
	sriov.Spec.N6.Attachment = api.AttachmentSpec{Type: api.AttachmentExisting, NetworkAttachmentDefinition: "site/n6"}
	sriovUnit := UPFUnit(sriov, nil, platform, 0, "10.96.1.3")

	// Unit 1 of two, on the second socket of a node.
	perSocket := makeUnits(2, "172.30.6.16/28")
	perSocket.Spec.Placement = &api.PlacementSpec{Policy: api.PlacementPerSocket}
	perSocket.Spec.N3.Attachment = api.AttachmentSpec{Type: api.AttachmentHostDevice, ResourceName: "core5g.dev/n3_socket{cell}"}
	perSocket.Spec.N4.ControlPlaneSubnets = []api.CIDR{"10.244.0.0/16", "fd00:10:244::/56"}
	place := &Place{Spot: placement.Spot{Node: "w1", Cell: 1}, Devices: []string{"core5g.dev/n3_socket1"}}
	placedUnit := UPFUnit(perSocket, core, platform, 1, "10.96.1.4")
	var placedAttachments []client.Object
	for _, a := range PlaceAttachments(perSocket, place) {
		placedAttachments = append(placedAttachments, a)
	}
	// Virtual functions, N3 tagged by UPF-U and N6 by its NIC, on a node that gives them to root alone.
	vfio := perSocket.DeepCopy()
	vfio.Spec.Driver = api.DriverVFIO
	vfio.Spec.N3.VLAN, vfio.Spec.N6.VLAN = ptr.To[int32](30), ptr.To[int32](60)
	vfio.Spec.N6.Attachment = api.AttachmentSpec{
		Type: api.AttachmentSRIOV, ResourceName: "core5g.dev/n6_socket{cell}", Trust: api.VFTrustOn, MACAddress: "02:00:00:00:06:ff",
	}
	vfioPlace := &Place{Spot: place.Spot, Devices: []string{"core5g.dev/n3_socket1", "core5g.dev/n6_socket1"}}
	vfioUnit := UPFUnit(vfio, core, platform, 1, "10.96.1.4")
	var vfioAttachments []client.Object
	for _, a := range PlaceAttachments(vfio, vfioPlace) {
		vfioAttachments = append(vfioAttachments, a)
	}
	// Unit 1 of two with network instances beside n6.
	networks := makeNetworks()
	var networked []client.Object
	for _, a := range Attachments(networks) {
		networked = append(networked, a)
	}
	networkedUnit := UPFUnit(networks, core, platform, 1, "10.96.1.4")
	networked = append(networked, networkedUnit.Pod, networkedUnit.Config)
	units := SliceUserPlane{UPF: "upf", Parts: 2, SMFAddress: "10.96.1.2", Units: []SliceUnit{
		{Name: "upf-0", N4Address: "10.96.1.3", N3Endpoint: "172.30.3.16", Pools: map[string][]string{"internet": {"10.45.0.0/17"}}},
		{Name: "upf-1", N4Address: "10.96.1.4", N3Endpoint: "172.30.3.24", Pools: map[string][]string{"internet": {"10.45.128.0/17"}}},
	}}

	redundant := makeUnits(2, "172.30.6.16/28")
	redundant.Spec.Redundancy = &api.RedundancySpec{Standbys: 1}
	unitB := UPFMember(redundant, core, platform, 1, MemberB, "10.96.1.4")
	account, role, binding := StandbyAccess(redundant, 2)
	withStandby := []client.Object{
		N4Service(redundant, 1), StandbyService(redundant, 1, MemberA), StandbyService(redundant, 1, MemberB), UnitLease(redundant, 1, 0),
		account, role, binding, StandbyPolicy(redundant), unitB.Config, unitB.Pod,
	}

	ofAnotherCluster := makeUPF()
	ofAnotherCluster.Spec.N4 = api.N4Spec{ControlPlaneSubnets: []api.CIDR{"192.0.2.0/24"}, ServiceType: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: ptr.To("example.org/bgp"), Annotations: map[string]string{"example.org/pool": "n4"}}

	var policies []client.Object
	for _, p := range NetworkPolicies(overUDP) {
		policies = append(policies, p)
	}

	secure := makeCore()
	secure.Spec.TLS = api.TLSSpec{Mode: api.TLSMutual, IssuerRef: &api.IssuerReference{Name: "core5g-ca"}}
	var certificates []client.Object
	for _, r := range append(CoreCertificates(secure), SMFCertificate(secure, makeSlice("internet", "010203", "10.45.0.0/16"))) {
		certificates = append(certificates, Certificate(SBIIssuer(secure), r))
	}
	var issuers []client.Object
	for _, o := range Issuer(secure) {
		issuers = append(issuers, o)
	}

	own := makeCore()
	own.Spec.ControlPlane = api.ControlPlaneCore5G
	own.Spec.SessionManagement = &api.SessionManagementSpec{Replicas: ptr.To[int32](3), Shards: ptr.To[int32](2)}
	own.Spec.TLS = secure.Spec.TLS
	dedicated := SMFSet{Core: makeCore(), Slice: makeSlice("internet", "010203", "10.45.0.0/16")}
	withServices := func(set SMFSet) (out []client.Object) {
		services := set.Services()
		for i, s := range services {
			s.Spec.ClusterIP = fmt.Sprintf("10.96.1.%d", 20+i)
			out = append(out, s)
		}
		return append(out, set.Build(platform, services).all()...)
	}
	shared := withServices(SMFSet{Core: own})
	shared = append(shared, Certificate(SBIIssuer(own), SMFSet{Core: own}.Certificate()), networkPolicy(own, "smf"))

	ownAMF := makeOwnCore()
	ownAMF.Spec.TLS = secure.Spec.TLS
	ownAMF.Spec.AMF.Terminators, ownAMF.Spec.AMF.Shards = ptr.To[int32](2), ptr.To[int32](32)
	access := append(AMFWorkers(ownAMF, platform).all(), N2Terminators(ownAMF, platform).all()...)
	access = append(access, Certificate(SBIIssuer(ownAMF), N2TerminatorCertificate(ownAMF)), networkPolicy(ownAMF, "amf"), N2TerminatorPolicy(ownAMF))
	replicated := makeOwnCore()
	replicated.Spec.SubscriberDataReplicas = ptr.To[int32](3)
	inDatabase := makeOwnCore()
	inDatabase.Spec.SubscriberData = api.SubscriberDataPostgreSQL
	inDatabase.Spec.SubscriberDatabase = &api.SubscriberDatabaseSpec{SecretRef: api.SecretReference{Name: "subscribers"}}
	ownAMFOverUDP := makeOwnCore()
	ownAMFOverUDP.Spec.N2 = overUDP.Spec.N2

	attachments := func(u *api.UPFInstance) []client.Object {
		var out []client.Object
		for _, a := range Attachments(u) {
			out = append(out, a)
		}
		return out
	}
	for file, objects := range map[string][]client.Object{
		"access-management.yaml":            access,
		"control-plane.yaml":                fusedObjects(),
		"n2-terminator-over-udp.yaml":       append(N2Terminators(ownAMFOverUDP, platform).all(), N2TerminatorPolicy(ownAMFOverUDP)),
		"session-management.yaml":           shared,
		"upf-own-smf.yaml":                  {UPFUnit(upf, own, platform, 0, "10.96.1.3").Config},
		"session-management-dedicated.yaml": withServices(dedicated),
		"tls-certificates.yaml":             certificates,
		"tls-issuer.yaml":                   issuers,
		"tls-nrf.yaml":                      NRF(secure, platform, embedded).all(),
		"tls-subscriber-data.yaml":          SubscriberData(secure, platform).all(),
		"tls-smf.yaml":                      SMF(secure, makeSlice("internet", "010203", "10.45.0.0/16"), platform, SliceUserPlane{UPF: "upf", N4Address: "10.96.1.3", N3Endpoint: "172.30.3.16", SMFAddress: "10.96.1.2"}).all(),
		"network-policies.yaml":             policies,
		"nrf.yaml":                          NRF(core, platform, embedded).all(),
		"nrf-external-database.yaml":        NRF(core, platform, external).all(),
		"pcf.yaml":                          PCF(core, platform, embedded).all(),
		"chf.yaml":                          CHF(core, platform, embedded).all(),
		"chf-cdrs.yaml":                     CHF(charged, platform, embedded).all(),
		"chf-cdrs-on-node.yaml":             CHF(chargedOnNode, platform, embedded).all(),
		"chf-foreign-image.yaml":            CHF(foreign, platform, embedded).all(),
		"database.yaml":                     DatabaseFunction(core, platform).all(),
		"amf.yaml":                          AMF(core, platform).all(),
		"amf-over-udp.yaml":                 AMF(overUDP, platform).all(),
		"subscriber-data.yaml":              SubscriberData(core, platform).all(),
		"subscriber-data-postgresql.yaml":   SubscriberData(inDatabase, platform).all(),
		"subscriber-data-replicas.yaml":     SubscriberData(replicated, platform).all(),
		"smf.yaml":                          SMF(core, makeSlice("internet", "010203", "10.45.0.0/16"), platform, SliceUserPlane{UPF: "upf", N4Address: "10.96.1.3", N3Endpoint: "172.30.3.16", SMFAddress: "10.96.1.2"}).all(),
		"upf.yaml":                          append(attachments(upf), N4Service(upf, 0), unit.Config, unit.Pod),
		"upf-standby.yaml":                  withStandby,
		"upf-of-another-cluster.yaml":       {N4Service(ofAnotherCluster, 0), N4OutsideService(ofAnotherCluster, 0), OutsidePolicy(ofAnotherCluster), UPFUnit(ofAnotherCluster, nil, platform, 0, "198.51.100.7").Config},
		"smf-two-units.yaml":                SMF(core, makeSlice("internet", "010203", "10.45.0.0/16"), platform, units).all(),
		"upf-per-socket.yaml":               append(append(attachments(perSocket), placedAttachments...), DisruptionBudget(perSocket, 2), placedUnit.Config, placedUnit.Placed(perSocket, place)),
		"upf-network-instances.yaml":        networked,
		"upf-unit-vfio.yaml":                append(vfioAttachments, VFIOAsRoot(vfioUnit.Placed(vfio, vfioPlace)), vfioUnit.Config),
		"upf-host-device-no-core.yaml":      append(attachments(sriov), N4Service(sriov, 0), sriovUnit.Config, sriovUnit.Pod),
		"session-store.yaml": append(SessionStoreFunction(core, platform, "password").all(),
			SessionStoreClaim(core, 0), SessionStoreSecret(core, "password"), SessionStoreKeys(core, []byte(strings.Repeat("k", 32))), SessionStorePolicy(core)),
		"session-store-on-node.yaml": SessionStoreFunction(onNode, platform, "password").all(),
		"session-store-of-three.yaml": append(append(storeOfThree(0), storeOfThree(2)...),
			SessionStoreClaim(coreOfThree(), 2), SessionStoreSecret(coreOfThree(), "password", servicesAt("10.96.7.1", "10.96.7.2", "10.96.7.3")...), SessionStorePolicy(coreOfThree())),
	} {
		t.Run(file, func(t *testing.T) {
			var got strings.Builder
			for i, o := range objects {
				if i > 0 {
					got.WriteString("---\n")
				}
				raw, err := yaml.Marshal(o)
				if err != nil {
					t.Fatal(err)
				}
				got.Write(raw)
			}
			path := filepath.Join("testdata", file)
			if *update {
				if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatalf("%v: write it with go test ./operators/specs -update", err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("%s differs (-want +got); if that is meant, run go test ./operators/specs -update\n%s", path, diff)
			}
		})
	}
}

// A change of one function's configuration must roll that function and no other.
func TestOnlyTheFunctionThatReadsAChangeRolls(t *testing.T) {
	hashes := func(core *api.Core5G) map[api.FunctionName]string {
		out := map[api.FunctionName]string{}
		db := EmbeddedDatabase(core)
		for _, o := range []FunctionObjects{NRF(core, platform, db), PCF(core, platform, db), CHF(core, platform, db), AMF(core, platform)} {
			out[o.Function] = Hash(o.Deployment.Spec.Template)
		}
		return out
	}
	before := hashes(makeCore())
	for name, c := range map[string]struct {
		change func(*api.Core5G)
		want   []api.FunctionName
	}{
		"the catalogue is the AMF's alone": {
			func(c *api.Core5G) {
				c.Spec.SliceCatalogue = append(c.Spec.SliceCatalogue, api.SNSSAI{SST: 2, SD: "000001"})
			},
			[]api.FunctionName{api.FunctionAMF},
		},
		"a second tracking area is the AMF's alone": {
			func(c *api.Core5G) { c.Spec.TACs = append(c.Spec.TACs, "000002") },
			[]api.FunctionName{api.FunctionAMF},
		},
		"the type of the N2 Service restarts nobody": {
			func(c *api.Core5G) { c.Spec.N2.ServiceType = corev1.ServiceTypeNodePort },
			nil,
		},
		"the log level is everybody's": {
			func(c *api.Core5G) { c.Spec.LogLevel = api.LogDebug },
			[]api.FunctionName{api.FunctionNRF, api.FunctionPCF, api.FunctionCHF, api.FunctionAMF},
		},
		"an image is one function's": {
			func(c *api.Core5G) { c.Spec.Functions = []api.FunctionSpec{{Name: api.FunctionPCF, Image: "x/pcf:1"}} },
			[]api.FunctionName{api.FunctionPCF},
		},
	} {
		t.Run(name, func(t *testing.T) {
			core := makeCore()
			c.change(core)
			want := map[api.FunctionName]bool{}
			for _, fn := range c.want {
				want[fn] = true
			}
			for fn, hash := range hashes(core) {
				if changed := hash != before[fn]; changed != want[fn] {
					t.Errorf("%s: rolled %v, want %v", fn, changed, want[fn])
				}
			}
		})
	}
}

// A function's pods go where the core says, and keep apart unless it says so of that too.
func TestWhereAFunctionRuns(t *testing.T) {
	core := makeOwnCore()
	zones := corev1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule}
	arm := &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1}}}
	said := api.FunctionSpec{
		Name: api.FunctionAccessManagement, NodeSelector: map[string]string{"pool": "core"}, Tolerations: []corev1.Toleration{{Key: "core", Operator: corev1.TolerationOpExists}},
		PriorityClassName: "core", Affinity: &corev1.Affinity{NodeAffinity: arm}, TopologySpreadConstraints: []corev1.TopologySpreadConstraint{zones},
	}
	core.Spec.Functions = []api.FunctionSpec{said, {Name: api.FunctionSessionStore, NodeSelector: map[string]string{"pool": "core", corev1.LabelHostname: "w2"}}}
	core.Spec.SessionStore = storeOnNode()
	for _, o := range CoreFunctions(core, platform, EmbeddedDatabase(core)) {
		pod := o.Deployment.Spec.Template.Spec
		if o.Function != api.FunctionAccessManagement {
			if pod.PriorityClassName != "" || pod.NodeSelector != nil || pod.TopologySpreadConstraints != nil {
				t.Errorf("%s has what another function is told: %+v", o.Function, pod)
			}
			continue
		}
		spread := zones
		spread.LabelSelector = &metav1.LabelSelector{MatchLabels: o.Deployment.Spec.Selector.MatchLabels}
		want := corev1.PodSpec{
			NodeSelector: said.NodeSelector, Tolerations: withLeaves(said.Tolerations), PriorityClassName: "core",
			Affinity: &corev1.Affinity{NodeAffinity: arm, PodAntiAffinity: apart(spread.LabelSelector.MatchLabels).PodAntiAffinity}, TopologySpreadConstraints: []corev1.TopologySpreadConstraint{spread},
		}
		got := corev1.PodSpec{
			NodeSelector: pod.NodeSelector, Tolerations: pod.Tolerations, PriorityClassName: pod.PriorityClassName, Affinity: pod.Affinity,
			TopologySpreadConstraints: pod.TopologySpreadConstraints,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the AMF's workers (-want +got):\n%s", diff)
		}
	}
	store := SessionStoreFunction(core, platform, "password").Deployment.Spec.Template.Spec.NodeSelector
	if want := map[string]string{"pool": "core", corev1.LabelHostname: "w1"}; !maps.Equal(store, want) {
		t.Errorf("the session store, whose records are on w1, runs on %v", store)
	}

	core.Spec.Functions[0].Affinity.PodAntiAffinity = &corev1.PodAntiAffinity{}
	for _, o := range CoreFunctions(core, platform, EmbeddedDatabase(core)) {
		if anti := o.Deployment.Spec.Template.Spec.Affinity; o.Function == api.FunctionAccessManagement && len(anti.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution) != 0 {
			t.Errorf("the core says how pods keep apart, and they do otherwise: %+v", anti)
		}
	}
}

// Whose gNBs it takes in, and who gives it its address, is the Service's.
func TestN2ServiceOfASite(t *testing.T) {
	core := makeOwnCore()
	core.Spec.N2.ServiceType, core.Spec.N2.ExternalTrafficPolicy = corev1.ServiceTypeLoadBalancer, corev1.ServiceExternalTrafficPolicyLocal
	core.Spec.N2.LoadBalancerClass = ptr.To("example.org/bgp")
	for _, o := range CoreFunctions(core, platform, EmbeddedDatabase(core)) {
		for _, s := range o.Services {
			site := s.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal && ptr.Deref(s.Spec.LoadBalancerClass, "") == "example.org/bgp"
			if n2 := s.Name == N2ServiceName(core.Name); n2 != site {
				t.Errorf("Service %s: %+v", s.Name, s.Spec)
			}
		}
	}
}

// core5g's own AMF is restarted for as little as can be: catalogue, tracking areas, PLMNs and names it reads itself.
func TestWhatRestartsTheOwnAMF(t *testing.T) {
	const workers, terminators = "core5g-amf", "core5g-amf-n2"
	for name, c := range map[string]struct {
		change func(*api.Core5G)
		want   []string
	}{
		"a larger catalogue": {func(c *api.Core5G) {
			c.Spec.SliceCatalogue = append(c.Spec.SliceCatalogue, api.SNSSAI{SST: 2, SD: "000001"})
		}, nil},
		"a tracking area": {func(c *api.Core5G) { c.Spec.TACs = append(c.Spec.TACs, "000002") }, nil},
		"a PLMN":          {func(c *api.Core5G) { c.Spec.PLMNs = append(c.Spec.PLMNs, api.PLMN{MCC: "001", MNC: "01"}) }, nil},
		"a PLMN's own areas": {func(c *api.Core5G) {
			c.Spec.PLMNs[0].TACs, c.Spec.PLMNs[0].SliceCatalogue = []api.TAC{"000002"}, []api.SNSSAI{{SST: 2}}
		}, nil},
		"its name":               {func(c *api.Core5G) { c.Spec.AMF.Name = "other" }, nil},
		"its region and pointer": {func(c *api.Core5G) { c.Spec.AMF.Region, c.Spec.AMF.Pointer = ptr.To[int32](1), ptr.To[int32](1) }, nil},
		"the default DNN":        {func(c *api.Core5G) { c.Spec.AMF.DefaultDNN = "ims" }, nil},
		"more workers":           {func(c *api.Core5G) { c.Spec.AMF.Workers = ptr.To[int32](5) }, nil},
		"as many as by default":  {func(c *api.Core5G) { c.Spec.AMF.Workers = nil }, nil},
		"more terminators":       {func(c *api.Core5G) { c.Spec.AMF.Terminators = ptr.To[int32](3) }, nil},
		"annotations of N2":      {func(c *api.Core5G) { c.Spec.N2.Annotations = map[string]string{"a": "b"} }, nil},
		"its set":                {func(c *api.Core5G) { c.Spec.AMF.Set = ptr.To[int32](1) }, []string{terminators}},
		"the port of N2":         {func(c *api.Core5G) { c.Spec.N2.Port = 38413 }, []string{terminators}},
		"another transport":      {func(c *api.Core5G) { c.Spec.N2.Transport = api.TransportSCTPOverUDP }, []string{terminators}},
		"an image of the workers": {func(c *api.Core5G) {
			c.Spec.Functions = []api.FunctionSpec{{Name: api.FunctionAccessManagement, Image: "x"}}
		}, []string{terminators, workers}},
		"resources of the latter": {func(c *api.Core5G) {
			c.Spec.Functions = []api.FunctionSpec{{Name: api.FunctionN2Terminator, Resources: &corev1.ResourceRequirements{}}}
		}, []string{terminators}},
		"free5GC's AMF in its place": {func(c *api.Core5G) { c.Spec.ControlPlane, c.Spec.AMF.Workers = api.ControlPlaneFree5GC, nil }, []string{"core5g-subscriber-data", workers}},
	} {
		t.Run(name, func(t *testing.T) {
			after := makeOwnCore()
			c.change(after)
			if diff := cmp.Diff(c.want, CoreRestarts(makeOwnCore(), after, platform)); diff != "" {
				t.Errorf("restarts (-want +got):\n%s", diff)
			}
		})
	}
}

// What in other functions depends on whose AMF it is.
func TestWhoseAMFItIs(t *testing.T) {
	slice := makeSlice("beyond", "445566", "10.45.0.0/16")
	for name, c := range map[string]struct {
		core     *api.Core5G
		withdraw bool
		reason   string
		says     string
	}{
		"free5GC's forgets a UE without a word, and is restarted": {makeCore(), false, api.ReasonRestartRequired, "there restarts the AMF, and every UE registers anew"},
		"core5g's own tells the UE, and is not":                   {makeOwnCore(), true, api.ReasonNotInCatalogue, `add {sst: 1, sd: "445566"} there, which restarts nothing`},
	} {
		t.Run(name, func(t *testing.T) {
			args := SubscriberData(c.core, platform).Deployment.Spec.Template.Spec.Containers[0].Args
			if got := slices.Contains(args, "--withdraw"); got != c.withdraw {
				t.Errorf("subscriber data is started with %v", args)
			}
			if p := AdvertisedProblem(slice, c.core); p == nil || p.Reason != c.reason || !strings.Contains(p.Message, c.says) {
				t.Errorf("got %+v, want %s: %q", p, c.reason, c.says)
			}
		})
	}
}

func TestUnitHashesTellUserFromOperator(t *testing.T) {
	base := UPFUnit(makeUPF(), makeCore(), platform, 0, "10.96.1.3")
	for name, c := range map[string]struct {
		change                 func(*api.UPFInstance, *api.Core5G, *Platform)
		wantTemplate, wantSpec bool
	}{
		"a new operator's image changes the template only": {
			func(_ *api.UPFInstance, _ *api.Core5G, p *Platform) { p.Tag = "v2" }, true, false,
		},
		"the core's log level changes the template only": {
			func(_ *api.UPFInstance, c *api.Core5G, _ *Platform) { c.Spec.LogLevel = api.LogDebug }, true, false,
		},
		"a larger endpoint block is the user's": {
			func(u *api.UPFInstance, _ *api.Core5G, _ *Platform) { u.Spec.N3.Endpoints = "172.30.3.32/27" }, true, true,
		},
		"locking is no change": {
			func(u *api.UPFInstance, _ *api.Core5G, _ *Platform) { u.Spec.AdministrativeState = api.StateLocked }, false, false,
		},
		"units are no change": {
			func(u *api.UPFInstance, _ *api.Core5G, _ *Platform) { u.Spec.Units = ptr.To[int32](3) }, false, false,
		},
		"the catalogue is none of the UPF's business": {
			func(_ *api.UPFInstance, c *api.Core5G, _ *Platform) { c.Spec.SliceCatalogue = nil }, false, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			upf, core, p := makeUPF(), makeCore(), platform
			c.change(upf, core, &p)
			got := UPFUnit(upf, core, p, 0, "10.96.1.3")
			if changed := got.TemplateHash != base.TemplateHash; changed != c.wantTemplate {
				t.Errorf("template changed: %v, want %v", changed, c.wantTemplate)
			}
			if changed := got.SpecHash != base.SpecHash; changed != c.wantSpec {
				t.Errorf("specification changed: %v, want %v", changed, c.wantSpec)
			}
		})
	}
}

// What is meant for the next unit, or for when it ends, restarts none.
func TestPlacementIsNoUpdate(t *testing.T) {
	base := UPFUnit(makeUPF(), makeCore(), platform, 0, "10.96.1.3")
	for name, c := range map[string]struct {
		change func(*api.UPFInstance)
		want   bool
	}{
		"placement Any, written out": {func(u *api.UPFInstance) { u.Spec.Placement = &api.PlacementSpec{Policy: api.PlacementAny} }, false},
		"a drain": {func(u *api.UPFInstance) {
			u.Spec.Drain = &api.DrainSpec{Timeout: metav1.Duration{Duration: 60 * time.Second}}
		}, false},
		"an update strategy": {func(u *api.UPFInstance) {
			u.Spec.UpdateStrategy = &api.UpdateStrategySpec{Type: api.UpdateOnApproval}
		}, false},
		"addresses of further units": {func(u *api.UPFInstance) { u.Spec.N6.UnitAddresses = ptr.To[api.CIDR]("172.30.6.16/28") }, false},
		"one cell for each unit":     {func(u *api.UPFInstance) { u.Spec.Placement = &api.PlacementSpec{Policy: api.PlacementPerSocket} }, true},
		"another division of the addresses": {func(u *api.UPFInstance) {
			u.Spec.N6.UnitAddresses, u.Spec.Units = ptr.To[api.CIDR]("172.30.6.16/28"), ptr.To[int32](2)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			upf := makeUPF()
			c.change(upf)
			if changed := UPFUnit(upf, makeCore(), platform, 0, "10.96.1.3").SpecHash != base.SpecHash; changed != c.want {
				t.Errorf("specification changed: %v, want %v", changed, c.want)
			}
		})
	}
	planned := makeUnits(1, "")
	planned.Spec.Placement = &api.PlacementSpec{Policy: api.PlacementPerSocket}
	before := UPFUnit(planned, makeCore(), platform, 0, "10.96.1.3").SpecHash
	planned.Spec.Placement = &api.PlacementSpec{Policy: api.PlacementPerSocket, MaxPerNode: ptr.To[int32](1), Spread: api.SpreadNone}
	if UPFUnit(planned, makeCore(), platform, 0, "10.96.1.3").SpecHash != before {
		t.Error("a bound for the next units restarts this one")
	}
}

// free5GC's SMF tells UEs one DNS server and an MTU of its own; core5g's what is written.
func TestWhatFree5GCTellsNoUE(t *testing.T) {
	for name, c := range map[string]struct {
		mtu     int32
		servers []api.IPAddress
		want    string
	}{
		"what it tells":   {1400, []api.IPAddress{"1.1.1.1"}, ""},
		"another MTU":     {1300, nil, "tells UEs an MTU of 1400, not the 1300 of DNN internet"},
		"a second server": {1400, []api.IPAddress{"1.1.1.1", "10.0.0.53"}, "of DNN internet they hear of 1.1.1.1 alone"},
	} {
		t.Run(name, func(t *testing.T) {
			slice := makeSlice("internet", "010203", "10.45.0.0/16")
			slice.Spec.DataNetworks[0].MTU, slice.Spec.DataNetworks[0].DNS = c.mtu, c.servers
			got := NotToldProblem(slice, makeCore())
			if (got == nil) != (c.want == "") || got != nil && !strings.Contains(got.Message, c.want) {
				t.Errorf("got %v, want %q", got, c.want)
			}
			if got := NotToldProblem(slice, makeOwnCore()); got != nil {
				t.Errorf("of core5g's own: %v", got)
			}
		})
	}
}

func TestSMFIsToldDNSServers(t *testing.T) {
	for name, c := range map[string]struct {
		servers []api.IPAddress
		want    smfDNS
	}{
		"none":      {nil, smfDNS{IPv4: "0.0.0.0"}},
		"the first": {[]api.IPAddress{"1.1.1.1", "10.0.0.53"}, smfDNS{IPv4: "1.1.1.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			slice := makeSlice("internet", "010203", "10.45.0.0/16")
			slice.Spec.DataNetworks[0].DNS = c.servers
			if problem := DNSProblem(slice, nil); problem != nil {
				t.Errorf("refused: %s", problem.Message)
			}
			config := smfConfigOf(makeCore(), slice, SliceUserPlane{}, "core5g-smf-internet")
			if diff := cmp.Diff(c.want, config.Configuration.SNSSAIInfos[0].DNNs[0].DNS); diff != "" {
				t.Errorf("DNS (-want +got):\n%s", diff)
			}
		})
	}
}

// A Slice may be older than the rule of the definition that refuses IPv6 servers, and SMF 1.2.4 ends at one.
func TestSMFIsNotToldIPv6DNSServers(t *testing.T) {
	slice := makeSlice("internet", "010203", "10.45.0.0/16")
	slice.Spec.DataNetworks[0].DNS = []api.IPAddress{"1.1.1.1", "2606:4700:4700::1111"}
	const want = "DNS server 2606:4700:4700::1111 of DNN internet is not IPv4, and UEs have IPv4 addresses only: write an IPv4 DNS server"
	if got := DNSProblem(slice, nil); got == nil || got.Reason != api.ReasonNotSupported || got.Message != want {
		t.Errorf("got %v, want %q", got, want)
	}
}

func TestSMFRollsOnlyWhenItsPoolsAreCutAnew(t *testing.T) {
	hash := func(parts int, units ...SliceUnit) string {
		o := SMF(makeCore(), makeSlice("internet", "010203", "10.45.0.0/16"), platform, SliceUserPlane{UPF: "upf", Parts: parts, SMFAddress: "10.96.1.2", Units: units})
		return o.Deployment.Spec.Template.Annotations[AnnotationConfigHash]
	}
	a := SliceUnit{Name: "upf-0", N4Address: "10.96.1.3", N3Endpoint: "172.30.3.16", Pools: map[string][]string{"internet": {"10.45.0.0/17"}}}
	b := SliceUnit{Name: "upf-1", N4Address: "10.96.1.4", N3Endpoint: "172.30.3.24", Pools: map[string][]string{"internet": {"10.45.128.0/17"}}}
	if hash(2, a) != hash(2, a, b) {
		t.Error("a second unit restarts the SMF")
	}
	if hash(2, a, b) == hash(4, a, b) {
		t.Error("another division of the pools does not restart the SMF")
	}
}

func TestCPUs(t *testing.T) {
	for _, c := range []struct {
		workers int32
		cpus    *int32
		want    int32
	}{{1, nil, 1}, {2, nil, 3}, {1, ptr.To[int32](2), 2}, {4, ptr.To[int32](8), 8}} {
		upf := makeUPF()
		upf.Spec.Workers, upf.Spec.CPUs = c.workers, c.cpus
		if got := CPUs(upf); got != c.want {
			t.Errorf("%d workers: %d CPUs, want %d", c.workers, got, c.want)
		}
	}
}

func TestImage(t *testing.T) {
	for name, c := range map[string]struct {
		core *api.Core5G
		want string
	}{
		"no core":                   {nil, "core5g/amf:dev"},
		"a core that says nothing":  {&api.Core5G{}, "core5g/amf:dev"},
		"registry and tag":          {&api.Core5G{Spec: api.Core5GSpec{Images: api.ImagesSpec{Registry: "r.example/c5g/", Tag: "v1"}}}, "r.example/c5g/amf:v1"},
		"one function's own":        {&api.Core5G{Spec: api.Core5GSpec{Functions: []api.FunctionSpec{{Name: "amf", Image: "free5gc/amf@sha256:00"}}}}, "free5gc/amf@sha256:00"},
		"another function's is not": {&api.Core5G{Spec: api.Core5GSpec{Functions: []api.FunctionSpec{{Name: "smf", Image: "x"}}}}, "core5g/amf:dev"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := platform.Image(c.core, api.FunctionAMF); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestImageByDigest(t *testing.T) {
	released := Platform{Registry: "core5g", Tag: "1.2.3", Digests: map[string]map[string]string{
		"1.2.2": {"amf": "sha256:before"}, "1.2.3": {"amf": "sha256:now"}}}
	images := func(i api.ImagesSpec) *api.Core5G { return &api.Core5G{Spec: api.Core5GSpec{Images: i}} }
	for name, c := range map[string]struct {
		core *api.Core5G
		fn   api.FunctionName
		want string
	}{
		"the release's own":                        {nil, api.FunctionAMF, "core5g/amf:1.2.3@sha256:now"},
		"from another registry":                    {images(api.ImagesSpec{Registry: "r.example"}), api.FunctionAMF, "r.example/amf:1.2.3@sha256:now"},
		"of the release before, while it is kept":  {images(api.ImagesSpec{Tag: "1.2.2"}), api.FunctionAMF, "core5g/amf:1.2.2@sha256:before"},
		"under a tag that no release has":          {images(api.ImagesSpec{Tag: "dev"}), api.FunctionAMF, "core5g/amf:dev"},
		"an image that is not part of the release": {nil, api.FunctionSMF, "core5g/smf:1.2.3"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := released.Image(c.core, c.fn); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestExternalDatabaseIsWaitedFor(t *testing.T) {
	for uri, want := range map[string][]string{
		"mongodb://u:p@a.example:27018,b.example/?x=y": {"tcp://a.example:27018"},
		"mongodb://a.example":                          {"tcp://a.example:27017"},
		"mongodb://[2001:db8::1]:27017/x":              {"tcp://[2001:db8::1]:27017"},
		"mongodb+srv://a.example":                      nil,
	} {
		if diff := cmp.Diff(want, Database{URI: uri, External: true}.waits(makeCore())); diff != "" {
			t.Errorf("%s: %s", uri, diff)
		}
	}
}

func TestAMFID(t *testing.T) {
	for want, a := range map[string]api.AMFSpec{
		"cafe00": {},
		"010041": {Region: ptr.To[int32](1), Set: ptr.To[int32](1), Pointer: ptr.To[int32](1)},
		"ffffff": {Region: ptr.To[int32](255), Set: ptr.To[int32](1023), Pointer: ptr.To[int32](63)},
	} {
		if got := AMFID(a); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// What a UPFInstance says of spec.n4.controlPlaneSubnets, in a condition and as a warning.
func TestControlPlaneSubnets(t *testing.T) {
	pods := []netip.Addr{netip.MustParseAddr("10.244.0.17"), netip.MustParseAddr("10.244.1.5")}
	for name, c := range map[string]struct {
		plane   api.ControlPlane
		subnets []api.CIDR
		pods    []netip.Addr
		want    string
	}{
		"free5GC's SMF has no successor":   {api.ControlPlaneFree5GC, nil, pods, ""},
		"none, and no pod is known":        {api.ControlPlaneCore5G, nil, nil, "pods their addresses from (Core5G core5g"},
		"none, and pods are known":         {api.ControlPlaneCore5G, nil, pods, "pods their addresses from, which holds 10.244.0.17, 10.244.1.5 (Core5G core5g"},
		"all pods are in one of them":      {api.ControlPlaneCore5G, []api.CIDR{"fd00::/64", "10.244.0.0/16"}, pods, ""},
		"a pod is in none of them":         {api.ControlPlaneCore5G, []api.CIDR{"10.244.0.0/24"}, pods, "(10.244.0.0/24) leave out 10.244.1.5, which a pod of the SMF has"},
		"written, and no pod is there yet": {api.ControlPlaneCore5G, []api.CIDR{"10.244.0.0/24"}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			core, upf := makeCore(), makeUPF()
			core.Spec.ControlPlane, upf.Spec.N4.ControlPlaneSubnets = c.plane, c.subnets
			got := ""
			if p := ControlPlaneSubnetsProblem(upf, core, c.pods); p != nil {
				got = p.Message
			}
			if got != "" && c.want == "" || !strings.Contains(got, c.want) {
				t.Errorf("says %q, want %q", got, c.want)
			}
		})
	}
}

// UPF-C reads what the operator writes.
func TestUPFCTakesItsConfiguration(t *testing.T) {
	upf := makeUPF()
	upf.Spec.N4.ControlPlaneSubnets = []api.CIDR{"10.244.0.0/16", "fd00:10:244::/56"}
	c, err := upfcconfig.Parse([]byte(UPFUnit(upf, makeCore(), platform, 0, "10.96.1.3").Config.Data["upf-c.yaml"]))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%s %s %s", c.NodeID, c.PFCP.Advertise, c.PFCP.ControlPlaneSubnets); got != "10.96.1.3 10.96.1.3 [10.244.0.0/16 fd00:10:244::/56]" {
		t.Errorf("UPF-C reads %s", got)
	}
	// Another SMF replaces the unit by itself: no session outlives the change.
	own := makeCore()
	own.Spec.ControlPlane = api.ControlPlaneCore5G
	before, after := UPFUnit(upf, makeCore(), platform, 0, "10.96.1.3"), UPFUnit(upf, own, platform, 0, "10.96.1.3")
	of, err := upfcconfig.Parse([]byte(after.Config.Data["upf-c.yaml"]))
	if err != nil || !of.NamedPools || c.NamedPools || before.SpecHash == after.SpecHash {
		t.Errorf("with core5g's own SMF %v (%v), with free5GC's %v, hashes %s and %s", of, err, c.NamedPools, after.SpecHash, before.SpecHash)
	}
}
