package nodes

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// coming has UEs register, get a PDU session and leave again, one after the other, until it is stopped.
type coming struct {
	// ran tells the gNB's pod something, as cluster.RAN does.
	ran func(ctx context.Context, v any, args ...string) error

	mutex   sync.Mutex
	made    int
	longest time.Duration
	failed  []string
	stop    chan struct{}
	done    sync.WaitGroup
}

// come begins with these UEs, in turns.
func come(ctx context.Context, ran func(context.Context, any, ...string) error, supis []string) *coming {
	c := &coming{ran: ran, stop: make(chan struct{})}
	c.done.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-c.stop:
				return
			case <-ctx.Done():
				return
			default:
				c.one(ctx, supis[i%len(supis)])
			}
		}
	})
	return c
}

// attachLimit is how long a UE is waited for at all.
const attachLimit = 150 * time.Second

// one UE comes and goes. An N2 association that is lost in the middle of a registration ends that attempt; the UE begins again by itself, and what counts
// is how long it takes until it has its session.
func (c *coming) one(ctx context.Context, supi string) {
	began := time.Now()
	first := c.ran(ctx, nil, "register", "--ue", supi)
	err := c.ran(ctx, nil, "status", "--ue", supi, "--wait-ready", attachLimit.String())
	took := time.Since(began)
	c.mutex.Lock()
	if err != nil {
		c.failed = append(c.failed, fmt.Sprintf("%s has no PDU session after %s: %v (at first: %v)", supi, took.Round(time.Second), err, first))
	} else {
		c.made++
		c.longest = max(c.longest, took)
	}
	c.mutex.Unlock()
	// Without a session there may be nothing to leave; the next attempt says what is wrong.
	_ = c.ran(ctx, nil, "deregister", "--ue", supi)
}

// so is how many there were, and the longest of them, until now.
func (c *coming) so() (made int, longest time.Duration, failed []string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.made, c.longest, append([]string{}, c.failed...)
}

// end waits for the one that is under way.
func (c *coming) end() {
	close(c.stop)
	c.done.Wait()
}
