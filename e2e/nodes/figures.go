package nodes

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"core5g.dev/core5g/e2e/takeover"
)

// What is promised where a node is lost.
const (
	// longestGap without packets of a PDU session.
	longestGap = 5 * time.Second
	// longestRegistration of a UE that is switched on meanwhile, with its PDU session: the gNB has to find out that its association is gone, and may be led to
	// the dead terminator again until the operator takes that out; a unit is taken over, the session store has another primary, and NRF and database are away.
	longestRegistration = 2 * time.Minute
)

// figures of a node's death.
type figures struct {
	name    string
	ues     int
	packets takeover.Report
	check   takeover.Check
	epochs  int64 // by which the unit's epoch grew: takeovers
	// registrations that were made from the death on, the longest of them, and what went wrong.
	registrations int
	longest       time.Duration
	failed        []string
	// anew are UEs that had been there and are not what they were: registered once more, or with another session.
	anew []string
	// elsewhere is when everything ran without the node, and back when everything was well after its return.
	elsewhere, back time.Duration
}

// line is what is printed of it.
func (f figures) line() string {
	return fmt.Sprintf("case=%s ues=%d sessions=%d gap_ms=%.0f packets=%d packets_lost=%d sessions_lost=%d both_answered_ms=%.0f epochs=%d reregistered=%d registrations=%d longest_ms=%d elsewhere_s=%.0f back_s=%.0f",
		f.name, f.ues, f.check.Sessions, f.packets.GapMS, f.packets.Sent, f.packets.Sent-f.packets.Answered, f.check.Lost, f.packets.BothAnsweredMS, f.epochs,
		len(f.anew), f.registrations, f.longest.Milliseconds(), f.elsewhere.Seconds(), f.back.Seconds())
}

// judge says what falls short.
func (f figures) judge() error {
	wrong := append(append([]string{}, f.failed...), f.anew...)
	say := func(is bool, format string, args ...any) {
		if is {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	say(f.packets.Answered == 0, "no packet passed at all")
	say(f.packets.GapMS > float64(longestGap.Milliseconds()), "no packet passed for %.0f ms, want %d at most", f.packets.GapMS, longestGap.Milliseconds())
	say(f.check.Sessions == 0 || f.check.Lost > 0, "%d of %d sessions are gone", f.check.Lost, f.check.Sessions)
	say(f.packets.BothAnsweredMS > 0, "two answered for the UPF's address on N3 for %.0f ms (%s)", f.packets.BothAnsweredMS, strings.Join(f.packets.Owners, ", "))
	say(f.epochs != 1, "the unit was taken over %d times, want once", f.epochs)
	say(f.registrations == 0, "no UE has registered meanwhile")
	say(f.longest > longestRegistration, "a UE waited for %s until it had a PDU session, want %s at most", f.longest.Round(time.Millisecond), longestRegistration)
	if len(wrong) == 0 {
		return nil
	}
	return errors.New(f.name + ": " + strings.Join(wrong, "; "))
}
