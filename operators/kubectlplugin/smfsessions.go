package kubectlplugin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// smfSession is what `session-management sessions` says of one.
type smfSession struct {
	SUPI      string    `json:"supi"`
	ID        int       `json:"id"`
	Problem   string    `json:"problem"`
	Slice     string    `json:"slice"`
	SNSSAI    string    `json:"snssai"`
	DNN       string    `json:"dnn"`
	Type      string    `json:"type"`
	Addresses []string  `json:"addresses"`
	MACs      []string  `json:"macAddresses"`
	MoreMACs  bool      `json:"moreMACAddresses"`
	Phase     string    `json:"phase"`
	Flows     []smfFlow `json:"flows"`
	Unit      string    `json:"unit"`
	Shard     string    `json:"shard"`
	Since     time.Time `json:"since"`
}

type smfFlow struct {
	QFI          int    `json:"qfi"`
	FiveQI       int    `json:"fiveQI"`
	Name         string `json:"name"`
	Priority     int    `json:"priority"`
	GFBRUplink   uint64 `json:"gfbrUplink"`
	GFBRDownlink uint64 `json:"gfbrDownlink"`
	Refused      bool   `json:"refusedByAccess"`
}

func (s *smfSession) name() string { return fmt.Sprintf("%s/%d", s.SUPI, s.ID) }

// smfList is what all sets have, as they wrote it and read. more: there are others.
func (p *Plugin) smfList(ctx context.Context, limit int) (raw []json.RawMessage, read []smfSession, more bool, err error) {
	return listOf(ctx, p, sessionManagement, "sessions", limit, []filter{{"-slice", p.slice}, {"-unit", p.unit}, {"-supi", p.supi}}, (*smfSession).name)
}

// printSMFSessions prints what the SMF has; a set that does not answer is named, and the others are printed.
func (p *Plugin) printSMFSessions(ctx context.Context, out io.Writer, limit int) error {
	raw, list, more, err := p.smfList(ctx, limit)
	if p.output == outputJSON {
		if err != nil {
			return err
		}
		return printJSON(out, map[string]any{"sessions": append([]json.RawMessage{}, raw...), "more": more})
	}
	rows := [][]string{{"SUPI", "ID", "SLICE", "DNN", "ADDRESSES", "PHASE", "QFI/5QI", "UNIT", "SHARD", "SINCE"}}
	slices.SortFunc(list, func(a, b smfSession) int { return strings.Compare(a.name(), b.name()) })
	var unreadable []string
	for _, s := range list {
		if s.Problem != "" {
			unreadable = append(unreadable, s.name()+": "+s.Problem)
			continue
		}
		rows = append(rows, []string{
			s.SUPI, strconv.Itoa(s.ID), s.Slice, s.DNN, s.addresses(), s.Phase, flowsText(s.Flows), or(s.Unit, "-"), s.Shard,
			s.Since.UTC().Format(time.DateTime),
		})
	}
	if len(rows) > 1 {
		table(out, rows)
	}
	fmt.Fprint(out, counted(int64(len(list))))
	if more {
		fmt.Fprintf(out, ", and there are more: -limit, or -slice, -unit, -supi")
	}
	fmt.Fprintln(out)
	for _, text := range unreadable {
		fmt.Fprintln(out, "cannot be read:", text)
	}
	return err
}

// typeEthernet is a PDU session type, of sessions without IP addresses.
const typeEthernet = "Ethernet"

// addresses of the UE; of a session of type Ethernet, as many as there is room for of the devices behind it.
func (s *smfSession) addresses() string {
	if s.Type != typeEthernet {
		return or(strings.Join(s.Addresses, " "), "-")
	}
	const shown = 2
	out := append([]string{typeEthernet}, s.MACs[:min(len(s.MACs), shown)]...)
	if s.MoreMACs || len(s.MACs) > shown {
		out = append(out, "...")
	}
	return strings.Join(out, " ")
}

func flowsText(flows []smfFlow) string {
	var out []string
	for _, f := range flows {
		out = append(out, fmt.Sprintf("%d/%d", f.QFI, f.FiveQI))
	}
	return or(strings.Join(out, " "), "-")
}

func printJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
