package agent

import (
	"net/netip"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/rules"
)

// events is the agent as upf-u's events see it. None of the methods blocks.
type events Agent

// URR: an armed volume was reached.
func (e *events) URR(index, _ uint32) {
	(*Agent)(e).measurers.Add(job{index: index}, true)
}

// Echo: a peer answered an Echo Request.
func (e *events) Echo(peer netip.Addr, sequence uint16) { (*Agent)(e).peers.Answered(peer, sequence) }

// ErrorIndication: a peer has no such tunnel; every session that sends into it is told.
func (e *events) ErrorIndication(peer netip.Addr, teid uint32) {
	a := (*Agent)(e)
	f := rules.FTEID{Addr: peer, TEID: teid}
	if !a.peers.Indicates(f) {
		return
	}
	for _, index := range a.store.Users(f) {
		a.measurers.Add(job{index: index, tunnel: f}, false)
	}
}

// DownlinkData: a packet waits.
func (e *events) DownlinkData(index uint32, pdr uint16, qfi, tos uint8) {
	a := (*Agent)(e)
	a.world.Go(func() { a.notify(index, pdr, qfi, tos) })
}

// Flow: one began, or has ended.
func (e *events) Flow(ev abi.EvFlow) {
	f := flowEvent{number: ev.Application, gone: ev.Flags&abi.FlowGone != 0, DetectedFlow: rules.DetectedFlow{Instance: ev.Instance}}
	f.Remote = ev.Remote.IP(ev.Flags&abi.FlowIpv6 != 0)
	if ev.Flags&abi.FlowAddress == 0 {
		f.Local, f.Protocol = ev.Local.IP(ev.Flags&abi.FlowIpv6 != 0), ev.Proto
		f.RemotePort, f.LocalPort = ev.RemotePort, ev.LocalPort
	}
	(*Agent)(e).addFlow(ev.Session, f)
}

// Station: one came to a session, or left it.
func (e *events) Station(ev abi.EvMac) {
	a := (*Agent)(e)
	generation := a.store.GenerationOf(ev.Session)
	if generation == 0 {
		return
	}
	s := stationEvent{generation: generation, gone: ev.Flags&abi.MacGone != 0, Station: rules.Station{
		MAC: ev.Mac, HasCTag: ev.Flags&abi.MacCTag != 0, HasSTag: ev.Flags&abi.MacSTag != 0, CVID: ev.CVid, SVID: ev.SVid,
	}}
	// The last word on a station is all that counts: one that comes and goes waits once.
	earlier := func(o stationEvent) bool { return o.Station == s.Station && o.generation == generation }
	a.stations.Add(ev.Session, s, earlier)
	a.measurers.Add(job{index: ev.Session, about: aboutStations}, false)
}

// Trace is called by the reader of upf-u's socket.
func (e *events) Trace(event abi.EvTrace, octets []byte) {
	t := (*Agent)(e).tracing.Load()
	if t == nil {
		return
	}
	select {
	case t.events <- traced{event, append([]byte(nil), octets...)}:
	default: // the asker is slow
		t.lost.Add(1)
	}
}
