package procedure

import (
	"testing"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/ngapcause"
)

// TS 29.518 5.4.2.3, 5.5.2.2.
func TestReach(t *testing.T) {
	wanted := happens("SMSF: the UE is wanted", Reach{From: 4})
	again := happens("and asks again", Reach{From: 5})
	where := happens("GMLC: where is it now", Locate{From: 6, Current: true})
	report := func(name string, event n2.LocationEvent, cell uint64) act {
		return gnbSays(name, func(*teller) n2.Message {
			l := location(1)
			l.Cell.ID = cell
			return &n2.LocationReport{Location: l, Request: n2.LocationRequest{Event: event}}
		})
	}
	here := report("gNB: Location Report, direct", n2.LocationDirect, 0x77)
	silent := act{name: "the gNB says nothing", later: locateTime, event: func(*teller) Event { return Due{Name: dueLocated} }}
	gone := happens("terminator: the association is gone", AccessLost{At: at(gnb1, 0), Why: "the gNB is gone"})
	tell(t, "reach", []story{
		{name: "a UE that is idle is paged, and who asks hears when it has come", from: idleUE, acts: []act{
			wanted, again, first("UE: Service Request, signalling", gnb1, 3, 1, serviceRequest(0, n1.Of(1), 0)),
		}},
		{name: "it comes by a registration", from: idleUE, acts: []act{wanted, updates}},
		{name: "it does not come", from: idleUE, acts: []act{wanted, pageSilent, pageSilent, pageSilent, pageSilent, again}},
		{name: "somebody else says its 5G-GUTI: it has not come", from: idleUE, acts: []act{
			wanted, first("somebody: Service Request, another MAC", gnb1, 3, 1, func(tr *teller) []byte {
				b := serviceRequest(0, 0, 0)(tr)
				b[2] ^= 1
				return b
			}),
		}},
		{name: "packets wait, too: it is paged once, with their priority", from: idleUE, acts: []act{wanted, packets}},
		{name: "a UE that is connected", from: withSession, acts: []act{wanted}},
		{name: "while it is being released: it waits, and is paged then", from: withSession, acts: []act{gnbReleases, wanted, released, wanted}},
		{name: "the Subscriber is deleted meanwhile", from: idleUE, acts: []act{wanted, happens("UDM: the Subscriber is deleted", End{From: 9, Why: Withdrawn}), wanted}},
		{name: "another shard takes the UE over meanwhile", from: idleUE, acts: []act{wanted, happens("another shard has it", Taken{})}},
		{name: "the worker dies: it is paged, and who asked asks again", from: idleUE, acts: []act{wanted, dies, happens("a new holder", Resumed{}), again}},
		{name: "of a UE that is not there", acts: []act{wanted}},
		{name: "where it is now: the gNB is asked", from: withSession, acts: []act{where, here}},
		{name: "asked twice: the gNB is asked once", from: withSession, acts: []act{where, happens("LMF: and now", Locate{From: 7, Current: true}), here, where}},
		{name: "a report that answers something else", from: withSession, acts: []act{where, report("gNB: Location Report, another cell", n2.LocationCellChange, 0x78), here}},
		{name: "a report that nobody has asked for", from: withSession, acts: []act{here}},
		{name: "the gNB cannot say", from: withSession, acts: []act{where, gnbSays("gNB: Location Reporting Failure Indication", func(*teller) n2.Message {
			return &n2.LocationReportingFailureIndication{Cause: ngapcause.RadioUnspecified}
		})}},
		{name: "the gNB does not say", from: withSession, acts: []act{where, silent, here}},
		{name: "the UE goes idle meanwhile", from: withSession, acts: []act{where, gnbReleases, released}},
		{name: "the gNB is gone meanwhile", from: withSession, acts: []act{where, gone}},
		{name: "where a UE is that is idle: where it was heard last, and nobody is paged", from: idleUE, acts: []act{where}},
	})
}
