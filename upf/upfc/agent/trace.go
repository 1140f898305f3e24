package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/trace"
)

// Tracing for upfctl. One order at a time stands in upf-u, so one asker at a time is served; what
// upf-u sends goes through a bounded channel, and what does not fit is dropped: neither a worker nor
// the reader of upf-u's socket ever waits for an asker.

// TraceSnapMax is how many octets of a packet upf-u sends at most.
const TraceSnapMax = 2048

const (
	traceWaiting = 4096                   // events
	traceLast    = 200 * time.Millisecond // how long the last packet's further events are waited for
)

// TraceOrder says which packets to report.
type TraceOrder struct {
	SEID    uint64 // 0: every packet, those of no session too
	Packets uint32 // how many; 0: 10
	Snap    uint16 // octets of each
}

// tracing is the order that stands.
type tracing struct {
	events chan traced
	lost   atomic.Uint64 // that did not fit
}

type traced struct {
	abi.EvTrace
	octets []byte
}

// Trace has packets reported until as many as were ordered have gone their way, or ctx ends. f gets
// nil once when the order stands, then every event.
func (a *Agent) Trace(ctx context.Context, o TraceOrder, f func(*trace.Event) error) error {
	if o.Packets == 0 {
		o.Packets = 10
	}
	order := abi.Trace{Flags: abi.TraceAll, Packets: o.Packets, Snap: o.Snap}
	if o.SEID != 0 {
		index, ok := a.indexOf(o.SEID)
		if !ok {
			return errors.New("the session is gone")
		}
		order.Flags, order.Session = abi.TraceSession, index
	}
	conn := a.link.Current()
	if conn == nil {
		return errors.New("upf-u is not connected: `upfctl stats` shows when it is back")
	}
	t := &tracing{events: make(chan traced, traceWaiting)}
	if !a.tracing.CompareAndSwap(nil, t) {
		return errors.New("somebody else is tracing; one can at a time")
	}
	defer a.tracing.Store(nil)
	if err := sendTrace(conn, order); err != nil {
		return fmt.Errorf("upf-u does not trace: %w", err)
	}
	// Whatever ends this, upf-u stops. It may be gone, and its successor traces nothing.
	defer func() { _ = sendTrace(conn, abi.Trace{}) }()
	if err := f(nil); err != nil {
		return err
	}
	before := lostSteps(conn)
	if err := a.tell(ctx, conn, t, int(o.Packets), f); err != nil {
		return err
	}
	if lost := lostSteps(conn) - before + t.lost.Load(); lost > 0 {
		return &LostSteps{lost}
	}
	return nil
}

// LostSteps says that a trace has gaps.
type LostSteps struct{ Steps uint64 }

func (l *LostSteps) Error() string {
	return fmt.Sprintf("%d steps of packets came faster than they could be told, and are missing: trace one session, or fewer packets", l.Steps)
}

// lostSteps is how many upf-u's workers could not tell.
func lostSteps(conn *dataplane.Conn) (n uint64) {
	for _, w := range conn.Shm().Workers() {
		n += w.Local.TraceLost
	}
	return n
}

func sendTrace(conn *dataplane.Conn, order abi.Trace) error {
	t := dataplane.NewBatch()
	t.Trace(order)
	return conn.Transact(t)
}

// tell passes events on until the ordered packets have ended.
func (a *Agent) tell(ctx context.Context, conn *dataplane.Conn, t *tracing, packets int, f func(*trace.Event) error) error {
	began, first := time.Now(), uint64(0)
	hz := conn.Shm().TSCHz()
	under := map[uint64]bool{} // packets under way: true until an event ended them
	ended := 0
	var last <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-conn.Done():
			return errors.New("upf-u went away")
		case <-last:
			return nil
		case e := <-t.events:
			if first == 0 {
				first, began = e.Tsc, time.Now()
			}
			// Workers' events come in turns, so that one may be older than the first.
			at := began.Add(time.Duration(float64(int64(e.Tsc-first)) / float64(hz) * 1e9))
			event := trace.FromRecord(e.EvTrace, e.octets, at, a.sessions.Networks())
			a.annotate(&event, e.Session)
			if err := f(&event); err != nil {
				return err
			}
			if open, known := under[e.Packet]; !known || open {
				under[e.Packet] = !event.Ends()
				if event.Ends() {
					ended++
				}
			}
			// A frame that upf-u itself consumes has no last event.
			if len(under) >= packets {
				last = time.After(traceLast)
			}
		}
	}
}

// annotate adds what we know of the session and of the rules that the stage applied.
func (a *Agent) annotate(e *trace.Event, index uint32) {
	if index == noSession || e.Stage == trace.RX || e.Stage == trace.TX {
		return
	}
	s := a.sessions.DetailAt(index)
	if s == nil {
		return
	}
	e.SEID, e.UE = s.SEID, s.UE
	if !e.UE.IsValid() && s.UE6.IsValid() {
		e.UE = s.UE6.Addr()
	}
	e.Rule = ruleText(s.Rules, e.PDR, e.Stage)
}

const noSession = ^uint32(0)

// indexOf is upf-u's name for a session.
func (a *Agent) indexOf(seid uint64) (uint32, bool) {
	s := a.leases.LockSEID(seid)
	if s == nil {
		return 0, false
	}
	defer s.Unlock()
	return s.Index, true
}

// Compiled is a session as upf-u has it, in JSON of upf-u's making.
func (a *Agent) Compiled(seid uint64) ([]byte, error) {
	index, ok := a.indexOf(seid)
	if !ok {
		return nil, errors.New("the session is gone")
	}
	conn := a.link.Current()
	if conn == nil {
		return nil, errors.New("upf-u is not connected: `upfctl stats` shows when it is back")
	}
	text, err := conn.Show(index)
	if err != nil {
		return nil, fmt.Errorf("upf-u does not show it: %w", err)
	}
	return a.applications.Show(text), nil
}

// ruleText is what the rules say of a packet that PDR id matched, at a stage.
func ruleText(set *rules.Set, id uint16, stage string) string {
	p := set.PDRs.Get(id)
	if p == nil {
		return ""
	}
	switch stage {
	case trace.PDR:
		return fmt.Sprintf("PDR %d precedence %d", id, p.Precedence)
	case trace.QER, trace.Shaper:
		var out []string
		for _, q := range p.QERs {
			if r := set.QERs.Get(q); r != nil {
				out = append(out, qerText(r))
			}
		}
		if len(out) == 0 {
			return "no QER"
		}
		if stage == trace.Shaper {
			return strings.Join(out, ", ")
		}
		return "passed " + strings.Join(out, ", ")
	case trace.FAR:
		if r := set.FARs.Get(p.FAR); r != nil {
			return farText(r)
		}
	case trace.URR:
		if len(p.URRs) == 0 {
			return "no URR"
		}
		return "counted by URR " + strings.Trim(fmt.Sprint(p.URRs), "[]")
	}
	return ""
}

func qerText(r *rules.QER) string {
	out := fmt.Sprintf("QER %d", r.ID)
	if r.QFI != 0 {
		out += fmt.Sprintf(" QFI %d", r.QFI)
	}
	if r.HasMBR {
		out += fmt.Sprintf(" MBR %d/%d kbit/s up/down", r.MBRUL/1000, r.MBRDL/1000)
	}
	if r.HasGBR {
		out += fmt.Sprintf(" GBR %d/%d kbit/s up/down", r.GBRUL/1000, r.GBRDL/1000)
	}
	return out
}

func farText(r *rules.FAR) string {
	out := fmt.Sprintf("FAR %d", r.ID)
	for _, action := range []struct {
		bit  uint8
		name string
	}{{rules.Drop, "drop"}, {rules.Forward, "forward"}, {rules.Buffer, "buffer"}, {rules.Notify, "notify"}, {rules.Duplicate, "duplicate"}} {
		if r.Action&action.bit != 0 {
			out += " " + action.name
		}
	}
	if r.Action&rules.Forward != 0 {
		if r.Destination == rules.Access {
			out += " to access"
		} else {
			out += " to core"
		}
	}
	switch o := &r.Outer; {
	case o.Tunnel().IsValid():
		out += fmt.Sprintf(", tunnel to %s TEID 0x%08x", o.Addr, o.TEID)
	case o.Addr.IsValid():
		out += fmt.Sprintf(", outer header to %s", o.Addr)
	}
	if r.Redirect != "" {
		out += ", redirect to " + r.Redirect
	}
	return out
}
