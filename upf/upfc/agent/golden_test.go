package agent_test

import (
	"bufio"
	"encoding/hex"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/fakesmf"
	"core5g.dev/core5g/upf/upfc/pfcp"
)

var update = flag.Bool("update", false, "write testdata/messages.txt anew")

// messagesFile holds one message of each sort, as upf-c sends it to an SMF that asks what free5GC's
// asks: a name and the octets in hexadecimal, a line. images/smf decodes them with free5GC's own
// library, which drops a message as a whole because of one IE that it does not know.
const messagesFile = "testdata/messages.txt"

// grouped are the IEs in these messages that hold others.
var grouped = []uint16{ie.CreatedPDR, ie.UsageReportWithinSessionModificationResponse, ie.UsageReportWithinSessionDeletionResponse,
	ie.UsageReportWithinSessionReportRequest, ie.DownlinkDataReport, ie.ErrorIndicationReport, ie.UserPlanePathFailureReport}

// shape is what a message is made of, without the values.
func shape(t *testing.T, b []byte) string {
	t.Helper()
	m, err := pfcp.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	var walk func(list pfcp.Elements) string
	walk = func(list pfcp.Elements) string {
		var out []string
		for _, e := range list {
			text := fmt.Sprintf("%d/%d", e.Type, len(e.Value))
			if slices.Contains(grouped, e.Type) {
				inside, err := e.Group()
				if err != nil {
					t.Fatal(err)
				}
				text = fmt.Sprintf("%d(%s)", e.Type, walk(inside))
			}
			out = append(out, text)
		}
		return strings.Join(out, " ")
	}
	return fmt.Sprintf("type %d: %s", m.Type, walk(m.Elements))
}

func TestMessagesToFree5GC(t *testing.T) {
	got := messages(t)
	if *update {
		var out strings.Builder
		for _, name := range slices.Sorted(maps.Keys(got)) {
			fmt.Fprintf(&out, "%s %s\n", name, hex.EncodeToString(got[name]))
		}
		if err := os.MkdirAll(filepath.Dir(messagesFile), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(messagesFile, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(messagesFile)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	want, have := map[string]string{}, map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, text, _ := strings.Cut(lines.Text(), " ")
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		want[name] = shape(t, b)
	}
	for name, b := range got {
		have[name] = shape(t, b)
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("messages are made of other IEs; run with -update, and the tests of images/smf (-want +got):\n%s", diff)
	}
}

// messages are those that upf-c sent.
func messages(t *testing.T) map[string][]byte {
	l := newLab(t, withPools)
	s := fakesmf.New(t, l.addr)
	var mu sync.Mutex
	last := map[uint8][]byte{} // by message type
	capture := func(b []byte) {
		mu.Lock()
		defer mu.Unlock()
		last[b[1]] = append([]byte(nil), b...)
	}
	s.Capture.Store(&capture)
	out := map[string][]byte{}
	take := func(name string, msgType uint8) {
		mu.Lock()
		defer mu.Unlock()
		out[name] = last[msgType]
	}
	s.Associate()
	take("association_setup_response", message.MsgTypeAssociationSetupResponse)
	s.Heartbeat()
	take("heartbeat_response", message.MsgTypeHeartbeatResponse)

	urr := func(triggers []uint8, more ...*ie.IE) []*ie.IE {
		return append([]*ie.IE{ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(triggers...), ie.NewMeasurementInformation(0x11)}, more...)
	}
	phone := fakesmf.Phone
	phone.URR = urr([]uint8{0x12, 0, 0}, ie.NewVolumeThreshold(0x07, 1000, 1000, 1000))
	seid := s.Established(7, phone.Session()...)
	take("session_establishment_response", message.MsgTypeSessionEstablishmentResponse)
	_, sess := l.only()
	slot := sess.URRs[0].Slot
	l.upfu.Forward(slot, abi.Ul, 600)
	s.Report()
	take("session_report_request_start", message.MsgTypeSessionReportRequest)
	l.upfu.Forward(slot, abi.Dl, 600)
	s.Report()
	take("session_report_request_volume_threshold", message.MsgTypeSessionReportRequest)
	if err := l.upfu.Await(fakesmf.Patience, func() bool { return len(blobOf(t, l).Outbox) == 0 }); err != nil {
		t.Fatal(err)
	}
	s.Modify(seid, fakesmf.Phone.GNB(0x100, "172.30.3.100"))
	take("session_modification_response", message.MsgTypeSessionModificationResponse)
	s.Modify(seid, ie.NewQueryURR(ie.NewURRID(1)))
	take("session_modification_response_query", message.MsgTypeSessionModificationResponse)
	s.Modify(seid, ie.NewUpdateURR(append([]*ie.IE{ie.NewURRID(1)}, urr([]uint8{0, 0x81, 0}, ie.NewVolumeQuota(0x07, 10, 10, 10), ie.NewQuotaValidityTime(time.Second))...)...))
	l.upfu.Forward(slot, abi.Ul, 10)
	s.Report()
	take("session_report_request_volume_quota", message.MsgTypeSessionReportRequest)
	s.Report()
	take("session_report_request_quota_validity", message.MsgTypeSessionReportRequest)
	s.Modify(seid, ie.NewUpdateURR(append([]*ie.IE{ie.NewURRID(1)}, urr([]uint8{0x01, 0, 0}, ie.NewMeasurementPeriod(time.Second))...)...))
	s.Report()
	take("session_report_request_periodic", message.MsgTypeSessionReportRequest)
	if err := l.upfu.ErrorIndication(addr("172.30.3.100"), 0x100); err != nil {
		t.Fatal(err)
	}
	for r := s.Report(); !r.ReportType.HasERIR(); {
		r = s.Report()
	}
	take("session_report_request_error_indication", message.MsgTypeSessionReportRequest)
	s.Modify(seid, ie.NewUpdateURR(append([]*ie.IE{ie.NewURRID(1)}, urr([]uint8{0, 0, 0})...)...), fakesmf.Idle)
	index, _ := l.only()
	if err := l.upfu.DownlinkData(index, 2, 1); err != nil {
		t.Fatal(err)
	}
	for r := s.Report(); !r.ReportType.HasDLDR(); {
		r = s.Report()
	}
	take("session_report_request_downlink_data", message.MsgTypeSessionReportRequest)
	s.Delete(seid)
	take("session_deletion_response", message.MsgTypeSessionDeletionResponse)
	s.Delete(seid)
	take("session_deletion_response_refused", message.MsgTypeSessionDeletionResponse)

	chosen := s.Establish(8, ie.NewPDNType(1), coreFAR(1),
		ie.NewCreatePDR(ie.NewPDRID(1), ie.NewPrecedence(1), ie.NewFARID(1), ie.NewOuterHeaderRemoval(0, 0),
			ie.NewPDI(ie.NewSourceInterface(0), ie.NewNetworkInstance("internet"), ie.NewFTEID(0x05, 0, nil, nil, 0), ie.New(ie.UEIPAddress, []byte{0x10}))))
	fakesmf.WantCause(t, chosen.Cause, ie.CauseRequestAccepted)
	take("session_establishment_response_chosen", message.MsgTypeSessionEstablishmentResponse)
	s.Establish(9, phone.UplinkPDR(1, 1))
	take("session_establishment_response_refused", message.MsgTypeSessionEstablishmentResponse)
	if _, ok := s.Ask(message.NewAssociationReleaseRequest(s.NextSeq(), s.Node())).(*message.AssociationReleaseResponse); !ok {
		t.Fatal("no Association Release Response")
	}
	take("association_release_response", message.MsgTypeAssociationReleaseResponse)
	return out
}
