package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"core5g.dev/core5g/hack/runner"
)

// rank is what a step is worth where time is short: those of higher ranks are left out before those of lower ones.
type rank int

const (
	always  rank = iota // without these a run has shown nothing
	telling             // what nothing else shows
	shown               // what other steps show in part
	spare               // what seldom fails, or takes long for what it shows
)

// spell is the time of a run: until when it must have ended, if ever.
type spell struct {
	start time.Time
	whole time.Duration
}

// limit is how long a step may take that begins now: its own limit, and no longer than the run has.
func (s spell) limit(step runner.Step, now time.Time) time.Duration {
	limit := step.Limit
	if limit == 0 {
		limit = runner.UsualLimit
	}
	if s.whole > 0 {
		limit = min(limit, max(s.left(now), time.Minute))
	}
	return limit
}

func (s spell) left(now time.Time) time.Duration { return s.whole - now.Sub(s.start) }

// leaves says why a run leaves steps[i] out, and is empty where it does not: what is left of its time, on a machine as slow
// as those that the rooms are of, does not hold this step and those behind it that are worth more.
func (s spell) leaves(steps []step, i int, now time.Time) string {
	this := steps[i]
	if s.whole == 0 || this.rank == always {
		return ""
	}
	need := this.room
	for _, later := range steps[i+1:] {
		if later.rank < this.rank && !later.beside {
			need += later.room
		}
	}
	left := s.left(now)
	if left >= need {
		return ""
	}
	behind := ""
	if need > this.room {
		behind = fmt.Sprintf(", and %s for what is worth more behind it", (need - this.room).Round(time.Minute))
	}
	return fmt.Sprintf("of the run's %s there are %s left; it may take %s%s", s.whole, max(left, 0).Round(time.Second), this.room, behind)
}

// wholeOfRun is CORE5G_TEST_MINUTES, how long the run may take; 0 is as long as it needs.
func wholeOfRun() (time.Duration, error) {
	text := os.Getenv("CORE5G_TEST_MINUTES")
	if text == "" {
		return 0, nil
	}
	minutes, err := strconv.Atoi(text)
	if err != nil || minutes < 0 {
		return 0, fmt.Errorf("CORE5G_TEST_MINUTES is %q: want the minutes that the run may take, 0 for no limit", text)
	}
	return time.Duration(minutes) * time.Minute, nil
}
