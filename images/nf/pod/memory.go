package pod

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"core5g.dev/core5g/images/nf/discovery"
	"core5g.dev/core5g/images/nf/sessionstore"
)

// inStore is what pods of a function have in the session store of what the NRF has told them. A write is under a lease of its own, which is held for that write alone.
type inStore struct {
	store  sessionstore.Store
	holder string
	writer uint64

	mu    sync.Mutex
	count uint64
}

const (
	// memoryShard is the lease, and begins the keys.
	memoryShard = "discovery"
	memoryTTL   = 5 * time.Second
	// memoryPause is before the lease is asked for again that another pod has.
	memoryPause = 20 * time.Millisecond
)

var _ discovery.Memory = (*inStore)(nil)

// Memory of what the NRF says, for all pods that share the store's keys. holder is who we are in leases.
func Memory(store sessionstore.Store, holder string) discovery.Memory {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return &inStore{store: store, holder: holder, writer: binary.BigEndian.Uint64(b[:]) | 1}
}

func (m *inStore) key(key string) string { return memoryShard + ":" + key }

// Recall implements discovery.Memory.
func (m *inStore) Recall(ctx context.Context, key string) ([]byte, error) {
	record, err := m.store.Read(ctx, m.key(key))
	if errors.Is(err, sessionstore.ErrNotFound) {
		return nil, nil
	}
	return record.Value, err
}

// Remember implements discovery.Memory.
func (m *inStore) Remember(ctx context.Context, key string, value []byte) error {
	m.mu.Lock() // the same holder would fence itself
	defer m.mu.Unlock()
	lease, err := m.acquire(ctx)
	if err != nil {
		return err
	}
	was, err := m.store.Read(ctx, m.key(key))
	if err == nil || errors.Is(err, sessionstore.ErrNotFound) {
		m.count++
		err = m.store.Commit(ctx, lease, sessionstore.Change{
			Key: m.key(key), Was: was.Revision, Is: sessionstore.Revision{Writer: m.writer, Count: m.count}, Value: value,
		})
	}
	return errors.Join(err, m.store.Release(ctx, lease))
}

func (m *inStore) acquire(ctx context.Context) (sessionstore.Lease, error) {
	for {
		lease, err := m.store.Acquire(ctx, memoryShard, m.holder, memoryTTL)
		var held *sessionstore.HeldError
		if !errors.As(err, &held) {
			return lease, err
		}
		select {
		case <-ctx.Done():
			return sessionstore.Lease{}, err
		case <-time.After(memoryPause):
		}
	}
}
