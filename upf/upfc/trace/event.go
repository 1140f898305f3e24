package trace

import (
	"fmt"
	"io"
	"net/netip"
	"strings"
	"time"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/networks"
)

// Event is one step of one packet.
type Event struct {
	Time   time.Time `json:"time"`
	Packet uint64    `json:"packet"` // the same in all events of a packet
	// Session of the packet, once it is known.
	SEID string     `json:"seid,omitempty"`
	UE   netip.Addr `json:"ueIPAddress,omitzero"`
	PDR  uint16     `json:"pdr,omitempty"`

	Stage string `json:"stage"`
	Port  string `json:"interface"` // where the packet came in, at tx where it goes out
	// NetworkInstance of N6; empty: of all that have no interface of their own.
	NetworkInstance string `json:"networkInstance,omitempty"`
	Drop            string `json:"drop,omitempty"`
	// Rule is what the stage's rule says: the PDR, its QERs, its FAR or its URRs.
	Rule   string `json:"rule,omitempty"`
	Worker uint16 `json:"worker"`
	Length int    `json:"length"`           // of the frame
	Octets []byte `json:"octets,omitempty"` // its beginning, at rx and tx
}

// Stages of a packet's way, as events name them.
const (
	RX     = "rx"
	Lookup = "lookup"
	PDR    = "pdr"
	QER    = "qer"
	FAR    = "far"
	URR    = "urr"
	TX     = "tx"
	Drop   = "drop"
	Buffer = "buffer"
	Shaper = "shaper"
)

var stages = map[uint8]string{
	abi.StageRx: RX, abi.StageLookup: Lookup, abi.StagePdr: PDR, abi.StageQer: QER, abi.StageFar: FAR,
	abi.StageUrr: URR, abi.StageTx: TX, abi.StageDrop: Drop, abi.StageBuffer: Buffer, abi.StageShaper: Shaper,
}

// Interfaces are the names of upf-u's interfaces as events have them. Those of N6 share one.
var Interfaces = [...]string{"n3", "n6", "n9"}

// FromRecord reads what a upf-u with these network instances sent; session and rule are the caller's to add.
func FromRecord(e abi.EvTrace, octets []byte, at time.Time, of networks.List) Event {
	port, _ := of.Port(int(e.Port))
	out := Event{
		Time: at, Packet: e.Packet, PDR: e.PdrId, Stage: stages[e.Stage], Port: port.Interface, NetworkInstance: port.NetworkInstance,
		Worker: e.Worker, Length: int(e.Length), Octets: octets,
	}
	if out.Stage == "" {
		out.Stage = fmt.Sprintf("stage %d", e.Stage)
	}
	if e.Stage == abi.StageDrop {
		out.Drop = fmt.Sprintf("reason %d", e.Drop)
		if int(e.Drop) < len(abi.DropReasons) {
			out.Drop = abi.DropReasons[e.Drop].Label
		}
	}
	return out
}

// Ends says whether nothing follows the event, as far as upf-u's workers go.
func (e *Event) Ends() bool { return e.Stage == TX || e.Stage == Drop || e.Stage == Buffer }

// Printer writes events as lines, numbering packets as they appear.
type Printer struct {
	w       io.Writer
	numbers map[uint64]int
	began   map[uint64]time.Time
}

// NewPrinter writes to w.
func NewPrinter(w io.Writer) *Printer {
	return &Printer{w: w, numbers: map[uint64]int{}, began: map[uint64]time.Time{}}
}

var meanings = func() map[string]string {
	m := map[string]string{}
	for _, r := range abi.DropReasons {
		m[r.Label] = r.Help
	}
	return m
}()

// Print writes one event.
func (p *Printer) Print(e *Event) error {
	n, known := p.numbers[e.Packet]
	if !known {
		n = len(p.numbers) + 1
		p.numbers[e.Packet], p.began[e.Packet] = n, e.Time
	}
	var what []string
	add := func(format string, args ...any) { what = append(what, fmt.Sprintf(format, args...)) }
	switch e.Stage {
	case RX, TX:
		add("%s %d octets", networks.Port{Interface: e.Port, NetworkInstance: e.NetworkInstance}, e.Length)
		if len(e.Octets) > 0 {
			add("%s", Headers(e.Octets))
		}
	case Lookup:
		add("session %s", e.SEID)
		if e.UE.IsValid() {
			add("UE %s", e.UE)
		}
	case Drop:
		add("%s", e.Drop)
		if m := meanings[e.Drop]; m != "" {
			add("%s", m)
		}
	case Buffer:
		add("waits in the downlink buffer")
	case Shaper:
		add("above the rate, waits for its time")
	}
	if e.Rule != "" {
		add("%s", e.Rule)
	}
	offset := "" // of the packet's own time, in microseconds
	if known {
		offset = fmt.Sprintf("+%.1fus", float64(e.Time.Sub(p.began[e.Packet]))/1e3)
	} else {
		offset = e.Time.UTC().Format("15:04:05.000000")
	}
	_, err := fmt.Fprintf(p.w, "#%-4d %15s  w%-2d %-6s  %s\n", n, offset, e.Worker, e.Stage, strings.Join(what, ": "))
	return err
}
