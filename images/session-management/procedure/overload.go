package procedure

import (
	"math/rand/v2"
	"net/http"
	"time"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
)

// Units that are overloaded (TS 29.244 6.2.4.4) are asked for fewer new sessions, by lot, where no other unit serves: what there is goes on, with all
// requests that it takes, is moved, and is made again. A UE whose session is left out hears cause #26 with a back-off timer (T3396, TS 24.501 6.4.1.4).

// longestBackOff bounds what UEs are told to wait: a unit may say that its overload has ended long before the time that it has said.
const longestBackOff = 10 * time.Minute

// firstServed: sessions with an ARP of a priority level below it are not left out. TS 23.501 5.7.2.2 has levels 1 to 8 for services that are authorised to
// be treated first; sessions of Slices that say nothing have one of these, and would all be spared.
const firstServed = configuration.DefaultPriority

// lot is drawn where units are overloaded, for sessions that may be left out: 1 to 100, else 0.
func (t *turn) lot() uint8 {
	if t.s.Emergency || t.s.Flows[0].Priority < firstServed {
		return 0
	}
	for _, live := range t.in.Live {
		if live.Reduction > 0 {
			return uint8(1 + t.chance().UintN(100))
		}
	}
	return 0
}

func (t *turn) chance() *rand.Rand {
	var seed [32]byte
	t.in.Random(seed[:])
	return rand.New(rand.NewChaCha8(seed))
}

// leaveOut: a session that the overloaded units are not asked for. UEs are to come back when the overload can have ended, and not all at once (TS 23.501
// 5.19.7.3).
func (t *turn) leaveOut(why string, request *n1.EstablishmentRequest) {
	wait := networkBackOff
	for _, live := range t.in.Live {
		if live.Reduction > 0 && !live.Until.IsZero() {
			wait = max(wait, min(live.Until.Sub(t.in.Now), longestBackOff))
		}
	}
	wait += time.Duration(t.chance().Int64N(int64(wait)))
	f := refusedFor(http.StatusInternalServerError, "INSUFFICIENT_RESOURCES_SLICE_DNN", request, n1.CauseInsufficientResources, wait)
	f.Detail = why
	t.reply(f)
	t.gone(configuration.Overloaded.String())
}
