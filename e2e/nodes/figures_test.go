package nodes

import (
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/takeover"
)

func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*figures)
		want   string
	}{
		"all is well":          {func(*figures) {}, ""},
		"nothing passed":       {func(f *figures) { f.packets.Answered = 0 }, "no packet passed at all"},
		"a long gap":           {func(f *figures) { f.packets.GapMS = 5001 }, "for 5001 ms, want 5000"},
		"two at once":          {func(f *figures) { f.packets.BothAnsweredMS = 1 }, "two answered"},
		"a session is lost":    {func(f *figures) { f.check.Lost = 1 }, "1 of 100 sessions are gone"},
		"there were none":      {func(f *figures) { f.check.Sessions = 0 }, "0 of 0 sessions"},
		"taken back":           {func(f *figures) { f.epochs = 2 }, "taken over 2 times"},
		"nobody registered":    {func(f *figures) { f.registrations = 0 }, "no UE has registered"},
		"one waited too long":  {func(f *figures) { f.longest = 3 * time.Minute }, "waited for 3m0s"},
		"one did not get in":   {func(f *figures) { f.failed = []string{"imsi-1: refused"} }, "imsi-1: refused"},
		"one registered again": {func(f *figures) { f.anew = []string{"imsi-2 has registered anew"} }, "imsi-2 has registered anew"},
	} {
		f := figures{
			name: "off", ues: 8, epochs: 1, registrations: 9, longest: 12 * time.Second, check: takeover.Check{Sessions: 100},
			packets: takeover.Report{Echoes: takeover.Echoes{Sent: 1000, Answered: 900, GapMS: 4000}},
		}
		c.change(&f)
		err := f.judge()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if !strings.Contains(f.line(), "case=off ") || !strings.Contains(f.line(), " gap_ms=") {
			t.Errorf("%s: line %q", name, f.line())
		}
	}
}
