package pace

import (
	"testing"
	"time"

	"core5g.dev/core5g/upf/upfc/machine"
)

func TestWheel(t *testing.T) {
	w := NewWheel(machine.Real())
	start := w.start
	woken := map[uint32]time.Time{}
	now := start
	turn := func(until time.Duration) {
		for ; now.Sub(start) <= until; now = now.Add(wheelTick) {
			w.turn(now, func(index uint32) {
				if _, twice := woken[index]; twice {
					t.Errorf("session %d is woken twice", index)
				}
				woken[index] = now
			})
		}
	}
	at := map[uint32]time.Duration{1: time.Second, 2: time.Second + wheelTick/2, 3: 81 * time.Second, 4: 83 * time.Second, 5: 500 * time.Second}
	for index, d := range at {
		w.Set(index, start.Add(d))
	}
	w.Set(6, start.Add(time.Second))
	w.Set(6, time.Time{}) // never
	w.Set(7, start.Add(400*time.Second))
	w.Set(7, start.Add(2*time.Second)) // earlier
	w.Set(8, start.Add(2*time.Second))
	w.Set(8, start.Add(300*time.Second)) // later
	at[7], at[8] = 2*time.Second, 300*time.Second
	turn(600 * time.Second)
	for index, d := range at {
		late := woken[index].Sub(start.Add(d))
		if woken[index].IsZero() || late < 0 || late > 2*wheelTick {
			t.Errorf("session %d, due after %v: woken after %v", index, d, woken[index].Sub(start))
		}
	}
	if !woken[6].IsZero() {
		t.Error("session 6 is woken, though it was taken back")
	}
	if w.n != 0 {
		t.Errorf("%d wake-ups are left", w.n)
	}
}
