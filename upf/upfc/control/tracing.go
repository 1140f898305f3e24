package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"

	"core5g.dev/core5g/upf/upfc/agent"
	"core5g.dev/core5g/upf/upfc/trace"
)

// follow streams the events of the session that -ue or -seid names, or of all packets.
func (c *client) follow(ctx context.Context, packets uint, snap int, f func(*trace.Event) error) error {
	q := url.Values{}
	named := 0
	for _, v := range []string{c.ue, c.seid} {
		if v != "" {
			q.Set("session", v)
			named++
		}
	}
	if c.all {
		q.Set("all", "true")
		named++
	}
	if named != 1 {
		return &UsageError{"whose packets? Give one of -ue ADDRESS, -seid SEID and -all"}
	}
	if c.packets != 0 {
		packets = c.packets
	}
	q.Set("packets", strconv.FormatUint(uint64(packets), 10))
	q.Set("snap", strconv.Itoa(snap))
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	body, err := c.open(ctx, "/debug/trace", q)
	if err != nil {
		return c.ended(ctx, err)
	}
	defer func() { _ = body.Close() }()
	lines := bufio.NewReader(body)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return c.ended(ctx, err)
		}
		var event struct {
			trace.Event
			Error string `json:"error"`
		}
		if err := json.Unmarshal(line, &event); err != nil {
			return fmt.Errorf("upf-c's answer cannot be read, are upfctl and upf-c of one version? %w", err)
		}
		if event.Error != "" {
			return errors.New(event.Error)
		}
		if err := f(&event.Event); err != nil {
			return err
		}
	}
}

// ended is nil when time is up or the user has seen enough: that is no failure.
func (c *client) ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

const tracedOctets = 192 // enough for every header of a GTP-U packet

func (c *client) trace(ctx context.Context, _ []string) error {
	p := trace.NewPrinter(c.out)
	e := json.NewEncoder(c.out)
	seen := 0
	err := c.follow(ctx, 10, tracedOctets, func(event *trace.Event) error {
		seen++
		if c.json {
			return e.Encode(event)
		}
		return p.Print(event)
	})
	if err == nil && seen == 0 && ctx.Err() == nil {
		return fmt.Errorf("no packet came in %s: `upfctl stats -i 1s` shows whether any reaches the UPF, and -all traces those that belong to no session", c.limit)
	}
	return err
}

func (c *client) capture(ctx context.Context, _ []string) error {
	if c.file == "" {
		return &UsageError{"where to? -w names a file, or - for standard output"}
	}
	out, done := c.out, func() error { return nil }
	if c.file != "-" {
		f, err := os.Create(c.file)
		if err != nil {
			return err
		}
		out, done = f, f.Close
	}
	begin := trace.NewPcap
	if strings.HasSuffix(c.file, ".pcapng") {
		begin = trace.NewPcapng
	}
	w, err := begin(out)
	if err == nil {
		err = c.follow(ctx, 1000, agent.TraceSnapMax, func(event *trace.Event) error { return w.Write(event) })
	}
	return errors.Join(err, done())
}
