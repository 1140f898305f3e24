package subscribers

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"core5g.dev/core5g/images/subscriber-data/postgresql"
	"core5g.dev/core5g/images/subscriberdatabase"
	"core5g.dev/core5g/images/subscriberdatabase/postgresqltest"
	"core5g.dev/core5g/operators/api/v1alpha1"
)

const (
	k   = "8baf473f2f8fd09487cccbd7097c6862"
	opc = "8e27b6af0e692e750f32667a3b14605d"
)

func TestMain(m *testing.M) { postgresqltest.Main(m) }

// site is a database and who works on it.
type site struct {
	t       *testing.T
	files   map[string][]byte
	objects client.Reader // of Kubernetes; nil: it is away
}

func open(t *testing.T) *site {
	t.Helper()
	return &site{t: t, objects: cluster(t), files: map[string][]byte{subscriberdatabase.FileURI: []byte(postgresqltest.Database(t) + "?connect_timeout=60"), "1": bytes.Repeat([]byte{1}, 32)}}
}

// cluster has a core with two Slices, and more.
func cluster(t *testing.T, more ...client.Object) client.Reader {
	t.Helper()
	objects := append([]client.Object{&v1alpha1.Core5G{
		ObjectMeta: metav1.ObjectMeta{Namespace: "core5g", Name: "core5g"}, Spec: v1alpha1.Core5GSpec{PLMNs: []v1alpha1.PLMN{{MCC: "208", MNC: "93"}, {MCC: "001", MNC: "01"}}},
	}}, more...)
	for _, name := range []string{"internet", "ims"} {
		objects = append(objects, &v1alpha1.Slice{ObjectMeta: metav1.ObjectMeta{Namespace: "core5g", Name: name}, Spec: v1alpha1.SliceSpec{DataNetworks: []v1alpha1.DataNetwork{{DNN: "internet"}}}})
	}
	return fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(objects...).Build()
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	return s
}

// run an action; what it says is on one screen, its error last.
func (s *site) run(in string, args ...string) string {
	s.t.Helper()
	var screen bytes.Buffer
	c := &Command{In: strings.NewReader(in), Out: &screen, Err: &screen, Now: func() time.Time { return time.Time{} }, Open: func() (*postgresql.Database, error) {
		return postgresql.Open(func() (*subscriberdatabase.Access, error) { return subscriberdatabase.Parse(s.files) })
	}, Cluster: func() (client.Reader, types.NamespacedName, error) {
		if s.objects == nil {
			return nil, types.NamespacedName{}, errors.New("nobody answers")
		}
		return s.objects, types.NamespacedName{Namespace: "core5g", Name: "core5g"}, nil
	}}
	if err := c.Run(s.t.Context(), args); err != nil {
		fmt.Fprintln(&screen, "error:", err)
	}
	if text := screen.String(); strings.Contains(text, k[1:]) && !strings.Contains(strings.Join(args, " "), "-keys") {
		s.t.Errorf("%q shows a key: %s", args, text)
	}
	return screen.String()
}

func (s *site) want(want, in string, args ...string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.run(in, args...)); diff != "" {
		s.t.Errorf("%q -want +got:\n%s", args, diff)
	}
}

func TestWhatIsImportedIsExported(t *testing.T) {
	s := open(t)
	const full = `supi,k,opc,amf,gpsi,barred,slices,uplink,downlink
imsi-208930000000001,8baf473f2f8fd09487cccbd7097c6862,8e27b6af0e692e750f32667a3b14605d,8000,msisdn-33612345678,false,internet,1 Gbps,2 Gbps
imsi-208930000000002,8baf473f2f8fd09487cccbd7097c6862,8e27b6af0e692e750f32667a3b14605d,9001,,true,internet ims,100 Mbps,200 Mbps
imsi-208930000000003,8baf473f2f8fd09487cccbd7097c6862,8e27b6af0e692e750f32667a3b14605d,8000,,false,"[{""name"":""internet"",""dnns"":[""internet""],""addresses"":[{""dnn"":""internet"",""ipv4"":""10.47.0.9""}]}]",1 Gbps,2 Gbps
`
	s.want("3 read: 3 new, 0 changed, 0 as they were, 0 left out, 0 s\n", full, "import")
	s.want("3 read: 0 new, 0 changed, 3 as they were, 0 left out, 0 s\n", full, "import")
	s.want(full, "", "export", "-keys")
	manifests := s.run("", "export", "-format", "yaml", "-keys")
	s.want("3 deleted, 1 were not there\n", "", "delete", "208930000000001", "208930000000002", "imsi-208930000000003", "208930000000004")
	s.want("supi,amf,gpsi,barred,slices,uplink,downlink\n", "", "export")
	s.want("3 read: 3 new, 0 changed, 0 as they were, 0 left out, 0 s\n", manifests, "import")
	s.want(full, "", "export", "-keys")
	// Without keys these stay as they are.
	s.want("2 read: 0 new, 1 changed, 1 as they were, 0 left out, 0 s\n",
		"supi,gpsi,barred,slices\n208930000000001,msisdn-33612345678,true,internet\n208930000000003,,,\"[{\"\"name\"\":\"\"internet\"\",\"\"dnns\"\":[\"\"internet\"\"],\"\"addresses\"\":[{\"\"dnn\"\":\"\"internet\"\",\"\"ipv4\"\":\"\"10.47.0.9\"\"}]}]\"\n", "import")
}

func TestBadLinesAreNamedAndLeftOut(t *testing.T) {
	s := open(t)
	good := func(n int) string { return fmt.Sprintf("20893%010d,%s,%s,internet", n, k, opc) }
	lines := []string{
		"supi,k,opc,slices", good(1), "x," + k + "," + opc + ",internet", good(1), good(2) + ",more", "208930000000003," + k[1:] + "," + opc + ",internet",
		"208930000000004," + k + ",,internet", "208930000000005,,,internet", `208930000000006,"` + k + `"x,` + opc + `,internet`, "208930000000007," + k + "," + opc + ",", good(8),
	}
	s.want(`line 3: x: "x" is no SUPI: write imsi- and 5 to 15 digits, for example imsi-208930000000001: left out
line 4: imsi-208930000000001: the SUPI stands in line 2 already: keep one of them: left out
line 5: it has 5 fields, and the first line names 4 columns: left out
line 9: it is no CSV: a quote stands alone, or within a field that has none around it: left out
line 10: imsi-208930000000007: 0 slices: write 1 to 8: left out
line 6: imsi-208930000000003: k has 31 characters: write 32 hexadecimal digits: left out
line 7: imsi-208930000000004: neither opc nor op is set: left out
line 8: imsi-208930000000005: it has no keys, and is not in the database yet: give k and opc, or op: left out
10 read: 2 new, 0 changed, 0 as they were, 8 left out, 0 s
error: some were left out: mend them and import again, what is there already stays
`, strings.Join(lines, "\n"), "import")
	s.want("supi,amf,gpsi,barred,slices,uplink,downlink\nimsi-208930000000008,8000,,false,internet,1 Gbps,2 Gbps\nerror: not in the database: imsi-208930000000002\n",
		"", "get", "208930000000008", "208930000000002")
}

func TestManifestsMayComeInAnyOrderAndAsALIst(t *testing.T) {
	s := open(t)
	s.want(`document 1: the Secret cannot be read: left out
document 4: kind "Slice": write Subscribers and Secrets: left out
document 5: imsi-208930000000009: it has no keys, and is not in the database yet: give k and opc, or op: left out
5 read: 2 new, 0 changed, 0 as they were, 3 left out, 0 s
error: some were left out: mend them and import again, what is there already stays
`, `apiVersion: v1
kind: Secret
metadata: [x]
---
apiVersion: v1
kind: List
items:
- {apiVersion: core5g.dev/v1alpha1, kind: Subscriber, metadata: {name: a}, spec: {supi: imsi-208930000000001, authentication: {secretRef: {name: one}}, slices: [{name: internet}]}}
- {apiVersion: v1, kind: Secret, metadata: {name: other}, data: {tls.crt: eA==}}
- {apiVersion: v1, kind: Secret, metadata: {name: two}, stringData: {k: 8baf473f2f8fd09487cccbd7097c6862, op: 8e27b6af0e692e750f32667a3b14605d}}
---
apiVersion: core5g.dev/v1alpha1
kind: Subscriber
metadata: {name: b}
spec: {supi: imsi-208930000000002, authentication: {secretRef: {name: two}}, slices: [{name: internet}]}
---
apiVersion: core5g.dev/v1alpha1
kind: Slice
---
apiVersion: core5g.dev/v1alpha1
kind: Subscriber
metadata: {name: c}
spec: {supi: imsi-208930000000009, authentication: {secretRef: {name: nine}}, slices: [{name: internet}]}
---
apiVersion: v1
kind: Secret
metadata: {name: one}
stringData: {k: 8baf473f2f8fd09487cccbd7097c6862, opc: 8e27b6af0e692e750f32667a3b14605d}
`, "import")
}

func TestOneIsSet(t *testing.T) {
	s := open(t)
	const keys = "k=8baf473f2f8fd09487cccbd7097c6862\nopc=8e27b6af0e692e750f32667a3b14605d\n"
	s.want("error: imsi-208930000000001 is not in the database: to make it, write -slices and -keys\n", "", "set", "-barred", "208930000000001")
	s.want("imsi-208930000000001 made\n", keys, "set", "-keys", "-slices", "internet ims", "208930000000001")
	s.want("imsi-208930000000001 changed\n", "", "set", "-barred", "-gpsi", "msisdn-12345", "-uplink", "5 Mbps", "208930000000001")
	s.want("imsi-208930000000001 is so already\n", "", "set", "-barred=true", "208930000000001")
	s.want("supi,amf,gpsi,barred,slices,uplink,downlink\nimsi-208930000000001,8000,msisdn-12345,true,internet ims,5 Mbps,2 Gbps\n", "", "get", "208930000000001")
	s.want("error: ambr.uplink \"5\": write a whole number from 1 to 32767, a space and one of Kbps, Mbps, Gbps, Tbps, for example 100 Mbps\n", "", "set", "-uplink", "5", "208930000000001")
	if said := s.run(k, "set", "-keys", "208930000000001"); !strings.Contains(said, "none of k=, opc= and op= in front") || strings.Contains(said, k) {
		t.Errorf("a key without a name: %s", said)
	}
}

func TestKeysAreResealed(t *testing.T) {
	s := open(t)
	s.run("supi,k,opc,slices\n208930000000001,"+k+","+opc+",internet\n", "import")
	s.files["2"] = bytes.Repeat([]byte{2}, 32)
	s.want("1 resealed\n1 resealed: all keys of the database are sealed with the newest key\n", "", "reseal")
	delete(s.files, "1")
	if said := s.run("", "get", "-keys", "208930000000001"); !strings.Contains(said, k) {
		t.Errorf("with the new key alone: %s", said)
	}
	s.files = map[string][]byte{subscriberdatabase.FileURI: s.files[subscriberdatabase.FileURI], "1": bytes.Repeat([]byte{1}, 32)}
	if said := s.run("", "export"); !strings.Contains(said, "are not those that it was sealed with") {
		t.Errorf("with the old key alone: %s", said)
	}
}

func TestWhatCannotBeUnderstood(t *testing.T) {
	s := &site{t: t}
	for line, want := range map[string]string{
		"":                 "which action?",
		"list":             `there is no action "list"`,
		"export -barred":   "export has no flag -barred",
		"get":              "0 arguments: write 1 to 1000 SUPIs",
		"get x":            `"x" is no SUPI`,
		"set 12345 12346":  "2 arguments: write one SUPI",
		"export -format x": `-format "x": write csv or yaml`,
		"delete imsi-1":    `"imsi-1" is no SUPI`,
		"import -nonsense": "-nonsense",
	} {
		if said := s.run("", strings.Fields(line)...); !strings.Contains(said, want) {
			t.Errorf("%q: %s, want %q", line, said, want)
		}
	}
	if said := s.run("", "schema"); !strings.Contains(said, "CREATE TABLE core5g.subscribers") {
		t.Errorf("schema: %s", said)
	}
}

func FuzzInput(f *testing.F) {
	f.Add("supi,k,opc,slices\n208930000000001,8baf,8e27,internet\n")
	f.Add("supi,slices\n\"2089\"x,[{}]\n")
	f.Add("kind: Subscriber\nspec: {supi: imsi-20893, authentication: {secretRef: {name: a}}}\n---\nkind: Secret\nmetadata: {name: a}\nstringData: {k: x}\n")
	f.Add("kind: List\nitems: [{kind: Secret}, 7]\n")
	f.Fuzz(func(t *testing.T, text string) {
		in, err := newReader(strings.NewReader(text))
		if err != nil {
			return
		}
		for n := 0; ; n++ {
			e, err := in.next()
			if err != nil {
				return
			}
			if e.problem == nil && postgresql.CheckSpec(&e.spec) == nil && e.place < 1 {
				t.Errorf("an entry without a place: %+v", e)
			}
			if n > len(text) {
				t.Fatal(errors.New("more entries than octets"))
			}
		}
	})
}

// addressed is a subscription of internet with addresses and networks behind the UE, as JSON in CSV.
func addressed(ipv4, ipv6, network string) string {
	var members []string
	var address []string
	if ipv4 != "" {
		address = append(address, `"ipv4":"`+ipv4+`"`)
	}
	if ipv6 != "" {
		address = append(address, `"ipv6Prefix":"`+ipv6+`"`)
	}
	if len(address) > 0 {
		members = append(members, `"addresses":[{"dnn":"internet",`+strings.Join(address, ",")+`}]`)
	}
	if network != "" {
		members = append(members, `"framedRoutes":[{"dnn":"Internet","prefixes":["`+network+`"]}]`)
	}
	return `[{"name":"internet",` + strings.Join(members, ",") + `}]`
}

// What only one subscriber may have is compared among lines, with the rows that there are, and with the core's Subscriber objects.
func TestWhatOnlyOneMayHave(t *testing.T) {
	s := open(t)
	line := func(n int, gpsi, slices string) string {
		return fmt.Sprintf(`20893%010d,%s,%s,%s,"%s"`, n, k, opc, gpsi, strings.ReplaceAll(slices, `"`, `""`))
	}
	object := func(name, core string, n int, gpsi string, slice v1alpha1.SubscribedSlice) *v1alpha1.Subscriber {
		slice.Name = "internet"
		return &v1alpha1.Subscriber{
			ObjectMeta: metav1.ObjectMeta{Namespace: "core5g", Name: name},
			Spec: v1alpha1.SubscriberSpec{
				CoreRef: v1alpha1.CoreReference{Name: core}, SUPI: fmt.Sprintf("imsi-20893%010d", n), GPSI: gpsi, Slices: []v1alpha1.SubscribedSlice{slice},
			},
		}
	}
	const head = "supi,k,opc,gpsi,slices\n"
	s.want("3 read: 3 new, 0 changed, 0 as they were, 0 left out, 0 s\n", head+strings.Join([]string{
		line(1, "msisdn-10001", addressed("10.47.0.1", "2001:db8:47:1::/64", "")), line(2, "", addressed("", "", "192.168.2.0/24")), line(3, "", "internet"),
	}, "\n"), "import")
	s.objects = cluster(t,
		object("ue-3", "", 3, "msisdn-10003", v1alpha1.SubscribedSlice{Addresses: []v1alpha1.StaticAddress{{DNN: "internet", IPv4: "10.47.0.3"}}}),
		object("ue-4", "core5g", 4, "", v1alpha1.SubscribedSlice{FramedRoutes: []v1alpha1.FramedRoutes{{DNN: "internet", Prefixes: []v1alpha1.FramedRoute{"192.168.4.0/24"}}}}),
		object("other", "other", 5, "msisdn-10005", v1alpha1.SubscribedSlice{Addresses: []v1alpha1.StaticAddress{{DNN: "internet", IPv4: "10.47.0.5"}}}),
	)
	s.want(`line 2: imsi-208930000000011: address 10.47.0.1 belongs to imsi-208930000000001 already: write another one, or take it from that one first: left out
line 3: imsi-208930000000012: address 2001:db8:47:1::/64 belongs to imsi-208930000000001 already: write another one, or take it from that one first: left out
line 4: imsi-208930000000013: address 192.168.2.9 lies in network 192.168.2.0/24, which is behind the UE of imsi-208930000000002: write another one: left out
line 5: imsi-208930000000014: network 192.168.2.128/25 overlaps network 192.168.2.0/24 behind the UE of imsi-208930000000002: write another one: left out
line 6: imsi-208930000000015: network 192.168.0.0/21 overlaps network 192.168.2.0/24 behind the UE of imsi-208930000000002: write another one: left out
line 7: imsi-208930000000016: network 10.47.0.0/30 has the address 10.47.0.1 of imsi-208930000000001: write another one: left out
line 8: imsi-208930000000017: GPSI msisdn-10003 is that of Subscriber ue-3 (imsi-208930000000003): write another, or leave it out: left out
line 9: imsi-208930000000018: address 10.47.0.3 belongs to Subscriber ue-3 (imsi-208930000000003) already: write another one, or take it from that one first: left out
line 10: imsi-208930000000019: address 192.168.4.1 lies in network 192.168.4.0/24, which is behind the UE of Subscriber ue-4 (imsi-208930000000004): write another one: left out
line 12: imsi-208930000000021: address 10.47.0.20 belongs to imsi-208930000000020 already: write another one, or take it from that one first: left out
as long as they are there, these Subscriber objects count, and not the rows of their SUPIs: ue-3
14 read: 2 new, 1 changed, 1 as they were, 10 left out, 0 s
error: some were left out: mend them and import again, what is there already stays
`, head+strings.Join([]string{
		line(11, "", addressed("10.47.0.1", "", "")), line(12, "", addressed("", "2001:db8:47:1::/64", "")), line(13, "", addressed("192.168.2.9", "", "")),
		line(14, "", addressed("", "", "192.168.2.128/25")), line(15, "", addressed("", "", "192.168.0.0/21")), line(16, "", addressed("", "", "10.47.0.0/30")),
		line(17, "msisdn-10003", "internet"), line(18, "", addressed("10.47.0.3", "", "")), line(19, "", addressed("192.168.4.1", "", "")),
		line(20, "msisdn-10005", addressed("10.47.0.20", "", "")), line(21, "", addressed("10.47.0.20", "", "")),
		line(3, "msisdn-10003", addressed("10.47.0.3", "", "192.168.30.0/24")), // as its object says
		line(22, "", addressed("10.47.0.5", "", "")),                           // another core's
		line(1, "msisdn-10001", addressed("10.47.0.1", "2001:db8:47:1::/64", "")),
	}, "\n"), "import")
	// Who has given an address up has it no more, in one import.
	s.want("2 read: 1 new, 1 changed, 0 as they were, 0 left out, 0 s\n", head+line(1, "", "internet")+"\n"+line(11, "", addressed("10.47.0.1", "", "")), "import")
	s.want("error: address 10.47.0.3 belongs to Subscriber ue-3 (imsi-208930000000003) already: write another one, or take it from that one first\n",
		"", "set", "-slices", addressed("10.47.0.3", "", ""), "208930000000002")
	s.want("imsi-208930000000002 changed\n", "", "set", "-barred=true", "208930000000002")
	s.want("as long as they are there, these Subscriber objects count, and not the rows of their SUPIs: ue-3\nimsi-208930000000003 changed\n", "", "set", "-barred=true", "208930000000003")
	s.objects = nil
	s.want("the core's objects cannot be read, and are not compared with: nobody answers\n1 read: 1 new, 0 changed, 0 as they were, 0 left out, 0 s\n",
		head+line(40, "", addressed("192.168.4.1", "", "")), "import")
}

// Rows are judged by the core and its Slices as Subscriber objects are: what can never be served is left out, and what may come is said.
func TestRowsAreOfThisNetwork(t *testing.T) {
	s := open(t)
	const keys = "k=" + k + "\nopc=" + opc + "\n"
	line := func(supi, slices string) string { return supi + "," + k + "," + opc + "," + slices }
	s.want(`line 3: imsi-208940000000002: SUPI imsi-208940000000002 begins with no PLMN of Core5G core5g (20893, 00101), so it is not a subscriber of this network: write a SUPI of one of them, or add its PLMN to spec.plmns of the Core5G first: left out
Slice robots does not exist: create it, or take it out of spec.slices (named by 2)
Slice internet has no data network ims: write one of its own (internet), or none for all of them (named by 1)
6 read: 5 new, 0 changed, 0 as they were, 1 left out, 0 s
error: some were left out: mend them and import again, what is there already stays
`, strings.Join([]string{
		"supi,k,opc,slices", line("208930000000001", "internet"), line("208940000000002", "internet"), line("001010000000003", "internet ims"), line("208930000000004", "robots"),
		line("208930000000005", "internet robots"), line("208930000000006", `"[{""name"":""internet"",""dnns"":[""ims""]}]"`),
	}, "\n"), "import")
	s.want("error: SUPI imsi-310410000000001 begins with no PLMN of Core5G core5g (20893, 00101), so it is not a subscriber of this network: write a SUPI of one of them, or add its PLMN to spec.plmns of the Core5G first\n",
		keys, "set", "-keys", "-slices", "internet", "310410000000001")
	s.want("Slice robots does not exist: create it, or take it out of spec.slices (named by 1)\nimsi-208930000000001 changed\n", "", "set", "-slices", "robots", "208930000000001")
	// A PLMN that the core has no more: its rows can be written as far as they are there.
	s.objects = fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(&v1alpha1.Core5G{
		ObjectMeta: metav1.ObjectMeta{Namespace: "core5g", Name: "core5g"}, Spec: v1alpha1.Core5GSpec{PLMNs: []v1alpha1.PLMN{{MCC: "208", MNC: "93"}}},
	}).Build()
	s.want("imsi-001010000000003 changed\n", "", "set", "-barred", "001010000000003")
}
