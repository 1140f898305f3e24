package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"core5g.dev/core5g/e2e/ran/gnb"
	"core5g.dev/core5g/e2e/ran/uenas"
	"core5g.dev/core5g/e2e/ran/usim"
)

const good = `
gnb:
  id: 1
  plmn: {mcc: "208", mnc: "93"}
  tac: "000001"
  slices: [{sst: 1, sd: "010203"}, {sst: 2}]
  amf: ["core5g-amf-n2:38412"]
  n3: {interface: n3, address: 172.30.3.100}
ues:
- supi: imsi-208930000000009
  count: 3
  k: 8baf473f2f8fd09487cccbd7097c6862
  opc: 8e27b6af0e692e750f32667a3b14605d
  sqn: "20"
  suci: {scheme: A, publicKey: 5a8d38864820197c3394b92613b20b91633cbd897119273bf8e4a6f4eec0a650, publicKeyID: 3, routingIndicator: "12"}
  autostart: true
  recover: false
  sessions:
  - {snssai: {sst: 1, sd: "010203"}, dnn: internet}
  - {id: 9, snssai: {sst: 2}, dnn: ims.example, qfi: 5}
`

func TestGoodFile(t *testing.T) {
	c, err := Parse("ran.yaml", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	if c.Control != "127.0.0.1:8082" || c.Device != "tun" || c.Health != ":8081" || c.N3Address.String() != "172.30.3.100" || c.GNB.Name != "core5g-gnb" {
		t.Errorf("defaults: %+v", c)
	}
	if want := []uenas.SNSSAI{{SST: 1, SD: [3]byte{1, 2, 3}, HasSD: true}, {SST: 2}}; !cmp.Equal(c.GNB.Slices, want) {
		t.Errorf("slices: %v", c.GNB.Slices)
	}
	if len(c.UEs) != 3 || c.UEs[0].SUPI != "imsi-208930000000009" || c.UEs[2].SUPI != "imsi-208930000000011" {
		t.Fatalf("UEs: %+v", c.UEs)
	}
	u := c.UEs[1]
	if u.SQN != 0x20 || u.HomeKey.Scheme != usim.ProfileA || u.HomeKey.ID != 3 || u.Routing != "12" || !u.Autostart || u.Recover {
		t.Errorf("UE: %+v", u)
	}
	if u.Sessions[0].PSI != 1 || u.Sessions[1].PSI != 9 || u.Sessions[1].QFI != 5 || u.Sessions[1].DNN != "ims.example" {
		t.Errorf("sessions: %+v", u.Sessions)
	}
}

func TestNeighboursTakeWhatTheyLeaveOut(t *testing.T) {
	c, err := Parse("ran.yaml", []byte(strings.Replace(good, "ues:\n", `
neighbours:
- {id: 2, tac: "000002", onLoss: retain, joins: true, n3: {address: 172.30.3.101}}
ues:
`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	cells := c.Cells()
	if len(cells) != 2 {
		t.Fatalf("%d gNBs", len(cells))
	}
	first, second := cells[0], cells[1]
	if g := second.GNB; g.Name != "core5g-gnb-2" || g.ID != 2 || g.TAC != [3]byte{0, 0, 2} || g.OnLoss != gnb.Retain || !g.Joins || first.GNB.Joins || g.MCC != "208" || second.N3Interface != "n3" ||
		!cmp.Equal(g.Slices, first.GNB.Slices) || !cmp.Equal(g.AMF, first.GNB.AMF) {
		t.Errorf("%+v", second)
	}
}

func TestOPAndOPcAgree(t *testing.T) {
	// TS 35.208 test set 1: OP and the OPc made of it.
	opc := strings.NewReplacer("8baf473f2f8fd09487cccbd7097c6862", "465b5ce8b199b49faa5f0a2ee238a6bc", "8e27b6af0e692e750f32667a3b14605d", "cd63cb71954a9f4e48a5994e37a02baf").Replace(good)
	a, err := Parse("a", []byte(opc))
	if err != nil {
		t.Fatal(err)
	}
	b, err := Parse("b", []byte(strings.Replace(opc, "opc: cd63cb71954a9f4e48a5994e37a02baf", "op: cdc202d5123e20f62b6d676ac72cb318", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if a.UEs[0].OPc != b.UEs[0].OPc {
		t.Error("OPc derived from OP differs from the OPc given")
	}
}

func TestBadFiles(t *testing.T) {
	tests := map[string]struct{ old, new, want string }{
		"an unknown key":                {"  tac:", "  tak: x\n  tac:", `unknown field "gnb.tak"`},
		"a gNB ID of more than 24 bits": {"id: 1\n", "id: 16777216\n", "ran.yaml: gnb.id: 16777216 is not a gNB ID; write 1 to 16777215"},
		"an MCC of two digits":          {`mcc: "208"`, `mcc: "20"`, `ran.yaml: gnb.plmn.mcc: "20" is not three digits; write a string such as "208"`},
		"a TAC of five digits":          {`tac: "000001"`, `tac: "00001"`, `ran.yaml: gnb.tac: "00001" is not six hexadecimal digits`},
		"no slices":                     {`slices: [{sst: 1, sd: "010203"}, {sst: 2}]`, "slices: []", "ran.yaml: gnb.slices: the list is empty; write"},
		"an SD that is no hexadecimal":  {`{sst: 1, sd: "010203"}, {sst: 2}`, `{sst: 1, sd: "xyz"}, {sst: 2}`, `ran.yaml: gnb.slices[0].sd: "xyz" is not six hexadecimal digits`},
		"an SST of 0":                   {`{sst: 2}]`, `{sst: 0}]`, "ran.yaml: gnb.slices[1].sst: 0 is not a slice/service type; write 1 to 255"},
		"an AMF without a port":         {`"core5g-amf-n2:38412"`, `"core5g-amf"`, `ran.yaml: gnb.amf[0]: "core5g-amf" is not host:port; write for example core5g-amf-n2:38412`},
		"an N3 address of IPv6":         {"172.30.3.100", "'::1'", `ran.yaml: gnb.n3.address: "::1" is not an IPv4 address`},
		"a device kind":                 {"ues:\n", "device: tap\nues:\n", `ran.yaml: device: "tap" is not one of tun, netns, none`},
		"a SUPI without its prefix":     {"supi: imsi-", "supi: msisdn-", `ran.yaml: ues[0].supi: "msisdn-208930000000009" is not a SUPI; write "imsi-"`},
		"a SUPI of another PLMN":        {"supi: imsi-20893", "supi: imsi-00101", "ran.yaml: ues[0].supi: imsi-001010000000009 is not of PLMN 208/93"},
		"a K of 30 digits":              {"k: 8baf473f2f8fd09487cccbd7097c6862", "k: 8baf473f2f8fd09487cccbd7097c68", "ran.yaml: ues[0].k: need 32 hexadecimal digits (16 octets), got 30 characters"},
		"OP beside OPc":                 {"  sqn:", "  op: 8e27b6af0e692e750f32667a3b14605d\n  sqn:", "ran.yaml: ues[0].op: OP and OPc are both given"},
		"an SQN that is no hexadecimal": {`sqn: "20"`, `sqn: "zz"`, `ran.yaml: ues[0].sqn: "zz" is not a sequence number`},
		"a scheme":                      {"scheme: A", "scheme: C", `ran.yaml: ues[0].suci.scheme: "C" is not one of "null" (in quotes), A, B`},
		"a public key of profile B":     {"scheme: A", "scheme: B", "ran.yaml: ues[0].suci.publicKey: home network public key for profile B:"},
		"a routing indicator":           {`routingIndicator: "12"`, `routingIndicator: "12345"`, `ran.yaml: ues[0].suci.routingIndicator: "12345" is not one to four digits`},
		"a session id of 16":            {"id: 9", "id: 16", "ran.yaml: ues[0].sessions[1].id: 16 is not a PDU session identity; write 1 to 15"},
		"a session id twice":            {"id: 9", "id: 1", "ran.yaml: ues[0].sessions[1].id: PDU session 1 is there twice"},
		"a DNN with a space":            {"dnn: internet", "dnn: inter net", `ran.yaml: ues[0].sessions[0].dnn: "inter net" is not a data network name`},
		"a QFI of 64":                   {"qfi: 5", "qfi: 64", "ran.yaml: ues[0].sessions[1].qfi: 64 is not a QoS flow identifier"},
		"a count that leaves the PLMN":  {"imsi-208930000000009", "imsi-208939999999999", "ran.yaml: ues[0].count: counting 3 UEs up from imsi-208939999999999 leaves the PLMN"},
		"a session type":                {"qfi: 5", "type: IPv5", `ran.yaml: ues[0].sessions[1].type: "IPv5" is not one of IPv4, IPv6, IPv4v6, Ethernet, Unstructured`},
		"filters that cannot be told":   {"qfi: 5", "maxFilters: 16", "ran.yaml: ues[0].sessions[1].maxFilters: 16 is not a number of packet filters that can be told; write 17 to 1024"},
		"a loss mode":                   {"  tac:", "  onLoss: cry\n  tac:", `ran.yaml: gnb.onLoss: "cry" is not one of keep, release, retain`},
		"a neighbour of the same ID":    {"ues:\n", "neighbours: [{id: 1, n3: {address: 172.30.3.101}}]\nues:\n", "ran.yaml: neighbours[0].id: 1 is the ID of core5g-gnb; give each gNB its own"},
		"a neighbour of the same name":  {"ues:\n", "neighbours: [{id: 2, name: core5g-gnb, n3: {address: 172.30.3.101}}]\nues:\n", `ran.yaml: neighbours[0].name: "core5g-gnb" is there twice`},
		"a neighbour at the same place": {"ues:\n", "neighbours: [{id: 2, n3: {address: 172.30.3.100}}]\nues:\n", "ran.yaml: neighbours[0].n3.address: 172.30.3.100 is the address of core5g-gnb"},
		"a neighbour without address":   {"ues:\n", "neighbours: [{id: 2}]\nues:\n", `ran.yaml: neighbours[0].n3.address: "" is not an IPv4 address; write the gNB's own on N3, such as 172.30.3.101`},
		"a neighbour's AMF":             {"ues:\n", "neighbours: [{id: 2, amf: [amf], n3: {address: 172.30.3.101}}]\nues:\n", `ran.yaml: neighbours[0].amf[0]: "amf" is not host:port`},
		"a cell that is not here":       {"  count: 3", "  cell: nowhere", `ran.yaml: ues[0].cell: "nowhere" is the name of no gNB here`},
		"a number in place of a string": {`mnc: "93"`, `mnc: 93`, "ran.yaml: gnb.plmn.mnc: a number where a string belongs; put a text into quotes"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(good, tt.old, tt.new, 1)
			if text == good {
				t.Fatal("the test changes nothing")
			}
			_, err := Parse("ran.yaml", []byte(text))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "8baf") {
				t.Errorf("the error shows K: %v", err)
			}
		})
	}
}

func TestEveryProblemIsNamedAtOnce(t *testing.T) {
	_, err := Parse("ran.yaml", []byte("gnb: {}\nues: []\n"))
	if err == nil {
		t.Fatal("an empty gNB was accepted")
	}
	for _, key := range []string{"gnb.id", "gnb.plmn.mcc", "gnb.plmn.mnc", "gnb.tac", "gnb.slices", "gnb.amf", "gnb.n3.address"} {
		if !strings.Contains(err.Error(), "ran.yaml: "+key+": ") {
			t.Errorf("%s is not named in:\n%v", key, err)
		}
	}
}

// The sample manifest holds a configuration: it has to be a good one.
func TestSampleManifest(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "manifests", "samples", "ran.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, doc := range strings.Split(string(b), "\n---\n") {
		var s struct {
			Kind       string            `json:"kind"`
			StringData map[string]string `json:"stringData"`
		}
		if err := yaml.Unmarshal([]byte(doc), &s); err != nil {
			t.Fatal(err)
		}
		if text := s.StringData["ran.yaml"]; text != "" {
			found = true
			c, err := Parse("ran.yaml", []byte(text))
			if err != nil {
				t.Error(err)
			} else if len(c.UEs) != 2 || !c.UEs[0].Autostart || len(c.GNB.Slices) != 2 {
				t.Errorf("the sample: %+v", c)
			}
		}
	}
	if !found {
		t.Error("no ran.yaml in the sample manifest")
	}
}

// The README shows every key: what it shows has to be read without complaint.
func TestREADME(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(b), "## ran run -c ran.yaml\n\n")
	if !ok {
		t.Fatal("the README has no section on ran run")
	}
	var text strings.Builder
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, "    ") {
			break
		}
		text.WriteString(strings.TrimPrefix(line, "    "))
	}
	c, err := Parse("README.md", []byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.UEs) != 1 || !c.UEs[0].Autostart || !c.UEs[0].Recover {
		t.Errorf("the README's UE: %+v", c.UEs)
	}
}
