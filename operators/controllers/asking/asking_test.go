package asking

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

func askedSlice(name string) *api.Slice {
	return &api.Slice{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
}

// One that does not answer holds up no pass, its own or others', and its object is looked at again when it has.
func TestPassesWaitForNobody(t *testing.T) {
	a := New()
	hold := make(chan struct{})
	silent := func(context.Context) (string, error) { <-hold; return "at last", nil }
	age := Every[string](time.Hour)
	for range 3 {
		if got := Ask(t.Context(), a, askedSlice("silent"), "q", "", age, silent); got.Known || got.Next <= 0 {
			t.Fatalf("an answer without an answer: %+v", got)
		}
	}
	Ask(t.Context(), a, askedSlice("quick"), "q", "", age, func(context.Context) (string, error) { return "here", nil })
	if woken := <-a.Answered; woken.Object.GetName() != "quick" {
		t.Fatalf("%s was woken", woken.Object.GetName())
	}
	got := Ask(t.Context(), a, askedSlice("quick"), "q", "", age, silent)
	if !got.Known || !got.First || got.Value != "here" || got.Next < 59*time.Minute {
		t.Errorf("the answer is %+v", got)
	}
	if got = Ask(t.Context(), a, askedSlice("quick"), "q", "", age, silent); !got.Known || got.First {
		t.Errorf("the second time it is %+v", got)
	}
	close(hold)
	if woken := <-a.Answered; woken.Object.GetName() != "silent" {
		t.Fatalf("%s was woken", woken.Object.GetName())
	}
	select {
	case again := <-a.Answered:
		t.Errorf("%s was asked more than once at a time", again.Object.GetName())
	default:
	}
	if got = Ask(t.Context(), a, askedSlice("silent"), "q", "", age, silent); got.Value != "at last" {
		t.Errorf("the answer is %+v", got)
	}
}

func TestAnswersAreOfWhatWasAsked(t *testing.T) {
	a, clock, count := New(), time.Unix(1000, 0), 0
	a.now, a.start = func() time.Time { return clock }, func(do func()) { do() }
	pass := func(about string, fails error) Reply[int] {
		t.Helper()
		return Ask(t.Context(), a, askedSlice("a"), "q", about, func(_ int, err error) time.Duration {
			if err != nil {
				return time.Second
			}
			return time.Minute
		}, func(context.Context) (int, error) { count++; return count, fails })
	}
	steps := []struct {
		after time.Duration
		about string
		fails error
		want  int
	}{
		{0, "x", nil, 1},
		{59 * time.Second, "x", nil, 1},
		{time.Second, "x", nil, 2},
		{0, "y", nil, 3},
		{0, "x", errors.New("silent"), 4},
		{time.Second, "x", nil, 5},
	}
	for i, step := range steps {
		clock = clock.Add(step.after)
		if got := pass(step.about, step.fails); !got.Known || got.Value != step.want || (got.Err == nil) != (step.fails == nil) {
			t.Errorf("step %d: %+v, want %d", i, got, step.want)
		}
	}
	// What nobody wants any more is forgotten.
	clock = clock.Add(answerMemory + time.Second)
	Ask(t.Context(), a, askedSlice("b"), "q", "", Every[int](time.Minute), func(context.Context) (int, error) { return 0, nil })
	if len(a.last) != 1 {
		t.Errorf("%d answers are kept", len(a.last))
	}
}

func TestQuestionsAreBounded(t *testing.T) {
	a := New()
	var at, most atomic.Int64
	hold := make(chan struct{})
	let := sync.OnceFunc(func() { close(hold) }) // the number falls and rises again
	for i := range 4 * questionLimit {
		Ask(t.Context(), a, askedSlice(fmt.Sprint(i)), "q", "", Every[int](time.Hour), func(ctx context.Context) (int, error) {
			if _, bounded := ctx.Deadline(); !bounded {
				t.Error("a question without an end")
			}
			n := at.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			if n == questionLimit {
				let()
			}
			<-hold
			at.Add(-1)
			return 0, nil
		})
	}
	for range 4 * questionLimit {
		<-a.Answered
	}
	if most.Load() != questionLimit {
		t.Errorf("%d at once, want %d", most.Load(), questionLimit)
	}
}
