package machine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var begin = time.Unix(1_790_000_000, 0)

func virtual(seed uint64) *Virtual { return NewVirtual(begin, rand.New(rand.NewPCG(seed, 0))) }

func TestThreadsGoOnAtTheirTimes(t *testing.T) {
	v := virtual(1)
	var said []string
	say := func(f string, args ...any) {
		said = append(said, fmt.Sprintf("%s "+f, append([]any{v.Now().Sub(begin)}, args...)...))
	}
	gate, never := make(chan struct{}), make(chan struct{})
	v.Go(func() {
		say("sleeper: %t", v.Wait(3*time.Second, never))
		v.Go(func() { say("child: %t", v.Wait(0)) })
		close(gate)
	})
	v.Go(func() { say("gate: %t", v.Wait(-1, gate)) })
	v.Go(func() { say("impatient: %t", v.Wait(time.Second, gate, never)) })
	v.Go(func() { v.Wait(-1, never); say("never") })
	v.Run()
	if next, ok := v.NextDeadline(); !ok || next != begin.Add(time.Second) {
		t.Errorf("next deadline %v %t, want after 1s", next, ok)
	}
	v.Tick(begin.Add(time.Minute))
	slices.Sort(said[min(2, len(said)):]) // what chance decides
	want := []string{"1s impatient: true", "3s sleeper: true", "3s child: true", "3s gate: false"}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, ok := v.NextDeadline(); ok || v.Now() != begin.Add(time.Minute) {
		t.Errorf("a deadline is left, or the time is %v", v.Now())
	}
}

func TestKill(t *testing.T) {
	for name, by := range map[string]func(v *Virtual){
		"by a thread": func(v *Virtual) { v.Go(func() { v.Wait(time.Second); v.Kill(); panic("it lives on") }) },
		"from outside": func(v *Virtual) {
			v.Tick(begin.Add(time.Second))
			v.Kill()
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := virtual(1)
			unwound, after := 0, 0
			for range 3 {
				v.Go(func() {
					defer func() { unwound++; v.Wait(time.Second); after++ }()
					v.Wait(time.Minute)
					after++
				})
			}
			by(v)
			v.Tick(begin.Add(time.Hour))
			v.Go(func() { after++ })
			v.Run()
			if unwound != 3 || after != 0 || !v.Dead() {
				t.Errorf("%d threads were unwound, want 3; %d went on, want none; dead: %t", unwound, after, v.Dead())
			}
		})
	}
}

// The order of threads is left to chance, and is the same with the same chance.
func TestOrderOfThreads(t *testing.T) {
	order := func(seed uint64) (out []int) {
		v := virtual(seed)
		for i := range 6 {
			v.Go(func() { v.Wait(0); out = append(out, i) })
		}
		v.Run()
		return out
	}
	if diff := cmp.Diff(order(7), order(7)); diff != "" {
		t.Errorf("the same chance, another order:\n%s", diff)
	}
	others := 0
	for seed := range uint64(10) {
		if !slices.Equal(order(seed), order(7)) {
			others++
		}
	}
	if others == 0 {
		t.Error("there is one order only")
	}
}
