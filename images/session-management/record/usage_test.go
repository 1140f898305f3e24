package record

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUsageReportsAreSeenOnce(t *testing.T) {
	for name, c := range map[string]struct {
		sequences []uint32
		want      []bool
	}{
		"in order":                       {[]uint32{0, 1, 2}, []bool{true, true, true}},
		"the last one again":             {[]uint32{0, 1, 1}, []bool{true, true, false}},
		"an earlier one again":           {[]uint32{0, 1, 2, 0}, []bool{true, true, true, false}},
		"one that was overtaken":         {[]uint32{0, 2, 1, 1, 2}, []bool{true, true, true, false, false}},
		"the first one was overtaken":    {[]uint32{3, 0, 2, 1, 0, 4}, []bool{true, true, true, true, false, true}},
		"one of long ago":                {[]uint32{100, 0, 40}, []bool{true, false, true}},
		"as many as there can be missed": {[]uint32{1 << 31, 1<<31 - 63, 1<<31 - 63}, []bool{true, true, false}},
	} {
		t.Run(name, func(t *testing.T) {
			g, got := Group{}, []bool(nil)
			for _, n := range c.sequences {
				got = append(got, g.See(n))
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// A unit that has a session made anew says last what its URRs of before have measured, also where nobody knew that it had them.
func TestURRsOfBeforeCount(t *testing.T) {
	u := &Usage{Numbered: 1, Groups: []Group{{URR: 1, Has: true, Seen: 3}}}
	g := &u.Groups[0]
	u.Number()
	if g.URR != 2 || g.Has || !g.Of(1, 3) || g.Of(1, 2) {
		t.Errorf("a URR that the unit had is %+v", g)
	}
	u.Number() // asked for, and the unit has not answered
	if g.URR != 2 || !g.Of(1, 4) || !g.Of(2, 0) {
		t.Errorf("a URR that the unit may have is %+v", g)
	}
	u.Number() // it had it
	if g.URR != 3 || g.Of(2, 0) || !g.Of(2, 1) || !g.Of(3, 0) {
		t.Errorf("a URR that has said something is %+v", g)
	}
}
