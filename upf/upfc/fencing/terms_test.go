package fencing

import (
	"testing"
	"time"
)

func TestTerms(t *testing.T) {
	if err := DefaultTerms().Check(); err != nil {
		t.Errorf("the default terms: %v", err)
	}
	for name, change := range map[string]func(*Terms){
		"a standby asks before the last grant has ended": func(t *Terms) { t.Wait = t.Grant },
		"clocks that disagree use the margin up":         func(t *Terms) { t.Wait = t.Grant + slack },
		"renewals come too seldom":                       func(t *Terms) { t.Renew = t.Grant },
		"beats come too seldom":                          func(t *Terms) { t.Beat = t.Grant },
		"nothing is granted":                             func(t *Terms) { t.Grant = 0 },
		"N4 does not wait":                               func(t *Terms) { t.Bound = 0 },
		"a unit that yields does not forward":            func(t *Terms) { t.HandOver = 0 },
	} {
		terms := DefaultTerms()
		change(&terms)
		if terms.Check() == nil {
			t.Errorf("%s: %+v is taken", name, terms)
		}
	}
}

// What each cut does, and what it does not.
func TestCuts(t *testing.T) {
	for name, tt := range map[string]struct {
		cut        func(w *world)
		wantTakes  int
		wantSilent bool // for some time nobody answers
	}{
		"the arbiter alone is lost":             {func(w *world) { w.cut[1], w.cut[2] = true, true }, 0, false},
		"the stream alone is lost":              {func(w *world) { w.cut[0] = true }, 0, false},
		"the unit is cut from both":             {func(w *world) { w.cut[0], w.cut[1] = true, true }, 1, true},
		"the standby is cut from both":          {func(w *world) { w.cut[0], w.cut[2] = true, true }, 0, false},
		"both processes of the unit are killed": {func(w *world) { w.pods[0].killDataplane(); w.pods[0].killAgent() }, 1, true},
		"upf-c of the unit is killed for ever":  {func(w *world) { w.pods[0].killAgent() }, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(7, faults{})
			w.calm = true
			w.until(5 * time.Second)
			if w.record.Standby == "" {
				t.Fatal("no standby")
			}
			tt.cut(w)
			silent := time.Duration(0)
			for range 2000 {
				w.until(w.now + 10*ms)
				if !w.pods[0].answers() && !w.pods[1].answers() {
					silent += 10 * ms
				}
			}
			if w.wrong != "" || w.takes != tt.wantTakes || (silent > 0) != tt.wantSilent {
				t.Errorf("%s; %d takeovers, want %d; silent for %s", w.wrong, w.takes, tt.wantTakes, silent)
			}
			if silent > 5*time.Second {
				t.Errorf("silent for %s, want 5 s at most", silent)
			}
			t.Logf("silent for %s", silent)
		})
	}
}
