package runner

import (
	"slices"
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/link"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/procedure"
)

// rename the AMF.
func (n *network) rename(name string) {
	is := *n.settings
	is.Name = name
	n.settings = &is
}

func (n *network) heard(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for _, m := range n.phone.announced {
		got = append(got, m.Name)
	}
	n.phone.announced = nil
	if len(got) != len(want) {
		t.Fatalf("the gNB hears %q, want %q", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("the gNB hears %q, want %q", got, want)
		}
	}
}

// What has changed of the AMF a gNB hears whoever has the shard by then, once.
func TestAnAMFConfigurationUpdateThatIsLost(t *testing.T) {
	settles := func(t *testing.T, n *network) {
		t.Helper()
		n.pass(2 * time.Minute)
		n.heard(t)
		if m, _ := procedure.Announce(n.settings, n.nodes[gnbAt]); m != nil {
			t.Error("its record says that it has not heard")
		}
	}
	t.Run("nothing has changed", func(t *testing.T) {
		n, _ := registered(t)
		settles(t, n)
	})
	t.Run("it is heard at once, and once", func(t *testing.T) {
		n, h := registered(t)
		n.rename("another")
		h.runner.Configured()
		n.settle()
		n.heard(t, "another")
		settles(t, n)
	})
	t.Run("the shard moves just then", func(t *testing.T) {
		n, h := registered(t)
		h.die()
		n.rename("another")
		n.hold(1)
		n.settle()
		n.heard(t, "another")
		settles(t, n)
	})
	t.Run("another shard does not tell it", func(t *testing.T) {
		n, h := registered(t)
		h.die()
		n.rename("another")
		n.hold(2)
		n.pass(time.Minute)
		n.heard(t)
	})
	t.Run("the holder dies when it has sent it, and it is renamed back", func(t *testing.T) {
		n, h := registered(t)
		n.phone.silent = true
		n.rename("another")
		h.runner.Configured()
		n.settle()
		n.heard(t, "another")
		h.die()
		n.phone.silent = false
		n.rename("AMF")
		n.hold(1)
		n.settle()
		n.heard(t, "AMF")
		settles(t, n)
	})
	t.Run("the gNB does not answer", func(t *testing.T) {
		n, h := registered(t)
		n.phone.silent = true
		n.rename("another")
		h.runner.Configured()
		n.pass(9 * time.Second)
		n.heard(t, "another")
		n.pass(2 * time.Second)
		n.heard(t, "another")
		n.phone.silent = false
		n.pass(30 * time.Second)
		n.heard(t, "another")
		settles(t, n)
	})
	t.Run("the gNB refuses for a while", func(t *testing.T) {
		n, h := registered(t)
		n.phone.refuses = true
		n.rename("another")
		h.runner.Configured()
		n.pass(55 * time.Second)
		n.heard(t, "another")
		n.phone.refuses = false
		n.pass(10 * time.Second)
		n.heard(t, "another")
		settles(t, n)
	})
	t.Run("it changes before the gNB has answered", func(t *testing.T) {
		n, h := registered(t)
		n.rename("another")
		h.runner.Configured()
		n.rename("a third")
		h.runner.Configured()
		n.settle()
		n.heard(t, "another")
		n.pass(3 * time.Second)
		n.heard(t, "a third")
		settles(t, n)
	})
	t.Run("the gNB says something else before it answers", func(t *testing.T) {
		n, h := registered(t)
		n.rename("another")
		h.runner.Configured()
		n.phone.says(&n2.RANConfigurationUpdate{Name: "attic"})
		n.settle()
		n.heard(t, "another")
		settles(t, n)
		if got := n.nodes[gnbAt].Name; got != "attic" {
			t.Errorf("the gNB is called %q", got)
		}
	})
	t.Run("the gNB takes nothing just then: that the AMF goes, to which nobody answers, it is told with the next look, and once", func(t *testing.T) {
		n, h := registered(t)
		leaving := *n.settings
		leaving.Removed = true
		n.settings = &leaving
		n.phone.full, n.phone.log = true, nil
		h.runner.Configured()
		n.pass(3 * time.Second)
		n.phone.full = false
		n.pass(10 * time.Second)
		if want := []string{"AMFStatusIndication"}; !slices.Equal(n.phone.log, want) {
			t.Errorf("the gNB hears %v, want %v", n.phone.log, want)
		}
	})
	t.Run("what nobody has noted is told", func(t *testing.T) {
		n, _ := registered(t)
		g := *n.nodes[gnbAt]
		g.Told, g.Lead = 0, 0
		n.nodes[gnbAt] = &g
		n.pass(3 * time.Second)
		n.heard(t, "AMF")
		settles(t, n)
		if got := n.nodes[gnbAt].Lead; got != 1 {
			t.Errorf("it is led by shard %d", got)
		}
	})
}

// One that says two things at once has said both, though its terminator has not told of the first yet.
func TestAGNBThatSaysTwoThingsAtOnce(t *testing.T) {
	n, h := registered(t)
	for i, m := range []n2.Message{&n2.RANConfigurationUpdate{Name: "attic"}, &n2.RANConfigurationUpdate{DRX: n2.DRX64}} {
		b, err := n2.Write(m)
		if err != nil {
			t.Fatal(err)
		}
		h.runner.Took(termName, &link.Deliver{Number: uint64(90 + i), Association: gnbAt, Shard: 1, Message: b})
	}
	n.settle()
	if g := n.nodes[gnbAt]; g.Name != "attic" || g.DRX != 64 {
		t.Errorf("the gNB is remembered as %+v", g)
	}
}
