package main

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

// free5GC's SMF 1.2.4 looks for a UPF along the links of its access network and follows only the first that
// serves the DNN: of several UPFs it uses one, associated or not. It also has no way to leave a UPF with the
// PDU sessions that it has and give it no more. Both are decided by the order of those links, which the SMF
// reads at the creation of an SM context: the front puts an associated UPF first, each in its turn, and
// leaves out those that are barred. PDU sessions that exist do not look at the links any more.
//
// The SMF holds its lock on the topology for as long as it creates an SM context, so that a turn waits for
// those under way: it is taken at most once a turnPeriod, and only where there is a choice.

const (
	upfSelection = "/core5g/v1/upf-selection"
	turnPeriod   = time.Second
	maxSelection = 1 << 16
)

type selection struct {
	// apply orders the links of the SMF for a turn, without the barred.
	apply func(barred map[string]bool, turn int)
	// upfs is how many UPFs the SMF knows.
	upfs func() int
	now  func() time.Time

	mu     sync.Mutex
	barred map[string]bool
	turn   int
	last   time.Time
}

func newSelection(apply func(barred map[string]bool, turn int), upfs func() int) *selection {
	return &selection{apply: apply, upfs: upfs, now: time.Now, barred: map[string]bool{}}
}

func (s *selection) bars(upf string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.barred[upf]
}

// next gives the turn to the next UPF when it is time.
func (s *selection) next() {
	s.mu.Lock()
	due := s.now().Sub(s.last) >= turnPeriod
	s.mu.Unlock()
	if !due {
		return
	}
	several := s.upfs() > 1
	s.mu.Lock()
	defer s.mu.Unlock()
	if several || len(s.barred) > 0 {
		s.take()
	}
}

// take is called with the lock held.
func (s *selection) take() {
	s.turn++
	s.last = s.now()
	s.apply(s.barred, s.turn)
}

// handler answers upfSelection, PUT {"barred": [names of UPFs]}, which replaces what was barred before, and
// sees the creation of SM contexts on their way to next.
func (s *selection) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == upfSelection:
			s.serve(w, r)
			return
		case r.Method == http.MethodPost && r.URL.Path == smContexts:
			s.next()
		}
		next.ServeHTTP(w, r)
	})
}

func (s *selection) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPut {
		w.Header().Set("Allow", http.MethodPut)
		http.Error(w, "PUT {\"barred\": [names of UPFs]}", http.StatusMethodNotAllowed)
		return
	}
	var in struct {
		Barred []string `json:"barred"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxSelection)).Decode(&in); err != nil {
		http.Error(w, "PUT {\"barred\": [names of UPFs]}: "+err.Error(), http.StatusBadRequest)
		return
	}
	barred := map[string]bool{}
	for _, name := range in.Barred {
		barred[name] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !maps.Equal(barred, s.barred) {
		s.barred = barred
		s.take()
	}
	w.WriteHeader(http.StatusNoContent)
}

// order gives each in turn the first place among those that are ready; the others come behind them.
func order[T any](all []T, ready []bool, turn int) []T {
	var first, rest []T
	for i := range all {
		if ready[i] {
			first = append(first, all[i])
		} else {
			rest = append(rest, all[i])
		}
	}
	if n := len(first); n > 0 {
		first = slices.Concat(first[turn%n:], first[:turn%n])
	}
	return append(first, rest...)
}
