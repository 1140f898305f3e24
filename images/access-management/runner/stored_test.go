package runner

import (
	"testing"

	"core5g.dev/core5g/images/access-management/record"
)

// A record that is found alike joins and leaves nothing; one that differs in anything by which it is found is not.
func TestFoundAlike(t *testing.T) {
	attached := func(amf, association uint64) *record.Attachment {
		return &record.Attachment{Terminator: "n2-0", Association: association, AMF: amf}
	}
	base := func() *record.UE {
		return &record.UE{SUPI: supi, Shard: 1, TMSI: 5, N2: attached(1, 7), Allowed: []record.Slice{{SST: 1}}, Listed: true}
	}
	for sentence, x := range map[string]struct {
		change func(*record.UE)
		alike  bool
	}{
		"what nothing is found by":     {func(u *record.UE) { u.GPSI, u.Phase, u.Procedure = "x", record.Registered, &record.Procedure{} }, true},
		"other slices refused":         {func(u *record.UE) { u.Rejected = []record.Rejected{{}} }, true},
		"another 5G-TMSI":              {func(u *record.UE) { u.TMSI = 6 }, false},
		"the 5G-TMSI of before":        {func(u *record.UE) { u.OldTMSI = 4 }, false},
		"idle":                         {func(u *record.UE) { u.N2 = nil }, false},
		"another AMF UE NGAP ID":       {func(u *record.UE) { u.N2 = attached(2, 7) }, false},
		"another association":          {func(u *record.UE) { u.N2 = attached(1, 8) }, false},
		"another terminator":           {func(u *record.UE) { u.N2.Terminator = "n2-1" }, false},
		"an attachment that is left":   {func(u *record.UE) { u.Left = []record.Attachment{*attached(2, 8)} }, false},
		"idle, and one that is left":   {func(u *record.UE) { u.N2, u.Left = nil, []record.Attachment{*u.N2} }, false},
		"a handover":                   {func(u *record.UE) { u.Handover = &record.Handover{Target: *attached(3, 9)} }, false},
		"another slice":                {func(u *record.UE) { u.Allowed = []record.Slice{{SST: 2}} }, false},
		"a slice with an SD":           {func(u *record.UE) { u.Allowed = []record.Slice{{SST: 1, SD: &[3]byte{}}} }, false},
		"one slice more":               {func(u *record.UE) { u.Allowed = append(u.Allowed, record.Slice{SST: 2}) }, false},
		"another shard":                {func(u *record.UE) { u.Shard = 2 }, false},
		"by a program that lists less": {func(u *record.UE) { u.Listed = false }, true},
	} {
		was, is := base(), base()
		x.change(is)
		if got := foundAlike(was, is); got != x.alike {
			t.Errorf("%s: alike %t", sentence, got)
		}
		join, leave := regrouped(was, is)
		if changes := len(join) + len(leave) + len(without(indexes(is), indexes(was))) + len(without(indexes(was), indexes(is))); (changes == 0) != x.alike {
			t.Errorf("%s: it joins %q and leaves %q", sentence, join, leave)
		}
		if was.Listed = false; foundAlike(was, is) {
			t.Errorf("%s: behind a program that lists less, it is", sentence)
		}
	}
	if foundAlike(nil, base()) || foundAlike(base(), nil) {
		t.Error("nothing is alike")
	}
}
