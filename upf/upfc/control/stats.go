package control

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"core5g.dev/core5g/upf/upfc/agent/peers"
)

func (c *client) associations(ctx context.Context, _ []string) error {
	var st Stats
	if err := c.get(ctx, "/debug/stats", nil, &st); err != nil {
		return err
	}
	return c.print(st.Associations, func(w io.Writer) {
		fmt.Fprintln(w, "SMF\tADDRESS\tSESSIONS\tPATH\tSINCE")
		for _, a := range st.Associations {
			path := "up"
			if a.Failed != nil {
				path = "failed since " + stamp(*a.Failed)
			}
			fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", a.Node, a.From, a.Sessions, path, stamp(a.Since))
		}
	})
}

func (c *client) peers(ctx context.Context, _ []string) error {
	var list []peers.Peer
	if err := c.get(ctx, "/debug/peers", nil, &list); err != nil {
		return err
	}
	return c.print(list, func(w io.Writer) {
		fmt.Fprintln(w, "GTP-U PEER\tTUNNELS\tPATH\tSINCE\tLAST ANSWER")
		for _, p := range list {
			fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\n", p.Address, p.Tunnels, p.Path, stamp(p.Since), stamp(p.LastAnswer))
		}
	})
}

func (c *client) stats(ctx context.Context, _ []string) error {
	var before, st Stats
	if err := c.get(ctx, "/debug/stats", nil, &st); err != nil {
		return err
	}
	var elapsed time.Duration
	if c.interval > 0 {
		began := time.Now()
		if err := c.pause(ctx); err != nil {
			return err
		}
		before, st = st, Stats{}
		if err := c.get(ctx, "/debug/stats", nil, &st); err != nil {
			return err
		}
		elapsed = time.Since(began)
		for i := range st.Workers {
			if i < len(before.Workers) {
				st.Workers[i].Busy = share(since(before.Workers[i].CyclesBusy, st.Workers[i].CyclesBusy),
					since(before.Workers[i].CyclesIdle, st.Workers[i].CyclesIdle))
			}
		}
	}
	return c.print(st, func(w io.Writer) { printStats(w, st, before, elapsed) })
}

// since is what a counter gained; after a restart of upf-u it has begun anew.
func since(before, now uint64) uint64 {
	if now < before {
		return now
	}
	return now - before
}

func printStats(w io.Writer, st, before Stats, elapsed time.Duration) {
	rate := func(was, now uint64, unit string) string {
		if elapsed == 0 {
			return ""
		}
		per := float64(since(was, now)) / elapsed.Seconds()
		if unit == "octets" {
			return "\t" + bitrate(8*per)
		}
		return fmt.Sprintf("\t%.4g/s", per)
	}
	fmt.Fprintf(w, "node ID\t%s\n", st.NodeID)
	fmt.Fprintf(w, "recovery time stamp\t%s\n", stamp(st.Recovery))
	fmt.Fprintf(w, "upf-u connected\t%t\n", st.Connected)
	fmt.Fprintf(w, "sessions\t%d\n", st.Sessions)
	fmt.Fprintf(w, "compiled rules\t%d octets\n", st.RulesOctets)
	for _, name := range slices.Sorted(maps.Keys(st.Interfaces)) {
		p, was := st.Interfaces[name], before.Interfaces[name]
		fmt.Fprintf(w, "%s received\t%d packets\t%d octets%s%s\n", name, p.RxPackets, p.RxBytes, rate(was.RxPackets, p.RxPackets, ""), rate(was.RxBytes, p.RxBytes, "octets"))
		fmt.Fprintf(w, "%s sent\t%d packets\t%d octets%s%s\n", name, p.TxPackets, p.TxBytes, rate(was.TxPackets, p.TxPackets, ""), rate(was.TxBytes, p.TxBytes, "octets"))
	}
	for _, name := range slices.Sorted(maps.Keys(st.Missed)) {
		fmt.Fprintf(w, "%s missed\t%d frames%s\n", name, st.Missed[name], rate(before.Missed[name], st.Missed[name], ""))
	}
	for _, d := range slices.Sorted(maps.Keys(st.Forwarded)) {
		fmt.Fprintf(w, "forwarded %s\t%d packets%s\n", d, st.Forwarded[d], rate(before.Forwarded[d], st.Forwarded[d], ""))
	}
	for _, r := range slices.Sorted(maps.Keys(st.Drops)) {
		fmt.Fprintf(w, "dropped %s\t%d packets%s\n", r, st.Drops[r], rate(before.Drops[r], st.Drops[r], ""))
	}
	span := "since upf-u started"
	if elapsed > 0 {
		span = "in the last " + elapsed.Round(time.Millisecond).String()
	}
	for i, k := range st.Workers {
		fmt.Fprintf(w, "worker %d\tlcore %d\tbusy %.1f %%\t%s\n", i, k.Lcore, 100*k.Busy, span)
	}
}
