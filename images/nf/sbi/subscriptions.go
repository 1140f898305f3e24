package sbi

import (
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/google/uuid"
)

// Subscriptions are what consumers asked to be told of. They live in memory, and each owner, such as a SUPI, has a
// limited number: the oldest goes first, because a consumer that has restarted does not know what it subscribed to.
type Subscriptions struct {
	limit int

	mu      sync.Mutex
	byID    map[string]subscribed
	byOwner map[string][]string // oldest first
}

type subscribed struct {
	owner string
	body  any
}

// NewSubscriptions returns an empty set, of up to limit subscriptions for each owner.
func NewSubscriptions(limit int) *Subscriptions {
	return &Subscriptions{limit: limit, byID: make(map[string]subscribed), byOwner: make(map[string][]string)}
}

// Add keeps a subscription and returns its identifier.
func (s *Subscriptions) Add(owner string, body any) string {
	id := uuid.NewString()
	s.mu.Lock()
	defer s.mu.Unlock()
	if mine := s.byOwner[owner]; len(mine) >= s.limit {
		s.drop(mine[0])
	}
	s.byID[id] = subscribed{owner, body}
	s.byOwner[owner] = append(s.byOwner[owner], id)
	return id
}

// Get returns the body that Add or Replace was given.
func (s *Subscriptions) Get(id string) (any, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.byID[id]
	return v.body, ok
}

// Owners are those who have subscriptions.
func (s *Subscriptions) Owners() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.byOwner))
}

// Of gives the bodies of an owner's subscriptions by their identifiers.
func (s *Subscriptions) Of(owner string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string]any, len(s.byOwner[owner]))
	for _, id := range s.byOwner[owner] {
		out[id] = s.byID[id].body
	}
	return out
}

// Replace puts another body in the place of a subscription's, and reports whether there is such a subscription.
func (s *Subscriptions) Replace(id string, body any) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.byID[id]
	if ok {
		v.body = body
		s.byID[id] = v
	}
	return ok
}

// Remove forgets a subscription and reports whether it was there. Where an owner is given, it must be that one's.
func (s *Subscriptions) Remove(owner, id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.byID[id]
	if !ok || (owner != "" && owner != v.owner) {
		return false
	}
	s.drop(id)
	return true
}

func (s *Subscriptions) drop(id string) {
	owner := s.byID[id].owner
	delete(s.byID, id)
	rest := slices.DeleteFunc(s.byOwner[owner], func(other string) bool { return other == id })
	if len(rest) == 0 {
		delete(s.byOwner, owner)
		return
	}
	s.byOwner[owner] = rest
}

// SubscriptionNotFound is the answer for an identifier that no subscription has.
func SubscriptionNotFound() *Problem {
	return NewProblem(http.StatusNotFound, "SUBSCRIPTION_NOT_FOUND", "no subscription has this identifier")
}
