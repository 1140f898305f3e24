package config

import (
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestParse(t *testing.T) {
	got, err := Parse([]byte(`
nodeID: upf-0-n4.core5g.svc
pfcp:
  advertise: 10.96.12.7
  retransmit: {interval: 3s}
n3:
  endpoints: [172.30.3.16/28, 172.30.4.1]
log: {level: debug}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		NodeID: "upf-0-n4.core5g.svc",
		PFCP: PFCP{Listen: netip.MustParseAddrPort("0.0.0.0:8805"), Advertise: netip.MustParseAddr("10.96.12.7"),
			Retransmit: Retransmit{3 * time.Second, 3}, DataplaneWait: 2 * time.Second, RestorationWait: 30 * time.Second},
		Heartbeat: Heartbeat{10 * time.Second, 3, 5 * time.Minute},
		Dataplane: Dataplane{"/run/upf/upf.sock"}, State: State{"/run/upf/upf-c.state"},
		N3:   N3{[]Endpoint{{netip.MustParsePrefix("172.30.3.16/28")}, {netip.MustParsePrefix("172.30.4.1/32")}}},
		GTPU: GTPU{Echo{time.Minute, 3 * time.Second, 5}},
		Redundancy: Redundancy{
			Listen: netip.MustParseAddrPort("0.0.0.0:8806"),
			Lease: Lease{
				Server: "https://kubernetes.default.svc", Token: "/var/run/secrets/kubernetes.io/serviceaccount/token",
				Authority: "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt",
			},
		},
		Limits:  Limits{Associations: 64, Requests: 4096, Answers: 16, Reports: 64},
		Metrics: Listen{":9090"}, Health: Listen{":8081"}, Control: Control{"/run/upf/upf-c.sock"},
		Log: Log{slog.LevelDebug, "json"},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{}, netip.AddrPort{}, netip.Prefix{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !got.N3.Owns(netip.MustParseAddr("172.30.3.31")) || got.N3.Owns(netip.MustParseAddr("172.30.3.32")) {
		t.Error("the endpoints are not those of the block")
	}
}

// redundancy lacks peer.
const redundancy = `redundancy:
  unit: upf
  member: a
  certificate: c
  key: k
  authority: ca
  serverName: upf.test
  lease: {namespace: core5g, name: upf}
`

// Whatever is wrong, the error says where, what stands there and what to write.
func TestErrorsSayWhatToWrite(t *testing.T) {
	const good = "nodeID: 10.0.0.1\nn3: {endpoints: [172.30.3.16/28]}\n"
	for text, want := range map[string]string{
		good + "pfcp:\n  retransmit:\n    attempts: three\n":                                               `line 5: pfcp.retransmit.attempts: "three" is no whole number: write 3`,
		good + "pfcp:\n  retransmit: {attempts: 0}\n":                                                      `line 4: pfcp.retransmit.attempts: 0 is below 1: write for example 3`,
		good + "pfcp: {retransmit: {interval: 3}}\n":                                                       `line 3: pfcp.retransmit.interval: "3" is no duration: write 3s or 500ms`,
		good + "pfcp: {listen: here}\n":                                                                    `line 3: pfcp.listen: "here" is no IP address and port: write 0.0.0.0:8805`,
		good + "pfcp: {advertise: [10.0.0.1]}\n":                                                           `line 3: pfcp.advertise: a list is no IP address: write 172.30.3.1`,
		good + "pfcp: {controlPlaneSubnets: 10.0.0.0/8}\n":                                                 `line 3: pfcp.controlPlaneSubnets: "10.0.0.0/8" is no list: write it in brackets, [10.0.0.0/8]`,
		good + "pfcp: {controlPlaneSubnets: [pods]}\n":                                                     `line 3: pfcp.controlPlaneSubnets[0]: "pods" is no subnet: write 10.0.0.0/8`,
		good + "pfcp: 8805\n":                                                                              `line 3: pfcp: "8805" is no mapping: write keys and values; known here are: listen, advertise, controlPlaneSubnets, peers, retransmit, dataplaneWait, restorationWait`,
		good + "\n# a comment\nlimits:\n  session: 5\n":                                                    `line 6: limits: unknown key "session"; known here are: sessions, associations, requests, answers, reports`,
		good + "limits: {sessions: -1}\n":                                                                  `line 3: limits.sessions: "-1" is no whole number from 0 to 4294967295: write 1000`,
		good + "namedPools: yes\n":                                                                         `line 3: namedPools: "yes" is no truth value: write true or false`,
		good + "limits:\n  requests: 0\n":                                                                  `line 4: limits.requests: 0 is not between 1 and 65536: write a number that is`,
		good + "limits:\n  sessions: 1\n  sessions: 2\n":                                                   `line 5: limits.sessions: is given twice, in line 4 too: write it once`,
		good + "log: {level: loud}\n":                                                                      `line 3: log.level: "loud" is no log level: write debug, info, warn or error`,
		good + "uePools:\n- range: 10.60.0.0/16\n- range: 10.60.1.0/24\n":                                  `line 5: uePools[1].range: 10.60.1.0/24 overlaps 10.60.0.0/16 of uePools[0]: write each address once`,
		good + "uePools:\n- name: a\n":                                                                     `line 4: uePools[0].range: is missing: write an IPv4 or IPv6 block, for example 10.45.0.0/16`,
		good + "uePools: [{range: 172.30.0.0/16}]\n":                                                       `line 3: uePools[0].range: 172.30.0.0/16 overlaps 172.30.3.16/28 of n3.endpoints[0]: write addresses that only UEs have`,
		good + "predefinedRules:\n- filters: [permit out ip from any to assigned]\n":                       `line 4: predefinedRules[0].name: "" is none of 1 to 255 characters: write the name that CP functions activate, for example video`,
		good + "predefinedRules: [{name: a}]\n":                                                            `line 3: predefinedRules[0].filters: has 0 flow descriptions: write 1 to 64, for example permit out ip from 203.0.113.0/24 to assigned`,
		good + "predefinedRules: [{name: a, filters: [all]}]\n":                                            `line 3: predefinedRules[0].filters[0]: "all": "all" where only "permit" is allowed (TS 29.212 5.4.2): write for example permit out ip from 203.0.113.0/24 to assigned`,
		good + "predefinedRules: [{name: a, filters: [permit out ip from any to assigned], gate: ajar}]\n": `line 3: predefinedRules[0].gate: "ajar" is neither open nor closed: write one of them`,
		good + "predefinedRules:\n- {name: a, filters: [permit out ip from any to assigned]}\n- {name: a, filters: [permit out ip from any to assigned]}\n": `line 5: predefinedRules[1].name: a is the name of two rules: write one rule with the filters of both, or another name`,
		good + "log: {level: debug\n": `line 3: not YAML: did not find expected ',' or '}'`,
		good + "---\n" + good:         `line 3: a second YAML document begins: write one`,
		"nodeID: {a: b}\n":            `line 1: nodeID: a mapping is no text: write upf-0`,
		"- nodeID\n":                  `line 1: a list is no mapping: write keys and values; known here are: nodeID, pfcp, heartbeat, dataplane, state, n3, n9, gtpu, networkInstances, uePools, namedPools, predefinedRules, redundancy, limits, metrics, health, control, log`,
		"nodeID: 10.0.0.1\n":          `n3.endpoints: is missing: write the addresses of the GTP-U endpoint, as upf-u has them, for example [172.30.3.16/28]`,
		"nodeID: 10.0.0.1\nn3: {endpoints: [172.30.3.17/28]}\n":                      `line 2: n3.endpoints[0]: 172.30.3.17/28 has bits beyond its length: write 172.30.3.16/28`,
		"nodeID: 10.0.0.1\nn3:\n  endpoints:\n  - 172.30.3.16/28\n  - 172.30.3.20\n": `line 5: n3.endpoints[1]: 172.30.3.20/32 overlaps 172.30.3.16/28 of n3.endpoints[0]: write each address once`,
		good + "n9: {endpoints: [172.30.9.16/28, 172.30.9.16]}\n":                    `line 3: n9.endpoints[1]: 172.30.9.16/32 overlaps 172.30.9.16/28 of n9.endpoints[0]: write each address once`,
		good + "redundancy: {member: a}\n":                                           `line 3: redundancy.unit: is missing: write the name of the unit, alike in its members, or leave redundancy out`,
		good + "redundancy: {unit: upf}\n":                                           `line 3: redundancy.member: is missing: write a name that no other pod ever has, its UID, here or with -member`,
		good + "redundancy: {unit: upf, member: a, peer: b}\n":                       `line 3: redundancy.certificate: is missing: write the file of the certificate`,
		good + redundancy + "  peer: b\n":                                            `line 11: redundancy.peer: "b" is no host and port: write for example upf-0-b.core5g.svc:8806`,
		good + redundancy + "  peer: b:8806\nstate: {file: ''}\n":                    `line 12: state.file: is empty: a unit with redundancy takes over by it, write for example /run/upf/upf-c.state`,
		good + redundancy + "  peer: b:8806\n  listen: 0.0.0.0:0\n":                  `line 12: redundancy.listen: 0.0.0.0:0 is no address and port: write for example 0.0.0.0:8806`,
		good + "n9: {endpoints: [172.30.3.20]}\n":                                    `line 3: n9.endpoints[0]: 172.30.3.20/32 overlaps 172.30.3.16/28 of n3.endpoints[0]: leave n9 out where N9 comes by N3`,
	} {
		_, err := Parse([]byte(text))
		if err == nil || err.Error() != want {
			t.Errorf("%s\nerror: %v\nwant:  %s", text, err, want)
		}
	}
}

// A key without a value has its default.
func TestKeysWithoutAValue(t *testing.T) {
	c, err := Parse([]byte("nodeID: 10.0.0.1\nn3: {endpoints: [172.30.3.16]}\npfcp:\nheartbeat:\n  interval:\nuePools:\n"))
	if err != nil || c.PFCP.Retransmit.Attempts != 3 || c.Heartbeat.Interval != 10*time.Second || len(c.UEPools) != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	anchors := "nodeID: &a 10.0.0.1\npfcp: {advertise: *a}\nn3: {endpoints: [172.30.3.16]}\n"
	if c, err = Parse([]byte(anchors)); err != nil || c.PFCP.Advertise != netip.MustParseAddr("10.0.0.1") {
		t.Errorf("%+v, %v", c, err)
	}
}

// No text makes it panic, and no error speaks of how it is read.
func FuzzConfig(f *testing.F) {
	f.Add("nodeID: 10.0.0.1\nn3: {endpoints: [172.30.3.16/28]}\npfcp: {peers: [smf], retransmit: {interval: 3s}}\nuePools: [{range: 10.60.0.0/16}]\n")
	f.Add("nodeID: &a [*a]\n")
	f.Add("? {a: b}\n: c\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := Parse([]byte(text)); err != nil {
			for _, word := range []string{"unmarshal", "strconv", "reflect", "netip.", "yaml:"} {
				if strings.Contains(err.Error(), word) && !strings.Contains(text, word) {
					t.Errorf("%q: %v", text, err)
				}
			}
		}
	})
}

func TestParseNamesTheKey(t *testing.T) {
	const good = "nodeID: 10.0.0.1\nn3: {endpoints: [172.30.3.16]}\n"
	for name, tt := range map[string]struct{ text, want string }{
		"empty":                       {"", "nodeID"},
		"an unknown key":              {good + "pfpc: {}\n", "pfpc"},
		"an unknown key inside":       {good + "pfcp: {port: 8805}\n", "port"},
		"no endpoints":                {"nodeID: 10.0.0.1\n", "n3.endpoints"},
		"an endpoint that is none":    {"nodeID: 10.0.0.1\nn3: {endpoints: [here]}\n", "endpoints"},
		"an endpoint with a zone":     {"nodeID: 10.0.0.1\nn3: {endpoints: ['fe80::1%eth0']}\n", "endpoints"},
		"N9 within N3":                {good + "n9: {endpoints: [172.30.3.16/30]}\n", "n9.endpoints"},
		"a pool without a range":      {good + "uePools: [{name: a}]\n", "uePools[0].range"},
		"a pool with host bits":       {good + "uePools: [{range: 10.60.0.1/16}]\n", "uePools[0].range"},
		"a pool below a /64":          {good + "uePools: [{range: '2001:db8::/65'}]\n", "uePools[0].range"},
		"pools that overlap":          {good + "uePools: [{range: 10.60.0.0/16}, {range: 10.60.5.0/24}]\n", "uePools[1].range"},
		"pools of one that overlap":   {good + "uePools: [{range: 10.60.0.0/16, networkInstance: ims}, {range: 10.60.5.0/24, networkInstance: ims}]\n", "uePools[1].range"},
		"a peer that is none":         {good + "pfcp: {peers: [smf_1]}\n", "pfcp.peers"},
		"a peer without port":         {good + "pfcp: {peers: ['smf:http']}\n", "pfcp.peers"},
		"an FQDN that is none":        {"nodeID: upf_0\nn3: {endpoints: [172.30.3.16]}\n", "nodeID"},
		"an address to nowhere":       {"nodeID: 'fd00::1'\nn3: {endpoints: [172.30.3.16]}\n", "pfcp.advertise"},
		"a node ID with a zone":       {"nodeID: 'fe80::1%eth0'\nn3: {endpoints: [172.30.3.16]}\n", "nodeID"},
		"nothing to advertise":        {"nodeID: upf-0\nn3: {endpoints: [172.30.3.16]}\n", "pfcp.advertise"},
		"CP functions with host bits": {good + "pfcp: {controlPlaneSubnets: [10.0.0.1/8]}\n", "pfcp.controlPlaneSubnets[0]"},
		"no attempts":                 {good + "pfcp: {retransmit: {attempts: 0}}\n", "pfcp.retransmit.attempts"},
		"no interval":                 {good + "pfcp: {retransmit: {interval: 0s}}\n", "pfcp.retransmit.interval"},
		"no time for an echo":         {good + "gtpu: {echo: {timeout: 0s}}\n", "gtpu.echo"},
		"echoes that overlap":         {good + "gtpu: {echo: {interval: 10s}}\n", "gtpu.echo.interval"},
		"a negative heartbeat":        {good + "heartbeat: {interval: -1s}\n", "heartbeat.interval"},
		"no retries":                  {good + "heartbeat: {retries: 0}\n", "heartbeat.retries"},
		"no associations":             {good + "limits: {associations: 0}\n", "limits.associations"},
		"too many requests":           {good + "limits: {requests: 1000000}\n", "limits.requests"},
		"a log format":                {good + "log: {format: xml}\n", "log.format"},
		"a log level":                 {good + "log: {level: loud}\n", "level"},
		"two documents":               {good + "---\n" + good, "document"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one that names %s", err, tt.want)
			}
		})
	}
}

// A pod's name is not in the file.
func TestMemberFromOutside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "upf-c.yaml")
	const text = "nodeID: 10.0.0.1\nn3: {endpoints: [172.30.3.16/28]}\n" + redundancy + "  peer: b:8806\n"
	if err := os.WriteFile(path, []byte(strings.Replace(text, "  member: a\n", "", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path, ""); err == nil || !strings.Contains(err.Error(), "redundancy.member: is missing") {
		t.Errorf("without a member: %v", err)
	}
	c, err := Read(path, "5f0c")
	if err != nil {
		t.Fatal(err)
	}
	if c.Redundancy.Member != "5f0c" {
		t.Errorf("the member is %q, want 5f0c", c.Redundancy.Member)
	}
}
