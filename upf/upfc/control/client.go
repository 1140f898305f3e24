package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"

	"core5g.dev/core5g/upf/upfc/agent"
)

// Usage of the commands.
const Usage = `upf-c ctl [-socket PATH] [-json] COMMAND
  sessions         list sessions
  session SEID     one session with its rules and usage
  associations     the CP functions
  stats            interfaces, forwarded and dropped packets, workers`

// Run executes one ctl command against the service at socket.
func Run(ctx context.Context, socket string, asJSON bool, args []string, out io.Writer) error {
	c := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}}}
	get := func(path string, into any) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://upf-c"+path, nil)
		if err != nil {
			return err
		}
		resp, err := c.Do(req)
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		if resp.StatusCode != http.StatusOK {
			return errors.New(strings.TrimSpace(string(b)))
		}
		if asJSON || into == nil {
			_, err = out.Write(b)
			return err
		}
		return json.Unmarshal(b, into)
	}
	table := tabwriter.NewWriter(out, 2, 8, 2, ' ', 0)
	defer func() { _ = table.Flush() }()
	switch {
	case len(args) == 1 && args[0] == "sessions":
		var list []agent.SessionInfo
		if err := get("/debug/sessions", &list); err != nil || asJSON {
			return err
		}
		fmt.Fprintln(table, "SEID\tUE IP ADDRESS\tSMF\tPDRS\tUL OCTETS\tDL OCTETS\tSINCE")
		for _, s := range list {
			fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\t%d\t%s\n", s.SEID, s.UE, s.Node, s.PDRs, s.UL, s.DL, s.Created.UTC().Format("2006-01-02T15:04:05Z"))
		}
		return nil
	case len(args) == 2 && args[0] == "session":
		return get("/debug/sessions/"+url.PathEscape(args[1]), nil)
	case len(args) == 1 && (args[0] == "associations" || args[0] == "stats"):
		var st Stats
		if err := get("/debug/stats", &st); err != nil || asJSON {
			return err
		}
		if args[0] == "stats" {
			printStats(table, st)
			return nil
		}
		fmt.Fprintln(table, "SMF\tADDRESS\tSESSIONS\tPATH\tSINCE")
		for _, a := range st.Associations {
			path := "up"
			if a.Failed != nil {
				path = "failed"
			}
			fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\n", a.Node, a.From, a.Sessions, path, a.Since.UTC().Format("2006-01-02T15:04:05Z"))
		}
		return nil
	}
	return errors.New("usage: " + Usage)
}

func printStats(w io.Writer, st Stats) {
	fmt.Fprintf(w, "node ID\t%s\n", st.NodeID)
	fmt.Fprintf(w, "recovery time stamp\t%s\n", st.Recovery.UTC().Format("2006-01-02T15:04:05Z"))
	fmt.Fprintf(w, "upf-u connected\t%t\n", st.Connected)
	fmt.Fprintf(w, "sessions\t%d\n", st.Sessions)
	for _, name := range slices.Sorted(maps.Keys(st.Interfaces)) {
		p := st.Interfaces[name]
		fmt.Fprintf(w, "%s received\t%d packets\t%d octets\n", name, p.RxPackets, p.RxBytes)
		fmt.Fprintf(w, "%s sent\t%d packets\t%d octets\n", name, p.TxPackets, p.TxBytes)
	}
	for _, d := range slices.Sorted(maps.Keys(st.Forwarded)) {
		fmt.Fprintf(w, "forwarded %s\t%d packets\n", d, st.Forwarded[d])
	}
	for _, r := range slices.Sorted(maps.Keys(st.Drops)) {
		fmt.Fprintf(w, "dropped %s\t%d packets\n", r, st.Drops[r])
	}
	for i, k := range st.Workers {
		fmt.Fprintf(w, "worker %d\tlcore %d\tbusy %.1f %%\n", i, k.Lcore, 100*k.Busy)
	}
}
