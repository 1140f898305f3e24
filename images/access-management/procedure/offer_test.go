package procedure

import (
	"net/netip"
	"strings"
	"testing"

	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/ngapcause"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// terminators by their pods and addresses: a=192.0.2.1,2001:db8::1.
func terminators(list ...string) (out []Terminator) {
	for _, text := range list {
		pod, addresses, _ := strings.Cut(text, "=")
		t := Terminator{Pod: pod}
		for a := range strings.SplitSeq(addresses, ",") {
			t.Addresses = append(t.Addresses, netip.MustParseAddr(a))
		}
		out = append(out, t)
	}
	return out
}

func addresses(list ...string) (out []n2.Address) {
	for _, text := range list {
		out = append(out, addressOf(netip.MustParseAddr(text)))
	}
	return out
}

func weighed(list ...string) (out []n2.Association) {
	for _, a := range addresses(list...) {
		out = append(out, n2.Association{Address: a, Use: n2.UseForBoth, Weight: new(uint8(weight))})
	}
	return out
}

func known(refused string, list ...string) (out []record.End) {
	for _, text := range list {
		out = append(out, record.End{Address: netip.MustParseAddr(text).AsSlice(), Refused: text == refused})
	}
	return out
}

// connectedAt is an association of the gNB's interface with a terminator's pod, whose address is that.
func connectedAt(pod, here string) *record.GNB {
	return &record.GNB{PLMN: "20893", ID: 5, Bits: 22, Terminator: pod + "/1", Association: 1, Peer: "192.0.2.77:9000", Here: here}
}

// What a gNB hears of N2 terminators (TS 38.413 8.7.3).
func TestOffer(t *testing.T) {
	two := terminators("a=192.0.2.1", "b=192.0.2.2")
	answered := func(g *record.GNB, list ...Terminator) *record.GNB {
		is := *g
		is.Offered = (&Settings{Terminators: list}).offered()
		return &is
	}
	ends := func(g *record.GNB, list []record.End) *record.GNB {
		is := *g
		is.Ends = list
		return &is
	}
	a, b := connectedAt("a", "192.0.2.1:38412"), connectedAt("b", "192.0.2.2:38412")
	six := connectedAt("a", "[2001:db8::1]:38412")
	six.Peer = "[2001:db8::77]:9000"
	for name, c := range map[string]struct {
		terminators []Terminator
		removed     bool
		all         []*record.GNB // the first is told
		want        *n2.AMFConfigurationUpdate
	}{
		"behind a Service":             {all: []*record.GNB{a}},
		"one, where it is":             {terminators: two[:1], all: []*record.GNB{a}},
		"another one":                  {terminators: two, all: []*record.GNB{a}, want: &n2.AMFConfigurationUpdate{Add: weighed("192.0.2.2"), Update: weighed("192.0.2.1")}},
		"it is there at both":          {terminators: two, all: []*record.GNB{a, b}},
		"it has heard of them":         {terminators: two, all: []*record.GNB{answered(a, two...)}},
		"it has, and of others before": {terminators: two, all: []*record.GNB{answered(a, two[0])}, want: &n2.AMFConfigurationUpdate{Add: weighed("192.0.2.2"), Update: weighed("192.0.2.1")}},
		"the AMF goes":                 {terminators: two, removed: true, all: []*record.GNB{a}},
		"it has come by a Service, and the terminator does not know its own end": {terminators: two, all: []*record.GNB{connectedAt("a", "0.0.0.0:38412")}, want: &n2.AMFConfigurationUpdate{Add: weighed("192.0.2.2")}},
		"it has come by IPv6": {
			terminators: terminators("a=192.0.2.1,2001:db8::1", "b=192.0.2.2,2001:db8::2", "c=192.0.2.3"), all: []*record.GNB{six},
			want: &n2.AMFConfigurationUpdate{Add: weighed("2001:db8::2", "192.0.2.3"), Update: weighed("2001:db8::1")},
		},
		"one goes": {terminators: two[1:], all: []*record.GNB{ends(answered(a, two...), known("", "192.0.2.1", "192.0.2.2")), b}, want: &n2.AMFConfigurationUpdate{Remove: addresses("192.0.2.1")}},
		"one goes, and another comes": {
			terminators: terminators("b=192.0.2.2", "c=192.0.2.3"), all: []*record.GNB{ends(answered(a, two...), known("", "192.0.2.1", "192.0.2.2")), b},
			want: &n2.AMFConfigurationUpdate{Add: weighed("192.0.2.3"), Update: weighed("192.0.2.2"), Remove: addresses("192.0.2.1")},
		},
		"the only one that it has goes: the other first": {
			terminators: two[1:], all: []*record.GNB{ends(answered(a, two...), known("192.0.2.2", "192.0.2.1", "192.0.2.2"))},
			want: &n2.AMFConfigurationUpdate{Add: weighed("192.0.2.2")},
		},
		"it goes, and the gNB could not connect to the other: it keeps what it has": {terminators: two[1:], all: []*record.GNB{ends(answered(a, two[1]), known("192.0.2.2", "192.0.2.1", "192.0.2.2"))}},
		"nobody knows what it has heard: what any of its associations has": {
			terminators: two[1:], all: []*record.GNB{b, ends(a, known("", "192.0.2.1"))}, want: &n2.AMFConfigurationUpdate{Remove: addresses("192.0.2.1")},
		},
		"a pod of before, at the same address": {terminators: terminators("a=192.0.2.1", "b2=192.0.2.2"), all: []*record.GNB{answered(a, two...), b}},
	} {
		var got *n2.AMFConfigurationUpdate
		o := NewOffer(&Settings{Terminators: c.terminators, Removed: c.removed}, c.all[0], c.all)
		if o != nil && o.Message != nil {
			got = o.Message
			if _, err := n2.Write(got); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if diff := cmp.Diff(c.want, got, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if got == nil {
			continue
		}
		sent := o.Sent(c.all[0], 7)
		if sent.Offered != 0 || sent.Offering != 7 || c.all[0].Offering != 0 {
			t.Errorf("%s: sent it is %+v, of %+v", name, sent, c.all[0])
		}
		taken := o.Taken(sent)
		if again := NewOffer(&Settings{Terminators: c.terminators}, taken, append([]*record.GNB{taken}, c.all[1:]...)); again.Message != nil {
			t.Errorf("%s: it has answered, and hears %+v", name, again.Message)
		}
	}
}

// Where it is by itself it is noted, once, so that it hears when that goes.
func TestWhereAGNBIsByItself(t *testing.T) {
	settings := &Settings{Terminators: terminators("a=192.0.2.1")}
	g := connectedAt("a", "192.0.2.1:38412")
	o := NewOffer(settings, g, []*record.GNB{g})
	noted := o.Noted(g)
	if o.Message != nil || noted == nil || noted.Offered != 0 || cmp.Diff(known("", "192.0.2.1"), noted.Ends) != "" || g.Ends != nil {
		t.Fatalf("%+v, noted as %+v", o, noted)
	}
	if again := NewOffer(settings, noted, []*record.GNB{noted}).Noted(noted); again != nil {
		t.Errorf("it is noted again, as %+v", again)
	}
	noted.Ends = known("192.0.2.1", "192.0.2.1")
	if again := NewOffer(settings, noted, []*record.GNB{noted}).Noted(noted); again == nil || again.Ends[0].Refused || !noted.Ends[0].Refused {
		t.Errorf("it is there where it could not connect to, and noted as %+v", again)
	}
	settings.Terminators = terminators("b=192.0.2.2")
	b := connectedAt("b", "192.0.2.2:38412")
	o = NewOffer(settings, noted, []*record.GNB{noted, b})
	if diff := cmp.Diff(&n2.AMFConfigurationUpdate{Remove: addresses("192.0.2.1")}, o.Message, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("it has another, and the first goes (-want +got):\n%s", diff)
	}
}

// What it has made and could not is remembered, and what it was told to let go of is not.
func TestWhatAGNBMakesOfAnOffer(t *testing.T) {
	three := terminators("a=192.0.2.1", "b=192.0.2.2", "c=192.0.2.3")
	g := connectedAt("a", "192.0.2.1:38412")
	g.Ends = known("", "192.0.2.1", "192.0.2.9")
	settings := &Settings{Terminators: three}
	o := NewOffer(settings, g, []*record.GNB{g})
	sent := o.Sent(g, 7)
	if diff := cmp.Diff(known("", "192.0.2.1", "192.0.2.9", "192.0.2.2", "192.0.2.3"), sent.Ends); diff != "" {
		t.Errorf("it may know (-want +got):\n%s", diff)
	}
	for name, c := range map[string]struct {
		got  *record.GNB
		want []record.End
	}{
		"it has made one of two": {
			o.Taken(Connected(sent, addresses("192.0.2.2"), []n2.RefusedAssociation{{Address: addresses("192.0.2.3")[0], Cause: ngapcause.TransportUnspecified}})),
			known("192.0.2.3", "192.0.2.1", "192.0.2.2", "192.0.2.3"),
		},
		"it has made the other since": {Connected(&record.GNB{Ends: known("192.0.2.3", "192.0.2.2", "192.0.2.3")}, addresses("192.0.2.3"), nil), known("", "192.0.2.2", "192.0.2.3")},
		"it says nothing of them":     {o.Taken(sent), known("", "192.0.2.1", "192.0.2.2", "192.0.2.3")},
	} {
		if diff := cmp.Diff(c.want, c.got.Ends); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	refused := o.Refused(sent)
	for n, e := range refused.Ends {
		if want := n > 0; e.Refused != want {
			t.Errorf("it refuses all: %v is %t", e.Address, e.Refused)
		}
	}
	if NewOffer(settings, refused, []*record.GNB{refused}).Message != nil {
		t.Error("it refuses all, and is told again")
	}
	many := &record.GNB{}
	for n := range 3 * mostEnds {
		many.Ends = with(many.Ends, record.End{Address: []byte{10, 0, 0, byte(n)}})
	}
	if len(many.Ends) != mostEnds || many.Ends[mostEnds-1].Address[3] != 3*mostEnds-1 {
		t.Errorf("%d are remembered, up to %v", len(many.Ends), many.Ends[mostEnds-1])
	}
}

// TS 38.413 9.2.6.7 has 32 in each list.
func TestAnOfferOfMany(t *testing.T) {
	var many []Terminator
	for n := range 80 {
		many = append(many, Terminator{Pod: string(rune('A' + n)), Addresses: []netip.Addr{netip.AddrFrom4([4]byte{192, 0, 2, byte(n)})}})
	}
	g := connectedAt("A", "192.0.2.0:38412")
	for n := range mostEnds {
		g.Ends = append(g.Ends, record.End{Address: []byte{10, 0, 0, byte(n)}})
	}
	o := NewOffer(&Settings{Terminators: many}, g, []*record.GNB{g})
	if len(o.Message.Add) != mostTold-1 || len(o.Message.Update) != 1 || len(o.Message.Remove) != mostTold {
		t.Errorf("%d to add, %d to remove", len(o.Message.Add), len(o.Message.Remove))
	}
	if _, err := n2.Write(o.Message); err != nil {
		t.Error(err)
	}
}
