package shard

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
)

// EndElsewhere implements runner.World.
func (s *Shard) EndElsewhere(shard uint16, key string, done func(error)) {
	go func() {
		err := s.pod.replaced(s.ctx, shard, key)
		s.loop.Post(func() { done(err) })
	}()
}

// replaced tells the holder of a shard, here or in another pod.
func (p *Pod) replaced(ctx context.Context, shard uint16, key string) error {
	for _, id := range p.Shards {
		if id.Number != shard {
			continue
		}
		if p.replacedHere(id, key) {
			return nil
		}
		root, _ := p.elsewhere(id)
		if root == nil {
			return errElsewhere(id.Name)
		}
		ctx, cancel := context.WithTimeout(ctx, callTime)
		defer cancel()
		to := root.JoinPath(pathReplaced)
		to.RawQuery = url.Values{"key": {key}}.Encode()
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), nil)
		if err != nil {
			return err
		}
		r.Header.Set(headerPassed, "1")
		answer, err := p.Passing.Transport.RoundTrip(r)
		if err != nil {
			return err
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusNoContent {
			return fmt.Errorf("the holder of shard %s answered %s", id.Name, answer.Status)
		}
		return nil
	}
	return fmt.Errorf("there is no shard %d any more: its sessions end when their pods do", shard)
}

func (p *Pod) replacedHere(id Identity, key string) bool {
	s := p.Held(id.Name)
	return s != nil && s.ask(func() { s.runner.Deliver(key, procedure.Release{}) }, func() {})
}

// serveReplaced is the other end of EndElsewhere.
func (p *Pod) serveReplaced(id Identity, w http.ResponseWriter, r *http.Request) {
	key := r.URL.Query().Get("key")
	switch {
	case !record.IsKey(key):
		http.Error(w, "no session has this key", http.StatusBadRequest)
	case !p.replacedHere(id, key):
		http.Error(w, "the shard is not here", http.StatusServiceUnavailable)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}
