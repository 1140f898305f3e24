package shards

import (
	"context"
	"net/url"
	"time"
)

const (
	// moveTime is how long a request waits for who has its shard next, where that moves: nothing has been done of it.
	moveTime = time.Second
	// passAgain is how soon who was not reached is asked again: it may have begun anew under its name.
	passAgain = 50 * time.Millisecond
	// settleEvery is how often who waits for a shard's next holder looks.
	settleEvery = 5 * time.Millisecond
)

// ToHolder passes a request on to the pod that holds its shard; elsewhere is where that is, nil for here or nowhere. Where nobody holds the shard, or pass says that
// the one who does was not reached, so that nothing was done of the request, it waits for who has the shard next. pass is told whether it may say so again, and says true
// where it has answered, with what it had for an answer. A pod that ends does not learn who is next, and passes on once. false: the request is for this pod.
func (k *Keeper) ToHolder(ctx context.Context, shard string, elsewhere func() (to *url.URL, holder string), pass func(to *url.URL, holder string, again bool) (answered bool)) bool {
	end := time.Now().Add(moveTime)
	k.settle(ctx, shard, "", moveTime)
	for {
		to, holder := elsewhere()
		if to == nil {
			return false
		}
		if pass(to, holder, time.Now().Before(end) && !k.ends()) {
			return true
		}
		k.settle(ctx, shard, holder, passAgain)
	}
}

// settle waits until a shard has another holder than was ("" for nobody), as far as is known, and not for longer than that. A pod that ends does not learn who has it.
func (k *Keeper) settle(ctx context.Context, shard, was string, most time.Duration) {
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
