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
