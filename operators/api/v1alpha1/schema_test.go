package v1alpha1

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	schemavalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// kindSchema checks objects the way the API server does, without one: defaults, schema, CEL rules.
type kindSchema struct {
	structural *structuralschema.Structural
	schema     schemavalidation.SchemaValidator
	cel        *cel.Validator
}

func loadKind(t *testing.T, file string) *kindSchema {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "config", "crd", file))
	if err != nil {
		t.Fatal(err)
	}
	var v1crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(raw, &v1crd); err != nil {
		t.Fatal(err)
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(&v1crd)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&v1crd.Spec)
	var crd apiextensions.CustomResourceDefinition
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&v1crd, &crd, nil); err != nil {
		t.Fatal(err)
	}
	crd.Status.StoredVersions = []string{"v1alpha1"}
	if errs := crdvalidation.ValidateCustomResourceDefinition(context.Background(), &crd); len(errs) > 0 {
		t.Fatalf("the API server would refuse %s: %v", file, errs.ToAggregate())
	}
	props := crd.Spec.Validation
	if props == nil {
		props = crd.Spec.Versions[0].Schema
	}
	structural, err := structuralschema.NewStructural(props.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	sv, _, err := schemavalidation.NewSchemaValidator(props.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	return &kindSchema{structural: structural, schema: sv, cel: cel.NewValidator(structural, true, celconfig.PerCallLimit)}
}

func (k *kindSchema) errors(t *testing.T, manifest, old string) string {
	t.Helper()
	obj := k.parse(t, manifest)
	var errs field.ErrorList
	errs = append(errs, schemavalidation.ValidateCustomResource(nil, obj, k.schema)...)
	var oldObj any
	if old != "" {
		oldObj = k.parse(t, old)
	}
	celErrs, _ := k.cel.Validate(context.Background(), nil, k.structural, obj, oldObj, celconfig.RuntimeCELCostBudget)
	errs = append(errs, celErrs...)
	if len(errs) == 0 {
		return ""
	}
	return errs.ToAggregate().Error()
}

func (k *kindSchema) parse(t *testing.T, manifest string) map[string]any {
	t.Helper()
	obj := map[string]any{}
	raw, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &obj); err != nil { // whole numbers become int64, as in the API server
		t.Fatal(err)
	}
	structuraldefaulting.Default(obj, k.structural)
	return obj
}

const validCore = `
apiVersion: core5g.dev/v1alpha1
kind: Core5G
metadata: {name: core5g}
spec:
  plmns: [{mcc: "208", mnc: "93"}]
  tacs: ["000001"]
  sliceCatalogue: [{sst: 1, sd: "010203"}, {sst: 1, sd: "112233"}]
`

const validSlice = `
apiVersion: core5g.dev/v1alpha1
kind: Slice
metadata: {name: internet}
spec:
  snssai: {sst: 1, sd: "010203"}
  dataNetworks:
  - dnn: internet
    uePools: [10.45.0.0/16]
    dns: [1.1.1.1]
`

const validUPF = `
apiVersion: core5g.dev/v1alpha1
kind: UPFInstance
metadata: {name: upf}
spec:
  n3:
    attachment: {type: Bridge, bridge: c5g-n3}
    subnet: 172.30.3.0/24
    endpoints: 172.30.3.16/28
    gateway: 172.30.3.1
  n6:
    attachment: {type: Bridge, bridge: c5g-n6}
    address: 172.30.6.2/24
    gateway: 172.30.6.1
    routes: [{destination: 192.0.2.0/24, via: 172.30.6.3}]
`

const validExternalUPF = `
apiVersion: core5g.dev/v1alpha1
kind: UPFInstance
metadata: {name: edge}
spec:
  external:
    n4: {address: 203.0.113.7, nodeID: upf.edge.example.org}
    n3: {endpoints: [203.0.113.16/28]}
    networkInstances: {access: n3, core: [{slice: internet, dnn: internet, name: n6}]}
    pools: [{range: 10.60.0.0/16, name: a}, {range: 10.61.0.0/16}]
  drain: {timeout: 60s}
`

const validSubscriber = `
apiVersion: core5g.dev/v1alpha1
kind: Subscriber
metadata: {name: phone-1}
spec:
  supi: imsi-208930000000001
  gpsi: msisdn-33612345678
  authentication: {secretRef: {name: phone-1}}
  slices: [{name: internet}]
`

// The manifest of each row is a valid one with one piece replaced; the answer must say what to write.
func TestSchemaRefusesWithASentence(t *testing.T) {
	kinds := map[string]struct {
		file, valid string
		rows        map[string]struct{ replace, with, want string }
		updates     map[string]struct{ replace, with, want string }
	}{
		"Core5G": {
			file: "core5g.dev_core5gs.yaml", valid: validCore,
			rows: map[string]struct{ replace, with, want string }{
				"mcc of two digits":            {`mcc: "208"`, `mcc: "20"`, `mcc must be 3 decimal digits in quotes`},
				"mnc of letters":               {`mnc: "93"`, `mnc: "ab"`, `mnc must be 2 or 3 decimal digits`},
				"tac too short":                {`"000001"`, `"0001"`, `a tac must be 6 hexadecimal digits`},
				"sd not hexadecimal":           {`"010203"`, `"01020g"`, `sd must be 6 hexadecimal digits in quotes`},
				"sd read as a number":          {`"010203"`, `10203`, `write sd in quotes, for example "010203"`},
				"sd read as an octal number":   {`"010203"`, `010203`, `write sd in quotes, for example "010203"`},
				"sd of five digits":            {`"010203"`, `"01020"`, `sd must be 6 hexadecimal digits in quotes`},
				"sd that says there is none":   {`"010203"`, `ffffff`, `sd ffffff says that there is none (TS 23.003 28.4.2): write another, or leave sd out`},
				"sd that says so in any case":  {`"010203"`, `"FFffFF"`, `sd ffffff says that there is none`},
				"mcc read as a number":         {`mcc: "208"`, `mcc: 208`, `write mcc and mnc in quotes`},
				"mnc read as a number":         {`mnc: "93"`, `mnc: 93`, `write mcc and mnc in quotes`},
				"mnc of four digits":           {`mnc: "93"`, `mnc: "0093"`, `mnc must be 2 or 3 decimal digits`},
				"mcc of letters":               {`mcc: "208"`, `mcc: "2o8"`, `mcc must be 3 decimal digits in quotes`},
				"tac read as a number":         {`"000001"`, `1`, `write a tac in quotes`},
				"tac not hexadecimal":          {`"000001"`, `"00000g"`, `a tac must be 6 hexadecimal digits`},
				"a tac that means none":        {`"000001"`, `"000001", "000000"`, `tac 000000 and FFFFFE are reserved, and say that there is no tracking area (TS 23.003): write another`},
				"the other, of a PLMN":         {`mnc: "93"`, `mnc: "93", tacs: [FffffE]`, `tac 000000 and FFFFFE are reserved`},
				"a PLMN's tac without quotes":  {`mnc: "93"`, `mnc: "93", tacs: [1]`, `write a tac in quotes, for example "000001"`},
				"a PLMN's own sd of no digits": {`mnc: "93"`, `mnc: "93", sliceCatalogue: [{sst: 1, sd: "x"}]`, `sd must be 6 hexadecimal digits`},
				"a PLMN without slices":        {`mnc: "93"`, `mnc: "93", sliceCatalogue: []`, `at least 1`},
				"sst 0":                        {`{sst: 1, sd: "010203"}`, `{sst: 0, sd: "010203"}`, `greater than or equal to 1`},
				"external database, no Secret": {`tacs:`, "database: {type: External}\n  tacs:", `name the Secret whose key "uri" holds the mongodb:// URI`},
				"embedded database and Secret": {`tacs:`, "database: {uriSecretRef: {name: x}}\n  tacs:", `write type External, or leave uriSecretRef out`},
				"nodePort on a ClusterIP":      {`tacs:`, "n2: {nodePort: 30412}\n  tacs:", `needs n2.serviceType NodePort or LoadBalancer`},
				"a file of core5g's own":       {`tacs:`, "functions: [{name: access-management, configuration: {a: 1}}]\n  tacs:", `configuration is of free5GC's functions`},
				"a file that is no object":     {`tacs:`, "functions: [{name: pcf, configuration: [1]}]\n  tacs:", `spec.functions[0].configuration`},
				"a definition of no name":      {`tacs:`, "n2: {networkAttachmentDefinition: a/b/c}\n  tacs:", `spec.n2.networkAttachmentDefinition`},
				"unknown transport":            {`tacs:`, "n2: {transport: TCP}\n  tacs:", `supported values: "SCTP", "SCTPOverUDP"`},
				"AMF set beyond 10 bits":       {`tacs:`, "amf: {set: 1024}\n  tacs:", `less than or equal to 1023`},
				"a control plane that is none": {`tacs:`, "controlPlane: Open5GS\n  tacs:", `supported values: "Core5G", "Free5GC"`},
				"free5GC's SMF and replicas":   {`tacs:`, "controlPlane: Free5GC\n  sessionManagement: {replicas: 2}\n  tacs:", `free5GC's is one pod for each Slice: leave it out, or write controlPlane: Core5G`},
				"N4 of no load balancer":       {`tacs:`, "sessionManagement: {n4: {annotations: {a: b}}}\n  tacs:", "annotations are of Services of type LoadBalancer"},
				"N4 of another type":           {`tacs:`, "sessionManagement: {n4: {serviceType: NodePort}}\n  tacs:", `supported values: "ClusterIP", "LoadBalancer"`},
				"no shards":                    {`tacs:`, "sessionManagement: {shards: 0}\n  tacs:", `greater than or equal to 1`},
				"free5GC's AMF and workers":    {`tacs:`, "controlPlane: Free5GC\n  amf: {workers: 2}\n  tacs:", `free5GC's does not know them: leave them out, or write controlPlane: Core5G`},
				"free5GC's and terminators":    {`tacs:`, "controlPlane: Free5GC\n  amf: {terminators: 2}\n  tacs:", `amf.workers, terminators, shards, capacity`},
				"free5GC's in one pod":         {`tacs:`, "controlPlane: Free5GC\n  layout: Fused\n  tacs:", `layout Fused is of core5g's own functions`},
				"free5GC's subscriber data":    {`tacs:`, "subscriberData: Free5GC\n  tacs:", `supported values: "Kubernetes", "PostgreSQL"`},
				"a database without a Secret":  {`tacs:`, "subscriberData: PostgreSQL\n  tacs:", `subscriberData PostgreSQL needs subscriberDatabase.secretRef`},
				"a Secret without a database":  {`tacs:`, "subscriberDatabase: {secretRef: {name: x}}\n  tacs:", `subscriberDatabase is only read with subscriberData PostgreSQL`},
				"a layout that there is not":   {`tacs:`, "layout: Both\n  tacs:", `spec.layout`},
				"free5GC's AMF and shards":     {`tacs:`, "controlPlane: Free5GC\n  amf: {shards: 16}\n  tacs:", `write controlPlane: Core5G`},
				"algorithms of free5GC's AMF":  {`tacs:`, "controlPlane: Free5GC\n  amf: {ciphering: [NEA2]}\n  tacs:", `write controlPlane: Core5G`},
				"voice with free5GC's AMF":     {`tacs:`, "controlPlane: Free5GC\n  amf: {imsVoice: true}\n  tacs:", `write controlPlane: Core5G`},
				"emergencies with free5GC's":   {`tacs:`, "controlPlane: Free5GC\n  amf: {emergency: {snssai: {sst: 1}, dnn: sos}}\n  tacs:", `networkName and emergency are of core5g's own AMF`},
				"no workers":                   {`tacs:`, "amf: {workers: 0}\n  tacs:", `greater than or equal to 1`},
				"an algorithm of none":         {`tacs:`, "amf: {integrity: [NIA0]}\n  tacs:", `supported values: "NIA1", "NIA2", "NIA3"`},
				"T3512 beyond its timer":       {`tacs:`, "amf: {periodicRegistration: 311h}\n  tacs:", `amf.periodicRegistration (T3512) must be from 2s to 310h`},
				"no back-off at all":           {`tacs:`, "amf: {backoff: 0s}\n  tacs:", `amf.backoff (T3346) must be from 2s to 186m`},
				"a time zone without sign":     {`tacs:`, "amf: {networkName: {timeZone: \"02:00\"}}\n  tacs:", `for example "+02:00"`},
				"a time zone of no land":       {`tacs:`, "amf: {networkName: {timeZone: \"+14:15\"}}\n  tacs:", `from -14:00 to +14:00`},
				"shards beyond 8 bits":         {`tacs:`, "amf: {shards: 256}\n  tacs:", `less than or equal to 255`},
				"replicas without a store":     {`tacs:`, "controlPlane: Free5GC\n  subscriberDataReplicas: 2\n  tacs:", `subscriberDataReplicas above 1 share what they remember in a session store, and there is none`},
				"no replicas":                  {`tacs:`, "subscriberDataReplicas: 0\n  tacs:", `greater than or equal to 1`},
				"name too long":                {`name: core5g`, `name: a-name-that-is-far-too-long-for-it`, `at most 30 characters`},
			},
		},
		"Slice": {
			file: "core5g.dev_slices.yaml", valid: validSlice,
			rows: map[string]struct{ replace, with, want string }{
				"pool without prefix length": {`10.45.0.0/16`, `10.45.0.0`, `"10.45.0.0" is no CIDR: write a network address and a prefix length`},
				"pool with host bits":        {`10.45.0.0/16`, `10.45.0.1/16`, `write the network address of that prefix`},
				"pools within each other":    {`[10.45.0.0/16]`, `[10.45.0.0/16, 10.45.1.0/24]`, `write the larger one only`},
				"dns with a prefix length":   {`1.1.1.1`, `1.1.1.1/32`, `is no IP address`},
				"bad dnn":                    {`dnn: internet`, `dnn: "inter net"`, `is no data network name`},
				"bad bit rate":               {`dns: [1.1.1.1]`, `ambr: {uplink: 1G}`, `write a whole number from 1 to 32767, a space and one of Kbps`},
				"no bit rate at all":         {`dns: [1.1.1.1]`, `ambr: {uplink: 0 bps}`, `"0 bps" is no bit rate: write a whole number from 1 to 32767`},
				"a bit rate of 0":            {`dns: [1.1.1.1]`, `ambr: {downlink: 0 Mbps}`, `"0 Mbps" is no bit rate: write a whole number from 1 to 32767`},
				"a bit rate beyond all":      {`dns: [1.1.1.1]`, `ambr: {uplink: 99999999999999999999 Tbps}`, `write a whole number from 1 to 32767`},
				"a bit rate beyond NGAP":     {`dns: [1.1.1.1]`, `ambr: {uplink: 5 Tbps}`, `"5 Tbps" is more than a gNB can be told (TS 38.413 9.3.1.4): write at most "4 Tbps"`},
				"Gbps beyond NGAP":           {`dns: [1.1.1.1]`, `ambr: {uplink: 4001 Gbps}`, `write at most "4 Tbps"`},
				"a bit rate beyond 15 bits":  {`dns: [1.1.1.1]`, `ambr: {uplink: 32768 Kbps}`, `write a whole number from 1 to 32767`},
				"a fraction":                 {`dns: [1.1.1.1]`, `ambr: {uplink: 1.5 Gbps}`, `"1.5 Gbps" is no bit rate: write a whole number from 1 to 32767, a space and one of Kbps, Mbps, Gbps, Tbps, for example "100 Mbps" or "1500 Mbps"`},
				"a loopback pool":            {`10.45.0.0/16`, `127.0.0.0/16`, `"127.0.0.0/16" has addresses that no UE can have`},
				"a multicast pool":           {`10.45.0.0/16`, `224.1.0.0/16`, `loopback, link-local, multicast, reserved): write a private network, for example 10.45.0.0/16`},
				"a reserved pool":            {`10.45.0.0/16`, `240.0.0.0/16`, `has addresses that no UE can have`},
				"a link-local pool":          {`10.45.0.0/16`, `169.254.0.0/17`, `has addresses that no UE can have`},
				"a pool of this network":     {`10.45.0.0/16`, `0.45.0.0/16`, `has addresses that no UE can have`},
				"all addresses as a pool":    {`10.45.0.0/16`, `0.0.0.0/0`, `has addresses that no UE can have`},
				"half of them":               {`10.45.0.0/16`, `128.0.0.0/1`, `has addresses that no UE can have`},
				"a pool of one address":      {`10.45.0.0/16`, `10.45.0.1/32`, `"10.45.0.1/32" has no room for UEs: write a network of prefix length 30 or less`},
				"a pool of two addresses":    {`10.45.0.0/16`, `10.45.0.0/31`, `has no room for UEs`},
				"an IPv6 DNS server":         {`1.1.1.1`, `"2606:4700:4700::1111"`, `dns has an IPv6 server, and UEs have IPv4 addresses only: write an IPv4 DNS server, for example 1.1.1.1, or add an IPv6 network to uePools`},
				"an IPv6 one beside another": {`1.1.1.1`, `1.1.1.1, "2606:4700:4700::1111"`, `dns has an IPv6 server`},
				"a DNS server that is none":  {`1.1.1.1`, `127.0.0.1`, `"127.0.0.1" is no address of a server: write one that UEs reach through N6`},
				"a DNS server twice":         {`1.1.1.1`, `1.1.1.1, 1.1.1.1`, `dns names one server twice`},
				"three DNS servers":          {`1.1.1.1`, `1.1.1.1, 1.0.0.1, 8.8.8.8`, `write two of each at most`},
				"5QI of a GBR flow":          {`dns: [1.1.1.1]`, `fiveQI: 1`, `fiveQI is that of a GBR flow, and the default QoS flow has no guaranteed bit rate: write 9, another of 5 to 10, 69, 70, 79, 80`},
				"5QI of a delay-critical":    {`dns: [1.1.1.1]`, `fiveQI: 82`, `fiveQI is that of a GBR flow`},
				"5QI of nothing":             {`dns: [1.1.1.1]`, `fiveQI: 11`, `fiveQI is not in TS 23.501 table 5.7.4-1: write 9`},
				"5QI 127":                    {`dns: [1.1.1.1]`, `fiveQI: 127`, `or one of 128 to 254 that your gNBs are configured with`},
				"5QI 255":                    {`dns: [1.1.1.1]`, `fiveQI: 255`, `less than or equal to 254`},
				"DNNs that differ in case":   {`  - dnn: internet`, "  - {dnn: Internet, uePools: [10.46.0.0/16]}\n  - dnn: internet", `two DNNs that differ only in case are one (TS 23.003 9.1)`},
				"sd read as a number":        {`"010203"`, `010203`, `write sd in quotes, for example "010203"`},
				"sd that says there is none": {`"010203"`, `ffffff`, `sd ffffff says that there is none`},
				"name and labels":            {`snssai:`, "upfSelector: {name: a, matchLabels: {b: c}}\n  snssai:", `write exactly one of them`},
				"neither name nor labels":    {`snssai:`, "upfSelector: {}\n  snssai:", `write exactly one of them`},
				"5QI 0":                      {`dns: [1.1.1.1]`, `fiveQI: 0`, `greater than or equal to 1`},

				"IPv6 without a pool":             {`dns: [1.1.1.1]`, `sessionTypes: [IPv4, IPv4v6]`, `sessionTypes has IPv6, and uePools has no IPv6 network: write one, for example 2001:db8:45::/48`},
				"IPv4 without a pool":             {`[10.45.0.0/16]`, "[\"2001:db8:45::/48\"]\n    sessionTypes: [IPv4]", `sessionTypes has IPv4, and uePools has no IPv4 network`},
				"a session type twice":            {`dns: [1.1.1.1]`, `sessionTypes: [IPv4, IPv4]`, `sessionTypes names one twice`},
				"a session type that is none":     {`dns: [1.1.1.1]`, `sessionTypes: [Unstructured]`, `supported values: "IPv4", "IPv6", "IPv4v6", "Ethernet"`},
				"no pools":                        {`uePools: [10.45.0.0/16]`, `mtu: 1400`, `uePools is missing: write the networks that UE addresses come from, for example [10.45.0.0/16]`},
				"Ethernet with a pool":            {`dns: [1.1.1.1]`, `sessionTypes: [Ethernet]`, `leave uePools, staticPools, dns, pcscf, breakouts and poolRouting out`},
				"Ethernet with a DNS server":      {`uePools: [10.45.0.0/16]`, `sessionTypes: [Ethernet]`, `leave uePools, staticPools, dns, pcscf, breakouts and poolRouting out`},
				"Ethernet with pools of a UPF":    {"uePools: [10.45.0.0/16]\n    dns: [1.1.1.1]", "sessionTypes: [Ethernet]\n    upfs: [{name: edge, uePools: [10.46.0.0/16]}]", `breakouts and poolRouting out, also of upfs`},
				"Ethernet beside IP":              {`dns: [1.1.1.1]`, `sessionTypes: [IPv4, Ethernet]`, `sessionTypes has Ethernet beside IP`},
				"a further UPF of no pools":       {`dns: [1.1.1.1]`, `upfs: [{name: edge}]`, `upfs has a UPFInstance without uePools: write the networks`},
				"a MAC address of a filter":       {"uePools: [10.45.0.0/16]\n    dns: [1.1.1.1]", "sessionTypes: [Ethernet]\n    flows: [{name: a, fiveQI: 9, precedence: 1, filters: [{ethernet: {remoteMAC: 02-00-00-00-00-01}}]}]", `ethernet.remoteMAC`},
				"an etherType of a filter":        {"uePools: [10.45.0.0/16]\n    dns: [1.1.1.1]", "sessionTypes: [Ethernet]\n    flows: [{name: a, fiveQI: 9, precedence: 1, filters: [{ethernet: {etherType: \"88b8\"}}]}]", `ethernet.etherType`},
				"a VLAN of a filter":              {"uePools: [10.45.0.0/16]\n    dns: [1.1.1.1]", "sessionTypes: [Ethernet]\n    flows: [{name: a, fiveQI: 9, precedence: 1, filters: [{ethernet: {vlan: 4095}}]}]", `less than or equal to 4094`},
				"an IPv6 pool of one UE and":      {`10.45.0.0/16`, `"2001:db8::/65"`, `"2001:db8::/65" has no room for UEs, which get a /64 each`},
				"an IPv6 P-CSCF for IPv4":         {`dns: [1.1.1.1]`, `pcscf: ["2001:db8::5"]`, `pcscf has an IPv6 server, and UEs have IPv4 addresses only`},
				"a P-CSCF that is none":           {`dns: [1.1.1.1]`, `pcscf: [127.0.0.1]`, `"127.0.0.1" is no address of a server`},
				"a GBR flow without rates":        {`dns: [1.1.1.1]`, `flows: [{name: a, fiveQI: 1, precedence: 1, filters: [{}]}]`, `fiveQI is that of a GBR flow (TS 23.501 table 5.7.4-1): write gbr`},
				"rates of a flow without":         {`dns: [1.1.1.1]`, `flows: [{name: a, fiveQI: 9, precedence: 1, gbr: {uplink: 1 Mbps, downlink: 1 Mbps}, filters: [{}]}]`, `leave gbr and mbr out`},
				"a maximum rate alone":            {`dns: [1.1.1.1]`, `flows: [{name: a, fiveQI: 200, precedence: 1, mbr: {uplink: 1 Mbps, downlink: 1 Mbps}, filters: [{}]}]`, `mbr needs gbr: the session AMBR bounds`},
				"a rate that is none":             {`dns: [1.1.1.1]`, `flows: [{name: a, fiveQI: 1, precedence: 1, gbr: {uplink: fast, downlink: 1 Mbps}, filters: [{}]}]`, `should match`},
				"a flow's 5QI of nothing":         {`dns: [1.1.1.1]`, `flows: [{name: a, fiveQI: 11, precedence: 1, filters: [{}]}]`, `fiveQI is not in TS 23.501 table 5.7.4-1: write one of 1 to 10`},
				"a flow without filters":          {`dns: [1.1.1.1]`, `flows: [{name: a, fiveQI: 9, precedence: 1, filters: []}]`, `at least 1 items`},
				"one precedence twice":            {`dns: [1.1.1.1]`, `flows: [{name: a, fiveQI: 9, precedence: 1, filters: [{}]}, {name: b, fiveQI: 9, precedence: 1, filters: [{}]}]`, `two flows have one precedence`},
				"the default rule's precedence":   {`dns: [1.1.1.1]`, `flows: [{name: a, fiveQI: 9, precedence: 255, filters: [{}]}]`, `less than or equal to 254`},
				"a protocol that is none":         {`dns: [1.1.1.1]`, `flows: [{name: a, fiveQI: 9, precedence: 1, filters: [{protocol: udp}]}]`, `protocol must be one of TCP, UDP, ICMP, ICMPv6, SCTP, ESP, or a number from 0 to 255`},
				"a protocol beyond all":           {`dns: [1.1.1.1]`, `flows: [{name: a, fiveQI: 9, precedence: 1, filters: [{protocol: 256}]}]`, `or a number from 0 to 255`},
				"a port beyond all":               {`dns: [1.1.1.1]`, `flows: [{name: a, fiveQI: 9, precedence: 1, filters: [{remotePorts: 65536}]}]`, `ports must be one from 1 to 65535, for example 80, or a range`},
				"ports that are none":             {`dns: [1.1.1.1]`, `flows: [{name: a, fiveQI: 9, precedence: 1, filters: [{localPorts: http}]}]`, `ports must be one from 1 to 65535`},
				"a direction that is none":        {`dns: [1.1.1.1]`, `flows: [{name: a, fiveQI: 9, precedence: 1, filters: [{direction: Up}]}]`, `supported values: "Uplink", "Downlink", "Bidirectional"`},
				"a breakout to nowhere":           {`dns: [1.1.1.1]`, `breakouts: [{name: a, prefixes: [], upfInstance: edge}]`, `at least 1 items`},
				"a breakout's TAC as a number":    {`dns: [1.1.1.1]`, `breakouts: [{name: a, prefixes: [192.0.2.0/24], upfInstance: edge, tacs: [1]}]`, `write a tac in quotes, for example "000001"`},
				"a breakout's TAC of nowhere":     {`dns: [1.1.1.1]`, `breakouts: [{name: a, prefixes: [192.0.2.0/24], upfInstance: edge, tacs: ["fffffe"]}]`, `tac 000000 and FFFFFE are reserved`},
				"a UPF's TAC of nowhere":          {`dns: [1.1.1.1]`, `upfs: [{name: edge, uePools: [10.46.0.0/16], tacs: ["000000"]}]`, `tac 000000 and FFFFFE are reserved`},
				"no fallback, and for no TAC":     {`dns: [1.1.1.1]`, `upfs: [{name: edge, uePools: [10.46.0.0/16], fallback: None}]`, `fallback None is for PDU sessions in tacs, and there are none`},
				"no fallback, and for none":       {`dns: [1.1.1.1]`, `upfs: [{name: edge, uePools: [10.46.0.0/16], tacs: [], fallback: None}]`, `fallback None is for PDU sessions in tacs, and there are none`},
				"a fallback that is none":         {`dns: [1.1.1.1]`, `upfs: [{name: edge, uePools: [10.46.0.0/16], fallback: Never}]`, `supported values: "Any", "None"`},
				"a further UPF without pools":     {`dns: [1.1.1.1]`, `upfs: [{name: edge, uePools: []}]`, `at least 1 items`},
				"a network instance that is none": {`dns: [1.1.1.1]`, `networkInstance: a/b`, `"a/b" is no data network name`},
				"a policy that is none":           {`dns: [1.1.1.1]`, `policy: Mine`, `supported values: "PCF", "Slice"`},
			},
			updates: map[string]struct{ replace, with, want string }{
				"another sd":   {`"010203"`, `"010204"`, `snssai is immutable: create a second Slice`},
				"another core": {`snssai:`, "coreRef: {name: b}\n  snssai:", `coreRef is immutable`},
			},
		},
		"UPFInstance": {
			file: "core5g.dev_upfinstances.yaml", valid: validUPF,
			rows: map[string]struct{ replace, with, want string }{
				"endpoints outside the subnet":              {`172.30.3.16/28`, `172.30.4.16/28`, `n3.endpoints 172.30.4.16/28 must lie within n3.subnet 172.30.3.0/24`},
				"gateway outside N3":                        {`gateway: 172.30.3.1`, `gateway: 172.30.9.1`, `n3.gateway must lie within n3.subnet`},
				"gateway outside N6":                        {`gateway: 172.30.6.1`, `gateway: 172.30.9.1`, `n6.gateway 172.30.9.1 must lie within the subnet of n6.address`},
				"gateway is the UPF":                        {`gateway: 172.30.6.1`, `gateway: 172.30.6.2`, `n6.gateway is the UPF's own address`},
				"N6 address without a prefix":               {`172.30.6.2/24`, `172.30.6.2`, `is no interface address`},
				"bridge without a name":                     {`bridge: c5g-n3`, `master: eth0`, `needs attachment.bridge`},
				"macvlan without a master":                  {`type: Bridge, bridge: c5g-n3`, `type: MACVLAN`, `needs attachment.master`},
				"host device without resource":              {`type: Bridge, bridge: c5g-n3`, `type: HostDevice`, `needs attachment.resourceName`},
				"existing without a name":                   {`type: Bridge, bridge: c5g-n3`, `type: Existing`, `needs attachment.networkAttachmentDefinition`},
				"VFIO without a resource":                   {`spec:`, "spec:\n  driver: VFIO", `needs n3.attachment.resourceName and n6.attachment.resourceName`},
				"a VLAN that is none":                       {`type: Bridge, bridge: c5g-n3}`, "type: Bridge, bridge: c5g-n3}\n    vlan: 4095", `n3.vlan`},
				"a MAC address of a group":                  {`type: Bridge, bridge: c5g-n3`, `type: SRIOV, resourceName: a/b, macAddress: "03:00:00:00:00:01"`, `macAddress`},
				"trust of a bridge":                         {`type: Bridge, bridge: c5g-n3`, `type: Bridge, bridge: c5g-n3, trust: "On"`, `need attachment.type SRIOV`},
				"VFIO on a bridge":                          {`spec:`, "spec:\n  driver: VFIO", `driver VFIO needs`},
				"fewer CPUs than workers":                   {`spec:`, "spec:\n  workers: 4\n  cpus: 2", `cpus must be at least workers + 1`},
				"fewer sessions than any unit has":          {`spec:`, "spec:\n  sessions: 1000", `sessions must be from 1024 to 1048576: for more, raise units`},
				"more sessions than a unit holds":           {`spec:`, "spec:\n  sessions: 2000000", `sessions must be from 1024 to 1048576: for more, raise units`},
				"too little hugepage memory":                {`spec:`, "spec:\n  hugepages: {amount: 2Mi}", `hugepages.amount must be at least 64Mi`},
				"more units than addresses are divided for": {`spec:`, "spec:\n  units: 3\n  maxUnits: 2", `units must be at most maxUnits`},
				"N6 addresses outside the subnet":           {`gateway: 172.30.6.1`, "gateway: 172.30.6.1\n    unitAddresses: 172.30.7.0/28", `n6.unitAddresses 172.30.7.0/28 must lie within the subnet of n6.address`},
				"a cell in the name and none in the policy": {`type: Bridge, bridge: c5g-n3`, `type: HostDevice, resourceName: "core5g.dev/n3_socket{cell}"`, `needs placement.policy PerSocket or SingleNUMA`},
				"a cell in the name of what exists":         {`type: Bridge, bridge: c5g-n3`, `type: Existing, networkAttachmentDefinition: a, resourceName: "x{cell}"`, `needs attachment.type HostDevice`},
				"an unknown policy":                         {`spec:`, "spec:\n  placement: {policy: Cell}", `supported values: "Any", "SingleNUMA", "PerSocket"`},
				"a network instance without a wire":         {`spec:`, "spec:\n  networkInstances: [{name: ims, addresses: [10.7.0.2/24]}]", `networkInstances[ims] has neither attachment nor vlan: write the vlan that tells its frames on the interface of n6, or the attachment`},
				"one without addresses":                     {`spec:`, "spec:\n  networkInstances: [{name: ims, vlan: 7, addresses: []}]", `at least 1 items`},
				"one of IP that has none":                   {`spec:`, "spec:\n  networkInstances: [{name: ims, vlan: 7}]", `networkInstances[ims] has no addresses: write the UPF's, for example 172.30.7.2/24, or type: Ethernet for a bridge`},
				"a bridge with addresses":                   {`spec:`, "spec:\n  networkInstances: [{name: lan, vlan: 7, type: Ethernet, addresses: [10.7.0.2/24]}]", `networkInstances[lan] is a bridge (type Ethernet), which has no addresses, unitAddresses, gateways, routes or nat44: leave them out`},
				"a bridge with a gateway":                   {`spec:`, "spec:\n  networkInstances: [{name: lan, vlan: 7, type: Ethernet, gateways: [10.7.0.1]}]", `networkInstances[lan] is a bridge`},
				"a bridge with NAT44":                       {`spec:`, "spec:\n  networkInstances: [{name: lan, vlan: 7, type: Ethernet, nat44: {addresses: [203.0.113.0/28]}}]", `networkInstances[lan] is a bridge`},
				"a network instance of another type":        {`spec:`, "spec:\n  networkInstances: [{name: lan, vlan: 7, type: IPX}]", `supported values: "IP", "Ethernet"`},
				"one with two IPv4 addresses":               {`spec:`, "spec:\n  networkInstances: [{name: ims, vlan: 7, addresses: [10.7.0.2/24, 10.8.0.2/24]}]", `addresses has two of one IP version`},
				"one with three IPv6 gateways":              {`spec:`, "spec:\n  networkInstances: [{name: ims, vlan: 7, addresses: [\"fd00::2/64\"], gateways: [\"fd00::1\", \"fe80::1\", \"fe80::2\"]}]", `gateways has three of one IP version`},
				"one with three IPv4 gateways":              {`spec:`, "spec:\n  networkInstances: [{name: ims, vlan: 7, addresses: [10.7.0.2/24], gateways: [10.7.0.1, 10.7.0.3, 10.7.0.4]}]", `gateways has three of one IP version`},
				"one with one gateway twice":                {`spec:`, "spec:\n  networkInstances: [{name: ims, vlan: 7, addresses: [\"fd00::2/64\"], gateways: [\"fe80::1\", \"fe80:0::1\"]}]", `gateways has one address twice`},
				"one with a gateway elsewhere":              {`spec:`, "spec:\n  networkInstances: [{name: ims, vlan: 7, addresses: [10.7.0.2/24], gateways: [10.7.0.1, 10.8.0.1]}]", `networkInstances[ims].gateways has one that is in no subnet of addresses`},
				"one with a gateway of no IP version":       {`spec:`, "spec:\n  networkInstances: [{name: ims, vlan: 7, addresses: [10.7.0.2/24], gateways: [10.7.0.1, 10.7.0.3, \"fe80::1\", \"fd00:7::1\"]}]", `networkInstances[ims].gateways has one that is in no subnet of addresses`},
				"one that is its own gateway":               {`spec:`, "spec:\n  networkInstances: [{name: ims, vlan: 7, addresses: [10.7.0.2/24], gateways: [10.7.0.1, 10.7.0.2]}]", `networkInstances[ims].gateways has an address of the UPF itself`},
				"NAT44 without addresses":                   {`gateway: 172.30.6.1`, "gateway: 172.30.6.1\n    nat44: {addresses: []}", `at least 1 items`},
				"NAT44 of IPv6":                             {`gateway: 172.30.6.1`, "gateway: 172.30.6.1\n    nat44: {addresses: [\"2001:db8::/64\"]}", `nat44.addresses: "2001:db8::/64" is none of a /16 to a /32 of IPv4 addresses`},
				"NAT44 of half the world":                   {`gateway: 172.30.6.1`, "gateway: 172.30.6.1\n    nat44: {addresses: [11.0.0.0/8]}", `"11.0.0.0/8" is none of a /16 to a /32`},
				"NAT44 of what nobody routes":               {`gateway: 172.30.6.1`, "gateway: 172.30.6.1\n    nat44: {addresses: [127.0.0.0/24]}", `"127.0.0.0/24" is this network, loopback`},
				"NAT44 addresses twice":                     {`gateway: 172.30.6.1`, "gateway: 172.30.6.1\n    nat44: {addresses: [203.0.113.0/28, 203.0.113.8/32]}", `nat44.addresses overlap each other`},
				"NAT44 with ports that are no power of two": {`gateway: 172.30.6.1`, "gateway: 172.30.6.1\n    nat44: {addresses: [203.0.113.0/28], portsPerUE: 1000}", `portsPerUE`},
				"NAT44 that forgets UDP":                    {`gateway: 172.30.6.1`, "gateway: 172.30.6.1\n    nat44: {addresses: [203.0.113.0/28], timeouts: {udp: 30s}}", `nat44.timeouts.udp must be a duration from 2m (RFC 4787 REQ-5) to 24h`},
				"NAT44 that forgets connections":            {`gateway: 172.30.6.1`, "gateway: 172.30.6.1\n    nat44: {addresses: [203.0.113.0/28], timeouts: {tcpEstablished: 2h}}", `nat44.timeouts.tcpEstablished must be a duration from 2h4m (RFC 5382 REQ-5)`},
				"NAT44 that forgets handshakes":             {`gateway: 172.30.6.1`, "gateway: 172.30.6.1\n    nat44: {addresses: [203.0.113.0/28], timeouts: {tcpTransitory: 30s}}", `nat44.timeouts.tcpTransitory must be a duration from 4m`},
				"NAT44 that forgets pings":                  {`gateway: 172.30.6.1`, "gateway: 172.30.6.1\n    nat44: {addresses: [203.0.113.0/28], timeouts: {icmp: 30s}}", `nat44.timeouts.icmp must be a duration from 1m`},
				"NAT44 without IPv4":                        {`spec:`, "spec:\n  networkInstances: [{name: ims, vlan: 7, addresses: [\"fd00::2/64\"], nat44: {addresses: [203.0.113.0/28]}}]", `networkInstances[ims].nat44 needs an IPv4 address of the UPF`},
				"a predefined rule of one direction":        {`spec:`, "spec:\n  predefinedRules: [{name: video, filters: [{remote: 203.0.113.0/24, direction: Uplink}]}]", `predefinedRules[video] has a filter of one direction`},
				"a predefined rule without filters":         {`spec:`, "spec:\n  predefinedRules: [{name: video, filters: []}]", `at least 1 items`},
				"a predefined rule without a name":          {`spec:`, "spec:\n  predefinedRules: [{name: \"\", filters: [{}]}]", `predefinedRules[0].name`},
				"a predefined rule ajar":                    {`spec:`, "spec:\n  predefinedRules: [{name: video, filters: [{}], gate: Ajar}]", `supported values: "Open", "Closed"`},
				"second gateway outside N3":                 {`gateway: 172.30.3.1`, "gateway: 172.30.3.1\n    secondGateway: 172.30.9.1", `n3.secondGateway must lie within n3.subnet`},
				"second gateway among our addresses":        {`gateway: 172.30.3.1`, "gateway: 172.30.3.1\n    secondGateway: 172.30.3.18", `n3.secondGateway lies within n3.endpoints 172.30.3.16/28`},
				"second gateway of N3 alone":                {`gateway: 172.30.3.1`, `secondGateway: 172.30.3.1`, `n3.secondGateway goes with n3.gateway`},
				"one gateway of N3 twice":                   {`gateway: 172.30.3.1`, "gateway: 172.30.3.1\n    secondGateway: 172.30.3.1", `n3.secondGateway goes with n3.gateway, and is another address`},
				"second gateway outside N6":                 {`gateway: 172.30.6.1`, "gateway: 172.30.6.1\n    secondGateway: 172.30.9.1", `n6.secondGateway 172.30.9.1 must lie within the subnet of n6.address`},
				"second gateway is the UPF":                 {`gateway: 172.30.6.1`, "gateway: 172.30.6.1\n    secondGateway: 172.30.6.2", `n6.secondGateway is the UPF's own address`},
				"one gateway of N6 twice":                   {`gateway: 172.30.6.1`, "gateway: 172.30.6.1\n    secondGateway: 172.30.6.1", `n6.secondGateway is n6.gateway`},
				"one whose name is none":                    {`spec:`, "spec:\n  networkInstances: [{name: a/b, vlan: 7, addresses: [10.7.0.2/24]}]", `"a/b" is no data network name`},
				"VFIO on a bridge of a network instance": {`spec:`, "spec:\n  driver: VFIO\n  networkInstances: [{name: ims, attachment: {type: Bridge, bridge: b}, addresses: [10.7.0.2/24]}]",
					`driver VFIO needs networkInstances[].attachment.type HostDevice, SRIOV or Existing`},
				"a cell in the name of a network instance": {`spec:`, "spec:\n  networkInstances: [{name: ims, attachment: {type: HostDevice, resourceName: \"a/b{cell}\"}, addresses: [10.7.0.2/24]}]", `needs placement.policy PerSocket or SingleNUMA`},
				"a page size that none has":                {`spec:`, "spec:\n  hugepages: {size: 4Ki}", `supported values: "2Mi", "1Gi"`},
			},
		},
		"UPFInstance that runs elsewhere": {
			file: "core5g.dev_upfinstances.yaml", valid: validExternalUPF,
			rows: map[string]struct{ replace, with, want string }{
				"neither pods nor elsewhere":   {`external:`, "administrativeState: Locked\n  nothing:", `write the networks of the UPF's pods, or external for a UPF that runs elsewhere`},
				"pods' N6 too":                 {`drain:`, "n6: {attachment: {type: Bridge, bridge: b}, address: 172.30.6.2/24, gateway: 172.30.6.1}\n  drain:", `leave out n3, n6, networkInstances, maxUnits, placement`},
				"a Service of pods":            {`drain:`, "n4: {serviceType: LoadBalancer}\n  drain:", `external.n4.address says where the UPF is reached`},
				"network instances of pods":    {`drain:`, "networkInstances: [{name: ims, vlan: 7, addresses: [10.7.0.2/24]}]\n  drain:", `external.networkInstances has its names for networks`},
				"CPUs":                         {`drain:`, "cpus: 2\n  drain:", `cpus, nodeSelector, tolerations and priorityClassName, which are of pods`},
				"priority":                     {`drain:`, "priorityClassName: high\n  drain:", `tolerations and priorityClassName, which are of pods`},
				"redundancy":                   {`drain:`, "redundancy: {standbys: 1}\n  drain:", `which are of pods`},
				"an update strategy":           {`drain:`, "updateStrategy: {type: OnApproval}\n  drain:", `which are of pods`},
				"a placement":                  {`drain:`, "placement: {policy: PerSocket}\n  drain:", `which are of pods`},
				"two units":                    {`drain:`, "units: 2\n  drain:", `name each further UPF in a UPFInstance of its own`},
				"no units":                     {`drain:`, "units: 0\n  drain:", `administrativeState takes it out of service`},
				"hugepages":                    {`drain:`, "hugepages: {amount: 1Gi}\n  drain:", `leave out units, workers, driver, sessions, hugepages, memory and ueToUE`},
				"memory":                       {`drain:`, "memory: 1Gi\n  drain:", `leave out units, workers, driver, sessions, hugepages, memory and ueToUE`},
				"sessions":                     {`drain:`, "sessions: 100000\n  drain:", `leave out units, workers, driver, sessions`},
				"a driver":                     {`drain:`, "driver: VFIO\n  drain:", `leave out units, workers, driver`},
				"subnets of the control plane": {`drain:`, "n4: {controlPlaneSubnets: [10.244.0.0/16]}\n  drain:", `write it into that of the UPF (upf-c: pfcp.controlPlaneSubnets)`},
				"an N4 address with a port":    {`203.0.113.7`, `203.0.113.7:8805`, `is no IP address`},
				"an N4 address of no host":     {`203.0.113.7`, `127.0.0.1`, `external.n4.address 127.0.0.1 is no address of a host`},
				"a port that is none":          {`nodeID: upf.edge.example.org`, `port: 70000`, `less than or equal to 65535`},
				"a Node ID that is none":       {`upf.edge.example.org`, `"upf edge"`, `"upf edge" is no Node ID: write an FQDN or an IP address`},
				"no N3":                        {`[203.0.113.16/28]`, `[]`, `at least 1 items`},
				"N3 with host bits":            {`203.0.113.16/28`, `203.0.113.17/28`, `has host bits set`},
				"pools that overlap":           {`10.61.0.0/16`, `10.60.1.0/24`, `two of external.pools overlap`},
			},
			updates: map[string]struct{ replace, with, want string }{
				"of pods instead": {validExternalUPF[strings.Index(validExternalUPF, "spec:"):], validUPF[strings.Index(validUPF, "spec:"):], `external can neither be added nor taken away: delete the UPFInstance and create it anew`},
			},
		},
		"Subscriber": {
			file: "core5g.dev_subscribers.yaml", valid: validSubscriber,
			rows: map[string]struct{ replace, with, want string }{
				"SUPI without its type": {`imsi-208930000000001`, `"208930000000001"`, `write imsi- and 5 to 15 digits`},
				"GPSI without its type": {`msisdn-33612345678`, `"+33612345678"`, `write msisdn- and 5 to 15 digits`},
				"AMF field too long":    {`secretRef:`, `amf: "80000", secretRef:`, `authentication.amf must be 4 hexadecimal digits`},
				"AMF field as a number": {`secretRef:`, `amf: 8000, secretRef:`, `write authentication.amf in quotes, for example "8000"`},
				"UE AMBR of 0":          {`slices:`, "ambr: {uplink: 0 bps}\n  slices:", `"0 bps" is no bit rate`},
				"DNNs that differ in case": {`{name: internet}`, `{name: internet, dnns: [ims, IMS]}`,
					`two DNNs that differ only in case are one (TS 23.003 9.1): write it once, as the Slice does`},
				"no slice":                         {`[{name: internet}]`, `[]`, `at least 1 items`},
				"no address in addresses":          {`{name: internet}`, `{name: internet, addresses: [{dnn: internet}]}`, `write ipv4, ipv6Prefix or both`},
				"an address that is none":          {`{name: internet}`, `{name: internet, addresses: [{dnn: internet, ipv4: 127.0.0.1}]}`, `"127.0.0.1" is no IPv4 address that a UE can have: write for example 10.47.0.9`},
				"IPv6 in the place of IPv4":        {`{name: internet}`, `{name: internet, addresses: [{dnn: internet, ipv4: "2001:db8::1"}]}`, `is no IPv4 address that a UE can have`},
				"no network behind a UE":           {`{name: internet}`, `{name: internet, framedRoutes: [{dnn: internet, prefixes: []}]}`, `should have at least 1 items`},
				"a network that is none":           {`{name: internet}`, `{name: internet, framedRoutes: [{dnn: internet, prefixes: [192.168.7.0]}]}`, `"192.168.7.0" is no CIDR: write a network address and a prefix length`},
				"a network with host bits":         {`{name: internet}`, `{name: internet, framedRoutes: [{dnn: internet, prefixes: [192.168.7.1/24]}]}`, `"192.168.7.1/24" has host bits set: write the network address of that prefix`},
				"every network behind a UE":        {`{name: internet}`, `{name: internet, framedRoutes: [{dnn: internet, prefixes: [0.0.0.0/0]}]}`, `"0.0.0.0/0" is no network that can be behind a UE: write one of IPv4 with a prefix length of 8 to 32`},
				"every IPv6 network behind a UE":   {`{name: internet}`, `{name: internet, framedRoutes: [{dnn: internet, prefixes: ["::/0"]}]}`, `"::/0" is no network that can be behind a UE`},
				"a multicast network behind a UE":  {`{name: internet}`, `{name: internet, framedRoutes: [{dnn: internet, prefixes: [224.0.0.0/8]}]}`, `"224.0.0.0/8" is no network that can be behind a UE`},
				"a loopback network behind a UE":   {`{name: internet}`, `{name: internet, framedRoutes: [{dnn: internet, prefixes: [127.0.0.0/8]}]}`, `"127.0.0.0/8" is no network that can be behind a UE`},
				"a link-local network behind a UE": {`{name: internet}`, `{name: internet, framedRoutes: [{dnn: internet, prefixes: ["fe80::/64"]}]}`, `"fe80::/64" is no network that can be behind a UE`},
				"a network too long for the UPF":   {`{name: internet}`, `{name: internet, framedRoutes: [{dnn: internet, prefixes: ["2001:db8::/72"]}]}`, `"2001:db8::/72" is no network that can be behind a UE`},
				"too many networks":                {`{name: internet}`, `{name: internet, framedRoutes: [{dnn: internet, prefixes: [10.0.0.0/16, 10.1.0.0/16, 10.2.0.0/16, 10.3.0.0/16, 10.4.0.0/16, 10.5.0.0/16, 10.6.0.0/16, 10.7.0.0/16, 10.8.0.0/16, 10.9.0.0/16, 10.10.0.0/16, 10.11.0.0/16, 10.12.0.0/16, 10.13.0.0/16, 10.14.0.0/16, 10.15.0.0/16, 10.16.0.0/16]}]}`, `must have at most 16 items`},
				"a prefix of another length":       {`{name: internet}`, `{name: internet, addresses: [{dnn: internet, ipv6Prefix: "2001:db8::/56"}]}`, `"2001:db8::/56" is no IPv6 prefix that a UE can have: write one of 64 bits`},
				"a data network twice":             {`{name: internet}`, `{name: internet, addresses: [{dnn: internet, ipv4: 10.47.0.1}, {dnn: Internet, ipv4: 10.47.0.2}]}`, `write the addresses once`},
			},
			updates: map[string]struct{ replace, with, want string }{
				"another SUPI": {`imsi-208930000000001`, `imsi-208930000000002`, `supi is immutable`},
			},
		},
	}
	for kind, k := range kinds {
		t.Run(kind, func(t *testing.T) {
			s := loadKind(t, k.file)
			if got := s.errors(t, k.valid, k.valid); got != "" {
				t.Fatalf("the valid manifest is refused: %s", got)
			}
			for name, row := range k.rows {
				t.Run(name, func(t *testing.T) {
					changed := strings.Replace(k.valid, row.replace, row.with, 1)
					if changed == k.valid {
						t.Fatalf("nothing replaced: %q is not in the manifest", row.replace)
					}
					if got := s.errors(t, changed, ""); !strings.Contains(got, row.want) {
						t.Errorf("answer %q\n does not say %q", got, row.want)
					}
				})
			}
			for name, row := range k.updates {
				t.Run("update/"+name, func(t *testing.T) {
					changed := strings.Replace(k.valid, row.replace, row.with, 1)
					if got := s.errors(t, changed, k.valid); !strings.Contains(got, row.want) {
						t.Errorf("answer %q\n does not say %q", got, row.want)
					}
				})
			}
		})
	}
}

// What is right must stay so: the rules above refuse no more than they say.
func TestSchemaTakesDataNetworks(t *testing.T) {
	kind := loadKind(t, "core5g.dev_slices.yaml")
	for name, row := range map[string]struct{ replace, with string }{
		"a 5QI of the network's own":     {`dns: [1.1.1.1]`, `fiveQI: 200`},
		"the last of them":               {`dns: [1.1.1.1]`, `fiveQI: 254`},
		"IMS signalling":                 {`dns: [1.1.1.1]`, `fiveQI: 5`},
		"mission critical data":          {`dns: [1.1.1.1]`, `fiveQI: 70`},
		"the smallest bit rate":          {`dns: [1.1.1.1]`, `ambr: {uplink: 1 Kbps}`},
		"the largest one":                {`dns: [1.1.1.1]`, `ambr: {uplink: 4 Tbps, downlink: 4000 Gbps}`},
		"the largest number":             {`dns: [1.1.1.1]`, `ambr: {uplink: 32767 Mbps}`},
		"a network instance":             {`dns: [1.1.1.1]`, `networkInstance: ims`},
		"two DNS servers":                {`1.1.1.1`, `1.1.1.1, 10.0.0.53`},
		"the smallest pool":              {`10.45.0.0/16`, `10.45.0.0/30`},
		"a pool beside the loopback one": {`10.45.0.0/16`, `126.0.0.0/8`},
		"a public one":                   {`10.45.0.0/16`, `198.51.100.0/24`},
		"two data networks":              {`  - dnn: internet`, "  - {dnn: ims, uePools: [10.46.0.0/16]}\n  - dnn: internet"},
		"IPv6 beside IPv4":               {`[10.45.0.0/16]`, "[10.45.0.0/16, \"2001:db8:45::/48\"]\n    sessionTypes: [IPv4v6, IPv4, IPv6]\n    pcscf: [192.0.2.5, \"2001:db8::5\"]"},
		"DNS servers of both":            {`[10.45.0.0/16]` + "\n    dns: [1.1.1.1]", "[10.45.0.0/16, \"2001:db8:45::/48\"]\n    dns: [1.1.1.1, 9.9.9.9, \"2606:4700:4700::1111\", \"2620:fe::fe\"]"},
		"all of session management": {`dns: [1.1.1.1]`, `staticPools: [10.47.0.0/16]
    alwaysOn: Requested
    policy: PCF
    charging: Online
    flows:
    - {name: voice, fiveQI: 1, precedence: 1, gbr: {uplink: 64 Kbps, downlink: 64 Kbps}, mbr: {uplink: 1 Mbps, downlink: 1 Mbps}, given: ToSubscribers,
       filters: [{direction: Downlink, remote: 192.0.2.0/24, protocol: UDP, remotePorts: 5060-5061, localPorts: 80}, {protocol: 50}]}
    - {name: own, fiveQI: 200, precedence: 254, filters: [{}]}
    breakouts: [{name: edge, prefixes: [203.0.113.0/24], upfInstance: edge, tacs: ["000002"]}]
    upfs: [{name: edge, uePools: [10.46.0.0/16], tacs: ["00000a"], fallback: None}, {name: other, uePools: [10.47.0.0/16], fallback: Any}]`},
		"Ethernet": {"uePools: [10.45.0.0/16]\n    dns: [1.1.1.1]", `sessionTypes: [Ethernet]
    networkInstance: factory
    mtu: 1500
    upfs: [{name: edge, tacs: ["00000a"]}]
    flows: [{name: goose, fiveQI: 69, precedence: 1, filters: [
      {ethernet: {remoteMAC: "01:0c:cd:01:00:01", localMAC: "02:00:00:00:00:01", vlan: 7, serviceVLAN: 4094, etherType: "0x88b8"}}, {remote: 192.0.2.0/24, ethernet: {etherType: "0x0800"}}]}]`},
		"no sd":         {`sst: 1, sd: "010203"`, `sst: 1`},
		"sd of letters": {`sd: "010203"`, `sd: abcdeF`},
	} {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(validSlice, row.replace, row.with, 1)
			if changed == validSlice {
				t.Fatalf("nothing replaced: %q is not in the manifest", row.replace)
			}
			if got := kind.errors(t, changed, ""); got != "" {
				t.Errorf("refused: %s", got)
			}
		})
	}
}

// A pool in a data network of Ethernet is one mistake, and one sentence says which.
func TestAPoolOfEthernetIsRefusedOnce(t *testing.T) {
	const refused = `spec.dataNetworks[0]: Invalid value: "object": the core gives UEs no IP addresses in a data network of Ethernet: leave uePools, staticPools, dns, pcscf, breakouts and poolRouting out, also of upfs`
	got := loadKind(t, "core5g.dev_slices.yaml").errors(t, `
apiVersion: core5g.dev/v1beta1
kind: Slice
metadata: {name: plant}
spec:
  snssai: {sst: 1, sd: "445566"}
  upfSelector: {name: plant}
  dataNetworks: [{dnn: lan, sessionTypes: [Ethernet], uePools: [10.45.0.0/16]}]
`, "")
	if got != refused {
		t.Errorf("answer %q, want %q", got, refused)
	}
}

// The catalogue that has most to be looked at stays within what the API server spends on rules.
func TestSchemaTakesAFullCatalogue(t *testing.T) {
	var catalogue, tacs, plmns []string
	for i := range 64 {
		catalogue = append(catalogue, fmt.Sprintf(`{sst: 1, sd: "fffff%x"}, {sst: %d, sd: "ffff%02x"}`, i%15, i+2, i))
		tacs = append(tacs, fmt.Sprintf(`"ffff%02x"`, i))
	}
	for i := range 12 {
		plmns = append(plmns, fmt.Sprintf(`{mcc: "999", mnc: "9%02d"}`, i))
	}
	core := strings.NewReplacer(
		`[{sst: 1, sd: "010203"}, {sst: 1, sd: "112233"}]`, "["+strings.Join(catalogue[:32], ", ")+"]",
		`["000001"]`, "["+strings.Join(tacs, ", ")+"]",
		`[{mcc: "208", mnc: "93"}]`, "["+strings.Join(plmns, ", ")+"]").Replace(validCore)
	if got := loadKind(t, "core5g.dev_core5gs.yaml").errors(t, core, ""); got != "" {
		t.Errorf("refused: %s", got)
	}
}

func TestSchemaTakesAnAMFOfItsOwn(t *testing.T) {
	amf := `amf: {workers: 2, terminators: 2, shards: 32, capacity: 0, integrity: [NIA3, NIA1], ciphering: [NEA1, NEA0], periodicRegistration: 10m, backoff: 1m,
    imsVoice: true, networkName: {full: Network of the North, short: North, timeZone: "-03:30"},
    emergency: {snssai: {sst: 1, sd: "010203"}, dnn: sos, unauthenticated: true}}
  tacs:`
	if got := loadKind(t, "core5g.dev_core5gs.yaml").errors(t, strings.Replace(validCore, "tacs:", amf, 1), ""); got != "" {
		t.Errorf("refused: %s", got)
	}
}

// Shards are in identifiers that UEs and gNBs have: they stay while core5g's own AMF serves, and are free between.
func TestShardsOfAnAMFThatServesStay(t *testing.T) {
	kind := loadKind(t, "core5g.dev_core5gs.yaml")
	with := func(fields string) string { return strings.Replace(validCore, "tacs:", fields+"\n  tacs:", 1) }
	for name, c := range map[string]struct {
		before, after string
		want          string
	}{
		"others":                   {"amf: {shards: 8}", "amf: {shards: 9}", "amf.shards cannot change while core5g's own AMF serves"},
		"others than the default":  {"amf: {}", "amf: {shards: 8}", "amf.shards cannot change"},
		"left out":                 {"amf: {shards: 8}", "amf: {}", "(16 unless set)"},
		"the default, written":     {"controlPlane: Core5G", "amf: {workers: 3, terminators: 2, shards: 16}", ""},
		"with the first AMF":       {"controlPlane: Free5GC", "controlPlane: Core5G\n  amf: {shards: 8}", ""},
		"with the AMF that leaves": {"amf: {shards: 8}", "controlPlane: Free5GC", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := kind.errors(t, with(c.after), with(c.before)); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// A Service's class of load balancer stays while it is one.
func TestLoadBalancerClassStays(t *testing.T) {
	kind := loadKind(t, "core5g.dev_core5gs.yaml")
	with := func(n2 string) string { return strings.Replace(validCore, "tacs:", "n2: {"+n2+"}\n  tacs:", 1) }
	const refused = "n2.loadBalancerClass cannot change while n2.serviceType is LoadBalancer"
	for name, c := range map[string]struct{ before, after, want string }{
		"another":                  {"serviceType: LoadBalancer, loadBalancerClass: a/b", "serviceType: LoadBalancer, loadBalancerClass: a/c", refused},
		"one more":                 {"serviceType: LoadBalancer", "serviceType: LoadBalancer, loadBalancerClass: a/c", refused},
		"none":                     {"serviceType: LoadBalancer, loadBalancerClass: a/b", "serviceType: LoadBalancer", refused},
		"the same":                 {"serviceType: LoadBalancer, loadBalancerClass: a/b", "serviceType: LoadBalancer, loadBalancerClass: a/b, externalTrafficPolicy: Local", ""},
		"with the type":            {"serviceType: NodePort", "serviceType: LoadBalancer, loadBalancerClass: a/b", ""},
		"without the type":         {"serviceType: LoadBalancer, loadBalancerClass: a/b", "serviceType: ClusterIP", ""},
		"of what balances no load": {"port: 38412", "serviceType: NodePort, loadBalancerClass: a/b", "n2.loadBalancerClass needs n2.serviceType LoadBalancer"},
		"a policy of ClusterIP":    {"port: 38412", "externalTrafficPolicy: Local", "n2.externalTrafficPolicy needs n2.serviceType NodePort or LoadBalancer"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := kind.errors(t, with(c.after), with(c.before)); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// So does that of the SMF's Services for UPFs elsewhere.
func TestLoadBalancerClassOfN4Stays(t *testing.T) {
	kind := loadKind(t, "core5g.dev_core5gs.yaml")
	with := func(n4 string) string {
		return strings.Replace(validCore, "tacs:", "sessionManagement: {n4: {"+n4+"}}\n  tacs:", 1)
	}
	const refused = "sessionManagement.n4.loadBalancerClass cannot change while serviceType is LoadBalancer"
	for name, c := range map[string]struct{ before, after, want string }{
		"another":                  {"serviceType: LoadBalancer, loadBalancerClass: a/b", "serviceType: LoadBalancer, loadBalancerClass: a/c", refused},
		"one more":                 {"serviceType: LoadBalancer", "serviceType: LoadBalancer, loadBalancerClass: a/c", refused},
		"the same":                 {"serviceType: LoadBalancer, loadBalancerClass: a/b", "serviceType: LoadBalancer, loadBalancerClass: a/b, annotations: {a: b}", ""},
		"with the type":            {"", "serviceType: LoadBalancer, loadBalancerClass: a/b", ""},
		"without the type":         {"serviceType: LoadBalancer, loadBalancerClass: a/b", "serviceType: ClusterIP", ""},
		"of what balances no load": {"", "loadBalancerClass: a/b", "write serviceType: LoadBalancer, or leave them out"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := kind.errors(t, with(c.after), with(c.before)); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestWhereFunctionsRun(t *testing.T) {
	kind := loadKind(t, "core5g.dev_core5gs.yaml")
	for function, want := range map[string]string{"pcf": "", "upf-u": "write nodeSelector, tolerations and priorityClassName there", "upf-c": "write nodeSelector, tolerations and priorityClassName there"} {
		for _, field := range []string{
			"nodeSelector: {pool: a}", "tolerations: [{key: a, operator: Exists}]", "priorityClassName: high",
			"affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {}}]}}",
			"topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}]",
		} {
			manifest := strings.Replace(validCore, "tacs:", "functions: [{name: "+function+", "+field+"}]\n  tacs:", 1)
			if got := kind.errors(t, manifest, ""); (got == "") != (want == "") || !strings.Contains(got, want) {
				t.Errorf("%s of %s: got %q, want %q", field, function, got, want)
			}
		}
	}
}

func TestSchemaTakesPlacement(t *testing.T) {
	kind := loadKind(t, "core5g.dev_upfinstances.yaml")
	placed := strings.Replace(validUPF, "spec:", `spec:
  units: 2
  maxUnits: 4
  placement: {policy: PerSocket}
  drain: {}
  updateStrategy: {}`, 1)
	placed = strings.Replace(placed, "type: Bridge, bridge: c5g-n3", `type: HostDevice, resourceName: "core5g.dev/n3_socket{cell}"`, 1)
	placed = strings.Replace(placed, "gateway: 172.30.6.1", "gateway: 172.30.6.1\n    unitAddresses: 172.30.6.16/28", 1)
	if got := kind.errors(t, placed, ""); got != "" {
		t.Errorf("refused: %s", got)
	}
	spec := kind.parse(t, placed)["spec"].(map[string]any)
	if want := map[string]any{"policy": "PerSocket", "enforcement": "Required", "allowRemoteNIC": "Deny", "spread": "Nodes"}; !reflect.DeepEqual(spec["placement"], want) {
		t.Errorf("placement defaults to %v, want %v", spec["placement"], want)
	}
	// What was written before there were placements means what it meant.
	if spec := kind.parse(t, validUPF)["spec"].(map[string]any); spec["placement"] != nil || spec["drain"] != nil || spec["updateStrategy"] != nil {
		t.Errorf("a specification without placement was given one: %v", spec)
	}
}

func TestSchemaTakesNetworkInstances(t *testing.T) {
	kind := loadKind(t, "core5g.dev_upfinstances.yaml")
	var list strings.Builder
	for i := range 15 {
		fmt.Fprintf(&list, "\n  - {name: n%d, vlan: %d, addresses: [10.7.0.2/24, \"fd00:7::2/64\"], gateways: [10.7.0.1, \"fe80::1\"], unitAddresses: [10.7.0.16/28, \"fd00:7::10/124\"],\n     routes: [{destination: 10.99.0.0/16, via: 10.7.0.9}], mtu: 1400}", i, i+1)
	}
	full := strings.Replace(validUPF, "spec:", "spec:\n  networkInstances:"+list.String(), 1)
	if got := kind.errors(t, full, full); got != "" {
		t.Errorf("refused: %s", got)
	}
	own := strings.Replace(validUPF, "spec:", "spec:\n  networkInstances: [{name: ims, attachment: {bridge: c5g-ims}, addresses: [172.30.6.2/24]}]", 1)
	if got := kind.errors(t, own, ""); got != "" {
		t.Errorf("an interface of its own is refused: %s", got)
	}
	// What was written before there were network instances means what it meant.
	if spec := kind.parse(t, validUPF)["spec"].(map[string]any); spec["networkInstances"] != nil {
		t.Errorf("a specification without network instances was given some: %v", spec)
	}
}

func TestSchemaTakesNAT44(t *testing.T) {
	kind := loadKind(t, "core5g.dev_upfinstances.yaml")
	nat := strings.Replace(validUPF, "gateway: 172.30.6.1", "gateway: 172.30.6.1\n    nat44: {addresses: [203.0.113.0/28, 198.51.100.7/32]}", 1)
	var list strings.Builder
	for i := range 15 {
		var blocks []string
		for j := range 8 {
			blocks = append(blocks, fmt.Sprintf("192.%d.%d.0/24", i+1, j))
		}
		fmt.Fprintf(&list, "\n  - {name: n%d, vlan: %d, addresses: [10.7.0.2/24], nat44: {addresses: [%s], portsPerUE: 64, timeouts: {udp: 2m}}}", i, i+1, strings.Join(blocks, ", "))
	}
	full := strings.Replace(nat, "spec:", "spec:\n  networkInstances:"+list.String(), 1)
	if got := kind.errors(t, full, full); got != "" {
		t.Errorf("refused: %s", got)
	}
	spec := kind.parse(t, nat)["spec"].(map[string]any)
	want := map[string]any{
		"addresses": []any{"203.0.113.0/28", "198.51.100.7/32"}, "portsPerUE": int64(1024), "mappings": int64(262144),
		"timeouts": map[string]any{"tcpEstablished": "2h4m", "tcpTransitory": "4m", "udp": "5m", "icmp": "1m"},
	}
	if got := spec["n6"].(map[string]any)["nat44"]; !reflect.DeepEqual(got, want) {
		t.Errorf("NAT44 defaults to %v, want %v", got, want)
	}
	if n6 := kind.parse(t, validUPF)["spec"].(map[string]any)["n6"].(map[string]any); n6["nat44"] != nil {
		t.Errorf("a specification without NAT44 was given one: %v", n6)
	}
}

func TestSchemaTakesSwitchWithRedundancy(t *testing.T) {
	kind := loadKind(t, "core5g.dev_upfinstances.yaml")
	with := func(lines string) string { return strings.Replace(validUPF, "spec:", "spec:\n"+lines, 1) }
	for lines, want := range map[string]string{
		"  updateStrategy: {type: Switch}":                              "needs redundancy",
		"  updateStrategy: {type: Switch}\n  redundancy: {standbys: 0}": "needs redundancy",
		"  updateStrategy: {type: Switch}\n  redundancy: {standbys: 1}": "",
		"  redundancy: {standbys: 1}":                                   "",
	} {
		if got := kind.errors(t, with(lines), ""); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", lines, got, want)
		}
	}
}

func TestSchemaTakesADataplaneNode(t *testing.T) {
	kind := loadKind(t, "core5g.dev_dataplanenodes.yaml")
	const node = `
apiVersion: core5g.dev/v1alpha1
kind: DataplaneNode
metadata: {name: w1}
status:
  observedAt: "2026-01-01T00:00:00Z"
  kubelet: {cpuManagerPolicy: static, cpuManagerOptions: {full-pcpus-only: "true"}, topologyManagerPolicy: single-numa-node,
    topologyManagerScope: pod, memoryManagerPolicy: Static}
  iommu: Enabled
  vfio: Loaded
  isolatedCPUs: 2-3
  cells:
  - id: 0
    cpus: 0-1
    threadsPerCore: 1
    exclusiveCPUs: {total: 2, free: 1}
    hugepages: [{size: 2Mi, total: 192Mi, free: 64Mi}]
    interfaces:
    - {name: ens1f0, pciAddress: "0000:3b:00.0", driver: igb, link: Up, speedMbps: 1000,
       vfs: {total: 7, free: 6, driver: vfio-pci}, resourceName: core5g.dev/n3_socket0}
`
	if got := kind.errors(t, node, ""); got != "" {
		t.Errorf("a node agent's report is refused: %s", got)
	}
	if got := kind.errors(t, strings.Replace(node, "iommu: Enabled", "iommu: Maybe", 1), ""); !strings.Contains(got, "iommu") {
		t.Errorf("an unknown state is taken: %q", got)
	}
}
