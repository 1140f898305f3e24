package configuration

import (
	"net/netip"
	"strings"
	"testing"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/google/go-cmp/cmp"
)

func paths(t *testing.T, change func(*DataNetwork, []Unit)) (*Snapshot, error) {
	t.Helper()
	d := DataNetwork{
		DNN: "internet", Types: []n1.SessionType{n1.IPv4}, AMBR: record.AMBR{Uplink: 1, Downlink: 1}, FiveQI: 9, ARP: ARP{Priority: 8},
		Units: []Serving{
			{NodeID: "west", Pools: []netip.Prefix{netip.MustParsePrefix("10.45.0.0/24")}, TACs: []uint32{1, 4}}, {NodeID: "east", Pools: []netip.Prefix{netip.MustParsePrefix("10.46.0.0/24")}, TACs: []uint32{2}},
		},
		Breakouts: []Breakout{
			{Name: "cache", UPFInstance: "edge", Units: []string{"edge-0", "edge-1"}, TACs: []uint32{3, 4}}, {Name: "site", UPFInstance: "edge", Units: []string{"edge-0", "edge-1"}, TACs: []uint32{4}},
		},
	}
	var units []Unit
	for n, node := range []string{"west", "east", "edge-0", "edge-1"} {
		units = append(units, Unit{NodeID: node, Address: netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(n + 1)}), portPFCP)})
	}
	change(&d, units)
	return New([]Slice{{Name: "internet", SST: 1, DataNetworks: []DataNetwork{d}}}, units)
}

// TS 23.501 5.6.4.2, 6.3.3.
func TestPathOf(t *testing.T) {
	nothing := func(*DataNetwork, []Unit) {}
	own := func(d *DataNetwork, _ []Unit) { // west serves everywhere, but where east has the area to itself
		d.Units[0].TACs, d.OwnAreas = nil, []uint32{2}
	}
	for name, c := range map[string]struct {
		change func(*DataNetwork, []Unit)
		tac    uint32
		anchor string
		had    string
		live   map[string]Live
		want   Path
		framed bool
	}{
		"with framed routes: one that takes them":    {nothing, 4, "west", "", map[string]Live{"edge-0": {}, "edge-1": {Framed: true, Sessions: 9}}, Path{"edge-1", []string{"cache", "site"}}, true},
		"with framed routes: the one that it has":    {nothing, 4, "west", "edge-0", nil, Path{"edge-0", []string{"cache", "site"}}, true},
		"with framed routes, and none takes them":    {nothing, 2, "west", "", nil, Path{}, true},
		"the anchor serves the area":                 {nothing, 1, "west", "", nil, Path{}, false},
		"it does not: one that does":                 {nothing, 2, "west", "", nil, Path{NodeID: "east"}, false},
		"the anchor serves any area":                 {own, 9, "west", "", nil, Path{}, false},
		"any but one that is another's":              {own, 2, "west", "", nil, Path{NodeID: "east"}, false},
		"the other is the anchor":                    {own, 2, "east", "", nil, Path{}, false},
		"nobody is in service of those that may":     {own, 2, "west", "", map[string]Live{"east": {Away: true}}, Path{}, false},
		"nobody does":                                {nothing, 9, "west", "east", nil, Path{}, false},
		"a breakout":                                 {nothing, 3, "east", "", nil, Path{"edge-0", []string{"cache"}}, false},
		"two breakouts":                              {nothing, 4, "west", "", nil, Path{"edge-0", []string{"cache", "site"}}, false},
		"the unit with fewer sessions":               {nothing, 4, "west", "", map[string]Live{"edge-0": {Sessions: 9}}, Path{"edge-1", []string{"cache", "site"}}, false},
		"the unit that it has":                       {nothing, 4, "west", "edge-1", map[string]Live{"edge-1": {Sessions: 9}}, Path{"edge-1", []string{"cache", "site"}}, false},
		"the unit that it has, away for a moment":    {nothing, 4, "west", "edge-1", map[string]Live{"edge-1": {Away: true}}, Path{"edge-1", []string{"cache", "site"}}, false},
		"not a unit that is away":                    {nothing, 4, "west", "", map[string]Live{"edge-0": {Away: true}}, Path{"edge-1", []string{"cache", "site"}}, false},
		"not a unit that drains":                     {func(_ *DataNetwork, u []Unit) { u[2].State = Draining }, 4, "west", "edge-0", nil, Path{"edge-1", []string{"cache", "site"}}, false},
		"the anchor is where the breakouts lead":     {nothing, 3, "edge-0", "", nil, Path{}, false},
		"no unit of the breakouts is in service":     {func(_ *DataNetwork, u []Unit) { u[2].State, u[3].State = Locked, Locked }, 4, "west", "edge-0", nil, Path{}, false},
		"none is, and the anchor serves another one": {func(_ *DataNetwork, u []Unit) { u[2].State, u[3].State = Locked, Locked }, 3, "west", "", nil, Path{}, false},
	} {
		s, err := paths(t, c.change)
		if err != nil {
			t.Fatal(err)
		}
		rec := &record.Session{Unit: record.Unit{NodeID: c.anchor}, AMF: record.AMF{TAC: c.tac}}
		if c.framed {
			rec.Routes = record.Prefixes{netip.MustParsePrefix("192.168.7.0/24")}
		}
		if c.had != "" {
			rec.Branch = &record.Branch{NodeID: c.had}
		}
		if diff := cmp.Diff(c.want, s.PathOf(s.Named("internet", "internet"), rec, c.live)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	s, err := paths(t, nothing)
	if err != nil {
		t.Fatal(err)
	}
	frames := &record.Session{Type: n1.Ethernet, Unit: record.Unit{NodeID: "west"}, AMF: record.AMF{TAC: 2}}
	if got := s.PathOf(s.Named("internet", "internet"), frames, nil); got.NodeID != "" {
		t.Errorf("a session of type Ethernet goes by %+v", got)
	}
	if _, err := paths(t, func(d *DataNetwork, _ []Unit) { d.Breakouts[1].UPFInstance = "other" }); err == nil || !strings.Contains(err.Error(), "name one in both") {
		t.Errorf("two UPFInstances in one tracking area: %v", err)
	}
}

func TestMove(t *testing.T) {
	rec := &record.Session{Type: n1.IPv4, IPv4: netip.MustParseAddr("10.45.0.7"), Unit: record.Unit{NodeID: "west"}, AMF: record.AMF{TAC: 1}}
	for name, c := range map[string]struct {
		change func(*DataNetwork, []Unit)
		want   string
	}{
		"each address is routed to its own unit": {func(d *DataNetwork, _ []Unit) { d.Units[1].TACs = nil }, ""},
		"any address is routed to all":           {func(d *DataNetwork, _ []Unit) { d.Routed, d.Units[1].TACs = true, nil }, "east"},
		"the other one does not serve the area":  {func(d *DataNetwork, _ []Unit) { d.Routed = true }, ""},
		"one of any area":                        {func(d *DataNetwork, _ []Unit) { d.Routed, d.Units[1].TACs = true, nil }, "east"},
		"but the area is the first one's":        {func(d *DataNetwork, _ []Unit) { d.Routed, d.Units[1].TACs, d.OwnAreas = true, nil, []uint32{1} }, ""},
		"the other one is locked":                {func(d *DataNetwork, u []Unit) { d.Routed, d.Units[1].TACs, u[1].State = true, nil, Locked }, ""},
	} {
		s, err := paths(t, c.change)
		if err != nil {
			t.Fatal(err)
		}
		move := func(rec *record.Session, live map[string]Live) string {
			if u := s.Move(s.Named("internet", "internet"), rec, live); u != nil {
				return u.NodeID
			}
			return ""
		}
		if got := move(rec, nil); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		framed := rec.Clone()
		framed.Routes = record.Prefixes{netip.MustParsePrefix("192.168.7.0/24")}
		if got := move(framed, nil); got != "" {
			t.Errorf("%s: %q, which does not take framed routes", name, got)
		}
		if got := move(framed, map[string]Live{"east": {Framed: true}}); got != c.want {
			t.Errorf("%s, with framed routes: %q, want %q", name, got, c.want)
		}
	}
}

// What cannot be read has not gone.
func TestGone(t *testing.T) {
	s, err := paths(t, func(_ *DataNetwork, u []Unit) { u[0].State, u[0].Ending, u[1].State = Locked, true, Locked })
	if err != nil {
		t.Fatal(err)
	}
	unread := s.WithUnread(Unread{Slices: []string{"broken"}, UPFInstances: true})
	for name, c := range map[string][2]bool{
		"a unit that is locked for good":            {s.UnitGone("west"), true},
		"one that is made anew":                     {s.UnitGone("east"), false},
		"one that serves":                           {s.UnitGone("edge-0"), false},
		"one that is configured no more":            {s.UnitGone("north"), true},
		"one whose UPFInstance may not be readable": {unread.UnitGone("north"), false},
		"a Slice that is deleted":                   {unread.SliceGone("old"), true},
		"one that cannot be used as it is":          {unread.SliceGone("broken"), false},
		"one that is there":                         {unread.SliceGone("internet"), false},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: gone is %t", name, c[0])
		}
	}
}
