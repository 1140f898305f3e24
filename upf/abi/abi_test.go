package abi

import (
	"net/netip"
	"os"
	"os/exec"
	"testing"
)

func TestCompilerAgreesWithTheGeneratedLayouts(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler on this machine: the layouts are checked where upf-u is built")
	}
	if out, err := exec.Command(cc, "-std=c17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "check/zabi_check.c").CombinedOutput(); err != nil {
		t.Fatalf("the Go mirror and upf_abi.h differ: %v\n%s", err, out)
	}
}

func TestGeneratedFilesAreWhatTheHeaderSays(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command to run the generator with")
	}
	cmd := exec.Command("go", "run", "./abigen", "-verify")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func TestAddressesKeepTheirOctets(t *testing.T) {
	want := netip.MustParseAddr("172.30.3.16")
	v := AddrBe(want)
	if got := Bytes([]uint32{v}); string(got) != "\xac\x1e\x03\x10" {
		t.Errorf("octets in memory % x, want the network order", got)
	}
	if got := AddrFromBe(v); got != want {
		t.Errorf("AddrFromBe(AddrBe(%v)) = %v", want, got)
	}
}

func TestAddressesOfBothVersionsKeepTheirOctets(t *testing.T) {
	for _, s := range []string{"172.30.3.16", "2001:db8::1"} {
		want := netip.MustParseAddr(s)
		if got := AddrOf(want).IP(want.Is6()); got != want {
			t.Errorf("%s comes back as %s", want, got)
		}
	}
	if got := AddrOf(netip.MustParseAddr("10.1.2.3")); got != (Addr{10, 1, 2, 3}) {
		t.Errorf("IPv4 stands as % x, want it in the first four octets", got)
	}
	if got := AddrOf(netip.Addr{}); got != (Addr{}) {
		t.Errorf("no address stands as % x", got)
	}
}

func TestReadRefusesShortInput(t *testing.T) {
	if _, err := Read[Msg](make([]byte, 31)); err == nil {
		t.Error("31 octets were taken for a header of 32")
	}
}
