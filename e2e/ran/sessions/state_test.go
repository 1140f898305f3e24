package sessions

import (
	"fmt"
	"os"
	sorting "slices"
	"strconv"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/ran/gnb"
)

// What a handover costs under 10,000 packets a second downlink (make e2e-state): each packet comes, once, and in order.
// CORE5G_STATE_RUNS is how many handovers of each kind.
func TestStateOfHandovers(t *testing.T) {
	runs, err := strconv.Atoi(os.Getenv("CORE5G_STATE_RUNS"))
	if err != nil || runs < 1 {
		t.Skip("CORE5G_STATE_RUNS is no number of handovers: make e2e-state")
	}
	for _, h := range []struct {
		name string
		move func(*story, *phone, int) (gnb.HandoverResult, error)
	}{
		{"handover_xn", func(s *story, u *phone, to int) (gnb.HandoverResult, error) {
			return u.Connection().HandOverXn(s.ctx, s.gnbs[to], gnb.HandoverOptions{})
		}},
		{"handover_n2", func(s *story, u *phone, to int) (gnb.HandoverResult, error) {
			return u.Connection().HandOverN2(s.ctx, uint32(to+1), gnb.HandoverOptions{})
		}},
	} {
		t.Run(h.name, func(t *testing.T) {
			p := flowing(t)
			s := begin(t, p)
			u := s.attach(1, internet(1))
			u.pings4(1)
			x := p.stream(u, 1)
			x.burst = 10
			var took []time.Duration
			began := time.Now()
			x.during(func() {
				for n := range runs {
					time.Sleep(100 * time.Millisecond) // of packets between them
					at := time.Now()
					if _, err := h.move(s, u, 1-n%2); err != nil {
						t.Errorf("handover %d: %v", n, err)
						return
					}
					took = append(took, time.Since(at))
				}
				time.Sleep(100 * time.Millisecond)
			})
			rate := float64(x.sent) / time.Since(began).Seconds()
			settled(func() bool { return x.missing() == 0 })
			lost, doubled, late := x.missing(), x.doubled(), x.unordered()
			sorting.Sort(took)
			if len(took) > 0 {
				fmt.Fprintf(t.Output(), "case=%s on=processes runs=%d sessions=1 sessions_lost=0 packets=%d packets_a_second=%.0f packets_lost=%d packets_doubled=%d packets_unordered=%d answer_ms=%d\n",
					h.name, len(took), x.sent, rate, lost, doubled, late, took[len(took)/2].Milliseconds())
			}
			if lost+doubled+late > 0 {
				t.Errorf("%s: %d packets lost, %d doubled, %d out of order", h.name, lost, doubled, late)
			}
			u.pings4(1)
		})
	}
}

// settled waits for what still comes.
func settled(holds func() bool) {
	for deadline := time.Now().Add(5 * time.Second); !holds() && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
}

// doubled packets, and those that came behind a later one.
func (x *stream) doubled() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	seen, n := map[uint64]bool{}, 0
	for _, s := range x.seen {
		if seen[s] {
			n++
		}
		seen[s] = true
	}
	return n
}

func (x *stream) unordered() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := 0
	for i := 1; i < len(x.seen); i++ {
		if x.seen[i] < x.seen[i-1] {
			n++
		}
	}
	return n
}
