package pfcp

import (
	"encoding/binary"
	"testing"
	"time"

	wire "core5g.dev/core5g/upf/upfc/pfcp"

	"github.com/wmnsk/go-pfcp/ie"
)

// FuzzReceive gives an endpoint that waits for answers whatever comes, in the name of its unit: every request ends once,
// and what was handed on can be answered.
func FuzzReceive(f *testing.F) {
	message := func(kind uint8, seid *uint64, ies ...*ie.IE) []byte {
		b, err := wire.Marshal(kind, seid, 0, ies)
		if err != nil {
			f.Fatal(err)
		}
		return b
	}
	seid := uint64(7)
	f.Add(message(heartbeat, nil, born.element()))
	f.Add(message(setup, nil, upf, born.element(), featuresElement(able)))
	f.Add(message(update, nil, upf, ie.NewPFCPAssociationReleaseRequest(1, 0), ie.NewGracefulReleasePeriod(time.Minute)))
	f.Add(message(release, nil, upf))
	f.Add(message(nodes, nil, upf, ie.NewNodeReportType(1), ie.NewUserPlanePathFailureReport(ie.NewRemoteGTPUPeer(0x0e, "172.30.3.100", "", 0, "access"))))
	f.Add(message(report, &seid, ie.NewReportType(0, 1, 0, 1), ie.NewDownlinkDataReport(ie.NewPDRID(2), ie.NewDownlinkDataServiceInformation(true, true, 46, 5)),
		ie.NewErrorIndicationReport(ie.NewFTEID(1, 0x100, []byte{172, 30, 3, 100}, nil, 0))))
	f.Add(message(report, &seid, ie.NewReportType(0, 0, 1, 0), ie.NewUsageReport(ie.UsageReportWithinSessionReportRequest,
		ie.NewURRID(4), ie.NewURSEQN(8), ie.NewUsageReportTrigger(2, 1, 0), ie.NewVolumeMeasurement(0x3f, 6, 1, 2, 7, 3, 4))))
	f.Add(message(establishment+1, &seid, upf, accepted, ie.NewFSEID(9, []byte{192, 0, 2, 1}, nil), ie.NewCreatedPDR(ie.NewPDRID(1), ie.NewFTEID(1, 5, []byte{1, 2, 3, 4}, nil, 0))))
	f.Add(message(modification+1, &seid, accepted, ie.NewUsageReport(ie.UsageReportWithinSessionModificationResponse, ie.NewURRID(4), ie.NewURSEQN(8), ie.NewUsageReportTrigger(2, 1, 0))))
	f.Add(message(deletion+1, &seid, cause(ie.CauseSessionContextNotFound)))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := ready(t)
		ended := map[int]int{}
		asked := 0
		for n, q := range []Request{establish(7), {Unit: "upf-0", Kind: Modification, CPSEID: 7, UPSEID: 9}, {Unit: "upf-0", Kind: Deletion, CPSEID: 7, UPSEID: 9}} {
			r.Do(q, func(Outcome) { ended[n]++ })
			asked++
		}
		r.pass(5 * time.Second) // a heartbeat is under way, too
		for n := range uint32(8) {
			b := append([]byte(nil), b...) // an answer to each of them, if it is one
			if len(b) >= 16 {
				at := 4 + int(b[0]&1)*8
				sequence := r.sequence - n
				b[at], b[at+1], b[at+2] = byte(sequence>>16), byte(sequence>>8), byte(sequence)
			}
			r.Receive(unitAddr, b)
		}
		for _, ev := range r.events {
			switch ev := ev.(type) {
			case SessionReport:
				if err := r.AnswerSessionReport(ev.Token, SessionReportAnswer{Cause: 1}); err != nil {
					t.Error(err)
				}
			case NodeReport:
				if err := r.AnswerNodeReport(ev.Token, 1); err != nil {
					t.Error(err)
				}
			}
		}
		r.pass(time.Minute)
		r.Close()
		for n := range asked {
			if ended[n] != 1 {
				t.Errorf("request %d has %d outcomes", n, ended[n])
			}
		}
		for _, d := range r.out { // what is sent can be read
			if _, err := wire.Parse(d.b); err != nil || int(binary.BigEndian.Uint16(d.b[2:])) != len(d.b)-4 {
				t.Errorf("sent % x: %v", d.b, err)
			}
		}
	})
}
