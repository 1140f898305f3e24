package agent_test

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/extension"
	"core5g.dev/core5g/upf/upfc/fakesmf"
)

// had is what the UPF chose for a session.
type had struct{ teid, ue *ie.IE }

func hadBy(t *testing.T, a *message.SessionEstablishmentResponse) (h had) {
	t.Helper()
	fakesmf.WantCause(t, a.Cause, ie.CauseRequestAccepted)
	for _, created := range a.CreatedPDR {
		inside, err := created.CreatedPDR()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range inside {
			switch e.Type {
			case ie.UEIPAddress:
				h.ue = e
			case ie.FTEID:
				h.teid = e
			}
		}
	}
	if h.ue == nil || h.teid == nil {
		t.Fatal("the answer tells of no F-TEID or no UE address")
	}
	return h
}

// session is that of chooses with what was chosen.
func (h had) session() []*ie.IE {
	return []*ie.IE{ie.NewPFCPSEReqFlags(1), ie.NewPDNType(1), coreFAR(1),
		ie.NewCreatePDR(ie.NewPDRID(1), ie.NewPrecedence(1), ie.NewFARID(1), ie.NewOuterHeaderRemoval(0, 0),
			ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceAccess), h.teid, h.ue)),
		downlinkPDR(2, h.ue),
	}
}

// eightAddresses is a unit that forgets when both halves die, with few addresses, and waits long for who restores.
func eightAddresses(c *config.Config) {
	c.State.File = ""
	c.UEPools = []config.Pool{{NetworkInstance: "internet", Range: netip.MustParsePrefix("10.60.0.0/29")}}
	c.PFCP.RestorationWait = time.Hour
}

// forget is a unit whose both halves began anew.
func (l *lab) forget(smfs ...*fakesmf.SMF) {
	l.t.Helper()
	l.stop()
	l.upfu.Kill()
	l.startUPFU()
	l.startAgent()
	for _, s := range smfs {
		s.To = l.addr
	}
}

func TestSessionsAreRestoredAsTheyWere(t *testing.T) {
	l := newLab(t, eightAddresses)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	var before []had
	for cpSEID := range uint64(3) {
		before = append(before, hadBy(t, s.Establish(cpSEID, chooses()...)))
	}
	strip := func() map[uint32]uint32 { // TEID by index
		out := map[uint32]uint32{}
		for index, session := range l.upfu.Sessions() {
			for _, p := range session.PDRs {
				out[index] = max(out[index], p.Teid)
			}
		}
		return out
	}
	want := strip()

	l.forget(s)
	s.Associate()
	for _, cpSEID := range []uint64{2, 0, 1} {
		for range 2 { // and asked again by another instance
			a := s.Establish(cpSEID, before[cpSEID].session()...)
			fakesmf.WantCause(t, a.Cause, ie.CauseRequestAccepted)
			if len(a.CreatedPDR) != 0 {
				t.Error("the answer tells what the CP function knew")
			}
		}
	}
	if diff := cmp.Diff(want, strip()); diff != "" {
		t.Errorf("TEIDs by index (-before +restored):\n%s", diff)
	}

	// What is chosen from now on meets none of them; nor does the next upf-c choose it.
	taken := map[string]bool{}
	for _, h := range before {
		taken[string(h.ue.Payload)], taken[string(h.teid.Payload)] = true, true
	}
	for cpSEID := uint64(10); cpSEID < 13; cpSEID++ {
		h := hadBy(t, s.Establish(cpSEID, chooses()...))
		if taken[string(h.ue.Payload)] || taken[string(h.teid.Payload)] {
			t.Errorf("F-TEID % x or UE address % x is another session's", h.teid.Payload, h.ue.Payload)
		}
		taken[string(h.ue.Payload)], taken[string(h.teid.Payload)] = true, true
		l.restartAgent()
		s.To = l.addr
	}
	if n := len(l.upfu.Sessions()); n != 6 {
		t.Errorf("%d sessions, want 6", n)
	}
}

func TestRestorationsThatAreRefused(t *testing.T) {
	l := newLab(t, eightAddresses)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	h := hadBy(t, s.Establish(1, chooses()...))
	for name, tt := range map[string]struct {
		session []*ie.IE
		want    uint16
	}{
		"of what another session has":  {h.session(), ie.FTEID},
		"that leave F-TEIDs to choose": {append(chooses(), ie.NewPFCPSEReqFlags(1)), ie.FTEID},
		"that leave addresses to choose": {[]*ie.IE{ie.NewPFCPSEReqFlags(1), coreFAR(1),
			downlinkPDR(2, ie.New(ie.UEIPAddress, []byte{0x10}))}, ie.UEIPAddress},
	} {
		t.Run(name, func(t *testing.T) {
			a := s.Establish(2, tt.session...)
			fakesmf.WantCause(t, a.Cause, ie.CauseRuleCreationModificationFailure)
			fakesmf.WantOffending(t, a.OffendingIE, tt.want)
			l.only()
		})
	}
}

// A session that is there is restored: its CP function does not know what of a change the UPF has, or has established it before it knew that this
// UPF had begun anew. It becomes what the request says, and stays the session that it was.
func TestRestoringWhatIsThere(t *testing.T) {
	for name, tt := range map[string]struct {
		change []*ie.IE // that nobody knows of
		extra  []*ie.IE // that it is restored with, too
		pdrs   int
	}{
		"as it is":                     {pdrs: 2},
		"when a rule was changed":      {change: []*ie.IE{ie.NewUpdateFAR(ie.NewFARID(1), ie.NewApplyAction(0x01))}, pdrs: 2},
		"when a rule was added":        {change: []*ie.IE{coreFAR(9)}, pdrs: 2},
		"when a rule was removed":      {change: []*ie.IE{ie.NewRemovePDR(ie.NewPDRID(2))}, pdrs: 2},
		"with a rule more":             {extra: []*ie.IE{coreFAR(7)}, pdrs: 2},
		"with an F-TEID to choose":     {extra: []*ie.IE{relayPDR(3)}, pdrs: 3},
		"with one that it had already": {change: []*ie.IE{relayPDR(3)}, extra: []*ie.IE{relayPDR(3)}, pdrs: 3},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, eightAddresses)
			s := fakesmf.New(t, l.addr)
			s.Associate()
			made := s.Establish(1, chooses()...)
			h := hadBy(t, made)
			f, err := made.UPFSEID.FSEID()
			if err != nil {
				t.Fatal(err)
			}
			index, before := l.only()
			if len(tt.change) > 0 {
				fakesmf.WantCause(t, s.Modify(f.SEID, tt.change...).Cause, ie.CauseRequestAccepted)
			}
			for range 2 {
				if seid := s.Established(1, append(h.session(), tt.extra...)...); seid != f.SEID {
					t.Errorf("restored as UP SEID %#x, want %#x", seid, f.SEID)
				}
				again, after := l.only()
				if again != index || len(after.PDRs) != tt.pdrs {
					t.Errorf("session %d with %d PDRs, want %d with %d", again, len(after.PDRs), index, tt.pdrs)
				}
				if len(tt.extra) == 0 {
					if diff := cmp.Diff(before.PDRs, after.PDRs); diff != "" {
						t.Errorf("PDRs (-before +restored):\n%s", diff)
					}
				}
				l.restartAgent()
				s.To = l.addr
			}
			other := hadBy(t, s.Establish(2, chooses()...))
			if string(other.ue.Payload) == string(h.ue.Payload) || string(other.teid.Payload) == string(h.teid.Payload) {
				t.Error("what the session has is given to another")
			}
			fakesmf.WantCause(t, s.Delete(f.SEID).Cause, ie.CauseRequestAccepted)
			l.only()
		})
	}
}

func relayPDR(id uint16) *ie.IE {
	return ie.NewCreatePDR(ie.NewPDRID(id), ie.NewPrecedence(9), ie.NewFARID(1), ie.NewOuterHeaderRemoval(0, 0),
		ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceAccess), ie.NewFTEID(0x05, 0, nil, nil, 0)))
}

// Nobody restores what is another's, nor a session by another's F-TEID.
func TestRestoringWhatIsOthers(t *testing.T) {
	l := newLab(t, eightAddresses)
	s, other := fakesmf.New(t, l.addr), fakesmf.New(t, l.addr)
	s.Associate()
	other.Associate()
	mine, theirs := hadBy(t, s.Establish(1, chooses()...)), hadBy(t, other.Establish(1, chooses()...))
	for name, session := range map[string][]*ie.IE{
		"all of it":   theirs.session(),
		"its address": had{mine.teid, theirs.ue}.session(),
		"its F-TEID":  had{theirs.teid, mine.ue}.session(),
	} {
		t.Run(name, func(t *testing.T) {
			before := l.upfu.Sessions()
			if c, err := s.Establish(1, session...).Cause.Cause(); err != nil || c == ie.CauseRequestAccepted {
				t.Errorf("cause %d, %v", c, err)
			}
			if diff := cmp.Diff(before, l.upfu.Sessions(), cmp.AllowUnexported()); diff != "" {
				t.Errorf("sessions (-before +after):\n%s", diff)
			}
		})
	}
}

// What a URR has counted is reported when the session is restored without it, and goes on where it stays.
func TestUsageOfASessionThatIsRestoredOtherwise(t *testing.T) {
	l := newLab(t, eightAddresses)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	made := s.Establish(1, chooses()...)
	h := hadBy(t, made)
	f, err := made.UPFSEID.FSEID()
	if err != nil {
		t.Fatal(err)
	}
	urr := func(id uint32) *ie.IE {
		return ie.NewCreateURR(ie.NewURRID(id), ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0, 0))
	}
	fakesmf.WantCause(t, s.Modify(f.SEID, urr(1), urr(2)).Cause, ie.CauseRequestAccepted)
	s.Established(1, append(h.session(), urr(2))...)
	report := s.Report()
	if len(report.UsageReport) != 1 {
		t.Fatalf("%d usage reports, want that of URR 1", len(report.UsageReport))
	}
	if id, err := report.UsageReport[0].URRID(); err != nil || id != 1 {
		t.Errorf("usage of URR %d (%v), want 1", id, err)
	}
	a := s.Delete(f.SEID)
	if len(a.UsageReport) != 1 {
		t.Errorf("%d usage reports at the end, want that of URR 2", len(a.UsageReport))
	}
}

// Where CP functions name the pools, restored addresses are out of them for whoever comes next.
func TestRestoredAddressesOfNamedPools(t *testing.T) {
	l := newLab(t, func(c *config.Config) { eightAddresses(c); c.UEPools, c.NamedPools = nil, true })
	s := fakesmf.New(t, l.addr)
	s.Associate()
	block := "10.61.0.0/28"
	named := func() []*ie.IE {
		ies := chooses()
		for n, e := range ies {
			if e.Type == ie.CreatePDR {
				children, err := e.CreatePDR()
				if err != nil {
					t.Fatal(err)
				}
				ies[n] = ie.NewCreatePDR(append(children, ie.New(ie.UEIPAddressPoolIdentity, append([]byte{0, byte(len(block))}, block...)))...)
			}
		}
		return ies
	}
	var before []had
	for cpSEID := range uint64(14) {
		before = append(before, hadBy(t, s.Establish(cpSEID, named()...)))
	}
	l.forget(s)
	s.Associate()
	for cpSEID, h := range before[:13] {
		s.Established(uint64(cpSEID), h.session()...)
	}
	for range 2 {
		seid := s.Established(100, named()...) // one of two to three that are left, wherever the search begins
		fakesmf.WantCause(t, s.Delete(seid).Cause, ie.CauseRequestAccepted)
		l.restartAgent()
		s.To = l.addr
	}
}

// says is an Association Update with a state of restoration, of the UPF's present life.
func says(t *testing.T, s *fakesmf.SMF, state extension.State) {
	t.Helper()
	state.Recovery += binary.BigEndian.Uint32(ie.NewRecoveryTimeStamp(s.Heartbeat()).Payload)
	a, ok := s.Ask(message.NewAssociationUpdateRequest(s.NextSeq(), s.Node(), state.IE())).(*message.AssociationUpdateResponse)
	if !ok {
		t.Fatal("no Association Update Response")
	}
	fakesmf.WantCause(t, a.Cause, ie.CauseRequestAccepted)
}

// Two CP functions had sessions. Nothing is chosen for new ones before both are done.
func TestNothingIsChosenWhileSessionsAreRestored(t *testing.T) {
	l := newLab(t, eightAddresses)
	s, other := fakesmf.New(t, l.addr), fakesmf.New(t, l.addr)
	s.Associate()
	other.Associate()
	mine, others := hadBy(t, s.Establish(1, chooses()...)), hadBy(t, other.Establish(1, chooses()...))
	l.forget(s, other)

	refuses := func(s *fakesmf.SMF) {
		t.Helper()
		a := s.Establish(100, chooses()...)
		fakesmf.WantCause(t, a.Cause, ie.CausePFCPEntityInCongestion)
		fakesmf.WantOffending(t, a.OffendingIE, ie.FTEID)
		address := s.Establish(100, coreFAR(1), downlinkPDR(2, ie.New(ie.UEIPAddress, []byte{0x10})))
		fakesmf.WantCause(t, address.Cause, ie.CausePFCPEntityInCongestion)
		fakesmf.WantOffending(t, address.OffendingIE, ie.UEIPAddress)
	}
	state := extension.State{Nodes: []string{s.Addr.String(), other.Addr.String()}}
	a, ok := s.Ask(message.NewAssociationSetupRequest(s.NextSeq(), s.Node(), ie.NewRecoveryTimeStamp(s.Recovery), state.IE())).(*message.AssociationSetupResponse)
	if !ok {
		t.Fatal("no Association Setup Response")
	}
	fakesmf.WantCause(t, a.Cause, ie.CauseRequestAccepted)
	refuses(s)
	given := s.Established(50, fakesmf.Phone.Session()...) // nothing is chosen for it
	fakesmf.WantCause(t, s.Establish(1, mine.session()...).Cause, ie.CauseRequestAccepted)
	says(t, s, extension.State{Done: true})
	refuses(s)                                                       // the other one has not come yet
	says(t, s, extension.State{})                                    // late
	other.Associate()                                                // it does not know what has happened to its sessions: nobody is done by that
	says(t, other, extension.State{Done: true, Recovery: 1<<32 - 1}) // it was, of the life before
	refuses(s)

	l.restartAgent()
	s.To, other.To = l.addr, l.addr
	refuses(s)
	refuses(other)
	fakesmf.WantCause(t, other.Establish(1, others.session()...).Cause, ie.CauseRequestAccepted)
	says(t, other, extension.State{Done: true, Nodes: state.Nodes})
	hadBy(t, s.Establish(100, chooses()...))
	hadBy(t, other.Establish(100, chooses()...))
	fakesmf.WantCause(t, s.Delete(given).Cause, ie.CauseRequestAccepted)
}

func TestWhoIsNotWaitedFor(t *testing.T) {
	for name, tt := range map[string]struct {
		edit func(c *config.Config)
		do   func(s, other *fakesmf.SMF)
	}{
		"nobody, when nobody speaks of restoration": {eightAddresses, func(*fakesmf.SMF, *fakesmf.SMF) {}},
		"who has nothing to restore": {eightAddresses, func(s, _ *fakesmf.SMF) {
			says(t, s, extension.State{Done: true})
		}},
		"who ended its association": {eightAddresses, func(s, other *fakesmf.SMF) {
			says(t, other, extension.State{})
			released(t, other, other.Node())
		}},
		"who comes too late": {func(c *config.Config) { eightAddresses(c); c.PFCP.RestorationWait = 0 }, func(s, _ *fakesmf.SMF) {
			says(t, s, extension.State{})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, tt.edit)
			s, other := fakesmf.New(t, l.addr), fakesmf.New(t, l.addr)
			s.Associate()
			other.Associate()
			tt.do(s, other)
			hadBy(t, s.Establish(1, chooses()...))
		})
	}
}

// An Error Indication ends a session at its access network. So nobody is told that there is no such tunnel while it may yet be restored.
func TestNobodyIsToldOfTunnelsThatMayBeRestored(t *testing.T) {
	l := newLab(t, eightAddresses)
	s, plain := fakesmf.New(t, l.addr), fakesmf.New(t, l.addr)
	restoring := func(when string, want bool) {
		t.Helper()
		if got := l.upfu.Restoring(); got != want {
			t.Errorf("%s: restoring is %t", when, got)
		}
	}
	restoring("nobody has come yet", true)
	a, ok := s.Ask(message.NewAssociationSetupRequest(s.NextSeq(), s.Node(), ie.NewRecoveryTimeStamp(s.Recovery), (&extension.State{}).IE())).(*message.AssociationSetupResponse)
	if !ok {
		t.Fatal("no Association Setup Response")
	}
	fakesmf.WantCause(t, a.Cause, ie.CauseRequestAccepted)
	restoring("a CP function restores", true)
	plain.Associate()
	restoring("beside one that does not", true)
	says(t, s, extension.State{Done: true})
	restoring("it is done", false)
	l.restartAgent()
	restoring("another upf-c", false)
	l.forget(s, plain)
	plain.Associate()
	restoring("one that restores nothing", false)
}

// Whoever does not come is not waited for longer than RestorationWait.
func TestRestorationIsNotWaitedForForEver(t *testing.T) {
	l := newLab(t, func(c *config.Config) { eightAddresses(c); c.PFCP.RestorationWait = 2 * time.Second })
	deadline := time.Now().Add(fakesmf.Patience)
	for l.upfu.Restoring() && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	if l.upfu.Restoring() {
		t.Error("upf-u still answers nobody")
	}
}
