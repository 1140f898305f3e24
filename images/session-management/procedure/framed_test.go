package procedure

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/record"
)

func networks(list ...string) (out []netip.Prefix) {
	for _, text := range list {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}

// Networks behind a UE come with its subscription, and are the session's from its beginning to its end.
func TestFramedRoutes(t *testing.T) {
	office := Subscription{Routes: networks("192.168.7.0/24", "2001:db8:7::/48")}
	knows := func(live map[string]configuration.Live) func(*teller) State {
		return func(tr *teller) State {
			tr.live = live
			return State{}
		}
	}
	takes := map[string]configuration.Live{unitID: {Framed: true}}
	asked := func(kind uint8, sub Subscription) []act {
		return []act{{name: "create", event: create(request(5, 0x90|kind))}, {name: "the subscription", event: sub}}
	}
	var many []string
	for n := range record.MostRoutes + 1 {
		many = append(many, fmt.Sprintf("192.168.%d.0/24", n))
	}
	manyFlows := func(s []configuration.Slice) {
		dn := &s[0].DataNetworks[0]
		for n := range 22 {
			f := dn.Flows[0]
			f.GBR.Uplink, f.GBR.Downlink, f.MBR.Uplink, f.MBR.Downlink = uint64(n+1)*71e3, uint64(n+1)*53e3, uint64(n+1)*101e3, uint64(n+1)*97e3
			f.Name, f.Precedence = fmt.Sprintf("a-flow-of-the-site-with-a-much-longer-name-%d", n), uint8(30+n)
			dn.Flows = append(dn.Flows, f)
		}
	}
	running := func(tr *teller) State {
		tr.live = takes
		return tr.lead(State{}, create(request(5, 0x91)), office, made(), Transferred{Outcome: Done}, tr.ready(), Unit{Outcome: Done})
	}
	told := act{name: "the UDM", event: SubscriptionChanged{From: 8}}
	has := func(s Subscription) act { return act{name: "the subscription", event: s} }
	tell(t, "framed", []story{
		{name: "a session of both IP versions has all of them", from: knows(takes), acts: asked(3, office)},
		{name: "one of IPv4 has those of IPv4", from: knows(takes), acts: asked(1, office)},
		{name: "one of IPv6 has those of IPv6", from: knows(takes), acts: asked(2, office)},
		{name: "no unit takes them", from: knows(map[string]configuration.Live{unitID: {}}), acts: asked(1, office)},
		{name: "any unit will do where the session has none of them", from: knows(map[string]configuration.Live{unitID: {}}), acts: asked(1, Subscription{Routes: networks("2001:db8:7::/48")})},
		{name: "as many as there can be", from: knows(takes), acts: asked(1, Subscription{Routes: networks(many[1:]...)})},
		{name: "one too many", from: knows(takes), acts: asked(1, Subscription{Routes: networks(many...)})},
		{name: "the flows leave no room for so many", from: knows(takes), with: manyFlows, acts: asked(1, Subscription{Routes: networks(many[1:]...)})},
		{name: "they leave room for one", from: knows(takes), with: manyFlows, acts: asked(1, Subscription{Routes: networks(many[1])})},
		{name: "the subscription has others: the UE asks for another session", from: running, acts: []act{told, has(Subscription{Routes: networks("192.168.8.0/24")}), unitDone}},
		{name: "it has none any more", from: running, acts: []act{told, has(Subscription{}), unitDone}},
		{name: "the first ones come", from: func(tr *teller) State {
			st := running(tr)
			st.Record.Routes = nil
			return st
		}, acts: []act{told, has(office), unitDone}},
		{name: "it has others of an IP version that the session has not", from: running, acts: []act{told, has(Subscription{Routes: networks("192.168.7.0/24")})}},
		{name: "the unit has lost the session, which is made again with them", from: running, acts: []act{{name: "the unit", event: UnitRestarted{NodeID: unitID}, later: time.Minute}}},
	})
}
