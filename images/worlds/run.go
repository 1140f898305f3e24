package worlds

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// World is one of a seed.
type World interface {
	// Run until all has come to rest, or something is wrong.
	Run() error
	// Told so far.
	Told() *Story
}

// Run worlds, one on each CPU, until one goes wrong. ended counts the procedures of those that did not, by what they were.
func Run[W World](seeds []uint64, make func(seed uint64) (W, error), ended map[string]int) (clean int, wrong error) {
	var (
		next    atomic.Int64
		mu      sync.Mutex
		workers sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for {
				n := int(next.Add(1)) - 1
				if n >= len(seeds) {
					return
				}
				w, err := One(seeds[n], make)
				mu.Lock()
				if err != nil {
					if wrong == nil {
						wrong = err
					}
					next.Store(int64(len(seeds)))
				} else {
					clean++
					for kind, count := range w.Told().Ended {
						ended[kind] += count
					}
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	return clean, wrong
}

// Shows says whether each of these kinds has come about, where there were so many worlds. Those of the first seeds are always the same; of others there have to be a thousand.
func Shows(t *testing.T, ended map[string]int, first uint64, worlds, least int, kinds ...string) {
	t.Helper()
	if worlds < least || first != 1 && worlds < 1000 {
		return
	}
	for _, kind := range kinds {
		if ended[kind] == 0 {
			t.Errorf("no %s in %d worlds: they show nothing of it", kind, worlds)
		}
	}
}

// One world, with its story where it goes wrong.
func One[W World](seed uint64, make func(seed uint64) (W, error)) (w W, err error) {
	made := false
	defer func() {
		if p := recover(); p != nil {
			told := ""
			if made {
				told = w.Told().Tail()
			}
			err = fmt.Errorf("seed %d: panic: %v\n%s\n%s", seed, p, stack(), told)
		}
	}()
	if w, err = make(seed); err != nil {
		return w, err
	}
	made = true
	if err := w.Run(); err != nil {
		return w, fmt.Errorf("seed %d: %w\n%s", seed, err, w.Told().Tail())
	}
	return w, nil
}

func stack() string {
	b := make([]byte, 1<<14)
	return string(b[:runtime.Stack(b, false)])
}
