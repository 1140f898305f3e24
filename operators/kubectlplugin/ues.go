package kubectlplugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// ue is what `access-management ues` says of one.
type ue struct {
	SUPI     string      `json:"supi"`
	Problem  string      `json:"problem"`
	RM       string      `json:"rm"`
	CM       string      `json:"cm"`
	GUTI     string      `json:"guti"`
	GNB      string      `json:"gnb"`
	GNBName  string      `json:"gnbName"`
	PLMN     string      `json:"plmn"`
	TAC      string      `json:"tac"`
	Cell     string      `json:"cell"`
	Seen     time.Time   `json:"seen"`
	Slices   []string    `json:"slices"`
	Sessions []ueSession `json:"sessions"`
	Shard    string      `json:"shard"`
	Holder   string      `json:"holder"`
	Since    time.Time   `json:"since"`
}

type ueSession struct {
	ID      int    `json:"id"`
	SNSSAI  string `json:"snssai"`
	DNN     string `json:"dnn"`
	Up      bool   `json:"up"`
	SMF     string `json:"smf"`
	Context string `json:"context"`
	Waits   bool   `json:"waits"`
	Silent  bool   `json:"silent"`
}

// errFree5GCsAMF: it is nobody's record that could be looked at.
var errFree5GCsAMF = errors.New("free5GC's AMF does not tell what it has of a UE; `core5g_amf_registered_ues` of its metrics counts them")

// ues lists those of core5g's own AMF.
func (p *Plugin) ues(ctx context.Context, _ []string) error {
	if err := p.checkOutput(); err != nil {
		return err
	}
	if p.limit < 1 {
		return &usageError{"-limit: write 1 or more"}
	}
	if p.state != "" && p.state != "connected" && p.state != "idle" {
		return &usageError{fmt.Sprintf("-state %q: write connected or idle", p.state)}
	}
	own, err := p.ownControlPlane(ctx)
	switch {
	case err != nil:
		return err
	case !own:
		return errFree5GCsAMF
	}
	return p.printUEs(ctx, p.Out)
}

// ueList is what all sets have, as they wrote it and read. more: there are others.
func (p *Plugin) ueList(ctx context.Context) (raw []json.RawMessage, read []ue, more bool, err error) {
	filters := []filter{{"-slice", p.slice}, {"-gnb", p.gnb}, {"-tac", p.tac}, {"-state", p.state}, {"-supi", p.supi}}
	return listOf(ctx, p, accessManagement, "UEs", p.limit, filters, func(u *ue) string { return u.SUPI })
}

// printUEs prints them; a set that does not answer is named, and the others are printed.
func (p *Plugin) printUEs(ctx context.Context, out io.Writer) error {
	raw, list, more, err := p.ueList(ctx)
	if p.output == outputJSON {
		if err != nil {
			return err
		}
		return printJSON(out, map[string]any{"ues": append([]json.RawMessage{}, raw...), "more": more})
	}
	rows := [][]string{{"SUPI", "RM", "CM", "5G-GUTI", "GNB", "TAC", "SLICES", "SESSIONS", "SHARD", "WORKER"}}
	slices.SortFunc(list, func(a, b ue) int { return strings.Compare(a.SUPI, b.SUPI) })
	var unreadable []string
	for _, u := range list {
		if u.Problem != "" {
			unreadable = append(unreadable, u.SUPI+": "+u.Problem)
			continue
		}
		rows = append(rows, []string{
			u.SUPI, u.RM, u.CM, or(u.GUTI, "-"), or(or(u.GNBName, u.GNB), "-"), or(u.TAC, "-"), or(strings.Join(u.Slices, " "), "-"), sessionsText(u.Sessions), u.Shard,
			worker(u.Holder),
		})
	}
	if len(rows) > 1 {
		table(out, rows)
	}
	count := fmt.Sprintf("%d UEs", len(list))
	if len(list) == 1 {
		count = "1 UE"
	}
	fmt.Fprint(out, count)
	if more {
		fmt.Fprint(out, ", and there are more: -limit, or -slice, -gnb, -tac, -state, -supi")
	}
	fmt.Fprintln(out)
	for _, text := range unreadable {
		fmt.Fprintln(out, "cannot be read:", text)
	}
	return err
}

// worker is the pod of a lease's holder: pod/address.
func worker(holder string) string {
	pod, _, _ := strings.Cut(holder, "/")
	return or(pod, "nobody")
}

// sessionsText is 1/internet of an idle one, 1/internet* of one that has a user plane connection.
func sessionsText(list []ueSession) string {
	var out []string
	for _, s := range list {
		out = append(out, fmt.Sprintf("%d/%s%s", s.ID, s.DNN, said(s.Up, "*")))
	}
	return or(strings.Join(out, " "), "-")
}
