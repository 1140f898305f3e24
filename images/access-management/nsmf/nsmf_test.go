package nsmf

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/sbi/sbitest"
	"core5g.dev/core5g/images/nf/ts29571"
	smf "core5g.dev/core5g/images/session-management/nsmf"
)

// sessions is an SMF that answers as a test wants: the other side of the format.
type sessions struct {
	ref       string
	asked     any
	created   *smf.Created
	updated   *smf.Updated
	retrieved *smf.Retrieved
	err       error
}

func (s *sessions) Create(_ context.Context, c *smf.Create) (*smf.Created, error) {
	s.asked = c
	return s.created, s.err
}

func (s *sessions) Update(_ context.Context, ref string, u *smf.Update) (*smf.Updated, error) {
	s.ref, s.asked = ref, u
	return s.updated, s.err
}

func (s *sessions) Release(_ context.Context, ref string, r *smf.Release) error {
	s.ref, s.asked = ref, r
	return s.err
}

func (s *sessions) Retrieve(_ context.Context, ref string, r *smf.Retrieve) (*smf.Retrieved, error) {
	s.ref, s.asked = ref, r
	return s.retrieved, s.err
}

const set = "set1.smfset.5gc.mnc093.mcc208"

// serve gives the base URI of an SMF.
func serve(t *testing.T, s *sessions) *httptest.Server {
	t.Helper()
	r := sbi.NewRouter(slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	smf.Register(r, s, smf.Options{Binding: "bl=nf-set; nfset=" + set})
	return sbitest.Server(t, r)
}

// places is a finder that keeps who was looked for.
type places struct {
	list  []sbi.Endpoint
	asked sbi.Service
}

func (p *places) Find(_ context.Context, s sbi.Service) ([]sbi.Endpoint, error) {
	p.asked = s
	return p.list, nil
}

func (p *places) Failed(sbi.Service, sbi.Endpoint) {}

func client(t *testing.T, servers ...*httptest.Server) (*Client, *places) {
	t.Helper()
	p := &places{}
	for _, s := range servers {
		p.list = append(p.list, sbi.Endpoint{Root: s.URL, Instance: "of " + s.URL, Set: set})
	}
	return NewClient(sbi.NewClient(sbitest.Transport(t), p, prometheus.NewRegistry())), p
}

var (
	plmn  = ts29571.PLMN{MCC: "208", MNC: "93"}
	slice = ts29571.SNSSAI{SST: 1}
	tai   = ts29571.TAI{PLMN: plmn, TAC: "000001"}
	n1    = []byte{0x2e, 1, 1, 0xc1}
	n2    = []byte{1, 2, 3}
	five  = uint8(22)
	where = smf.Where{Access: "3GPP_ACCESS", RAT: "NR", TimeZone: "+00:00", PresenceInLADN: "IN_AREA", Location: &ts29571.Location{TAI: tai, CellPLMN: plmn, Cell: 16}}
	amf   = smf.AMF{
		InstanceID: "4d4a2b1e-7b1c-4a5e-9d3f-0a1b2c3d4e5f", GUAMI: &ts29571.GUAMI{PLMN: plmn, AMFID: "cafe00"}, ServingNetwork: plmn, NID: "0123456789a",
		StatusURI: "http://amf:8000/namf-callback/v1/imsi-208930000000001/sm-contexts/1", Backup: []string{"b"},
	}
	create = &smf.Create{
		SUPI: "imsi-208930000000001", PEI: "imei-1", GPSI: "msisdn-1", SessionID: 1, OldSessionID: 2, DNN: "internet", SelectedDNN: "other",
		SelectionMode: "VERIFIED", SNSSAI: &slice, HomeSNSSAI: &slice, AMF: amf, Where: where, Request: smf.ExistingSession, N1: n1, N2: n2, N2Type: smf.HandoverRequired,
		UpCnxState: smf.Activating, HoState: smf.HandoverPreparing, Target: &smf.Target{PLMN: plmn, GNB: "000001", GNBBits: 24, TAI: tai},
		PCFID: "p", UDMGroupID: "u", RoutingIndicator: "0", ExtendedTimers: true, SupportedFeatures: "f",
	}
)

// What is read of a location is kept as it came.
var same = cmpopts.IgnoreFields(ts29571.Location{}, "Raw")

func TestTheSMFReadsWhatTheAMFWrites(t *testing.T) {
	s := &sessions{
		created: &smf.Created{Ref: "s0-1-77", SessionID: 1, SNSSAI: &slice, N2: n2, N2Type: smf.SetupRequest, UpCnxState: smf.Activating, HoState: smf.HandoverPreparing, Recovery: time.Unix(1e9, 0).UTC()},
		updated: &smf.Updated{UpCnxState: smf.Activated, HoState: smf.HandoverPrepared, N1: n1, N2: n2, N2Type: smf.HandoverCommand, Cause: "REL_DUE_TO_HO", DataForwarding: true},
		retrieved: &smf.Retrieved{Context: &smf.Context{
			SessionID: 1, DNN: "internet", SNSSAI: slice, Type: "IPV4", AMBR: ts29571.AMBR{Uplink: 1e6, Downlink: 2e6},
			Flows: []smf.RetrievedFlow{{QFI: 1, Rules: []byte{1}}},
		}},
	}
	server := serve(t, s)
	c, p := client(t, server)
	at, created, err := c.Create(t.Context(), SMF{SNSSAI: &slice, DNN: "internet"}, create)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(create, s.asked, same); diff != "" {
		t.Errorf("create (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(s.created, created); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}
	want := sbi.Bound{
		URI: server.URL + path + "/s0-1-77", Instance: "of " + server.URL, Set: set, Binding: sbi.Binding{Level: sbi.BoundToSet, Set: set},
	}
	if diff := cmp.Diff(want, at); diff != "" {
		t.Errorf("context (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(sbi.Service{Type: "SMF", Name: "nsmf-pdusession", SNSSAI: &slice, DNN: "internet"}, p.asked); diff != "" {
		t.Errorf("looked for (-want +got):\n%s", diff)
	}

	update := &smf.Update{
		PEI: "x", AMF: amf, Where: where, AccessCanChange: true, AccessToReactivate: "3GPP_ACCESS", UpCnxState: smf.Deactivated, HoState: smf.HandoverCancelled,
		ToBeSwitched: true, N1: n1, N2: n2, N2Type: smf.PathSwitchRequest, N2Extension: n1, N2ExtensionType: smf.SecondaryRATUsage, TargetAMF: "t",
		DataForwarding: true, Release: true, Why: smf.Why{Cause: "REL_DUE_TO_SLICE_NOT_AVAILABLE", NGAP: &smf.NGAPCause{Group: 0, Value: 20}, FiveGMM: &five},
		SNSSAI: &slice, SkipN2Release: true, ExtendedTimers: true,
	}
	updated, at, err := c.Update(t.Context(), at, update)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(update, s.asked, same); diff != "" || s.ref != "s0-1-77" {
		t.Errorf("%s: update (-want +got):\n%s", s.ref, diff)
	}
	if diff := cmp.Diff(s.updated, updated); diff != "" {
		t.Errorf("updated (-want +got):\n%s", diff)
	}
	s.updated = &smf.Updated{}
	if updated, _, err := c.Update(t.Context(), at, &smf.Update{UpCnxState: smf.Activating}); err != nil || updated.UpCnxState != "" {
		t.Errorf("nothing to say: %+v, %v", updated, err)
	}

	retrieve := &smf.Retrieve{Kind: "SM_CONTEXT", ServingNetwork: plmn, NotToTransfer: []int{5}}
	retrieved, err := c.Retrieve(t.Context(), at, retrieve)
	if diff := cmp.Diff(s.retrieved, retrieved) + cmp.Diff(retrieve, s.asked); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}

	release := &smf.Release{Why: smf.Why{Cause: "REL_DUE_TO_DUPLICATE_SESSION_ID"}, Where: where, N2: n2, N2Type: smf.SecondaryRATUsage, VSMFOnly: true}
	if err := c.Release(t.Context(), at, release); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(release, s.asked, same); diff != "" {
		t.Errorf("release (-want +got):\n%s", diff)
	}
	s.err = &smf.Refused{Cause: smf.ContextNotFound}
	if err := c.Release(t.Context(), at, release); err != nil {
		t.Errorf("what has ended: %v", err)
	}
}

// The UE hears every reject that the SMF writes, IPv6 where there is none (cause 50) among them.
func TestRefusalsBringTheirN1(t *testing.T) {
	reject := []byte{0x2e, 1, 1, 0xc3, 50}
	for sentence, c := range map[string]struct {
		refused smf.Refused
		status  int
	}{
		"a type that is not served": {smf.Refused{Cause: smf.PDUTypeDenied, Detail: "IPv4 only", N1: reject}, 403},
		"a DNN that is not there":   {smf.Refused{Cause: smf.DNNNotSupported, N1: reject, N2: n2, N2Type: smf.SetupFail}, 403},
		"congestion":                {smf.Refused{Cause: smf.NFCongestion, N1: reject, RetryAfter: 3 * time.Second}, 503},
		"a context that is gone":    {smf.Refused{Cause: smf.ContextNotFound}, 404},
		"a half-done update":        {smf.Refused{Cause: smf.N2SMError, UpCnxState: smf.Deactivated}, 403},
	} {
		t.Run(sentence, func(t *testing.T) {
			cl, _ := client(t, serve(t, &sessions{err: &c.refused}))
			for _, do := range []func() error{
				func() error { _, _, err := cl.Create(t.Context(), SMF{}, create); return err },
				func() error {
					server := serve(t, &sessions{err: &c.refused})
					_, _, err := cl.Update(t.Context(), sbi.Bound{URI: server.URL + path + "/1"}, &smf.Update{})
					return err
				},
			} {
				got, ok := RefusalOf(do())
				if diff := cmp.Diff(Refusal{c.status, c.refused}, got); diff != "" || !ok {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if got.NotFound() != (c.refused.Cause == smf.ContextNotFound) {
					t.Errorf("not found: %v", got.NotFound())
				}
			}
		})
	}
	if _, ok := RefusalOf(&sbi.Unknown{Err: context.DeadlineExceeded}); ok {
		t.Error("nobody knows, and it counts as refused")
	}
}

func TestAContextMovesToAnotherOfTheSet(t *testing.T) {
	first, second := &sessions{created: &smf.Created{Ref: "7"}}, &sessions{updated: &smf.Updated{UpCnxState: smf.Activating}}
	dies, lives := serve(t, first), serve(t, second)
	c, p := client(t, dies, lives)
	at, _, err := c.Create(t.Context(), SMF{}, create)
	if err != nil {
		t.Fatal(err)
	}
	dies.Close()
	updated, moved, err := c.Update(t.Context(), at, &smf.Update{UpCnxState: smf.Activating})
	if err != nil || updated.UpCnxState != smf.Activating || second.ref != "7" {
		t.Fatalf("%+v, %v, ref %q", updated, err, second.ref)
	}
	if p.asked.Set != set || moved.URI != lives.URL+path+"/7" || moved.Instance != "of "+lives.URL {
		t.Errorf("looked for %+v, moved to %+v", p.asked, moved)
	}
}

func TestWhatIsNotSentAndWhatCannotBeRead(t *testing.T) {
	c, _ := client(t, serve(t, &sessions{}))
	var notSent *sbi.NotSent
	if _, _, err := c.Create(t.Context(), SMF{}, &smf.Create{}); !errors.As(err, &notSent) {
		t.Errorf("a Create of nothing: %v", err)
	}
	if _, _, err := c.Update(t.Context(), sbi.Bound{}, &smf.Update{N2: n2}); !errors.As(err, &notSent) {
		t.Errorf("N2 of no type: %v", err)
	}
	for name, answer := range map[string]http.HandlerFunc{
		"no Location": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201) },
		"no JSON": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/nsmf-pdusession/v1/sm-contexts/1")
			w.WriteHeader(201)
			_, _ = w.Write([]byte(`[]`))
		},
	} {
		c, _ := client(t, sbitest.Server(t, answer))
		var unknown *sbi.Unknown
		if _, _, err := c.Create(t.Context(), SMF{}, create); !errors.As(err, &unknown) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
