package registrations

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/ran/gnb"
	"core5g.dev/core5g/images/access-management/procedure"
)

// Hosts of terminators that have an address of their own. Nobody listens at the last.
const hostOne, hostTwo, hostThree, hostNowhere = 20, 21, 22, 29

// tell the AMF of terminators that gNBs can reach at these hosts, by the names of their pods.
func (s *story) tell(hosts map[string]int) {
	s.t.Helper()
	is := *s.settings
	is.Terminators = nil
	for pod, host := range hosts {
		is.Terminators = append(is.Terminators, procedure.Terminator{Pod: pod, Addresses: []netip.Addr{s.loopback(host)}})
	}
	slices.SortFunc(is.Terminators, func(a, b procedure.Terminator) int { return a.Addresses[0].Compare(b.Addresses[0]) })
	s.settings = &is
	for _, w := range s.living() {
		w.Configure(&is)
	}
}

// joined waits until both gNBs have associations with those hosts alone.
func (s *story) joined(hosts ...int) {
	s.t.Helper()
	var want []string
	for _, host := range hosts {
		want = append(want, net.JoinHostPort(s.loopback(host).String(), fmt.Sprint(portOfNGAP)))
	}
	for _, g := range s.gnbs {
		s.until(fmt.Sprintf("%s to have associations with %v, of %+v", g.Status().Name, want, g.Status().Associations), func() bool {
			var got []string
			for _, a := range g.Status().Associations {
				got = append(got, a.AMF)
			}
			return slices.Equal(got, want)
		})
		if x := g.Status(); x.NGSetups != 1 || x.LastError != "" {
			s.t.Errorf("%s: %d NG Setups, %s", x.Name, x.NGSetups, x.LastError)
		}
	}
}

// beginApart is a story whose terminators have an address each, and whose gNBs join those that they are told of.
func beginApart(t *testing.T) (*story, *n2Terminator) {
	t.Helper()
	t.Parallel()
	s := newStory(t, 2*time.Minute)
	of := inMemory()
	s.stores, s.store, s.loss, s.joins = of, of.amf(), gnb.Release, true
	s.startData()
	s.startSMF()
	one := s.startTerminatorAt("n2-one", hostOne)
	s.startWorker()
	for n := range 2 {
		s.startGNBAt(n, one.n2)
	}
	s.area = gnb.NewArea(s.gnbs...)
	for _, g := range s.gnbs {
		s.wg.Go(func() { g.Run(s.ctx) })
	}
	s.connects()
	s.tell(map[string]int{"n2-one": hostOne})
	return s, one
}

// gNBs are told of N2 terminators that come, and join them; of one that goes they let go before it has gone. UEs notice nothing.
func TestTerminatorsComeAndGo(t *testing.T) {
	s, one := beginApart(t)
	phones := []*phone{s.attach(1), s.attach(2)}
	x := phones[0].Status()
	s.startTerminatorAt("n2-two", hostTwo)
	s.tell(map[string]int{"n2-one": hostOne, "n2-two": hostTwo})
	s.joined(hostOne, hostTwo)
	s.startTerminatorAt("n2-three", hostThree)
	s.tell(map[string]int{"n2-one": hostOne, "n2-two": hostTwo, "n2-three": hostThree})
	s.joined(hostOne, hostTwo, hostThree)

	gone := make(chan struct{})
	go func() { one.kill(); close(gone) }() // as a pod that is deleted: it is not listed any more, and waits for its gNBs
	s.tell(map[string]int{"n2-two": hostTwo, "n2-three": hostThree})
	s.joined(hostTwo, hostThree)
	select {
	case <-gone:
	case <-time.After(patience / 2):
		t.Fatal("the terminator waits for gNBs that have let go of it")
	}
	for _, p := range phones {
		p.must(p.again())
	}
	for n, p := range phones {
		y := p.ready()
		if n == 0 && y.Sessions[0].Address != x.Sessions[0].Address || y.Counters.Registrations != 1 || y.Counters.Rejects+y.Counters.MACFailures != 0 {
			t.Errorf("the UE was %+v, and is %+v", x, y)
		}
	}
	s.attach(3)
}

// Terminators are replaced one by one, as when they are another version: each gNB has one all the time.
func TestTerminatorsAreReplaced(t *testing.T) {
	s, last := beginApart(t)
	p := s.attach(1)
	x := p.Status()
	for _, next := range []struct {
		pod  string
		host int
	}{{"n2-two", hostTwo}, {"n2-three", hostThree}} {
		came := s.startTerminatorAt(next.pod, next.host)
		s.tell(map[string]int{next.pod: next.host}) // the pod before is being deleted already
		last.kill()
		s.joined(next.host)
		last = came
	}
	p.must(p.again())
	p.same(x)
}

// What a gNB could not connect to it says, and it is seen.
func TestATerminatorThatIsNotReached(t *testing.T) {
	s, _ := beginApart(t)
	s.startTerminatorAt("n2-two", hostTwo)
	s.tell(map[string]int{"n2-one": hostOne, "n2-two": hostTwo, "n2-none": hostNowhere})
	s.joined(hostOne, hostTwo)
	unreached := func(host int) float64 {
		return counted(t, s.living()[0], "core5g_amf_unreached_terminator_gnbs", "address", s.loopback(host).String())
	}
	s.until("the AMF to know of what is not reached", func() bool { return unreached(hostNowhere) == 2 })
	if n := unreached(hostOne) + unreached(hostTwo); n != 0 {
		t.Errorf("%v gNBs could not connect to what they are connected to", n)
	}
}
