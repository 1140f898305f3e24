package control

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

// Usage of the commands.
const Usage = `upfctl looks into a running UPF. It asks upf-c, on the machine or in the container where that runs.

  upfctl sessions [-seid SEID] [-ue ADDRESS] [-node NODE] [-n 0]
                                                            list PFCP sessions, at most so many (0: all)
  upfctl session SEID|ADDRESS [-i 1s]                       one session: usage, and the rules as upf-u has them
  upfctl associations                                       the CP functions
  upfctl release NODE [-t 1m]                               ask a CP function to release its association, and end it
                                                            with its sessions after that time, or when it is gone
  upfctl peers                                              the GTP-U peers
  upfctl stats [-i 1s]                                      interfaces, forwarded and dropped packets, workers
  upfctl topology                                           NUMA cells of CPUs, ports and memory
  upfctl trace -ue ADDRESS|-seid SEID|-all [-n 10] [-t 1m]  the way of packets, stage by stage
  upfctl capture -ue ADDRESS|-seid SEID|-all -w FILE|- [-n 1000] [-t 1m]
                                                            packets as they came and as they left, for tcpdump
                                                            and Wireshark (FILE.pcapng: with comments)

  -o table|json      how to print [table]; -json is -o json
  -i DURATION        measure rates over that time
  -socket PATH       control.socket of upf-c [/run/upf/upf-c.sock]`

// DefaultSocket is where upf-c serves unless its configuration says otherwise.
const DefaultSocket = "/run/upf/upf-c.sock"

// client asks upf-c.
type client struct {
	http   *http.Client
	socket string
	json   bool
	out    io.Writer

	// The commands' flags.
	seid, ue, node, file string
	all                  bool
	packets              uint
	interval, limit      time.Duration
}

// UsageError says that the command cannot be understood.
type UsageError struct{ Problem string }

func (e *UsageError) Error() string {
	return e.Problem + "; `upfctl help` explains the commands"
}

var commands = map[string]struct {
	run   func(*client, context.Context, []string) error
	args  int
	flags []string // beside those that all have
}{
	"sessions":     {(*client).sessions, 0, []string{"seid", "ue", "node", "n"}},
	"session":      {(*client).session, 1, []string{"i"}},
	"associations": {(*client).associations, 0, nil},
	"release":      {(*client).release, 1, []string{"t"}},
	"peers":        {(*client).peers, 0, nil},
	"stats":        {(*client).stats, 0, []string{"i"}},
	"topology":     {(*client).topology, 0, nil},
	"trace":        {(*client).trace, 0, []string{"seid", "ue", "all", "n", "t"}},
	"capture":      {(*client).capture, 0, []string{"seid", "ue", "all", "n", "t", "w"}},
}

// wants is what a command with one word is about.
func wants(command string) string {
	if command == "release" {
		return "Node ID, as `upfctl associations` has it"
	}
	return "SEID or UE IP address"
}

// Run executes one command line; flags may stand anywhere in it.
func Run(ctx context.Context, args []string, out io.Writer) error {
	c := &client{out: out}
	f := flag.NewFlagSet("upfctl", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	output := f.String("o", "table", "")
	asJSON := f.Bool("json", false, "")
	f.StringVar(&c.socket, "socket", DefaultSocket, "")
	f.StringVar(&c.seid, "seid", "", "")
	f.StringVar(&c.ue, "ue", "", "")
	f.StringVar(&c.node, "node", "", "")
	f.StringVar(&c.file, "w", "", "")
	f.BoolVar(&c.all, "all", false, "")
	f.UintVar(&c.packets, "n", 0, "")
	f.DurationVar(&c.interval, "i", 0, "")
	f.DurationVar(&c.limit, "t", time.Minute, "")

	var words []string
	for len(args) > 0 {
		if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
			words = []string{"help"}
			break
		} else if err != nil {
			return &UsageError{err.Error()}
		}
		if args = f.Args(); len(args) > 0 {
			words, args = append(words, args[0]), args[1:]
		}
	}
	if len(words) == 0 {
		return &UsageError{"which command?"}
	}
	if words[0] == "help" {
		_, err := fmt.Fprintln(out, Usage)
		return err
	}
	command, ok := commands[words[0]]
	if !ok {
		return &UsageError{fmt.Sprintf("there is no command %q", words[0])}
	}
	var wrong error
	f.Visit(func(g *flag.Flag) {
		if !slices.Contains([]string{"o", "json", "socket"}, g.Name) && !slices.Contains(command.flags, g.Name) {
			wrong = &UsageError{fmt.Sprintf("%s has no flag -%s", words[0], g.Name)}
		}
	})
	if wrong != nil {
		return wrong
	}
	if len(words)-1 != command.args {
		if command.args == 1 {
			return &UsageError{words[0] + " wants one " + wants(words[0])}
		}
		return &UsageError{fmt.Sprintf("%s takes no %q", words[0], words[1])}
	}
	switch c.json = *asJSON || *output == "json"; {
	case *output != "json" && *output != "table":
		return &UsageError{fmt.Sprintf("-o is table or json, not %q", *output)}
	case c.interval < 0 || c.limit <= 0:
		return &UsageError{"a time is positive, such as 1s"}
	}
	c.http = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", c.socket)
	}}}
	defer c.http.CloseIdleConnections()
	return command.run(c, ctx, words[1:])
}

// open asks; the caller closes what comes back.
func (c *client) open(ctx context.Context, path string, q url.Values) (io.ReadCloser, error) {
	u := url.URL{Scheme: "http", Host: "upf-c", Path: path, RawQuery: q.Encode()}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(err)
	}
	if resp.StatusCode != http.StatusOK {
		defer func() { _ = resp.Body.Close() }()
		b, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
		if err != nil {
			return nil, err
		}
		return nil, errors.New(strings.TrimSpace(string(b)))
	}
	return resp.Body, nil
}

// unreachable says what to do about an upf-c that does not answer.
func (c *client) unreachable(err error) error {
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("there is no %s: run upfctl where upf-c runs (in Kubernetes: kubectl exec POD -c upf-c -- upfctl …), or name its control.socket with -socket", c.socket)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nobody listens at %s: upf-c is not running; its log says why", c.socket)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%s may not be opened: run upfctl as upf-c's user or as root", c.socket)
	case errors.Is(err, context.Canceled):
		return err
	}
	return fmt.Errorf("upf-c does not answer at %s: %w", c.socket, err)
}

func (c *client) get(ctx context.Context, path string, q url.Values, into any) error {
	body, err := c.open(ctx, path, q)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	if err := json.NewDecoder(body).Decode(into); err != nil {
		return unreadable(err)
	}
	return nil
}

func unreadable(err error) error {
	return fmt.Errorf("upf-c's answer cannot be read, are upfctl and upf-c of one version? %w", err)
}

// print writes v as JSON when that was asked for.
func (c *client) print(v any, table func(w io.Writer)) error {
	if c.json {
		e := json.NewEncoder(c.out)
		e.SetIndent("", "  ")
		return e.Encode(v)
	}
	w := tabwriter.NewWriter(c.out, 2, 8, 2, ' ', 0)
	table(w)
	return w.Flush()
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

// pause waits for the interval between two measurements.
func (c *client) pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(c.interval):
		return nil
	}
}
