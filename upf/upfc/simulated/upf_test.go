package simulated

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/dataplane/fakeupfu"
	"core5g.dev/core5g/upf/upfc/extension"
	"core5g.dev/core5g/upf/upfc/fakesmf"
)

var (
	begin = time.Unix(1_790_000_000, 0)
	smf   = netip.MustParseAddrPort("10.0.0.9:8805")
)

// world is a UPF and a CP function that keeps what it is sent.
type world struct {
	*UPF
	t    *testing.T
	now  time.Time
	seq  uint32
	sent []message.Message
	all  bytes.Buffer // every datagram that left, with its time
	mute bool         // the CP function answers nothing
}

func newWorld(t *testing.T, seed uint64, edit func(*Options)) *world {
	t.Helper()
	c, err := config.Parse([]byte(`
nodeID: upf.test
pfcp: {listen: "0.0.0.0:8805", advertise: 10.0.1.1}
n3: {endpoints: [172.30.3.16/28]}
uePools: [{networkInstance: internet, range: 10.60.0.0/24}]
`))
	if err != nil {
		t.Fatal(err)
	}
	c.State.File = ""
	w := &world{t: t, now: begin}
	o := Options{Config: c, Start: begin, Chance: rand.New(rand.NewPCG(seed, 0))}
	o.Send = func(to netip.AddrPort, b []byte) {
		fmt.Fprintf(&w.all, "%s %s % x\n", w.now.Format(time.StampMicro), to, b)
		m, err := message.Parse(b)
		if err != nil {
			t.Fatalf("upf-c sent what go-pfcp cannot parse: %v", err)
		}
		w.sent = append(w.sent, m)
	}
	if edit != nil {
		edit(&o)
	}
	w.UPF = New(o)
	return w
}

// give hands a message over.
func (w *world) give(m message.Message) {
	w.t.Helper()
	b := make([]byte, m.MarshalLen())
	if err := m.MarshalTo(b); err != nil {
		w.t.Fatal(err)
	}
	w.Receive(smf, b)
}

// pass lets time pass, and answers the UPF's requests.
func (w *world) pass(d time.Duration) {
	w.t.Helper()
	for end := w.now.Add(d); ; {
		w.answer()
		next, ok := w.NextDeadline()
		if !ok || next.After(end) {
			next = end
		}
		w.now = next
		w.Tick(next)
		if !next.Before(end) {
			w.answer()
			return
		}
	}
}

func (w *world) answer() {
	w.t.Helper()
	for i := 0; !w.mute && i < len(w.sent); i++ {
		switch m := w.sent[i].(type) {
		case *message.HeartbeatRequest:
			w.give(message.NewHeartbeatResponse(m.Sequence(), ie.NewRecoveryTimeStamp(begin)))
		case *message.SessionReportRequest:
			w.give(message.NewSessionReportResponse(0, 0, 1, m.Sequence(), 0, ie.NewCause(ie.CauseRequestAccepted)))
		default:
			continue
		}
		w.sent = append(w.sent[:i], w.sent[i+1:]...)
		i--
	}
}

// last is the last answer that was sent, nil: none since it was asked for.
func (w *world) last() (m message.Message) {
	for _, s := range w.sent {
		switch s.(type) {
		case *message.HeartbeatRequest, *message.SessionReportRequest:
		default:
			m = s
		}
	}
	w.sent = nil
	return m
}

func (w *world) next() uint32 { w.seq++; return w.seq }

func (w *world) associate() {
	w.t.Helper()
	w.give(message.NewAssociationSetupRequest(w.next(), ie.NewNodeID("10.0.0.9", "", ""), ie.NewRecoveryTimeStamp(begin), ie.New(ie.PFCPSessionRetentionInformation, nil)))
	a, ok := w.last().(*message.AssociationSetupResponse)
	if !ok {
		w.t.Fatal("no Association Setup Response")
	}
	fakesmf.WantCause(w.t, a.Cause, ie.CauseRequestAccepted)
}

func (w *world) establishment(cpSEID uint64, session []*ie.IE) message.Message {
	return message.NewSessionEstablishmentRequest(0, 0, 0, w.next(), 0,
		append([]*ie.IE{ie.NewNodeID("10.0.0.9", "", ""), ie.NewFSEID(cpSEID, net.IP(smf.Addr().AsSlice()), nil)}, session...)...)
}

// established is the UP SEID.
func (w *world) established(cpSEID uint64, session []*ie.IE) uint64 {
	w.t.Helper()
	w.give(w.establishment(cpSEID, session))
	a, ok := w.last().(*message.SessionEstablishmentResponse)
	if !ok {
		w.t.Fatal("no Session Establishment Response")
	}
	fakesmf.WantCause(w.t, a.Cause, ie.CauseRequestAccepted)
	f, err := a.UPFSEID.FSEID()
	if err != nil {
		w.t.Fatal(err)
	}
	return f.SEID
}

func TestRequestsAreAnsweredBeforeReceiveReturns(t *testing.T) {
	w := newWorld(t, 1, nil)
	w.associate()
	seid := w.established(7, fakesmf.Phone.Session())
	w.give(message.NewSessionModificationRequest(0, 0, seid, w.next(), 0, fakesmf.Phone.GNB(0x100, "172.30.3.100")))
	m, ok := w.last().(*message.SessionModificationResponse)
	if !ok {
		t.Fatal("no Session Modification Response")
	}
	fakesmf.WantCause(t, m.Cause, ie.CauseRequestAccepted)
	w.give(message.NewHeartbeatRequest(w.next(), ie.NewRecoveryTimeStamp(begin), nil))
	h, ok := w.last().(*message.HeartbeatResponse)
	if !ok {
		t.Fatal("no Heartbeat Response")
	}
	if at, err := h.RecoveryTimeStamp.RecoveryTimeStamp(); err != nil || !at.Equal(begin) {
		t.Errorf("Recovery Time Stamp %v (%v), want that of the virtual clock, %v", at, err, begin)
	}
	w.give(message.NewSessionDeletionRequest(0, 0, seid, w.next(), 0))
	d, ok := w.last().(*message.SessionDeletionResponse)
	if !ok {
		t.Fatal("no Session Deletion Response")
	}
	fakesmf.WantCause(t, d.Cause, ie.CauseRequestAccepted)
	if n := len(w.UPFU().Sessions()); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

// What upf-u sees becomes a report, and is repeated until it is acknowledged; N1 and T1 count virtual time.
func TestReportsLeaveByTheVirtualClock(t *testing.T) {
	w := newWorld(t, 1, func(o *Options) { o.Config.Heartbeat.Interval = 0 })
	w.associate()
	seid := w.established(7, fakesmf.Phone.Session())
	var index uint32
	for i := range w.UPFU().Sessions() {
		index = i
	}
	w.mute = true
	w.Do(func(u *fakeupfu.UPFU) {
		if err := u.DownlinkData(index, 2, 9); err != nil {
			t.Error(err)
		}
	})
	if len(w.sent) != 0 {
		t.Fatal("a report of a session that does not buffer")
	}
	w.give(message.NewSessionModificationRequest(0, 0, seid, w.next(), 0, fakesmf.Idle))
	if _, ok := w.last().(*message.SessionModificationResponse); !ok {
		t.Fatal("no Session Modification Response")
	}
	w.Do(func(u *fakeupfu.UPFU) {
		if err := u.DownlinkData(index, 2, 9); err != nil {
			t.Error(err)
		}
	})
	if n := len(w.sent); n != 1 {
		t.Fatalf("%d datagrams when a packet waits, want a report", n)
	}
	w.pass(2500 * time.Millisecond)
	if n := len(w.sent); n != 3 { // T1 is 1 s, N1 3
		t.Errorf("%d copies of the report after 2.5 s without an answer, want 3", n)
	}
	w.mute, w.sent = false, w.sent[:1]
	w.pass(time.Hour)
	if n := len(w.sent); n != 0 {
		t.Errorf("%d datagrams that nobody answered in an hour: %T", n, w.sent[0])
	}
}

// Whoever dies at whichever transaction of an establishment: a CP function that asks until it is answered has its one
// session in the end, unless both halves died.
func TestDeathAtEveryTransaction(t *testing.T) {
	for _, fate := range []Fate{UPFCDiesBefore, UPFCDiesAfter, UPFUDiesBefore, UPFUDiesAfter} {
		for at := 1; at <= 6; at++ {
			t.Run(fmt.Sprintf("fate %d at transaction %d", fate, at), func(t *testing.T) {
				n, armed := 0, false
				w := newWorld(t, uint64(at), func(o *Options) {
					o.Fate = func() Fate {
						if !armed {
							return Done
						}
						if n++; n == at {
							return fate
						}
						return Done
					}
				})
				w.associate()
				w.established(1, fakesmf.UE{TEID: 9, N3: "172.30.3.16", Addr: "10.45.0.9"}.Session())
				armed = true
				m := w.establishment(7, chooses())
				for try := 0; try < 40; try++ {
					w.give(m)
					w.StartUPFC()
					w.StartUPFU()
					w.pass(500 * time.Millisecond)
					if a, ok := w.last().(*message.SessionEstablishmentResponse); ok {
						fakesmf.WantCause(t, a.Cause, ie.CauseRequestAccepted)
						if got := len(w.UPFU().Sessions()); got != 2 {
							t.Errorf("%d sessions, want 2", got)
						}
						return
					}
				}
				t.Error("never answered")
			})
		}
	}
}

func TestWhatSurvivesBothHalves(t *testing.T) {
	for name, tt := range map[string]struct {
		file string
		want int
	}{
		"nothing, without a file": {"", 0},
		"all, with one":           {"upf-c.state", 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1, func(o *Options) {
				if tt.file != "" {
					o.Config.State.File = filepath.Join(t.TempDir(), tt.file)
				}
			})
			w.associate()
			w.established(7, fakesmf.Phone.Session())
			w.KillUPFC()
			w.KillUPFU()
			w.give(message.NewHeartbeatRequest(w.next(), ie.NewRecoveryTimeStamp(begin), nil))
			if w.last() != nil {
				t.Error("the dead answer")
			}
			w.pass(2 * time.Second)
			w.StartUPFU()
			w.StartUPFC()
			w.give(message.NewHeartbeatRequest(w.next(), ie.NewRecoveryTimeStamp(begin), nil))
			h, ok := w.last().(*message.HeartbeatResponse)
			if !ok {
				t.Fatal("no Heartbeat Response")
			}
			at, err := h.RecoveryTimeStamp.RecoveryTimeStamp()
			if err != nil || at.Equal(begin) != (tt.want == 1) {
				t.Errorf("Recovery Time Stamp %v (%v), had %v", at, err, begin)
			}
			if n := len(w.UPFU().Sessions()); n != tt.want {
				t.Errorf("%d sessions, want %d", n, tt.want)
			}
		})
	}
}

// Two with the same seed do the same, to the octet; with another seed, not.
func TestTheSameSeedDoesTheSame(t *testing.T) {
	run := func(seed uint64) string {
		chance := rand.New(rand.NewPCG(seed, 1))
		w := newWorld(t, seed, func(o *Options) {
			o.Fate = func() Fate {
				if chance.IntN(20) == 0 {
					return Fate(1 + chance.IntN(4))
				}
				return Done
			}
		})
		w.give(message.NewAssociationSetupRequest(w.next(), ie.NewNodeID("10.0.0.9", "", ""), ie.NewRecoveryTimeStamp(begin), ie.New(ie.PFCPSessionRetentionInformation, nil)))
		for i := range uint64(60) {
			w.give(w.establishment(i, chooses()))
			w.Do(func(u *fakeupfu.UPFU) {
				for index, s := range u.Sessions() {
					if index == uint32(i)/2 && len(s.URRs) > 0 {
						u.Forward(s.URRs[0].Slot, abi.Ul, 5000)
					}
				}
			})
			w.StartUPFC()
			w.StartUPFU()
			w.pass(time.Duration(chance.IntN(3000)) * time.Millisecond)
		}
		return w.all.String()
	}
	one := run(42)
	if n := strings.Count(one, "\n"); n < 60 {
		t.Fatalf("%d datagrams: nothing happened", n)
	}
	for range 3 {
		if diff := cmp.Diff(one, run(42)); diff != "" {
			t.Fatalf("another run (-first +again):\n%s", diff)
		}
	}
	if run(43) == one {
		t.Error("another seed does the same")
	}
}

// chooses is a session of which the UPF chooses F-TEID and UE address, with a volume threshold of 1000 octets.
func chooses() []*ie.IE {
	ue := ie.New(ie.UEIPAddress, []byte{0x10})
	far := ie.NewCreateFAR(ie.NewFARID(1), ie.NewApplyAction(0x02), ie.NewForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceCore)))
	urr := ie.NewCreateURR(ie.NewURRID(1), ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0x02, 0), ie.NewVolumeThreshold(0x01, 1000, 0, 0))
	return []*ie.IE{ie.NewPDNType(1), far, urr,
		ie.NewCreatePDR(ie.NewPDRID(1), ie.NewPrecedence(1), ie.NewFARID(1), ie.NewURRID(1), ie.NewOuterHeaderRemoval(0, 0),
			ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceAccess), ie.NewNetworkInstance("internet"), ie.NewFTEID(0x05, 0, nil, nil, 0), ue)),
		ie.NewCreatePDR(ie.NewPDRID(2), ie.NewPrecedence(2), ie.NewFARID(1),
			ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceCore), ie.NewNetworkInstance("internet"), ue)),
	}
}

// A CP function that died before it had restored its sessions holds up the others until RestorationWait is over.
func TestNewSessionsWaitForRestorationForABoundedTime(t *testing.T) {
	w := newWorld(t, 1, nil)
	others := extension.State{Done: true, Recovery: binary.BigEndian.Uint32(ie.NewRecoveryTimeStamp(begin).Payload), Nodes: []string{"10.0.0.10"}}
	w.give(message.NewAssociationSetupRequest(w.next(), ie.NewNodeID("10.0.0.9", "", ""), ie.NewRecoveryTimeStamp(begin), others.IE()))
	if _, ok := w.last().(*message.AssociationSetupResponse); !ok {
		t.Fatal("no Association Setup Response")
	}
	for _, tt := range []struct {
		wait time.Duration
		want uint8
	}{{0, ie.CausePFCPEntityInCongestion}, {29900 * time.Millisecond, ie.CausePFCPEntityInCongestion}, {200 * time.Millisecond, ie.CauseRequestAccepted}} {
		w.pass(tt.wait)
		w.give(w.establishment(7, chooses()))
		a, ok := w.last().(*message.SessionEstablishmentResponse)
		if !ok {
			t.Fatal("no Session Establishment Response")
		}
		fakesmf.WantCause(t, a.Cause, tt.want)
	}
}
