package peers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"time"
)

const (
	retryEvery  = 500 * time.Millisecond
	dialTimeout = 2 * time.Second
	// repeatEvery is how often the reason for waiting is said again.
	repeatEvery = 10 * time.Second
)

// Wait returns when every target, written tcp://host:port, has accepted a connection. It says on out
// what it waits for and why.
func Wait(ctx context.Context, targets []string, out io.Writer) error {
	if len(targets) == 0 {
		return errors.New("nothing to wait for: write tcp://host:port")
	}
	addresses := make([]string, len(targets))
	for i, t := range targets {
		u, err := url.Parse(t)
		if err != nil || u.Scheme != "tcp" || u.Hostname() == "" || u.Port() == "" || u.Path != "" {
			return fmt.Errorf("%q: write tcp://host:port", t)
		}
		addresses[i] = u.Host
	}
	for _, a := range addresses {
		if err := waitFor(ctx, a, out); err != nil {
			return err
		}
	}
	return nil
}

func waitFor(ctx context.Context, address string, out io.Writer) error {
	begin := time.Now()
	var said time.Time
	dialer := net.Dialer{Timeout: dialTimeout}
	ticker := time.NewTicker(retryEvery)
	defer ticker.Stop()
	for {
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err == nil {
			conn.Close()
			fmt.Fprintf(out, "%s listens (waited %s)\n", address, time.Since(begin).Round(time.Millisecond))
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("stopped while waiting for %s: %w", address, err)
		}
		if time.Since(said) >= repeatEvery {
			fmt.Fprintf(out, "waiting for %s: %v\n", address, err)
			said = time.Now()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("stopped while waiting for %s: %w", address, err)
		case <-ticker.C:
		}
	}
}
