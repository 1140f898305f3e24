package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/upf/upfc/control"
	"core5g.dev/core5g/upf/upfc/fakesmf"
	"core5g.dev/core5g/upf/upfc/topology"
)

// waiter is where a command writes; it says when a text has come.
type waiter struct {
	bytes.Buffer
	wrote chan struct{}
}

func (w *waiter) Write(b []byte) (int, error) {
	defer func() {
		select {
		case w.wrote <- struct{}{}:
		default:
		}
	}()
	return w.Buffer.Write(b)
}

// upfctl runs a command; meanwhile is called until it has ended.
func (r *rig) upfctl(meanwhile func(), args ...string) string {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out := &waiter{wrote: make(chan struct{}, 1)}
	ended := make(chan error, 1)
	go func() { ended <- control.Run(ctx, append([]string{"-socket", r.path("ctl.sock")}, args...), out) }()
	for {
		select {
		case err := <-ended:
			if err != nil {
				r.t.Fatalf("upfctl %s: %v\n%s", strings.Join(args, " "), err, out.String())
			}
			return out.String()
		case <-time.After(20 * time.Millisecond):
			if meanwhile != nil {
				meanwhile()
			}
		}
	}
}

func TestIntegrationUpfctl(t *testing.T) {
	r := newRig(t)
	seid := r.session()
	r.ping(1)
	seq := uint16(1)
	ping := func() {
		seq++
		r.ping(seq)
	}

	t.Run("where upf-u is", func(t *testing.T) {
		var top topology.Topology
		if err := json.Unmarshal([]byte(r.upfctl(nil, "topology", "-o", "json")), &top); err != nil {
			t.Fatal(err)
		}
		if len(top.Threads) != 2 || len(top.Ports) != 2 || top.Ports[0].Driver != "net_af_packet" || top.Ports[0].MTU != 1500 {
			t.Errorf("threads %+v, ports %+v", top.Threads, top.Ports)
		}
		octets := top.MemoryUnknown
		for _, m := range top.Memory {
			octets += m.Octets
		}
		if octets < 16<<20 {
			t.Errorf("memory of %d octets: %+v", octets, top.Memory)
		}
		if verdict, why := top.Judge(-1); top.Cells == 1 && verdict != topology.Aligned {
			t.Errorf("on a machine with one cell: %s: %s", verdict, why)
		}
	})

	t.Run("a session as upf-u has it", func(t *testing.T) {
		out := r.upfctl(nil, "session", fakesmf.Phone.Addr, "-o", "json")
		var s struct {
			SEID     string
			Compiled struct {
				Session uint32
				Home    *int   `json:"home_worker"`
				UE      string `json:"ue_ipv4"`
				Rules   []struct {
					Direction string
					PDR       []struct {
						ID  uint16
						URR []struct{ Octets, Packets uint64 }
					}
				}
			}
		}
		if err := json.Unmarshal([]byte(out), &s); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		if s.SEID != fmt.Sprintf("%#x", seid) || s.Compiled.UE != fakesmf.Phone.Addr || s.Compiled.Home == nil || len(s.Compiled.Rules) != 2 {
			t.Fatalf("%s", out)
		}
		for _, d := range s.Compiled.Rules {
			if len(d.PDR) != 2 || d.PDR[1].URR[0].Octets != 84 || d.PDR[1].URR[0].Packets != 1 {
				t.Errorf("%s: %+v, want two PDRs and the ping's 84 octets", d.Direction, d.PDR)
			}
		}
		if text := r.upfctl(nil, "session", fakesmf.Phone.Addr); !strings.Contains(text, "home_worker=0") {
			t.Errorf("as a table:\n%s", text)
		}
	})

	t.Run("the way of a UE's packets", func(t *testing.T) {
		out := r.upfctl(ping, "trace", "-ue", fakesmf.Phone.Addr, "-n", "2")
		for _, want := range []string{
			"rx      n3 ", "GTP-U TEID 0x00000001 QFI", "| 10.45.0.1 > 172.30.6.1 ICMP echo request",
			"pdr     PDR 1 precedence 255", "qer     passed QER 1", "far     FAR 1 forward to core", "urr     counted by URR 1",
			"tx      n6 98 octets: 10.45.0.1 > 172.30.6.1 ICMP echo request", "tx      n3 ",
			"far     FAR 2 forward to access, tunnel to 172.30.3.100 TEID 0x00000100",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("want %q in\n%s", want, out)
			}
		}
	})

	t.Run("a drop is named, even of no session", func(t *testing.T) {
		spoof := func() {
			if err := r.uplink(1, "10.45.0.66", 1); err != nil {
				t.Fatal(err)
			}
		}
		if out := r.upfctl(spoof, "trace", "-all", "-n", "1"); !strings.Contains(out, "drop    spoofed_source: ") {
			t.Errorf("%s", out)
		}
	})

	t.Run("a capture has packets before and after", func(t *testing.T) {
		tcpdump, err := exec.LookPath("tcpdump")
		if err != nil {
			t.Skip("needs the command tcpdump")
		}
		file := r.path("ue.pcap")
		r.upfctl(ping, "capture", "-ue", fakesmf.Phone.Addr, "-n", "2", "-w", file)
		text, err := exec.Command(tcpdump, "-n", "-r", file).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		for _, want := range []string{"172.30.3.100.2152 > 172.30.3.16.2152", "IP 10.45.0.1 > 172.30.6.1: ICMP echo request", "IP 172.30.6.1 > 10.45.0.1: ICMP echo reply", "172.30.3.16.2152 > 172.30.3.100.2152"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("want %q in\n%s", want, text)
			}
		}
	})

	t.Run("upf-c dies while somebody traces: upf-u stops", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		out := &waiter{wrote: make(chan struct{}, 1)}
		ended := make(chan error, 1)
		go func() {
			ended <- control.Run(ctx, []string{"-socket", r.path("ctl.sock"), "trace", "-ue", fakesmf.Phone.Addr, "-n", "100000"}, out)
		}()
		for begun := false; !begun; {
			ping()
			select {
			case <-out.wrote:
				begun = true
			case <-time.After(10 * time.Millisecond):
			}
		}
		r.upfc.kill()
		if err := <-ended; err == nil {
			t.Error("upfctl says nothing of its end")
		}
		r.startUPFC()
		ping()
		if text := r.upfctl(nil, "sessions"); !strings.Contains(text, fakesmf.Phone.Addr) {
			t.Errorf("sessions afterwards:\n%s", text)
		}
		if text := r.upfctl(ping, "trace", "-ue", fakesmf.Phone.Addr, "-n", "1"); !strings.Contains(text, "tx ") {
			t.Errorf("a new trace:\n%s", text)
		}
	})
}
