package kubectlplugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// ueStory is what `access-management ue` says of one.
type ueStory struct {
	ue
	PEI        string        `json:"pei"`
	GPSI       string        `json:"gpsi"`
	OldTMSI    string        `json:"oldTMSI"`
	Connection *ueConnection `json:"connection"`
	Left       *ueConnection `json:"left"`
	Area       []string      `json:"registrationArea"`
	Asked      []string      `json:"requestedSlices"`
	Rejected   []string      `json:"rejectedSlices"`
	Security   *struct {
		KSI       int    `json:"ngKSI"`
		Integrity string `json:"integrity"`
		Ciphering string `json:"ciphering"`
		Uplink    int    `json:"uplinkCount"`
		Reserved  int    `json:"downlinkReserved"`
	} `json:"security"`
	Uplink    uint64 `json:"ambrUplink"`
	Downlink  uint64 `json:"ambrDownlink"`
	RFSP      int    `json:"rfsp"`
	Periodic  int    `json:"t3512"`
	Policy    string `json:"policy"`
	Recorded  bool   `json:"recorded"`
	Behind    bool   `json:"behind"`
	Prove     bool   `json:"authenticatedNext"`
	Emergency bool   `json:"emergency"`
	// Unreachable: it has not said in time that it is there. Going: another AMF takes it over.
	Unreachable bool         `json:"unreachable"`
	Going       bool         `json:"going"`
	Procedure   *storyAction `json:"procedure"`
	Command     *storyAction `json:"command"`
	Paging      *storyAction `json:"paging"`
	Handover    *struct {
		Target ueConnection `json:"target"`
		Began  time.Time    `json:"began"`
	} `json:"handover"`
	History []past `json:"history"`
}

type ueConnection struct {
	Terminator  string `json:"terminator"`
	Association int    `json:"association"`
	GNB         string `json:"gnb"`
	RAN         uint32 `json:"ranUENGAPID"`
	AMF         uint64 `json:"amfUENGAPID"`
	State       string `json:"state"`
}

func (c *ueConnection) text() string {
	if c == nil {
		return "-"
	}
	return fmt.Sprintf("%s by %s, association %d, RAN UE NGAP ID %d, AMF UE NGAP ID %d: %s", or(c.GNB, "a gNB that is not known"), c.Terminator, c.Association, c.RAN, c.AMF, c.State) +
		said(c.State == "lost", ", its gNB is waited for")
}

// oneUE shows one in full.
func (p *Plugin) oneUE(ctx context.Context, args []string) error {
	if err := p.checkOutput(); err != nil {
		return err
	}
	own, err := p.ownControlPlane(ctx)
	switch {
	case err != nil:
		return err
	case !own:
		return errFree5GCsAMF
	}
	answer, err := p.askOne(ctx, accessManagement, "ue", args[0])
	switch {
	case errors.Is(err, errNothing):
		return fmt.Errorf("the AMF has no UE %s in namespace %s: it is not registered, or `kubectl core5g ues` writes its name otherwise", args[0], p.Namespace)
	case err != nil:
		return err
	case p.output == outputJSON:
		return printAnswer(p.Out, answer)
	}
	var s ueStory
	if err := json.Unmarshal(answer, &s); err != nil {
		return fmt.Errorf("access management does not show the UE as JSON: %w", err)
	}
	s.print(p.Out)
	return nil
}

func (s *ueStory) print(out io.Writer) {
	fmt.Fprintf(out, "%s: %s, %s since %s\n\n", s.SUPI, s.RM, s.CM, moment(s.Since))
	security := "none"
	if x := s.Security; x != nil {
		security = fmt.Sprintf("%s, %s, ngKSI %d, COUNT %d up, %d down reserved%s", x.Integrity, x.Ciphering, x.KSI, x.Uplink, x.Reserved, said(s.Prove, "; authenticated before anything else"))
	}
	table(out, [][]string{
		{"5G-GUTI", or(s.GUTI, "-") + said(s.OldTMSI != "", ", or 5G-TMSI "+s.OldTMSI)},
		{"PEI, GPSI", or(s.PEI, "-") + ", " + or(s.GPSI, "-")},
		{"N2", s.Connection.text() + said(s.GNBName != "", " ("+s.GNBName+")")},
		{"last heard", fmt.Sprintf("PLMN %s, TAC %s, cell %s, %s", or(s.PLMN, "-"), or(s.TAC, "-"), or(s.Cell, "-"), moment(s.Seen))},
		{"registration area", or(strings.Join(s.Area, " "), "-")},
		{"slices", fmt.Sprintf("allowed %s, requested %s, rejected %s", or(strings.Join(s.Slices, " "), "none"), or(strings.Join(s.Asked, " "), "none"), or(strings.Join(s.Rejected, " "), "none"))},
		{"security", security},
		{"AMBR", fmt.Sprintf("%s up, %s down", rate(s.Uplink), rate(s.Downlink))},
		{"T3512, RFSP", fmt.Sprintf("%s, %d", time.Duration(s.Periodic)*time.Second, s.RFSP)},
		{"known to", fmt.Sprintf("UDM %t, policy association %s%s", s.Recorded, or(s.Policy, "none"), said(s.Behind, "; the UE has not heard all that has changed"))},
		{"shard", fmt.Sprintf("%s, held by %s", s.Shard, or(s.Holder, "nobody"))},
	})
	s.printUnderWay(out)
	rows := [][]string{{"SESSION", "S-NSSAI", "DNN", "USER PLANE", "SMF", "WAITS"}}
	for _, x := range s.Sessions {
		up, waits := "down", "-"
		if x.Up {
			up = "up"
		}
		switch {
		case x.Waits:
			waits = "the SMF's message for the UE"
		case x.Silent:
			waits = "the SMF has not heard that it is down"
		}
		rows = append(rows, []string{fmt.Sprint(x.ID), x.SNSSAI, x.DNN, up, or(x.SMF, "-"), waits})
	}
	if len(rows) > 1 {
		fmt.Fprintln(out)
		table(out, rows)
	}
	printHistory(out, s.History)
}

// printUnderWay says what has not ended.
func (s *ueStory) printUnderWay(out io.Writer) {
	var lines []string
	if s.Emergency {
		lines = append(lines, "registered for emergency services alone")
	}
	if s.Unreachable {
		lines = append(lines, "it has not said in time that it is there")
	}
	if s.Going {
		lines = append(lines, "another AMF takes it over")
	}
	if a := s.Procedure; a != nil {
		lines = append(lines, fmt.Sprintf("under way: %s, step %d, since %s", a.Kind, a.Step, moment(a.Began)))
	}
	if a := s.Command; a != nil {
		lines = append(lines, fmt.Sprintf("the UE has not answered a %s, sent %d times since %s", a.Kind, a.Attempts, moment(a.Began)))
	}
	if a := s.Paging; a != nil {
		lines = append(lines, fmt.Sprintf("it is paged, %d times since %s", a.Attempts, moment(a.Began)))
	}
	if h := s.Handover; h != nil {
		lines = append(lines, fmt.Sprintf("handover since %s to %s", moment(h.Began), h.Target.text()))
	}
	if s.Left != nil {
		lines = append(lines, "left behind: "+s.Left.text())
	}
	if len(lines) > 0 {
		fmt.Fprintf(out, "\n%s\n", strings.Join(lines, "\n"))
	}
}

func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.DateTime)
}
