package compile

import (
	"testing"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/rules"
)

// A PDR finds the packets of each of its predefined rules; those of a closed one are dropped. One that the configuration does not have
// any more finds nothing, as a PDR whose rules have all been deactivated.
func TestPredefinedRules(t *testing.T) {
	flow := func(text string) rules.Flow {
		f, err := rules.ParseFlow(text)
		if err != nil {
			t.Fatal(err)
		}
		return *f
	}
	catalogue := map[string]*rules.Predefined{
		"video":   {Flows: []rules.Flow{flow("permit out ip from 203.0.113.1 to assigned"), flow("permit out ip from 203.0.113.2 to assigned")}},
		"games":   {Flows: []rules.Flow{flow("permit out ip from 198.51.100.1 to assigned")}, Closed: true},
		"gambles": {Flows: []rules.Flow{flow("permit out ip from 198.51.100.2 to assigned")}, Closed: true},
	}
	s := makeSession().uplink(1, 1).downlink(2, 2)
	fars := len(s.compile(t).FARs)
	s.in.Predefined = func(name string) *rules.Predefined { return catalogue[name] }
	r := s.in.Rules.PDRs.Get(2)
	r.Predefined = []string{"video", "games", "chess", "gambles"}
	c := s.compile(t)
	var found []abi.Pdr
	for _, p := range c.PDRs {
		if p.PdrId == 2 {
			found = append(found, p)
		}
	}
	if len(found) != 4 || len(c.SDFs) != 4 || len(c.FARs) != fars+1 {
		t.Fatalf("%d entries of the PDR, %d filters, %d FARs; want 4, 4 and one more than %d", len(found), len(c.SDFs), len(c.FARs), fars)
	}
	for i, want := range []struct {
		filters uint16
		remote  string
		closed  bool
	}{{2, "203.0.113.1", false}, {1, "198.51.100.1", true}, {0, "", false}, {1, "198.51.100.2", true}} {
		p := found[i]
		if p.Flags&abi.PdrSdf == 0 || p.SdfCount != want.filters || want.filters > 0 && c.SDFs[p.SdfFirst].RemoteAddrBe != be(want.remote) {
			t.Errorf("entry %d: %+v, want %d filters from %s", i, p, want.filters, want.remote)
		}
		if closed := c.FARs[p.Far].Action == abi.FarDrop; closed != want.closed || !closed && c.FARs[p.Far].FarId != r.FAR {
			t.Errorf("entry %d goes by FAR %+v, want closed %t", i, c.FARs[p.Far], want.closed)
		}
	}
	r.Predefined, r.Deactivated = nil, true
	if c := s.compile(t); len(c.SDFs) != 0 || len(c.FARs) != fars {
		t.Errorf("%d filters, %d FARs when all are deactivated", len(c.SDFs), len(c.FARs))
	} else {
		for _, p := range c.PDRs {
			if p.PdrId == 2 && p.Flags&abi.PdrSdf == 0 {
				t.Errorf("entry %+v of a PDR without rules finds packets", p)
			}
		}
	}
}
