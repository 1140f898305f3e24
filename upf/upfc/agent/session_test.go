package agent_test

import (
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/fakesmf"
)

func TestSessionOfFree5GCFromEstablishmentToDeletion(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	seid := s.Established(7, fakesmf.Phone.Session()...)

	_, got := l.only()
	type pdr struct {
		ID    uint16
		Prec  uint32
		Flags uint8
		TEID  uint32
		Far   uint16
		SDFs  uint16
	}
	var pdrs []pdr
	for _, p := range got.PDRs {
		pdrs = append(pdrs, pdr{p.PdrId, p.Precedence, p.Flags, p.Teid, p.Far, p.SdfCount})
	}
	ul, dl := uint8(abi.PdrTeid|abi.PdrUeIpv4|abi.PdrRemove), uint8(abi.PdrUeIpv4)
	if diff := cmp.Diff([]pdr{{3, 128, ul | abi.PdrSdf, 1, 0, 1}, {4, 128, dl | abi.PdrSdf, 0, 1, 1}, {1, 255, ul, 1, 0, 0}, {2, 255, dl, 0, 1, 0}}, pdrs); diff != "" {
		t.Errorf("PDRs in upf-u (-want +got):\n%s", diff)
	}
	if f := got.FARs[1]; f.Action != abi.FarForw || f.Ohc != abi.OhcNone {
		t.Errorf("downlink FAR before the gNB is known: %+v, want FORW without tunnel", f)
	}
	if q := got.QERs[0]; q.MbrUl != 100_000_000 || q.MbrDl != 200_000_000 || q.Qfi != 1 {
		t.Errorf("QER %+v", q)
	}

	// The gNB's tunnel becomes known; the SMF sends the whole PDI again beside it.
	updatePDR := ie.NewUpdatePDR(ie.NewPDRID(2), ie.NewPrecedence(255),
		ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceCore), ie.NewNetworkInstance("internet"), ie.NewUEIPAddress(0x06, fakesmf.Phone.Addr, "", 0, 0)),
		ie.NewFARID(2), ie.NewURRID(1))
	fakesmf.WantCause(t, s.Modify(seid, updatePDR, fakesmf.Phone.GNB(0x100, "172.30.3.100")).Cause, ie.CauseRequestAccepted)
	_, got = l.only()
	want := abi.Far{FarId: 2, Action: abi.FarForw, Ohc: abi.OhcGtpu4, Bar: abi.None16, PeerPort: 2152, Teid: 0x100,
		PeerAddr: abi.AddrOf(addr("172.30.3.100")), LocalAddr: abi.AddrOf(addr("172.30.3.16"))}
	if diff := cmp.Diff(want, got.FARs[1]); diff != "" {
		t.Errorf("downlink FAR (-want +got):\n%s", diff)
	}
	if p := got.PDRs[3]; p.PdrId != 2 || p.NQer != 1 {
		t.Errorf("Update PDR without QER ID took the QER away: %+v", p)
	}

	// Path switch to another gNB with End Markers to the old one.
	sndem := ie.NewPFCPSMReqFlags(0x02)
	fakesmf.WantCause(t, s.Modify(seid, fakesmf.Phone.GNB(0x200, "172.30.3.101", sndem)).Cause, ie.CauseRequestAccepted)
	markers, holder := l.upfu.EndMarkers(), uint32(seid)-1 // the index stands in the UP SEID
	if len(markers) != 1 || markers[0].Session != holder || markers[0].Teid != 0x100 || markers[0].PeerAddr != abi.AddrOf(addr("172.30.3.100")) || markers[0].LocalAddr != abi.AddrOf(addr("172.30.3.16")) {
		t.Errorf("End Markers %+v, want one to the old tunnel, of session %d", markers, holder)
	}

	// AN release: BUFF+NOCP, no BAR; downlink data makes a report.
	fakesmf.WantCause(t, s.Modify(seid, ie.NewUpdateFAR(ie.NewFARID(2), ie.NewApplyAction(0x0c))).Cause, ie.CauseRequestAccepted)
	index, got := l.only()
	if a := got.FARs[1].Action; a != abi.FarBuff|abi.FarNocp {
		t.Errorf("action %#x, want BUFF and NOCP", a)
	}
	if err := l.upfu.DownlinkData(index, 2, 1); err != nil {
		t.Fatal(err)
	}
	r := s.Report()
	if r.SEID() != 7 || !r.ReportType.HasDLDR() {
		t.Errorf("report for SEID %d, type %v; want a Downlink Data Report for 7", r.SEID(), r.ReportType.Payload)
	}
	if id, err := r.DownlinkDataReport.PDRID(); err != nil || id != 2 {
		t.Errorf("Downlink Data Report names PDR %d (%v), want 2", id, err)
	}

	// Usage on demand, then the rest at the end; nothing twice.
	slot := got.URRs[0].Slot
	if err := l.upfu.Count(slot, abi.Ul, 1000, 2); err != nil {
		t.Fatal(err)
	}
	m := s.Modify(seid, ie.NewQueryURR(ie.NewURRID(1)))
	if len(m.UsageReport) != 1 || fakesmf.Trigger(t, m.UsageReport[0]) != "800000" {
		t.Fatalf("usage reports %v, want one with trigger IMMER", m.UsageReport)
	}
	if total, ul, _ := fakesmf.Volumes(t, m.UsageReport[0]); total != 1000 || ul != 1000 {
		t.Errorf("reported %d octets, uplink %d, want 1000", total, ul)
	}
	if err := l.upfu.Count(slot, abi.Dl, 500, 1); err != nil {
		t.Fatal(err)
	}
	d := s.Delete(seid)
	fakesmf.WantCause(t, d.Cause, ie.CauseRequestAccepted)
	if d.SEID() != 7 {
		t.Errorf("answer for CP SEID %d, want 7", d.SEID())
	}
	if len(d.UsageReport) != 1 || fakesmf.Trigger(t, d.UsageReport[0]) != "000800" {
		t.Fatalf("usage reports %v, want one with trigger TERMR", d.UsageReport)
	}
	if total, ul, dl := fakesmf.Volumes(t, d.UsageReport[0]); total != 500 || ul != 0 || dl != 500 {
		t.Errorf("last report covers %d/%d/%d, want the 500 downlink octets since the query", total, ul, dl)
	}
	if seqn, err := d.UsageReport[0].URSEQN(); err != nil || seqn != 1 {
		t.Errorf("UR-SEQN %d (%v), want 1", seqn, err)
	}
	if n := len(l.upfu.Sessions()); n != 0 {
		t.Errorf("%d sessions left in upf-u", n)
	}
	fakesmf.WantCause(t, s.Delete(seid).Cause, ie.CauseSessionContextNotFound)
}

func TestRefusedByUPFU(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	l.upfu.Refuse(syscall.ENOSPC)
	fakesmf.WantCause(t, s.Establish(1, fakesmf.Phone.Session()...).Cause, ie.CauseNoResourcesAvailable)
	l.upfu.Refuse(syscall.EINVAL)
	fakesmf.WantCause(t, s.Establish(1, fakesmf.Phone.Session()...).Cause, ie.CauseRuleCreationModificationFailure)
	l.upfu.Refuse(0)
	// Nothing of the refused attempts is left: the same F-TEID and UE address are free.
	seid := s.Established(1, fakesmf.Phone.Session()...)
	_, before := l.only()

	l.upfu.Refuse(syscall.EINVAL)
	fakesmf.WantCause(t, s.Modify(seid, fakesmf.Phone.GNB(0x100, "172.30.3.100")).Cause, ie.CauseRuleCreationModificationFailure)
	fakesmf.WantCause(t, s.Delete(seid).Cause, ie.CauseRuleCreationModificationFailure)
	l.upfu.Refuse(0)
	// The session is what it was: an unrelated change sends the old FAR.
	fakesmf.WantCause(t, s.Modify(seid, ie.NewUpdateQER(ie.NewQERID(1), ie.NewGateStatus(0, 0))).Cause, ie.CauseRequestAccepted)
	_, after := l.only()
	if diff := cmp.Diff(before.FARs, after.FARs); diff != "" {
		t.Errorf("FARs after a refused change (-before +after):\n%s", diff)
	}
	fakesmf.WantCause(t, s.Delete(seid).Cause, ie.CauseRequestAccepted)
}

func TestSilentUPFUIsGivenUp(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	seid := s.Established(1, fakesmf.Phone.Session()...)
	l.upfu.Silence(true)
	s.Write(message.NewSessionModificationRequest(0, 0, seid, s.NextSeq(), 0, fakesmf.Phone.GNB(0x100, "172.30.3.100")))
	// Heartbeats are answered all the while.
	for range 5 {
		s.Write(message.NewHeartbeatRequest(s.NextSeq(), ie.NewRecoveryTimeStamp(s.Recovery), nil))
		if _, ok := s.Answer().(*message.HeartbeatResponse); !ok {
			t.Fatal("no Heartbeat Response while upf-u is silent")
		}
	}
	a, ok := s.Answer().(*message.SessionModificationResponse)
	if !ok {
		t.Fatal("no Session Modification Response")
	}
	fakesmf.WantCause(t, a.Cause, ie.CauseSystemFailure)
	l.upfu.Silence(false)
	if err := l.upfu.Await(fakesmf.Patience, func() bool { return l.agent.Ready() == nil }); err != nil {
		t.Fatal(err)
	}
	fakesmf.WantCause(t, s.Modify(seid, fakesmf.Phone.GNB(0x100, "172.30.3.100")).Cause, ie.CauseRequestAccepted)
}

func TestRequestsThatAreRefused(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	other := fakesmf.New(t, l.addr)
	fakesmf.WantCause(t, s.Establish(1, fakesmf.Phone.Session()...).Cause, ie.CauseNoEstablishedPFCPAssociation)
	s.Associate()
	other.Associate()
	s.Established(1, fakesmf.Phone.Session()...)

	replace := func(ies []*ie.IE, t uint16, by ...*ie.IE) []*ie.IE {
		out := append([]*ie.IE{}, by...)
		for _, i := range ies {
			if i.Type != t {
				out = append(out, i)
			}
		}
		return out
	}
	second := fakesmf.UE{TEID: 2, N3: "172.30.3.17", Addr: "10.45.0.2"}
	tests := map[string]struct {
		from      *fakesmf.SMF
		ies       []*ie.IE
		cause     uint8
		offending uint16
	}{
		"an F-TEID that another SMF's session has": {other, fakesmf.UE{TEID: 1, N3: "172.30.3.16", Addr: "10.45.0.9"}.Session(), ie.CauseRuleCreationModificationFailure, ie.FTEID},
		"a UE address that another session has":    {other, fakesmf.UE{TEID: 9, N3: "172.30.3.16", Addr: "10.45.0.1"}.Session(), ie.CauseRuleCreationModificationFailure, ie.UEIPAddress},
		"an N3 address that is not the UPF's":      {s, fakesmf.UE{TEID: 2, N3: "172.30.3.99", Addr: "10.45.0.2"}.Session(), ie.CauseRuleCreationModificationFailure, ie.FTEID},
		"no Create PDR":                            {s, replace(second.Session(), ie.CreatePDR), ie.CauseMandatoryIEMissing, ie.CreatePDR},
		"no Create FAR":                            {s, replace(second.Session(), ie.CreateFAR), ie.CauseMandatoryIEMissing, ie.CreateFAR},
		"a PDR whose QER is missing":               {s, replace(second.Session(), ie.CreateQER), ie.CauseRuleCreationModificationFailure, ie.QERID},
		"an Ethernet PDU session":                  {s, replace(second.Session(), ie.PDNType, ie.NewPDNType(5)), ie.CauseServiceNotSupported, ie.PDNType},
		"a link-local UE prefix": {s, replace(second.Session(), ie.CreatePDR, ie.NewCreatePDR(ie.NewPDRID(1), ie.NewPrecedence(1), ie.NewFARID(1),
			ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceCore), ie.NewUEIPAddress(0x05, "", "fe80::1", 0, 0)))), ie.CauseRuleCreationModificationFailure, ie.UEIPAddress},
		"a UE address from the UPF's pool": {s, replace(second.Session(), ie.CreatePDR, ie.NewCreatePDR(ie.NewPDRID(1), ie.NewPrecedence(1), ie.NewFARID(1),
			ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceCore), ie.NewUEIPAddress(0x12, "", "", 0, 0)))), ie.CauseNoResourcesAvailable, ie.UEIPAddress},
		"an SDF filter that cannot be read": {s, append(second.Session(), second.UplinkPDR(9, 5, ie.NewSDFFilter("permit out ip from here to there", "", "", "", 0))), ie.CauseRuleCreationModificationFailure, ie.SDFFilter},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := tt.from.Establish(99, tt.ies...)
			fakesmf.WantCause(t, a.Cause, tt.cause)
			fakesmf.WantOffending(t, a.OffendingIE, tt.offending)
		})
	}
	if n := len(l.upfu.Sessions()); n != 1 {
		t.Errorf("%d sessions in upf-u after refusals, want the first alone", n)
	}
	s.Established(2, second.Session()...) // nothing of the refusals is left behind
}

func TestRepeatedRequestIsExecutedOnce(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	ies := append([]*ie.IE{s.Node(), ie.NewFSEID(1, s.Addr.AsSlice(), nil)}, fakesmf.Phone.Session()...)
	m := message.NewSessionEstablishmentRequest(0, 0, 0, s.NextSeq(), 0, ies...)
	first, second := s.Ask(m).(*message.SessionEstablishmentResponse), s.Ask(m).(*message.SessionEstablishmentResponse)
	fakesmf.WantCause(t, first.Cause, ie.CauseRequestAccepted)
	if diff := cmp.Diff(first.UPFSEID.Payload, second.UPFSEID.Payload); diff != "" {
		t.Errorf("the repetition got another answer:\n%s", diff)
	}
	l.only()
}

func TestFTEIDChosenByTheUPF(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	choose := func(id uint16) *ie.IE {
		return ie.NewCreatePDR(ie.NewPDRID(id), ie.NewPrecedence(uint32(id)), ie.NewFARID(1), ie.NewOuterHeaderRemoval(6, 0),
			ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceAccess), ie.NewFTEID(0x0d, 0, nil, nil, 5)))
	}
	far := ie.NewCreateFAR(ie.NewFARID(1), ie.NewApplyAction(0x02, 0x00), ie.NewForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceCore)))
	dl := ie.NewCreatePDR(ie.NewPDRID(9), ie.NewPrecedence(9), ie.NewFARID(1),
		ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceCore), ie.NewUEIPAddress(0x06, "10.45.0.7", "", 0, 0)))
	a := s.Establish(1, choose(1), choose(2), dl, far)
	fakesmf.WantCause(t, a.Cause, ie.CauseRequestAccepted)
	if len(a.CreatedPDR) != 2 {
		t.Fatalf("%d Created PDRs, want 2", len(a.CreatedPDR))
	}
	f1, err1 := a.CreatedPDR[0].FTEID()
	f2, err2 := a.CreatedPDR[1].FTEID()
	if err1 != nil || err2 != nil || f1.TEID == 0 || f1.TEID != f2.TEID || f1.IPv4Address.String() != "172.30.3.16" {
		t.Errorf("F-TEIDs %+v and %+v, want one for both, at the first N3 endpoint", f1, f2)
	}
	index, got := l.only()
	if want := 1<<31 | uint32(22)<<25 | index; f1.TEID&^(3<<23) != want {
		t.Errorf("TEID %#x, want home and index of %#x", f1.TEID, want)
	}
	if p := got.PDRs[0]; p.Teid != f1.TEID || p.Flags&abi.PdrUeIpv4 == 0 || p.UeAddrBe != abi.AddrBe(addr("10.45.0.7")) {
		t.Errorf("uplink PDR %+v: want the chosen TEID and the session's UE address", p)
	}
}

func TestSessionThatItsSMFForgotMakesWay(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	old := s.Established(1, fakesmf.Phone.Session()...)
	// The same SMF gives the address and the F-TEID to another session.
	again := s.Established(2, fakesmf.Phone.Session()...)
	l.only()
	fakesmf.WantCause(t, s.Delete(old).Cause, ie.CauseSessionContextNotFound)

	// And when it says to a report that it knows no such session, that one goes, too.
	index, _ := l.only()
	fakesmf.WantCause(t, s.Modify(again, fakesmf.Idle).Cause, ie.CauseRequestAccepted)
	s.Cause.Store(uint32(ie.CauseSessionContextNotFound))
	if err := l.upfu.DownlinkData(index, 2, 1); err != nil {
		t.Fatal(err)
	}
	s.Report()
	if err := l.upfu.Await(fakesmf.Patience, func() bool { return len(l.upfu.Sessions()) == 0 }); err != nil {
		t.Fatalf("the forgotten session is still there: %v", err)
	}
	fakesmf.WantCause(t, s.Delete(again).Cause, ie.CauseSessionContextNotFound)
}
