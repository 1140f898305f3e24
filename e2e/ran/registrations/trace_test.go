package registrations

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/signalling"

	"github.com/google/go-cmp/cmp"
)

// trace what every pod keeps of a UE, in the order of time.
func (s *story) trace(n int) (out []signalling.Entry) {
	s.t.Helper()
	tracers := []*signalling.Tracer{s.smfTracer}
	for _, w := range s.living() {
		tracers = append(tracers, w.Tracer)
	}
	for _, x := range tracers {
		page, err := x.Trace(supi(n), time.Minute, true, 0)
		if err != nil {
			s.t.Fatal(err)
		}
		out = append(out, page.Entries...)
	}
	slices.SortStableFunc(out, func(a, b signalling.Entry) int { return a.At.Compare(b.At) })
	return out
}

func of(list []signalling.Entry, protocol string) (out []string) {
	for _, e := range list {
		if e.Protocol == protocol {
			out = append(out, strings.TrimSpace(e.From+" "+e.Message+" "+e.Cause))
		}
	}
	return out
}

// What is said for a UE is seen from its first message on, at all functions, without a key, and goes on at the worker that takes its shard over. Of a UE that is not
// traced nothing is kept.
func TestASignallingTrace(t *testing.T) {
	s := begin(t)
	s.trace(1)
	p := s.attach(1)
	s.attach(2)
	list := s.trace(1)
	nas := slices.DeleteFunc(of(list, signalling.NAS), func(m string) bool { return strings.Contains(m, "Configuration Update") }) // it goes on beside
	want := []string{
		"UE Registration Request", "AMF Authentication Request", "UE Authentication Response", "AMF Security Mode Command", "UE Security Mode Complete",
		"AMF Registration Accept", "UE Registration Complete", "UE UL NAS Transport", "UE PDU Session Establishment Request", "SMF PDU Session Establishment Accept",
		"AMF DL NAS Transport",
	}
	if diff := cmp.Diff(want, nas); diff != "" {
		t.Errorf("NAS (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"SMF session_establishment_request", "UPF session_establishment_response request_accepted", "SMF session_modification_request",
		"UPF session_modification_response request_accepted",
	}, of(list, signalling.PFCP)); diff != "" {
		t.Errorf("PFCP (-want +got):\n%s", diff)
	}
	for _, name := range []string{"gNB InitialUEMessage", "AMF InitialContextSetupRequest", "gNB InitialContextSetupResponse", "AMF PDUSessionResourceSetupRequest"} {
		if !slices.Contains(of(list, signalling.NGAP), name) {
			t.Errorf("NGAP lacks %s: %q", name, of(list, signalling.NGAP))
		}
	}
	for _, name := range []string{"AMF Nausf_UEAuthentication Authenticate", "UDM Nudm_UECM Registration answer", "AMF Nsmf_PDUSession CreateSMContext"} {
		if !slices.Contains(of(list, signalling.SBI), name) {
			t.Errorf("SBI lacks %s: %q", name, of(list, signalling.SBI))
		}
	}
	for _, e := range list {
		if e.Protocol != signalling.NGAP {
			continue
		}
		if m, fault := n2.Read(e.Octets); m == nil || m.Kind().String() != e.Message {
			t.Errorf("%s cannot be read: %v", e.Message, fault)
		}
	}

	p.idle()
	s.startWorker()
	s.living()[0].drain()
	s.trace(1) // of the worker that is left
	s.packet()
	p.paged()
	s.until("the trace to go on", func() bool {
		later := s.trace(1)
		return slices.Contains(of(later, signalling.NGAP), "AMF Paging") && slices.Contains(of(later, signalling.NAS), "UE Service Request") &&
			slices.Contains(of(later, signalling.PFCP), "UPF session_report_request")
	})
	s.noKeys(append(list, s.trace(1)...))
}

// noKeys of the UE are in what was kept.
func (s *story) noKeys(list []signalling.Entry) {
	s.t.Helper()
	rec := s.kept(1)
	if rec == nil || rec.Security == nil || len(rec.Security.Key) != 32 || len(rec.Security.Hop) != 32 {
		s.t.Fatal("the UE has no keys that could be looked for")
	}
	usim, err := hex.DecodeString(key)
	if err != nil {
		s.t.Fatal(err)
	}
	secrets := [][]byte{rec.Security.Key, rec.Security.Hop, usim}
	contexts := 0
	for _, e := range list {
		text, err := json.Marshal(e)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, secret := range secrets {
			if bytes.Contains(e.Octets, secret) || bytes.Contains(text, []byte(hex.EncodeToString(secret))) {
				s.t.Errorf("%s has a key", e.Message)
			}
		}
		if e.Message != "InitialContextSetupRequest" {
			continue
		}
		contexts++
		m, _ := n2.Read(e.Octets)
		if c, is := m.(*n2.InitialContextSetupRequest); !is || c.Key != (n2.SecurityKey{}) {
			s.t.Errorf("the UE context's key is there: %+v", m)
		}
	}
	if contexts == 0 {
		s.t.Error("no UE context was set up")
	}
}
