package main

import (
	"errors"
	"fmt"
	"strings"

	"core5g.dev/core5g/e2e/takeover"
)

// outcome of a case.
type outcome struct {
	name    string
	packets takeover.Report
	check   takeover.Check
	epochs  int64    // by which the unit's epoch grew
	wrong   []string // what else is not as it should be
}

// line is what is printed of it.
func (o outcome) line() string {
	return fmt.Sprintf("case=%s sessions=%d gap_ms=%.0f packets_lost=%d sessions_lost=%d both_answered_ms=%.0f both_forwarded_ms=%.0f packets=%d epochs=%d",
		o.name, o.check.Sessions, o.packets.GapMS, o.lost(), o.check.Lost, o.packets.BothAnsweredMS, o.packets.BothForwardedMS, o.packets.Sent, o.epochs)
}

func (o outcome) lost() int { return o.packets.Sent - o.packets.Answered }

// bound of a case: the longest time without packets (0: any, for none may be lost), the most packets lost (-1: as many as the gap takes), how long
// two may forward, of which one is handing over, and takeovers. Two never answer.
type bound struct {
	gapMS       float64
	lost        int
	forwardedMS float64
	epochs      int64
}

// underWay is how long packets may be under way to a unit that has handed over, with a busy machine's pauses.
const underWay = 1000

// want is what is promised where the death is seen. In a cut nothing moves, and no packet is lost.
var want = map[string]bound{
	"kill":      {gapMS: 300, lost: -1, epochs: 1},
	"switch":    {forwardedMS: underWay, epochs: 1},
	"upgrade":   {forwardedMS: underWay, epochs: 1},
	"cut_units": {},
	"cut_api":   {},
}

func (o outcome) judge() error {
	b := want[o.name]
	wrong := o.wrong
	say := func(is bool, format string, args ...any) {
		if is {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	say(b.gapMS > 0 && o.packets.GapMS > b.gapMS, "no packet passed for %.0f ms, want %.0f at most", o.packets.GapMS, b.gapMS)
	say(b.lost >= 0 && o.lost() > b.lost, "%d packets were lost, want %d", o.lost(), b.lost)
	say(o.check.Lost > 0, "%d of %d sessions are gone", o.check.Lost, o.check.Sessions)
	say(o.packets.BothAnsweredMS > 0, "two answered for the UPF's address on N3 for %.0f ms (%s)", o.packets.BothAnsweredMS, strings.Join(o.packets.Owners, ", "))
	say(o.packets.BothForwardedMS > b.forwardedMS, "two forwarded for %.0f ms, want %.0f at most", o.packets.BothForwardedMS, b.forwardedMS)
	say(o.epochs != b.epochs, "the unit's epoch grew by %d, want %d", o.epochs, b.epochs)
	if len(wrong) == 0 {
		return nil
	}
	return errors.New(o.name + ": " + strings.Join(wrong, "; "))
}
