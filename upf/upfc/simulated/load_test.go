package simulated

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/upfc/dataplane/fakeupfu"
	"core5g.dev/core5g/upf/upfc/fakesmf"
)

// Features of a CP function (TS 29.244 8.2.58).
const cpLOAD, cpOVRL = 0x01, 0x02

// listener is a CP function that keeps what it hears of load and overload.
type listener struct {
	*world
	sessions int
	seids    []uint64
	// number of the last word of each kind.
	load, overload uint32
}

func newListener(t *testing.T, features uint8, edit func(*Options)) *listener {
	t.Helper()
	l := &listener{world: newWorld(t, 1, func(o *Options) {
		o.Config.Limits.Sessions = 20
		if edit != nil {
			edit(o)
		}
	})}
	l.give(message.NewAssociationSetupRequest(l.next(), ie.NewNodeID("10.0.0.9", "", ""), ie.NewRecoveryTimeStamp(begin),
		ie.New(ie.PFCPSessionRetentionInformation, nil), ie.NewCPFunctionFeatures(features)))
	a, ok := l.last().(*message.AssociationSetupResponse)
	if !ok {
		t.Fatal("no Association Setup Response")
	}
	fakesmf.WantCause(t, a.Cause, ie.CauseRequestAccepted)
	l.pass(time.Second)
	return l
}

// heard is what a message says of load and overload, in words; its numbers must be later ones than those before.
func (l *listener) heard(load, overload *ie.IE) (words string) {
	l.t.Helper()
	read := func(e *ie.IE, last *uint32) uint8 {
		number, err := e.SequenceNumber()
		if err != nil || number <= *last || number > uint32(l.now.Unix()) {
			l.t.Errorf("number %d (%v) behind %d, at %d", number, err, *last, l.now.Unix())
		}
		*last = number
		metric, err := e.Metric()
		if err != nil {
			l.t.Error(err)
		}
		return metric
	}
	if load != nil {
		words = fmt.Sprintf("load %d", read(load, &l.load))
	}
	if overload != nil {
		words += fmt.Sprintf("overload %d", read(overload, &l.overload))
		if flags, err := overload.OCIFlags(); err != nil || flags != 1 {
			l.t.Errorf("OCI Flags %d, %v", flags, err)
		}
		period, err := overload.Timer()
		if err != nil {
			l.t.Error(err)
		}
		words += fmt.Sprintf(" for %s", period)
	}
	return words
}

// establish so many sessions; what the last answer says.
func (l *listener) establish(n int) (words string) {
	l.t.Helper()
	for range n {
		l.sessions++
		u := fakesmf.UE{TEID: uint32(l.sessions), N3: "172.30.3.16", Addr: fmt.Sprintf("10.45.0.%d", l.sessions)}
		u.URR = []*ie.IE{ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0x02, 0), ie.NewVolumeThreshold(0x01, 100, 0, 0)} // nothing is reported by the clock
		l.give(l.establishment(uint64(l.sessions), u.Session()))
		a, ok := l.last().(*message.SessionEstablishmentResponse)
		if !ok {
			l.t.Fatal("no Session Establishment Response")
		}
		words = l.heard(a.LoadControlInformation, a.OverloadControlInformation)
		if a.UPFSEID != nil {
			f, err := a.UPFSEID.FSEID()
			if err != nil {
				l.t.Fatal(err)
			}
			l.seids = append(l.seids, f.SEID)
		}
	}
	return words
}

func (l *listener) modification(n int) message.Message {
	return message.NewSessionModificationRequest(0, 0, l.seids[n], l.next(), 0, fakesmf.Phone.GNB(0x100, "172.30.3.100"))
}

func (l *listener) modified() string {
	l.t.Helper()
	m, ok := l.last().(*message.SessionModificationResponse)
	if !ok {
		l.t.Fatal("no Session Modification Response")
	}
	return l.heard(m.LoadControlInformation, m.OverloadControlInformation)
}

func (l *listener) modify() string {
	l.t.Helper()
	l.give(l.modification(0))
	return l.modified()
}

func (l *listener) remove() string {
	l.t.Helper()
	seid := l.seids[len(l.seids)-1]
	l.seids = l.seids[:len(l.seids)-1]
	l.give(message.NewSessionDeletionRequest(0, 0, seid, l.next(), 0))
	m, ok := l.last().(*message.SessionDeletionResponse)
	if !ok {
		l.t.Fatal("no Session Deletion Response")
	}
	return l.heard(m.LoadControlInformation, m.OverloadControlInformation)
}

// report of a packet into a tunnel that is none.
func (l *listener) report(teid uint32) string {
	l.t.Helper()
	l.mute = true
	l.Do(func(u *fakeupfu.UPFU) {
		if err := u.ErrorIndication(netip.MustParseAddr("172.30.3.100"), teid); err != nil {
			l.t.Fatal(err)
		}
	})
	for _, m := range l.sent {
		if r, ok := m.(*message.SessionReportRequest); ok {
			l.mute = false
			l.answer()
			return l.heard(r.LoadControlInformation, r.OverloadControlInformation)
		}
	}
	l.t.Fatal("no Session Report Request")
	return ""
}

// How full the UPF is comes with what is said to a CP function that wants to hear it, when it has changed by 5 percent, and under numbers that grow.
func TestLoadIsToldWhoWantsToHearIt(t *testing.T) {
	story := func(t *testing.T, features uint8) (got []string) {
		l := newListener(t, features, nil)
		say := func(what, words string) { got = append(got, what+": "+words) }
		say("a first session", l.establish(1))
		say("in the same second", l.establish(2))
		l.pass(time.Second)
		say("a second later", l.modify())
		l.pass(time.Second)
		say("nothing has changed", l.modify())
		l.establish(3)
		l.pass(time.Second)
		say("by a report", l.report(0x100))
		l.pass(time.Second)
		say("a deletion", l.remove())
		l.pass(time.Second)
		say("of three", l.remove()+l.remove())
		l.pass(time.Minute)
		say("and another", l.modify())
		l.Do(func(u *fakeupfu.UPFU) { u.Work(90, 10) })
		l.pass(time.Minute)
		say("upf-u works", l.modify())
		l.Do(func(u *fakeupfu.UPFU) { u.Work(0, 100) })
		l.pass(2 * time.Second)
		say("it rests, for two seconds of ten", l.modify())
		l.pass(time.Minute)
		say("it has not said what it does", l.modify())
		l.KillUPFC()
		l.StartUPFC()
		l.pass(0)
		say("upf-c has restarted", l.modify())
		l.pass(time.Second)
		say("a second later", l.modify())
		l.give(message.NewAssociationUpdateRequest(l.next(), ie.NewNodeID("10.0.0.9", "", "")))
		l.last()
		l.load = 0 // another instance has heard nothing
		say("another instance", l.modify())
		l.give(message.NewAssociationUpdateRequest(l.next(), ie.NewNodeID("10.0.0.9", "", ""), ie.NewCPFunctionFeatures(0)))
		l.last()
		l.establish(5)
		l.pass(time.Second)
		say("one that does not want to hear it", l.modify())
		return got
	}
	want := []string{
		"a first session: load 5", "in the same second: ", "a second later: load 15", "nothing has changed: ", "by a report: load 30", "a deletion: load 25", "of three: load 20", "and another: load 15",
		"upf-u works: load 90", "it rests, for two seconds of ten: load 72", "it has not said what it does: ", "upf-c has restarted: ", "a second later: load 45", "another instance: load 45",
		"one that does not want to hear it: ",
	}
	if diff := cmp.Diff(want, story(t, cpLOAD)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, features := range []uint8{0, cpOVRL} {
		for _, line := range story(t, features) {
			if line[len(line)-2:] != ": " {
				t.Errorf("features %#x: %s", features, line)
			}
		}
	}
}

// A UPF that is behind with its requests has CP functions leave some out, more with each second, and says when it is over.
func TestOverloadIsToldAndEnds(t *testing.T) {
	l := newListener(t, cpOVRL, func(o *Options) { o.Config.Limits.Requests, o.Config.PFCP.DataplaneWait = 128, time.Minute })
	l.establish(3)
	var got []string
	say := func(what, words string) { got = append(got, what+": "+words) }
	// behind: one waits behind the one that upf-u keeps waiting, and there is no room for more.
	behind := func(n int) {
		l.give(l.modification(n))
		l.give(l.modification(n))
		l.give(l.modification(n))
	}
	say("all is well", l.modify())
	l.KillUPFU()
	l.pass(time.Second)
	behind(0)
	say("there is no room", l.modified())
	l.pass(time.Second)
	behind(1)
	say("a second later", l.modified())
	l.give(l.modification(1))
	say("in the same second", l.modified())
	l.give(message.NewSessionEstablishmentRequest(0, 0, 0, l.next(), 0))
	l.StartUPFU()
	l.pass(100 * time.Millisecond)
	l.sent = nil
	l.pass(900 * time.Millisecond)
	say("a refusal in that second counts", l.modify())
	for range 2 {
		l.pass(time.Second)
		say("it goes", l.modify())
	}
	l.pass(time.Minute)
	say("and has gone", l.modify())
	l.pass(time.Minute)
	say("and has gone", l.modify())
	want := []string{
		"all is well: ", "there is no room: overload 10 for 10s", "a second later: overload 20 for 10s", "in the same second: ", "a refusal in that second counts: overload 30 for 10s",
		"it goes: overload 20 for 10s", "it goes: overload 10 for 10s", "and has gone: overload 0 for 0s", "and has gone: ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// CP functions that have moved to one address are told apart by their ports, and each hears for itself.
func TestCPFunctionsBehindOneAddressHearForThemselves(t *testing.T) {
	l := newListener(t, cpLOAD, func(o *Options) {
		o.Config.PFCP.ControlPlaneSubnets = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	})
	give := func(from string, m message.Message) {
		b := make([]byte, m.MarshalLen())
		if err := m.MarshalTo(b); err != nil {
			t.Fatal(err)
		}
		l.Receive(netip.MustParseAddrPort(from), b)
	}
	other := ie.NewNodeID("10.0.0.10", "", "")
	give("10.0.0.10:8805", message.NewAssociationSetupRequest(l.next(), other, ie.NewRecoveryTimeStamp(begin), ie.NewCPFunctionFeatures(cpLOAD)))
	give("10.1.0.1:7001", message.NewAssociationUpdateRequest(l.next(), ie.NewNodeID("10.0.0.9", "", "")))
	give("10.1.0.1:7002", message.NewAssociationUpdateRequest(l.next(), other))
	l.sent = nil
	for n, from := range []string{"10.1.0.1:7001", "10.1.0.1:7002", "10.1.0.1:7001"} {
		l.load = 0 // each for itself
		give(from, message.NewSessionDeletionRequest(0, 0, 4711, l.next(), 0))
		m, ok := l.last().(*message.SessionDeletionResponse)
		if !ok {
			t.Fatal("no Session Deletion Response")
		}
		want := "load 0"
		if n == 2 {
			want = ""
		}
		if got := l.heard(m.LoadControlInformation, nil); got != want {
			t.Errorf("answer %d, to %s: %q, want %q", n, from, got, want)
		}
	}
}
