package worker

import (
	"context"
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/procedure"
)

// What waits for others to be answered may wait beyond the lease: then nobody is asked.
func TestNobodyIsAskedWithoutTheLease(t *testing.T) {
	p := podAt(t, func() []string { return nil })
	lease, err := p.Store.Acquire(t.Context(), p.name(1), p.Holder, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	s := p.open(1, lease) // the keeper knows nothing of this lease: it has ended
	defer s.close()
	asked := make(chan error, 1)
	s.call(callTime, func(procedure.Event) {}, func(ctx context.Context) procedure.Event {
		asked <- ctx.Err()
		return nil
	})
	select {
	case err := <-asked:
		if err == nil {
			t.Error("somebody is asked")
		}
	case <-time.After(patience):
		t.Fatal("what asked is not told")
	}
}
