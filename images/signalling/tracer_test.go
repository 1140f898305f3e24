package signalling

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type clock struct{ now time.Time }

func newTracer() (*Tracer, *clock) {
	c := &clock{time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
	return New(func() time.Time { return c.now }), c
}

func read(t *testing.T, x *Tracer, supi string, nas bool, after uint64) Page {
	t.Helper()
	page, err := x.Trace(supi, time.Minute, nas, after)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

func messages(p Page) (out []string) {
	for _, e := range p.Entries {
		out = append(out, fmt.Sprint(e.Number, " ", e.Message))
	}
	return out
}

func TestATraceBeginsWhenAskedForAndEnds(t *testing.T) {
	x, c := newTracer()
	x.Add("a", Entry{Message: "before"})
	if x.Active() || x.Wants("a") {
		t.Error("somebody is traced, and nobody has asked")
	}
	read(t, x, "a", false, 0)
	x.Add("a", Entry{Message: "one"}, Entry{Message: "two"})
	x.Add("b", Entry{Message: "another UE's"})
	page := read(t, x, "a", false, 0)
	if diff := cmp.Diff([]string{"1 one", "2 two"}, messages(page)); diff != "" || !page.Entries[0].At.Equal(c.now) {
		t.Errorf("%s %v", diff, page)
	}
	x.Add("a", Entry{Message: "three"})
	page = read(t, x, "a", false, page.Next)
	if diff := cmp.Diff([]string{"3 three"}, messages(page)); diff != "" {
		t.Error(diff)
	}
	if page = read(t, x, "a", false, page.Next); len(page.Entries) != 0 || page.Next != 3 {
		t.Errorf("%+v", page)
	}
	c.now = c.now.Add(59 * time.Second)
	x.sweepLocked()
	if !x.Wants("a") {
		t.Error("it has ended before its time")
	}
	c.now = c.now.Add(time.Second)
	x.sweepLocked()
	if x.Active() || x.Wants("a") {
		t.Error("it goes on")
	}
	var none *Tracer
	if none.Active() {
		t.Error("no tracer traces")
	}
}

func TestTheRingIsBounded(t *testing.T) {
	x, _ := newTracer()
	read(t, x, "a", false, 0)
	for n := range ringLength + 10 {
		x.Add("a", Entry{Message: fmt.Sprint(n + 1)})
	}
	page := read(t, x, "a", false, 4)
	if page.Lost != 6 || len(page.Entries) != mostPage || page.Entries[0].Message != "11" || page.Entries[0].Number != 11 || page.Next != 10+mostPage {
		t.Errorf("lost %d, %d entries from %+v, next %d", page.Lost, len(page.Entries), page.Entries[0], page.Next)
	}
	x.Add("a", Entry{Protocol: NGAP, Octets: make([]byte, mostOctets)}, Entry{Message: "last", Protocol: NGAP, Octets: []byte{1}})
	if page = read(t, x, "a", false, 0); len(page.Entries) != 1 || page.Entries[0].Message != "last" {
		t.Errorf("%d entries, of more octets than there may be", len(page.Entries))
	}
	for n := 1; n < MostTraced; n++ {
		read(t, x, fmt.Sprint(n), false, 0)
	}
	if _, err := x.Trace("one more", time.Minute, false, 0); err == nil {
		t.Error("more UEs are traced than may be")
	}
	for _, d := range []time.Duration{0, Longest + 1} {
		if _, err := x.Trace("a", d, false, 0); err == nil {
			t.Errorf("a trace lasts %s", d)
		}
	}
}

func TestNASIsKeptWhereItIsAskedFor(t *testing.T) {
	x, _ := newTracer()
	read(t, x, "a", false, 0)
	x.Add("a", Entry{Protocol: NAS, Octets: []byte{1}}, Entry{Protocol: NGAP, Octets: []byte{2}})
	page := read(t, x, "a", true, 0)
	x.Add("a", Entry{Protocol: NAS, Octets: []byte{3}})
	page.Entries = append(page.Entries, read(t, x, "a", true, page.Next).Entries...)
	var got []string
	for _, e := range page.Entries {
		got = append(got, fmt.Sprint(e.Octets))
	}
	if diff := cmp.Diff([]string{"[]", "[2]", "[3]"}, got); diff != "" {
		t.Error(diff)
	}
}

// What a UE said before it was known belongs to it; what strangers say costs little, and nothing where nobody is traced.
func TestStrangers(t *testing.T) {
	x, c := newTracer()
	x.AddStranger(Stranger{1, 1}, Entry{Message: "nobody looks"})
	read(t, x, "a", false, 0)
	for n := range strangerRing + 5 {
		x.AddStranger(Stranger{1, 1}, Entry{Message: fmt.Sprint("mine ", n)})
	}
	x.AddStranger(Stranger{2, 1}, Entry{Message: "another's"})
	c.now = c.now.Add(time.Second)
	x.Known(Stranger{1, 1}, "a")
	x.Known(Stranger{2, 1}, "b")
	x.Add("a", Entry{Message: "known"})
	page := read(t, x, "a", false, 0)
	if len(page.Entries) != strangerRing+1 || page.Entries[0].Message != "mine 0" || page.Entries[0].At.Equal(c.now) || page.Entries[strangerRing].Message != "known" {
		t.Errorf("%v", messages(page))
	}
	x.AddStranger(Stranger{1, 1}, Entry{Message: "still by its other name"})
	if page = read(t, x, "a", false, page.Next); len(page.Entries) != 1 {
		t.Errorf("%v", messages(page))
	}
	x.Known(Stranger{1, 1}, "a")
	for n := range mostStrangers + 10 {
		x.AddStranger(Stranger{3, uint64(n)}, Entry{})
	}
	if len(x.strangers) != mostStrangers {
		t.Errorf("%d strangers", len(x.strangers))
	}
	c.now = c.now.Add(strangerTime)
	x.AddStranger(Stranger{4, 1}, Entry{})
	if len(x.strangers) != 1 {
		t.Errorf("%d strangers after their time", len(x.strangers))
	}
	c.now = c.now.Add(time.Minute)
	x.sweepLocked()
	if len(x.strangers) != 0 {
		t.Errorf("%d strangers, and nobody is traced", len(x.strangers))
	}
}
