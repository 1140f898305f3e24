// Package machine is what upf-c takes from the machine that it runs on: time, threads, waiting and chance. On a
// Virtual one the same code runs in one thread, in a time of its own, and twice alike.
package machine

import (
	"math/rand/v2"
	"runtime"
	"time"
)

// Machine is where upf-c runs.
type Machine interface {
	Now() time.Time
	// Random is any number.
	Random() uint64
	// Go runs f on a thread of its own.
	Go(f func())
	// Wait returns when something of ready (three at most) is closed, or when d has passed (negative: it never does),
	// and whether that was it.
	Wait(d time.Duration, ready ...<-chan struct{}) (passed bool)
	// Threads is among how many threads a long piece of work is divided.
	Threads() int
}

// Real is the machine itself.
func Real() Machine { return machine{} }

type machine struct{}

func (machine) Now() time.Time { return time.Now() }
func (machine) Random() uint64 { return rand.Uint64() }
func (machine) Go(f func())    { go f() }
func (machine) Threads() int   { return runtime.GOMAXPROCS(0) }

func (machine) Wait(d time.Duration, ready ...<-chan struct{}) bool {
	var r [3]<-chan struct{}
	if copy(r[:], ready) < len(ready) {
		panic("machine.Wait waits for three at most")
	}
	var passed <-chan time.Time
	if d >= 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		passed = t.C
	}
	select {
	case <-r[0]:
	case <-r[1]:
	case <-r[2]:
	case <-passed:
		return true
	}
	return false
}
