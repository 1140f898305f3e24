package procedure

import (
	"testing"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"

	"github.com/google/go-cmp/cmp"
)

// The slices of the network change while it serves (TS 23.501 5.15.5.2.2, TS 23.502 4.2.4.2).
func TestCatalogue(t *testing.T) {
	becomes := func(list ...record.Slice) act {
		return act{name: "the catalogue is another", event: func(tr *teller) Event {
			s := *tr.settings
			s.PLMNs = []PLMN{{PLMN: "20893", Slices: list}}
			tr.settings = &s
			return SettingsChanged{}
		}}
	}
	same := answers("UDM: the same subscription", func(n Number) Event { return subscription(n) })
	unchanged := answers("PCF: nothing new", func(n Number) Event { return Policy{Number: n, Outcome: Done, URI: "http://pcf/policies/1"} })
	complete := says("UE: Configuration Update Complete", protected(&n1.ConfigurationUpdateComplete{}))
	asksFor := func(list ...record.Slice) func(*teller) {
		return func(tr *teller) {
			m := registers(n1.InitialRegistration, suci())
			m.Requested = nssai(list)
			tr.lead(first("", gnb1, 1, 1, unprotected(m)), vector, responds, confirms, nobodyElse, completes, recordedToo, policed, contextSet, accepted)
		}
	}
	tell(t, "catalogue", []story{
		{name: "it has one more, which is subscribed to: the UE may ask for it", from: func(tr *teller) {
			tr.settings.PLMNs[0].Slices = []record.Slice{eMBB}
			registeredUE(tr)
		}, acts: []act{becomes(eMBB, ioT), same, unchanged, complete, happens("nothing new", SettingsChanged{})}},
		{name: "one that the UE has asked for is there: it has it", from: func(tr *teller) {
			tr.settings.PLMNs[0].Slices = []record.Slice{eMBB}
			asksFor(eMBB, ioT)(tr)
		}, acts: []act{becomes(eMBB, ioT), same, unchanged}},
		{name: "one that the UE has is gone: its session ends", from: func(tr *teller) {
			asksFor(eMBB, ioT)(tr)
			tr.lead(
				says("UE: UL NAS Transport", protected(establishes(1))), smf("SMF: created", 1, created(1)),
				happens("SMF: accept", accept(1)), resourceSet(1), smf("SMF: updated", 1, SessionAnswer{Outcome: Done}),
			)
		}, acts: []act{
			becomes(ioT), same, unchanged,
			smf("SMF: command", 1, SessionAnswer{Outcome: Done, N1: []byte{0x2e, 1, 0, 0xd3, 39}, N2: []byte{7}, N2Type: releaseRequest}),
		}},
		{name: "all are gone: the UE is deregistered", from: registeredUE, acts: []act{becomes(guest), same}},
		{name: "a UE that is idle hears when it comes, and nobody is asked before", from: idleUE, acts: []act{
			becomes(eMBB, ioT), first("UE: periodic registration", gnb1, 2, 1, periodic), same,
		}},
		{name: "a UE that is registering hears behind it", acts: []act{
			asksIn, vector, responds, confirms, nobodyElse, completes, recordedToo, becomes(eMBB, ioT), policed, accepted, contextSet, same,
		}},
	})
}

// What a gNB says of how the UE is paged others hear that page it (TS 23.501 5.4.4.1), while the worker lives.
func TestRadioCapabilityForPaging(t *testing.T) {
	says := gnbSays("gNB: UE Radio Capability Info Indication", func(*teller) n2.Message {
		return &n2.UERadioCapabilityInfoIndication{Radio: []byte{1, 2, 3}, Paging: &n2.PagingCapability{NR: []byte{4, 5}}}
	})
	tell(t, "radio-capability", []story{
		{name: "paged, and with a context", from: withSession, acts: []act{
			says, gnbReleases, released, smf("SMF: idle", 1, SessionAnswer{Outcome: Done}), packets, comes, toSetUp,
		}},
		{name: "the UE says that it has another: its gNB is not told the one of before", from: withSession, acts: []act{
			says, gnbReleases, released, smf("SMF: idle", 1, SessionAnswer{Outcome: Done}),
			first("UE: mobility registration, its radio capability is another", gnb1, 2, 1, func(tr *teller) []byte {
				m := registers(n1.MobilityRegistration, tr.guti())
				has := n1.Of(1)
				m.Sessions, m.Update, m.KeySet = &has, &n1.UpdateType{RadioCapability: true}, 0
				return tr.says(m, n1.IntegrityProtected)
			}),
		}},
		{name: "the UE registers for the first time again: likewise", from: withSession, acts: []act{
			says, gnbReleases, released, smf("SMF: idle", 1, SessionAnswer{Outcome: Done}),
			first("UE: initial registration, 5G-GUTI", gnb1, 2, 1, func(tr *teller) []byte {
				return tr.says(registers(n1.InitialRegistration, tr.guti()), n1.IntegrityProtected)
			}), recordedToo, policed,
		}},
	})
}

// A UE that is not told of another registration area, or T3512, has those that it was told (TS 24.501 5.4.4.2: a command has no T3512).
func TestSubscriptionKeepsWhatUEHasHeard(t *testing.T) {
	tr := newTeller(t)
	withSession(tr)
	area, periodic := tr.st.Record.Area, tr.st.Record.Periodic
	tr.lead(
		fromGNB2("gNB 2: Path Switch Request", 50, func(tr *teller) n2.Message {
			return &n2.PathSwitchRequest{RAN: 50, SourceAMF: n2.AMFUEID(tr.st.Record.N2.AMF), Location: location(7), Sessions: []n2.Session{{ID: 1, Transfer: []byte{1}}}}
		}),
		smf("SMF: switched", 1, SessionAnswer{Outcome: Done, N2: []byte{2}, N2Type: switchDone}),
		changed,
		answers("UDM: another AMBR, and T3512", func(n Number) Event {
			s := subscription(n)
			s.Uplink, s.Periodic = 5_000_000, 120
			return s
		}),
		answers("PCF: nothing new", func(n Number) Event { return Policy{Number: n, Outcome: Done} }),
	)
	rec := tr.st.Record
	if rec.Uplink != 5_000_000 || rec.Place.TAC != 7 || rec.Procedure != nil {
		t.Fatalf("the change is not there: %+v", rec)
	}
	if diff := cmp.Diff(area, rec.Area); diff != "" {
		t.Errorf("the area is not the one that the UE was told (-want +got):\n%s", diff)
	}
	if rec.Periodic != periodic {
		t.Errorf("T3512 is %d s, and the UE was told %d s", rec.Periodic, periodic)
	}
}
