package agent

import (
	"slices"
	"sync"
)

// waiting is what upf-u has said of sessions that nobody has looked at yet, by their indexes.
type waiting[E any] struct {
	mu   sync.Mutex
	list map[uint32][]E
}

// add adds something, which is the last word on what is over.
func (w *waiting[E]) add(index uint32, e E, over func(E) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.list == nil {
		w.list = map[uint32][]E{}
	}
	w.list[index] = append(slices.DeleteFunc(w.list[index], over), e)
}

// take gives what was said of a session to who looks at it.
func (w *waiting[E]) take(index uint32) []E {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.list[index]
	delete(w.list, index)
	return list
}

// drop is for a session that is gone.
func (w *waiting[E]) drop(index uint32) { w.take(index) }
