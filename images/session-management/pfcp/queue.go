package pfcp

import (
	"errors"
	"time"
)

// Priority of a session request: those of a unit are sent in this order.
type Priority uint8

// The priorities.
const (
	// Procedure: a UE or another function waits for it.
	Procedure Priority = iota
	// Restoration of a session whose UE is connected.
	Restoration
	// IdleRestoration is that of a session whose UE is idle, and of what nobody waits for.
	IdleRestoration

	priorities = 3
)

// queue are the session requests of a unit. So many are under way as the unit can do: the window grows by one for as many
// answers as it is wide, up to Config.Window, and is halved where an answer is late or says congestion. Restoration
// leaves a quarter of it to procedures, which therefore need not wait until 10,000 sessions are made anew.
type queue struct {
	lists    [priorities]fifo
	underWay int
	window   float64
	slowed   time.Time
}

const (
	windowMin = 4
	// reserved is the part of the window that only procedures have.
	reserved = 4
)

func newQueue(window int) queue { return queue{window: float64(window)} }

func (q *queue) waiting() int {
	n := 0
	for i := range q.lists {
		n += q.lists[i].len()
	}
	return n
}

// room says whether one more request of a priority may be under way.
func (q *queue) room(p Priority) bool {
	w := int(q.window)
	if p != Procedure {
		w = max(1, w-w/reserved)
	}
	return q.underWay < w
}

// next takes the request out that is to be sent now; nil: none.
func (q *queue) next() *job {
	for p := range q.lists {
		if q.lists[p].len() > 0 && q.room(Priority(p)) {
			return q.lists[p].take()
		}
	}
	return nil
}

// pump sends what there is room for.
func (u *unit) pump(e *Endpoint) {
	for u.state == Ready || u.state == Leaving {
		j := u.next()
		if j == nil {
			break
		}
		u.underWay++
		e.sendSession(u, j)
	}
	e.cfg.Metrics.load(e.cfg.Node, u)
	e.release(u)
}

// flush ends what waits: it is not sent.
func (u *unit) flush(e *Endpoint, why error) {
	for p := range u.lists {
		for u.lists[p].len() > 0 {
			e.notSent(u.lists[p].take(), u.NodeID, why)
		}
	}
	e.cfg.Metrics.load(e.cfg.Node, u)
}

// slower halves the window, once in T1: the answers that are late now were asked for together.
func (u *unit) slower(e *Endpoint) {
	now := e.cfg.Clock()
	if now.Sub(u.slowed) < e.cfg.T1 && !u.slowed.IsZero() {
		return
	}
	u.slowed, u.window = now, max(windowMin, u.window/2)
}

func (u *unit) faster(e *Endpoint) {
	u.window = min(float64(e.cfg.Window), u.window+1/u.window)
}

var errFull = errors.New("too many requests wait for the unit")

// fifo is a list that is taken from at its head.
type fifo struct {
	list []*job
	head int
}

func (f *fifo) len() int   { return len(f.list) - f.head }
func (f *fifo) put(j *job) { f.list = append(f.list, j) }

func (f *fifo) take() *job {
	j := f.list[f.head]
	f.list[f.head] = nil
	if f.head++; f.head == len(f.list) {
		f.list, f.head = f.list[:0], 0
	} else if f.head >= 1024 && f.head*2 >= len(f.list) {
		f.list = append(f.list[:0], f.list[f.head:]...)
		f.head = 0
	}
	return j
}
