package reports

import (
	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/rules"
)

// What upf-u says. None of these blocks.

// URR: an armed volume was reached.
func (r *Reports) URR(index uint32) { r.measurers.Add(job{index: index}, true) }

// ErrorIndication: there is no such tunnel; every session that sends into it is told.
func (r *Reports) ErrorIndication(f rules.FTEID) {
	for _, index := range r.o.Leases.Store.Users(f) {
		r.measurers.Add(job{index: index, tunnel: f}, false)
	}
}

// DownlinkData: a packet waits.
func (r *Reports) DownlinkData(index uint32, pdr uint16, qfi, tos uint8) {
	r.o.Machine.Go(func() { r.notify(index, pdr, qfi, tos) })
}

// Flow: one began, or has ended.
func (r *Reports) Flow(ev abi.EvFlow) {
	f := flowEvent{number: ev.Application, gone: ev.Flags&abi.FlowGone != 0, DetectedFlow: rules.DetectedFlow{Instance: ev.Instance}}
	f.Remote = ev.Remote.IP(ev.Flags&abi.FlowIpv6 != 0)
	if ev.Flags&abi.FlowAddress == 0 {
		f.Local, f.Protocol = ev.Local.IP(ev.Flags&abi.FlowIpv6 != 0), ev.Proto
		f.RemotePort, f.LocalPort = ev.RemotePort, ev.LocalPort
	}
	r.addFlow(ev.Session, f)
}

// Station: one came to a session, or left it.
func (r *Reports) Station(ev abi.EvMac) {
	generation := r.o.Leases.Store.GenerationOf(ev.Session)
	if generation == 0 {
		return
	}
	s := stationEvent{generation: generation, gone: ev.Flags&abi.MacGone != 0, Station: rules.Station{
		MAC: ev.Mac, HasCTag: ev.Flags&abi.MacCTag != 0, HasSTag: ev.Flags&abi.MacSTag != 0, CVID: ev.CVid, SVID: ev.SVid,
	}}
	// The last word on a station is all that counts: one that comes and goes waits once.
	earlier := func(o stationEvent) bool { return o.Station == s.Station && o.generation == generation }
	r.stations.Add(ev.Session, s, earlier)
	r.measurers.Add(job{index: ev.Session, about: aboutStations}, false)
}
