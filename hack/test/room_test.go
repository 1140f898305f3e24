package main

import (
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/hack/runner"
)

func named(name string, r rank, room time.Duration) step {
	return step{rank: r, room: room, Step: runner.Step{Name: name}}
}

// What is left out is what is worth least, and no more of that than has to be.
func TestWhatIsLeftOut(t *testing.T) {
	steps := []step{
		named("build", always, 20*time.Minute), named("twice", spare, 5*time.Minute), named("up", always, 10*time.Minute),
		named("upgrade", shown, 10*time.Minute), named("suites", always, 10*time.Minute), named("security", telling, 5*time.Minute), named("down", always, time.Minute),
	}
	// A step takes as long as its room, and as much longer as a machine is slower.
	left := func(whole time.Duration, slower float64) string {
		given, now := spell{start: time.Unix(0, 0), whole: whole}, time.Unix(0, 0)
		var out []string
		for i, s := range steps {
			if why := given.leaves(steps, i, now); why != "" {
				out = append(out, s.Name)
				continue
			}
			now = now.Add(time.Duration(slower * float64(s.room)))
		}
		return strings.Join(out, " ")
	}
	for name, tt := range map[string]struct {
		whole  time.Duration
		slower float64
		want   string
	}{
		"a run that may take as long as it needs":  {0, 3, ""},
		"one that has time enough":                 {61 * time.Minute, 1, ""},
		"a minute less":                            {60 * time.Minute, 1, "twice"},
		"on a machine that is twice as fast":       {50 * time.Minute, 0.5, "twice"},
		"less than what is shown elsewhere needs":  {55 * time.Minute, 1, "twice upgrade"},
		"less than what always is and must be run": {40 * time.Minute, 1, "twice upgrade security"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := left(tt.whole, tt.slower); got != tt.want {
				t.Errorf("%q is left out, want %q", got, tt.want)
			}
		})
	}
}

// Who reads that something is left out reads how long the run may take, and what it would have taken.
func TestWhyItIsLeftOut(t *testing.T) {
	steps := []step{named("upgrade", shown, 13*time.Minute), named("suites", always, 10*time.Minute)}
	given := spell{start: time.Unix(0, 0), whole: 84 * time.Minute}
	why := given.leaves(steps, 0, time.Unix(0, 0).Add(70*time.Minute))
	if want := "of the run's 1h24m0s there are 14m0s left; it may take 13m0s, and 10m0s for what is worth more behind it"; why != want {
		t.Errorf("%q, want %q", why, want)
	}
}

// No step goes on for longer than the run has: the run ends by itself, and says what has failed.
func TestNoStepOutlivesTheRun(t *testing.T) {
	given := spell{start: time.Unix(0, 0), whole: 84 * time.Minute}
	for name, tt := range map[string]struct {
		limit time.Duration
		at    time.Duration
		want  time.Duration
	}{
		"there is time":              {15 * time.Minute, 10 * time.Minute, 15 * time.Minute},
		"and it says none":           {0, 10 * time.Minute, runner.UsualLimit},
		"there are ten minutes left": {0, 62 * time.Minute, 10 * time.Minute},
		"there is no time left":      {0, 90 * time.Minute, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			steps := []step{named("it", telling, time.Minute), named("suites", always, 12*time.Minute), named("spare", spare, 30*time.Minute)}
			steps[0].Limit = tt.limit
			if got := given.limit(steps, 0, time.Unix(0, 0).Add(tt.at)); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
	steps := []step{named("it", always, time.Hour)}
	steps[0].Limit = time.Hour
	if got := (spell{}).limit(steps, 0, time.Now()); got != time.Hour {
		t.Errorf("a run without an end limits a step to %s", got)
	}
}

// Every step says how long it takes where time is short, and what must always be run fits into the time of CI.
func TestStepsSayWhatTheyTake(t *testing.T) {
	var sum time.Duration
	for _, s := range all() {
		if s.room == 0 {
			t.Errorf("%s has no room", s.Name)
		}
		if s.needed && s.rank != always {
			t.Errorf("%s is needed by those behind it, and may be left out", s.Name)
		}
		if s.rank == always {
			sum += s.room
		}
	}
	if sum > 80*time.Minute {
		t.Errorf("what must be run takes %s", sum)
	}
}

func TestWholeOfRun(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 0, "0": 0, "84": 84 * time.Minute} {
		t.Setenv("CORE5G_TEST_MINUTES", text)
		if got, err := wholeOfRun(); err != nil || got != want {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"1h", "-3"} {
		t.Setenv("CORE5G_TEST_MINUTES", text)
		if _, err := wholeOfRun(); err == nil || !strings.Contains(err.Error(), "CORE5G_TEST_MINUTES") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
