package control

import (
	"context"
	"fmt"
	"io"

	"core5g.dev/core5g/upf/upfc/topology"
)

func (c *client) topology(ctx context.Context, _ []string) error {
	var t topology.Topology
	if err := c.get(ctx, "/topology", nil, &t); err != nil {
		return err
	}
	return c.print(t, func(w io.Writer) {
		fmt.Fprintln(w, "WHAT\tNUMA CELL\tWHICH")
		for _, thread := range t.Threads {
			fmt.Fprintf(w, "%s\t%s\tCPU %d\n", thread.Role, cell(thread.Cell), thread.CPU)
		}
		for _, p := range t.Ports {
			fmt.Fprintf(w, "%s\t%s\t%s %s %s mtu %d%s%s%s\n", p.Interface, cell(p.Cell), p.Device, p.Driver, p.MAC, p.MTU, vlan(p), spread(p), link(p))
			for _, g := range p.Gateways {
				fmt.Fprintf(w, "%s\t-\tgateway %s%s\n", p.Interface, g.Address, gateway(g))
			}
		}
		for _, m := range t.Memory {
			fmt.Fprintf(w, "memory\t%d\t%d MiB, %d MiB of them packet buffers\n", m.Cell, m.Octets>>20, m.Buffers>>20)
		}
		if t.MemoryUnknown > 0 {
			fmt.Fprintf(w, "memory\t?\t%d MiB\n", t.MemoryUnknown>>20)
		}
		verdict, why := t.Judge(-1)
		fmt.Fprintf(w, "\n%s\t\t%s\n", verdict, why)
	})
}

// vlan is nothing where frames are untagged.
func vlan(p topology.Port) string {
	if p.VLAN == 0 {
		return ""
	}
	return fmt.Sprintf(" vlan %d", p.VLAN)
}

// spread is nothing where one worker has all packets.
func spread(p topology.Port) string {
	if p.Spread == "" {
		return ""
	}
	return " hash " + string(p.Spread)
}

// link is what is worth saying of a port's link.
func link(p topology.Port) string {
	s := ""
	if p.Link != topology.LinkUnknown {
		s = " link " + string(p.Link)
	}
	if p.LinkDowns > 0 {
		s += fmt.Sprintf(" (down %d times)", p.LinkDowns)
	}
	return s
}

// gateway is what is known of one of two.
func gateway(g topology.Gateway) string {
	s := ""
	switch g.State {
	case topology.GatewayAnswers:
		s = " answers"
	case topology.GatewaySilent:
		s = " does not answer"
	}
	if g.Losses > 0 {
		s += fmt.Sprintf(" (lost %d times)", g.Losses)
	}
	return s
}

func cell(n *int32) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}
