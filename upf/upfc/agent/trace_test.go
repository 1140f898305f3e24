package agent_test

import (
	"context"
	"errors"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/agent"
	"core5g.dev/core5g/upf/upfc/agent/peers"
	"core5g.dev/core5g/upf/upfc/fakesmf"
	"core5g.dev/core5g/upf/upfc/trace"
)

// traceWhile runs a trace; do is called when the order stands.
func (l *lab) traceWhile(ctx context.Context, o agent.TraceOrder, do func()) (lines []string, err error) {
	var b strings.Builder
	p := trace.NewPrinter(&b)
	err = l.agent.Trace(ctx, o, func(e *trace.Event) error {
		if e == nil {
			do()
			return nil
		}
		return p.Print(e)
	})
	for line := range strings.Lines(b.String()) {
		lines = append(lines, strings.Join(strings.Fields(line)[2:], " "))
	}
	return lines, err
}

func TestTrace(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	seid := s.Established(7, fakesmf.Phone.Session()...)
	index, sess := l.only()
	pdr := sess.PDRs[0].PdrId
	send := func(events ...abi.EvTrace) {
		for _, e := range events {
			if err := l.upfu.Trace(e, nil); err != nil {
				t.Error(err)
			}
		}
	}
	var order abi.Trace
	got, err := l.traceWhile(context.Background(), agent.TraceOrder{SEID: seid, Packets: 2, Snap: 64}, func() {
		order = l.upfu.TraceOrder()
		send(
			abi.EvTrace{Packet: 1, Tsc: 1, Session: index, Stage: abi.StageLookup},
			abi.EvTrace{Packet: 1, Tsc: 2, Session: index, Stage: abi.StagePdr, PdrId: pdr},
			abi.EvTrace{Packet: 1, Tsc: 3, Session: index, Stage: abi.StageFar, PdrId: pdr},
			abi.EvTrace{Packet: 1, Tsc: 4, Session: index, Stage: abi.StageTx, PdrId: pdr, Port: abi.PortN6},
			abi.EvTrace{Packet: 2, Tsc: 5, Session: ^uint32(0), Stage: abi.StageDrop, Drop: abi.DropTooBig},
			abi.EvTrace{Packet: 3, Tsc: 6, Session: index + 1, Stage: abi.StageLookup}, // deleted meanwhile
		)
	})
	if err != nil {
		t.Fatal(err)
	}
	if order.Flags != abi.TraceSession || order.Session != index || order.Packets != 2 || order.Snap != 64 {
		t.Errorf("upf-u was ordered %+v", order)
	}
	seidText := "0x" + strconv.FormatUint(seid, 16)
	want := []string{
		"w0 lookup session " + seidText + ": UE 10.45.0.1",
		"w0 pdr PDR 3 precedence 128",
		"w0 far FAR 1 forward to core",
		"w0 tx n6 0 octets",
		"w0 drop too_big: does not fit the outgoing MTU",
		"w0 lookup session",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if o := l.upfu.TraceOrder(); o.Flags != 0 {
		t.Errorf("afterwards upf-u still traces: %+v", o)
	}
}

func TestTraceEnds(t *testing.T) {
	l := newLab(t, nil)
	if _, err := l.traceWhile(context.Background(), agent.TraceOrder{SEID: 5}, nil); err == nil || !strings.Contains(err.Error(), "session is gone") {
		t.Errorf("no such session: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	_, err := l.traceWhile(ctx, agent.TraceOrder{}, func() {
		if o := l.upfu.TraceOrder(); o.Flags != abi.TraceAll || o.Packets != 10 {
			t.Errorf("upf-u was ordered %+v", o)
		}
		if _, err := l.traceWhile(ctx, agent.TraceOrder{}, nil); err == nil || !strings.Contains(err.Error(), "somebody else") {
			t.Errorf("a second one: %v", err)
		}
		cancel()
	})
	if err == nil || l.upfu.TraceOrder().Flags != 0 {
		t.Errorf("when the asker goes: %v, order %+v", err, l.upfu.TraceOrder())
	}
	_, err = l.traceWhile(context.Background(), agent.TraceOrder{}, func() { l.upfu.Kill() })
	if err == nil || !strings.Contains(err.Error(), "upf-u went away") {
		t.Errorf("when upf-u goes: %v", err)
	}
	l.startUPFU()
}

func TestTraceOfASlowAsker(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	seid := s.Established(7, fakesmf.Phone.Session()...)
	const sent = 6000 // more than wait for anybody
	var told int
	err := l.agent.Trace(context.Background(), agent.TraceOrder{Packets: 1}, func(e *trace.Event) error {
		if e != nil {
			told++
			return nil
		}
		for range sent { // while nobody takes anything
			if err := l.upfu.Trace(abi.EvTrace{Packet: 1, Tsc: 1, Session: ^uint32(0), Stage: abi.StageTx}, nil); err != nil {
				return err
			}
		}
		_, err := l.agent.Compiled(seid) // its answer comes behind them
		return err
	})
	var lost *agent.LostSteps
	if !errors.As(err, &lost) || told+int(lost.Steps) != sent || told == 0 {
		t.Errorf("told %d of %d: %v", told, sent, err)
	}
}

func TestCompiled(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	seid := s.Established(7, fakesmf.Phone.Session()...)
	if got, err := l.agent.Compiled(seid); err != nil || string(got) != `{"session":0}` {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := l.agent.Compiled(seid + 1); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("no such session: %v", err)
	}
}

func TestPeers(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	seid := s.Established(7, fakesmf.Phone.Session()...)
	s.Modify(seid, fakesmf.Phone.GNB(0x100, "172.30.3.100"))
	want := []peers.Peer{{Address: addr("172.30.3.100"), Tunnels: 1, Path: "unknown"}}
	if diff := cmp.Diff(want, l.agent.Peers(), cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
