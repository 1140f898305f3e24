package procedure

import (
	"bytes"
	"net/http"
	"net/netip"
	"slices"
	"testing"
	"time"

	"core5g.dev/core5g/images/ngapcause"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n2"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

func withPolicy(list []configuration.Slice) { list[0].DataNetworks[0].Policy = true }

func only(kinds ...n1.SessionType) func([]configuration.Slice) {
	return func(list []configuration.Slice) { list[0].DataNetworks[0].Types = kinds }
}

func alwaysOn(a configuration.AlwaysOn) func([]configuration.Slice) {
	return func(list []configuration.Slice) { list[0].DataNetworks[0].AlwaysOn = a }
}

// TS 23.502 4.3.2.2.1 and TS 24.501 6.4.1, step by step, as it should be.
func TestEstablishment(t *testing.T) {
	asked := act{name: "the AMF asks, by UE 5", event: create(request(5, 0x91))}
	subscribed := act{name: "the subscription", event: Subscription{}}
	inUnit := act{name: "the unit has it", event: made()}
	accepted := act{name: "the AMF has the accept", event: Transferred{Outcome: Done}}
	tr := newTeller(t)
	ready := act{name: "the gNB has a tunnel", event: tr.ready()}
	lost, known := act{name: "the AMF does not answer", event: Transferred{Outcome: Unknown}}, act{name: "the unit knows", event: Unit{Outcome: Done}}
	again := act{name: "1 s later", later: acceptAgain, event: Due{Name: dueAccess}}
	tell(t, "establishment", []story{
		{name: "IPv4, policy of the Slice", acts: []act{asked, subscribed, inUnit, accepted, ready, {name: "the unit knows", event: Unit{Outcome: Done}}}},
		{name: "with a PCF that decides the AMBR and adds a flow", with: withPolicy, acts: []act{
			asked, subscribed,
			{name: "the policy", event: Policy{Outcome: Done, URI: "http://pcf/1", Decided: record.Decided{AMBR: record.AMBR{Uplink: 1e6, Downlink: 2e6}, FiveQI: 8}, Flows: []string{"game"}}},
			inUnit, accepted,
		}},
		{name: "both versions asked, one allowed: the accept has cause 50", with: only(n1.IPv4), acts: []act{
			{name: "the AMF asks for IPv4v6", event: create(request(5, 0x93))}, subscribed, inUnit,
		}},
		{name: "both versions: the accept has the interface identifier", acts: []act{
			{name: "the AMF asks for IPv4v6", event: create(request(5, 0x93))}, subscribed,
			{name: "the unit has it", event: Unit{Outcome: Done, Established: &message.SessionEstablishmentResponse{
				Cause: ie.NewCause(ie.CauseRequestAccepted), UPFSEID: ie.NewFSEID(9, []byte{10, 0, 0, 1}, nil),
				CreatedPDR: []*ie.IE{ie.NewCreatedPDR(ie.NewPDRID(1), ie.NewFTEID(1, 0x10, []byte{172, 30, 3, 16}, nil, 0),
					ie.NewUEIPAddress(3, "10.45.0.1", "2001:db8:0:1::", 0, 0))},
			}}},
		}},
		{name: "the UE says no type: the subscription's default", acts: []act{
			{name: "the AMF asks", event: create(request(5))}, {name: "IPv4 first", event: Subscription{Types: []n1.SessionType{n1.IPv4, n1.IPv6}}}, inUnit,
		}},
		{name: "always-on is asked for, and granted", with: alwaysOn(configuration.AlwaysOnRequested), acts: []act{
			{name: "the AMF asks", event: create(request(5, 0x91, 0xb1))}, subscribed, inUnit,
		}},
		{name: "always-on is asked for, and not granted", acts: []act{
			{name: "the AMF asks", event: create(request(5, 0x91, 0xb1))}, subscribed, inUnit,
		}},
		{name: "the UE asks for DNS servers and MTU", acts: []act{
			{name: "the AMF asks", event: create(request(5, 0x91, 0x7b, 0, 7, 0x80, 0, 0x0d, 0, 0, 0x10, 0))}, subscribed, inUnit,
		}},
		{name: "the AMF asks again before it is known: alike", acts: []act{
			asked, subscribed, inUnit, accepted, {name: "the same again", event: create(request(5, 0x91))},
		}},
		{name: "nobody knows whether the AMF has taken the accept: it is transferred again", acts: []act{asked, subscribed, inUnit, lost, again, accepted, ready, known}},
		{name: "and the gNB has a tunnel by then: it is not", acts: []act{asked, subscribed, inUnit, lost, ready, known}},
		{name: "and the AMF asks again, by another pod: at once", acts: []act{
			asked, subscribed, inUnit, lost, {name: "the same again", event: create(request(5, 0x91))}, lost, again, accepted, ready, known,
		}},
		{name: "and the AMF does not take it then", acts: []act{asked, subscribed, inUnit, lost, again, {name: "the AMF refuses", event: Transferred{Outcome: Refused, Cause: "CONTEXT_NOT_FOUND"}}}},
		{name: "and nobody ever knows: the session ends 12 s later", acts: append([]act{asked, subscribed, inUnit, lost}, slices.Repeat([]act{again, lost}, 12)[:23]...)},
		{name: "another request for the same session: the old one goes first (TS 24.501 6.4.1.7 b)", from: active, acts: []act{
			{name: "the AMF asks, by UE 6", event: create(request(6, 0x91))},
			{name: "the unit has deleted it", event: Unit{Outcome: Done}}, subscribed, inUnit,
		}},
		{name: "a flow of the Slice goes before the accept: the UE does not hear of it", acts: []act{
			asked, subscribed, {name: "the unit has it", event: made(), first: noFlows}, accepted, ready,
		}},
		{name: "what comes meanwhile waits", acts: []act{
			asked, subscribed, {name: "an event of another kind", event: Update{From: 9, Connection: Deactivated}},
		}},
		{name: "for emergency services: nobody is asked but the unit (TS 23.501 5.16.4)", with: func(list []configuration.Slice) {
			withPolicy(list)
			list[0].DataNetworks[0].Charging = configuration.ChargingOnline
		}, acts: []act{
			{name: "the AMF asks, by UE 5", event: emergency()}, inUnit, {name: "resumed", event: Resumed{}}, accepted, ready, {name: "the unit knows", event: Unit{Outcome: Done}},
			{name: "the UDM tells of a change", event: SubscriptionChanged{From: 3}}, {name: "the AMF releases it", event: Release{From: 4}}, {name: "the unit has deleted it", event: Unit{Outcome: Done}},
		}},
		{name: "a new holder asks again what was asked", acts: []act{
			asked, subscribed, {name: "resumed", event: Resumed{}}, inUnit, {name: "resumed", event: Resumed{}},
		}},
	})
}

// emergency is a request of a UE that nobody has authenticated.
func emergency() Create {
	c := create(request(5, 0x91))
	c.SUPI, c.Emergency = "imei-490154203237518", true
	return c
}

// What is refused, with the 5GSM cause for the UE and the status for the AMF (TS 24.501 6.4.1.4, TS 29.502 6.1.7.3).
func TestEstablishmentRefused(t *testing.T) {
	asked := act{name: "the AMF asks", event: create(request(5, 0x91))}
	subscribed := act{name: "the subscription", event: Subscription{}}
	taken := act{name: "the address that the unit has chosen is another session's", event: AddressTaken{Event: made()}}
	given := act{name: "the unit has deleted it", event: Unit{Outcome: Done}}
	with := func(f func(*Create)) act {
		c := create(request(5, 0x91))
		f(&c)
		return act{name: "the AMF asks", event: c}
	}
	tell(t, "establishment-refused", []story{
		{name: "no such slice", acts: []act{with(func(c *Create) { c.SST = 9 })}},
		{name: "no such data network in the slice", acts: []act{with(func(c *Create) { c.DNN = "ims" })}},
		{name: "an existing session that is not there", acts: []act{with(func(c *Create) { c.Existing = true })}},
		{name: "SSC mode 2", acts: []act{{name: "the AMF asks", event: create(request(5, 0x91, 0xa2))}}},
		{name: "octets that are no message", acts: []act{{name: "the AMF asks", event: create([]byte{1, 2, 3})}}},
		{name: "a message that is cut", acts: []act{{name: "the AMF asks", event: create([]byte{0x2e, 1, 5, 0xc1})}}},
		{name: "a message of a type that is not known", acts: []act{{name: "the AMF asks", event: create([]byte{0x2e, 1, 5, 0xee})}}},
		{name: "a request without a PTI", acts: []act{{name: "the AMF asks", event: create(request(0, 0x91))}}},
		{name: "a message for another session", acts: []act{{name: "the AMF asks", event: create([]byte{0x2e, 2, 5, 0xc1, 0xff, 0xff})}}},
		{name: "not subscribed", acts: []act{asked, {name: "the subscription", event: Subscription{Unknown: true}}}},
		{name: "the UDM does not answer", acts: []act{asked, {name: "the subscription", event: Subscription{Failed: true}}}},
		{name: "the slice goes while the UDM is asked", acts: []act{asked, {
			name: "the subscription", event: Subscription{}, first: func(list []configuration.Slice) { list[0].Name = "other" },
		}}},
		{name: "IPv6 asked, IPv4 allowed", with: only(n1.IPv4), acts: []act{{name: "the AMF asks", event: create(request(5, 0x92))}, subscribed}},
		{name: "IPv4 asked, IPv6 allowed", with: only(n1.IPv6), acts: []act{asked, subscribed}},
		{name: "Ethernet", acts: []act{{name: "the AMF asks", event: create(request(5, 0x95))}, subscribed}},
		{name: "nothing both allow", with: only(n1.IPv4), acts: []act{asked, {name: "the subscription", event: Subscription{Types: []n1.SessionType{n1.IPv6}}}}},
		{name: "no unit serves", with: func(list []configuration.Slice) { list[0].DataNetworks[0].Units = nil }, acts: []act{asked, subscribed}},
		{name: "the PCF refuses", with: withPolicy, acts: []act{
			asked, subscribed, {name: "the policy", event: Policy{Outcome: Refused}},
		}},
		{name: "a static address is another session's, and the PCF has an association", with: withPolicy, acts: []act{
			asked, {name: "the subscription", event: Subscription{IPv4: netip.MustParseAddr("10.60.0.1")}},
			{name: "the policy", event: AddressTaken{Event: Policy{Outcome: Done, URI: "http://pcf/1"}}},
		}},
		{name: "the PCF does not answer", with: withPolicy, acts: []act{asked, subscribed, {name: "the policy", event: Policy{Outcome: Unknown}}}},
		{name: "the unit refuses", acts: []act{
			asked, subscribed, {name: "the unit", event: Unit{Outcome: Refused, Cause: 75}}, {name: "the unit has nothing to delete", event: Unit{Outcome: Refused, Cause: 65}},
			{name: "the AMF has the reject", event: Transferred{Outcome: Done}}, {name: "the AMF has heard", event: Notified{Outcome: Done}},
		}},
		{name: "the unit does not answer: it is deleted all the same", acts: []act{
			asked, subscribed, {name: "the unit", event: Unit{Outcome: Unknown}}, {name: "the unit has deleted it", event: Unit{Outcome: Done}},
			{name: "the AMF has the reject", event: Transferred{Outcome: Done}},
		}},
		{name: "the unit's answer lacks an address", acts: []act{
			asked, subscribed, {name: "the unit", event: Unit{Outcome: Done, Established: &message.SessionEstablishmentResponse{Cause: ie.NewCause(ie.CauseRequestAccepted)}}},
		}},
		{name: "the AMF does not take the accept", acts: []act{
			asked, subscribed, {name: "the unit has it", event: made()}, {name: "the AMF", event: Transferred{Outcome: Refused, Cause: "CONTEXT_NOT_FOUND"}},
			{name: "the unit has deleted it", event: Unit{Outcome: Done}}, {name: "the AMF has heard", event: Notified{Outcome: Done}},
		}},
		{name: "the subscription's address is another session's", acts: []act{
			asked, {name: "the subscription", event: AddressTaken{Event: Subscription{IPv4: netip.MustParseAddr("10.60.0.1")}}},
		}},
		{name: "the unit's address is another session's: it chooses again", acts: []act{
			asked, subscribed, taken, given, {name: "the unit has it", event: made()},
		}},
		{name: "the unit does not take it back", acts: []act{asked, subscribed, taken, unitMute}},
		{name: "a new holder has it taken back", acts: []act{asked, subscribed, taken, {name: "resumed", event: Resumed{}}, given}},
		{name: "every address of the unit's is another session's", acts: slices.Concat(
			[]act{asked, subscribed}, slices.Repeat([]act{taken, given}, establishAgain), []act{given, {name: "the AMF has the reject", event: Transferred{Outcome: Done}}},
		)},
		{name: "the gNB refuses", from: establishing, acts: []act{{name: "the gNB", event: Update{From: 2, N2Type: n2.InfoSetupUnsuccessful, N2: makes(t, &n2.SetupUnsuccessful{Cause: ngapcause.RadioResourcesNotAvailable})}}}},
		{name: "the gNB has resources of a session of before: it lets go of them", from: establishing, acts: []act{
			{name: "the gNB", event: Update{From: 2, N2Type: n2.InfoSetupUnsuccessful, N2: makes(t, &n2.SetupUnsuccessful{Cause: ngapcause.MultiplePDUSessions})}},
		}},
		{name: "the gNB refuses the default flow", from: establishing, acts: []act{{name: "the gNB", event: Update{From: 2, N2Type: n2.InfoSetupResponse, N2: makes(t, &n2.SetupResponse{
			Downlink: n2.FlowTunnel{Tunnel: gnb, Flows: []n2.AssociatedFlow{{QFI: 2}}}, Failed: []n2.FlowCause{{QFI: 1}},
		})}}}},
		{name: "the gNB says nothing", from: establishing, acts: []act{{name: "12 s later", event: Due{Name: dueAccess}, later: accessTime}}},
		{name: "events for a session that is not there", acts: []act{
			{name: "update", event: Update{From: 1}}, {name: "release", event: Release{From: 2}}, {name: "report", event: Report{From: 3}}, {name: "end", event: End{From: 4}},
			{name: "policy", event: PolicyChanged{From: 5}}, {name: "end of policy", event: PolicyEnded{From: 6}}, {name: "due", event: Due{Name: dueAccess}},
		}},
	})
}

// While the session store does not answer a UE is told to come again soon: the store is back within seconds, and T3396 keeps a UE from asking.
func TestAUEThatIsDeclinedComesSoon(t *testing.T) {
	effects := Decline(create(request(5, 0x91)), "the session store does not answer")
	if len(effects) != 1 {
		t.Fatalf("%+v", effects)
	}
	failed, is := effects[0].(Reply).Body.(Failed)
	want := (&n1.EstablishmentReject{SessionID: 1, PTI: 5, Cause: n1.CauseInsufficientResources, BackOff: 4 * time.Second}).Encode()
	if !is || failed.Status != http.StatusServiceUnavailable || !bytes.Equal(failed.N1, want) {
		t.Errorf("%+v, want a reject of % x", effects[0], want)
	}
}
