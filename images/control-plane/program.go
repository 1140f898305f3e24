package controlplane

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	accessmanagement "core5g.dev/core5g/images/access-management"
	"core5g.dev/core5g/images/access-management/link"
	"core5g.dev/core5g/images/access-management/terminator/program"
	"core5g.dev/core5g/images/nf/pod"
	"core5g.dev/core5g/images/nf/sbimemory"
	"core5g.dev/core5g/images/nf/sbitls"
	sessionmanagement "core5g.dev/core5g/images/session-management"
	subscriberdata "core5g.dev/core5g/images/subscriber-data"

	"golang.org/x/sync/errgroup"
)

// part of the program.
type part struct {
	name string
	run  func(ctx context.Context, around *pod.Around) error
}

// Run all parts until ctx ends, or one of them does. The worker ends first: what it gives up is written, and its calls are answered. The terminator ends last, so that
// gNBs hear of the end when nothing is done for their UEs any more.
func Run(ctx context.Context, c Config, log *slog.Logger) error {
	n2 := link.NewMemory()
	defer func() { _ = n2.Close() }()
	return c.run(ctx, log, []part{
		{"amf", func(ctx context.Context, around *pod.Around) error {
			return accessmanagement.RunWith(ctx, c.AccessManagement, around, n2)
		}},
		{"smf", func(ctx context.Context, around *pod.Around) error {
			return sessionmanagement.RunWith(ctx, c.SessionManagement, around)
		}},
		{"subscriber-data", func(ctx context.Context, around *pod.Around) error {
			return subscriberdata.RunWith(ctx, c.SubscriberData, around)
		}},
		{"n2", func(ctx context.Context, around *pod.Around) error {
			return program.RunWith(ctx, c.Terminator, around, n2)
		}},
	})
}

// run the parts together. At the end they end one after the other, the first first.
func (c *Config) run(ctx context.Context, log *slog.Logger, parts []part) error {
	identity, err := sbitls.FromEnvironment(func(err error) { log.Error("SBI certificates", "err", err) })
	if err != nil {
		return err
	}
	watched, unwatch := context.WithCancel(context.WithoutCancel(ctx))
	var observed errgroup.Group
	defer func() {
		unwatch()
		_ = observed.Wait()
	}()
	names := make([]string, len(parts))
	for n, p := range parts {
		names[n] = p.name
	}
	health, registries, err := c.ObservedParts(watched, observed.Go, names...)
	if err != nil {
		return err
	}
	answers := health.Parts(names...)
	together := &pod.Together{Network: sbimemory.New(log), Directory: &sbimemory.Directory{}, Scheme: c.Scheme}
	first, ended := context.WithCancelCause(ctx)
	defer ended(nil)
	running := make([]*life, len(parts))
	for n, p := range parts {
		around := &pod.Around{Log: log.With("part", p.name), Registry: registries[n], Answers: answers[n], Shows: health.Shows, Identity: identity, Together: together}
		running[n] = begin(ctx, p, around, ended)
	}
	<-first.Done()
	for _, l := range running {
		l.end()
	}
	if ctx.Err() != nil {
		return nil
	}
	return context.Cause(first)
}

// life of a part.
type life struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// begin a part. ended is told of an end that nobody asked for.
func begin(ctx context.Context, p part, around *pod.Around, ended context.CancelCauseFunc) *life {
	l := &life{}
	ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	l.running.Go(func() {
		err := p.run(ctx, around)
		if ctx.Err() == nil {
			ended(fmt.Errorf("%s: %w", p.name, orEnded(err)))
		} else if err != nil {
			around.Log.Debug("at its end", "err", err)
		}
	})
	return l
}

func (l *life) end() {
	l.cancel()
	l.running.Wait()
}

// errEnded: a part has ended, and said nothing of why.
var errEnded = errors.New("it has ended")

func orEnded(err error) error {
	if err == nil {
		return errEnded
	}
	return err
}
