package loop

import (
	"testing"

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
