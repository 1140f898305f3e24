package kubectlplugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// story is what `session-management session` says of one.
type story struct {
	smfSession
	Ref         string       `json:"ref"`
	CPSEID      string       `json:"cpSEID"`
	UPSEID      string       `json:"upSEID"`
	Holder      string       `json:"holder"`
	PLMN        string       `json:"plmn"`
	AMF         storyAMF     `json:"amf"`
	AMBR        storyAMBR    `json:"ambr"`
	Uplink      string       `json:"uplink"`
	Downlink    string       `json:"downlink"`
	AlwaysOn    bool         `json:"alwaysOn"`
	Static      bool         `json:"staticAddresses"`
	Framed      []string     `json:"framedRoutes"`
	UnitInDoubt bool         `json:"unitInDoubt"`
	Behind      bool         `json:"behind"`
	NoSlice     bool         `json:"noSlice"`
	Procedure   *storyAction `json:"procedure"`
	Command     *storyAction `json:"command"`
	Handover    *storyMove   `json:"handover"`
	Wanted      *struct{}    `json:"wanted"`
	Branch      *storyBranch `json:"branch"`
	Left        *storyLeft   `json:"left"`
	Rules       storyRules   `json:"rules"`
	History     []past       `json:"history"`
}

// past is a procedure that has ended.
type past struct {
	Kind   string    `json:"kind"`
	Failed bool      `json:"failed"`
	At     time.Time `json:"at"`
	Took   int       `json:"tookMs"`
}

type storyAMF struct {
	InstanceID string `json:"instanceID"`
	TAC        string `json:"tac"`
	Cell       string `json:"cell"`
}

type storyAMBR struct{ Uplink, Downlink uint64 }

type storyAction struct {
	Kind     string    `json:"kind"`
	Step     int       `json:"step"`
	Attempts int       `json:"attempts"`
	Began    time.Time `json:"began"`
}

type storyMove struct {
	Target   string `json:"target"`
	Prepared bool   `json:"prepared"`
	Arrived  bool   `json:"arrived"`
}

type storyBranch struct {
	Unit      string     `json:"unit"`
	CPSEID    string     `json:"cpSEID"`
	UPSEID    string     `json:"upSEID"`
	Access    string     `json:"access"`
	Core      string     `json:"core"`
	Breakouts []string   `json:"breakouts"`
	Rules     storyRules `json:"rules"`
}

type storyLeft struct {
	Unit   string `json:"unit"`
	CPSEID string `json:"cpSEID"`
	UPSEID string `json:"upSEID"`
	Known  bool   `json:"known"`
}

type storyRules struct {
	PDRs []struct {
		ID          int      `json:"id"`
		Precedence  int      `json:"precedence"`
		Source      string   `json:"sourceInterface"`
		Instance    string   `json:"networkInstance"`
		FTEID       string   `json:"fteid"`
		UEIPAddress string   `json:"ueIPAddress"`
		QFI         int      `json:"qfi"`
		SDFFilters  []string `json:"sdfFilters"`
		Frames      []string `json:"ethernetFilters"`
		Ethernet    bool     `json:"ethernetSession"`
		MACs        bool     `json:"reportsMACs"`
		FAR         int      `json:"far"`
		QERs        []int    `json:"qers"`
	} `json:"pdrs"`
	FARs []struct {
		ID          int    `json:"id"`
		Action      string `json:"applyAction"`
		Destination string `json:"destinationInterface"`
		Instance    string `json:"networkInstance"`
		Creation    string `json:"outerHeaderCreation"`
	} `json:"fars"`
	QERs []struct {
		ID          int    `json:"id"`
		QFI         int    `json:"qfi"`
		MBRUplink   uint64 `json:"mbrUplink"`
		MBRDownlink uint64 `json:"mbrDownlink"`
		GBRUplink   uint64 `json:"gbrUplink"`
		GBRDownlink uint64 `json:"gbrDownlink"`
	} `json:"qers"`
}

// session shows one in full.
func (p *Plugin) session(ctx context.Context, args []string) error {
	slash := strings.LastIndexByte(args[0], '/') // a network specific identifier may have one, too
	if slash < 1 || slash == len(args[0])-1 {
		return &usageError{fmt.Sprintf("session: write SUPI/ID, for example imsi-208930000000001/1, instead of %q", args[0])}
	}
	if err := p.checkOutput(); err != nil {
		return err
	}
	own, err := p.ownControlPlane(ctx)
	if err != nil {
		return err
	}
	if !own {
		return errors.New("free5GC's SMF does not tell what it has of a session; `kubectl core5g sessions -ue ADDRESS` finds its unit, and `upfctl session` there its rules")
	}
	answer, err := p.askOne(ctx, sessionManagement, "session", args[0])
	switch {
	case errors.Is(err, errNothing):
		return fmt.Errorf("there is no PDU session %s in namespace %s: `kubectl core5g sessions -supi %s` lists the UE's", args[0], p.Namespace, args[0][:slash])
	case err != nil:
		return err
	}
	return p.printStory(answer)
}

func (p *Plugin) printStory(answer []byte) error {
	if p.output == outputJSON {
		return printAnswer(p.Out, answer)
	}
	var s story
	if err := json.Unmarshal(answer, &s); err != nil {
		return fmt.Errorf("session management does not show the session as JSON: %w", err)
	}
	s.print(p.Out)
	return nil
}

// printAnswer of a program as JSON.
func printAnswer(out io.Writer, answer []byte) error {
	var text bytes.Buffer
	if err := json.Indent(&text, bytes.TrimSpace(answer), "", "  "); err != nil {
		return fmt.Errorf("the answer is no JSON: %w", err)
	}
	_, err := fmt.Fprintln(out, text.String())
	return err
}

func (s *story) print(out io.Writer) {
	fmt.Fprintf(out, "%s: %s since %s\n\n", s.name(), s.Phase, s.Since.UTC().Format(time.DateTime))
	lines := [][]string{
		{"slice", fmt.Sprintf("%s (%s), DNN %s, %s%s", s.Slice, s.SNSSAI, s.DNN, s.Type, said(s.AlwaysOn, ", always-on"))},
		{"addresses", or(strings.Join(s.Addresses, " "), "-") + said(s.Static, " (static)")},
	}
	if s.Type == typeEthernet {
		lines[1] = []string{"MACs", or(strings.Join(s.MACs, " "), "-") + said(s.MoreMACs, ", and others")}
	}
	if len(s.Framed) > 0 {
		lines = append(lines, []string{"behind it", strings.Join(s.Framed, " ")})
	}
	lines = append(lines, [][]string{
		{"AMBR", fmt.Sprintf("%s up, %s down", rate(s.AMBR.Uplink), rate(s.AMBR.Downlink))},
		{"UPF unit", fmt.Sprintf("%s, SEID %s here, %s there", or(s.Unit, "-"), s.CPSEID, or(s.UPSEID, "none"))},
	}...)
	n3 := s.Uplink
	if b := s.Branch; b != nil {
		n3 = b.Access
		lines = append(lines,
			[]string{"branch", fmt.Sprintf("%s, SEID %s here, %s there%s", b.Unit, b.CPSEID, or(b.UPSEID, "none"), said(len(b.Breakouts) > 0, ", with the breakouts "+strings.Join(b.Breakouts, ", ")))},
			[]string{"N9", fmt.Sprintf("uplink %s, downlink %s", or(s.Uplink, "-"), or(b.Core, "-"))})
	}
	if l := s.Left; l != nil {
		lines = append(lines, []string{"left", fmt.Sprintf("%s, SEID %s here, %s there%s", l.Unit, l.CPSEID, or(l.UPSEID, "none"), said(!l.Known, ", which packets still go by"))})
	}
	lines = append(lines, [][]string{
		{"N3", fmt.Sprintf("uplink %s, downlink %s", or(n3, "-"), or(s.Downlink, "-"))},
		{"AMF", fmt.Sprintf("%s, TAC %s, cell %s, SM context %s", or(s.AMF.InstanceID, "-"), or(s.AMF.TAC, "-"), or(s.AMF.Cell, "-"), s.Ref)},
		{"shard", fmt.Sprintf("%s, held by %s", s.Shard, or(s.Holder, "nobody"))},
	}...)
	table(out, lines)
	fmt.Fprintln(out)
	s.printUnderWay(out)
	s.printRules(out)
	printHistory(out, s.History)
}

func printHistory(out io.Writer, list []past) {
	rows := [][]string{{"PROCEDURE", "RESULT", "ENDED", "TOOK"}}
	for _, h := range list {
		result := "done"
		if h.Failed {
			result = "failed"
		}
		rows = append(rows, []string{h.Kind, result, h.At.UTC().Format(time.DateTime), (time.Duration(h.Took) * time.Millisecond).String()})
	}
	if len(rows) > 1 {
		fmt.Fprintln(out)
		table(out, rows)
	}
}

// printUnderWay says what has not ended.
func (s *story) printUnderWay(out io.Writer) {
	var lines []string
	if a := s.Procedure; a != nil {
		lines = append(lines, fmt.Sprintf("under way: %s, step %d, since %s", a.Kind, a.Step, a.Began.UTC().Format(time.DateTime)))
	}
	if a := s.Command; a != nil {
		lines = append(lines, fmt.Sprintf("the UE has not answered a %s command, sent %d times since %s", a.Kind, a.Attempts, a.Began.UTC().Format(time.DateTime)))
	}
	if h := s.Handover; h != nil {
		lines = append(lines, fmt.Sprintf("handover to %s%s%s", or(h.Target, "a target that has not answered"), said(h.Prepared, ", prepared"), said(h.Arrived, ", the UE has arrived")))
	}
	if s.Wanted != nil {
		lines = append(lines, "a modification waits for UE or access network")
	}
	if s.UnitInDoubt {
		lines = append(lines, "the unit may still have other rules than these")
	}
	if s.Behind {
		lines = append(lines, "UE and access network have not heard all that has changed")
	}
	if s.NoSlice {
		lines = append(lines, "its Slice, or the Slice's data network, is gone")
	}
	for _, line := range lines {
		fmt.Fprintln(out, line)
	}
	if len(lines) > 0 {
		fmt.Fprintln(out)
	}
}

func (s *story) printRules(out io.Writer) {
	rows := [][]string{{"FLOW", "5QI", "ARP", "NAME", "GUARANTEED"}}
	for _, f := range s.Flows {
		guaranteed := "-"
		if f.GFBRUplink+f.GFBRDownlink > 0 {
			guaranteed = fmt.Sprintf("%s up, %s down", rate(f.GFBRUplink), rate(f.GFBRDownlink))
		}
		rows = append(rows, []string{fmt.Sprintf("QFI %d", f.QFI), fmt.Sprint(f.FiveQI), fmt.Sprint(f.Priority), or(f.Name, "-") + said(f.Refused, " (refused by the access network)"), guaranteed})
	}
	table(out, rows)
	fmt.Fprintln(out)
	s.Rules.print(out, "RULE")
	if s.Branch != nil {
		fmt.Fprintln(out)
		s.Branch.Rules.print(out, "RULE OF THE BRANCH")
	}
}

func (list *storyRules) print(out io.Writer, title string) {
	rows := [][]string{{title, "OF", "WHAT"}}
	for _, r := range list.PDRs {
		words := append([]string{r.FTEID, r.UEIPAddress, said(r.Ethernet, "frames of the session")}, append(r.SDFFilters, r.Frames...)...)
		what := strings.Join(slices.DeleteFunc(append(words, said(r.MACs, "MAC addresses are reported")), func(w string) bool { return w == "" }), ", ")
		if r.QFI != 0 {
			what += fmt.Sprintf(", QFI %d", r.QFI)
		}
		rows = append(rows, []string{fmt.Sprintf("PDR %d", r.ID), r.Source + " " + r.Instance, fmt.Sprintf("%s; precedence %d, FAR %d%s", strings.Trim(what, ", "), r.Precedence, r.FAR, qersText(r.QERs))})
	}
	for _, r := range list.FARs {
		rows = append(rows, []string{fmt.Sprintf("FAR %d", r.ID), r.Destination + " " + r.Instance, r.Action + said(r.Creation != "", " "+r.Creation)})
	}
	for _, r := range list.QERs {
		of := "session"
		if r.QFI != 0 {
			of = fmt.Sprintf("QFI %d", r.QFI)
		}
		what := "no bound"
		if r.MBRUplink+r.MBRDownlink > 0 {
			what = fmt.Sprintf("at most %s up, %s down", rate(r.MBRUplink), rate(r.MBRDownlink))
		}
		if r.GBRUplink+r.GBRDownlink > 0 {
			what += fmt.Sprintf("; guaranteed %s up, %s down", rate(r.GBRUplink), rate(r.GBRDownlink))
		}
		rows = append(rows, []string{fmt.Sprintf("QER %d", r.ID), of, what})
	}
	table(out, rows)
}

func qersText(ids []int) string {
	out := ""
	for _, id := range ids {
		out += fmt.Sprintf(", QER %d", id)
	}
	return out
}

func said(yes bool, text string) string {
	if yes {
		return text
	}
	return ""
}

// rate in bit/s, in the largest unit that has no fraction.
func rate(bits uint64) string {
	units := []string{"bit/s", "kbit/s", "Mbit/s", "Gbit/s"}
	n := 0
	for bits >= 1000 && bits%1000 == 0 && n < len(units)-1 {
		bits, n = bits/1000, n+1
	}
	return fmt.Sprintf("%d %s", bits, units[n])
}
