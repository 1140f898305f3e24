package worker

import (
	"bufio"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// A pod has a request open at each other pod that holds shards. Its answer names, a line each, shards that the other has given up, and ends with it: a
// process that dies has its connections closed at once, and its port refuses others. So its shards are taken, and what its UEs say is answered, long before
// anybody would have looked.

// peers that are watched, by their names in leases, and those who watch.
type peers struct {
	mu       sync.Mutex
	watched  map[string]bool
	watching map[chan string]bool
}

// mostShards that are given up wait for a peer that does not read.
const mostShards = 256

// released tells the other pods that a shard is free.
func (p *Pod) released(shard string) {
	p.peers.mu.Lock()
	defer p.peers.mu.Unlock()
	for c := range p.peers.watching {
		select {
		case c <- shard:
		default: // it looks by itself
		}
	}
}

func (p *Pod) join(c chan string) (leave func()) {
	p.peers.mu.Lock()
	defer p.peers.mu.Unlock()
	if p.peers.watching == nil {
		p.peers.watching = map[chan string]bool{}
	}
	p.peers.watching[c] = true
	return func() {
		p.peers.mu.Lock()
		defer p.peers.mu.Unlock()
		delete(p.peers.watching, c)
	}
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
			p.keeper.Probe(holder, root.Host)
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
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		p.keeper.Look(lines.Text())
	}
	return lines.Err()
}

// serveAlive answers when this pod ends.
func (p *Pod) serveAlive(w http.ResponseWriter, r *http.Request) {
	free := make(chan string, mostShards)
	defer p.join(free)()
	w.WriteHeader(http.StatusOK)
	for {
		_ = http.NewResponseController(w).Flush()
		select {
		case shard := <-free:
			_, _ = fmt.Fprintln(w, shard)
		case <-r.Context().Done():
			return
		case <-p.ctx.Done():
			for len(free) > 0 {
				_, _ = fmt.Fprintln(w, <-free)
			}
			return
		}
	}
}
