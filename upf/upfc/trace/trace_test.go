package trace

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"core5g.dev/core5g/upf/abi"
)

func frame(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.NewReplacer(" ", "", "\n", "").Replace(s))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const (
	ethernet4 = "020000000001 020000000002 0800 "
	inner     = "45000054 0001 0000 40 01 0000 0a2d0001 08080808 0800 0000 0007 0001 " // cut in the payload
	outer     = "4500007c 0000 4000 40 11 0000 ac1e0364 ac1e0311 0868 0868 0068 0000 "
)

func TestHeaders(t *testing.T) {
	for name, tt := range map[string]struct{ frame, want string }{
		"an echo request": {ethernet4 + inner, "10.45.0.1 > 8.8.8.8 ICMP echo request id 7 seq 1 ttl 64 len 84"},
		"a G-PDU": {ethernet4 + outer + "34ff 0060 00001001 00000085 01100900 " + inner,
			"172.30.3.100 > 172.30.3.17 GTP-U TEID 0x00001001 QFI 9 | 10.45.0.1 > 8.8.8.8 ICMP echo request id 7 seq 1 ttl 64 len 84"},
		"a GTP-U Echo Request":    {ethernet4 + outer + "3201 0004 00000000 00050000", "172.30.3.100 > 172.30.3.17 GTP-U TEID 0x00000000 seq 5 Echo Request"},
		"a G-PDU cut in the PSC":  {ethernet4 + outer + "34ff 0060 00001001 00000085 01", "172.30.3.100 > 172.30.3.17 GTP-U TEID 0x00001001 cut extension header"},
		"TCP":                     {ethernet4 + "4500002c 0000 0000 40 06 0000 0a2d0001 08080808 1f90 0050 00000001 00000002 5012 ffff 0000 0000", "10.45.0.1 > 8.8.8.8 TCP 8080 > 80 SYN,ACK seq 1 ack 2 ttl 64 len 44"},
		"UDP with a ToS, in VLAN": {"020000000001 020000000002 8100 0064 0800 45b8001c 0000 0000 40 11 0000 0a2d0001 08080808 0035 0035 0008 0000", "VLAN 100 10.45.0.1 > 8.8.8.8 UDP 53 > 53 ttl 64 len 28 tos 0xb8"},
		"a later fragment":        {ethernet4 + "4500001c 0000 00b9 40 11 0000 0a2d0001 08080808 0035 0035 0008 0000", "10.45.0.1 > 8.8.8.8 protocol 17 ttl 64 len 28 fragment at 1480"},
		"ARP":                     {"ffffffffffff 020000000002 0806 0001 0800 06 04 0001 020000000002 ac1e0364 000000000000 ac1e0311", "ARP who has 172.30.3.17 tell 172.30.3.100"},
		"IPv6 router solicitation": {"020000000001 020000000002 86dd 60000000 0008 3a ff fe800000000000000000000000000001 ff020000000000000000000000000002 8500 0000 00000000",
			"fe80::1 > ff02::2 ICMPv6 router solicitation hop limit 255 len 48"},
		"IPv6 behind an extension header": {"020000000001 020000000002 86dd 60000000 0010 00 40 20010db8000000000000000000000001 20010db8000000000000000000000002 11 00 000000000000 0035 0035 0008 0000",
			"2001:db8::1 > 2001:db8::2 UDP 53 > 53 hop limit 64 len 56"},
		"nothing":      {"", "cut Ethernet header"},
		"an odd type":  {"020000000001 020000000002 1234", "EtherType 0x1234"},
		"a cut header": {ethernet4 + "4500", "cut IPv4 header"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Headers(frame(t, tt.frame))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func FuzzHeaders(f *testing.F) {
	for _, s := range []string{ethernet4 + inner, ethernet4 + outer + "34ff006000001001000000850110090045", "ffffffffffff02000000000208060001"} {
		b, _ := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if Headers(b) == "" {
			t.Error("nothing to read")
		}
	})
}

func events(t *testing.T) []Event {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	octets := frame(t, ethernet4+inner)
	rx := FromRecord(abi.EvTrace{Packet: 77, Stage: abi.StageRx, Port: abi.PortN6, Length: 98}, octets, at, nil)
	lookup := FromRecord(abi.EvTrace{Packet: 77, Stage: abi.StageLookup, Port: abi.PortN6, Length: 98}, nil, at.Add(200), nil)
	lookup.SEID, lookup.UE = "0x1f00000001", netip.MustParseAddr("10.45.0.1")
	pdr := FromRecord(abi.EvTrace{Packet: 77, Stage: abi.StagePdr, PdrId: 2}, nil, at.Add(400), nil)
	pdr.Rule = "PDR 2 precedence 255"
	shaper := FromRecord(abi.EvTrace{Packet: 77, Stage: abi.StageShaper, PdrId: 2}, nil, at.Add(600), nil)
	shaper.Rule = "QER 1 MBR 1000/1000 kbit/s up/down"
	drop := FromRecord(abi.EvTrace{Packet: 77, Stage: abi.StageDrop, Drop: abi.DropMbrExceeded}, nil, at.Add(1500), nil)
	tx := FromRecord(abi.EvTrace{Packet: 78, Stage: abi.StageTx, Port: abi.PortN3, Length: 98, Worker: 1}, octets, at.Add(time.Millisecond), nil)
	return []Event{rx, lookup, pdr, shaper, drop, tx}
}

func TestPrinter(t *testing.T) {
	var out bytes.Buffer
	p := NewPrinter(&out)
	for _, e := range events(t) {
		if err := p.Print(&e); err != nil {
			t.Fatal(err)
		}
	}
	want := `#1    03:04:05.000006  w0  rx      n6 98 octets: 10.45.0.1 > 8.8.8.8 ICMP echo request id 7 seq 1 ttl 64 len 84
#1             +0.2us  w0  lookup  session 0x1f00000001: UE 10.45.0.1
#1             +0.4us  w0  pdr     PDR 2 precedence 255
#1             +0.6us  w0  shaper  above the rate, waits for its time: QER 1 MBR 1000/1000 kbit/s up/down
#1             +1.5us  w0  drop    mbr_exceeded: above the maximum bit rate of a QER
#2    03:04:05.001006  w1  tx      n3 98 octets: 10.45.0.1 > 8.8.8.8 ICMP echo request id 7 seq 1 ttl 64 len 84
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Others must be able to read the files: tcpdump where there is one, and the layouts by hand.
func TestCaptureFiles(t *testing.T) {
	for name, begin := range map[string]func(w *bytes.Buffer) (CaptureWriter, error){
		"pcap":   func(w *bytes.Buffer) (CaptureWriter, error) { return NewPcap(w) },
		"pcapng": func(w *bytes.Buffer) (CaptureWriter, error) { return NewPcapng(w) },
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			w, err := begin(&out)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events(t) {
				if err := w.Write(&e); err != nil {
					t.Fatal(err)
				}
			}
			if n := bytes.Count(out.Bytes(), frame(t, ethernet4+inner)); n != 2 {
				t.Errorf("%d frames, want what came and what left", n)
			}
			tcpdump, err := exec.LookPath("tcpdump")
			if err != nil {
				t.Skip("no tcpdump to read it")
			}
			path := filepath.Join(t.TempDir(), "f."+name)
			if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			text, err := exec.Command(tcpdump, "-n", "-r", path).CombinedOutput()
			if err != nil || strings.Count(string(text), "10.45.0.1 > 8.8.8.8: ICMP echo request, id 7, seq 1") != 2 {
				t.Errorf("tcpdump: %v\n%s", err, text)
			}
		})
	}
}
