package worker

import (
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// A pod has a request open at each other pod that holds shards, which nothing answers but its end: a process that dies has its connections closed at once,
// and its port refuses others. So its shards are taken, and what its UEs say is answered, long before its leases end.

// peers that are watched, by their names in leases.
type peers struct {
	mu      sync.Mutex
	watched map[string]bool
}

// peersEvery is how often pods that are new are looked for.
const peersEvery = 200 * time.Millisecond

func (p *Pod) watchPeers() {
	if p.Passing.Root == nil {
		return
	}
	tick := time.NewTicker(peersEvery)
	defer tick.Stop()
	for {
		for n := range p.Shards {
			if root, holder := p.elsewhere(n + 1); root != nil {
				p.watch(holder, root)
			}
		}
		select {
		case <-p.ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// watch a pod, once at a time.
func (p *Pod) watch(holder string, root *url.URL) {
	p.peers.mu.Lock()
	defer p.peers.mu.Unlock()
	if p.peers.watched[holder] {
		return
	}
	if p.peers.watched == nil {
		p.peers.watched = map[string]bool{}
	}
	p.peers.watched[holder] = true
	p.running.Go(func() {
		err := p.alive(root)
		if p.ctx.Err() == nil && err != nil {
			p.notReached(holder, root, err)
		}
		p.peers.mu.Lock()
		defer p.peers.mu.Unlock()
		delete(p.peers.watched, holder)
	})
}

// alive returns when another pod has ended, or is not reached.
func (p *Pod) alive(root *url.URL) error {
	r, err := http.NewRequestWithContext(p.ctx, http.MethodGet, root.JoinPath(pathAlive).String(), nil)
	if err != nil {
		return nil //nolint:nilerr // it is no pod's
	}
	answer, err := p.Passing.Transport.RoundTrip(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}

// serveAlive answers when this pod ends.
func (p *Pod) serveAlive(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	select {
	case <-p.ctx.Done():
	case <-r.Context().Done():
	}
}
