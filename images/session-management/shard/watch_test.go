package shard

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"core5g.dev/core5g/images/nf/discovery"
	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/sbi/sbitest"
	"core5g.dev/core5g/images/nf/ts29571"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n2"
	"core5g.dev/core5g/images/session-management/nsmf"
	"core5g.dev/core5g/images/session-management/nudm"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
	"core5g.dev/core5g/images/subscriber-data/records"
	"core5g.dev/core5g/images/subscriber-data/subscription"
	"core5g.dev/core5g/images/subscriber-data/udm"

	"github.com/prometheus/client_golang/prometheus"
)

const subscribed = `
apiVersion: core5g.dev/v1alpha1
kind: Core5G
metadata: {name: core5g}
spec:
  plmns: [{mcc: "208", mnc: "93"}]
  controlPlane: Core5G
---
apiVersion: core5g.dev/v1alpha1
kind: Slice
metadata: {name: internet}
spec:
  snssai: {sst: 1, sd: "010203"}
  dataNetworks:
  - {dnn: internet, uePools: [10.45.0.0/24], ambr: {uplink: 1 Mbps, downlink: 2 Mbps}}
  - {dnn: other, uePools: [10.46.0.0/24]}
---
apiVersion: core5g.dev/v1alpha1
kind: Subscriber
metadata: {name: ue}
spec:
  supi: imsi-208930000000001
  authentication: {secretRef: {name: keys}}
  slices:
  - {name: internet, dnns: [internet, other]}
`

// subscribers are core5g's own UDM and the objects that it serves.
type subscribers struct {
	t    *testing.T
	path string
	udm  *nudm.Client
	// answers is the UDM's interface: another one when it has restarted.
	answers atomic.Pointer[sbi.Router]
	restart func()
	// smf is the shard at the URI that the UDM is given.
	smf    atomic.Pointer[http.Handler]
	smfURI string
	// before is called before the UDM subscribes; came are the requests that it has answered.
	before func()
	came   chan string
}

func (r *rig) subscribers() *subscribers {
	t := r.t
	t.Helper()
	s := &subscribers{t: t, path: filepath.Join(t.TempDir(), "subscribers.yaml"), before: func() {}, came: make(chan string, 100)}
	s.has(subscribed)
	file, err := subscription.OpenFile(s.path)
	if err != nil {
		t.Fatal(err)
	}
	log, transport := logTo(t).With("pod", "udm"), sbitest.Transport(t)
	directory := subscription.NewDirectory(file)
	s.restart = func() {
		registry := prometheus.NewRegistry()
		data, router := udm.New(directory, records.InMemory(), transport, log, registry), sbi.NewRouter(log, registry)
		data.Register(router)
		directory.OnChange(func(supi string) {
			if s.answers.Load() == router { // who has restarted is told nothing
				data.Changed(supi)
			}
		})
		s.answers.Store(router)
	}
	s.restart()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- file.Watch(ctx, log) }()
	t.Cleanup(func() { cancel(); <-ended })
	root := sbitest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodPost {
			s.before()
		}
		s.answers.Load().ServeHTTP(w, req)
		s.came <- req.Method + " " + map[bool]string{true: "subscription"}[strings.Contains(req.URL.Path, "sdm-subscriptions")]
	}))
	s.smfURI = sbitest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { (*s.smf.Load()).ServeHTTP(w, req) }))
	t.Cleanup(transport.CloseIdleConnections)
	finder := discovery.New(discovery.Options{Fixed: map[string]string{"UDM": root}, Log: log, Registry: prometheus.NewRegistry()})
	s.udm = nudm.NewClient(sbi.NewClient(transport, finder, prometheus.NewRegistry()))
	return s
}

// has these objects from now on.
func (s *subscribers) has(manifests string) {
	s.t.Helper()
	if err := os.WriteFile(s.path+".new", []byte(manifests), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(s.path+".new", s.path); err != nil {
		s.t.Fatal(err)
	}
}

// await a request, and tell which came before it.
func (s *subscribers) await(request string) (before []string) {
	s.t.Helper()
	return s.awaitAll(request)
}

// awaitAll of these requests, in any order, and tell which others came before the last of them.
func (s *subscribers) awaitAll(requests ...string) (others []string) {
	s.t.Helper()
	deadline := time.After(patience)
	for left := slices.Clone(requests); len(left) > 0; {
		select {
		case got := <-s.came:
			if i := slices.Index(left, got); i >= 0 {
				left = slices.Delete(left, i, i+1)
			} else {
				others = append(others, got)
			}
		case <-deadline:
			s.t.Fatalf("the UDM was not asked for %s", strings.Join(left, ", "))
		}
	}
	return others
}

// serve a pod's shard to the UDM.
func (s *subscribers) serve(r *rig) *Pod {
	p, _ := r.start("pod-1", func(o *Options) { o.UDM, o.Shards[0].URI = s.udm, s.smfURI })
	h := p.Handler(p.Shards[0], p.Log, prometheus.NewRegistry(), nsmf.Options{})
	s.smf.Store(&h)
	return p
}

// takes has UE and access network take a modification.
func (r *rig) takes(p *Pod, ref string) {
	r.t.Helper()
	b, err := (&n2.ModifyResponse{}).Encode()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, u := range []*nsmf.Update{{N2: b, N2Type: nsmf.ModifyResponse}, {N1: []byte{0x2e, 1, 0, byte(n1.ModificationCompleteType)}}} {
		again(r.t, func(ctx context.Context) (*nsmf.Updated, error) { return p.Requests("smf-1").Update(ctx, ref, u) })
	}
}

// awaitAMBR of the session in upf-u, which has it when UE and access network have.
func (r *rig) awaitAMBR(want record.AMBR) {
	r.t.Helper()
	var got record.AMBR
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		for _, s := range r.upfu.Sessions() {
			for _, q := range s.QERs {
				if got = (record.AMBR{Uplink: q.MbrUl, Downlink: q.MbrDl}); got == want {
					return
				}
			}
		}
	}
	r.t.Errorf("upf-u has the AMBR %v, want %v", got, want)
}

func (r *rig) modified(p *Pod, ref string, want record.AMBR) {
	r.t.Helper()
	if x := r.amf.next(r.t); x.n1[3] != byte(n1.ModificationCommandType) || x.kind != string(n2.InfoModifyRequest) {
		r.t.Fatalf("the AMF was given N1 %x, N2 %s, want a modification", x.n1, x.kind)
	}
	r.takes(p, ref)
	r.awaitAMBR(want)
}

// connected is a session of the UE's that has a tunnel.
func (r *rig) connected(p *Pod) string {
	r.t.Helper()
	ref := r.create(p, "imsi-208930000000001", n1.IPv4)
	if x := r.amf.next(r.t); x.n1[3] != byte(n1.EstablishmentAcceptType) {
		r.t.Fatalf("the AMF was given N1 %x, want an accept", x.n1)
	}
	r.tunnel(p, ref, 0x100)
	return ref
}

var faster = strings.Replace(subscribed, "uplink: 1 Mbps, downlink: 2 Mbps", "uplink: 5 Mbps, downlink: 6 Mbps", 1)

// What changes in a Slice reaches sessions that are there, and the session's end is the subscription's.
func TestAChangedSliceReachesASession(t *testing.T) {
	r := newRig(t)
	s := r.subscribers()
	p := s.serve(r)
	ref := r.connected(p)
	r.awaitAMBR(record.AMBR{Uplink: 1e6, Downlink: 2e6})
	asked := s.await("POST subscription")
	s.has(faster)
	r.modified(p, ref, record.AMBR{Uplink: 5e6, Downlink: 6e6})
	again(t, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, p.Requests("smf-1").Release(ctx, ref, &nsmf.Release{})
	})
	asked = append(asked, s.await("DELETE subscription")...)
	const question = http.MethodGet + " "
	asked = slices.DeleteFunc(asked, func(x string) bool { return x != question })
	if len(asked) != 2 { // for the establishment and for the change: what there is when it subscribes comes with the answer
		t.Errorf("the subscription was asked for %d times, want 2", len(asked))
	}
}

// Who is not to be served any more has no session any more.
func TestAWithdrawnSubscriptionEndsASession(t *testing.T) {
	for sentence, objects := range map[string]string{
		"the data network is taken away": strings.Replace(subscribed, "dnns: [internet, other]", "dnns: [other]", 1),
		"the subscriber is barred":       strings.Replace(subscribed, "  slices:", "  barred: true\n  slices:", 1),
		"the subscriber is deleted":      subscribed[:strings.LastIndex(subscribed, "---")],
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRig(t)
			s := r.subscribers()
			p := s.serve(r)
			r.connected(p)
			s.await("POST subscription")
			s.has(objects)
			if x := r.amf.next(t); x.n1[3] != byte(n1.ReleaseCommandType) {
				t.Fatalf("the AMF was given N1 %x, want a release", x.n1)
			}
			if n := len(r.upfu.Sessions()); n != 0 {
				t.Errorf("%d sessions are left in upf-u", n)
			}
		})
	}
}

// A UDM that takes its time to subscribe keeps no UE waiting, and what changes meanwhile is found.
func TestWhatChangesBeforeTheUDMSubscribes(t *testing.T) {
	r := newRig(t)
	s := r.subscribers()
	may := make(chan struct{})
	s.before = func() { <-may }
	p := s.serve(r)
	ref := r.connected(p)
	s.has(faster)
	again(t, func(ctx context.Context) (*nudm.Data, error) { return s.fast(ctx) })
	close(may)
	r.modified(p, ref, record.AMBR{Uplink: 5e6, Downlink: 6e6})
}

// fast is the subscription when the UDM has the faster one.
func (s *subscribers) fast(ctx context.Context) (*nudm.Data, error) {
	slice := SNSSAI(1, &[3]byte{1, 2, 3})
	d, err := s.udm.Data(ctx, "imsi-208930000000001", slice, "internet", ts29571.PLMN{MCC: "208", MNC: "93"})
	if err == nil && d.AMBR.Uplink != 5e6 {
		err = context.DeadlineExceeded
	}
	return d, err
}

// A session that ends before the UDM has subscribed leaves nothing there.
func TestASessionEndsBeforeTheUDMSubscribes(t *testing.T) {
	r := newRig(t)
	s := r.subscribers()
	may := make(chan struct{})
	s.before = func() { <-may }
	p := s.serve(r)
	ref := r.connected(p)
	again(t, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, p.Requests("smf-1").Release(ctx, ref, &nsmf.Release{})
	})
	close(may)
	s.await("DELETE subscription")
}

// A UDM that has begun anew, and knows no subscription, has one when the session's is looked at next.
func TestAUDMForgets(t *testing.T) {
	r := newRig(t)
	s := r.subscribers()
	p := s.serve(r)
	ref := r.connected(p)
	s.await("POST subscription")
	s.restart()
	seid := record.ParseRef(ref)
	found, err := p.Requests("smf-1").record(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	held := p.Held("smf-1")
	held.loop.Post(func() {
		held.Do(procedure.TellSubscription{
			To:     procedure.AskSubscription{SUPI: found.SUPI, DNN: found.DNN, SST: found.SST, SD: found.SD, PLMN: found.PLMN},
			CPSEID: seid, Known: found.Subscription, Until: time.Now().Add(time.Hour),
		}, nil)
	})
	// The deletion is of the one that it has forgotten: the SMF may hear of that one when it has asked for the other already, and then ends it at once.
	s.awaitAll("POST subscription", "DELETE subscription")
	s.has(faster)
	r.modified(p, ref, record.AMBR{Uplink: 5e6, Downlink: 6e6})
}
