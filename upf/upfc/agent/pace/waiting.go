package pace

import (
	"slices"
	"sync"
)

// Waiting is what upf-u has said of sessions that nobody has looked at yet, by their indexes.
type Waiting[E any] struct {
	mu   sync.Mutex
	list map[uint32][]E
}

// Add adds something, which is the last word on what is over.
func (w *Waiting[E]) Add(index uint32, e E, over func(E) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.list == nil {
		w.list = map[uint32][]E{}
	}
	w.list[index] = append(slices.DeleteFunc(w.list[index], over), e)
}

// Take gives what was said of a session to who looks at it.
func (w *Waiting[E]) Take(index uint32) []E {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.list[index]
	delete(w.list, index)
	return list
}

// Drop is for a session that is gone.
func (w *Waiting[E]) Drop(index uint32) { w.Take(index) }
