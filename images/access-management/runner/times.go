package runner

import (
	"slices"
	"time"
)

// times by name. A UE has few, and a map of them would be as large as the rest of it.
type times []namedTime

type namedTime struct {
	name string
	at   time.Time
}

func (t times) index(name string) int {
	return slices.IndexFunc(t, func(x namedTime) bool { return x.name == name })
}

// of a name; false: nothing was said of it.
func (t times) of(name string) (time.Time, bool) {
	if n := t.index(name); n >= 0 {
		return t[n].at, true
	}
	return time.Time{}, false
}

func (t *times) set(name string, at time.Time) {
	if n := t.index(name); n >= 0 {
		(*t)[n].at = at
		return
	}
	*t = append(*t, namedTime{name, at})
}

func (t times) all() map[string]time.Time {
	out := make(map[string]time.Time, len(t))
	for _, x := range t {
		out[x.name] = x.at
	}
	return out
}
