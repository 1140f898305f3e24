package subscriberdata

// Where what the functions remember is kept: in the session store, where the pod has one, with as many replicas as are wanted;
// else in this process, which is alone.

import (
	"context"
	"log/slog"
	"os"
	"time"

	"core5g.dev/core5g/images/nf/pod"
	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/mounted"
	"core5g.dev/core5g/images/nf/shards"
	"core5g.dev/core5g/images/subscriber-data/records"
)

const (
	// keptUnder begins the keys of the functions in the session store, and names the replicas that share what is done once.
	keptUnder = "sd"
	// telling is what is done once: whoever has this shard tells of changes.
	telling = "tells"
	// closeLimit is for giving a seat back.
	closeLimit = 2 * time.Second
)

// kept is the memory of the functions.
type kept struct {
	records *records.Records
	// keeper is nil for a process that is alone.
	keeper *shards.Keeper
	store  sessionstore.Store
	begin  chan struct{}
	// ended is closed when all leases have been given up.
	ended chan struct{}
}

// openKept opens the session store that the environment names, and waits for it; where it names none, there is none.
func openKept(ctx context.Context, c Config, around *pod.Around) (*kept, error) {
	if os.Getenv(mounted.DirectoryEnv) == "" {
		return &kept{records: records.InMemory()}, nil
	}
	store, sealing, err := around.Store(ctx, keptUnder+":")
	if err != nil {
		return nil, err
	}
	return newKept(store, sealing, c.Pod, shards.DefaultTTL, around.Log)
}

func newKept(store sessionstore.Store, sealer records.Sealer, pod string, ttl time.Duration, log *slog.Logger) (*kept, error) {
	k := &kept{records: records.New(store, sealer, pod), store: store, begin: make(chan struct{}, 1), ended: make(chan struct{})}
	k.records.Unreadable = func(err error) { log.Warn("a record cannot be read, and is as none", "error", err) }
	var err error
	k.keeper, err = shards.New(shards.Options{
		Holder: pod, Set: keptUnder, Shards: []string{telling}, TTL: ttl, Log: log,
		Gained: func(sessionstore.Lease) {
			select {
			case k.begin <- struct{}{}:
			default: // it has not begun yet
			}
		},
		Lost: func(string) {}, // whatever leaves asks whether it may
	})
	return k, err
}

// shared says that there may be replicas.
func (k *kept) shared() bool { return k.keeper != nil }

// tells says whether this replica is the one that tells of changes, by the lease that it has.
func (k *kept) tells() bool {
	if k.keeper == nil {
		return true
	}
	_, held := k.keeper.Lease(telling)
	return held
}

// run takes part in who tells until ctx ends; begin is called whenever it is this one.
func (k *kept) run(ctx context.Context, begin func()) {
	if k.keeper == nil {
		return
	}
	go func() {
		defer close(k.ended)
		k.keeper.Run(ctx, k.store)
	}()
	for {
		select {
		case <-k.begin:
			begin()
		case <-k.ended:
			return
		}
	}
}

// close gives back what others may take, when run has ended.
func (k *kept) close() {
	if k.keeper == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	select {
	case <-k.ended:
	case <-ctx.Done():
	}
	k.records.Close(ctx)
}
