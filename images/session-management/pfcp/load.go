package pfcp

import (
	"time"

	wire "core5g.dev/core5g/upf/upfc/pfcp"

	"github.com/wmnsk/go-pfcp/ie"
)

// Load and overload control (TS 29.244 6.2.3, 6.2.4): what a unit says of itself in answers to session requests and in Session Report Requests. What it
// says has a number, and overtakes nothing that it has said later. When it is met again it tells all anew, and all that it said before is forgotten: who
// it is now may number from the beginning. An overload is over when the unit says so, or when its period of validity has gone by.

// said is what a unit has said of itself since it was met.
type said struct {
	load, overload word
	reduction      uint8
	ends           *timer // of the overload
}

// word has the number of what was said last.
type word struct {
	number uint32
	any    bool
}

// newer notes a number; false: something later was said. Numbers may turn over.
func (w *word) newer(number uint32) bool {
	if w.any && int32(number-w.number) <= 0 {
		return false
	}
	w.number, w.any = number, true
	return true
}

// cpFeatures are ours (TS 29.244 8.2.58): LOAD and OVRL.
func cpFeatures() *ie.IE { return ie.NewCPFunctionFeatures(0x03) }

// hear what a unit says of itself. What cannot be read, and would be optional, is passed over.
func (e *Endpoint) hear(u *unit, m *wire.Message) {
	if g := m.Elements.First(ie.LoadControlInformation); g != nil {
		if number, load, _, ok := readWord(g); ok && u.said.load.newer(number) {
			e.cfg.Metrics.loads.WithLabelValues(e.cfg.Node, u.NodeID).Set(float64(load))
			e.tell(LoadChanged{Unit: u.NodeID, Percent: load})
		}
	}
	g := m.Elements.First(ie.OverloadControlInformation)
	if g == nil {
		return
	}
	number, reduction, list, ok := readWord(g)
	period := list.First(ie.Timer)
	if !ok || period == nil {
		return
	}
	validity, err := timerOf(period)
	if err != nil || !u.said.overload.newer(number) {
		return
	}
	e.timers.stop(u.said.ends)
	u.said.ends = nil
	if validity == 0 {
		reduction = 0
	}
	var until time.Time
	if reduction > 0 && validity != Endless {
		until = e.cfg.Clock().Add(validity)
		u.said.ends = e.after(validity, func() { e.overload(u, 0, time.Time{}) })
	}
	e.overload(u, reduction, until)
}

// overload of a unit is another one now, 0: it has ended.
func (e *Endpoint) overload(u *unit, reduction uint8, until time.Time) {
	if u.said.reduction == 0 && reduction == 0 {
		return
	}
	u.said.reduction = reduction
	e.cfg.Metrics.reductions.WithLabelValues(e.cfg.Node, u.NodeID).Set(float64(reduction))
	e.tell(OverloadChanged{Unit: u.NodeID, Percent: reduction, Until: until})
}

// unsaid: what a unit has said counts no more.
func (e *Endpoint) unsaid(u *unit) {
	e.timers.stop(u.said.ends)
	u.said = said{}
	e.cfg.Metrics.unsaid(e.cfg.Node, u.NodeID)
}

// readWord reads what Load and Overload Control Information have both (tables 7.5.3.3-1 and 7.5.3.4-1): a number, and a metric in percent.
func readWord(g *wire.Element) (number uint32, metric uint8, list wire.Elements, ok bool) {
	list, err := g.Group()
	n, p := list.First(ie.SequenceNumber), list.First(ie.Metric)
	if err != nil || n == nil || p == nil {
		return 0, 0, nil, false
	}
	if number, err = n.Uint32(); err == nil {
		metric, err = p.Uint8()
	}
	return number, metric, list, err == nil && metric <= 100
}
