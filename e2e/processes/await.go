package processes

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Patience bounds what is awaited.
const Patience = 60 * time.Second

// Await what has to come true. f says why it has not.
func Await(ctx context.Context, what string, f func() error) error {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	for {
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Percentile of a list, which is sorted by it; 0 of none.
func Percentile(list []time.Duration, percent int) time.Duration {
	slices.Sort(list)
	if len(list) == 0 {
		return 0
	}
	return list[min(len(list)-1, len(list)*percent/100)]
}
