package agent_test

import (
	"net"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/upfc/fakesmf"
)

// An association ends while upf-u installs a session under it: the sweep of its sessions has not seen
// that one. It must not stay, for nobody would ever delete it.
func TestEstablishmentThatLosesTheRaceWithItsAssociation(t *testing.T) {
	setup := func(s *fakesmf.SMF, more ...*ie.IE) message.Message {
		ies := append([]*ie.IE{s.Node(), ie.NewRecoveryTimeStamp(s.Recovery), ie.NewCPFunctionFeatures(0)}, more...)
		return message.NewAssociationSetupRequest(s.NextSeq(), ies...)
	}
	for name, tc := range map[string]struct {
		meanwhile func(s *fakesmf.SMF) message.Message
		wantCause uint8
	}{
		"it is released": {
			func(s *fakesmf.SMF) message.Message {
				return message.NewAssociationReleaseRequest(s.NextSeq(), s.Node())
			},
			ie.CauseNoEstablishedPFCPAssociation,
		},
		"it is set up anew": {
			func(s *fakesmf.SMF) message.Message { return setup(s) },
			ie.CauseNoEstablishedPFCPAssociation,
		},
		"it is set up anew by a CP function that has restarted": {
			func(s *fakesmf.SMF) message.Message {
				s.Recovery = s.Recovery.Add(time.Minute)
				return setup(s, ie.New(ie.PFCPSessionRetentionInformation, nil))
			},
			ie.CauseNoEstablishedPFCPAssociation,
		},
		"it is set up anew and its sessions are retained": {
			func(s *fakesmf.SMF) message.Message { return setup(s, ie.New(ie.PFCPSessionRetentionInformation, nil)) },
			ie.CauseRequestAccepted,
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, nil)
			bystander, s := fakesmf.New(t, l.addr), fakesmf.New(t, l.addr)
			bystander.Associate()
			s.Associate()
			bystander.Established(1, fakesmf.UE{TEID: 2, N3: "172.30.3.16", Addr: "10.45.0.2"}.Session()...)
			want := 1
			if tc.wantCause == ie.CauseRequestAccepted {
				want = 2
			}

			l.upfu.Hold(true)
			ies := append([]*ie.IE{s.Node(), ie.NewFSEID(7, net.IP(s.Addr.AsSlice()), nil)}, fakesmf.Phone.Session()...)
			request := message.NewSessionEstablishmentRequest(0, 0, 0, s.NextSeq(), 0, ies...)
			s.Write(request)
			if err := l.upfu.Await(fakesmf.Patience, func() bool { return len(l.upfu.Sessions()) == 2 }); err != nil {
				t.Fatalf("upf-u has not got the session: %v", err)
			}
			s.Ask(tc.meanwhile(s))
			l.upfu.Hold(false)
			answer, ok := s.Answer().(*message.SessionEstablishmentResponse)
			if !ok || answer.Sequence() != request.Sequence() {
				t.Fatalf("answer %+v, want that to the establishment", answer)
			}
			fakesmf.WantCause(t, answer.Cause, tc.wantCause)
			if got := len(l.upfu.Sessions()); got != want {
				t.Errorf("%d sessions in upf-u, want %d", got, want)
			}
			if st := l.agent.Status(); st.Sessions != want {
				t.Errorf("%d sessions in upf-c, want %d", st.Sessions, want)
			}
			// Nothing of it is taken: its address and F-TEID serve a session of another CP function.
			if tc.wantCause != ie.CauseRequestAccepted {
				bystander.Established(2, fakesmf.Phone.Session()...)
			}
		})
	}
}
