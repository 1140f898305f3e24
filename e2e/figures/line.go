// Package figures is how what a control plane takes is told, wherever it was measured: of processes of this machine (e2e/cmd/bench-core), and on a cluster
// (e2e/storm).
package figures

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Layouts: a pod a function, and one pod that is the whole control plane.
const (
	Distributed = "Distributed"
	Fused       = "Fused"
)

// Line is what a case came to.
type Line struct {
	Layout string // Distributed, Fused, Free5GC
	Case   string
	UEs    int
	// P50 and P99 of what a UE waited; 0: nobody has measured that.
	P50, P99 time.Duration
	// Took is how long all UEs together did.
	Took time.Duration
	// CPU that each function has used for all UEs.
	CPU map[string]time.Duration
}

// String is key=value: milliseconds, and CPU in milliseconds a UE, of all functions together and then of each that has used some.
func (l Line) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "layout=%s case=%s ues=%d", l.Layout, l.Case, l.UEs)
	if l.P50 > 0 {
		fmt.Fprintf(&b, " p50_ms=%.1f p99_ms=%.1f", milliseconds(l.P50), milliseconds(l.P99))
	}
	var all time.Duration
	for _, used := range l.CPU {
		all += used
	}
	fmt.Fprintf(&b, " per_second=%.1f cpu_ms=%.2f", float64(l.UEs)/l.Took.Seconds(), l.each(all))
	for _, name := range slices.Sorted(maps.Keys(l.CPU)) {
		if l.CPU[name] > 0 {
			fmt.Fprintf(&b, " %s_ms=%.2f", strings.ReplaceAll(name, "-", "_"), l.each(l.CPU[name]))
		}
	}
	return b.String()
}

// each UE's share.
func (l Line) each(d time.Duration) float64 { return milliseconds(d) / float64(l.UEs) }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
