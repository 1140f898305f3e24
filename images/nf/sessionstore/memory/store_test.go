package memory

import (
	"context"
	"errors"
	"testing"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/conformance"
)

func TestConformance(t *testing.T) {
	conformance.Run(t, func(*testing.T) *conformance.Subject {
		now := time.UnixMilli(1_800_000_000_000)
		s := New(func() time.Time { return now })
		return &conformance.Subject{
			Store: s, Pass: func(d time.Duration) { now = now.Add(d) }, Short: time.Second, Forget: s.Forget,
		}
	})
}

func TestFaults(t *testing.T) {
	ctx := context.Background()
	s := New(time.Now)
	l, err := s.Acquire(ctx, "0", "a", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for n, c := range []struct {
		name    string
		fault   Fault
		want    error
		written bool
	}{
		{"a lost request", LostRequest, sessionstore.ErrUnknown, false},
		{"a lost answer", LostAnswer, sessionstore.ErrUnknown, true},
		{"a store that is away", Away, sessionstore.ErrUnavailable, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			change := sessionstore.Change{Key: c.name, Is: sessionstore.Revision{Writer: 1, Count: uint64(n + 1)}, Value: []byte("x")}
			s.Fault = func(string) Fault { return c.fault }
			if err := s.Commit(ctx, l, change); !errors.Is(err, c.want) {
				t.Errorf("Commit: %v, want %v", err, c.want)
			}
			if _, err := s.Read(ctx, c.name); (err == nil) != c.written {
				t.Errorf("Read: %v, want it written: %v", err, c.written)
			}
			s.Fault = nil
			if err := s.Commit(ctx, l, change); err != nil {
				t.Errorf("the repetition: %v", err)
			}
		})
	}
	s.Away = func() bool { return true }
	if _, err := s.Read(ctx, "a lost answer"); !errors.Is(err, sessionstore.ErrUnavailable) {
		t.Errorf("Read from a store that is away: %v", err)
	}
}

func TestForgetGoesBackToTheCheckpoint(t *testing.T) {
	ctx := context.Background()
	s := New(time.Now)
	l, _ := s.Acquire(ctx, "0", "a", time.Hour)
	for n, key := range []string{"kept", "lost"} {
		if err := s.Commit(ctx, l, sessionstore.Change{Key: key, Is: sessionstore.Revision{Writer: 1, Count: uint64(n + 1)}, Value: []byte("x")}); err != nil {
			t.Fatal(err)
		}
		if key == "kept" {
			s.Checkpoint()
		}
	}
	s.Forget()
	if _, err := s.Read(ctx, "kept"); err != nil {
		t.Error(err)
	}
	if _, err := s.Read(ctx, "lost"); !errors.Is(err, sessionstore.ErrNotFound) {
		t.Errorf("Read lost: %v", err)
	}
}
