package fencing

import "testing"

// A unit whose pods are gone for ever is nobody's once its record says so: the first member that comes has it, and the next epoch.
func TestAFreeUnitIsClaimedOnce(t *testing.T) {
	held := Seen{Record: Record{Epoch: 7, Holder: "gone/1", Standby: "gone-too/1", Renewed: 40}, Version: "3"}
	free := Seen{Record: Record{Epoch: 7, Renewed: 41}, Version: "4"}

	s := NewStandby(DefaultTerms(), "a/1")
	s.Read(0, held, true)
	if s.Free() {
		t.Error("a unit that somebody holds is free")
	}
	s.Read(0, free, true)
	if !s.Free() {
		t.Error("a unit that nobody holds is not free")
	}

	claim := func(life string) (*Unit, *Write) {
		u := NewUnit(DefaultTerms(), life, false)
		if asks := u.Tick(0); !asks.Read {
			t.Fatalf("%s does not look at the record: %+v", life, asks)
		}
		u.Read(0, free, true)
		return u, u.Tick(0).Write
	}
	first, w := claim("a/2")
	if w == nil || w.Record != (Record{Epoch: 8, Holder: "a/2", Renewed: 42}) || w.If != "4" {
		t.Fatalf("a free unit is claimed with %+v", w)
	}
	second, w2 := claim("b/2")
	if w2 == nil {
		t.Fatal("the second member does not claim a free unit")
	}
	first.Written(0, Done, "5")
	second.Written(0, Refused, "")
	second.Tick(0)
	second.Read(0, Seen{Record: w.Record, Version: "5"}, true)
	second.Tick(0)
	if first.Grant(0).Epoch != 8 || second.Grant(0).Epoch != 0 || !second.Over() {
		t.Errorf("grants %+v and %+v, the second one is over: %t", first.Grant(0), second.Grant(0), second.Over())
	}
}
