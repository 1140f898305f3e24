package agent

import (
	"net/netip"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/rules"
)

// events is the agent as upf-u's events see it. None of the methods blocks.
type events Agent

// URR: an armed volume was reached.
func (e *events) URR(index, _ uint32) { e.reports.URR(index) }

// DownlinkData: a packet waits.
func (e *events) DownlinkData(index uint32, pdr uint16, qfi, tos uint8) {
	e.reports.DownlinkData(index, pdr, qfi, tos)
}

// ErrorIndication: a peer has no such tunnel.
func (e *events) ErrorIndication(peer netip.Addr, teid uint32) {
	if f := (rules.FTEID{Addr: peer, TEID: teid}); e.peers.Indicates(f) {
		e.reports.ErrorIndication(f)
	}
}

// Echo: a peer answered an Echo Request.
func (e *events) Echo(peer netip.Addr, sequence uint16) { e.peers.Answered(peer, sequence) }

// Flow: one began, or has ended.
func (e *events) Flow(ev abi.EvFlow) { e.reports.Flow(ev) }

// Station: one came to a session, or left it.
func (e *events) Station(ev abi.EvMac) { e.reports.Station(ev) }

// Trace is called by the reader of upf-u's socket.
func (e *events) Trace(event abi.EvTrace, octets []byte) {
	t := e.tracing.Load()
	if t == nil {
		return
	}
	select {
	case t.events <- traced{event, append([]byte(nil), octets...)}:
	default: // the asker is slow
		t.lost.Add(1)
	}
}
