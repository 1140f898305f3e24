package runner

import "time"

const (
	// leaveTime is how long a shard that is for another pod is kept for what is under way: less than shards.Farewell, and than AMFs wait for an answer.
	leaveTime = 3 * time.Second
	// leaveLook is how often a runner that is to leave looks at that.
	leaveLook = 10 * time.Millisecond
)

// Leave calls left, once, within leaveTime: when of no session anything is being written, or asked, so that who has asked for it has an answer. The next holder would
// come to one, too, but whoever has asked would have to ask again. It does nothing any more then. What has stopped has been left.
func (r *Runner) Leave(left func()) {
	r.leave(r.w.Now().Add(leaveTime), left)
}

func (r *Runner) leave(until time.Time, left func()) {
	switch {
	case r.stopped:
	case r.hasUnderWay() && r.w.Now().Before(until):
		r.w.After(min(leaveLook, until.Sub(r.w.Now())), func() { r.leave(until, left) })
	default:
		r.stopped = true
		left()
	}
}

func (r *Runner) hasUnderWay() bool {
	for _, s := range r.sessions {
		if s.writing || s.busy || s.soon || len(s.queue) > 0 {
			return true
		}
	}
	return false
}
