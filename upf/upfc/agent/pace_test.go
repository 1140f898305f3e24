package agent_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/fakesmf"
)

// However many sessions have something to report, an SMF has so many requests before it and no more, and
// all of them come in the end.
func TestReportsToASlowSMF(t *testing.T) {
	const sessions, limit = 300, 4
	for name, cause := range map[string]func(l *lab) error{
		"usage": func(l *lab) error {
			for _, s := range l.upfu.Sessions() {
				if err := l.upfu.Count(s.URRs[0].Slot, abi.Ul, 150, 1); err != nil {
					return err
				}
			}
			return nil
		},
		"an Error Indication": func(l *lab) error { return l.upfu.ErrorIndication(addr("172.30.3.100"), 0x100) },
	} {
		t.Run(name, func(t *testing.T) {
			// No request is given up for another one meanwhile.
			l := newLab(t, func(c *config.Config) { c.Limits.Reports, c.PFCP.Retransmit.Attempts = limit, 1000 })
			s := fakesmf.New(t, l.addr)
			s.Associate()
			for i := range sessions {
				u := fakesmf.UE{TEID: uint32(i + 1), N3: "172.30.3.16", Addr: fmt.Sprintf("10.45.%d.%d", i/200, 1+i%200)}
				u.URR = []*ie.IE{ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0x02, 0), ie.NewVolumeThreshold(0x01, 100, 0, 0)}
				seid := s.Established(uint64(i+1), u.Session()...)
				fakesmf.WantCause(t, s.Modify(seid, fakesmf.Phone.GNB(0x100, "172.30.3.100")).Cause, ie.CauseRequestAccepted)
			}
			s.Mute.Store(true)
			before := runtime.NumGoroutine()
			if err := cause(l); err != nil {
				t.Fatal(err)
			}
			// Until as many as may be under way have been repeated, each of them.
			copies, reported := map[uint32]int{}, map[uint64]bool{}
			for repeated := 0; repeated < limit; {
				r := s.Report()
				reported[r.SEID()] = true // the last of them may be answered, and come no more
				if copies[r.Sequence()]++; copies[r.Sequence()] == 2 {
					repeated++
				}
			}
			if len(copies) != limit {
				t.Errorf("%d requests are under way, want %d", len(copies), limit)
			}
			if n := runtime.NumGoroutine() - before; n > 200 { // those who measure, and the SMF's
				t.Errorf("%d goroutines more", n)
			}
			s.Mute.Store(false)
			for len(reported) < sessions {
				reported[s.Report().SEID()] = true // or nothing comes any more
			}
		})
	}
}
