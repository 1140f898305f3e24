package loop

import (
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestInOrderUntilTheEnd(t *testing.T) {
	l, did, last := New(), []int(nil), make(chan struct{})
	for n := range 3 {
		if !l.Post(func() { did = append(did, n) }) {
			t.Fatal("it has ended")
		}
	}
	l.Post(func() {
		l.Post(func() { did = append(did, 9) })
		l.End()
		close(last)
	})
	<-last
	<-l.Done()
	if diff := cmp.Diff([]int{0, 1, 2}, did); diff != "" {
		t.Error(diff)
	}
	if l.Post(func() {}) {
		t.Error("it takes something behind its end")
	}
}

func TestTokens(t *testing.T) {
	type token uint64
	var of Tokens[token]
	var got []any
	first, second := of.Add(func(body any) { got = append(got, body) }), of.Add(func(any) { t.Error("whoever gave up is answered") })
	of.Forget(second)
	of.Answer(first, "a")
	of.Answer(first, "again")
	of.Answer(second, "b")
	if diff := cmp.Diff([]any{"a"}, got); diff != "" || of.Has(first) || of.Has(second) {
		t.Errorf("%s, %v, %v", diff, of.Has(first), of.Has(second))
	}
}

// Errands come back into the loop, one at a time with what is posted, whoever runs it.
func TestErrands(t *testing.T) {
	const chains, steps = 50, 40
	l := New()
	inside, most := 0, 0 // the loop's
	at := func(f func()) func() {
		return func() {
			if inside++; inside > most {
				most = inside
			}
			f()
			inside--
		}
	}
	var spawned atomic.Int64
	var left sync.WaitGroup
	spawn := func(f func()) { spawned.Add(1); go f() }
	var walk func(n int)
	walk = func(n int) {
		if n == steps {
			left.Done()
			return
		}
		l.Errand(spawn, func() func() { return at(func() { walk(n + 1) }) })
	}
	count := 0
	for range chains {
		left.Add(2)
		go l.Post(at(func() { walk(0) }))
		go l.Post(at(func() { count++; left.Done() }))
	}
	left.Wait()
	l.End()
	<-l.Done()
	if most != 1 || count != chains || spawned.Load() > chains*steps {
		t.Errorf("%d at a time, %d of %d posted, %d goroutines of %d errands", most, count, chains, spawned.Load(), chains*steps)
	}
}

// Errands that follow each other are one goroutine's, and a second one at the same time has its own.
func TestErrandsThatFollowEachOther(t *testing.T) {
	l, spawned, over := New(), 0, make(chan int)
	spawn := func(f func()) { spawned++; go f() }
	posted := make(chan struct{}) // who comes back while another is in the loop has that one go on
	l.Post(func() {
		l.Errand(spawn, func() func() {
			<-posted
			return func() {
				l.Errand(spawn, func() func() {
					return func() {
						l.Errand(spawn, func() func() { return nil })
						l.Errand(spawn, func() func() { return func() { over <- spawned } })
					}
				})
			}
		})
	})
	close(posted)
	if got := <-over; got != 2 {
		t.Errorf("%d goroutines, want that of the first and one beside", got)
	}
	l.End()
	<-l.Done()
}

// What an errand comes back with when the loop has ended is not run, and the end waits for what one is doing in the loop.
func TestErrandsAtTheEnd(t *testing.T) {
	spawn := func(f func()) { go f() }
	l, entered, goOn, late := New(), make(chan struct{}), make(chan struct{}), make(chan struct{})
	var did atomic.Bool
	l.Post(func() {
		l.Errand(spawn, func() func() {
			return func() {
				close(entered)
				<-goOn
				did.Store(true)
			}
		})
		l.Errand(spawn, func() func() {
			<-late
			return func() { t.Error("run behind the end") }
		})
	})
	<-entered
	l.End()
	select {
	case <-l.Done():
		t.Error("it has ended while an errand is in it")
	default:
	}
	close(goOn)
	<-l.Done()
	if !did.Load() {
		t.Error("it has ended before what was begun")
	}
	close(late)
}

// deep is what an errand does: a few calls with what they have on their stack.
//
//go:noinline
func deep(n int) (sum int) {
	var b [1 << 10]byte
	if n > 0 {
		sum = deep(n - 1)
	}
	for i := range b {
		b[i] = byte(n + i)
	}
	return sum + int(b[n])
}

// What it takes that a loop has something done outside and goes on with what came of it, four times in turn, as errands, and as goroutines that post. cpu-ns/errand
// is that of all threads. Between one such chain and the next the program rests, as it does between messages.
func BenchmarkErrand(b *testing.B) {
	for name, outside := range map[string]func(*Loop, func()){
		"errand": func(l *Loop, then func()) {
			l.Errand(func(f func()) { go f() }, func() func() { deep(6); return then })
		},
		"goroutine": func(l *Loop, then func()) {
			go func() { deep(6); l.Post(then) }()
		},
	} {
		b.Run(name, func(b *testing.B) {
			const chain = 4
			l, done := New(), make(chan struct{})
			var before, after syscall.Rusage
			_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
			for b.Loop() {
				left := chain
				var next func()
				next = func() {
					if left == 0 {
						done <- struct{}{}
						return
					}
					left--
					outside(l, next)
				}
				l.Post(next)
				<-done
				time.Sleep(time.Millisecond)
			}
			_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
			b.ReportMetric(float64(after.Utime.Nano()+after.Stime.Nano()-before.Utime.Nano()-before.Stime.Nano())/float64(b.N*chain), "cpu-ns/errand")
			l.End()
			<-l.Done()
		})
	}
}
