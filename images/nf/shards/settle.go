package shards

import (
	"context"
	"time"
)

// settleEvery is how often who waits for a shard's next holder looks.
const settleEvery = 5 * time.Millisecond

// Settle waits until a shard has another holder than was ("" for nobody), as far as is known, and not for longer than that. A pod that ends does not learn who has it.
func (k *Keeper) Settle(ctx context.Context, shard, was string, most time.Duration) {
	for end := time.Now().Add(most); k.Holder(shard) == was && !k.ends() && time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return
		case <-time.After(settleEvery):
		}
	}
}

func (k *Keeper) ends() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ending
}
