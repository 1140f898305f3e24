package control_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/ran/config"
	"core5g.dev/core5g/e2e/ran/control"
	"core5g.dev/core5g/e2e/ran/gtpu"
	"core5g.dev/core5g/e2e/ran/internal/fakeamf"
	"core5g.dev/core5g/e2e/ran/measure"
	"core5g.dev/core5g/e2e/ran/sim"
)

const (
	upfAddress = "127.30.4.16"
	gnbAddress = "127.30.4.100"
	supi       = "imsi-208930000000001"
	other      = "imsi-208930000000002"
	k          = "8baf473f2f8fd09487cccbd7097c6862"
	opc        = "8e27b6af0e692e750f32667a3b14605d"
)

const configuration = `
gnb:
  id: 1
  plmn: {mcc: "208", mnc: "93"}
  tac: "000001"
  slices: [{sst: 1, sd: "010203"}]
  amf: ["amf:38412"]
  n3: {address: ` + gnbAddress + `}
device: none
ues:
- {supi: ` + supi + `, k: ` + k + `, opc: ` + opc + `, autostart: true, sessions: [{snssai: {sst: 1, sd: "010203"}, dnn: internet}]}
`

// router answers a Router Solicitation with a prefix, as the UPF does.
func router(prefix netip.Prefix) []byte {
	from, to := netip.MustParseAddr("fe80::1"), netip.MustParseAddr("ff02::1")
	m := append([]byte{134, 0, 0, 0, 64, 0, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0, 0, 3, 4, 64, 0x40}, make([]byte, 12)...)
	p := measure.IPv6(from, to, 58, measure.ICMPv6(from, to, append(m, prefix.Addr().AsSlice()...)))
	p[7] = 255
	return p
}

// reply6 is what the UPF and the host behind it answer to a packet of IPv6.
func reply6(s fakeamf.Session, in []byte) []byte {
	switch {
	case len(in) < 48 || in[6] != 58:
		return nil
	case in[40] == 133:
		return router(s.Prefix)
	case in[40] != 128 || !s.Prefix.Masked().Contains(netip.AddrFrom16([16]byte(in[8:24]))):
		return nil
	}
	from, to := netip.AddrFrom16([16]byte(in[24:40])), netip.AddrFrom16([16]byte(in[8:24]))
	m := append([]byte{129, 0, 0, 0}, in[44:]...)
	return measure.IPv6(from, to, 58, measure.ICMPv6(from, to, m))
}

// upf answers echo requests that come with a TEID of the core's, when their inner source is the
// session's own address.
type upf struct {
	conn *net.UDPConn
	amf  *fakeamf.AMF
	data *data
}

func (u *upf) serve() {
	b := make([]byte, 65536)
	for {
		n, from, err := u.conn.ReadFromUDPAddrPort(b)
		if err != nil {
			return
		}
		p, err := gtpu.Parse(b[:n])
		if err != nil || p.Type != gtpu.GPDU || len(p.Payload) < 28 {
			continue
		}
		src := netip.AddrFrom4([4]byte(p.Payload[12:16]))
		known := false
		for i := range 6 {
			x, ok := u.amf.Session(strings.TrimPrefix([]string{supi, other}[i%2], "imsi-"), uint8(1+i/2))
			if !ok || x.TEID != p.TEID {
				continue
			}
			known = true
			if u.data.uplink(p.Payload) {
				continue
			}
			var ip []byte
			if p.Payload[0]>>4 == 6 {
				if ip = reply6(x, p.Payload); ip == nil {
					continue
				}
			} else {
				if x.Address != src {
					continue
				}
				ip = append([]byte(nil), p.Payload...)
				copy(ip[12:16], p.Payload[16:20])
				copy(ip[16:20], p.Payload[12:16])
				ip[20] = 0 // echo reply
			}
			out := append(make([]byte, gtpu.HeaderLen), ip...)
			gtpu.PutUplink(out, x.GNBTEID, 1, len(ip))
			out[13] = 0 // downlink
			_, _ = u.conn.WriteToUDPAddrPort(out, from)
		}
		if !known {
			_, _ = u.conn.WriteToUDPAddrPort(gtpu.AppendErrorIndication(nil, p.TEID, netip.MustParseAddr(upfAddress)), from)
		}
	}
}

// data carries datagrams between a session and the real server of streams; what comes back goes to wherever the core says
// that the UE's gNB is, with an End Marker on the old path when that changes.
type data struct {
	upf  *upf
	mu   sync.Mutex
	open map[netip.AddrPort]*net.UDPConn
	to   *net.UDPAddr

	at   netip.Addr
	teid uint32
}

func startData(t *testing.T, u *upf) *data {
	t.Helper()
	server, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.ParseIP("127.0.0.1")})
	if err != nil {
		t.Fatal(err)
	}
	_ = server.SetReadBuffer(4 << 20)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { _ = measure.ServeStreams(ctx, server, slog.New(slog.DiscardHandler)) }()
	d := &data{upf: u, open: map[netip.AddrPort]*net.UDPConn{}, to: server.LocalAddr().(*net.UDPAddr)}
	t.Cleanup(func() {
		cancel()
		server.Close()
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, c := range d.open {
			c.Close()
		}
	})
	return d
}

// uplink takes a packet of the UE's if it is a datagram to the server.
func (d *data) uplink(packet []byte) bool {
	from, port, payload, ok := measure.Datagram(packet)
	if !ok || port != measure.StreamPort {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.open[from]
	if c == nil {
		var err error
		if c, err = net.DialUDP("udp4", nil, d.to); err != nil {
			return true
		}
		_ = c.SetReadBuffer(4 << 20)
		d.open[from] = c
		go d.downlink(c, from)
	}
	_, _ = c.Write(payload)
	return true
}

func (d *data) downlink(c *net.UDPConn, to netip.AddrPort) {
	b := make([]byte, 65536)
	for {
		n, err := c.Read(b)
		if err != nil {
			return
		}
		s, ok := d.upf.amf.Session(strings.TrimPrefix(supi, "imsi-"), 1)
		if !ok {
			continue
		}
		if d.at.IsValid() && d.at != s.GNB {
			_, _ = d.upf.conn.WriteToUDPAddrPort(gtpu.AppendEndMarker(nil, d.teid), netip.AddrPortFrom(d.at, gtpu.Port))
		}
		d.at, d.teid = s.GNB, s.GNBTEID
		inner := measure.UDP(netip.AddrPortFrom(netip.MustParseAddr("172.30.6.1"), measure.StreamPort), to, b[:n])
		out := append(make([]byte, gtpu.HeaderLen), inner...)
		gtpu.PutUplink(out, s.GNBTEID, 1, len(inner))
		out[13] = 0 // downlink
		_, _ = d.upf.conn.WriteToUDPAddrPort(out, netip.AddrPortFrom(s.GNB, gtpu.Port))
	}
}

// up starts a simulation in front of the fake core and a server of its API.
func up(t *testing.T) (server string) {
	t.Helper()
	server, _ = upWith(t, "")
	return server
}

// upWith adds to the configuration.
func upWith(t *testing.T, more string) (server string, core *fakeamf.AMF) {
	t.Helper()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.ParseIP(upfAddress), Port: gtpu.Port})
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetReadBuffer(4 << 20)
	amf := fakeamf.New(t, netip.MustParseAddr(upfAddress), map[string]*fakeamf.Subscriber{
		"208930000000001": {K: k, OPc: opc, SQN: 1 << 20}, "208930000000002": {K: k, OPc: opc, SQN: 1 << 20},
	})
	u := &upf{conn: conn, amf: amf}
	u.data = startData(t, u)
	go u.serve()
	cfg, err := config.Parse("ran.yaml", []byte(configuration+more))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s, err := sim.New(ctx, cfg, amf.Dial, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	api := httptest.NewServer(control.Handler(s))
	t.Cleanup(func() {
		api.Close()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the simulation ended with %v", err)
		}
		amf.WaitTrace("Deregistration Request", 1) // it took leave
	})
	return strings.TrimPrefix(api.URL, "http://"), amf
}

// ctl runs a command line and reads its answer.
func ctl(t *testing.T, server string, answer any, args ...string) error {
	t.Helper()
	var out bytes.Buffer
	err := control.Ctl(append([]string{"-server", server}, args...), strings.NewReader(""), &out)
	if answer != nil && out.Len() > 0 {
		if e := json.Unmarshal(out.Bytes(), answer); e != nil {
			t.Fatalf("ran ctl %v answered %s", args, out.String())
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, out.String())
	}
	return nil
}

func TestCommands(t *testing.T) {
	server := up(t)
	var s sim.Status
	if err := ctl(t, server, &s, "status", "--wait-ready", "10s"); err != nil {
		t.Fatal(err)
	}
	if !s.Ready || s.GNB.State != "connected" || len(s.UEs) != 1 || s.UEs[0].Address == "" || s.UEs[0].Slice != "1-010203" {
		t.Fatalf("status: %+v", s)
	}

	var ping measure.PingResult
	if err := ctl(t, server, &ping, "ping", "--ue", supi, "--to", "172.30.6.1", "--count", "5", "--interval", "1ms", "--warm-up", "5s"); err != nil {
		t.Fatal(err)
	}
	if ping.Sent != 5 || ping.Received != 5 || ping.Loss != 0 || ping.Via != "in-process" || ping.RTT == nil {
		t.Errorf("ping: %+v", ping)
	}

	var started []control.Started
	if err := ctl(t, server, &started, "start", "--ue", supi, "--to", "172.30.6.1", "--count", "2"); err != nil {
		t.Fatal(err)
	}
	for _, one := range started {
		if one.Registered <= 0 || one.Ready < one.Registered || one.Answered < one.Ready {
			t.Errorf("start: %+v", started)
		}
	}
	if len(started) != 2 {
		t.Errorf("it was started %d times", len(started))
	}

	file := filepath.Join(t.TempDir(), "ue.yaml")
	entry := "supi: " + other + "\nk: " + k + "\nopc: " + opc + "\nsessions: [{snssai: {sst: 1, sd: \"010203\"}, dnn: internet}]\n"
	if err := os.WriteFile(file, []byte(entry), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"add-ue", "-f", file},
		{"register", "--ue", other},
		{"status", "--ue", other, "--wait-ready", "10s"},
		{"idle", "--ue", supi},
		{"service-request", "--ue", supi},
		{"session", "--ue", supi, "--id", "2", "--sst", "1", "--sd", "010203", "--dnn", "ims"},
		{"release", "--ue", supi, "--session", "2"},
		{"set-sqn", "--ue", other, "--sqn", "ffff00000000"},
		{"deregister", "--ue", other},
		{"register", "--ue", other},
	} {
		if err := ctl(t, server, nil, args...); err != nil {
			t.Errorf("ran ctl %v: %v", args, err)
		}
	}

	raw := map[string]struct {
		args             []string
		wantReplies      int
		wantErrorsAtMost int
	}{
		"its own packets":             {nil, 3, 0},
		"a source not its own":        {[]string{"--source", "10.45.200.200"}, 0, 0},
		"another UE's tunnel":         {[]string{"--tunnel-of", other}, 0, 0},
		"a TEID that nobody has":      {[]string{"--teid", "0xdead"}, 0, 3},
		"a message that is malformed": {[]string{"--payload", "30ff"}, 0, 0},
	}
	for name, tt := range raw {
		t.Run(name, func(t *testing.T) {
			var res sim.RawResult
			args := append([]string{"raw-gtpu", "--ue", supi, "--to", "172.30.6.1", "--count", "3", "--wait", "200ms"}, tt.args...)
			if err := ctl(t, server, &res, args...); err != nil {
				t.Fatal(err)
			}
			if res.Sent != 3 || res.Replies != tt.wantReplies || res.ErrorIndications != uint64(tt.wantErrorsAtMost) || res.RepliesByUE[supi] != tt.wantReplies {
				t.Errorf("%+v", res)
			}
		})
	}

	if err := ctl(t, server, nil, "remove-ue", "--ue", other); err != nil {
		t.Error(err)
	}
	if err := ctl(t, server, &s, "status"); err != nil || len(s.UEs) != 1 {
		t.Errorf("after remove-ue: %d UEs, %v", len(s.UEs), err)
	}
}

func TestPingOverIPv6(t *testing.T) {
	server := up(t)
	for _, args := range [][]string{
		{"status", "--wait-ready", "10s"},
		{"session", "--ue", supi, "--id", "2", "--sst", "1", "--sd", "010203", "--dnn", "internet", "--type", "IPv6"},
	} {
		if err := ctl(t, server, nil, args...); err != nil {
			t.Fatal(err)
		}
	}
	for to, want := range map[string]string{"fd00:6::1": "fd00:45:", "172.30.6.1": "10.45."} {
		var ping measure.PingResult
		if err := ctl(t, server, &ping, "ping", "--ue", supi, "--to", to, "--count", "3", "--interval", "1ms"); err != nil {
			t.Fatal(err)
		}
		if ping.Received != 3 || !strings.HasPrefix(ping.From, want) {
			t.Errorf("ping to %s: %+v", to, ping)
		}
	}
	if err := ctl(t, server, nil, "ping", "--ue", supi, "--to", "fd00:6::1", "--session", "1"); err == nil || !strings.Contains(err.Error(), "session 1: the session has no address of the version of fd00:6::1") {
		t.Errorf("IPv6 through a session of IPv4: %v", err)
	}
}

func TestCommandsRefused(t *testing.T) {
	server := up(t)
	if err := ctl(t, server, nil, "status", "--wait-ready", "10s"); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		args       []string
		want       string
		wantAnswer bool // by the simulation, not by the command line
	}{
		"no command":                   {[]string{}, "a command is missing", false},
		"a command unknown":            {[]string{"dance"}, `"dance" is not a command`, false},
		"an argument too many":         {[]string{"idle", "--ue", supi, "now"}, `"now" is not understood`, false},
		"no UE":                        {[]string{"register"}, "-ue SUPI is missing", false},
		"a UE that is not here":        {[]string{"register", "--ue", "imsi-1"}, "imsi-1: no such UE", true},
		"a ping to a name":             {[]string{"ping", "--ue", supi, "--to", "dn"}, `to \"dn\" is not an IP address`, true},
		"a session id of 77":           {[]string{"session", "--ue", supi, "--id", "77", "--dnn", "x"}, "establish.id: 77 is not a PDU session identity", true},
		"a session that is not there":  {[]string{"release", "--ue", supi, "--session", "9"}, "no such PDU session", true},
		"throughput without a device":  {[]string{"throughput", "--ue", supi, "--to", "172.30.6.1"}, "no TUN device", true},
		"a sequence number in letters": {[]string{"set-sqn", "--ue", supi, "--sqn", "xyz"}, "write up to 12 hexadecimal digits", true},
		"two TEIDs":                    {[]string{"raw-gtpu", "--ue", supi, "--to", "1.1.1.1", "--teid", "1", "--tunnel-of", supi}, "exclude each other", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := ctl(t, server, nil, tt.args...)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
			if got := control.IsFailure(err); got != tt.wantAnswer {
				t.Errorf("answered by the simulation: %v, want %v", got, tt.wantAnswer)
			}
		})
	}
}

func TestUnixSocketAndHealth(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ran.sock")
	for range 2 { // the second run finds the first one's socket
		l, err := control.Listen("unix:" + path)
		if err != nil {
			t.Fatal(err)
		}
		s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, `{"path":%q}`, r.URL.Path) })}
		go func() { _ = s.Serve(l) }()
		var out bytes.Buffer
		if err := control.Ctl([]string{"status", "-server", "unix:" + path}, nil, &out); err != nil || !strings.Contains(out.String(), "/status") {
			t.Errorf("%v, %s", err, out.String())
		}
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		s.Close()
	}
	if err := control.Ctl([]string{"status", "-server", "127.0.0.1:1"}, nil, &bytes.Buffer{}); err == nil || control.IsFailure(err) {
		t.Errorf("nobody there: %v", err)
	}
}

func TestReadiness(t *testing.T) {
	cfg, err := config.Parse("ran.yaml", []byte(strings.Replace(configuration, gnbAddress, "127.30.4.101", 1)))
	if err != nil {
		t.Fatal(err)
	}
	amf := fakeamf.New(t, netip.MustParseAddr(upfAddress), map[string]*fakeamf.Subscriber{"208930000000001": {K: k, OPc: opc, SQN: 1 << 20}})
	amf.Stop(false)
	ctx, cancel := context.WithCancel(context.Background())
	s, err := sim.New(ctx, cfg, amf.Dial, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Skip(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	defer func() { cancel(); <-done }()
	get := func(path string) int {
		w := httptest.NewRecorder()
		control.Health(s).ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return w.Code
	}
	if get("/healthz") != 200 || get("/readyz") != 503 {
		t.Errorf("without an AMF: healthz %d, readyz %d", get("/healthz"), get("/readyz"))
	}
	amf.Start()
	wait, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	if err := s.WaitReady(wait, supi); err != nil {
		t.Fatal(err)
	}
	if get("/readyz") != 200 {
		t.Errorf("with an AMF: readyz %d", get("/readyz"))
	}
}
