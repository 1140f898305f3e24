package subscription

import "sync"

// listeners are told of changes.
type listeners struct {
	mu  sync.RWMutex
	all []func(supi string)
}

// OnChange implements Changing.
func (l *listeners) OnChange(tell func(supi string)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, tell)
}

func (l *listeners) tell(supi string) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, tell := range l.all {
		tell(supi)
	}
}
