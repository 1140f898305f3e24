package n2

import (
	"net/netip"
	"time"

	"core5g.dev/core5g/images/ngapcause"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/record"
)

func pointer[V any](v V) *V { return &v }

func ipv4(teid uint32, a string) record.Tunnel {
	return record.Tunnel{TEID: teid, IPv4: netip.MustParseAddr(a)}
}

func ipv6(teid uint32, a string) record.Tunnel {
	return record.Tunnel{TEID: teid, IPv6: netip.MustParseAddr(a)}
}

func dual(teid uint32, a, b string) record.Tunnel {
	return record.Tunnel{TEID: teid, IPv4: netip.MustParseAddr(a), IPv6: netip.MustParseAddr(b)}
}

// sample is a transfer that can be written and read again.
type sample struct {
	name     string
	transfer Transfer
}

func flows() []QoSFlow {
	return []QoSFlow{
		{Flow: record.Flow{QFI: 1, FiveQI: 9, Priority: 8}},
		{
			Flow:          record.Flow{QFI: 63, FiveQI: 255, Priority: 15, MayPreempt: true, Preemptable: true},
			PriorityLevel: 127, AveragingWindow: pointer(uint16(4095)), MaximumBurst: pointer(uint32(2_000_000)),
			Reflective: true, MoreLikely: true,
		},
		{
			Flow: record.Flow{
				QFI: 2, FiveQI: 1, Priority: 1, GFBRUplink: 64_000, GFBRDownlink: 64_001, MFBRUplink: 4_000_000_000_000, MFBRDownlink: 65_536,
			},
			Notify: true, MaximumLossUplink: pointer(uint16(0)), MaximumLossDownlink: pointer(uint16(1000)),
		},
		{
			Flow:          record.Flow{QFI: 3, Priority: 2, GFBRUplink: 1},
			PriorityLevel: 1, Dynamic: &Dynamic{DelayBudget: 1023, ErrorScalar: 9, ErrorExponent: 9, DelayCritical: pointer(true)},
			MaximumBurst: pointer(uint32(0)),
		},
		{
			Flow:          record.Flow{QFI: 4, FiveQI: 130, Priority: 2},
			PriorityLevel: 20, Dynamic: &Dynamic{DelayBudget: 200, ErrorScalar: 1, ErrorExponent: 6}, AveragingWindow: pointer(uint16(0)),
		},
		{
			Flow:          record.Flow{QFI: 5, Priority: 2, MFBRDownlink: 5},
			PriorityLevel: 20, Dynamic: &Dynamic{DelayCritical: pointer(false)},
		},
	}
}

func failed() []FlowCause {
	return []FlowCause{{QFI: 2, Cause: ngapcause.RadioResourcesNotAvailable}, {QFI: 63, Cause: ngapcause.TransportResourceUnavailable}}
}

func flowTunnel() FlowTunnel {
	return FlowTunnel{Tunnel: ipv4(0x01020304, "172.30.3.2"), Flows: []AssociatedFlow{{QFI: 1}, {QFI: 2, Direction: UplinkOnly}, {QFI: 63, Direction: DownlinkOnly}}}
}

func additionalFlowTunnels() []FlowTunnel {
	return []FlowTunnel{
		{Tunnel: ipv6(5, "2001:db8::5"), Flows: []AssociatedFlow{{QFI: 4}}},
		{Tunnel: dual(6, "172.30.3.6", "2001:db8::6"), Flows: []AssociatedFlow{{QFI: 5}}},
		{Tunnel: ipv4(7, "172.30.3.7"), Flows: []AssociatedFlow{{QFI: 6}}},
	}
}

// samples are every transfer with as little and with as much as there can be.
func samples() []sample {
	return []sample{
		{"a setup request of one flow", &SetupRequest{
			AMBR: &record.AMBR{Uplink: 100_000_000, Downlink: 200_000_000}, Uplink: ipv4(1, "172.30.3.16"), Type: n1.IPv4, Flows: flows()[:1],
		}},
		{"a setup request with everything", &SetupRequest{
			AMBR: &record.AMBR{Uplink: 0, Downlink: maxBitRate}, Uplink: dual(0xffffffff, "172.30.3.16", "2001:db8::16"),
			AdditionalUplink: []record.Tunnel{ipv4(2, "172.30.3.17"), ipv6(3, "2001:db8::3"), dual(4, "172.30.3.18", "2001:db8::4")},
			NoForwarding:     true, Type: n1.Unstructured, Security: &Security{Integrity: Required, Confidentiality: NotNeeded, Rate: RateMaximum},
			NetworkInstance: 256, Flows: flows(),
		}},
		{"a setup request for IPv6 on IPv6", &SetupRequest{
			Uplink: ipv6(1, "2001:db8::16"), Type: n1.IPv6, Flows: flows()[2:3],
			Security: &Security{Integrity: NotNeeded, Confidentiality: Preferred},
		}},
		{"a setup response of one flow", &SetupResponse{Downlink: FlowTunnel{ipv4(1, "172.30.3.2"), []AssociatedFlow{{QFI: 1}}}}},
		{"a setup response with everything", &SetupResponse{
			Downlink: flowTunnel(), Additional: additionalFlowTunnels(), Security: &SecurityResult{Integrity: true}, Failed: failed(),
		}},
		{"a setup that failed", &SetupUnsuccessful{ngapcause.RadioResourcesNotAvailable}},
		{"a release command", &ReleaseCommand{ngapcause.NormalRelease}},
		{"a release response", &ReleaseResponse{}},
		{"a release response with what a second radio carried", &ReleaseResponse{Usage: usage()}},
		{"a modification of nothing", &ModifyRequest{}},
		{"a modification of the session's bit rate", &ModifyRequest{AMBR: &record.AMBR{Uplink: 1, Downlink: 2}}},
		{"a modification of endpoints and flows", &ModifyRequest{
			Uplink: tunnelPairs(), NetworkInstance: 200, Flows: flows(), Released: failed(), AdditionalUplink: []record.Tunnel{ipv4(2, "172.30.3.17")},
		}},
		{"a modification with everything", &ModifyRequest{
			AMBR: &record.AMBR{Uplink: 1, Downlink: 2}, Uplink: append(tunnelPairs(), tunnelPairs()[0]), NetworkInstance: 1,
			Flows: append(flows(), QoSFlow{Flow: record.Flow{QFI: 62}, Unchanged: true}), Released: failed(),
			AdditionalUplink: []record.Tunnel{ipv4(2, "172.30.3.17")}, Security: &Security{Integrity: Preferred, Confidentiality: Required, Rate: Rate64kbps, RateDownlink: RateMaximum},
		}},
		{"a modification in which nothing changed", &ModifyResponse{}},
		{"a modification's answer with everything", &ModifyResponse{
			Downlink: pointer(ipv4(1, "172.30.3.2")), Uplink: pointer(ipv6(2, "2001:db8::2")), Flows: []uint8{0, 1, 63}, Failed: failed(),
			AdditionalDownlink: additionalFlowTunnels(), AdditionalPairs: tunnelPairs(),
		}},
		{"a modification's answer with flows and endpoints", &ModifyResponse{
			Downlink: pointer(dual(1, "172.30.3.2", "2001:db8::2")), Flows: []uint8{0, 1, 63}, Failed: failed(), AdditionalDownlink: additionalFlowTunnels(),
		}},
		{"a modification that failed", &ModifyUnsuccessful{ngapcause.UnknownQoSFlow}},
		{"an indication of an endpoint", &ModifyIndication{Downlink: flowTunnel()}},
		{"an indication of endpoints", &ModifyIndication{Downlink: flowTunnel(), Additional: additionalFlowTunnels()}},
		{"an indication with everything", &ModifyIndication{
			Downlink: flowTunnel(), Additional: additionalFlowTunnels(), Usage: usage(), Security: &SecurityResult{Confidentiality: true},
		}},
		{"an indication confirmed", &ModifyConfirm{Flows: []uint8{1}, Uplink: ipv4(1, "172.30.3.16")}},
		{"an indication confirmed in part", &ModifyConfirm{
			Flows: []uint8{1, 63}, Failed: failed(), Uplink: dual(1, "172.30.3.16", "2001:db8::16"), AdditionalPairs: tunnelPairs(),
		}},
		{"an indication refused", &ModifyIndicationUnsuccessful{ngapcause.UserPlaneResourcesNotAvailable}},
		{"a notice of nothing", &Notify{}},
		{"a notice of flows", &Notify{Flows: []FlowNotice{{QFI: 1, Fulfilled: true}, {QFI: 2}}, Released: failed()}},
		{"a notice of everything", &Notify{Flows: []FlowNotice{{QFI: 1, Fulfilled: true}, {QFI: 2}}, Released: failed(), Usage: usage()}},
		{"a release by the access network", &NotifyReleased{ngapcause.RadioConnectionLost}},
		{"a path switch of one flow", &PathSwitchRequest{Downlink: ipv4(1, "172.30.3.3"), Flows: []uint8{1}}},
		{"a path switch with everything", &PathSwitchRequest{
			Downlink: dual(1, "172.30.3.3", "2001:db8::3"), Reused: true, Flows: []uint8{1, 2, 63}, Additional: additionalFlowTunnels(),
			Security: &UserPlaneSecurity{Result: SecurityResult{Integrity: true, Confidentiality: true}, Security: Security{Integrity: Required, Confidentiality: Required, Rate: Rate64kbps, RateDownlink: Rate64kbps}},
		}},
		{"a path switch acknowledged", &PathSwitchAcknowledge{}},
		{"a path switch acknowledged with everything", &PathSwitchAcknowledge{
			Uplink: pointer(ipv4(1, "172.30.3.16")), Security: &Security{Integrity: NotNeeded, Confidentiality: Required}, AdditionalPairs: tunnelPairs(),
		}},
		{"a path switch with two endpoints and a security policy", &PathSwitchRequest{
			Downlink: ipv4(1, "172.30.3.3"), Flows: []uint8{1, 2}, Additional: additionalFlowTunnels()[:1],
			Security: &UserPlaneSecurity{Security: Security{Integrity: Preferred, Confidentiality: NotNeeded, Rate: RateMaximum}},
		}},
		{"a path switch without the session", &PathSwitchSetupFailed{ngapcause.SliceNotSupported}},
		{"a path switch refused", &PathSwitchUnsuccessful{ngapcause.UnknownPDUSession}},
		{"a handover without a direct path", &HandoverRequired{}},
		{"a handover with a direct path", &HandoverRequired{DirectPath: true}},
		{"a handover that forwards nothing, taken", &HandoverAcknowledge{Downlink: ipv4(1, "172.30.3.3"), Flows: []ForwardedFlow{{QFI: 1}}}},
		{"a handover taken, with everything", &HandoverAcknowledge{
			Downlink: ipv6(1, "2001:db8::3"), Forwarding: pointer(ipv4(2, "172.30.3.3")), Security: &SecurityResult{Confidentiality: true},
			Flows: []ForwardedFlow{{QFI: 1, Forwarding: true}, {QFI: 63}}, Failed: failed(), Bearers: bearers(),
		}},
		{"a handover taken, with the uplink's forwarding", &HandoverAcknowledge{
			Downlink: ipv4(1, "172.30.3.3"), Flows: []ForwardedFlow{{QFI: 1, Forwarding: true}}, UplinkForwarding: pointer(ipv4(3, "172.30.3.3")),
		}},
		{"a handover that forwards the uplink", &HandoverCommand{UplinkForwarding: pointer(ipv4(2, "172.30.3.3"))}},
		{"a handover that forwards nothing", &HandoverCommand{}},
		{"a handover that forwards everything", &HandoverCommand{Forwarding: pointer(ipv4(2, "172.30.3.3")), Flows: []uint8{1, 63}, Bearers: bearers()}},
		{"a handover that the target refused", &HandoverResourceAllocationUnsuccessful{ngapcause.FiveQINotSupported}},
		{"a handover that was not prepared", &HandoverPreparationUnsuccessful{ngapcause.HandoverFailureInTarget}},
		{"a report of nothing", &SecondaryRATUsage{}},
		{"a report of a session", &SecondaryRATUsage{Session: usage().Session}},
		{"a report of a session and flows", usage()},
	}
}

func tunnelPairs() []TunnelPair {
	return []TunnelPair{
		{Uplink: ipv4(1, "172.30.3.16"), Downlink: ipv4(2, "172.30.3.2")},
		{Uplink: ipv6(3, "2001:db8::16"), Downlink: dual(4, "172.30.3.2", "2001:db8::2")},
		{Uplink: ipv4(5, "172.30.3.16"), Downlink: ipv4(6, "172.30.3.2")},
	}
}

func bearers() []ForwardedBearer {
	return []ForwardedBearer{
		{ID: 1}, {ID: 2, Downlink: pointer(ipv4(1, "172.30.3.3"))}, {ID: 32, Uplink: pointer(ipv6(2, "2001:db8::3"))},
	}
}

func usage() *SecondaryRATUsage {
	at := func(hour int) time.Time { return time.Date(2036, 2, 7, hour, 0, 0, 0, time.UTC) }
	return &SecondaryRATUsage{
		Session: &RadioUsage{Radio: NR, Volumes: []Volume{{Start: at(5), End: at(6), Uplink: 1, Downlink: maxVolume}}},
		Flows: []FlowUsage{
			{QFI: 1, RadioUsage: RadioUsage{Radio: EUTRA, Volumes: []Volume{{Start: at(5), End: at(6)}, {Start: at(6), End: at(8), Downlink: 1 << 40}}}},
			{QFI: 63, RadioUsage: RadioUsage{Radio: EUTRAUnlicensed, Volumes: []Volume{{Start: at(7), End: at(7), Uplink: 255, Downlink: 256}}}},
		},
	}
}
