package agent_test

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/fakesmf"
	"core5g.dev/core5g/upf/upfc/pfcp"
)

// newLabOf is a lab whose upf-u has these network instances.
func newLabOf(t *testing.T, edit func(*config.Config), names ...string) *lab {
	t.Helper()
	l := newLab(t, edit)
	l.otherUPFU(names...)
	return l
}

// otherUPFU is another upf-u in place of the one before.
func (l *lab) otherUPFU(names ...string) {
	l.t.Helper()
	l.upfu.Kill()
	l.networks = names
	l.startUPFU()
	deadline := time.Now().Add(time.Minute)
	for st := l.agent.Status(); !st.Connected || !slices.Equal(st.Networks, names); st = l.agent.Status() {
		if time.Now().After(deadline) {
			l.t.Fatalf("upf-c has not met the upf-u with network instances %q", names)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestNetworkInstances(t *testing.T) {
	l := newLabOf(t, nil, "internet", "ims")
	s := fakesmf.New(t, l.addr)
	s.Associate()
	ue := fakesmf.UE{TEID: 1, N3: "172.30.3.16", Addr: "10.45.0.1", NetworkInstance: "ims"}
	fakesmf.WantCause(t, s.Establish(1, ue.Session()...).Cause, ie.CauseRequestAccepted)
	index, got := l.only()
	if got.Network != 1 || got.FARs[0].Network != 1 {
		t.Errorf("the UE is in network %d, its packets leave by %d, want 1", got.Network, got.FARs[0].Network)
	}
	ue.TEID, ue.Addr, ue.NetworkInstance = 2, "10.45.0.2", "mec"
	a := s.Establish(2, ue.Session()...)
	fakesmf.WantCause(t, a.Cause, ie.CauseRuleCreationModificationFailure)
	fakesmf.WantOffending(t, a.OffendingIE, ie.NetworkInstance)

	// upf-u begins anew with its network instances in another order, and then without one of them.
	l.otherUPFU("ims", "internet", "mec")
	if got := l.upfu.Sessions()[index]; got.Network != 0 || got.FARs[0].Network != 0 {
		t.Errorf("the UE is in network %d, its packets leave by %d, want 0", got.Network, got.FARs[0].Network)
	}
	fakesmf.WantCause(t, s.Establish(3, ue.Session()...).Cause, ie.CauseRequestAccepted)
	l.otherUPFU("internet", "mec")
	if all := l.upfu.Sessions(); len(all) != 1 || all[index].PDRs != nil {
		t.Errorf("%d sessions in a upf-u that has a network instance of one", len(all))
	}
}

// The same addresses are given once in each network instance.
func TestPoolsOfNetworkInstancesOverlap(t *testing.T) {
	for what, edit := range map[string]func(*config.Config){
		"configured": func(c *config.Config) {
			for _, name := range []string{"internet", "ims"} {
				c.UEPools = append(c.UEPools, config.Pool{Name: "10.60.0.1/32", NetworkInstance: name, Range: netip.MustParsePrefix("10.60.0.1/32")})
			}
		},
		"named": func(c *config.Config) { c.NamedPools = true },
	} {
		t.Run(what, func(t *testing.T) {
			l := newLabOf(t, edit, "internet", "ims")
			s := fakesmf.New(t, l.addr)
			s.Associate()
			seid := uint64(0)
			ask := func(instance string) (uint64, *ie.IE) {
				t.Helper()
				seid++
				pool := ie.New(ie.UEIPAddressPoolIdentity, append([]byte{0, 12}, "10.60.0.1/32"...))
				pdi := ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceCore), ie.NewNetworkInstance(instance), ie.New(ie.UEIPAddress, []byte{0x10}))
				a := s.Establish(seid, ie.NewCreatePDR(ie.NewPDRID(2), ie.NewPrecedence(255), pdi, pool, ie.NewFARID(1)), coreFAR(1))
				if a.UPFSEID == nil {
					return 0, a.Cause
				}
				f, err := a.UPFSEID.FSEID()
				if err != nil {
					t.Fatal(err)
				}
				return f.SEID, a.Cause
			}
			one, cause := ask("internet")
			fakesmf.WantCause(t, cause, ie.CauseRequestAccepted)
			_, cause = ask("internet")
			fakesmf.WantCause(t, cause, pfcp.CauseAllAddressesOccupied)
			two, cause := ask("ims")
			fakesmf.WantCause(t, cause, ie.CauseRequestAccepted)
			// The next upf-c knows both, and so does one that meets upf-u with the network instances in another order.
			l.restartAgent()
			s.To = l.addr
			l.otherUPFU("mec", "ims", "internet")
			for _, name := range []string{"internet", "ims"} {
				_, cause = ask(name)
				fakesmf.WantCause(t, cause, pfcp.CauseAllAddressesOccupied)
			}
			s.Delete(one)
			_, cause = ask("ims")
			fakesmf.WantCause(t, cause, pfcp.CauseAllAddressesOccupied)
			_, cause = ask("internet")
			fakesmf.WantCause(t, cause, ie.CauseRequestAccepted)
			s.Delete(two)
			_, cause = ask("ims")
			fakesmf.WantCause(t, cause, ie.CauseRequestAccepted)
		})
	}
}
