package loop

import "sync"

// Tokens are who waits for answers. The zero value has nobody.
type Tokens[T ~uint64] struct {
	mu      sync.Mutex
	last    T
	waiting map[T]func(body any)
}

// Add who waits; its token is none that there was.
func (t *Tokens[T]) Add(f func(body any)) T {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting == nil {
		t.waiting = map[T]func(any){}
	}
	t.last++
	t.waiting[t.last] = f
	return t.last
}

// Has says whether somebody still waits.
func (t *Tokens[T]) Has(token T) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waiting[token] != nil
}

// Answer whoever waits. Nobody does any more where the time was over.
func (t *Tokens[T]) Answer(token T, body any) {
	if f := t.Forget(token); f != nil {
		f(body)
	}
}

// Forget who waits; nil: nobody does.
func (t *Tokens[T]) Forget(token T) func(body any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.waiting[token]
	delete(t.waiting, token)
	return f
}
