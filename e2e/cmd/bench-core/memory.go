package main

import (
	"context"
	"fmt"
	"sync"
)

// atATime UEs register where many do that nobody measures.
const atATime = 32

// memory: what is resident for each of many UEs that are registered and idle, in the AMF's workers and in the session store.
func memory(ctx context.Context, b *bench) error {
	if err := b.radio(ctx); err != nil {
		return err
	}
	before, err := b.usage()
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
	for range idle {
		next <- b.switchOn()
	}
	close(next)
	wg.Wait()
	select {
	case err := <-failed:
		return err
	default:
	}
	after, err := b.usage()
	if err != nil {
		return err
	}
	each := func(name string) int64 { return after[name].Since(before[name]).Resident / idle }
	fmt.Printf("layout=%s case=memory ues=%d amf_octets=%d session_store_octets=%d\n", b.o.layout, idle, each("amf"), each("session-store"))
	return nil
}
