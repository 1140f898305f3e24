package procedure

import (
	"testing"

	"core5g.dev/core5g/images/access-management/n2"

	"github.com/google/go-cmp/cmp"
)

func TestOverload(t *testing.T) {
	type look struct{ came, tooMany int }
	calm := look{came: 10}
	for name, tt := range map[string]struct {
		looks []look
		want  []uint8
	}{
		"nobody comes":                             {[]look{{}, {}}, []uint8{0, 0}},
		"all who come have room":                   {[]look{calm, calm}, []uint8{0, 0}},
		"half are too many":                        {[]look{{100, 50}}, []uint8{50}},
		"one of many is: a tenth":                  {[]look{{1000, 1}}, []uint8{10}},
		"a little more than a quarter: in tens":    {[]look{{1000, 251}}, []uint8{30}},
		"all are: a way in is left":                {[]look{{7, 7}}, []uint8{90}},
		"more are than have come: as many":         {[]look{{7, 9}}, []uint8{90}},
		"of what is let in half is still too much": {[]look{{100, 50}, {50, 25}}, []uint8{50, 80}},
		"it goes on, and is as much as before":     {[]look{{100, 50}, {50, 0}, {50, 1}}, []uint8{50, 50, 60}},
		"five calm looks: half of it": {
			[]look{{100, 90}, calm, calm, calm, calm, calm}, []uint8{90, 90, 90, 90, 90, 40},
		},
		"what is calm begins anew with one that is too many": {
			[]look{{100, 20}, calm, calm, calm, calm, {100, 1}, calm, calm, calm, calm, calm}, []uint8{20, 20, 20, 20, 20, 30, 30, 30, 30, 30, 10},
		},
		"a tenth, and calm: it is over": {
			[]look{{100, 1}, {}, {}, {}, {}, {}, {}}, []uint8{10, 10, 10, 10, 10, 0, 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var o Overload
			var got []uint8
			for _, l := range tt.looks {
				o.Look(l.came, l.tooMany)
				got = append(got, o.Reduction)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("reductions (-want +is):\n%s", diff)
			}
		})
	}
	for reduction, want := range map[uint8]n2.Message{
		0: &n2.OverloadStop{}, 40: &n2.OverloadStart{Action: n2.OverloadRejectSignalling, Reduction: 40},
	} {
		if diff := cmp.Diff(want, (&Overload{Reduction: reduction}).Request()); diff != "" {
			t.Errorf("%d %% (-want +is):\n%s", reduction, diff)
		}
	}
}
