package subscriberdata

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"core5g.dev/core5g/operators/api/v1alpha1"
)

// told is a notification that a consumer got: its path, and its content.
type told struct {
	path    string
	content map[string]any
}

// consumers are AMFs and SMFs that are told. They answer with a status, 204 where there is none.
type consumers struct {
	uri    string
	told   chan told
	status map[string]int

	mu      sync.Mutex
	answers map[string]func() int
}

// answer what a path is told with that status.
func (c *consumers) answer(path string, status func() int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers[path] = status
}

func startConsumers(t *testing.T) *consumers {
	t.Helper()
	c := &consumers{told: make(chan told, 16), status: map[string]int{}, answers: map[string]func() int{}}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		n := told{path: r.URL.Path}
		if err := json.Unmarshal(raw, &n.content); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
		status := c.status[n.path]
		c.mu.Lock()
		if answer := c.answers[n.path]; answer != nil {
			status = answer()
		}
		c.mu.Unlock()
		if status == 0 {
			status = http.StatusNoContent
		}
		w.WriteHeader(status)
		c.told <- n
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	c.uri = server.URL
	return c
}

// next is the next notification that somebody gets.
func (c *consumers) next(t *testing.T) told {
	t.Helper()
	select {
	case n := <-c.told:
		return n
	case <-time.After(time.Minute):
		t.Fatal("nobody was told anything")
	}
	return told{}
}

// changed is a content that tells of changes: the operation by resource.
func changed(ops map[string]string) map[string]any {
	var items []any
	for _, resource := range []string{"x/am-data", "x/nssai", "x/sm-data", "x/smf-select-data"} {
		if op := ops[resource]; op != "" {
			items = append(items, map[string]any{"resourceId": resource, "changes": []any{map[string]any{"op": op, "path": "/"}}})
		}
	}
	return map[string]any{"notifyItems": items}
}

// alter changes an object, and has the change seen.
func alter[T client.Object](c *testCore, o T, object string, change func(T)) {
	c.t.Helper()
	c.must(c.objects.Get(c.t.Context(), name(object), o))
	before := o.DeepCopyObject().(T)
	change(o)
	o.SetGeneration(o.GetGeneration() + 1)
	c.must(c.objects.Update(c.t.Context(), o))
	switch now := client.Object(o).(type) {
	case *v1alpha1.Subscriber:
		c.subscribers.Update(client.Object(before).(metav1.Object), now)
	case *v1alpha1.Slice:
		c.slices.Update(client.Object(before).(metav1.Object), now)
	}
}

func (c *testCore) sdm(supi, callback, more string) string {
	r := c.expect("POST", "/nudm-sdm/v2/"+supi+"/sdm-subscriptions", `{"nfInstanceId":"x","callbackReference":"`+callback+`",`+more+`}`, 201, "")
	return r.location
}

const forAMFs = `"monitoredResourceUris":["x/am-data","x/smf-select-data","x/nssai"]`

func TestChangesAreTold(t *testing.T) {
	c, peers := startCore(t, defaultObjects()...), startConsumers(t)
	expect := func(path string, ops map[string]string) {
		t.Helper()
		if diff := cmp.Diff(told{path, changed(ops)}, peers.next(t), cmp.AllowUnexported(told{})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	c.sdm(supiOne, peers.uri+"/amf", forAMFs)
	c.sdm(supiOne, peers.uri+"/smf", `"monitoredResourceUris":["x/sm-data"],"singleNssai":{"sst":1,"sd":"abcdef"},"dnn":"METERS"`)
	c.sdm(supiTwo, peers.uri+"/two", forAMFs)

	// The AMF hears of the AMBR of the UE, the SMF does not; of what the subscription has not, nobody hears.
	alter(c, new(v1alpha1.Subscriber), "ue-208930000000001", func(s *v1alpha1.Subscriber) { s.Spec.AMBR.Uplink = "7 Mbps" })
	expect("/amf", map[string]string{"x/am-data": "REPLACE"})
	alter(c, new(v1alpha1.Subscriber), "ue-208930000000001", func(s *v1alpha1.Subscriber) { s.Spec.Authentication.AMF = "8001" })
	alter(c, new(v1alpha1.Slice), "private", func(s *v1alpha1.Slice) { s.Spec.DataNetworks[0].FiveQI = 5 })

	// Of another session AMBR only the SMF of that DNN hears.
	alter(c, new(v1alpha1.Slice), "iot", func(s *v1alpha1.Slice) { s.Spec.DataNetworks[1].AMBR.Uplink = "9 Mbps" })
	expect("/smf", map[string]string{"x/sm-data": "REPLACE"})

	// The slice goes: the SMF's data with it. Who has only the other slice hears nothing.
	var iot v1alpha1.Slice
	c.must(c.objects.Get(t.Context(), name("iot"), &iot))
	c.must(c.objects.Delete(t.Context(), &iot))
	c.slices.Delete(&iot)
	got := []told{peers.next(t), peers.next(t)}
	if got[0].path == "/smf" {
		got[0], got[1] = got[1], got[0]
	}
	want := []told{
		{"/amf", changed(map[string]string{"x/am-data": "REPLACE", "x/smf-select-data": "REPLACE", "x/nssai": "REPLACE"})},
		{"/smf", changed(map[string]string{"x/sm-data": "REMOVE"})},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(told{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhoHasGoneIsNotToldAgain(t *testing.T) {
	c, peers := startCore(t, defaultObjects()...), startConsumers(t)
	ended := c.sdm(supiOne, peers.uri+"/ended", forAMFs)
	c.expect("DELETE", ended[len(c.uri):], "", 204, "")
	peers.status["/forgotten"] = http.StatusNotFound
	forgotten := c.sdm(supiOne, peers.uri+"/forgotten", forAMFs)
	c.sdm(supiOne, peers.uri+"/expired", forAMFs+`,"expires":"2020-01-02T15:04:05Z"`)
	c.sdm(supiOne, "", `"monitoredResourceUris":null`)
	alter(c, new(v1alpha1.Subscriber), "ue-208930000000001", func(s *v1alpha1.Subscriber) { s.Spec.AMBR.Uplink = "7 Mbps" })
	if n := peers.next(t); n.path != "/forgotten" {
		t.Errorf("%s was told", n.path)
	}
	eventually(t, "the subscription ends", func() bool { return c.do("DELETE", forgotten[len(c.uri):], "").status == http.StatusNotFound })
	select {
	case n := <-peers.told:
		t.Errorf("%s was told too", n.path)
	default:
	}
}

// What a UE has is ended where its Subscriber is barred, and where it is deleted.
func TestWithdrawals(t *testing.T) {
	for sentence, c := range map[string]struct {
		withdraw func(*testCore)
		// registers is what an AMF hears that registers for the UE afterwards.
		status int
		cause  string
		// authenticated is what its authentication is answered.
		authenticated int
	}{
		"barred": {func(c *testCore) {
			alter(c, new(v1alpha1.Subscriber), "ue-208930000000001", func(s *v1alpha1.Subscriber) { s.Spec.Barred = true })
		}, 403, "ACCESS_NOT_ALLOWED", 403},
		"deleted": {func(c *testCore) {
			var s v1alpha1.Subscriber
			c.must(c.objects.Get(c.t.Context(), name("ue-208930000000001"), &s))
			c.must(c.objects.Delete(c.t.Context(), &s))
			c.subscribers.Delete(&s)
		}, 404, "USER_NOT_FOUND", 404},
	} {
		t.Run(sentence, func(t *testing.T) {
			core, peers := startCore(t, defaultObjects()...), startConsumers(t)
			path := registrationPath(supiOne)
			core.expect("PUT", path, amfRegistration("a", peers.uri+"/deregister", guamiOne), 201, "")
			core.sdm(supiOne, peers.uri+"/smf", `"monitoredResourceUris":["x/sm-data"]`)
			c.withdraw(core)
			got := map[string]map[string]any{}
			for range 2 {
				n := peers.next(t)
				got[n.path] = n.content
			}
			want := map[string]map[string]any{
				"/deregister": {"deregReason": "SUBSCRIPTION_WITHDRAWN", "accessType": "3GPP_ACCESS"},
				"/smf":        changed(map[string]string{"x/sm-data": "REMOVE"}),
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			core.expect("PUT", path, amfRegistration("a", peers.uri+"/deregister", guamiOne), c.status, c.cause)
			if _, r := core.authenticate(supiOne, ""); r.status != c.authenticated {
				t.Errorf("authenticated: %d %s", r.status, r.body)
			}
			core.expect("GET", "/nudm-sdm/v2/"+supiOne+"/sm-data", "", 404, map[int]string{403: "DATA_NOT_FOUND", 404: "USER_NOT_FOUND"}[c.status])
			// The AMF deregisters the UE, and says so.
			core.expect("PATCH", path, `{"guami":`+guamiOne+`,"purgeFlag":true}`, 204, "")
			if c.status != 403 {
				return
			}
			alter(core, new(v1alpha1.Subscriber), "ue-208930000000001", func(s *v1alpha1.Subscriber) { s.Spec.Barred = false })
			if n := peers.next(t); n.path != "/smf" || !cmp.Equal(n.content, changed(map[string]string{"x/sm-data": "ADD"})) {
				t.Errorf("%+v", n)
			}
			core.expect("PUT", path, amfRegistration("a", peers.uri+"/deregister", guamiOne), 201, "")
			if _, r := core.authenticate(supiOne, ""); r.status != 201 {
				t.Errorf("authenticated: %d %s", r.status, r.body)
			}
		})
	}
}
