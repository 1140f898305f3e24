package control

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/agent"
	"core5g.dev/core5g/upf/upfc/agent/peers"
	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/topology"
	"core5g.dev/core5g/upf/upfc/trace"
	"core5g.dev/core5g/upf/upfc/usage"
)

// source is a UPF that counts the times it was asked.
type source struct {
	asked   atomic.Uint64
	orders  chan agent.TraceOrder
	endless bool  // a trace goes on until its asker goes
	refuse  error // of traces
}

func (s *source) Status() agent.Status {
	n := s.asked.Add(1)
	var w abi.WorkerStats
	w.Drops[abi.PortN3].Reason[abi.DropSpoofedSource], w.CyclesBusy, w.CyclesIdle = 4, 25*n, 75*n*n
	w.Port[abi.PortN6].TxPackets = 9
	failed := time.Unix(60, 0)
	return agent.Status{NodeID: "upf.test", Connected: true, Sessions: 1, Missed: [abi.Ports]uint64{abi.PortN6: 3}, Workers: []abi.WorkerStats{w}, Topology: &topology.Topology{
		Cells: 1, Threads: []topology.Thread{{Role: "worker 0", CPU: 3, Cell: new(int32)}},
		Ports: []topology.Port{{Interface: "n3", Device: "n3", Driver: "net_af_packet", MAC: "02:00:00:00:00:01", MTU: 1500, VLAN: 30, Spread: topology.SpreadUE4, Gateways: []topology.Gateway{
			{Address: "172.30.3.1", State: topology.GatewayAnswers}, {Address: "172.30.3.2", State: topology.GatewaySilent, Losses: 2}, {Address: "fe80::1"}}}},
		Memory: []topology.Memory{{Octets: 64 << 20, Buffers: 40 << 20}},
	}, Associations: []agent.AssociationInfo{
		{Node: "smf.test", From: netip.MustParseAddrPort("10.0.0.1:8805"), Sessions: 1, Since: time.Unix(0, 0)},
		{Node: "lost.test", From: netip.MustParseAddrPort("10.0.0.2:8805"), Since: time.Unix(0, 0), Failed: &failed},
	}}
}

func (*source) Sessions() []agent.SessionInfo {
	return []agent.SessionInfo{
		{SEID: "0x1f00000001", Node: "smf.test", UE: netip.MustParseAddr("10.45.0.1"), UE6: netip.MustParsePrefix("2001:db8:0:1::/64"), PDRs: 4, UL: 84},
		{SEID: "0x2f00000002", Node: "other.test", UE: netip.MustParseAddr("10.45.0.2"), NetworkInstance: "internet", PDRs: 2},
		{SEID: "0x3f00000003", Node: "other.test", UE: netip.MustParseAddr("10.45.0.2"), NetworkInstance: "ims", PDRs: 2},
	}
}

func (s *source) Session(seid uint64) (*agent.SessionDetail, bool) {
	if seid != 0x1f00000001 {
		return nil, false
	}
	set := rules.NewSet()
	set.FARs.Put(7, &rules.FAR{ID: 7, Action: rules.Forward})
	counts := usage.Counts{UL: 1000 * s.asked.Add(1), ULPackets: 3}
	return &agent.SessionDetail{Info: s.Sessions()[0], Rules: set, Usage: map[uint32]usage.Counts{5: counts}}, true
}

func (*source) Compiled(seid uint64) ([]byte, error) {
	return []byte(`{"session":1,"home_worker":0,"pdr":[{"id":1,"match":{"teid":4097},"qer":[1,2]},{"id":2}]}`), nil
}

func (*source) Peers() []peers.Peer {
	return []peers.Peer{{Address: netip.MustParseAddr("172.30.3.100"), Tunnels: 3, Path: "up"}}
}

func (*source) RequestRelease(_ context.Context, node string, grace time.Duration) error {
	if node != "smf.test" || grace != time.Minute {
		return errors.New("no association with " + node)
	}
	return nil
}

func (s *source) Trace(ctx context.Context, o agent.TraceOrder, f func(*trace.Event) error) error {
	if s.refuse != nil {
		return s.refuse
	}
	s.orders <- o
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	octets := append(make([]byte, 12), 0x12, 0x34)
	for _, e := range []*trace.Event{
		nil,
		{Time: at, Packet: 9, Stage: trace.RX, Port: "n6", Length: 14, Octets: octets},
		{Time: at.Add(1000), Packet: 9, Stage: trace.Drop, Drop: "gate_closed"},
	} {
		if err := f(e); err != nil {
			return err
		}
	}
	if s.endless {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func serve(t *testing.T, s *source) (socket string) {
	t.Helper()
	s.orders = make(chan agent.TraceOrder, 8)
	socket = filepath.Join(t.TempDir(), "ctl.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: Handler(s), ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return socket
}

func TestCommands(t *testing.T) {
	socket := serve(t, &source{})
	for name, tt := range map[string]struct {
		args      []string
		want      []string
		wantNot   []string
		wantError string
	}{
		"sessions":                            {args: []string{"sessions"}, want: []string{"0x1f00000001", "10.45.0.1", "smf.test"}},
		"sessions, JSON":                      {args: []string{"sessions", "-o", "json"}, want: []string{`"ueIPAddress": "10.45.0.1"`}},
		"sessions, not all":                   {args: []string{"sessions", "-n", "1"}, want: []string{"0x1f00000001", "… and 2 more"}, wantNot: []string{"0x2f00000002"}},
		"sessions, not all, JSON":             {args: []string{"sessions", "-n", "1", "-json"}, want: []string{"[\n  {\n    \"seid\": \"0x1f00000001\""}, wantNot: []string{"more"}},
		"flags before, as upf-c ctl had them": {args: []string{"-json", "sessions"}, want: []string{`"ueIPAddress": "10.45.0.1"`}},
		"sessions of a node":                  {args: []string{"sessions", "--node", "other.test"}, want: []string{"0x2f00000002"}, wantNot: []string{"0x1f00000001"}},
		"sessions of a UE":                    {args: []string{"sessions", "-ue", "10.45.0.1"}, want: []string{"0x1f00000001"}, wantNot: []string{"0x2f00000002"}},
		"sessions of a UE in two":             {args: []string{"sessions", "-ue", "10.45.0.2"}, want: []string{"NETWORK INSTANCE", "internet", "ims"}},
		"sessions by SEID":                    {args: []string{"sessions", "-seid", "0x2F00000002"}, want: []string{"0x2f00000002"}, wantNot: []string{"0x1f00000001"}},
		"sessions of no UE":                   {args: []string{"sessions", "-ue", "x"}, wantError: `"x" is not a UE IP address, such as`},
		"one session":                         {args: []string{"session", "0x1f00000001"}, want: []string{"home_worker=0", "\n  pdr: id=1 qer=[1 2]\n    match: teid=4097\n  pdr: id=2\n"}},
		"one session by address":              {args: []string{"session", "10.45.0.1"}, want: []string{"0x1f00000001"}},
		"one session by its IPv6 address":     {args: []string{"session", "2001:db8:0:1::5"}, want: []string{"0x1f00000001", "10.45.0.1 2001:db8:0:1::/64"}},
		"one session with rates":              {args: []string{"session", "10.45.0.1", "-i", "1ms"}, want: []string{"bit/s"}},
		"one session, JSON":                   {args: []string{"-json", "session", "0x1f00000001"}, want: []string{`"FARs"`, `"7"`, `"home_worker": 0`}},
		"no such session":                     {args: []string{"session", "0x2"}, wantError: "no session has SEID 0x2: `upfctl sessions` lists"},
		"no such address":                     {args: []string{"session", "10.45.9.9"}, wantError: "no session has the UE IP address 10.45.9.9"},
		"two with one address":                {args: []string{"session", "10.45.0.2"}, wantError: "2 sessions have the UE IP address 10.45.0.2: name one by its SEID, 0x2f00000002 internet, 0x3f00000003 ims"},
		"neither":                             {args: []string{"session", "x"}, wantError: `"x" is neither a SEID`},
		"no session named":                    {args: []string{"session"}, wantError: "wants one SEID or UE IP address; `upfctl help`"},
		"associations":                        {args: []string{"associations"}, want: []string{"smf.test", "10.0.0.1:8805", "up", "failed since 1970-01-01T00:01:00Z"}},
		"release":                             {args: []string{"release", "smf.test"}, want: []string{"with smf.test is released"}},
		"release of nobody":                   {args: []string{"release", "2001:db8::9"}, wantError: "not released: no association with 2001:db8::9"},
		"release of none":                     {args: []string{"release"}, wantError: "wants one Node ID"},
		"peers":                               {args: []string{"peers"}, want: []string{"172.30.3.100", "3", "up"}},
		"stats":                               {args: []string{"stats"}, want: []string{"dropped spoofed_source  4 packets", "n6 missed               3 frames", "n6 sent", "since upf-u started"}, wantNot: []string{"n9", "n3 missed"}},
		"topology":                            {args: []string{"topology"}, want: []string{"worker 0", "CPU 3", "n3 net_af_packet 02:00:00:00:00:01 mtu 1500 vlan 30 hash ue_ipv4\n", "gateway 172.30.3.1 answers\n", "gateway 172.30.3.2 does not answer (lost 2 times)\n", "gateway fe80::1\n", "64 MiB, 40 MiB of them", "Aligned"}},
		"topology, JSON":                      {args: []string{"topology", "-json"}, want: []string{`"packetBufferOctets": 41943040`}},
		"stats with rates":                    {args: []string{"stats", "-i", "1ms"}, want: []string{"/s", "in the last"}},
		"stats, JSON":                         {args: []string{"stats", "-json"}, want: []string{`"spoofed_source": 4`}},
		"help":                                {args: []string{"help"}, want: []string{"upfctl capture"}},
		"help, as a flag":                     {args: []string{"trace", "-h"}, want: []string{"upfctl capture"}},
		"trace": {args: []string{"trace", "-ue", "10.45.0.1"},
			want: []string{"#1    03:04:05.000000  w0  rx      n6 14 octets: EtherType 0x1234\n", "+1.0us  w0  drop    gate_closed: the gate of a QER is closed\n"}},
		"trace, JSON":            {args: []string{"trace", "-all", "-o", "json"}, want: []string{`"stage":"drop"`}},
		"trace of nobody":        {args: []string{"trace"}, wantError: "whose packets?"},
		"trace of two":           {args: []string{"trace", "-all", "-ue", "10.45.0.1"}, wantError: "whose packets?"},
		"trace of an unknown UE": {args: []string{"trace", "-ue", "10.45.9.9"}, wantError: "no session has the UE IP address"},
		"capture to nowhere":     {args: []string{"capture", "-all"}, wantError: "-w names a file"},
		"capture to the output":  {args: []string{"capture", "-all", "-w", "-"}, want: []string{"\xd4\xc3\xb2\xa1\x02\x00\x04\x00", "\x0e\x00\x00\x00\x0e\x00\x00\x00"}},
		"a flag of another":      {args: []string{"stats", "-ue", "10.45.0.1"}, wantError: "stats has no flag -ue"},
		"an unknown flag":        {args: []string{"stats", "-x"}, wantError: "flag provided but not defined: -x; `upfctl help`"},
		"an unknown output":      {args: []string{"stats", "-o", "xml"}, wantError: `-o is table or json, not "xml"`},
		"an unknown command":     {args: []string{"sesions"}, wantError: `there is no command "sesions"`},
		"too many words":         {args: []string{"stats", "all"}, wantError: `stats takes no "all"`},
		"nothing":                {wantError: "which command?"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := Run(context.Background(), append([]string{"-socket", socket}, tt.args...), &out)
			if tt.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantError) {
					t.Errorf("error %v, want %q", err, tt.wantError)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range tt.want {
				if !strings.Contains(out.String(), w) {
					t.Errorf("want %q in\n%s", w, out.String())
				}
			}
			for _, w := range tt.wantNot {
				if strings.Contains(out.String(), w) {
					t.Errorf("want no %q in\n%s", w, out.String())
				}
			}
		})
	}
}

func TestTraceOrders(t *testing.T) {
	s := &source{}
	socket := serve(t, s)
	file := filepath.Join(t.TempDir(), "f.pcapng")
	for name, tt := range map[string]struct {
		args []string
		want agent.TraceOrder
	}{
		"headers of ten packets":   {[]string{"trace", "-seid", "0x1f00000001"}, agent.TraceOrder{SEID: 0x1f00000001, Packets: 10, Snap: tracedOctets}},
		"of more, whoever's":       {[]string{"trace", "-all", "-n", "99"}, agent.TraceOrder{Packets: 99, Snap: tracedOctets}},
		"whole packets for a file": {[]string{"capture", "-ue", "10.45.0.1", "-w", file}, agent.TraceOrder{SEID: 0x1f00000001, Packets: 1000, Snap: agent.TraceSnapMax}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := Run(context.Background(), append([]string{"-socket", socket}, tt.args...), &bytes.Buffer{}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, <-s.orders); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	if b, err := os.ReadFile(file); err != nil || !bytes.HasPrefix(b, []byte{0x0a, 0x0d, 0x0d, 0x0a}) {
		t.Errorf("%v, file begins with % x", err, b[:min(len(b), 8)])
	}
}

func TestTraceEnds(t *testing.T) {
	s := &source{endless: true}
	socket := serve(t, s)
	var out bytes.Buffer
	if err := Run(context.Background(), []string{"-socket", socket, "trace", "-all", "-t", "50ms"}, &out); err != nil || !strings.Contains(out.String(), "drop") {
		t.Errorf("when its time is over: %v\n%s", err, out.String())
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-s.orders
		<-s.orders
		cancel()
	}()
	if err := Run(ctx, []string{"-socket", socket, "trace", "-all"}, &out); err != nil {
		t.Errorf("when it is interrupted: %v", err)
	}
	s.refuse = errors.New("somebody else is tracing")
	if err := Run(context.Background(), []string{"-socket", socket, "trace", "-all"}, &out); err == nil || !strings.Contains(err.Error(), "somebody else") {
		t.Errorf("when it is refused: %v", err)
	}
}

func TestUnreachable(t *testing.T) {
	dir := t.TempDir()
	err := Run(context.Background(), []string{"-socket", dir + "/none", "stats"}, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "run upfctl where upf-c runs") {
		t.Errorf("no socket: %v", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: dir + "/dead", Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	err = Run(context.Background(), []string{"-socket", dir + "/dead", "stats"}, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "upf-c is not running") {
		t.Errorf("a socket that nobody serves: %v", err)
	}
}
