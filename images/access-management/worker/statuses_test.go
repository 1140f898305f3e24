package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/namf"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/nf/sbi/sbitest"
	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/memory"

	"github.com/google/go-cmp/cmp"
)

func settingsOf(plmns ...string) *procedure.Settings {
	s := &procedure.Settings{Name: "AMF", Region: 1, Set: 1, Pointer: 1}
	for _, p := range plmns {
		s.PLMNs = append(s.PLMNs, procedure.PLMN{PLMN: p})
	}
	return s
}

// servingPod is a pod that serves, over that store.
func servingPod(t *testing.T, holder string, store sessionstore.Store, roots *sync.Map) (*Pod, http.Handler) {
	t.Helper()
	p := podWith(t, func() []string { return nil }, func(o *Options) {
		o.Holder, o.Store = holder, store
		o.Callbacks = namf.NewClient(sbitest.Client(t, "SMF", "http://127.0.0.1:1"))
		o.Passing = Passing{Transport: sbitest.Transport(t), Root: func(holder string) string {
			root, _ := roots.Load(holder)
			text, _ := root.(string)
			return text
		}}
	})
	p.Configure(settingsOf("20893", "00101"))
	handler := p.Handler()
	roots.Store(holder, sbitest.Serve(t, handler))
	ctx, cancel := context.WithCancel(t.Context())
	kept := make(chan struct{})
	go func() {
		p.keeper.Run(ctx, p.Store)
		close(kept)
	}()
	t.Cleanup(func() {
		cancel()
		<-kept
	})
	return p, handler
}

// twoPods share two shards.
func twoPods(t *testing.T) (first, second *Pod, one, two http.Handler) {
	t.Helper()
	var roots sync.Map
	first, one = servingPod(t, "amf-0", memory.New(time.Now), &roots)
	awaitsThat(t, "the first pod has no shards", func() bool { return first.Holds(1) && first.Holds(2) })
	second, two = servingPod(t, "amf-1", first.Store, &roots)
	awaitsThat(t, "the pods have not shared the shards", func() bool {
		of := func(p, other *Pod, n uint16) bool {
			return p.Holds(n) && !other.Holds(n) && other.keeper.Holder(p.name(n)) == p.Holder
		}
		return of(first, second, 1) && of(second, first, 2) || of(first, second, 2) && of(second, first, 1)
	})
	return first, second, one, two
}

// asks a pod, and its status, Location and content.
func asks(t *testing.T, h http.Handler, method, path, body string) (int, string, string) {
	t.Helper()
	r, w := httptest.NewRequest(method, path, strings.NewReader(body)), httptest.NewRecorder()
	r.Header.Set("Content-Type", "application/json")
	h.ServeHTTP(w, r)
	location := w.Header().Get("Location")
	return w.Code, location[strings.LastIndexByte(location, '/')+1:], strings.TrimSpace(w.Body.String())
}

func awaitsThat(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

// TS 29.518 5.2.2.5, at any pod, whichever has the subscription's shard.
func TestStatusSubscriptions(t *testing.T) {
	heard := make(chan string, 99)
	at := sbitest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var change struct {
			List []struct {
				GUAMIs []struct {
					PLMN struct{ MCC, MNC string } `json:"plmnId"`
					AMF  string                    `json:"amfId"`
				} `json:"guamiList"`
				Change string `json:"statusChange"`
			} `json:"amfStatusInfoList"`
		}
		text, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(text, &change); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		for _, s := range change.List {
			heard <- fmt.Sprintf("%s %v %s", r.URL.Path, s.GUAMIs, s.Change)
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	first, second, one, two := twoPods(t)
	var ids []string
	for n, uri := range []string{at + "/a", at + "/b", at + "/c", at + "/d"} { // both shards have some of them
		body := fmt.Sprintf(`{"amfStatusUri":%q}`, uri)
		for _, pod := range []http.Handler{one, two} { // again, at the other pod: it is the same one
			status, id, content := asks(t, pod, http.MethodPost, pathStatuses, body)
			if status != http.StatusCreated {
				t.Fatalf("%s: %d %s", uri, status, content)
			}
			if len(ids) == n {
				ids = append(ids, id)
			}
			if id != ids[n] || first.shardOfStatus(id) != first.shardOfURI(uri) {
				t.Errorf("%s is %s and %s", uri, ids[n], id)
			}
		}
	}
	for n, pod := range []http.Handler{one, two} {
		if status, _, content := asks(t, pod, http.MethodDelete, pathStatuses+"/"+ids[n], ""); status != http.StatusNoContent {
			t.Errorf("unsubscribed: %d %s", status, content)
		}
		if status, _, content := asks(t, pod, http.MethodPut, pathStatuses+"/"+ids[n], fmt.Sprintf(`{"amfStatusUri":%q}`, at)); status != http.StatusNotFound || !strings.Contains(content, "SUBSCRIPTION_NOT_FOUND") {
			t.Errorf("one that has ended is replaced: %d %s", status, content)
		}
	}
	only := fmt.Sprintf(`{"amfStatusUri":%q,"guamiList":[{"plmnId":{"mcc":"208","mnc":"93"},"amfId":"010041"}]}`, at+"/e")
	if status, _, content := asks(t, one, http.MethodPut, pathStatuses+"/"+ids[3], only); status != http.StatusOK {
		t.Errorf("replaced: %d %s", status, content)
	}
	for path, body := range map[string]string{
		"another AMF's": fmt.Sprintf(`{"amfStatusUri":%q,"guamiList":[{"plmnId":{"mcc":"208","mnc":"93"},"amfId":"010042"}]}`, at),
		"a long URI":    fmt.Sprintf(`{"amfStatusUri":%q}`, at+"/"+strings.Repeat("x", mostURI)),
	} {
		if status, _, content := asks(t, one, http.MethodPost, pathStatuses, body); status != http.StatusForbidden || !strings.Contains(content, "write ") {
			t.Errorf("%s: %d %s", path, status, content)
		}
	}
	for _, id := range []string{"x", "0-1", "3-1", "1"} {
		if status, _, _ := asks(t, one, http.MethodDelete, pathStatuses+"/"+id, ""); status != http.StatusNotFound {
			t.Errorf("%s is unsubscribed: %d", id, status)
		}
	}
	first.Configure(settingsOf("20893"))
	second.Configure(settingsOf("20893"))
	removed := settingsOf("20893")
	hear := func(want ...string) {
		t.Helper()
		got := map[string]bool{}
		for range want {
			select {
			case line := <-heard:
				got[line] = true
			case <-time.After(patience):
				t.Fatalf("heard %v, want %v", got, want)
			}
		}
		all := map[string]bool{}
		for _, line := range want {
			all[line] = true
		}
		if diff := cmp.Diff(all, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	hear("/c [{{001 01} 010041}] AMF_UNAVAILABLE")
	removed.Removed = true
	first.Configure(removed)
	second.Configure(removed)
	hear("/c [{{208 93} 010041}] AMF_UNAVAILABLE", "/e [{{208 93} 010041}] AMF_UNAVAILABLE")
	first.Configure(settingsOf("20893"))
	second.Configure(settingsOf("20893"))
	hear("/c [{{208 93} 010041}] AMF_AVAILABLE", "/e [{{208 93} 010041}] AMF_AVAILABLE")
}
