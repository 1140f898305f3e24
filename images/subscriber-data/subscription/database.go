package subscription

import (
	"context"
	"errors"
	"strings"

	"core5g.dev/core5g/operators/api/v1alpha1"
)

// Database has subscribers that are no objects. Of a SUPI that it does not have it says ErrUnknownSubscriber.
type Database interface {
	Changing
	Subscriber(ctx context.Context, supi string) (*v1alpha1.Subscriber, error)
	// Keys are what the Secret of a Subscriber would hold.
	Keys(ctx context.Context, supi string) (map[string][]byte, error)
}

// keysOf begins the name of the Secret that a subscriber of a database has: no Secret of Kubernetes has a slash.
const keysOf = "subscriber-database/"

// WithDatabase are objects with the subscribers of a database beside them: where both know a SUPI, the object counts.
func WithDatabase(objects Objects, database Database) Objects { return &joined{objects, database} }

type joined struct {
	Objects
	database Database
}

// Subscriber implements Objects.
func (j *joined) Subscriber(ctx context.Context, supi string) (*v1alpha1.Subscriber, error) {
	s, err := j.Objects.Subscriber(ctx, supi)
	if !errors.Is(err, ErrUnknownSubscriber) {
		return s, err
	}
	if s, err = j.database.Subscriber(ctx, supi); err != nil {
		return nil, err
	}
	s.Spec.Authentication.SecretRef.Name = keysOf + supi
	return s, nil
}

// Secret implements Objects.
func (j *joined) Secret(ctx context.Context, name string) (map[string][]byte, error) {
	if supi, is := strings.CutPrefix(name, keysOf); is {
		return j.database.Keys(ctx, supi)
	}
	return j.Objects.Secret(ctx, name)
}

// OnChange implements Changing.
func (j *joined) OnChange(tell func(supi string)) {
	if c, does := j.Objects.(Changing); does {
		c.OnChange(tell)
	}
	j.database.OnChange(tell)
}
