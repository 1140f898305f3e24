package control

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"core5g.dev/core5g/upf/upfc/agent"
	"core5g.dev/core5g/upf/upfc/usage"
)

func (c *client) sessions(ctx context.Context, _ []string) error {
	q := url.Values{}
	for name, v := range map[string]string{"seid": c.seid, "ue": c.ue, "node": c.node} {
		if v != "" {
			q.Set(name, v)
		}
	}
	if c.packets > 0 {
		q.Set("limit", strconv.FormatUint(uint64(c.packets), 10))
	}
	body, err := c.open(ctx, "/debug/sessions", q)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	list := &sessionReader{d: json.NewDecoder(body)}
	if err := list.d.Decode(&list.total); err != nil {
		return unreadable(err)
	}
	if c.json {
		return c.printList(list)
	}
	w := tabwriter.NewWriter(c.out, 2, 8, 2, ' ', 0)
	fmt.Fprintln(w, "SEID\tUE IP ADDRESS\tNETWORK INSTANCE\tSMF\tPDRS\tUL OCTETS\tDL OCTETS\tSINCE")
	for list.next() {
		s := &list.session
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\n", s.SEID, ueText(s), cmp.Or(s.NetworkInstance, "-"), s.Node, s.PDRs, s.UL, s.DL, stamp(s.Created))
	}
	if list.err != nil {
		return list.err
	}
	if more := list.total - list.read; more > 0 {
		fmt.Fprintf(w, "… and %d more\n", more)
	}
	return w.Flush()
}

// sessionReader reads sessions as they come: upfctl shares upf-c's memory in its container.
type sessionReader struct {
	d           *json.Decoder
	session     agent.SessionInfo
	total, read int
	err         error
}

func (r *sessionReader) next() bool {
	r.session = agent.SessionInfo{}
	err := r.d.Decode(&r.session)
	if err == nil {
		r.read++
	} else if !errors.Is(err, io.EOF) {
		r.err = unreadable(err)
	}
	return err == nil
}

func (c *client) printList(list *sessionReader) error {
	before := "[\n  "
	for list.next() {
		b, err := json.MarshalIndent(&list.session, "  ", "  ")
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(c.out, "%s%s", before, b); err != nil {
			return err
		}
		before = ",\n  "
	}
	if list.err != nil {
		return list.err
	}
	end := "\n]\n"
	if list.read == 0 {
		end = "[]\n"
	}
	_, err := io.WriteString(c.out, end)
	return err
}

// ueText is what UE IP addresses a session has, or of an Ethernet PDU session the first MAC address that was heard, and how many
// there are more.
func ueText(i *agent.SessionInfo) string {
	var out []string
	if i.UE.IsValid() {
		out = append(out, i.UE.String())
	}
	if i.UE6.IsValid() {
		out = append(out, i.UE6.String())
	}
	if n := len(i.MACs); n > 0 {
		out = append(out, strings.Fields(i.MACs[0])[0])
		if n > 1 {
			out = append(out, fmt.Sprintf("+%d", n-1))
		}
	}
	if len(out) == 0 && i.Ethernet {
		return "ethernet"
	}
	if len(out) == 0 {
		return "-"
	}
	return strings.Join(out, " ")
}

// received is a Session as it comes from the server: the rules stay text.
type received struct {
	agent.SessionInfo
	Rules       json.RawMessage         `json:"rules"`
	Usage       map[uint32]usage.Counts `json:"usage"`
	Outbox      []json.RawMessage       `json:"reportsToAcknowledge,omitempty"`
	Compiled    json.RawMessage         `json:"compiled,omitempty"`
	NotCompiled string                  `json:"notCompiled,omitempty"`
	// Rates over the interval that was asked for, in bit/s and packets/s.
	Rates map[uint32]rate `json:"rates,omitempty"`
}

type rate struct {
	ULBits    float64 `json:"uplinkBits"`
	DLBits    float64 `json:"downlinkBits"`
	ULPackets float64 `json:"uplinkPackets"`
	DLPackets float64 `json:"downlinkPackets"`
}

func (c *client) session(ctx context.Context, args []string) error {
	path := "/debug/sessions/" + args[0]
	var s received
	if err := c.get(ctx, path, nil, &s); err != nil {
		return err
	}
	if c.interval > 0 {
		before, began := s, time.Now()
		if err := c.pause(ctx); err != nil {
			return err
		}
		s = received{}
		if err := c.get(ctx, "/debug/sessions/"+before.SEID, nil, &s); err != nil {
			return err
		}
		s.Rates = rates(before.Usage, s.Usage, time.Since(began))
	}
	return c.print(s, func(w io.Writer) {
		fmt.Fprintf(w, "SEID\t%s\nCP SEID\t%s\nSMF\t%s\nUE IP address\t%s\nindex in upf-u\t%d\nsince\t%s\n",
			s.SEID, s.CPSEID, s.Node, ueText(&s.SessionInfo), s.Index, stamp(s.Created))
		if s.NAT44 != nil {
			fmt.Fprintf(w, "NAT44 block\t%s ports %s\n", s.NAT44.Address, s.NAT44.Ports)
		}
		for _, m := range s.MACs {
			fmt.Fprintf(w, "MAC address\t%s\n", m)
		}
		if len(s.Outbox) > 0 {
			fmt.Fprintf(w, "reports to acknowledge\t%d\n", len(s.Outbox))
		}
		fmt.Fprintln(w, "\nURR\tUL OCTETS\tUL PACKETS\tDL OCTETS\tDL PACKETS\tUL RATE\tDL RATE")
		for _, id := range slices.Sorted(maps.Keys(s.Usage)) {
			u, ul, dl := s.Usage[id], "-", "-"
			if r, ok := s.Rates[id]; ok {
				ul, dl = bitrate(r.ULBits), bitrate(r.DLBits)
			}
			fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%s\t%s\n", id, u.UL, u.ULPackets, u.DL, u.DLPackets, ul, dl)
		}
		if s.NotCompiled != "" {
			fmt.Fprintf(w, "\nThe rules as upf-u has them: %s\n", s.NotCompiled)
			return
		}
		fmt.Fprintln(w, "\nThe rules as upf-u has them:")
		outline(w, s.Compiled)
	})
}

func rates(before, after map[uint32]usage.Counts, d time.Duration) map[uint32]rate {
	out := map[uint32]rate{}
	for id, now := range after {
		n := now.Minus(before[id])
		per := func(v uint64) float64 { return float64(v) / d.Seconds() }
		out[id] = rate{ULBits: 8 * per(n.UL), DLBits: 8 * per(n.DL), ULPackets: per(n.ULPackets), DLPackets: per(n.DLPackets)}
	}
	return out
}

func bitrate(v float64) string {
	for _, unit := range []string{"bit/s", "kbit/s", "Mbit/s"} {
		if v < 1000 {
			return fmt.Sprintf("%.4g %s", v, unit)
		}
		v /= 1000
	}
	return fmt.Sprintf("%.4g Gbit/s", v)
}

// outline writes JSON for reading: an object's plain values in one line, what is inside it below and
// farther right. The order is the sender's.
func outline(w io.Writer, text json.RawMessage) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	n, err := decode(d)
	if err != nil {
		fmt.Fprintf(w, "%s\n", text)
		return
	}
	n.write(w, "", "")
}

type node struct {
	plain    string // of a plain value
	names    []string
	children []*node
	list     bool
}

func decode(d *json.Decoder) (*node, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	open, ok := t.(json.Delim)
	if !ok {
		return &node{plain: fmt.Sprint(t)}, nil
	}
	n := &node{list: open == '['}
	for d.More() {
		name := ""
		if !n.list {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			name = fmt.Sprint(key)
		}
		child, err := decode(d)
		if err != nil {
			return nil, err
		}
		n.names, n.children = append(n.names, name), append(n.children, child)
	}
	_, err = d.Token()
	return n, err
}

// flat says whether n goes into its parent's line.
func (n *node) flat() bool {
	return n.plain != "" || n.list && !slices.ContainsFunc(n.children, func(c *node) bool { return c.plain == "" })
}

func (n *node) inline() string {
	if !n.list {
		return n.plain
	}
	var parts []string
	for _, c := range n.children {
		parts = append(parts, c.plain)
	}
	return "[" + strings.Join(parts, " ") + "]"
}

func (n *node) write(w io.Writer, indent, name string) {
	if n.list {
		for _, c := range n.children {
			c.write(w, indent, name)
		}
		return
	}
	var line []string
	if name != "" {
		line = append(line, name+":")
	}
	for i, c := range n.children {
		if c.flat() {
			line = append(line, n.names[i]+"="+c.inline())
		}
	}
	fmt.Fprintf(w, "%s%s\n", indent, strings.Join(line, " "))
	for i, c := range n.children {
		if !c.flat() {
			c.write(w, indent+"  ", n.names[i])
		}
	}
}
