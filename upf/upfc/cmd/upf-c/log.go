package main

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"core5g.dev/core5g/upf/upfc/config"
)

// logsPerSecond is how often one message may be logged. A CP function that sends nothing but requests
// that must be rejected would otherwise decide how much of a CPU and a disk the log takes.
const logsPerSecond = 20

func logger(w io.Writer, c config.Log) *slog.Logger {
	o := &slog.HandlerOptions{Level: c.Level}
	var h slog.Handler = slog.NewJSONHandler(w, o)
	if c.Format == "text" {
		h = slog.NewTextHandler(w, o)
	}
	if c.Level <= slog.LevelDebug { // whoever asks for that wants all of it
		return slog.New(h)
	}
	return slog.New(&limiter{Handler: h, said: &said{now: time.Now, of: map[string]*times{}}})
}

// limiter passes a bounded number of records of each message a second on, and tells with the next one
// how many it kept.
type limiter struct {
	slog.Handler
	said *said
}

type said struct {
	now func() time.Time
	mu  sync.Mutex
	of  map[string]*times // by message: they are constants of the program
}

type times struct {
	since time.Time // begin of the running second
	n     int       // records in it
	kept  int
}

// Handle passes a record on, or keeps it.
func (l *limiter) Handle(ctx context.Context, r slog.Record) error {
	l.said.mu.Lock()
	t := l.said.of[r.Message]
	if t == nil {
		t = &times{}
		l.said.of[r.Message] = t
	}
	if now := l.said.now(); now.Sub(t.since) >= time.Second {
		t.since, t.n = now, 0
	}
	if t.n++; t.n > logsPerSecond {
		t.kept++
		l.said.mu.Unlock()
		return nil
	}
	kept := t.kept
	t.kept = 0
	l.said.mu.Unlock()
	if kept > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("suppressed", kept))
	}
	return l.Handler.Handle(ctx, r)
}

// WithAttrs is a limiter, too.
func (l *limiter) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &limiter{l.Handler.WithAttrs(attrs), l.said}
}

// WithGroup is a limiter, too.
func (l *limiter) WithGroup(name string) slog.Handler {
	return &limiter{l.Handler.WithGroup(name), l.said}
}
