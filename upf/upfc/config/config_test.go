package config

import (
	"log/slog"
	"net/netip"
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
			Retransmit: Retransmit{3 * time.Second, 3}, DataplaneWait: 2 * time.Second},
		Heartbeat: Heartbeat{10 * time.Second, 3, 5 * time.Minute},
		Dataplane: Dataplane{"/run/upf/upf.sock"}, State: State{"/run/upf/upf-c.state"},
		N3:      N3{[]Endpoint{{netip.MustParsePrefix("172.30.3.16/28")}, {netip.MustParsePrefix("172.30.4.1/32")}}},
		GTPU:    GTPU{Echo{time.Minute, 3 * time.Second, 5}},
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
