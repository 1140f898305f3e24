package mounted

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
)

const again = time.Second // between two attempts

// Await opens the store that the environment names, and waits for one that does not answer: nothing can be done without, and nothing is wrong with this
// pod. What its Secrets lack is an error at once, because only their change heals it.
func Await(ctx context.Context, further string, log *slog.Logger) (*Store, error) {
	problem := func(err error) { log.Error("the session store's Secrets", "err", err) }
	for {
		opened, err := FromEnvironment(ctx, further, problem)
		if err == nil {
			return opened, nil
		}
		if !errors.Is(err, sessionstore.ErrUnavailable) {
			return nil, fmt.Errorf("the session store: %w", err)
		}
		log.Warn("waiting for the session store", "err", err)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(again):
		}
	}
}

// Sealing seals and opens with the keys that the store's Secret has at the time.
type Sealing struct{ Store *Store }

// Seal a value with the newest key.
func (k Sealing) Seal(key string, value []byte) []byte { return k.Store.Sealer().Seal(key, value) }

// Open what was sealed.
func (k Sealing) Open(key string, sealed []byte) ([]byte, error) {
	return k.Store.Sealer().Open(key, sealed)
}
