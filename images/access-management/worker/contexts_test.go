package worker

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/namf"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/access-management/security"
	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/ts29571"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

// anotherAMF gives one UE.
type anotherAMF struct {
	requests
	asked  *namf.TransferContext
	name   string
	update *namf.RegistrationUpdate
	gives  *record.UE
}

func (a *anotherAMF) TransferContext(_ context.Context, ue string, t *namf.TransferContext) (*namf.TransferredContext, error) {
	a.name, a.asked = ue, t
	if a.gives == nil {
		return nil, &namf.Refused{Cause: namf.IntegrityCheckFailed}
	}
	return &namf.TransferredContext{UE: contextOf(a.gives)}, nil
}

func (a *anotherAMF) UpdateRegistration(_ context.Context, ue string, u *namf.RegistrationUpdate) error {
	a.name, a.update = ue, u
	return nil
}

// only that AMF is found, by its GUAMI.
type only struct {
	root  string
	guami ts29571.GUAMI
}

func (o only) Find(_ context.Context, s sbi.Service) ([]sbi.Endpoint, error) {
	if s.Type != "AMF" || s.GUAMI == nil || *s.GUAMI != o.guami {
		return nil, http.ErrNotSupported
	}
	return []sbi.Endpoint{{Root: o.root}}, nil
}
func (only) Failed(sbi.Service, sbi.Endpoint) {}

// A UE that comes with another AMF's 5G-GUTI is asked for there, as that AMF would answer if it were one of ours.
func TestAnotherAMFGivesItsUE(t *testing.T) {
	a := &anotherAMF{gives: &record.UE{
		SUPI: "imsi-208930000000001", PEI: "imeisv-4370816125816151", GPSI: "msisdn-1", Phase: record.Registered, Policy: "http://pcf/1",
		Security: &record.Security{Key: make([]byte, 32), Ciphering: 2, Integrity: 1, Identifier: 3, Uplink: 9}, Ability: []byte{0xf0, 0xf0}, Allowed: []record.Slice{{SST: 1}},
		Sessions: []record.Session{
			{ID: 1, Slice: record.Slice{SST: 1, SD: &[3]byte{1, 2, 3}}, DNN: "internet", SMF: "smf-9", Context: "http://smf-9/sm-contexts/1#001122334455", Up: true},
			{ID: 2, Slice: record.Slice{SST: 1}, DNN: "ims"}, // it is being made
		},
	}}
	router := sbi.NewRouter(slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	namf.Register(router, namf.Handlers{Contexts: a}, namf.Options{})
	server := httptest.NewServer(router)
	t.Cleanup(server.Close)
	guti := n1.GUTI{PLMN: mustPLMN(t, "208", "93"), Region: 0xca, Set: 0x3f8, Pointer: 5, TMSI: 0x2a}
	p := podAt(t, func() []string { return nil })
	p.Callbacks = namf.NewClient(sbi.NewClient(&http.Transport{}, only{server.URL, ts29571.GUAMI{PLMN: ts29571.PLMN{MCC: "208", MNC: "93"}, AMFID: "cafe05"}}, prometheus.NewRegistry()))
	s := &Shard{pod: p, log: slog.New(slog.DiscardHandler)}
	ask := procedure.AskOther{Number: 7, GUTI: guti, NAS: []byte{0x7e, 1, 2, 3}}
	got := s.other(t.Context(), ask).(procedure.Other)
	if len(got.Sessions) == 1 {
		uri, mark := record.UnmarkContext(got.Sessions[0].Context)
		if uri != "http://smf-9/sm-contexts/1" || len(mark) != 12 || mark == "001122334455" {
			t.Errorf("the SM context is %s", got.Sessions[0].Context)
		}
		got.Sessions[0].Context = ""
	}
	want := procedure.Other{Number: 7, Outcome: procedure.Done, SUPI: "imsi-208930000000001", PEI: "imeisv-4370816125816151", GPSI: "msisdn-1", Sessions: []record.Session{
		{ID: 1, Slice: record.Slice{SST: 1, SD: &[3]byte{1, 2, 3}}, DNN: "internet", SMF: "smf-9"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&namf.TransferContext{Reason: "MOBI_REG", Access: access3GPP, Registration: ask.NAS}, a.asked); diff != "" || a.name != "5g-guti-20893cafe050000002a" {
		t.Errorf("%s was asked for (-want +got):\n%s", a.name, diff)
	}
	s.told(t.Context(), procedure.TellOther{GUTI: guti, Taken: true})
	if diff := cmp.Diff(&namf.RegistrationUpdate{Transferred: true, PolicyMoved: true}, a.update); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	a.gives = nil
	if got := s.other(t.Context(), ask).(procedure.Other); got.Outcome != procedure.Refused || got.SUPI != "" {
		t.Errorf("refused: %+v", got)
	}
	ask.GUTI.Set = 1 // nobody serves that
	if got := s.other(t.Context(), ask).(procedure.Other); got.Outcome == procedure.Done {
		t.Errorf("of nobody: %+v", got)
	}
}

// What another AMF gets is a key that leads to none of this one's (TS 33.501 6.9.3).
func TestKeysForAnotherAMF(t *testing.T) {
	key := security.Key{7}
	got := contextOf(&record.UE{Security: &record.Security{Key: key[:], Uplink: 9}}).Security
	want := security.AMFPrimeKey(key, n1.Uplink, 8)
	if string(got.KAMF) != string(want[:]) || !got.Derived || string(got.KAMF) == string(key[:]) {
		t.Errorf("key %x, derived %t", got.KAMF, got.Derived)
	}
}

func TestTemporaryOf(t *testing.T) {
	s := &procedure.Settings{Region: 0xca, Set: 0x3f8}
	for name, want := range map[string]uint32{
		"5g-guti-20893cafe050000002a": 0x2a, "5g-guti-001001cafe000300002a": 0x0300002a, "5g-guti-20893cafd000000002a": 0, "5g-guti-20893cbfe000000002a": 0,
		"5g-guti-2089": 0, "imsi-208930000000001": 0, "5g-guti-20893cafe05zzzzzzzz": 0,
	} {
		if got := temporaryOf(name, s); got != want {
			t.Errorf("%s: %#x, want %#x", name, got, want)
		}
	}
}

func mustPLMN(t *testing.T, mcc, mnc string) n1.PLMN {
	t.Helper()
	p, err := n1.MakePLMN(mcc, mnc)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
