package discovery

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"core5g.dev/core5g/images/nf/sbi"
)

// Memory outlives the program: what an NRF that is away has said to one pod, the next one may need. Keys are questions; their values are small.
type Memory interface {
	// Recall what was remembered under a key, nil where nothing was.
	Recall(ctx context.Context, key string) ([]byte, error)
	// Remember a value in the place of what was there.
	Remember(ctx context.Context, key string, value []byte) error
}

const (
	// recallLimit is how long the memory is waited for; callers have callers that wait.
	recallLimit = time.Second
	// rememberLimit is for writing, for which nobody waits.
	rememberLimit = 5 * time.Second
	// maxRemembered bounds a value, in octets: of many endpoints the best are remembered.
	maxRemembered = 1536
)

// remembered is a value.
type remembered struct {
	Endpoints []rememberedEndpoint `json:"endpoints"`
}

type rememberedEndpoint struct {
	Root     string `json:"root"`
	Instance string `json:"instance,omitempty"`
	Set      string `json:"set,omitempty"`
}

func encode(endpoints []sbi.Endpoint) []byte {
	var all remembered
	for _, e := range endpoints {
		all.Endpoints = append(all.Endpoints, rememberedEndpoint(e))
	}
	for {
		raw, err := json.Marshal(all)
		if err != nil || len(all.Endpoints) == 0 {
			return nil
		}
		if len(raw) <= maxRemembered {
			return raw
		}
		all.Endpoints = all.Endpoints[:len(all.Endpoints)-1]
	}
}

// decode passes over what no program of this version has written.
func decode(raw []byte) []sbi.Endpoint {
	var all remembered
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	var out []sbi.Endpoint
	for _, e := range all.Endpoints {
		if e.Root != "" {
			out = append(out, sbi.Endpoint(e))
		}
	}
	return out
}

// recall what an earlier life, or another pod, was told.
func (c *Cache) recall(ctx context.Context, key string) []sbi.Endpoint {
	if c.options.Memory == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, recallLimit)
	defer cancel()
	raw, err := c.options.Memory.Recall(ctx, key)
	if err != nil {
		c.options.Log.Warn("what the NRF said before cannot be recalled", "error", err)
	}
	return decode(raw)
}

// remember what the NRF has said, where it is not what is remembered already: the order is chance.
func (c *Cache) remember(ctx context.Context, key string, e *entry, endpoints []sbi.Endpoint) {
	c.mu.Lock()
	same := alike(e.remembered, endpoints)
	c.mu.Unlock()
	if same {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, rememberLimit)
	defer cancel()
	value := encode(endpoints)
	raw, err := c.options.Memory.Recall(ctx, key)
	if err == nil && !alike(decode(raw), decode(value)) {
		err = c.options.Memory.Remember(ctx, key, value)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		e.remembered, c.forgetful = endpoints, false
		return
	}
	if !c.forgetful {
		c.options.Log.Warn("what the NRF says cannot be remembered, trying on", "error", err)
	}
	c.forgetful = true
}

// alike: the same in any order.
func alike(a, b []sbi.Endpoint) bool {
	sorted := func(list []sbi.Endpoint) []sbi.Endpoint {
		return slices.SortedFunc(slices.Values(list), func(a, b sbi.Endpoint) int { return strings.Compare(a.Root, b.Root) })
	}
	return slices.Equal(sorted(a), sorted(b))
}
