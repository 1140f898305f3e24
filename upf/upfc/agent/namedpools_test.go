package agent_test

import (
	"net/netip"
	"testing"

	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/fakesmf"
	"core5g.dev/core5g/upf/upfc/pfcp"

	"github.com/wmnsk/go-pfcp/ie"
)

// A unit that was told of no pool gives addresses from the blocks that requests name, each once.
func TestUEAddressesFromANamedPool(t *testing.T) {
	l := newLab(t, func(c *config.Config) { c.NamedPools = true })
	s := fakesmf.New(t, l.addr)
	s.Associate()
	seid := uint64(0)
	ask := func(flags byte, pools ...string) (accepted bool, cause *ie.IE, v4, v6 string, upSEID uint64) {
		t.Helper()
		seid++
		pdr := []*ie.IE{ie.NewPDRID(2), ie.NewPrecedence(255), ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceCore), ie.New(ie.UEIPAddress, []byte{flags})), ie.NewFARID(1)}
		for _, p := range pools {
			if seid%2 == 0 { // with a length of one octet, as some write it
				pdr = append(pdr, ie.NewUEIPAddressPoolIdentity(p))
				continue
			}
			pdr = append(pdr, ie.New(ie.UEIPAddressPoolIdentity, append([]byte{0, byte(len(p))}, p...)))
		}
		a := s.Establish(seid, ie.NewCreatePDR(pdr...), coreFAR(1))
		if c, err := a.Cause.Cause(); err != nil || c != ie.CauseRequestAccepted {
			return false, a.Cause, "", "", 0
		}
		u, err := a.CreatedPDR[0].UEIPAddress()
		if err != nil {
			t.Fatal(err)
		}
		f, err := a.UPFSEID.FSEID()
		if err != nil {
			t.Fatal(err)
		}
		return true, a.Cause, u.IPv4Address.String(), u.IPv6Address.String(), f.SEID
	}
	pools := []string{"10.61.0.0/30", "2001:db8:61::/62"}
	in := func(block, address string) {
		t.Helper()
		if a, err := netip.ParseAddr(address); err != nil || !netip.MustParsePrefix(block).Contains(a) {
			t.Errorf("%q is not of %s", address, block)
		}
	}
	_, _, first, prefix, one := ask(0x30, pools...)
	in(pools[0], first)
	in(pools[1], prefix)
	_, _, second, _, _ := ask(0x10, pools...)
	in(pools[0], second)
	if first == second {
		t.Errorf("%s is given twice", first)
	}
	if ok, _, taken, _, _ := ask(0x10, "10.61.0.1/32"); ok {
		t.Errorf("%s is given once more by another name for it", taken)
	}
	ok, cause, _, _, _ := ask(0x10, pools...)
	if ok {
		t.Error("a third address of two")
	}
	fakesmf.WantCause(t, cause, pfcp.CauseAllAddressesOccupied)
	_, _, more, _, _ := ask(0x10, "10.61.0.0/30", "10.62.0.0/24")
	in("10.62.0.0/24", more)
	// A block that is full leaves the choice to the next. The next upf-c knows what was given, until its session ends.
	l.restartAgent()
	s.To = l.addr
	if ok, _, _, _, _ := ask(0x10, pools...); ok {
		t.Error("an address is given twice after a restart")
	}
	s.Delete(one)
	if _, _, again, _, _ := ask(0x10, pools...); again != first {
		t.Errorf("%s, want %s, which is free again", again, first)
	}
	for name, pool := range map[string]string{
		"no block":           "pool-7",
		"an address in it":   "10.61.0.1/30",
		"addresses of ours":  "172.30.0.0/16",
		"half of all":        "128.0.0.0/1",
		"less than a /64":    "2001:db8::/65",
		"of another version": "2001:db8:61::/62",
	} {
		if ok, _, v4, _, _ := ask(0x10, pool); ok {
			t.Errorf("%s: %s is given for %s", name, v4, pool)
		}
	}
}

// Who does not say so names no pools.
func TestNamedPoolsAreAsked(t *testing.T) {
	l := newLab(t, withPools)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	a := s.Establish(1, ie.NewCreatePDR(ie.NewPDRID(2), ie.NewPrecedence(255), ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceCore), ie.New(ie.UEIPAddress, []byte{0x10})), ie.NewFARID(1),
		ie.NewUEIPAddressPoolIdentity("10.61.0.0/30")), coreFAR(1))
	fakesmf.WantCause(t, a.Cause, pfcp.CauseAllAddressesOccupied)
}
