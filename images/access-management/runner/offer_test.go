package runner

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/ngapcause"

	"github.com/google/go-cmp/cmp"
)

// terminators are of those pods: the n-th is at 198.51.100.n. The gNB is at that of termName, which has number 1.
func (n *network) terminators(numbers ...byte) {
	is := *n.settings
	is.Terminators = nil
	for _, k := range numbers {
		t := procedure.Terminator{Pod: fmt.Sprint("n2-0-", k), Addresses: []netip.Addr{terminatorAt(k)}}
		if k == 1 {
			t.Pod = termName
		}
		is.Terminators = append(is.Terminators, t)
	}
	n.settings = &is
	for _, h := range n.holders {
		h.do(h.runner.Configured)
	}
	n.settle()
}

func terminatorAt(k byte) netip.Addr { return netip.AddrFrom4([4]byte{198, 51, 100, k}) }

// offered fails where the gNB has not heard that: +2 of one to add, -2 of one to remove.
func (n *network) offered(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for _, m := range n.phone.offers {
		var words []string
		for _, a := range m.Add {
			words = append(words, fmt.Sprint("+", a.Address.IPv4.As4()[3]))
		}
		for _, a := range m.Remove {
			words = append(words, fmt.Sprint("-", a.IPv4.As4()[3]))
		}
		got = append(got, strings.Join(words, " "))
	}
	n.phone.offers = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the gNB is offered (-want +got):\n%s", diff)
	}
}

// makes what it is told to add, but for those.
func makes(failing ...byte) func(*n2.AMFConfigurationUpdate) n2.Message {
	return func(m *n2.AMFConfigurationUpdate) n2.Message {
		out := &n2.AMFConfigurationUpdateAcknowledge{}
		for _, a := range m.Add {
			if strings.IndexByte(string(failing), a.Address.IPv4.As4()[3]) < 0 {
				out.Made = append(out.Made, a.Address)
			} else {
				out.Refused = append(out.Refused, n2.RefusedAssociation{Address: a.Address, Cause: ngapcause.TransportResourceUnavailable})
			}
		}
		return out
	}
}

// A gNB is told of N2 terminators beside its own (TS 38.413 8.7.3), once, and never while it has another AMF Configuration Update to answer.
func TestTerminatorsAreOffered(t *testing.T) {
	const another = gnbAt + 1
	refused := func(n *network) (out []byte) {
		for _, e := range n.nodes[gnbAt].Ends {
			if e.Refused {
				out = append(out, e.Address[3])
			}
		}
		return out
	}
	rests := func(t *testing.T, n *network) {
		t.Helper()
		n.pass(30 * time.Minute)
		n.offered(t)
		n.heard(t)
		if g := n.nodes[gnbAt]; g.Asked != 0 || g.Offering != 0 {
			t.Errorf("it has something to answer for ever: %+v", g)
		}
	}
	t.Run("no terminator has an address of its own", func(t *testing.T) {
		n, _ := registered(t)
		rests(t, n)
	})
	t.Run("it joins them", func(t *testing.T) {
		n, _ := registered(t)
		n.phone.answers = makes()
		n.terminators(1, 2, 3)
		n.offered(t, "+2 +3")
		rests(t, n)
	})
	t.Run("it knows nothing of that", func(t *testing.T) {
		n, _ := registered(t)
		n.terminators(1, 2)
		n.offered(t, "+2")
		rests(t, n)
		n.terminators(1, 2, 3)
		n.offered(t, "+2 +3")
	})
	t.Run("one it cannot connect to: not again until there are others", func(t *testing.T) {
		n, _ := registered(t)
		n.phone.answers = makes(3)
		n.terminators(1, 2, 3)
		n.offered(t, "+2 +3")
		if diff := cmp.Diff([]byte{3}, refused(n)); diff != "" {
			t.Errorf("refused (-want +got):\n%s", diff)
		}
		rests(t, n)
		n.phone.answers = makes()
		n.terminators(1, 2, 3, 4)
		n.offered(t, "+2 +3 +4")
		if len(refused(n)) > 0 {
			t.Errorf("refused %v", refused(n))
		}
		rests(t, n)
	})
	t.Run("it refuses the offer, and says when to come again", func(t *testing.T) {
		n, _ := registered(t)
		n.phone.answers = func(*n2.AMFConfigurationUpdate) n2.Message {
			return &n2.AMFConfigurationUpdateFailure{Cause: ngapcause.MiscUnspecified, Wait: n2.Wait20s}
		}
		n.terminators(1, 2)
		n.offered(t, "+2")
		n.pass(19 * time.Second)
		n.offered(t)
		n.phone.answers = makes()
		n.pass(3 * time.Second)
		n.offered(t, "+2")
		rests(t, n)
	})
	t.Run("it refuses the offer for good", func(t *testing.T) {
		n, _ := registered(t)
		n.phone.answers = func(*n2.AMFConfigurationUpdate) n2.Message {
			return &n2.AMFConfigurationUpdateFailure{Cause: ngapcause.MiscUnspecified}
		}
		n.terminators(1, 2)
		n.offered(t, "+2")
		if diff := cmp.Diff([]byte{2}, refused(n)); diff != "" {
			t.Errorf("refused (-want +got):\n%s", diff)
		}
		rests(t, n)
	})
	t.Run("it has another update to answer: the offer waits for that", func(t *testing.T) {
		n, _ := registered(t)
		n.phone.answers, n.phone.silent = makes(), true
		n.rename("another")
		n.terminators(1, 2)
		n.heard(t, "another")
		n.pass(9 * time.Second)
		n.offered(t)
		n.phone.silent = false
		n.phone.says(&n2.AMFConfigurationUpdateAcknowledge{})
		n.pass(3 * time.Second)
		n.offered(t, "+2")
		rests(t, n)
	})
	t.Run("it has an offer to answer: another update waits for that", func(t *testing.T) {
		n, h := registered(t)
		n.phone.silent = true
		n.terminators(1, 2)
		n.offered(t, "+2")
		n.rename("another")
		h.runner.Configured()
		n.pass(9 * time.Second)
		n.heard(t)
		n.phone.silent = false
		n.phone.says(&n2.AMFConfigurationUpdateAcknowledge{Made: []n2.Address{{IPv4: terminatorAt(2)}}})
		n.pass(3 * time.Second)
		n.heard(t, "another")
		rests(t, n)
	})
	t.Run("the holder dies when it has sent an offer: the next one sends neither that nor another update before it is answered, or was not for a while", func(t *testing.T) {
		for _, answers := range []bool{true, false} {
			n, h := registered(t)
			n.phone.silent = true
			n.terminators(1, 2)
			n.offered(t, "+2")
			h.die()
			n.rename("another")
			n.hold(1)
			n.pass(3 * time.Second)
			n.offered(t)
			n.heard(t)
			n.phone.silent, n.phone.answers = false, makes(2)
			if answers {
				n.phone.says(&n2.AMFConfigurationUpdateAcknowledge{Refused: []n2.RefusedAssociation{{Address: n2.Address{IPv4: terminatorAt(2)}, Cause: ngapcause.TransportUnspecified}}})
				n.settle()
				if diff := cmp.Diff([]byte{2}, refused(n)); diff != "" {
					t.Errorf("refused (-want +got):\n%s", diff)
				}
			}
			n.pass(14 * time.Second)
			n.heard(t, "another")
			n.offered(t, "+2") // nobody knows what it has heard
			rests(t, n)
		}
	})
	t.Run("the holder dies when it has sent another update, and the next one sends it again: the offer waits for both answers", func(t *testing.T) {
		n, h := registered(t)
		n.phone.silent, n.phone.answers = true, makes()
		n.rename("another")
		h.runner.Configured()
		n.settle()
		h.die()
		n.terminators(1, 2)
		n.hold(1)
		n.settle()
		n.heard(t, "another", "another")
		n.phone.says(&n2.AMFConfigurationUpdateAcknowledge{})
		n.pass(5 * time.Second)
		n.offered(t)
		n.phone.silent = false
		n.phone.says(&n2.AMFConfigurationUpdateAcknowledge{})
		n.pass(3 * time.Second)
		n.offered(t, "+2")
		rests(t, n)
	})
	t.Run("the gNB does not answer", func(t *testing.T) {
		n, _ := registered(t)
		n.phone.silent = true
		n.terminators(1, 2)
		n.offered(t, "+2")
		n.pass(9 * time.Second)
		n.offered(t)
		n.pass(3 * time.Second)
		n.offered(t, "+2")
		n.phone.silent, n.phone.answers = false, makes()
		n.pass(30 * time.Second)
		n.offered(t, "+2")
		rests(t, n)
	})
	joins := func(t *testing.T, n *network) {
		t.Helper()
		n.joinBy(another)
		if g := n.nodes[another]; g == nil || g.Root() != n.nodes[gnbAt].Root() || g.Here != "198.51.100.2:38412" {
			t.Fatalf("it has not joined: %+v", g)
		}
	}
	t.Run("it has joined one: it is offered the next by one of its associations, and to let go of one that goes", func(t *testing.T) {
		n, _ := registered(t)
		n.phone.answers = makes()
		n.terminators(1, 2)
		n.offered(t, "+2")
		joins(t, n)
		n.terminators(1, 2, 3)
		n.offered(t, "+3")
		n.terminators(1, 3)
		n.offered(t, "+3 -2") // the test makes no association with the third
		n.pass(5 * time.Minute)
		n.offered(t)
	})
	t.Run("that by which it was told ends: the other knows what it was told, and it hears what there is", func(t *testing.T) {
		n, _ := registered(t)
		n.phone.answers = makes()
		n.terminators(1, 2)
		n.offered(t, "+2")
		joins(t, n)
		n.phone.at = another
		first := n.nodes[gnbAt]
		delete(n.nodes, gnbAt)
		n.gone[gnbAt] = true
		n.term.Ended(gnbAt, "shut down")
		n.terminators(2, 3)
		n.pass(5 * time.Second)
		n.offered(t, "+3 -1")
		n.pass(5 * time.Minute)
		n.offered(t)
		if g := n.nodes[another]; g.Interface != first.Root() || g.Offered == 0 {
			t.Errorf("it is %+v", g)
		}
	})
	t.Run("it sets itself up anew, and has forgotten what it was told", func(t *testing.T) {
		n, _ := registered(t)
		n.phone.answers = makes(2)
		n.terminators(1, 2)
		n.offered(t, "+2")
		plmn, _ := n2.MakePLMN("208", "93")
		n.phone.says(&n2.NGSetupRequest{
			Node: n2.RANNode{Kind: n2.GNB, PLMN: plmn, ID: 1, Bits: 24}, DRX: n2.DRX128,
			TAs: []n2.SupportedTA{{TAC: 1, PLMNs: []n2.PLMNSlices{{PLMN: plmn, Slices: []n2.SNSSAI{{SST: 1}}}}}},
		})
		n.pass(3 * time.Second)
		n.offered(t, "+2")
		rests(t, n)
	})
	t.Run("what is lost on the way to its terminator is said again", func(t *testing.T) {
		n, _ := registered(t)
		n.phone.answers = makes()
		n.cut = true
		n.terminators(1, 2)
		n.cut = false
		n.pass(9 * time.Second)
		n.offered(t)
		n.pass(3 * time.Second)
		n.offered(t, "+2")
		rests(t, n)
	})
	t.Run("the one that it has come to by itself is replaced: the other first, and then it is told to let go of that", func(t *testing.T) {
		n, _ := registered(t)
		n.phone.answers = makes()
		n.terminators(1)
		n.offered(t)
		n.terminators(2)
		n.offered(t, "+2")
		joins(t, n)
		n.nodes[another].Terminator, n.nodes[gnbAt].Here = "n2-0-2/1", "198.51.100.1:38412"
		n.pass(3 * time.Second)
		n.offered(t, "-1")
	})
	t.Run("another shard does not tell it", func(t *testing.T) {
		n, h := registered(t)
		h.die()
		n.hold(2)
		n.terminators(1, 2)
		n.pass(time.Minute)
		n.offered(t)
	})
}
