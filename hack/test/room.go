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

// limit is how long steps[i] may take that begins now: its own limit, and no longer than the run has; less what must be run behind it, unless it must be run itself.
func (s spell) limit(steps []step, i int, now time.Time) time.Duration {
	limit := steps[i].Limit
	if limit == 0 {
		limit = runner.UsualLimit
	}
	if s.whole == 0 {
		return limit
	}
	left := s.left(now)
	if steps[i].rank > always {
		left -= roomBehind(steps, i, always+1)
	}
	return min(limit, max(left, time.Minute))
}

// roomBehind is the room of the steps behind steps[i] that are of lower ranks than r.
func roomBehind(steps []step, i int, r rank) (sum time.Duration) {
	for _, later := range steps[i+1:] {
		if later.rank < r && !later.beside {
			sum += later.room
		}
	}
	return sum
}

func (s spell) left(now time.Time) time.Duration { return s.whole - now.Sub(s.start) }

// leaves says why a run leaves steps[i] out, and is empty where it does not: what is left of its time, on a machine as slow
// as those that the rooms are of, does not hold this step and those behind it that are worth more.
func (s spell) leaves(steps []step, i int, now time.Time) string {
	this := steps[i]
	if s.whole == 0 || this.rank == always {
		return ""
	}
	left, more := s.left(now), roomBehind(steps, i, this.rank)
	if left >= this.room+more {
		return ""
	}
	why := fmt.Sprintf("of the run's %s there are %s left; it may take %s", s.whole, max(left, 0).Round(time.Second), this.room)
	if more > 0 {
		why += fmt.Sprintf(", and %s for what is worth more behind it", more)
	}
	return why
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
