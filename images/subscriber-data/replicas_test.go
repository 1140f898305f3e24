package subscriberdata

import (
	"context"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/memory"
	"core5g.dev/core5g/images/nf/shards"
	"core5g.dev/core5g/images/subscriber-data/aka"
	"core5g.dev/core5g/images/subscriber-data/aka/akatest"
	"core5g.dev/core5g/images/subscriber-data/records"
	"core5g.dev/core5g/operators/api/v1alpha1"
)

// replicas are processes on the same objects and the same session store.
type replicas struct {
	*testing.T
	objects client.Client
	store   *memory.Store
	sealer  *sessionstore.Sealer
}

func startStore(t *testing.T) *replicas {
	t.Helper()
	sealer, err := sessionstore.NewSealer(map[uint32][]byte{1: make([]byte, sessionstore.KeySize)})
	if err != nil {
		t.Fatal(err)
	}
	return &replicas{T: t, objects: startCore(t, defaultObjects()...).objects, store: memory.New(time.Now), sealer: sealer}
}

// start one that tells where it says so.
func (r *replicas) start(pod string, tells func() bool) *testCore {
	r.Helper()
	return startReplica(r.T, r.objects, func(p *Parts) {
		p.Records, p.Tells, p.Sequences = records.New(r.store, r.sealer, pod), tells, aka.KeptSequences(p.Now, 0)
	})
}

func never() bool  { return false }
func always() bool { return true }

// A UE that has proved itself waits for no write of that, in the store's own replica nor in another.
func TestAConfirmationWaitsForNoWrite(t *testing.T) {
	r := startStore(t)
	a, b := r.start("a", never), r.start("b", never)
	u := usimOf(t, testK, testOPc)
	for sentence, to := range map[string]*testCore{"the replica that has challenged": a, "another one": b} {
		a.advance(time.Minute)
		ch, _ := a.authenticate(supiOne, "")
		res, _, _, err := u.Challenge(ch.rand, ch.autn, testSNN)
		if err != nil {
			t.Fatal(err)
		}
		written, write := make(chan struct{}, 8), make(chan struct{})
		r.store.Fault = func(op string) memory.Fault {
			if op == "Commit" {
				written <- struct{}{}
				<-write
			}
			return memory.None
		}
		if got, reply := to.confirm(ch, res); reply.status != http.StatusOK || got.AuthResult != "AUTHENTICATION_SUCCESS" {
			t.Errorf("%s: status %d: %s", sentence, reply.status, reply.body)
		}
		<-written // and is on its way
		close(write)
		to.until("it is forgotten", func() bool { _, r := to.confirm(ch, res); return r.status == http.StatusNotFound })
	}
}

// What one replica has begun another one ends, and so does one that comes when all that were there have died.
func TestAnyReplicaGoesOn(t *testing.T) {
	r := startStore(t)
	a, b := r.start("a", never), r.start("b", never)
	const session = "/nudm-uecm/v1/" + supiOne + "/registrations/smf-registrations/5"
	const policy = "/nudr-dr/v2/policy-data/subs-to-notify"
	for sentence, c := range map[string]func(from, to *testCore){
		"an authentication": func(from, to *testCore) {
			u := usimOf(t, testK, testOPc)
			from.advance(time.Minute)
			ch, _ := from.authenticate(supiOne, "")
			res, kseaf, _, err := u.Challenge(ch.rand, ch.autn, testSNN)
			if err != nil {
				t.Fatal(err)
			}
			var got confirmationAnswer
			to.expect("PUT", ch.confirm, `{"resStar":"`+hex.EncodeToString(res[:])+`"}`, 200, "").into(t, &got)
			if got.AuthResult != "AUTHENTICATION_SUCCESS" || got.SUPI != supiOne || got.KSEAF != hex.EncodeToString(kseaf[:]) {
				t.Errorf("%+v", got)
			}
			from.until("it is forgotten", func() bool { _, r := from.confirm(ch, res); return r.status == http.StatusNotFound })
			ch, _ = from.authenticate(supiOne, "")
			to.expect("DELETE", ch.confirm, "", 204, "")
			from.expect("DELETE", ch.confirm, "", 404, "CONTEXT_NOT_FOUND")
		},
		"an AMF's registration": func(from, to *testCore) {
			path := registrationPath(supiOne)
			from.expect("PUT", path, amfRegistration("a", "http://127.0.0.1:1/", guamiOne), 201, "")
			to.expect("GET", path, "", 200, "")
			to.expect("PUT", path, amfRegistration("a", "http://127.0.0.1:1/", guamiTwo), 200, "")
			from.expect("PATCH", path, `{"guami":`+guamiOne+`,"purgeFlag":true}`, 403, "INVALID_GUAMI")
			from.expect("PATCH", path, `{"guami":`+guamiTwo+`,"purgeFlag":true}`, 204, "")
			to.expect("GET", path, "", 404, "CONTEXT_NOT_FOUND")
		},
		"an SMF's registration": func(from, to *testCore) {
			const body = `{"smfInstanceId":"s","pduSessionId":5,"singleNssai":{"sst":1},"plmnId":{"mcc":"208","mnc":"93"}}`
			from.expect("PUT", session, body, 201, "")
			to.expect("PUT", session, body, 200, "")
			var got struct{ PDUSessions map[string]any }
			to.expect("GET", "/nudm-sdm/v2/"+supiOne+"/ue-context-in-smf-data", "", 200, "").into(t, &got)
			if len(got.PDUSessions) != 1 {
				t.Errorf("%v", got)
			}
			to.expect("DELETE", session, "", 204, "")
			from.expect("DELETE", session, "", 404, "CONTEXT_NOT_FOUND")
		},
		"a subscription to data": func(from, to *testCore) {
			location := from.sdm(supiOne, "http://127.0.0.1:1/", forAMFs)[len(from.uri):]
			to.expect("DELETE", location, "", 204, "")
			from.expect("DELETE", location, "", 404, "SUBSCRIPTION_NOT_FOUND")
		},
		"a subscription to policy data": func(from, to *testCore) {
			location := from.expect("POST", policy, `{"monitoredResourceUris":["/policy-data/ues/`+supiOne+`/sm-data"],"notificationUri":"http://pcf/"}`, 201, "").location[len(from.uri):]
			to.expect("GET", location, "", 200, "")
			to.expect("DELETE", location, "", 204, "")
			from.expect("DELETE", location, "", 404, "SUBSCRIPTION_NOT_FOUND")
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			c(a, b)
			c(b, a)
		})
	}
	ch, _ := a.authenticate(supiOne, "")
	a.expect("PUT", registrationPath(supiTwo), amfRegistration("a", "http://127.0.0.1:1/", guamiOne), 201, "")
	later := r.start("later", never)
	later.expect("GET", registrationPath(supiTwo), "", 200, "")
	later.expect("DELETE", ch.confirm, "", 204, "")
}

type confirmationAnswer struct{ AuthResult, SUPI, KSEAF string }

// A USIM accepts every challenge, whichever replica makes it: within one tick of the clock, after deaths, and one that does not
// keep the time after it was resynchronised once.
func TestSequenceNumbersOfReplicas(t *testing.T) {
	r := startStore(t)
	all := []*testCore{r.start("a", never), r.start("b", never)}
	u := usimOf(t, testK, testOPc)
	challenge := func(by *testCore) {
		t.Helper()
		ch, answer := by.authenticate(supiOne, "")
		if answer.status != http.StatusCreated {
			t.Fatalf("status %d: %s", answer.status, answer.body)
		}
		if _, _, _, err := u.Challenge(ch.rand, ch.autn, testSNN); err != nil {
			t.Fatalf("the USIM says: %v", err)
		}
	}
	for n := range 100 {
		challenge(all[n%2])
	}
	all = append(all, r.start("c", never))
	for n := range 30 {
		challenge(all[n%3])
	}
	for i := range u.SEQ {
		u.SEQ[i] += 10 * 365 * 24 * 3600 * 10
	}
	ch, _ := all[0].authenticate(supiOne, "")
	_, _, auts, err := u.Challenge(ch.rand, ch.autn, testSNN)
	if !errors.Is(err, akatest.ErrSync) {
		t.Fatal(err)
	}
	ch, answer := all[1].authenticate(supiOne, `,"resynchronizationInfo":{"rand":"`+hex.EncodeToString(ch.rand[:])+`","auts":"`+hex.EncodeToString(auts[:])+`"}`)
	if answer.status != http.StatusCreated {
		t.Fatalf("status %d: %s", answer.status, answer.body)
	}
	if _, _, _, err := u.Challenge(ch.rand, ch.autn, testSNN); err != nil {
		t.Fatal(err)
	}
	all = append(all, r.start("d", never))
	for n := range 8 {
		all[n%4].advance(time.Second)
		challenge(all[n%4])
	}
}

// The one that tells does so once, whoever has taken the subscription; and when it dies, the next tells what it has not.
func TestOneReplicaTells(t *testing.T) {
	r, peers := startStore(t), startConsumers(t)
	var second atomic.Bool
	first := func() bool { return !second.Load() }
	a, b := r.start("a", first), r.start("b", second.Load)
	both := func(change func(*v1alpha1.Subscriber)) {
		t.Helper()
		alter(a, new(v1alpha1.Subscriber), "ue-208930000000001", change)
		var now v1alpha1.Subscriber
		a.must(a.objects.Get(t.Context(), name("ue-208930000000001"), &now))
		before := now.DeepCopy()
		before.Generation--
		b.subscribers.Update(before, &now)
	}
	expect := func(sentence string, want told) {
		t.Helper()
		if diff := cmp.Diff(want, peers.next(t), cmp.AllowUnexported(told{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sentence, diff)
		}
	}
	replaced := told{"/amf", changed(map[string]string{"x/am-data": "REPLACE"})}
	b.sdm(supiOne, peers.uri+"/amf", forAMFs)
	b.expect("PUT", registrationPath(supiOne), amfRegistration("a", peers.uri+"/deregister", guamiOne), 201, "")
	both(func(s *v1alpha1.Subscriber) { s.Spec.AMBR.Uplink = "7 Mbps" })
	expect("b has taken the subscription, and a tells", replaced)
	const counter = "core5g_data_change_notifications_total"
	eventually(t, "a has written that down", func() bool { return a.metric(counter, "delivered") == 1 })

	// The consumer does not answer, and a, which has tried, tells no more from then on, and not only from its next try: b tells.
	refuse := make(chan int, 1)
	peers.answer("/amf", func() int {
		select {
		case s := <-refuse:
			second.Store(true)
			return s
		default:
			return http.StatusNoContent
		}
	})
	refuse <- http.StatusServiceUnavailable
	both(func(s *v1alpha1.Subscriber) { s.Spec.AMBR.Uplink = "8 Mbps" })
	expect("a tries", replaced)
	eventually(t, "a has given it up", func() bool { return a.metric(counter, "superseded") == 1 })
	b.functions.Begin()
	expect("b tells", replaced)
	eventually(t, "b has written that down", func() bool { return b.metric(counter, "delivered") == 1 })

	// What has been told is not told again, neither by one that begins nor by both.
	b.functions.Begin()
	second.Store(false)
	a.functions.Begin()
	both(func(s *v1alpha1.Subscriber) { s.Spec.Barred = true })
	got := map[string]any{}
	for range 2 {
		n := peers.next(t)
		got[n.path] = n.content
	}
	want := map[string]any{
		"/amf":        changed(map[string]string{"x/am-data": "REMOVE", "x/smf-select-data": "REMOVE", "x/nssai": "REMOVE"}),
		"/deregister": map[string]any{"deregReason": "SUBSCRIPTION_WITHDRAWN", "accessType": "3GPP_ACCESS"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("barred (-want +got):\n%s", diff)
	}
	eventually(t, "both are written down", func() bool {
		return a.metric(counter, "delivered") == 2 && a.metric("core5g_deregistration_notifications_total", "delivered") == 1
	})
	second.Store(true)
	b.functions.Begin()
	b.expect("DELETE", b.sdm(supiTwo, peers.uri+"/two", forAMFs)[len(b.uri):], "", 204, "")
	select {
	case n := <-peers.told:
		t.Errorf("%s was told again: %v", n.path, n.content)
	default:
	}
}

// One of the replicas tells, and another where it ends.
func TestWhoTellsIsOne(t *testing.T) {
	store := memory.New(time.Now)
	sealer, err := sessionstore.NewSealer(map[uint32][]byte{1: make([]byte, sessionstore.KeySize)})
	if err != nil {
		t.Fatal(err)
	}
	type replica struct {
		*kept
		end   func()
		begun atomic.Int32
	}
	start := func(pod string) *replica {
		k, err := newKept(store, sealer, pod, shards.DefaultTTL, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		r := &replica{kept: k}
		go k.run(ctx, func() { r.begun.Add(1) })
		r.end = func() { cancel(); k.close() }
		return r
	}
	a := start("a")
	eventually(t, "a tells", func() bool { return a.tells() && a.begun.Load() == 1 })
	b := start("b")
	defer b.end()
	if b.tells() || !a.shared() {
		t.Error("two tell")
	}
	a.end()
	if a.tells() {
		t.Error("one tells that has ended")
	}
	eventually(t, "b tells", func() bool { return b.tells() && b.begun.Load() == 1 })
	if alone := (&kept{}); !alone.tells() || alone.shared() {
		t.Error("one that is alone does not tell")
	}
}

func TestAStoreThatIsAwayIsAnswered(t *testing.T) {
	r := startStore(t)
	a := r.start("a", always)
	ch, _ := a.authenticate(supiOne, "")
	var away atomic.Bool
	away.Store(true)
	r.store.Away = away.Load
	for path, c := range map[string]struct{ method, body string }{
		"/nausf-auth/v1/ue-authentications": {"POST", `{"supiOrSuci":"` + supiTwo + `","servingNetworkName":"` + testSNN + `"}`},
		ch.confirm:                          {"DELETE", ""},
		registrationPath(supiOne):           {"GET", ""},
	} {
		a.expect(c.method, path, c.body, 503, "NF_FAILOVER")
	}
	a.expect("GET", "/nudm-sdm/v2/"+supiOne+"/am-data", "", 200, "")
	away.Store(false)
	a.expect("DELETE", ch.confirm, "", 204, "")
}
