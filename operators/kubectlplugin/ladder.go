package kubectlplugin

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"core5g.dev/core5g/images/signalling"
)

// A ladder has a line for each message, and a pole for each function:
//
//	12:00:00.012   |--->|    |    |    |    |    |    |   NGAP  InitialUEMessage
//
// 'o' marks what a function notes by itself.

// poles from the UE to the user plane.
var poles = []string{
	signalling.UE, signalling.GNB, signalling.AMF, signalling.AUSF, signalling.UDM, signalling.PCF, signalling.SMF, signalling.CHF, signalling.UPF,
}

// polesApart in characters.
const polesApart = 5

// ladderTime is that of a line: the day is in the first line.
const ladderTime = "15:04:05.000"

func ladderHead(out io.Writer) {
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", len(ladderTime)+2))
	for _, p := range poles {
		fmt.Fprintf(&b, "%-*s", polesApart, p)
	}
	fmt.Fprintln(out, strings.TrimRight(b.String(), " "))
}

// ladderLine of an entry, which a pod has told.
func ladderLine(out io.Writer, pod string, e signalling.Entry) {
	text := fmt.Sprintf("%-4s  %s", e.Protocol, e.Message)
	var more []string
	if e.Session != 0 {
		more = append(more, fmt.Sprintf("session %d", e.Session))
	}
	if e.Peer != "" {
		more = append(more, e.Peer)
	}
	if len(more) > 0 {
		text += " (" + strings.Join(more, ", ") + ")"
	}
	if e.Cause != "" {
		text += ": " + e.Cause
	}
	fmt.Fprintf(out, "%s  %s  %s  [%s]\n", e.At.UTC().Format(ladderTime), rungs(e.From, e.To), text, pod)
}

// rungs draws the poles, and the arrow.
func rungs(from, to string) string {
	line := []byte(strings.Repeat("|"+strings.Repeat(" ", polesApart-1), len(poles)))
	line = line[:len(line)-polesApart+1]
	a, b := slices.Index(poles, from), slices.Index(poles, to)
	switch {
	case a < 0 || b < 0: // of a program that knows more functions
		return string(line)
	case a == b:
		line[a*polesApart] = 'o'
		return string(line)
	}
	first, last := min(a, b)*polesApart, max(a, b)*polesApart
	for n := first + 1; n < last; n++ {
		line[n] = '-'
	}
	if a < b {
		line[last-1] = '>'
	} else {
		line[first+1] = '<'
	}
	return string(line)
}
