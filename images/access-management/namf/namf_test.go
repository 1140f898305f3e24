package namf

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"

	"core5g.dev/core5g/images/access-management/npcf"
	"core5g.dev/core5g/images/access-management/nudm"
	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/sbi/sbitest"
	"core5g.dev/core5g/images/nf/ts29571"
	consumer "core5g.dev/core5g/images/session-management/namf"
)

// scripted answers as a test wants, and keeps what it was asked.
type scripted struct {
	named string
	asked any
	err   error
	wait  bool // until the context ends

	created     *CreatedContext
	transferred *TransferredContext
	assigned    *AssignedEBIs
	message     *Transferred
	nonUE       *NonUETransferred
	reports     []Report
	events      *EventSubscription
	domain      *DomainSelection
	located     *Located
}

func (s *scripted) take(ctx context.Context, name string, asked any) error {
	s.named, s.asked = name, asked
	if s.wait {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.err
}

func (s *scripted) CreateContext(ctx context.Context, ue string, c *CreateContext) (*CreatedContext, error) {
	return s.created, s.take(ctx, ue, c)
}

func (s *scripted) ReleaseContext(ctx context.Context, ue string, r *ReleaseContext) error {
	return s.take(ctx, ue, r)
}

func (s *scripted) TransferContext(ctx context.Context, ue string, t *TransferContext) (*TransferredContext, error) {
	return s.transferred, s.take(ctx, ue, t)
}

func (s *scripted) UpdateRegistration(ctx context.Context, ue string, u *RegistrationUpdate) error {
	return s.take(ctx, ue, u)
}

func (s *scripted) RelocateContext(ctx context.Context, ue string, c *CreateContext) (*CreatedContext, error) {
	return s.created, s.take(ctx, "relocated "+ue, c)
}

func (s *scripted) CancelRelocation(ctx context.Context, ue string, r *ReleaseContext) error {
	return s.take(ctx, "cancelled "+ue, r)
}

func (s *scripted) AssignEBI(ctx context.Context, ue string, e *EBIs) (*AssignedEBIs, error) {
	return s.assigned, s.take(ctx, ue, e)
}

func (s *scripted) Transfer(ctx context.Context, ue string, t *Transfer) (*Transferred, error) {
	return s.message, s.take(ctx, ue, t)
}

func (s *scripted) SubscribeMessages(ctx context.Context, ue string, m *MessageSubscription) (string, error) {
	return "m1", s.take(ctx, ue, m)
}

func (s *scripted) UnsubscribeMessages(ctx context.Context, ue, id string) error {
	return s.take(ctx, ue, "end "+id)
}

func (s *scripted) TransferNonUE(ctx context.Context, n *NonUE) (*NonUETransferred, error) {
	return s.nonUE, s.take(ctx, "", n)
}

func (s *scripted) SubscribeNonUE(ctx context.Context, m *MessageSubscription) (string, error) {
	return "n1", s.take(ctx, "", m)
}

func (s *scripted) UnsubscribeNonUE(ctx context.Context, id string) error {
	return s.take(ctx, "", "end "+id)
}

func (s *scripted) SubscribeStatus(ctx context.Context, v *StatusSubscription) (string, error) {
	return "s1", s.take(ctx, "", v)
}

func (s *scripted) ReplaceStatus(ctx context.Context, id string, v *StatusSubscription) error {
	return s.take(ctx, id, v)
}

func (s *scripted) UnsubscribeStatus(ctx context.Context, id string) error {
	return s.take(ctx, "", "end "+id)
}

func (s *scripted) SubscribeEvents(ctx context.Context, e *EventSubscription) (string, []Report, error) {
	return "e1", s.reports, s.take(ctx, "", e)
}

func (s *scripted) ModifyEvents(ctx context.Context, id string, expiry time.Time) (*EventSubscription, error) {
	return s.events, s.take(ctx, id, expiry)
}

func (s *scripted) UnsubscribeEvents(ctx context.Context, id string) error {
	return s.take(ctx, "", "end "+id)
}

func (s *scripted) DomainSelection(ctx context.Context, ue string) (*DomainSelection, error) {
	return s.domain, s.take(ctx, ue, "domain")
}

func (s *scripted) EnableReachability(ctx context.Context, ue string) error {
	return s.take(ctx, ue, "reach")
}

func (s *scripted) Locate(ctx context.Context, ue string, l Locate) (*Located, error) {
	return s.located, s.take(ctx, ue, l)
}

func (s *scripted) SessionChanged(ctx context.Context, ref string, session uint8, v consumer.Status) error {
	return s.take(ctx, ref+"/"+string('0'+rune(session)), v)
}

func (s *scripted) PolicyChanged(ctx context.Context, ref string, d npcf.Decision) error {
	return s.take(ctx, ref, d)
}

func (s *scripted) PolicyEnded(ctx context.Context, ref string, v npcf.Termination) error {
	return s.take(ctx, ref, v)
}

func (s *scripted) Deregister(ctx context.Context, ref string, d nudm.Deregistration) error {
	return s.take(ctx, ref, d)
}

func (s *scripted) SubscriptionChanged(ctx context.Context, ref string, c nudm.Change) error {
	return s.take(ctx, ref, c)
}

func (s *scripted) HandedOver(ctx context.Context, ref string, h HandoverNotification) error {
	return s.take(ctx, ref, h)
}

func (s *scripted) AMFChanged(ctx context.Context, c StatusChange) error { return s.take(ctx, "", c) }

var bound = sbi.Binding{Level: sbi.BoundToSet, Set: "set3f8.regionca.amfset.5gc.mnc093.mcc208"}

func router(s *scripted, o Options) *sbi.Router {
	r := sbi.NewRouter(slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	Register(r, Handlers{s, s, s, s, s, s}, o)
	return r
}

// serve gives the base URI of a server of HTTP/2 in clear, and a client that finds it.
func serve(t *testing.T, h http.Handler) (string, *sbi.Client) {
	t.Helper()
	root := sbitest.Serve(t, h)
	return root, sbitest.Client(t, "AMF", root)
}

const supi = "imsi-208930000000001"

var (
	plmn   = ts29571.PLMN{MCC: "208", MNC: "93"}
	tai    = ts29571.TAI{PLMN: plmn, TAC: "000001"}
	guami  = ts29571.GUAMI{PLMN: plmn, AMFID: "cafe00"}
	slice  = &ts29571.SNSSAI{SST: 1}
	where  = &ts29571.Location{TAI: tai, CellPLMN: plmn, Cell: 16}
	target = &Target{PLMN: plmn, GNB: "000001", GNBBits: 24, TAI: tai}
	octets = []byte{1, 2, 3}
	number = func(n uint32) *uint32 { return &n }
	small  = func(n uint8) *uint8 { return &n }
	whole  = UEContext{
		SUPI: supi, GPSIs: []string{"msisdn-1"}, PEI: "imei-1", RFSP: 7, UsedRFSP: 8, AMBR: &ts29571.AMBR{Uplink: 1e6, Downlink: 2e6},
		Security:   &Security{KSI: 3, KAMF: []byte(strings.Repeat("k", 32)), NH: []byte(strings.Repeat("n", 32)), NCC: small(2), Derived: true, ChangeWanted: true},
		Capability: octets, PCFID: "p", PolicyURI: "http://pcf/1", PolicyTriggers: []string{"LOC_CH"}, ForbiddenRATs: []string{"EUTRA"},
		ForbiddenAreas: []ts29571.Area{{TACs: []string{"000002"}}}, ServiceArea: &ts29571.ServiceArea{Kind: "ALLOWED_AREAS"},
		Mobility: []Mobility{{Access: "3GPP_ACCESS", Integrity: "NIA2", Ciphering: "NEA2", Downlink: number(256), Uplink: number(0), Capability: octets, Allowed: []ts29571.SNSSAI{*slice}}},
		Sessions: []Session{{SessionID: 1, Ref: "http://smf/nsmf-pdusession/v1/sm-contexts/7", SNSSAI: slice, DNN: "internet", SelectedDNN: "x", Access: "3GPP_ACCESS", SMFInstanceID: "i", SMFBinding: "b"}},
	}
	// What is read of a location is kept as it came.
	same = cmpopts.IgnoreFields(ts29571.Location{}, "Raw")
)

func TestAMFsGiveUEsToEachOther(t *testing.T) {
	s := &scripted{
		created: &CreatedContext{
			UE: whole, Container: N2{Kind: "TAR_TO_SRC_CONTAINER", Content: octets}, Sessions: []SessionN2{{SessionID: 1, N2: N2{Kind: "HANDOVER_CMD", Content: octets}}},
			Failed: []SessionN2{{SessionID: 2, N2: N2{Kind: "HANDOVER_PREP_FAIL", Content: []byte{9}}}},
		},
		transferred: &TransferredContext{UE: whole, Radio: N2{Kind: "UE_RADIO_CAPABILITY", Content: octets}},
	}
	root, calls := serve(t, router(s, Options{Binding: bound}))
	c := NewClient(calls)
	asked := func(name string, want any) {
		t.Helper()
		if diff := cmp.Diff(want, s.asked, same); diff != "" || s.named != name {
			t.Errorf("%s (-want +got):\n%s", s.named, diff)
		}
	}

	transfer := &TransferContext{Reason: "MOBI_REG", Access: "3GPP_ACCESS", PLMN: &plmn, Registration: octets}
	transferred, err := c.TransferContext(t.Context(), AMF{GUAMI: &guami}, "5g-guti-20893cafe0000000001", transfer)
	if diff := cmp.Diff(s.transferred, transferred); diff != "" || err != nil {
		t.Errorf("transferred: %v (-want +got):\n%s", err, diff)
	}
	asked("5g-guti-20893cafe0000000001", transfer)

	update := &RegistrationUpdate{Transferred: true, Release: []uint8{2, 3}, PolicyMoved: true}
	if err := c.UpdateRegistration(t.Context(), AMF{}, supi, update); err != nil {
		t.Error(err)
	}
	asked(supi, update)

	create := &CreateContext{
		UE: whole, Target: target, Source: N2{Kind: "SRC_TO_TAR_CONTAINER", Procedure: 12, Content: octets},
		Sessions:  []SessionN2{{SessionID: 1, N2: N2{Kind: "HANDOVER_REQUIRED", Content: []byte{7}}, SNSSAI: slice, SubjectToHandover: true}, {SessionID: 2, N2: N2{Kind: "HANDOVER_REQUIRED", Content: []byte{8}}}},
		NotifyURI: HandoverURI(root, "7"), Radio: N2{Kind: "UE_RADIO_CAPABILITY", Content: octets}, NGAP: &NGAPCause{Group: 0, Value: 16}, ServingNetwork: &plmn,
	}
	created, at, err := c.CreateContext(t.Context(), AMF{Instance: "x"}, supi, create)
	if diff := cmp.Diff(s.created, created); diff != "" || err != nil {
		t.Errorf("created: %v (-want +got):\n%s", err, diff)
	}
	if at.URI != root+contexts+"/"+supi || at.Binding != bound {
		t.Errorf("resource %+v", at)
	}
	asked(supi, create)

	release := &ReleaseContext{SUPI: supi, NGAP: &NGAPCause{Group: 0, Value: 5}}
	if err := c.ReleaseContext(t.Context(), at, release); err != nil {
		t.Error(err)
	}
	asked(supi, release)
	s.err = &Refused{Cause: ContextNotFound}
	if err := c.ReleaseContext(t.Context(), at, release); err != nil {
		t.Errorf("what has ended: %v", err)
	}
	s.err = &Refused{Cause: HandoverFailure, Detail: "no room", NGAP: &NGAPCause{Group: 0, Value: 21}, Target: octets}
	_, _, err = c.CreateContext(t.Context(), AMF{}, supi, create)
	if r, ok := RefusalOf(err); !ok || !cmp.Equal(&r, s.err.(*Refused)) {
		t.Errorf("refused: %+v, %v", r, err)
	}
	if _, ok := RefusalOf(io.EOF); ok {
		t.Error("nobody knows, and it counts as refused")
	}
	s.err = nil
	subscription := &StatusSubscription{URI: StatusURI(root), GUAMIs: []ts29571.GUAMI{guami}}
	sub, err := c.SubscribeStatus(t.Context(), AMF{}, subscription)
	if err != nil || sub.URI != root+statuses+"/s1" {
		t.Errorf("%+v, %v", sub, err)
	}
	asked("", subscription)
	if err := c.UnsubscribeStatus(t.Context(), sub); err != nil || s.asked != "end s1" {
		t.Errorf("%v, %v", s.asked, err)
	}
}

// Keys are never printed.
func TestKeysAreHidden(t *testing.T) {
	for _, text := range []string{whole.Security.String(), whole.Security.GoString()} {
		if strings.Contains(text, "kkkk") || strings.Contains(text, "107") {
			t.Error(text)
		}
	}
	var s Security
	f := sbi.Reading(sbi.Content{"ngKsi": json.RawMessage(`{"tsc":"NATIVE","ksi":1}`), "keyAmf": json.RawMessage(`{"keyType":"KAMF","keyVal":"73656372657401"}`)}, sbi.Message{})
	if s.fields(f); f.Err() == nil || strings.Contains(f.Err().Error(), "7365") {
		t.Errorf("%v", f.Err())
	}
}

// The other side is what the SMF asks with.
func TestTheSMFsTransfers(t *testing.T) {
	ppi := uint8(3)
	ask := &consumer.Transfer{
		SUPI: supi, SessionID: 1, N1: octets, N2: []byte{4}, Kind: consumer.SetupRequest, SNSSAI: slice, FiveQI: 9, ARP: &ts29571.ARP{Priority: 8}, PPI: &ppi,
		FailureURI: "http://smf/x", Areas: []ts29571.TAI{tai}, SMFInstanceID: "i", SkipIndication: true, LastMessage: true, ExtendedBuffering: true, TargetAccess: "3GPP_ACCESS",
	}
	want := &Transfer{
		N1: octets, N1Class: ClassSM, N2: N2{Kind: "PDU_RES_SETUP_REQ", Content: []byte{4}}, N2Class: ClassSM, SessionID: 1, SNSSAI: slice, NFID: "i",
		SkipIndication: true, LastMessage: true, PPI: &ppi, FiveQI: 9, ARP: &ts29571.ARP{Priority: 8}, FailureURI: "http://smf/x", Areas: []ts29571.TAI{tai},
		ExtendedBuffering: true, TargetAccess: "3GPP_ACCESS",
	}
	for sentence, c := range map[string]struct {
		message Transferred
		id      string
	}{
		"it has left":      {Transferred{Result: consumer.Initiated}, ""},
		"not for an idle":  {Transferred{Result: consumer.NotTransferred}, ""},
		"the UE is paged":  {Transferred{consumer.Reaching, "42"}, "42"},
		"the UE is asleep": {Transferred{consumer.Waiting, "43"}, "43"},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := &scripted{message: &c.message}
			root, calls := serve(t, router(s, Options{}))
			got, err := consumer.NewClient(calls).Transfer(t.Context(), consumer.AMF{}, ask)
			outcome := consumer.Outcome{Result: c.message.Result}
			if c.id != "" {
				outcome.URI = MessageURI(root, supi, c.id)
			}
			if got != outcome || err != nil {
				t.Errorf("%+v, %v, want %+v", got, err, outcome)
			}
			if diff := cmp.Diff(want, s.asked); diff != "" || s.named != supi {
				t.Errorf("%s (-want +got):\n%s", s.named, diff)
			}
		})
	}
	arp := &ts29571.ARP{Priority: 1, MayPreempt: true}
	for sentence, c := range map[string]struct {
		refused Refused
		want    consumer.Refusal
	}{
		"nobody":                     {Refused{Cause: ContextNotFound}, consumer.Refusal{Reason: consumer.NoContext}},
		"a registration":             {Refused{Cause: RegistrationOngoing, RetryAfter: 1500 * time.Millisecond}, consumer.Refusal{Reason: consumer.Temporary, RetryAfter: 2 * time.Second}},
		"a handover":                 {Refused{Cause: HandoverOngoing}, consumer.Refusal{Reason: consumer.Temporary}},
		"a paging of higher ARP":     {Refused{Cause: HigherPriorityOngoing, HighestARP: arp}, consumer.Refusal{Reason: consumer.Busy, HighestARP: arp}},
		"an idle UE":                 {Refused{Cause: UEIdle}, consumer.Refusal{Reason: consumer.Idle}},
		"a UE where it may not be":   {Refused{Cause: NonAllowedArea}, consumer.Refusal{Reason: consumer.NotAllowed}},
		"a UE that cannot be paged":  {Refused{Cause: UENotReachable, MaxWaiting: time.Minute}, consumer.Refusal{Reason: consumer.Unreachable, MaxWaiting: time.Minute}},
		"an AMF that is overloaded":  {Refused{Cause: NFCongestion, RetryAfter: time.Second}, consumer.Refusal{Reason: consumer.Congested, RetryAfter: time.Second}},
		"a class that is not served": {Refused{Cause: NotImplemented}, consumer.Refusal{Reason: consumer.Other}},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, calls := serve(t, router(&scripted{err: &c.refused}, Options{}))
			_, err := consumer.NewClient(calls).Transfer(t.Context(), consumer.AMF{}, ask)
			got, ok := consumer.RefusalOf(err)
			c.want.Cause = string(c.refused.Cause)
			if diff := cmp.Diff(c.want, got); diff != "" || !ok {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			var refused *sbi.Refused
			if !errors.As(err, &refused) || refused.Status != c.refused.Cause.Status() {
				t.Errorf("%v", err)
			}
		})
	}
}

// A network access identifier may have letters that mean something else in a path (TS 23.003 28.7.2, RFC 7542 2.2).
const odd = "nai-a/b//../%2F?c#d+e=&é@example.com"

func TestUEsWhoseNamesPathsEscape(t *testing.T) {
	s := &scripted{message: &Transferred{consumer.Reaching, "42"}, transferred: &TransferredContext{UE: whole}, created: &CreatedContext{UE: whole}}
	root, calls := serve(t, router(s, Options{}))
	client, at := NewClient(calls), AMF{Instance: "i"}
	for operation, do := range map[string]func() (resource string, err error){
		"N1N2MessageTransfer": func() (string, error) {
			got, err := consumer.NewClient(calls).Transfer(t.Context(), consumer.AMF{}, &consumer.Transfer{SUPI: odd, SessionID: 1, N1: octets})
			return got.URI, err
		},
		"UEContextTransfer": func() (string, error) {
			_, err := client.TransferContext(t.Context(), at, odd, &TransferContext{Reason: "MOBI_REG", Access: "3GPP_ACCESS"})
			return "", err
		},
		"CreateUEContext": func() (string, error) {
			_, made, err := client.CreateContext(t.Context(), at, odd, &CreateContext{UE: whole, Target: target, Source: N2{Kind: "SRC_TO_TAR_CONTAINER", Content: octets}, NotifyURI: HandoverURI(root, "7"), ServingNetwork: &plmn,
				Sessions: []SessionN2{{SessionID: 1, N2: N2{Kind: "HANDOVER_REQUIRED", Content: octets}, SNSSAI: slice}},
			})
			return made.URI, err
		},
	} {
		s.named = ""
		resource, err := do()
		if err != nil || s.named != odd {
			t.Errorf("%s: of %q, %v", operation, s.named, err)
		}
		if resource == "" {
			continue
		}
		u, err := url.Parse(resource)
		if err != nil {
			t.Fatal(err)
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(u.EscapedPath(), contexts+"/"), "/")
		if got, err := url.PathUnescape(name); got != odd || err != nil || !strings.HasPrefix(resource, root) {
			t.Errorf("%s: the resource %s is of %q, %v", operation, resource, got, err)
		}
	}
}

// What the AMF tells is read where it is taken: by the SMF, the LMF, other AMFs.
func TestNotifications(t *testing.T) {
	var kept *http.Request
	var body []byte
	root, calls := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		kept = r
		w.WriteHeader(http.StatusNoContent)
	}))
	c := NewClient(calls)
	again := func() *http.Request {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(string(body)))
		r.Header = kept.Header
		return r
	}
	failure := consumer.Failure{Cause: "UE_NOT_RESPONDING", URI: "http://amf/1", RetryAfter: 3}
	if err := c.TransferFailed(t.Context(), root+"/x", failure); err != nil {
		t.Fatal(err)
	}
	if got, err := consumer.ReadFailure(again()); err != nil || got != failure {
		t.Errorf("%+v, %v", got, err)
	}
	if kept.URL.Path != "/x" || kept.Header.Get("3gpp-Sbi-Callback") != "Namf_Communication_onN1N2TransferFailure" {
		t.Errorf("%s %v", kept.URL, kept.Header)
	}
	count := 7
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, v := range []struct {
		want, into fielded
		send       func() error
	}{
		{&N1Message{"1", ClassLPP, octets, "c", &guami}, new(N1Message), nil},
		{&N2Information{"2", ClassNRPPa, N2{Kind: "NRPPA_PDU", Content: octets}}, new(N2Information), nil},
		{&HandoverNotification{"3", "HANDOVER_COMPLETED", []uint8{5}}, new(HandoverNotification), nil},
		{&StatusChange{[]Status{{[]ts29571.GUAMI{guami}, false, "amf-b", ""}, {[]ts29571.GUAMI{guami}, true, "", ""}}}, new(StatusChange), nil},
		{&Reports{"c", []Report{
			{Type: LocationReport, Active: true, Remaining: 2, Time: at, SUPI: supi, Location: where, TimeZone: "+00:00", Access: []string{"3GPP_ACCESS"}},
			{Type: RegistrationReport, Time: at, Registration: "DEREGISTERED", Connection: "IDLE", Reachability: "UNREACHABLE"},
			{Type: FailureReport, Time: at, Failure: &NGAPCause{Value: 21}, LossReason: "PURGED"}, {Type: UEsInAreaReport, Time: at, AnyUE: true, UEs: &count},
			{Type: PresenceReport, Active: true, Time: at, SUPI: supi, Presence: "IN_AREA", Areas: []ts29571.TAI{tai}},
		}}, new(Reports), nil},
	} {
		var err error
		switch n := v.want.(type) {
		case *N1Message:
			err = c.NotifyN1(t.Context(), root, n)
		case *N2Information:
			err = c.NotifyN2(t.Context(), root, n)
		case *HandoverNotification:
			err = c.NotifyHandover(t.Context(), root, n)
		case *StatusChange:
			err = c.NotifyStatus(t.Context(), root, n)
		case *Reports:
			err = c.NotifyEvents(t.Context(), root, n)
		}
		if err != nil {
			t.Fatalf("%T: %v", v.want, err)
		}
		if err := read(again(), v.into); err != nil {
			t.Fatalf("%T: %v", v.want, err)
		}
		if diff := cmp.Diff(v.want, v.into, same); diff != "" {
			t.Errorf("(-want +got):\n%s\n%s", diff, body)
		}
	}
	var notSent *sbi.NotSent
	if err := c.NotifyStatus(t.Context(), root, &StatusChange{}); !errors.As(err, &notSent) {
		t.Errorf("a change of nothing: %v", err)
	}
}

// exchange is a request with JSON, and what it is answered.
type exchange struct {
	method, path, content string
	script                scripted
	// asked is what the handler is to see, nil: nothing. named is the UE or the identifier.
	named string
	asked any
	// status and text of the answer, location below the root.
	status         int
	text, location string
}

func TestRequests(t *testing.T) {
	at := time.Date(2030, 1, 2, 15, 4, 5, 0, time.UTC)
	event := EventSubscription{
		Events: []Event{{Type: LocationReport, Immediate: true, Areas: []ts29571.TAI{tai}, Filters: []string{"TAI"}, MaxReports: 2}}, SUPI: supi,
		NotifyURI: "http://x/y", CorrelationID: "c", NFID: "n", Trigger: "PERIODIC", MaxReports: 3, Period: time.Minute, Expiry: at,
	}
	const eventText = `{"eventList":[{"type":"LOCATION_REPORT","immediateFlag":true,"areaList":[{"presenceInfo":{"trackingAreaList":[{"plmnId":{"mcc":"208","mnc":"93"},"tac":"000001"}]}}],"locationFilterList":["TAI"],"maxReports":2}],` +
		`"eventNotifyUri":"http://x/y","notifyCorrelationId":"c","nfId":"n","supi":"imsi-208930000000001","options":{"trigger":"PERIODIC","maxReports":3,"expiry":"2030-01-02T15:04:05Z","repPeriod":60}}`
	refused := scripted{err: &Refused{Cause: UENotReachable, Detail: "asleep", RetryAfter: 2 * time.Second}}
	messages := contexts + "/" + supi + "/n1-n2-messages"
	for sentence, c := range map[string]exchange{
		"EBIs are refused with all of their ARPs": {
			method: "POST", path: contexts + "/" + supi + "/assign-ebi", content: `{"pduSessionId":1,"arpList":[{"priorityLevel":8}]}`,
			script: scripted{err: &Refused{Cause: EBIRejectedNoN26, Detail: "there is no EPS"}}, named: supi, asked: &EBIs{SessionID: 1, ARPs: []ts29571.ARP{{Priority: 8}}},
			status: 403, text: `"failureDetails":{"failedArpList":[{"priorityLevel":8,"preemptCap":"NOT_PREEMPT","preemptVuln":"NOT_PREEMPTABLE"}],"pduSessionId":1}`,
		},
		"EBIs": {
			method: "POST", path: contexts + "/" + supi + "/assign-ebi", content: `{"pduSessionId":1,"releasedEbiList":[5]}`,
			script: scripted{assigned: &AssignedEBIs{Released: []int{5}}}, named: supi, asked: &EBIs{SessionID: 1, Released: []int{5}},
			status: 200, text: `{"pduSessionId":1,"assignedEbiList":[],"releasedEbiList":[5]}`,
		},
		"a relocation taken back": {
			method: "POST", path: contexts + "/" + supi + "/cancel-relocate", content: `{"supi":"x","ngapCause":{"group":0,"value":1}}`,
			named: "cancelled " + supi, asked: &ReleaseContext{SUPI: "x", NGAP: &NGAPCause{Value: 1}}, status: 204,
		},
		"messages of a UE": {
			method: "POST", path: messages + "/subscriptions", content: `{"n1MessageClass":"LPP","n1NotifyCallbackUri":"http://lmf/x","nfId":"l"}`,
			named: supi, asked: &MessageSubscription{N1Class: "LPP", N1URI: "http://lmf/x", NFID: "l"},
			status: 201, text: `{"n1n2NotifySubscriptionId":"m1"}`, location: messages + "/subscriptions/m1",
		},
		"messages to nowhere":     {method: "POST", path: messages + "/subscriptions", content: `{"n1MessageClass":"LPP"}`, status: 400, text: "n1NotifyCallbackUri is mandatory"},
		"messages of no class":    {method: "POST", path: messages + "/subscriptions", content: `{}`, status: 400, text: "n1MessageClass or n2InformationClass"},
		"messages no more":        {method: "DELETE", path: messages + "/subscriptions/m1", named: supi, asked: "end m1", status: 204},
		"messages of nobody":      {method: "DELETE", path: contexts + "/nobody/n1-n2-messages/subscriptions/m1", status: 404, text: "CONTEXT_NOT_FOUND"},
		"a transfer of nothing":   {method: "POST", path: messages, content: `{"pduSessionId":1}`, status: 400, text: "write one of them at least"},
		"a transfer of no 5GSM":   {method: "POST", path: messages, content: `{"n1MessageContainer":{"n1MessageClass":"SM"}}`, status: 400, text: "n1MessageContent is mandatory"},
		"N2 of a class without":   {method: "POST", path: messages, content: `{"n2InfoContainer":{"n2InformationClass":"RAN"}}`, status: 400, text: "no ngapData"},
		"N2 of a class of others": {method: "POST", path: messages, content: `{"n2InfoContainer":{"n2InformationClass":"V2X"}}`, script: scripted{err: &Refused{Cause: NotImplemented}}, named: supi, asked: &Transfer{N2Class: "V2X"}, status: 501, text: `{"error":{`},
		"N2 of no UE": {
			method: "POST", path: nonUE + "/subscriptions", content: `{"n2InformationClass":"NRPPa","n2NotifyCallbackUri":"http://lmf/x"}`,
			asked: &MessageSubscription{N2Class: "NRPPa", N2URI: "http://lmf/x"}, status: 201, text: `{"n2InformationClass":"NRPPa","n2NotifySubscriptionId":"n1"}`, location: nonUE + "/subscriptions/n1",
		},
		"N2 of no UE no more":  {method: "DELETE", path: nonUE + "/subscriptions/n1", asked: "end n1", status: 204},
		"a warning of nothing": {method: "POST", path: nonUE + "/transfer", content: `{"n2Information":{"n2InformationClass":"PWS","pwsInfo":{"messageIdentifier":1,"serialNumber":2}}}`, status: 400, text: "no ngapData"},
		"no information":       {method: "POST", path: nonUE + "/transfer", content: `{}`, status: 400, text: "n2Information is mandatory"},
		"another status": {
			method: "PUT", path: statuses + "/s1", content: `{"amfStatusUri":"http://x/y"}`, named: "s1", asked: &StatusSubscription{URI: "http://x/y"},
			status: 200, text: `{"amfStatusUri":"http://x/y"}`,
		},
		"a status of nowhere":    {method: "POST", path: statuses, content: `{"amfStatusUri":"y"}`, status: 400, text: "write http://host:port/path"},
		"a status of nobody":     {method: "DELETE", path: statuses + "/s1", script: scripted{err: &Refused{Cause: SubscriptionNotFound}}, asked: "end s1", status: 404, text: "SUBSCRIPTION_NOT_FOUND"},
		"an identifier of a SUB": {method: "DELETE", path: statuses + "/a%2Fb", status: 404, text: "SUBSCRIPTION_NOT_FOUND"},
		"events": {
			method: "POST", path: events, content: `{"subscription":` + eventText + `}`, asked: &event,
			script: scripted{reports: []Report{{Type: LocationReport, Active: true, Time: at, SUPI: supi, Location: where}}},
			status: 201, text: `"reportList":[{"type":"LOCATION_REPORT","state":{"active":true},"timeStamp":"2030-01-02T15:04:05Z","supi":"imsi-208930000000001","location":{"nrLocation":`, location: events + "/e1",
		},
		"events of nobody":    {method: "POST", path: events, content: `{"subscription":` + strings.Replace(eventText, `"supi":`, `"x":`, 1) + `}`, status: 400, text: "supi, gpsi, pei, groupId or anyUE"},
		"no events":           {method: "POST", path: events, content: `{"subscription":{"eventNotifyUri":"http://x","notifyCorrelationId":"c","nfId":"n","anyUE":true}}`, status: 400, text: "eventList"},
		"events at no period": {method: "POST", path: events, content: `{"subscription":` + strings.Replace(eventText, `"repPeriod":60`, `"x":1`, 1) + `}`, status: 400, text: "repPeriod is mandatory"},
		"no subscription":     {method: "POST", path: events, content: `{}`, status: 400, text: "subscription is mandatory"},
		"another end":         {method: "PATCH", path: events + "/e1", content: `[{"op":"replace","path":"/options/expiry","value":"2030-01-02T15:04:05Z"}]`, script: scripted{events: &event}, named: "e1", asked: at, status: 200, text: `{"subscription":` + eventText + `}`},
		"other events":        {method: "PATCH", path: events + "/e1", content: `[{"op":"add","path":"/eventList/1","value":{}}]`, status: 403, text: "only the end can be changed"},
		"an end that is none": {method: "PATCH", path: events + "/e1", content: `[{"op":"replace","path":"options/expiry","value":"soon"}]`, status: 400, text: "write a time"},
		"events no more":      {method: "DELETE", path: events + "/e1", asked: "end e1", status: 204},
		"where a call ends": {
			method: "GET", path: mt + "/" + supi + "?info-class=TADS", script: scripted{domain: &DomainSelection{LastActivity: at, Access: "3GPP_ACCESS", RAT: "NR"}}, named: supi, asked: "domain",
			status: 200, text: `{"supportVoPS":false,"lastActTime":"2030-01-02T15:04:05Z","accessType":"3GPP_ACCESS","ratType":"NR"}`,
		},
		"another class":       {method: "GET", path: mt + "/" + supi + "?info-class=X", status: 400, text: "write TADS"},
		"a UE that is wanted": {method: "PUT", path: mt + "/" + supi + "/ue-reachind", content: `{"reachability":"REACHABLE"}`, named: supi, asked: "reach", status: 200, text: `{"reachability":"REACHABLE"}`},
		"a UE that is asleep": {method: "PUT", path: mt + "/" + supi + "/ue-reachind", content: `{"reachability":"REACHABLE"}`, script: refused, named: supi, asked: "reach", status: 504, text: "UE_NOT_REACHABLE"},
		"a UE that is not":    {method: "PUT", path: mt + "/" + supi + "/ue-reachind", content: `{"reachability":"UNREACHABLE"}`, status: 400, text: "write REACHABLE"},
		"where a UE is": {
			method: "POST", path: location + "/" + supi + "/provide-loc-info", content: `{"req5gsLoc":true,"reqCurrentLoc":true,"reqRatType":true,"reqTimeZone":true}`,
			script: scripted{located: &Located{Location: where, Age: 90 * time.Second, RAT: "NR", TimeZone: "+01:00"}}, named: supi, asked: Locate{true, true, true, true},
			status: 200, text: `"ageOfLocationInformation":1,"ratType":"NR","timezone":"+01:00"`,
		},
		"a position":            {method: "POST", path: location + "/" + supi + "/provide-pos-info", content: `{}`, status: 403, text: "POSITIONING_DENIED"},
		"a position no more":    {method: "POST", path: location + "/" + supi + "/cancel-pos-info", content: `{}`, status: 403, text: "POSITIONING_DENIED"},
		"our own failure":       {method: "PUT", path: mt + "/" + supi + "/ue-reachind", content: `{"reachability":"REACHABLE"}`, script: scripted{err: io.EOF}, named: supi, asked: "reach", status: 500, text: "SYSTEM_FAILURE"},
		"a handler that hangs":  {method: "PUT", path: mt + "/" + supi + "/ue-reachind", content: `{"reachability":"REACHABLE"}`, script: scripted{wait: true}, named: supi, asked: "reach", status: 504, text: "TIMED_OUT_REQUEST"},
		"a transfer that hangs": {method: "POST", path: messages, content: `{"n2InfoContainer":{"n2InformationClass":"V2X"}}`, script: scripted{wait: true}, named: supi, asked: &Transfer{N2Class: "V2X"}, status: 504, text: `{"error":{"title":"Gateway Timeout","status":504`},
		"a transfer of what for": {
			method: "POST", path: contexts + "/" + supi + "/transfer", content: `{"reason":"FUN","accessType":"3GPP_ACCESS"}`, status: 400, text: "INIT_REG",
		},
		"a status of the transfer": {method: "POST", path: contexts + "/" + supi + "/transfer-update", content: `{"transferStatus":"PERHAPS"}`, status: 400, text: "NOT_TRANSFERRED"},
		"a handover without a UE":  {method: "PUT", path: contexts + "/" + supi, content: `{}`, status: 400, text: "ueContext is mandatory"},
	} {
		t.Run(sentence, func(t *testing.T) {
			limit := time.Duration(0)
			if c.script.wait {
				limit = time.Millisecond
			}
			root, _ := serve(t, router(&c.script, Options{Limit: limit}))
			status, header, text := do(t, c.method, root+c.path, c.content)
			if status != c.status || !strings.Contains(text, c.text) {
				t.Errorf("%d %s, want %d %s", status, text, c.status, c.text)
			}
			if diff := cmp.Diff(c.asked, c.script.asked, same); diff != "" || c.script.named != c.named {
				t.Errorf("%s (-want +got):\n%s", c.script.named, diff)
			}
			if c.location != "" && header.Get("Location") != root+c.location {
				t.Errorf("Location %q", header.Get("Location"))
			}
		})
	}
}

func do(t *testing.T, method, uri, content string) (int, http.Header, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, uri, strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := sbitest.Transport(t).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(raw)
}

func TestWarnings(t *testing.T) {
	s := &scripted{nonUE: &NonUETransferred{NotSentTo: []ts29571.TAI{tai}}}
	root, calls := serve(t, router(s, Options{}))
	one, two := uint16(1), uint16(2)
	warning := &NonUE{Areas: []ts29571.TAI{tai}, RAT: "NR", Class: ClassPWS, N2: N2{Procedure: 51, Content: octets}, Message: &one, Serial: &two}
	f := sbi.Writing()
	warning.fields(f)
	text, parts, err := f.Written()
	if err != nil {
		t.Fatal(err)
	}
	reply, err := calls.Do(t.Context(), sbi.Call{Operation: "x", Method: http.MethodPost, URI: root + nonUE + "/transfer", JSON: text, Parts: parts})
	if err != nil || !strings.Contains(string(reply.Message.JSON), `"pwsRspData":{"messageIdentifier":1,"serialNumber":2,"unknownTaiList":[{`) {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff(warning, s.asked); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCallbacks(t *testing.T) {
	for sentence, c := range map[string]struct {
		uri     func(root string) string
		content string
		err     error
		named   string
		want    any
		status  int
		text    string
	}{
		"a session has ended": {
			uri: func(root string) string { return SessionURI(root, "7", 5) }, content: `{"statusInfo":{"resourceStatus":"RELEASED","cause":"REL_DUE_TO_REACTIVATION"}}`,
			named: "7/5", want: consumer.Released("REL_DUE_TO_REACTIVATION"), status: 204,
		},
		"of a UE with the longest name": {
			uri: func(root string) string { return PolicyURI(root, strings.Repeat("f", mostID)) + "/update" }, content: `{"resourceUri":"x","rfsp":3}`,
			named: strings.Repeat("f", mostID), want: npcf.Decision{RFSP: 3}, status: 204,
		},
		"of a UE that is not here": {
			uri: func(root string) string { return SessionURI(root, "7", 5) }, content: `{"statusInfo":{"resourceStatus":"RELEASED"}}`, err: &Refused{Cause: ContextNotFound},
			named: "7/5", want: consumer.Released(""), status: 404, text: "CONTEXT_NOT_FOUND",
		},
		"a session 16":        {uri: func(root string) string { return SessionURI(root, "7", 16) }, content: `{}`, status: 404, text: "1 to 15"},
		"a status of nothing": {uri: func(root string) string { return SessionURI(root, "7", 5) }, content: `{"statusInfo":{}}`, status: 400, text: "resourceStatus is mandatory"},
		"another policy": {
			uri: func(root string) string { return PolicyURI(root, "7") + "/update" }, content: `{"resourceUri":"x","rfsp":3}`, named: "7", want: npcf.Decision{RFSP: 3}, status: 204,
		},
		"no policy": {
			uri: func(root string) string { return PolicyURI(root, "7") + "/terminate" }, content: `{"resourceUri":"x","cause":"UNSPECIFIED"}`, named: "7", want: npcf.Termination{URI: "x", Cause: "UNSPECIFIED"}, status: 204,
		},
		"another AMF": {
			uri: func(root string) string { return DeregistrationURI(root, "7") }, content: `{"deregReason":"UE_INITIAL_REGISTRATION","accessType":"3GPP_ACCESS"}`,
			named: "7", want: nudm.Deregistration{Reason: "UE_INITIAL_REGISTRATION", Access: "3GPP_ACCESS"}, status: 204,
		},
		"another subscription": {
			uri: func(root string) string { return SubscriptionURI(root, "7") }, content: `{"notifyItems":[{"resourceId":"x/am-data"}]}`, named: "7", want: nudm.Change{Resources: []string{"x/am-data"}}, status: 204,
		},
		"a UE that has come": {
			uri: func(root string) string { return HandoverURI(root, "7") }, content: `{"n2NotifySubscriptionId":"1","notifyReason":"HANDOVER_COMPLETED","toReleaseSessionList":[3]}`,
			named: "7", want: HandoverNotification{"1", "HANDOVER_COMPLETED", []uint8{3}}, status: 204,
		},
		"an AMF that goes": {
			uri: StatusURI, content: `{"amfStatusInfoList":[{"guamiList":[{"plmnId":{"mcc":"208","mnc":"93"},"amfId":"cafe00"}],"statusChange":"AMF_UNAVAILABLE","targetAmfRemoval":"b"}]}`,
			want: StatusChange{[]Status{{GUAMIs: []ts29571.GUAMI{guami}, TargetRemoval: "b"}}}, status: 204,
		},
		"an AMF of no GUAMI":   {uri: StatusURI, content: `{"amfStatusInfoList":[{"statusChange":"AMF_UNAVAILABLE"}]}`, status: 400, text: "guamiList is mandatory"},
		"a reference of a UE":  {uri: func(root string) string { return PolicyURI(root, "a%2Fb") + "/update" }, content: `{}`, status: 404, text: "CONTEXT_NOT_FOUND"},
		"what is no UE's name": {uri: func(root string) string { return root + callbacks + "/ues/7/x" }, content: `{}`, status: 404, text: "RESOURCE_URI_STRUCTURE_NOT_FOUND"},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := &scripted{err: c.err}
			root, _ := serve(t, router(s, Options{}))
			status, _, text := do(t, http.MethodPost, c.uri(root), c.content)
			if status != c.status || !strings.Contains(text, c.text) {
				t.Errorf("%d %s", status, text)
			}
			if diff := cmp.Diff(c.want, s.asked); diff != "" || s.named != c.named {
				t.Errorf("%s (-want +got):\n%s", s.named, diff)
			}
		})
	}
}

func TestNamesOfUEs(t *testing.T) {
	for name, want := range map[string]bool{
		supi: true, "nai-a@b": true, "5g-guti-20893cafe0000000001": true, "imei-1": true, "imeisv-1": true, "cid-x": true,
		"imsi-": false, "nobody": false, "imsi-" + strings.Repeat("1", 300): false, "imsi-1%00": false,
		"nai-a%2Fb%20c": false, "nai-a%2Fb%3Fc%23d@e": true, "nai-%ff": false,
	} {
		s := &scripted{domain: &DomainSelection{}}
		root, _ := serve(t, router(s, Options{}))
		if status, _, text := do(t, http.MethodGet, root+mt+"/"+name, ""); (status == 200) != want || !want && status != 404 {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
}
