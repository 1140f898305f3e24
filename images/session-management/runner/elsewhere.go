package runner

import (
	"errors"
	"fmt"
	"time"

	"core5g.dev/core5g/images/session-management/procedure"
)

// A UE has one session of an identity, and whoever was asked for a new one has it from then on (TS 24.501 6.4.1.7 b): what another shard has
// under that name ends first, because shards share the names.

type otherShardError struct{ shard uint16 }

func (e *otherShardError) Error() string { return fmt.Sprintf("%v: shard %d", errOtherShard, e.shard) }
func (e *otherShardError) Unwrap() error { return errOtherShard }

var errOtherShard = errors.New("the session is another shard's")

// The other shard is told so often, that long apart: within what an AMF waits.
const (
	elsewhereAttempts = 10
	elsewherePause    = 100 * time.Millisecond
)

// elsewhere is what was found. What does not ask for a new session is not for this shard.
func (r *Runner) elsewhere(s *session, err error) {
	wants := false
	queue := s.queue
	s.queue = nil
	for _, q := range queue {
		if c, ok := q.Event.(procedure.Create); ok {
			if c.From != 0 && !r.w.Waiting(c.From) { // it is what another shard has that was asked for since
				r.counts.Abandoned++
				continue
			}
			wants = true
			s.queue = append(s.queue, q)
			continue
		}
		r.decline(q.Event, err.Error())
	}
	var other *otherShardError
	if s.elsewhere++; !errors.As(err, &other) || !wants || s.elsewhere > elsewhereAttempts {
		r.unreadable(s, err)
		return
	}
	if s.elsewhere == 1 {
		r.counts.Elsewhere++
	}
	s.loading = true // until the other has ended it
	r.w.EndElsewhere(other.shard, s.key, func(error) {
		r.w.After(elsewherePause, func() {
			if !r.stopped {
				r.load(s)
			}
		})
	})
}
