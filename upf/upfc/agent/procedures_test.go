package agent_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/fakesmf"
	"core5g.dev/core5g/upf/upfc/pfcp"
)

func withPools(c *config.Config) {
	c.UEPools = []config.Pool{
		{Name: "small", NetworkInstance: "internet", Range: netip.MustParsePrefix("10.60.0.0/30")},
		{NetworkInstance: "internet", Range: netip.MustParsePrefix("2001:db8:60::/62")},
	}
}

func withIPv6N3(c *config.Config) {
	c.N3.Endpoints = append(c.N3.Endpoints, config.Endpoint{Prefix: netip.MustParsePrefix("2001:db8:3::10/124")})
}

// A PFD Contents with one flow description.
func flowPFD(text string) *ie.IE {
	return ie.New(ie.PFDContents, append([]byte{0x01, 0, byte(len(text) >> 8), byte(len(text))}, text...))
}

func application(id string, flows ...string) *ie.IE {
	ies := []*ie.IE{ie.NewApplicationID(id)}
	for _, f := range flows {
		ies = append(ies, ie.NewPFDContext(flowPFD(f)))
	}
	return ie.NewApplicationIDsPFDs(ies...)
}

func describe(t *testing.T, s *fakesmf.SMF, ies ...*ie.IE) *message.PFDManagementResponse {
	t.Helper()
	a, ok := s.Ask(message.NewPFDManagementRequest(s.NextSeq(), ies...)).(*message.PFDManagementResponse)
	if !ok {
		t.Fatal("no PFD Management Response")
	}
	return a
}

// coreFAR forwards to N6.
func coreFAR(id uint32) *ie.IE {
	return ie.NewCreateFAR(ie.NewFARID(id), ie.NewApplyAction(0x02), ie.NewForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceCore)))
}

func downlinkPDR(id uint16, pdi ...*ie.IE) *ie.IE {
	return ie.NewCreatePDR(ie.NewPDRID(id), ie.NewPrecedence(uint32(id)), ie.NewFARID(1),
		ie.NewPDI(append([]*ie.IE{ie.NewSourceInterface(ie.SrcInterfaceCore), ie.NewNetworkInstance("internet")}, pdi...)...))
}

func TestApplicationsAreDescribedByPFDs(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	fakesmf.WantCause(t, describe(t, s, application("video", "permit out ip from 10.9.0.1 to assigned")).Cause, ie.CauseNoEstablishedPFCPAssociation)
	s.Associate()
	video := downlinkPDR(5, ie.NewUEIPAddress(0x02, "10.45.0.1", "", 0, 0), ie.NewApplicationID("video"))
	session := []*ie.IE{video, coreFAR(1)}
	unknown := s.Establish(1, session...)
	fakesmf.WantCause(t, unknown.Cause, pfcp.CauseUnknownApplicationID)
	fakesmf.WantOffending(t, unknown.OffendingIE, ie.ApplicationID)

	fakesmf.WantCause(t, describe(t, s, application("video", "permit out 17 from 10.9.0.0/16 443 to assigned")).Cause, ie.CauseRequestAccepted)
	s.Established(1, session...)
	filters := func() (n uint16) {
		_, got := l.only()
		if got.PDRs[0].Flags&abi.PdrSdf == 0 {
			t.Error("the PDR matches everything")
		}
		return got.PDRs[0].SdfCount
	}
	if n := filters(); n != 1 {
		t.Errorf("%d filters, want 1", n)
	}
	// A new description reaches the session that runs.
	fakesmf.WantCause(t, describe(t, s, application("video", "permit out 17 from 10.9.0.0/16 443 to assigned", "permit out 6 from 10.9.0.0/16 80,443 to assigned")).Cause, ie.CauseRequestAccepted)
	if n := filters(); n != 3 {
		t.Errorf("%d filters after the change, want 3", n)
	}
	// What cannot be had changes nothing.
	bad := describe(t, s, application("video", "permit out ip from any to any"), ie.NewApplicationIDsPFDs(ie.NewApplicationID("web"), ie.NewPFDContext(ie.New(ie.PFDContents, []byte{0x02, 0, 0, 1, 'a'}))))
	fakesmf.WantCause(t, bad.Cause, ie.CauseServiceNotSupported)
	fakesmf.WantOffending(t, bad.OffendingIE, ie.PFDContents)
	if n := filters(); n != 3 {
		t.Errorf("%d filters after a refusal, want 3", n)
	}
	// The descriptions survive upf-c.
	l.restartAgent()
	s.To = l.addr
	fakesmf.WantCause(t, s.Establish(2, downlinkPDR(5, ie.NewUEIPAddress(0x02, "10.45.0.2", "", 0, 0), ie.NewApplicationID("video")), coreFAR(1)).Cause, ie.CauseRequestAccepted)
	// They are the CP function's own.
	other := fakesmf.New(t, l.addr)
	other.Associate()
	fakesmf.WantCause(t, other.Establish(1, downlinkPDR(5, ie.NewUEIPAddress(0x02, "10.45.0.3", "", 0, 0), ie.NewApplicationID("video")), coreFAR(1)).Cause, pfcp.CauseUnknownApplicationID)
	// Without any application, all are taken away; the sessions' PDRs then match nothing.
	fakesmf.WantCause(t, describe(t, s, s.Node()).Cause, ie.CauseRequestAccepted)
	for index, sess := range l.upfu.Sessions() {
		if p := sess.PDRs[0]; p.SdfCount != 0 || p.Flags&abi.PdrSdf == 0 {
			t.Errorf("session %d has %d filters after the end of the application", index, p.SdfCount)
		}
	}
	fakesmf.WantCause(t, s.Establish(3, downlinkPDR(5, ie.NewUEIPAddress(0x02, "10.45.0.4", "", 0, 0), ie.NewApplicationID("video")), coreFAR(1)).Cause, pfcp.CauseUnknownApplicationID)
}

// A PFD with a domain name.
func domainPFD(name string) *ie.IE {
	return ie.NewPFDContext(ie.New(ie.PFDContents, append([]byte{0x04, 0, byte(len(name) >> 8), byte(len(name))}, name...)))
}

func domainsOf(id string, names ...string) *ie.IE {
	ies := []*ie.IE{ie.NewApplicationID(id)}
	for _, n := range names {
		ies = append(ies, domainPFD(n))
	}
	return ie.NewApplicationIDsPFDs(ies...)
}

func TestApplicationsAreDescribedByDomains(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	if got := l.upfu.Domains(); got != nil {
		t.Errorf("upf-u was told of %v before there was any", got)
	}
	names := func() (list []string) {
		for _, d := range l.upfu.Domains() {
			list = append(list, d.Name)
		}
		slices.Sort(list)
		return list
	}
	fakesmf.WantCause(t, describe(t, s, domainsOf("video", "video.example", "*.cdn.example"), domainsOf("social", "social.example")).Cause, ie.CauseRequestAccepted)
	if diff := cmp.Diff([]string{"cdn.example", "social.example", "video.example"}, names()); diff != "" {
		t.Errorf("domains (-want +got):\n%s", diff)
	}
	s.Established(1, downlinkPDR(5, ie.NewUEIPAddress(0x02, "10.45.0.1", "", 0, 0), ie.NewApplicationID("video")), coreFAR(1))
	named := func() uint64 {
		_, got := l.only()
		if len(got.Applications) != 1 || got.PDRs[0].Application != 1 || got.PDRs[0].Flags&abi.PdrSdf == 0 || got.PDRs[0].SdfCount != 0 {
			t.Fatalf("the PDR is %+v, the session's applications %v", got.PDRs[0], got.Applications)
		}
		return got.Applications[0].Number
	}
	video := named()
	of := func(name string) (number uint64) {
		for _, d := range l.upfu.Domains() {
			if d.Name == name {
				number = d.Application
			}
		}
		return number
	}
	if of("video.example") != video || of("cdn.example") != video || of("social.example") == video {
		t.Errorf("the session names application %d, the domains are %+v", video, l.upfu.Domains())
	}
	for _, info := range l.agent.Sessions() {
		seid, _ := parseHex(info.SEID)
		if text, err := l.agent.Compiled(seid); err != nil || string(text) != `{"session":0,"applications":["video"]}` {
			t.Errorf("the session is shown as %s (%v)", text, err)
		}
	}
	// What cannot be had changes nothing.
	bad := describe(t, s, domainsOf("video", "other.example", "v[0-9].example"))
	fakesmf.WantCause(t, bad.Cause, ie.CauseServiceNotSupported)
	fakesmf.WantOffending(t, bad.OffendingIE, ie.PFDContents)
	if diff := cmp.Diff([]string{"cdn.example", "social.example", "video.example"}, names()); diff != "" {
		t.Errorf("domains after a refusal (-want +got):\n%s", diff)
	}
	// They survive upf-c, and a new upf-u is told of them, with the same numbers.
	l.restartAgent()
	s.To = l.addr
	l.upfu.Kill()
	l.startUPFU()
	if err := l.upfu.Await(fakesmf.Patience, func() bool { return l.agent.Ready() == nil && l.upfu.Meta() != nil }); err != nil {
		t.Fatal(err)
	}
	if named() != video || of("video.example") != video {
		t.Errorf("application %d and domains %+v after both began anew, want %d", named(), l.upfu.Domains(), video)
	}
	// Flow descriptions instead: there are other domains.
	fakesmf.WantCause(t, describe(t, s, application("video", "permit out ip from 10.9.0.1 to assigned")).Cause, ie.CauseRequestAccepted)
	if _, got := l.only(); got.PDRs[0].SdfCount != 1 || got.PDRs[0].Application != 0 || len(got.Applications) != 0 {
		t.Errorf("the PDR is %+v, the session's applications %v", got.PDRs[0], got.Applications)
	}
	if diff := cmp.Diff([]string{"social.example"}, names()); diff != "" {
		t.Errorf("domains (-want +got):\n%s", diff)
	}
	// Without any application, all are taken away.
	fakesmf.WantCause(t, describe(t, s, s.Node()).Cause, ie.CauseRequestAccepted)
	if got := l.upfu.Domains(); len(got) != 0 {
		t.Errorf("upf-u has %v, want none", got)
	}
}

func TestMoreDomainsThanCanBeKept(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	names := make([]string, 512)
	for i := range names {
		names[i] = fmt.Sprintf("%d.e", i)
	}
	// Names as short as these are bounded by their number, longer ones by what META holds.
	taken := 0
	for {
		a := describe(t, s, domainsOf(fmt.Sprintf("app%d", taken), names...))
		if cause, err := a.Cause.Cause(); err != nil || cause != ie.CauseRequestAccepted {
			fakesmf.WantCause(t, a.Cause, ie.CauseNoResourcesAvailable)
			fakesmf.WantOffending(t, a.OffendingIE, ie.ApplicationIDsPFDs)
			break
		}
		taken++
	}
	if got := len(l.upfu.Domains()); got != taken*len(names) || got > abi.DomainsMax || got < abi.DomainsMax/2 {
		t.Errorf("upf-u has %d domains of %d applications, want %d", got, taken, taken*len(names))
	}
	fakesmf.WantCause(t, describe(t, s, domainsOf("one", append(names, "one.too.many")...)).Cause, ie.CauseNoResourcesAvailable)
}

func TestMorePFDsThanCanBeKept(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	flows := make([]string, 300)
	for i := range flows {
		flows[i] = fmt.Sprintf("permit out 17 from 10.9.%d.%d/32 1000-2000,3000-4000,5000-6000 to assigned 443", i/250, i%250)
	}
	refused := false
	for i := 0; i < 10 && !refused; i++ {
		a := describe(t, s, application(fmt.Sprintf("app%d", i), flows...))
		if cause, err := a.Cause.Cause(); err == nil && cause == ie.CauseNoResourcesAvailable {
			refused = true
			fakesmf.WantOffending(t, a.OffendingIE, ie.ApplicationIDsPFDs)
		}
	}
	if !refused {
		t.Fatal("no request was refused")
	}
	// What was accepted is kept.
	l.restartAgent()
	s.To = l.addr
	fakesmf.WantCause(t, s.Establish(1, downlinkPDR(5, ie.NewUEIPAddress(0x02, "10.45.0.1", "", 0, 0), ie.NewApplicationID("app0")), coreFAR(1)).Cause, ie.CauseRequestAccepted)
}

func TestSessionSetDeletion(t *testing.T) {
	l := newLab(t, nil)
	s, other := fakesmf.New(t, l.addr), fakesmf.New(t, l.addr)
	s.Associate()
	other.Associate()
	csid := func(ids ...uint16) *ie.IE { return ie.NewFQCSID("10.0.0.7", ids...) }
	ue := func(n uint32) []*ie.IE {
		return fakesmf.UE{TEID: n, N3: "172.30.3.16", Addr: netip.AddrFrom4([4]byte{10, 45, 0, byte(n)}).String(), NoURR: true}.Session()
	}
	s.Established(1, append(ue(1), csid(1))...)
	second := s.Established(2, append(ue(2), csid(2, 3))...)
	s.Established(3, ue(3)...)
	other.Established(4, append(ue(4), csid(1))...)
	ask := func(ies ...*ie.IE) *message.SessionSetDeletionResponse {
		t.Helper()
		var first *ie.IE
		if len(ies) > 0 {
			first = ies[0]
		}
		a, ok := s.Ask(message.NewSessionSetDeletionRequest(s.NextSeq(), s.Node(), first)).(*message.SessionSetDeletionResponse)
		if !ok {
			t.Fatal("no Session Set Deletion Response")
		}
		return a
	}
	none := ask()
	fakesmf.WantCause(t, none.Cause, ie.CauseConditionalIEMissing)
	fakesmf.WantOffending(t, none.OffendingIE, ie.FQCSID)
	if n := len(l.upfu.Sessions()); n != 4 {
		t.Fatalf("%d sessions, want 4", n)
	}
	fakesmf.WantCause(t, ask(csid(1)).Cause, ie.CauseRequestAccepted)
	if n := len(l.upfu.Sessions()); n != 3 {
		t.Errorf("%d sessions after the deletion of set 1, want all but one: the other SMF's stays", n)
	}
	// A modification may move a session to another set; it is kept over a restart.
	fakesmf.WantCause(t, s.Modify(second, csid(9)).Cause, ie.CauseRequestAccepted)
	l.restartAgent()
	s.To = l.addr
	fakesmf.WantCause(t, ask(csid(2, 3)).Cause, ie.CauseRequestAccepted)
	if n := len(l.upfu.Sessions()); n != 3 {
		t.Errorf("%d sessions after the deletion of a set that was left, want 3", n)
	}
	fakesmf.WantCause(t, ask(csid(9)).Cause, ie.CauseRequestAccepted)
	if n := len(l.upfu.Sessions()); n != 2 {
		t.Errorf("%d sessions after the deletion of set 9, want 2", n)
	}
}

func TestAssociationIsSetUpByTheUPF(t *testing.T) {
	var s *fakesmf.SMF
	l := newLab(t, func(c *config.Config) {
		if s == nil { // its address is needed before the agent starts
			s = fakesmf.New(t, netip.AddrPort{})
		}
		c.PFCP.Peers = []config.Peer{{Host: s.Addr.String(), Port: 8805}}
	})
	s.To = l.addr
	setup, ok := s.Other().(*message.AssociationSetupRequest)
	if !ok {
		t.Fatal("no Association Setup Request")
	}
	if node, err := setup.NodeID.NodeID(); err != nil || node != "upf.test" {
		t.Errorf("Node ID %q (%v)", node, err)
	}
	if setup.RecoveryTimeStamp == nil || setup.UPFunctionFeatures == nil {
		t.Error("no Recovery Time Stamp or no UP Function Features")
	}
	if err := l.upfu.Await(fakesmf.Patience, func() bool { return len(l.agent.Status().Associations) == 1 }); err != nil {
		t.Fatal(err)
	}
	s.Established(1, fakesmf.Phone.Session()...)
	// It is known again after a restart, and not set up twice.
	l.restartAgent()
	s.To = l.addr
	s.Established(2, fakesmf.UE{TEID: 2, N3: "172.30.3.16", Addr: "10.45.0.2"}.Session()...)
	if n := len(s.Others); n != 0 {
		t.Errorf("%d more requests after the restart", n)
	}
	// One that the CP function releases is set up anew.
	fakesmf.WantCause(t, s.Ask(message.NewAssociationReleaseRequest(s.NextSeq(), s.Node())).(*message.AssociationReleaseResponse).Cause, ie.CauseRequestAccepted)
	if _, ok := s.Other().(*message.AssociationSetupRequest); !ok {
		t.Error("no Association Setup Request after the release")
	}
}

func TestPeerThatRefusesIsAskedAgain(t *testing.T) {
	var s *fakesmf.SMF
	l := newLab(t, func(c *config.Config) {
		s = fakesmf.New(t, netip.AddrPort{})
		s.Cause.Store(uint32(ie.CauseRequestRejected))
		c.PFCP.Peers = []config.Peer{{Host: s.Addr.String(), Port: 8805}}
	})
	s.To = l.addr
	s.Other()
	fakesmf.WantCause(t, s.Establish(1, fakesmf.Phone.Session()...).Cause, ie.CauseNoEstablishedPFCPAssociation)
	s.Cause.Store(uint32(ie.CauseRequestAccepted))
	s.Other()
	if err := l.upfu.Await(fakesmf.Patience, func() bool { return len(l.agent.Status().Associations) == 1 }); err != nil {
		t.Fatal(err)
	}
}

func TestReleaseThatTheUPFAsksFor(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	s.Established(1, fakesmf.Phone.Session()...)
	if err := l.agent.RequestRelease(context.Background(), "nobody", 0); err == nil {
		t.Error("released an association that there is not")
	}
	// The CP function does it within the period.
	done := make(chan error, 1)
	go func() { done <- l.agent.RequestRelease(context.Background(), s.Addr.String(), time.Minute) }()
	u, ok := s.Other().(*message.AssociationUpdateRequest)
	if !ok || u.PFCPAssociationReleaseRequest == nil || !u.PFCPAssociationReleaseRequest.HasSARR() || u.GracefulReleasePeriod == nil {
		t.Fatalf("%+v, want an Association Update Request that asks for a release", u)
	}
	if d, err := u.GracefulReleasePeriod.GracefulReleasePeriod(); err != nil || d != time.Minute {
		t.Errorf("graceful release period %v (%v)", d, err)
	}
	fakesmf.WantCause(t, s.Ask(message.NewAssociationReleaseRequest(s.NextSeq(), s.Node())).(*message.AssociationReleaseResponse).Cause, ie.CauseRequestAccepted)
	if err := <-done; err != nil {
		t.Error(err)
	}
	// It does nothing: the association ends with the period.
	s.Associate()
	s.Established(1, fakesmf.Phone.Session()...)
	if err := l.agent.RequestRelease(context.Background(), s.Addr.String(), 10*time.Millisecond); err != nil {
		t.Error(err)
	}
	if n := len(l.upfu.Sessions()); n != 0 {
		t.Errorf("%d sessions left", n)
	}
	fakesmf.WantCause(t, s.Establish(1, fakesmf.Phone.Session()...).Cause, ie.CauseNoEstablishedPFCPAssociation)
	// It refuses: the association stays.
	s.Associate()
	s.Cause.Store(uint32(ie.CauseRequestRejected))
	if err := l.agent.RequestRelease(context.Background(), s.Addr.String(), 0); err == nil {
		t.Error("no error although the CP function refused")
	}
	s.Established(1, fakesmf.Phone.Session()...)
	// It is gone: nobody else ends what it has left.
	s.Mute.Store(true)
	if err := l.agent.RequestRelease(context.Background(), s.Addr.String(), time.Hour); err != nil {
		t.Error(err)
	}
	if n := len(l.upfu.Sessions()); n != 0 {
		t.Errorf("%d sessions left of a CP function that is gone", n)
	}
}

func TestPathsOfGTPUPeersAreReported(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	seid := s.Established(7, fakesmf.Phone.Session()...)
	fakesmf.WantCause(t, s.Modify(seid, fakesmf.Phone.GNB(0x100, "172.30.3.100")).Cause, ie.CauseRequestAccepted)
	peers := []netip.Addr{addr("172.30.3.100"), addr("2001:db8:3::100")}
	for _, failed := range []bool{true, false} {
		l.agent.ReportPaths(failed, peers)
		r, ok := s.Other().(*message.NodeReportRequest)
		if !ok {
			t.Fatal("no Node Report Request")
		}
		group := r.UserPlanePathFailureReport
		if !failed {
			group = r.UserPlanePathRecoveryReport
		}
		want := map[bool]byte{true: 0x01, false: 0x02}[failed] // UPFR, UPRR
		if group == nil || r.NodeReportType.Payload[0] != want {
			t.Fatalf("failed %t: %+v", failed, r)
		}
		inside, err := ie.ParseMultiIEs(group.Payload)
		if err != nil || len(inside) != 2 {
			t.Fatalf("failed %t: report with %d peers (%v), want 2", failed, len(inside), err)
		}
		v4, err4 := inside[0].RemoteGTPUPeer()
		v6, err6 := inside[1].RemoteGTPUPeer()
		if err4 != nil || err6 != nil || v4.IPv4Address.String() != "172.30.3.100" || v6.IPv6Address.String() != "2001:db8:3::100" {
			t.Errorf("failed %t: peers %+v (%v) and %+v (%v)", failed, v4, err4, v6, err6)
		}
	}
	l.agent.ReportPaths(true, nil)
	if len(s.Others) != 0 {
		t.Error("a report about nobody")
	}
}

func TestUEAddressesFromThePool(t *testing.T) {
	l := newLab(t, withPools)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	session := []*ie.IE{downlinkPDR(2, ie.New(ie.UEIPAddress, []byte{0x30})), coreFAR(1)}
	given := func(cpSEID uint64) (uint64, string) {
		t.Helper()
		a := s.Establish(cpSEID, session...)
		fakesmf.WantCause(t, a.Cause, ie.CauseRequestAccepted)
		if len(a.CreatedPDR) != 1 {
			t.Fatalf("%d Created PDRs", len(a.CreatedPDR))
		}
		u, err := a.CreatedPDR[0].UEIPAddress()
		if err != nil || u.IPv4Address == nil || u.IPv6Address == nil {
			t.Fatalf("UE IP Address %+v (%v), want both versions", u, err)
		}
		f, err := a.UPFSEID.FSEID()
		if err != nil {
			t.Fatal(err)
		}
		if !netip.MustParsePrefix("2001:db8:60::/62").Contains(netip.MustParseAddr(u.IPv6Address.String())) {
			t.Errorf("prefix %s", u.IPv6Address)
		}
		return f.SEID, u.IPv4Address.String()
	}
	one, first := given(1)
	_, second := given(2)
	if got := []string{first, second}; !slices.Contains(got, "10.60.0.1") || !slices.Contains(got, "10.60.0.2") {
		t.Errorf("addresses %v, want the two of the pool", got)
	}
	full := s.Establish(3, session...)
	fakesmf.WantCause(t, full.Cause, pfcp.CauseAllAddressesOccupied)
	fakesmf.WantOffending(t, full.OffendingIE, ie.UEIPAddress)
	// What was given is not given again by the next upf-c, until its session ends.
	l.restartAgent()
	s.To = l.addr
	fakesmf.WantCause(t, s.Establish(3, session...).Cause, pfcp.CauseAllAddressesOccupied)
	s.Delete(one)
	if _, third := given(3); third != first {
		t.Errorf("third address %s, want %s, which is free again", third, first)
	}
	for _, sess := range l.upfu.Sessions() {
		if p := sess.PDRs[0]; p.Flags&(abi.PdrUeIpv4|abi.PdrUeIpv6) != abi.PdrUeIpv4|abi.PdrUeIpv6 {
			t.Errorf("PDR %+v without both addresses", p)
		}
	}
}

func TestIPv6TunnelsAndSessions(t *testing.T) {
	l := newLab(t, withIPv6N3)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	choose := ie.NewFTEID(0x07, 0, nil, nil, 0)
	uplink := ie.NewCreatePDR(ie.NewPDRID(1), ie.NewPrecedence(1), ie.NewFARID(1), ie.NewOuterHeaderRemoval(6, 0), ie.NewPDI(ie.NewSourceInterface(0), choose))
	prefix := ie.New(ie.UEIPAddress, append([]byte{0x05}, net.ParseIP("2001:db8:45::")...))
	downlink := ie.NewCreatePDR(ie.NewPDRID(2), ie.NewPrecedence(1), ie.NewFARID(2), ie.NewPDI(ie.NewSourceInterface(1), prefix))
	gnb := ie.NewCreateFAR(ie.NewFARID(2), ie.NewApplyAction(2), ie.NewForwardingParameters(ie.NewDestinationInterface(0), ie.NewOuterHeaderCreation(0x0200, 9, "", "2001:db8:3::100", 0, 0, 0)))
	a := s.Establish(1, ie.NewPDNType(2), uplink, downlink, coreFAR(1), gnb)
	fakesmf.WantCause(t, a.Cause, ie.CauseRequestAccepted)
	f, err := a.CreatedPDR[0].FTEID()
	if err != nil || f.IPv4Address.String() != "172.30.3.16" || f.IPv6Address.String() != "2001:db8:3::10" || f.TEID == 0 {
		t.Fatalf("F-TEID %+v (%v), want one TEID on both versions", f, err)
	}
	_, got := l.only()
	if len(got.PDRs) != 3 || got.PDRs[1].Flags&abi.PdrN3Ipv6 == 0 || got.PDRs[0].Teid != got.PDRs[1].Teid {
		t.Errorf("PDRs %+v", got.PDRs)
	}
	far := got.FARs[1]
	if far.Ohc != abi.OhcGtpu6 || far.PeerAddr.IP(true) != addr("2001:db8:3::100") || far.LocalAddr.IP(true) != addr("2001:db8:3::10") {
		t.Errorf("FAR %+v", far)
	}
	// A peer's Error Indication over IPv6 reaches the session.
	if err := l.upfu.ErrorIndication(addr("2001:db8:3::100"), 9); err != nil {
		t.Fatal(err)
	}
	if r := s.Report(); r.ErrorIndicationReport == nil {
		t.Errorf("report %+v", r)
	} else if f, err := r.ErrorIndicationReport.FTEID(); err != nil || f.IPv6Address.String() != "2001:db8:3::100" {
		t.Errorf("remote F-TEID %+v (%v)", f, err)
	}
}

func TestWithoutIPv6N3ThereAreNoIPv6Tunnels(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	gnb := ie.NewCreateFAR(ie.NewFARID(1), ie.NewApplyAction(2), ie.NewForwardingParameters(ie.NewDestinationInterface(0), ie.NewOuterHeaderCreation(0x0200, 9, "", "2001:db8:3::100", 0, 0, 0)))
	a := s.Establish(1, downlinkPDR(2, ie.NewUEIPAddress(2, "10.45.0.1", "", 0, 0)), gnb)
	fakesmf.WantCause(t, a.Cause, ie.CauseRuleCreationModificationFailure)
	fakesmf.WantOffending(t, a.OffendingIE, ie.OuterHeaderCreation)
	choose := ie.NewCreatePDR(ie.NewPDRID(1), ie.NewPrecedence(1), ie.NewFARID(1), ie.NewOuterHeaderRemoval(6, 0), ie.NewPDI(ie.NewSourceInterface(0), ie.NewFTEID(0x06, 0, nil, nil, 0)))
	a = s.Establish(1, choose, coreFAR(1))
	fakesmf.WantCause(t, a.Cause, ie.CauseNoResourcesAvailable)
	fakesmf.WantOffending(t, a.OffendingIE, ie.FTEID)
}

func TestTrafficEndpointIsAnswered(t *testing.T) {
	l := newLab(t, withPools)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	access := ie.NewCreateTrafficEndpoint(ie.NewTrafficEndpointID(1), ie.NewFTEID(0x05, 0, nil, nil, 0))
	core := ie.NewCreateTrafficEndpoint(ie.NewTrafficEndpointID(2), ie.NewNetworkInstance("internet"), ie.New(ie.UEIPAddress, []byte{0x10}))
	pdr := func(id uint16, si uint8, more ...*ie.IE) *ie.IE {
		return ie.NewCreatePDR(append([]*ie.IE{ie.NewPDRID(id), ie.NewPrecedence(1), ie.NewFARID(1), ie.NewPDI(ie.NewSourceInterface(si), ie.NewTrafficEndpointID(si+1))}, more...)...)
	}
	a := s.Establish(1, access, core, pdr(1, 0, ie.NewOuterHeaderRemoval(0, 0)), pdr(2, 1), coreFAR(1))
	fakesmf.WantCause(t, a.Cause, ie.CauseRequestAccepted)
	if len(a.CreatedTrafficEndpoint) != 2 || len(a.CreatedPDR) != 0 {
		t.Fatalf("%d Created Traffic Endpoints, %d Created PDRs; want 2 and none", len(a.CreatedTrafficEndpoint), len(a.CreatedPDR))
	}
	_, got := l.only()
	want := map[uint16]bool{}
	for _, e := range a.CreatedTrafficEndpoint {
		inside, err := ie.ParseMultiIEs(e.Payload)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range inside {
			if f, err := i.FTEID(); err == nil {
				want[1] = got.PDRs[0].Teid == f.TEID
			}
			if u, err := i.UEIPAddress(); err == nil {
				want[2] = got.PDRs[1].UeAddrBe == abi.AddrBe(addr(u.IPv4Address.String()))
			}
		}
	}
	if diff := cmp.Diff(map[uint16]bool{1: true, 2: true}, want); diff != "" {
		t.Errorf("PDRs %+v (-want +got):\n%s", got.PDRs, diff)
	}
}

func TestBufferedPacketsAreDroppedOnRequest(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	seid := s.Established(7, fakesmf.Phone.Session()...)
	index, _ := l.only()
	fakesmf.WantCause(t, s.Modify(seid, ie.NewPFCPSMReqFlags(0x01), fakesmf.Phone.GNB(0x100, "172.30.3.100")).Cause, ie.CauseRequestAccepted)
	if diff := cmp.Diff([]uint32{index}, l.upfu.Dropped()); diff != "" {
		t.Errorf("sessions whose packets are dropped (-want +got):\n%s", diff)
	}
}

func TestCPFSEIDChanges(t *testing.T) {
	l := newLab(t, nil)
	s, successor := fakesmf.New(t, l.addr), fakesmf.New(t, l.addr)
	s.Associate()
	seid := s.Established(7, fakesmf.Phone.Session()...)
	m := s.Modify(seid, ie.NewFSEID(8, net.IP(successor.Addr.AsSlice()), nil), fakesmf.Idle)
	fakesmf.WantCause(t, m.Cause, ie.CauseRequestAccepted)
	if m.SEID() != 8 {
		t.Errorf("answered to SEID %d, want the new one, 8", m.SEID())
	}
	index, _ := l.only()
	if err := l.upfu.DownlinkData(index, 2, 1); err != nil {
		t.Fatal(err)
	}
	if r := successor.Report(); r.SEID() != 8 {
		t.Errorf("report for SEID %d, want 8", r.SEID())
	}
}

// SGW-U and PGW-U (Sxa, Sxb): no QFI, no UE address at the SGW-U, tunnels on both sides.
func TestGatewaysOfEPC(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	pdr := func(id uint16, si uint8, teid, far uint32, more ...*ie.IE) *ie.IE {
		return ie.NewCreatePDR(ie.NewPDRID(id), ie.NewPrecedence(1), ie.NewOuterHeaderRemoval(0, 0), ie.NewFARID(far),
			ie.NewPDI(append([]*ie.IE{ie.NewSourceInterface(si), ie.NewFTEID(1, teid, net.IP{172, 30, 3, 16}, nil, 0)}, more...)...))
	}
	far := func(id uint32, di uint8, teid uint32, peer string) *ie.IE {
		return ie.NewCreateFAR(ie.NewFARID(id), ie.NewApplyAction(2), ie.NewForwardingParameters(ie.NewDestinationInterface(di), ie.NewOuterHeaderCreation(0x0100, teid, peer, "", 0, 0, 0)))
	}
	s.Established(1, ie.NewFQCSID("10.0.0.7", 1), ie.NewPDNType(1), pdr(1, 0, 0x11, 1), pdr(2, 1, 0x12, 2), far(1, 1, 0x21, "172.30.3.200"), far(2, 0, 0x22, "172.30.3.100"))
	_, got := l.only()
	for i, p := range got.PDRs {
		if p.Flags != abi.PdrTeid|abi.PdrRemove || got.FARs[p.Far].Ohc != abi.OhcGtpu4 {
			t.Errorf("PDR %d of the SGW-U: %+v", i, p)
		}
	}
	// The PGW-U has the UE.
	s.Established(2, pdr(1, 0, 0x21, 1, ie.NewUEIPAddress(2, "10.45.0.1", "", 0, 0)), ie.NewCreatePDR(ie.NewPDRID(2), ie.NewPrecedence(1), ie.NewFARID(2),
		ie.NewPDI(ie.NewSourceInterface(2), ie.NewUEIPAddress(6, "10.45.0.1", "", 0, 0))), coreFAR(1), far(2, 0, 0x12, "172.30.3.150"))
}

func TestTunnelsBetweenTwoUPFs(t *testing.T) {
	l := newLab(t, func(c *config.Config) {
		c.N9.Endpoints = []config.Endpoint{{Prefix: netip.MustParsePrefix("172.30.9.16/28")}}
	})
	s := fakesmf.New(t, l.addr)
	s.Associate()
	pdr := func(id uint16, si uint8) *ie.IE {
		return ie.NewCreatePDR(ie.NewPDRID(id), ie.NewPrecedence(1), ie.NewOuterHeaderRemoval(0, 0), ie.NewFARID(uint32(id)),
			ie.NewPDI(ie.NewSourceInterface(si), ie.NewFTEID(0x05, 0, nil, nil, 0)))
	}
	far := func(id uint32, di uint8, peer string) *ie.IE {
		return ie.NewCreateFAR(ie.NewFARID(id), ie.NewApplyAction(2), ie.NewForwardingParameters(ie.NewDestinationInterface(di), ie.NewOuterHeaderCreation(0x0100, 9, peer, "", 0, 0, 0)))
	}
	s.Established(1, pdr(1, 0), pdr(2, 1), far(1, 1, "172.30.9.200"), far(2, 0, "172.30.3.100"))
	_, got := l.only()
	for i, want := range []string{"172.30.3.16", "172.30.9.16"} {
		if p := got.PDRs[i]; p.N3Addr.IP(false).String() != want {
			t.Errorf("PDR %d is found at %s, want %s", p.PdrId, p.N3Addr.IP(false), want)
		}
	}
	if toCore, toAccess := got.FARs[0].LocalAddr.IP(false).String(), got.FARs[1].LocalAddr.IP(false).String(); toCore != "172.30.9.16" || toAccess != "172.30.3.16" {
		t.Errorf("sent from %s to the core and %s to access", toCore, toAccess)
	}
	// An F-TEID that the SMF chooses may be on N9, too.
	s.Established(2, ie.NewCreatePDR(ie.NewPDRID(1), ie.NewPrecedence(1), ie.NewOuterHeaderRemoval(0, 0), ie.NewFARID(1),
		ie.NewPDI(ie.NewSourceInterface(1), ie.NewFTEID(1, 5, net.IP{172, 30, 9, 17}, nil, 0))), coreFAR(1))
}
