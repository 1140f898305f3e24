package integration

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// Both halves agree on the contract: whatever upf-c compiles, upf-u takes. Every sort of rule is
// established once, and once more by the replay into a upf-u that starts anew.
func TestIntegrationRules(t *testing.T) {
	r := newRig(t)
	r.upfc.kill()
	r.upfu.kill()
	r.run("ip", "-n", r.upf, "link", "add", "n9", "type", "veth", "peer", "name", "n9p", "netns", r.peers)
	r.run("ip", "-n", r.upf, "link", "set", "n9", "up")
	r.file("upf-u.yaml", `
memory: 128
hugepages: false
socket: `+r.path("upf.sock")+`
limits: {sessions_max: 4096}
interfaces:
  n3: {driver: af_packet, device: n3, addresses: 172.30.3.16/28, prefix_length: 24, gateway: 172.30.3.1, addresses6: 'fd00:3::10/124', prefix_length6: 64}
  n6: {driver: af_packet, device: n6, address: 172.30.6.2/24, gateway: 172.30.6.1, address6: 'fd00:6::2/64', gateway6: 'fd00:6::1'}
  n9: {driver: af_packet, device: n9, addresses: 172.30.9.16/28, prefix_length: 24, addresses6: 'fd00:9::10/124', prefix_length6: 64}
`)
	r.file("upf-c.yaml", `
nodeID: upf.test
pfcp: {listen: "127.0.0.1:8805", retransmit: {interval: 200ms}}
heartbeat: {interval: 0s}
gtpu: {echo: {interval: 0s}}
n3: {endpoints: [172.30.3.16/28, 'fd00:3::10/124']}
n9: {endpoints: [172.30.9.16/28, 'fd00:9::10/124']}
uePools: [{networkInstance: internet, range: 10.60.0.0/16}, {networkInstance: internet, range: 'fd00:60::/48'}]
dataplane: {socket: `+r.path("upf.sock")+`}
state: {file: ""}
control: {socket: `+r.path("ctl.sock")+`}
metrics: {listen: ""}
health: {listen: ""}
log: {level: debug, format: text}
`)
	r.startUPFU()
	r.startUPFC()
	r.smf.Associate()
	flow := "permit out 17 from 10.9.0.0/16 443 to assigned"
	contents := ie.New(ie.PFDContents, append([]byte{1, 0, 0, byte(len(flow))}, flow...))
	if _, ok := r.smf.Ask(message.NewPFDManagementRequest(r.smf.NextSeq(), ie.NewApplicationIDsPFDs(ie.NewApplicationID("video"), ie.NewPFDContext(contents)))).(*message.PFDManagementResponse); !ok {
		t.Fatal("no PFD Management Response")
	}

	n := uint32(0) // of the session: its addresses and tunnels
	type ies = []*ie.IE
	pdr := func(id uint16, si uint8, pdi ies, more ...*ie.IE) *ie.IE {
		group := ie.NewPDI(append(ies{ie.NewSourceInterface(si)}, pdi...)...)
		return ie.NewCreatePDR(append(ies{ie.NewPDRID(id), ie.NewPrecedence(uint32(id)), group, ie.NewFARID(uint32(id))}, more...)...)
	}
	far := func(id uint32, action uint8, di uint8, more ...*ie.IE) *ie.IE {
		return ie.NewCreateFAR(ie.NewFARID(id), ie.NewApplyAction(action), ie.NewForwardingParameters(append(ies{ie.NewDestinationInterface(di)}, more...)...))
	}
	v4 := func() *ie.IE { return ie.NewUEIPAddress(2, fmt.Sprintf("10.45.0.%d", n), "", 0, 0) }
	v6 := func() *ie.IE { return ie.NewUEIPAddress(1, "", fmt.Sprintf("fd00:45:0:%x::", n), 0, 0) }
	both := func() *ie.IE {
		return ie.NewUEIPAddress(3, fmt.Sprintf("10.45.0.%d", n), fmt.Sprintf("fd00:45:0:%x::", n), 0, 0)
	}
	tunnel := func(flags uint8) *ie.IE {
		return ie.NewFTEID(flags, n, net.IP{172, 30, 3, 16}, net.ParseIP("fd00:3::10"), 0)
	}
	removes := ie.NewOuterHeaderRemoval(6, 0)
	gnb4, gnb6 := ie.NewOuterHeaderCreation(0x0100, 9, gnbAddr, "", 0, 0, 0), ie.NewOuterHeaderCreation(0x0200, 9, "", "fd00:3::100", 0, 0, 0)
	filter := func(text string) *ie.IE { return ie.NewSDFFilter(text, "", "", "", 0) }
	updown := func(ue *ie.IE, t *ie.IE, gnb *ie.IE, more ...*ie.IE) ies {
		return append(ies{pdr(1, 0, ies{t, ue}, removes), pdr(2, 1, ies{ue}), far(1, 2, 1), far(2, 2, 0, gnb)}, more...)
	}
	changeFAR := func(id uint32, more ...*ie.IE) *ie.IE {
		return ie.NewUpdateFAR(append(ies{ie.NewFARID(id)}, more...)...)
	}
	cases := []struct {
		name   string
		ies    func() ies
		change func() ies // of a modification that follows
	}{
		{"an IPv4 session", func() ies { return updown(v4(), tunnel(1), gnb4) }, nil},
		{"an IPv6 session over IPv4", func() ies { return updown(v6(), tunnel(1), gnb4) }, nil},
		{"an IPv4 session over IPv6", func() ies { return updown(v4(), tunnel(2), gnb6) }, nil},
		{"an IPv4v6 session over both, and a path switch", func() ies { return updown(both(), tunnel(3), gnb6) }, func() ies {
			return ies{changeFAR(2, ie.NewUpdateForwardingParameters(ie.NewOuterHeaderCreation(0x0200, 10, "", "fd00:3::101", 0, 0, 0), ie.NewPFCPSMReqFlags(2)))}
		}},
		{"a delegated prefix", func() ies {
			return updown(ie.New(ie.UEIPAddress, append(append([]byte{0x09}, net.ParseIP(fmt.Sprintf("fd00:46:%x::", n))...), 16)), tunnel(1), gnb4)
		}, nil},
		{"addresses and tunnels chosen here", func() ies {
			ue, ni := ie.New(ie.UEIPAddress, []byte{0x30}), ie.NewNetworkInstance("internet")
			return ies{pdr(1, 0, ies{ie.NewFTEID(7, 0, nil, nil, 0), ue}, removes), pdr(2, 1, ies{ue, ni}), far(1, 2, 1), far(2, 2, 0, gnb4)}
		}, nil},
		{"filters of both versions", func() ies {
			ue := both()
			return ies{pdr(1, 0, ies{tunnel(1), ue, filter("permit out 17 from 10.0.0.0/8 53,100-200 to assigned 5060"), filter("permit in 6 from assigned to 2001:db8::/32 443"), ie.NewQFI(5), ie.NewQFI(6)}, removes),
				pdr(2, 1, ies{ue, ie.NewSDFFilter("permit out ip from any to assigned", "\x28\xfc", "\x00\x00\x00\x09", "", 7)}), pdr(3, 1, ies{ue, ie.NewSDFFilter("", "", "", "\x01\x23\x45", 0)}),
				far(1, 2, 1), far(2, 2, 0, gnb4), far(3, 1, 0)}
		}, nil},
		{"an application", func() ies {
			return ies{pdr(1, 0, ies{tunnel(1), v4(), ie.NewApplicationID("video")}, removes), pdr(2, 1, ies{v4()}), far(1, 2, 1), far(2, 2, 0, gnb4)}
		}, nil},
		{"Traffic Endpoints", func() ies {
			return ies{ie.NewCreateTrafficEndpoint(ie.NewTrafficEndpointID(1), tunnel(1)), ie.NewCreateTrafficEndpoint(ie.NewTrafficEndpointID(2), ie.NewFTEID(5, 0, nil, nil, 0)),
				ie.NewCreateTrafficEndpoint(ie.NewTrafficEndpointID(3), v4()),
				pdr(1, 0, ies{ie.NewTrafficEndpointID(1), ie.NewTrafficEndpointID(2)}, removes), pdr(2, 1, ies{ie.NewTrafficEndpointID(3)}), far(1, 2, 1), far(2, 2, 0, gnb4, ie.NewTrafficEndpointID(1))}
		}, func() ies {
			return ies{ie.NewUpdateTrafficEndpoint(ie.NewTrafficEndpointID(1), ie.NewFTEID(5, 0, nil, nil, 0)), ie.NewUpdatePDR(ie.NewPDRID(1), ie.NewPDI(ie.NewSourceInterface(0), ie.NewTrafficEndpointID(1))), ie.NewRemoveTrafficEndpoint(ie.NewTrafficEndpointID(3))}
		}},
		{"a tunnel on N9, both ends ours to choose", func() ies {
			choose := ie.NewFTEID(7, 0, nil, nil, 0)
			return ies{pdr(1, 0, ies{choose}, removes), pdr(2, 1, ies{choose}, removes), far(1, 2, 1, ie.NewOuterHeaderCreation(0x0100, 9, "172.30.9.200", "", 0, 0, 0)), far(2, 2, 0, gnb4)}
		}, nil},
		{"a gateway of EPC", func() ies {
			s5 := ie.NewFTEID(1, 0x1000+n, net.IP{172, 30, 3, 17}, nil, 0)
			return ies{pdr(1, 0, ies{tunnel(1)}, removes), pdr(2, 1, ies{s5}, ie.NewOuterHeaderRemoval(0, 0)), far(1, 2, 1, ie.NewOuterHeaderCreation(0x0100, 9, "172.30.3.200", "", 0, 0, 0)), far(2, 2, 0, gnb4)}
		}, nil},
		{"every other outer header", func() ies {
			out := ies{pdr(9, 0, ies{tunnel(1), v4()}, removes), far(9, 2, 1)}
			for i, o := range []*ie.IE{ie.NewOuterHeaderCreation(0x0400, 0, "172.30.3.7", "", 9000, 0, 0), ie.NewOuterHeaderCreation(0x0800, 0, "", "fd00:3::7", 9000, 0, 0),
				ie.NewOuterHeaderCreation(0x1000, 0, "172.30.3.7", "", 0, 0, 0), ie.NewOuterHeaderCreation(0x2000, 0, "", "fd00:3::7", 0, 0, 0)} {
				out = append(out, pdr(uint16(i+1), 0, ies{tunnel(1), v4(), filter(fmt.Sprintf("permit out %d from any to assigned", i+1))}, removes), far(uint32(i+1), 2, 1, o))
			}
			return out
		}, nil},
		{"marking, copies and redirection", func() ies {
			li := ie.NewDuplicatingParameters(ie.NewDestinationInterface(4), ie.NewOuterHeaderCreation(0x0100, 9, "172.30.3.77", "", 0, 0, 0))
			copied := ie.NewCreateFAR(ie.NewFARID(1), ie.NewApplyAction(0x12), ie.NewForwardingParameters(ie.NewDestinationInterface(1), ie.NewTransportLevelMarking(0xb8fc)), li, li)
			return ies{pdr(1, 0, ies{tunnel(1), v4()}, removes), pdr(2, 1, ies{v4()}), pdr(3, 0, ies{tunnel(1), v4()}, removes), copied, far(2, 2, 0, gnb4), far(3, 2, 1, ie.NewRedirectInformation(2, "http://portal.example/"))}
		}, func() ies {
			return ies{changeFAR(1, ie.NewApplyAction(2), ie.New(ie.UpdateDuplicatingParameters, nil)), changeFAR(3, ie.NewUpdateForwardingParameters(ie.New(ie.RedirectInformation, nil)))}
		}},
		{"buffering by a BAR", func() ies {
			return ies{pdr(1, 0, ies{tunnel(1), v4()}, removes), pdr(2, 1, ies{v4()}), far(1, 2, 1),
				ie.NewCreateFAR(ie.NewFARID(2), ie.NewApplyAction(0x0c), ie.NewBARID(1)),
				ie.NewCreateBAR(ie.NewBARID(1), ie.New(ie.DownlinkDataNotificationDelay, []byte{2}), ie.NewSuggestedBufferingPacketsCount(9))}
		}, func() ies {
			return ies{ie.NewPFCPSMReqFlags(1), ie.NewUpdateBARWithinSessionModificationRequest(ie.NewBARID(1), ie.NewSuggestedBufferingPacketsCount(3)), changeFAR(2, ie.NewApplyAction(2), ie.NewUpdateForwardingParameters(gnb4))}
		}},
		{"QERs with all they can have", func() ies {
			return append(updown(v4(), tunnel(1), gnb4, ie.NewCreateQER(ie.NewQERID(1), ie.NewGateStatus(0, 0), ie.NewMBR(1000, 2000), ie.NewGBR(100, 200), ie.NewQFI(9), ie.NewRQI(1),
				ie.NewPagingPolicyIndicator(3), ie.NewAveragingWindow(2000), ie.New(ie.DLFlowLevelMarking, []byte{1, 0x28, 0xfc})), ie.NewCreateQER(ie.NewQERID(2), ie.NewGateStatus(1, 1))),
				pdr(3, 1, ies{v4()}, ie.NewQERID(1), ie.NewQERID(2)), far(3, 2, 0, gnb4))
		}, func() ies {
			return ies{ie.NewUpdateQER(ie.NewQERID(1), ie.New(ie.GBR, nil)), ie.NewRemoveQER(ie.NewQERID(2)), ie.NewCreateQER(ie.NewQERID(3), ie.NewGateStatus(0, 0), ie.NewGBR(1, 1))}
		}},
		{"four hundred PDRs", func() ies {
			out := ies{far(1, 2, 1)}
			for id := uint16(1); id <= 400; id++ {
				group := ie.NewPDI(ie.NewSourceInterface(0), tunnel(1), v4(), filter(fmt.Sprintf("permit out 17 from 10.%d.%d.0/24 to assigned", id/200, id%200)))
				out = append(out, ie.NewCreatePDR(ie.NewPDRID(id), ie.NewPrecedence(uint32(id)), group, ie.NewFARID(1), removes))
			}
			return out
		}, func() ies { return ies{ie.NewRemovePDR(ie.NewPDRID(200))} }},
	}
	established := 0
	for i, tt := range cases {
		n = uint32(i + 1)
		t.Run(tt.name, func(t *testing.T) {
			a := r.smf.Establish(uint64(n), tt.ies()...)
			if cause, err := a.Cause.Cause(); err != nil || cause != ie.CauseRequestAccepted {
				t.Errorf("cause %d (%v), offending IE %v", cause, err, a.OffendingIE)
				return
			}
			established++
			if tt.change == nil {
				return
			}
			f, err := a.UPFSEID.FSEID()
			if err != nil {
				t.Fatal(err)
			}
			m := r.smf.Modify(f.SEID, tt.change()...)
			if cause, err := m.Cause.Cause(); err != nil || cause != ie.CauseRequestAccepted {
				t.Errorf("modification: cause %d (%v), offending IE %v", cause, err, m.OffendingIE)
			}
		})
	}
	r.upfu.kill()
	r.startUPFU()
	r.await(time.Minute, "all sessions are back", func() bool {
		st, err := r.stats()
		return err == nil && st.Connected && st.Sessions == established
	})
}
