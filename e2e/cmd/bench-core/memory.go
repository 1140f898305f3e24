package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"core5g.dev/core5g/e2e/processes"
)

// atATime UEs register where many do that nobody measures.
const atATime = 32

// memory: what is resident for each of many UEs that are registered and idle, in each function, when what has them in memory is at rest; and in that at once, with its
// garbage. And what the session store has of each, by who has written it.
func memory(ctx context.Context, b *bench) error {
	if err := b.radio(ctx); err != nil {
		return err
	}
	before, err := b.atRest(ctx)
	if err != nil {
		return err
	}
	keptBefore, err := b.sessions.Kept(ctx, processes.StorePrefix, processes.StorePassword)
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
	kept, err := b.sessions.Kept(ctx, processes.StorePrefix, processes.StorePassword)
	if err != nil {
		return err
	}
	var line strings.Builder
	fmt.Fprintf(&line, "layout=%s case=memory ues=%d", b.o.layout, b.o.idle)
	for _, name := range slices.Sorted(maps.Keys(after)) {
		fmt.Fprintf(&line, " %s_octets=%d", strings.ReplaceAll(name, "-", "_"), each(after, name))
	}
	for _, writer := range []string{"amf", "sd"} { // the SMF has nothing of a UE without PDU sessions
		fmt.Fprintf(&line, " stored_by_%s_octets=%d", writer, kept[writer].Less(keptBefore[writer]).Stored/int64(b.o.idle))
	}
	fmt.Printf("%s at_once=%d\n", line.String(), each(at, b.o.keeper()))
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
