package namf

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/free5gc/openapi/models"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/ts29571"
)

// Every member that is written has the name and the form that the specification gives it: free5GC's models, which are
// made from that, know them all.
func TestMembersAreThoseOfTheSpecification(t *testing.T) {
	at, count := time.Now(), 3
	area := []ts29571.TAI{tai}
	n2 := N2{Kind: "SRC_TO_TAR_CONTAINER", Procedure: 12, Content: octets}
	cause := &NGAPCause{Value: 16}
	for sentence, c := range map[string]struct {
		value fielded
		into  any
	}{
		"a context":     {&TransferredContext{UE: whole, Radio: n2}, new(models.UeContextTransferRspData)},
		"its transfer":  {&TransferContext{Reason: "INIT_REG", Access: "3GPP_ACCESS", PLMN: &plmn, Registration: octets}, new(models.UeContextTransferReqData)},
		"its update":    {&RegistrationUpdate{Release: []uint8{1}, PolicyMoved: true}, new(models.UeRegStatusUpdateReqData)},
		"its handover":  {&CreateContext{UE: whole, Target: target, Source: n2, Sessions: []SessionN2{{1, n2, slice, true}}, NotifyURI: "http://x/y", Radio: n2, NGAP: cause, ServingNetwork: &plmn}, new(models.UeContextCreateData)},
		"handed over":   {&CreatedContext{UE: whole, Container: n2, Sessions: []SessionN2{{1, n2, slice, true}}, Failed: []SessionN2{{2, n2, nil, false}}}, new(models.UeContextCreatedData)},
		"its release":   {&ReleaseContext{SUPI: supi, Unauthenticated: true, NGAP: cause}, new(models.UeContextRelease)},
		"bearers":       {&EBIs{SessionID: 1, ARPs: []ts29571.ARP{{Priority: 1}}, Released: []int{5}}, new(models.AssignEbiData)},
		"messages":      {&Transfer{N1: octets, N1Class: ClassSM, N2: n2, N2Class: ClassSM, SessionID: 1, SNSSAI: slice, NFID: "n", SkipIndication: true, LastMessage: true, PPI: small(1), FiveQI: 9, ARP: &ts29571.ARP{Priority: 1}, FailureURI: "http://x/y", Areas: area, ExtendedBuffering: true, TargetAccess: "3GPP_ACCESS", CorrelationID: "c"}, new(models.N1N2MessageTransferReqData)},
		"N2 for a node": {&Transfer{N2: n2, N2Class: ClassRAN}, new(models.N1N2MessageTransferReqData)},
		"positioning":   {&Transfer{N2: n2, N2Class: ClassNRPPa}, new(models.N1N2MessageTransferReqData)},
		"subscription":  {&MessageSubscription{ClassLPP, "http://x/y", ClassNRPPa, "http://x/z", "n"}, new(models.UeN1N2InfoSubscriptionCreateData)},
		"a status":      {&StatusSubscription{"http://x/y", []ts29571.GUAMI{guami}}, new(models.AmfCommunicationSubscriptionData)},
		"a change":      {&StatusChange{[]Status{{[]ts29571.GUAMI{guami}, true, "a", "b"}}}, new(models.AmfStatusChangeNotification)},
		"N1 of a UE":    {&N1Message{"1", ClassLPP, octets, "c", &guami}, new(models.N1MessageNotification)},
		"N2 of a node":  {&N2Information{"1", ClassNRPPa, n2}, new(models.N2InformationNotification)},
		"a UE came":     {&HandoverNotification{"1", "HANDOVER_COMPLETED", []uint8{1}}, new(models.N2InformationNotification)},
		"a warning":     {&NonUE{Areas: area, RAT: "NR", Class: ClassPWS, N2: n2}, new(models.N2InformationTransferReqData)},
		"events": {&createdEvents{EventSubscription{
			Events: []Event{{LocationReport, true, area, []string{"TAI"}, "UE_REACHABLE_DL_TRAFFIC", 2}}, SUPI: supi, GPSI: "g", PEI: "p", Group: "x", AnyUE: true, NotifyURI: "http://x/y",
			CorrelationID: "c", NFID: "n", Trigger: "PERIODIC", MaxReports: 1, Period: time.Minute, Expiry: at,
		}, "1", nil}, new(models.AmfCreatedEventSubscription)},
		"reports": {&Reports{"c", []Report{{
			Type: FailureReport, Active: true, Remaining: 1, Time: at, SUPI: supi, AnyUE: true, Location: where, TimeZone: "+00:00", Access: []string{"3GPP_ACCESS"}, Registration: "REGISTERED",
			Connection: "IDLE", Reachability: "REACHABLE", Failure: cause, LossReason: "PURGED", UEs: &count,
		}}}, new(models.AmfEventNotification)},
	} {
		t.Run(sentence, func(t *testing.T) {
			f := sbi.Writing()
			c.value.fields(f)
			text, _, err := f.Written()
			if err != nil {
				t.Fatal(err)
			}
			d := json.NewDecoder(bytes.NewReader(text))
			d.DisallowUnknownFields()
			if err := d.Decode(c.into); err != nil {
				t.Errorf("%v: %s", err, text)
			}
		})
	}
}

// Whatever comes is answered as the specification says, and reaches a handler only if it can be.
func FuzzRequests(f *testing.F) {
	paths := []struct{ method, path string }{
		{"PUT", contexts + "/" + supi}, {"POST", contexts + "/" + supi + "/release"}, {"POST", contexts + "/" + supi + "/transfer"},
		{"POST", contexts + "/" + supi + "/transfer-update"}, {"POST", contexts + "/" + supi + "/assign-ebi"}, {"POST", contexts + "/" + supi + "/n1-n2-messages"},
		{"POST", contexts + "/" + supi + "/n1-n2-messages/subscriptions"}, {"POST", nonUE + "/transfer"}, {"POST", nonUE + "/subscriptions"}, {"POST", statuses},
		{"POST", events}, {"PATCH", events + "/1"}, {"PUT", mt + "/" + supi + "/ue-reachind"}, {"POST", location + "/" + supi + "/provide-loc-info"},
		{"POST", callbacks + "/ues/7/sessions/5"}, {"POST", callbacks + "/ues/7/policy/update"}, {"POST", callbacks + "/ues/7/deregistration"},
		{"POST", callbacks + "/ues/7/handover"}, {"POST", callbacks + "/amf-status"},
	}
	n2 := N2{Kind: "SRC_TO_TAR_CONTAINER", Content: octets}
	for n, v := range []fielded{
		&CreateContext{UE: whole, Target: target, Source: n2, Sessions: []SessionN2{{1, n2, slice, true}}}, &ReleaseContext{NGAP: &NGAPCause{}},
		&TransferContext{Reason: "INIT_REG", Access: "3GPP_ACCESS", Registration: octets}, &RegistrationUpdate{}, &EBIs{SessionID: 1, ARPs: []ts29571.ARP{{Priority: 1}}},
		&Transfer{N1: octets, N1Class: ClassSM, N2: n2, N2Class: ClassSM, SessionID: 1}, &MessageSubscription{N1Class: ClassLPP, N1URI: "http://x/y"},
		&NonUE{Class: ClassPWS, N2: n2}, &MessageSubscription{N2Class: ClassNRPPa, N2URI: "http://x/y"}, &StatusSubscription{URI: "http://x/y"},
		&createdEvents{subscription: EventSubscription{Events: []Event{{Type: LocationReport}}, AnyUE: true, NotifyURI: "http://x/y", CorrelationID: "c", NFID: "n"}},
	} {
		raw, err := write(v)
		if err != nil {
			f.Fatal(n, err)
		}
		f.Add(uint8(n), raw.ContentType, raw.Content)
	}
	for n, content := range []string{
		`[{"op":"replace","path":"/options/expiry","value":"2030-01-02T15:04:05Z"}]`, `{"reachability":"REACHABLE"}`, `{"req5gsLoc":true}`,
		`{"statusInfo":{"resourceStatus":"RELEASED"}}`, `{"rfsp":1}`, `{"deregReason":"X","accessType":"3GPP_ACCESS"}`, `{"n2NotifySubscriptionId":"1"}`,
		`{"amfStatusInfoList":[{"guamiList":[],"statusChange":"AMF_AVAILABLE"}]}`,
	} {
		f.Add(uint8(11+n), "application/json", []byte(content))
	}
	f.Fuzz(func(t *testing.T, operation uint8, kind string, content []byte) {
		s := &scripted{
			created: &CreatedContext{}, transferred: &TransferredContext{}, assigned: &AssignedEBIs{}, message: &Transferred{Result: "N1_N2_TRANSFER_INITIATED"},
			nonUE: &NonUETransferred{}, events: &EventSubscription{Events: []Event{{Type: LocationReport}}, AnyUE: true}, located: &Located{},
		}
		p := paths[int(operation)%len(paths)]
		req := httptest.NewRequest(p.method, p.path, bytes.NewReader(content))
		req.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		router(s, Options{}).ServeHTTP(w, req)
		switch {
		case w.Code < 300:
			if s.asked == nil {
				t.Errorf("%d, and the handler was not asked", w.Code)
			}
		case w.Code == http.StatusBadRequest || w.Code == http.StatusRequestEntityTooLarge || w.Code == http.StatusForbidden && p.method == "PATCH":
			if s.asked != nil {
				t.Errorf("%d, and the handler was asked %+v", w.Code, s.asked)
			}
		default:
			t.Errorf("%d %s", w.Code, w.Body)
		}
		v, is := s.asked.(fielded)
		if _, other := v.(*Transfer); !is || other { // of a class that is not known, there is nothing to write
			return
		}
		// What was read can be written.
		if _, err := write(v); err != nil {
			t.Fatalf("%+v: %v", v, err)
		}
	})
}
