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

// restsFor is how long resident memory that falls no more has stood still: twice what images/nf/memorylimit waits for.
const restsFor = 35 * time.Second

// AtRest is what programs have used when their resident memory falls no more: behind a storm they give back what they do not need.
func AtRest(ctx context.Context, usage func() (Usage, error)) (Usage, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	least, since := int64(-1), time.Now()
	for {
		u, err := usage()
		if err != nil {
			return u, err
		}
		if least < 0 || u.Resident < least-least/50 {
			least, since = u.Resident, time.Now()
		}
		if time.Since(since) >= restsFor {
			return u, nil
		}
		select {
		case <-ctx.Done():
			return u, fmt.Errorf("memory is given back again and again: %w", ctx.Err())
		case <-time.After(time.Second):
		}
	}
}
