package shards

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// Peers have a request open at each other pod that holds shards. Its answer names, a line each, shards and seats that the other has given up, and ends with it:
// a process that dies has its connections closed at once, and its port refuses others. So what it held is taken, and what is said to it is answered, long before
// anybody would have looked. The zero value is ready.
type Peers struct {
	// From says whether a request is of another pod of the set; nil: all are that ask for what pods ask of each other.
	From func(*http.Request) bool

	mu       sync.Mutex
	watched  map[string]bool      // by their names in leases
	watching map[chan string]bool // those who watch
}

const (
	// mostReleased wait for a peer that does not read.
	mostReleased = 256
	// peersEvery is how often pods that are new are looked for.
	peersEvery = 200 * time.Millisecond
)

// Released tells the other pods that something is free. It is the Keeper's option of that name.
func (p *Peers) Released(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.watching {
		select {
		case c <- name:
		default: // it looks by itself
		}
	}
}

func (p *Peers) join(c chan string) (leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watching == nil {
		p.watching = map[chan string]bool{}
	}
	p.watching[c] = true
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.watching, c)
	}
}

// Watch the other pods that hold shards until ctx ends. others says, with their names in leases, where each is asked what Serve answers there.
func (p *Peers) Watch(ctx context.Context, k *Keeper, through http.RoundTripper, others func() map[string]*url.URL) {
	var running sync.WaitGroup
	defer running.Wait()
	tick := time.NewTicker(peersEvery)
	defer tick.Stop()
	for {
		for holder, at := range others() {
			if !p.begin(holder) {
				continue
			}
			running.Go(func() {
				defer p.end(holder)
				if err := listen(ctx, k, through, at); err != nil && ctx.Err() == nil {
					k.Probe(holder, at.Host)
				}
			})
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// begin to watch a pod, once at a time.
func (p *Peers) begin(holder string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watched[holder] {
		return false
	}
	if p.watched == nil {
		p.watched = map[string]bool{}
	}
	p.watched[holder] = true
	return true
}

func (p *Peers) end(holder string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.watched, holder)
}

// listen to another pod, until it has ended, or is not reached.
func listen(ctx context.Context, k *Keeper, through http.RoundTripper, at *url.URL) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil //nolint:nilerr // it is no pod's
	}
	answer, err := through.RoundTrip(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		k.Look(lines.Text())
	}
	return lines.Err()
}

// Only other pods of the set are served by the handler: another function has no business with what they ask of each other.
func (p *Peers) Only(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if p.From != nil && !p.From(r) {
			http.Error(w, "this is for pods of the same set", http.StatusForbidden)
			return
		}
		serve(w, r)
	}
}

// Serve another pod of the set, which watches this one, until ctx ends: behind the Keeper, which gives all up before.
func (p *Peers) Serve(ctx context.Context) http.HandlerFunc {
	return p.Only(func(w http.ResponseWriter, r *http.Request) {
		free := make(chan string, mostReleased)
		defer p.join(free)()
		w.WriteHeader(http.StatusOK)
		for {
			_ = http.NewResponseController(w).Flush()
			select {
			case name := <-free:
				_, _ = fmt.Fprintln(w, name)
			case <-r.Context().Done():
				return
			case <-ctx.Done():
				for len(free) > 0 {
					_, _ = fmt.Fprintln(w, <-free)
				}
				return
			}
		}
	})
}
