package records

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

// Subscriptions are what consumers asked to be told of. Each owner, such as a SUPI, has a limited number: the oldest goes
// first, because a consumer that has restarted does not know what it subscribed to.
type Subscriptions struct {
	records *Records
	kind    string
	limit   int
}

// Subscription is one of an owner.
type Subscription struct {
	ID    string          `json:"-"`
	Owner string          `json:"-"`
	Begun time.Time       `json:"begun"`
	Body  json.RawMessage `json:"body"`
}

// NewSubscriptions are those of a kind, up to limit for each owner.
func NewSubscriptions(records *Records, kind string, limit int) *Subscriptions {
	return &Subscriptions{records: records, kind: kind, limit: limit}
}

func (s *Subscriptions) key(id string) string { return s.kind + ":" + id }

// identifier of a new subscription: whose it is can be seen from it, without asking the store. It stands in a key, two groups, and with who has subscribed.
func identifier(owner string) string {
	var own [12]byte
	_, _ = rand.Read(own[:]) // never fails
	return base64.RawURLEncoding.EncodeToString([]byte(owner)) + "." + base64.RawURLEncoding.EncodeToString(own[:])
}

func ownerOf(id string) string {
	encoded, _, _ := strings.Cut(id, ".")
	owner, _ := base64.RawURLEncoding.DecodeString(encoded) // of one that is none, ""
	return string(owner)
}

func (s *Subscriptions) group(owner string) string { return s.kind + "-of:" + owner }

func (s *Subscriptions) groups(owner string) []string { return []string{s.kind, s.group(owner)} }

// Add keeps a subscription and returns its identifier.
func (s *Subscriptions) Add(ctx context.Context, owner string, body []byte) (string, error) {
	id := identifier(owner)
	value, err := json.Marshal(Subscription{Begun: time.Now(), Body: body})
	if err != nil {
		return "", err
	}
	var before int
	var uncounted error
	var counting sync.WaitGroup
	counting.Go(func() { before, uncounted = s.records.Count(ctx, s.group(owner)) }) // with the new one or without, so that a UE waits for one of both only
	err = s.records.Change(ctx, s.key(id), true, func([]byte) (Becomes, error) {
		return Becomes{Value: value, Join: s.groups(owner)}, nil
	})
	counting.Wait()
	switch {
	case err != nil:
		return "", err
	case uncounted == nil && before < s.limit:
		return id, nil
	}
	return id, s.trim(ctx, owner)
}

// trim ends an owner's oldest where there are too many; one that came at the same moment as another may go with the next.
func (s *Subscriptions) trim(ctx context.Context, owner string) error {
	mine, err := s.Of(ctx, owner)
	if err != nil {
		return err
	}
	slices.SortFunc(mine, func(a, b Subscription) int { return cmp.Or(a.Begun.Compare(b.Begun), strings.Compare(a.ID, b.ID)) })
	for _, old := range mine[:max(0, len(mine)-s.limit)] {
		if _, err := s.Remove(ctx, owner, old.ID); err != nil {
			return err
		}
	}
	return nil
}

// Get returns a subscription, false where there is none.
func (s *Subscriptions) Get(ctx context.Context, id string) (Subscription, bool, error) {
	value, err := s.records.Read(ctx, s.key(id))
	if err != nil || value == nil {
		return Subscription{}, false, err
	}
	found, err := s.parse(id, value)
	return found, err == nil, err
}

func (s *Subscriptions) parse(id string, value []byte) (Subscription, error) {
	found := Subscription{ID: id, Owner: ownerOf(id)}
	return found, json.Unmarshal(value, &found)
}

// Of returns an owner's subscriptions.
func (s *Subscriptions) Of(ctx context.Context, owner string) ([]Subscription, error) {
	var out []Subscription
	var failed error
	err := s.ids(ctx, s.group(owner), func(id string) bool {
		found, there, err := s.Get(ctx, id)
		if there {
			out = append(out, found)
		}
		failed = err
		return err == nil
	})
	return out, errors.Join(err, failed)
}

// Owners are those who have subscriptions.
func (s *Subscriptions) Owners(ctx context.Context) (map[string]bool, error) {
	owners := make(map[string]bool)
	err := s.ids(ctx, s.kind, func(id string) bool {
		owners[ownerOf(id)] = true
		return true
	})
	return owners, err
}

func (s *Subscriptions) ids(ctx context.Context, group string, each func(id string) bool) error {
	return s.records.Members(ctx, group, func(key string) bool { return each(strings.TrimPrefix(key, s.kind+":")) })
}

// Replace puts another body in the place of a subscription's: what body makes of it. It reports whether there is such a
// subscription. An error of body leaves it as it is.
func (s *Subscriptions) Replace(ctx context.Context, id string, body func(was Subscription) ([]byte, error)) (bool, error) {
	there := false
	err := s.records.Change(ctx, s.key(id), false, func(was []byte) (Becomes, error) {
		if there = was != nil; !there {
			return Becomes{}, ErrKeep
		}
		found, err := s.parse(id, was)
		if err != nil {
			return Becomes{}, err
		}
		if found.Body, err = body(found); err != nil {
			return Becomes{}, err
		}
		value, err := json.Marshal(found)
		return Becomes{Value: value}, err
	})
	return there && err == nil, err
}

// Remove forgets a subscription and reports whether it was there. Where an owner is given, it must be that one's.
func (s *Subscriptions) Remove(ctx context.Context, owner, id string) (bool, error) {
	if owner != "" && owner != ownerOf(id) {
		return false, nil
	}
	there := false
	err := s.records.Change(ctx, s.key(id), false, func(was []byte) (Becomes, error) {
		if there = was != nil; !there {
			return Becomes{}, ErrKeep
		}
		return Becomes{Leave: s.groups(ownerOf(id))}, nil
	})
	return there && err == nil, err
}

// RemoveAll forgets what an owner has.
func (s *Subscriptions) RemoveAll(ctx context.Context, owner string) error {
	mine, err := s.Of(ctx, owner)
	for _, one := range mine {
		_, failed := s.Remove(ctx, owner, one.ID)
		err = errors.Join(err, failed)
	}
	return err
}
