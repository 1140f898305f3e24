package topology

import (
	"strings"
	"testing"
)

func cell(n int32) *int32 { return &n }

// example is a unit of cell 1 of a machine with two.
func example() *Topology {
	return &Topology{
		Cells:   2,
		Threads: []Thread{{"control", 2, cell(1)}, {"worker 0", 3, cell(1)}},
		Ports: []Port{
			{Interface: "n3", Device: "0000:81:10.0", Driver: "net_e1000_igb_vf", Cell: cell(1)},
			{Interface: "n6", Device: "0000:81:10.2", Driver: "net_e1000_igb_vf", Cell: cell(1)},
		},
		Memory: []Memory{{Cell: 1, Octets: 64 << 20, Buffers: 40 << 20}},
	}
}

func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*Topology)
		planned int32
		want    Verdict
		says    string
	}{
		"everything where it was planned":   {func(*Topology) {}, 1, Aligned, "CPUs 2,3, n3 (0000:81:10.0), n6 (0000:81:10.2) and memory on numa1"},
		"in one cell without a plan":        {func(*Topology) {}, -1, Aligned, "numa1"},
		"in one cell, but another":          {func(*Topology) {}, 0, Misaligned, "not on numa0: CPU 2 (control) on numa1"},
		"a worker elsewhere":                {func(t *Topology) { t.Threads[1].Cell = cell(0) }, 1, Misaligned, "not on numa1: CPU 3 (worker 0) on numa0"},
		"a NIC elsewhere":                   {func(t *Topology) { t.Ports[1].Cell = cell(0) }, 1, Misaligned, "n6 (0000:81:10.2) on numa0"},
		"a page elsewhere":                  {func(t *Topology) { t.Memory = append(t.Memory, Memory{Cell: 0, Octets: 2 << 20}) }, 1, Misaligned, "2 MiB of memory on numa0"},
		"a NIC of which nothing is known":   {func(t *Topology) { t.Ports[0].Cell = nil }, 1, Unknown, "n3 (0000:81:10.0)"},
		"memory of which nothing is known":  {func(t *Topology) { t.Memory, t.MemoryUnknown = nil, 64<<20 }, 1, Unknown, "64 MiB of memory"},
		"misaligned beats unknown":          {func(t *Topology) { t.Ports[0].Cell = nil; t.Ports[1].Cell = cell(0) }, 1, Misaligned, "n6"},
		"a kernel interface is in no cell":  {func(t *Topology) { t.Ports[0].Device, t.Ports[0].Cell = "n3", nil }, 1, Aligned, "n3 (n3)"},
		"one cell needs no knowledge":       {func(t *Topology) { *t = *onlyCell() }, 0, Aligned, "numa0"},
		"a kernel interface of another NIC": {func(t *Topology) { t.Ports[0].Device, t.Ports[0].Cell = "n3", cell(0) }, 1, Misaligned, "n3 (n3) on numa0"},
	} {
		t.Run(name, func(t *testing.T) {
			top := example()
			c.change(top)
			got, says := top.Judge(c.planned)
			if got != c.want || !strings.Contains(says, c.says) {
				t.Errorf("%s: %s; want %s: … %s …", got, says, c.want, c.says)
			}
		})
	}
}

func onlyCell() *Topology {
	t := example()
	t.Cells = 1
	for i := range t.Threads {
		t.Threads[i].Cell = cell(0)
	}
	t.Ports[0].Cell, t.Ports[1].Cell = nil, nil
	t.Memory[0].Cell = 0
	return t
}
