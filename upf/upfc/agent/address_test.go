package agent_test

import (
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/fakesmf"
)

// updated is the answer to an instance's Association Update Request in the name of node.
func updated(t *testing.T, instance, node *fakesmf.SMF) *message.AssociationUpdateResponse {
	t.Helper()
	a, ok := instance.Ask(message.NewAssociationUpdateRequest(instance.NextSeq(), node.Node())).(*message.AssociationUpdateResponse)
	if !ok {
		t.Fatal("no Association Update Response")
	}
	return a
}

// shard is a CP function whose Node ID and F-SEIDs have a Service's address, with two instances, and a session that
// waits for a downlink packet.
func shard(t *testing.T) (l *lab, service, pod, next *fakesmf.SMF, packet func()) {
	t.Helper()
	return shardWith(t, withCPFunctions)
}

func shardWith(t *testing.T, edit func(*config.Config)) (l *lab, service, pod, next *fakesmf.SMF, packet func()) {
	t.Helper()
	l = newLab(t, edit)
	service, pod, next = fakesmf.New(t, l.addr), fakesmf.New(t, l.addr), fakesmf.New(t, l.addr)
	service.Associate()
	a, _ := answered(t, pod, establishment(pod, service, 7, fakesmf.Phone.Session()...))
	fakesmf.WantCause(t, a.Cause, ie.CauseRequestAccepted)
	f, err := a.UPFSEID.FSEID()
	if err != nil {
		t.Fatal(err)
	}
	fakesmf.WantCause(t, pod.Modify(f.SEID, fakesmf.Idle).Cause, ie.CauseRequestAccepted)
	index, _ := l.only()
	return l, service, pod, next, func() {
		t.Helper()
		for end := time.Now().Add(fakesmf.Patience); l.agent.Notifies(index); {
			if time.Now().After(end) {
				t.Fatal("the report before is still under way")
			}
			time.Sleep(time.Millisecond)
		}
		if err := l.upfu.DownlinkData(index, 2, 9); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReportsFollowAnAssociationUpdate(t *testing.T) {
	for name, meanwhile := range map[string]func(l *lab){
		"at once":          func(*lab) {},
		"upf-c began anew": func(l *lab) { l.restartAgent() },
		"both began anew":  func(l *lab) { l.upfu.Kill(); l.saved(); l.stop(); l.startUPFU(); l.startAgent() },
	} {
		t.Run(name, func(t *testing.T) {
			l, service, pod, next, packet := shard(t)
			packet()
			if r := service.Report(); r.SEID() != 7 { // nobody has said that it is somewhere else
				t.Errorf("report for SEID %d, want 7", r.SEID())
			}
			for _, instance := range []*fakesmf.SMF{pod, next} {
				a := updated(t, instance, service)
				fakesmf.WantCause(t, a.Cause, ie.CauseRequestAccepted)
				if a.UPFunctionFeatures == nil {
					t.Error("the answer tells no features")
				}
			}
			meanwhile(l)
			service.To = l.addr
			packet()
			if r := next.Report(); r.SEID() != 7 {
				t.Errorf("report for SEID %d, want 7", r.SEID())
			}
			updated(t, service, service) // back home
			packet()
			service.Report()
			for who, s := range map[string]*fakesmf.SMF{"the Service": service, "the first": pod, "the next": next} {
				if n := len(s.Reports); n != 0 {
					t.Errorf("%d reports too many for %s", n, who)
				}
			}
		})
	}
}

// An instance dies while a report is on its way to it: the next one has a copy as soon as it has said that it is the one, long before T1 has passed.
func TestReportUnderWayFollowsAnAssociationUpdate(t *testing.T) {
	_, service, pod, next, packet := shardWith(t, func(c *config.Config) {
		withCPFunctions(c)
		c.PFCP.Retransmit.Interval = time.Hour
	})
	updated(t, pod, service)
	pod.Mute.Store(true)
	packet()
	sequence := pod.Report().Sequence()
	updated(t, next, service)
	if r := next.Report(); r.Sequence() != sequence {
		t.Errorf("the copy has sequence number %d, want %d", r.Sequence(), sequence)
	}
}

// Nobody has taken over yet: the last copy goes where a Service may know better.
func TestLastCopyOfAReportGoesToTheNodeID(t *testing.T) {
	_, service, pod, _, packet := shard(t)
	updated(t, pod, service)
	pod.Mute.Store(true)
	packet()
	sequence := pod.Report().Sequence()
	if r := service.Report(); r.Sequence() != sequence || len(pod.Reports) != 1 {
		t.Errorf("the last copy has sequence number %d, want %d; the instance got %d more, want 1", r.Sequence(), sequence, len(pod.Reports))
	}
}

// Who may not speak for a CP function, does not get its reports.
func TestAssociationUpdateOfAStranger(t *testing.T) {
	l, service, _, stranger, packet := shard(t)
	l.edit = func(c *config.Config) { c.PFCP.ControlPlaneSubnets = nil }
	l.restartAgent()
	service.To, stranger.To = l.addr, l.addr
	fakesmf.WantCause(t, updated(t, stranger, service).Cause, ie.CauseNoEstablishedPFCPAssociation)
	packet()
	service.Report()
}

// TS 29.244 6.2.6.2.2, TS 23.527 4.4.
func TestWhatAnAssociationSetupRetains(t *testing.T) {
	retain := ie.New(ie.PFCPSessionRetentionInformation, nil)
	for name, tt := range map[string]struct {
		later time.Duration
		more  []*ie.IE
		want  int
	}{
		"same stamp, retention asked for":  {0, []*ie.IE{retain}, 1},
		"same stamp":                       {0, nil, 0},
		"newer stamp, retention asked for": {time.Second, []*ie.IE{retain}, 0},
		"newer stamp":                      {time.Second, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			l, service, _, next, _ := shard(t)
			a, ok := next.Ask(message.NewAssociationSetupRequest(next.NextSeq(),
				append([]*ie.IE{service.Node(), ie.NewRecoveryTimeStamp(service.Recovery.Add(tt.later))}, tt.more...)...)).(*message.AssociationSetupResponse)
			if !ok {
				t.Fatal("no Association Setup Response")
			}
			fakesmf.WantCause(t, a.Cause, ie.CauseRequestAccepted)
			if n := len(l.upfu.Sessions()); n != tt.want {
				t.Errorf("%d sessions, want %d", n, tt.want)
			}
			if psrei := a.PFCPASRspFlags != nil && a.PFCPASRspFlags.HasPSREI(); psrei != (tt.want == 1) {
				t.Errorf("PSREI %t, want %t", psrei, tt.want == 1)
			}
		})
	}
}
