package kubectlplugin

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"core5g.dev/core5g/images/signalling"
	api "core5g.dev/core5g/operators/api/v1alpha1"
)

var update = flag.Bool("update", false, "write golden files anew: read them before they are accepted")

// tracedPods are pods whose programs have a tracer each.
type tracedPods struct {
	t       *testing.T
	x       *terminal
	tracers map[string]*signalling.Tracer
	silent  map[string]bool
}

func (p *tracedPods) answer(pod string, command []string) (string, error) {
	f := flag.NewFlagSet("", flag.ContinueOnError)
	last, after, nas := f.Duration("for", 0, ""), f.Uint64("after", 0, ""), f.Bool("nas", false, "")
	if len(command) < 2 || command[1] != "trace" || f.Parse(command[2:]) != nil || f.NArg() != 1 {
		p.t.Errorf("%s is asked %q", pod, command)
	}
	if p.silent[pod] {
		return "", errors.New("no answer")
	}
	if p.tracers[pod] == nil {
		p.tracers[pod] = signalling.New(func() time.Time { return p.x.now })
	}
	page, err := p.tracers[pod].Trace(f.Arg(0), *last, *nas, *after)
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(page)
	return string(b), err
}

func traceTerminal(t *testing.T) (*terminal, *tracedPods) {
	x := open(t, ownAMFCore()...)
	x.now = noon
	p := &tracedPods{t: t, x: x, tracers: map[string]*signalling.Tracer{}, silent: map[string]bool{}}
	x.pods.answers = p.answer
	return x, p
}

const tracedUE = "imsi-208930000000001"

func entry(ms int, protocol, from, to, message, cause string) signalling.Entry {
	return signalling.Entry{At: noon.Add(time.Duration(ms) * time.Millisecond), Protocol: protocol, From: from, To: to, Message: message, Cause: cause}
}

// A registration and a session, at three pods; the AMF's shard moves to the other worker in the midst of it.
func registration(p *tracedPods) {
	amf := func(pod string, list ...signalling.Entry) { p.tracers[pod].Add(tracedUE, list...) }
	with := func(e signalling.Entry, peer string, session uint8, octets ...byte) signalling.Entry {
		e.Peer, e.Session, e.Octets = peer, session, octets
		return e
	}
	const ue, gnb, a, ausf, smf, upf, pcf = signalling.UE, signalling.GNB, signalling.AMF, signalling.AUSF, signalling.SMF, signalling.UPF, signalling.PCF
	amf("amf-a",
		with(entry(1, signalling.NGAP, gnb, a, "InitialUEMessage", ""), "20893-00000001/24", 0, 0, 15, 64),
		with(entry(1, signalling.NAS, ue, a, "Registration Request", ""), "", 0, 0x7e, 0, 0x41),
		entry(2, signalling.SBI, a, ausf, "Nausf_UEAuthentication Authenticate", ""),
		entry(4, signalling.SBI, ausf, a, "Nausf_UEAuthentication Authenticate answer", "refused: USER_NOT_FOUND"),
		entry(5, signalling.NAS, a, ue, "Registration Reject", "Illegal UE"),
		with(entry(5, signalling.NGAP, a, gnb, "UEContextReleaseCommand", "radio network: user inactivity"), "20893-00000001/24", 0, 0, 41),
	)
	amf("amf-b",
		entry(300, signalling.Note, a, a, "another worker has the UE, and goes on", ""),
		with(entry(310, signalling.SBI, a, smf, "Nsmf_PDUSession CreateSMContext", ""), "", 1),
	)
	amf("smf-b",
		with(entry(312, signalling.SBI, a, smf, "Nsmf_PDUSession CreateSMContext, internet", ""), "", 1),
		with(entry(312, signalling.NAS, ue, smf, "PDU Session Establishment Request", ""), "", 1, 0x2e, 1, 1, 0xc1),
		with(entry(313, signalling.SBI, smf, pcf, "Npcf_SMPolicyControl Create", ""), "", 1),
		with(entry(315, signalling.PFCP, smf, upf, "session_establishment_request", ""), "10.96.0.10:8805", 0, 0x21, 50, 0, 4),
		with(entry(316, signalling.PFCP, upf, smf, "session_establishment_response", "no_resources_available"), "10.96.0.10:8805", 0, 0x21, 51, 0, 4),
	)
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile("testdata/"+name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestTraceOfAUE(t *testing.T) {
	for name, c := range map[string]struct {
		flags    string
		captured map[string]int // packets by dissector
	}{
		"as it was":                      {"-pcap file", map[string]int{"ngap": 2, "pfcp": 2, "data-text-lines": 8}},
		"with what NAS has inside of it": {"-pcap file -nas", map[string]int{"ngap": 2, "pfcp": 2, "nas-5gs": 2, "data-text-lines": 6}},
	} {
		t.Run(name, func(t *testing.T) {
			x, pods := traceTerminal(t)
			told := false
			x.onSleep = func() {
				if !told {
					told = true
					registration(pods)
				}
			}
			if got := x.run(t, "trace ue "+tracedUE+" -for 3s "+c.flags); got != 0 {
				t.Fatalf("exit status %d: %s", got, x.err.String())
			}
			golden(t, "ladder.txt", x.out.Bytes())
			x.says(t, tracedUE+" is traced for 3s, in 5 pods")
			if diff := cmp.Diff(c.captured, packets(t, x.file.Bytes())); diff != "" {
				t.Errorf("the capture (-want +got):\n%s", diff)
			}
		})
	}
}

// packets of a capture by dissector; each block is as long as it says at both of its ends.
func packets(t *testing.T, b []byte) map[string]int {
	t.Helper()
	out, n := map[string]int{}, 0
	for ; len(b) > 0; n++ {
		kind, length := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
		if int(length) > len(b) || length%4 != 0 || binary.LittleEndian.Uint32(b[length-4:]) != length {
			t.Fatalf("block %d is %d octets of %d", n, length, len(b))
		}
		body := b[8 : length-4]
		switch {
		case n == 0 && (kind != blockSection || binary.LittleEndian.Uint32(body) != byteOrder),
			n == 1 && (kind != blockInterface || binary.LittleEndian.Uint16(body) != upperPDU), n > 1 && kind != blockPacket:
			t.Fatalf("block %d is of type %#x", n, kind)
		}
		if kind == blockPacket {
			at := uint64(binary.LittleEndian.Uint32(body[4:]))<<32 | uint64(binary.LittleEndian.Uint32(body[8:]))
			if d := time.Unix(0, int64(at)).Sub(noon); d < 0 || d > time.Second {
				t.Errorf("block %d is at %s", n, time.Unix(0, int64(at)))
			}
			captured := binary.LittleEndian.Uint32(body[12:])
			packet := body[20 : 20+captured]
			if binary.BigEndian.Uint16(packet) != tagDissector {
				t.Fatalf("block %d does not begin with its dissector", n)
			}
			name := packet[4 : 4+binary.BigEndian.Uint16(packet[2:])]
			out[strings.TrimRight(string(name), "\x00")]++
		}
		b = b[length:]
	}
	return out
}

// What cannot be asked is said once, and the others are asked; a program that begins anew is read from its begin.
func TestTraceGoesOn(t *testing.T) {
	x, pods := traceTerminal(t)
	pods.silent["sm-games"] = true
	turn := 0
	x.onSleep = func() {
		turn++
		switch turn {
		case 1:
			pods.tracers["amf-a"].Add(tracedUE, entry(10, signalling.NGAP, signalling.GNB, signalling.AMF, "first life", ""))
		case 3:
			pods.tracers["amf-a"] = nil
		case 4:
			pods.tracers["amf-a"].Add(tracedUE, entry(4000, signalling.NGAP, signalling.GNB, signalling.AMF, "second life", ""))
		}
	}
	if got := x.run(t, "trace ue "+tracedUE+" -for 7s"); got != 0 {
		t.Fatalf("exit status %d: %s", got, x.err.String())
	}
	x.says(t, "first life", "second life", "sm-games: no answer")
	if n := strings.Count(x.err.String(), "sm-games: no answer"); n != 1 {
		t.Errorf("it is said %d times that a pod does not answer", n)
	}
	for line, want := range map[string]string{
		"trace ue": "ue SUPI, for example", "trace session x": "write ue", "trace ue " + tracedUE + " -for 0s": "write more than 0",
	} {
		if got := x.run(t, line); got != 2 {
			t.Errorf("%s: exit status %d, want 2", line, got)
		}
		x.says(t, want)
	}
	x.pods.answers = func(string, []string) (string, error) { return "", errors.New("gone") }
	if got := x.run(t, "trace ue "+tracedUE); got != 1 {
		t.Errorf("exit status %d where nobody answers, want 1", got)
	}
	free := open(t, testCore()...)
	if got := free.run(t, "trace ue "+tracedUE); got != 1 {
		t.Errorf("exit status %d with free5GC's functions, want 1", got)
	}
	free.says(t, "do not tell")
}

// One pod that is the whole control plane is asked as AMF and as SMF, and what goes between them is shown once.
func TestTraceOfAControlPlaneInOnePod(t *testing.T) {
	core := &api.Core5G{ObjectMeta: metav1.ObjectMeta{Name: "core5g", Namespace: "core5g"}, Spec: api.Core5GSpec{Layout: api.LayoutFused}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "plane", Namespace: "core5g", Labels: map[string]string{
		api.LabelName: "core5g", api.LabelInstance: "core5g", api.LabelComponent: string(api.FunctionControlPlane), api.LabelAccessManagement: "core", api.LabelSessionManagement: "core",
	}}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	x := open(t, core, pod)
	x.now = noon
	parts := &tracedPods{t: t, x: x, tracers: map[string]*signalling.Tracer{}, silent: map[string]bool{}}
	x.pods.answers = func(name string, command []string) (string, error) {
		if name != "plane" || len(command) < 4 || command[2] != "-part" {
			t.Fatalf("%s is asked %q", name, command)
		}
		return parts.answer(command[3], append([]string{command[0], command[1]}, command[4:]...))
	}
	told := false
	x.onSleep = func() {
		if told {
			return
		}
		told = true
		between := entry(2, signalling.SBI, signalling.AMF, signalling.SMF, "Nsmf_PDUSession CreateSMContext", "")
		parts.tracers["amf"].Add(tracedUE, entry(1, signalling.NGAP, signalling.GNB, signalling.AMF, "UplinkNASTransport", ""), between)
		parts.tracers["smf"].Add(tracedUE, between, entry(3, signalling.PFCP, signalling.SMF, signalling.UPF, "session_establishment_request", ""))
	}
	if got := x.run(t, "trace ue "+tracedUE+" -for 3s"); got != 0 {
		t.Fatalf("exit status %d: %s", got, x.err.String())
	}
	x.says(t, "in 1 pods", "UplinkNASTransport", "session_establishment_request")
	if n := strings.Count(x.out.String(), "CreateSMContext"); n != 1 {
		t.Errorf("what goes between AMF and SMF is shown %d times", n)
	}
}

func TestRungs(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{signalling.UE, signalling.GNB, "|--->|    |    |    |    |    |    |    |"},
		{signalling.UPF, signalling.SMF, "|    |    |    |    |    |    |<--------|"},
		{signalling.AMF, signalling.AMF, "|    |    o    |    |    |    |    |    |"},
		{"NSSF", signalling.AMF, "|    |    |    |    |    |    |    |    |"},
	} {
		if got := rungs(c.from, c.to); got != c.want {
			t.Errorf("%s to %s: %q, want %q", c.from, c.to, got, c.want)
		}
	}
	var out bytes.Buffer
	ladderLine(&out, "p", signalling.Entry{At: noon, Protocol: "PFCP", From: "SMF", To: "UPF", Message: "m", Cause: "c", Session: 2, Peer: "x"})
	if want := "PFCP  m (session 2, x): c  [p]\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("%q does not end with %q", out.String(), want)
	}
}
