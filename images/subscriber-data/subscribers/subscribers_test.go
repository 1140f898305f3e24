package subscribers

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"core5g.dev/core5g/images/subscriber-data/postgresql"
	"core5g.dev/core5g/images/subscriberdatabase"
	"core5g.dev/core5g/images/subscriberdatabase/postgresqltest"
)

const (
	k   = "8baf473f2f8fd09487cccbd7097c6862"
	opc = "8e27b6af0e692e750f32667a3b14605d"
)

func TestMain(m *testing.M) { postgresqltest.Main(m) }

// site is a database and who works on it.
type site struct {
	t     *testing.T
	files map[string][]byte
}

func open(t *testing.T) *site {
	t.Helper()
	return &site{t, map[string][]byte{subscriberdatabase.FileURI: []byte(postgresqltest.Database(t) + "?connect_timeout=60"), "1": bytes.Repeat([]byte{1}, 32)}}
}

// run an action; what it says is on one screen, its error last.
func (s *site) run(in string, args ...string) string {
	s.t.Helper()
	var screen bytes.Buffer
	c := &Command{In: strings.NewReader(in), Out: &screen, Err: &screen, Now: func() time.Time { return time.Time{} }, Open: func() (*postgresql.Database, error) {
		return postgresql.Open(func() (*subscriberdatabase.Access, error) { return subscriberdatabase.Parse(s.files) })
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
	s := &site{t, nil}
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
