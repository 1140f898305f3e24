package main

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"core5g.dev/core5g/e2e/processes"
)

// atATime UEs register where many do that nobody measures.
const atATime = 32

// memory: what is resident for each of many UEs that are registered and idle, in the AMF's workers, or in what else is the AMF, and in the session store, when these
// are at rest; and in the former at once, with their garbage.
func memory(ctx context.Context, b *bench) error {
	if err := b.radio(ctx); err != nil {
		return err
	}
	before, err := b.atRest(ctx)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	next, failed := make(chan *phone), make(chan error, atATime)
	for range atATime {
		wg.Go(func() {
			for p := range next {
				err := p.Register(ctx)
				if err == nil {
					err = p.Idle(ctx)
				}
				b.access.gnbs[0].Remove(p.UE)
				p.off()
				if err != nil {
					select {
					case failed <- fmt.Errorf("%s: %w", p.SUPI(), err):
					default:
					}
				}
			}
		})
	}
	for range b.o.idle {
		next <- b.switchOn()
	}
	close(next)
	wg.Wait()
	select {
	case err := <-failed:
		return err
	default:
	}
	at, err := b.usage()
	if err != nil {
		return err
	}
	after, err := b.atRest(ctx)
	if err != nil {
		return err
	}
	each := func(after map[string]processes.Usage, name string) int64 {
		return after[name].Since(before[name]).Resident / int64(b.o.idle)
	}
	keeper := b.o.keeper()
	key := strings.ReplaceAll(keeper, "-", "_")
	fmt.Printf("layout=%s case=memory ues=%d %s_octets=%d %s_octets_at_once=%d session_store_octets=%d\n", b.o.layout, b.o.idle, key, each(after, keeper), key, each(at, keeper),
		each(after, "session-store"))
	return nil
}

// atRest is what all have used when what has UEs in memory has given back what it does not need.
func (b *bench) atRest(ctx context.Context) (all map[string]processes.Usage, err error) {
	_, err = processes.AtRest(ctx, func() (processes.Usage, error) {
		all, err = b.usage()
		return all[b.o.keeper()], err
	})
	return all, err
}
