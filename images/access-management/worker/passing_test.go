package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/nsmf"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/access-management/runner"
	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/sbi/sbitest"
	"core5g.dev/core5g/images/nf/sessionstore"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestOnlyPodsAskWhatPodsAskOfEachOther(t *testing.T) {
	p := podAt(t, func() []string { return nil })
	p.stop() // its end is the answer to those who ask whether it lives
	const fromPod = "Test-From-Pod"
	p.peers.From = func(r *http.Request) bool { return r.Header.Get(fromPod) != "" }
	handler := p.Handler()
	for _, x := range []struct {
		method, path string
		pod, another int
	}{
		{http.MethodPost, pathGiveUp, http.StatusBadRequest, http.StatusForbidden},
		{http.MethodPost, pathPass, http.StatusBadRequest, http.StatusForbidden},
		{http.MethodGet, pathAlive, http.StatusOK, http.StatusForbidden},
	} {
		for pod, want := range map[string]int{"": x.another, "amf-1": x.pod} {
			r, w := httptest.NewRequest(x.method, x.path, nil), httptest.NewRecorder()
			r.Header.Set(fromPod, pod)
			handler.ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("%s of %q: %d, want %d", x.path, pod, w.Code, want)
			}
		}
	}
}

// A UE that has come to a shard of this pod is found here, whatever the pod remembers of it: others pass on to it what concerns the UE, and only this pod can
// forget where it was.
func TestAUEIsFoundInTheShardThatItHasComeTo(t *testing.T) {
	const supi = "imsi-208930000000001"
	p := podAt(t, func() []string { return nil })
	lease, err := p.Store.Acquire(t.Context(), p.name(1), p.Holder, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	p.keeps(t, lease, supi, 1)
	here := &Shard{pod: p}
	p.held[1] = here
	p.hints.add(supi, 2)
	if s, err := p.holder(t.Context(), supi); s != here {
		t.Errorf("found in %v: %v", s, err)
	}
	delete(p.held, 1)
	if s, err := p.holder(t.Context(), supi); s != nil || !errors.Is(err, errMoves) {
		t.Errorf("held elsewhere: found in %v: %v", s, err)
	}
}

// keeps a UE in the store, which is of that shard.
func (p *Pod) keeps(t *testing.T, lease sessionstore.Lease, supi string, shard uint16) {
	t.Helper()
	p.keepsUE(t, lease, &record.UE{SUPI: supi, Shard: shard, Phase: record.Registered, Place: record.Place{PLMN: "20893", TAC: 1}})
}

func (p *Pod) keepsUE(t *testing.T, lease sessionstore.Lease, u *record.UE) {
	t.Helper()
	octets, err := u.Encode()
	if err != nil {
		t.Fatal(err)
	}
	c := sessionstore.Change{Key: record.Key(u.SUPI), Is: sessionstore.Revision{Writer: 1, Count: 1}}
	c.Value = p.Sealer.Seal(c.Key, octets)
	if u.TMSI != 0 {
		c.AddIndexes = []sessionstore.Index{{Kind: runner.IndexTemporary, Value: strconv.FormatUint(uint64(u.TMSI), 10)}}
	}
	if err := p.Store.Commit(t.Context(), lease, c); err != nil {
		t.Fatal(err)
	}
}

// A request about a UE is answered at the first try, whatever the pods that it comes by remember of the UE, and is not sent around.
func TestARequestComesToWhereTheUEIs(t *testing.T) {
	first, second, one, two := twoPods(t)
	if first.Holds(2) {
		first, second, one, two = second, first, two, one
	}
	lease, ok := second.keeper.Lease(second.name(2))
	if !ok {
		t.Fatal("the shard is not the second pod's")
	}
	// shards that the pods remember of a UE, which is of shard 2, at the second one
	for sentence, c := range map[string]struct {
		first, second uint16
		at            http.Handler
		passed        int // before it comes to the pod
		want          int
		times         float64 // that it is passed on then
	}{
		"nobody remembers anything, and it comes to the other pod":    {at: one, want: http.StatusOK, times: 1},
		"nobody remembers anything, and it comes to the holder":       {at: two, want: http.StatusOK},
		"the other pod remembers a shard of its own":                  {first: 1, at: one, want: http.StatusOK, times: 1},
		"the holder remembers a shard of the other pod":               {second: 1, at: two, want: http.StatusOK, times: 2},
		"both remember a shard of the other pod, it comes to holder":  {first: 1, second: 1, at: two, want: http.StatusOK, times: 2},
		"both remember a shard of the other pod, it comes to another": {first: 1, second: 1, at: one, want: http.StatusOK, times: 1},
		"it has been passed on, by what another pod remembers":        {first: 1, at: one, passed: 1, want: http.StatusOK, times: 1},
		"it has been passed on twice":                                 {second: 1, at: two, passed: 2, want: http.StatusOK},
		"it has been passed on as often as it may":                    {first: 1, at: one, passed: mostPassing, want: http.StatusServiceUnavailable},
		"it has been passed on by who says no number":                 {first: 1, at: one, passed: -1, want: http.StatusServiceUnavailable},
	} {
		for _, form := range []string{"imsi-20893%d", "nai-%d/../%%2F?@example.com"} { // of which a path has to escape something
			t.Run(sentence+": "+form, func(t *testing.T) {
				supi := fmt.Sprintf(form, 1_000_000_000+time.Now().UnixNano()%1_000_000_000)
				second.keeps(t, lease, supi, 2)
				for p, shard := range map[*Pod]uint16{first: c.first, second: c.second} {
					if shard != 0 {
						p.hints.add(supi, shard)
					}
				}
				before := passedOn(first) + passedOn(second)
				locate := func() (int, string) {
					r, w := httptest.NewRequest(http.MethodPost, "/namf-loc/v1/"+url.PathEscape(supi)+"/provide-loc-info", strings.NewReader(`{"req5gsLoc":true}`)), httptest.NewRecorder()
					r.Header.Set("Content-Type", "application/json")
					if c.passed != 0 {
						r.Header.Set(headerPassed, strconv.Itoa(c.passed))
					}
					c.at.ServeHTTP(w, r)
					if c.passed == 0 && w.Header().Get(headerPassed) != "" {
						t.Error("who asks is told how its request has come")
					}
					return w.Code, w.Body.String()
				}
				status, text := locate()
				if status != c.want || c.want == http.StatusOK && !strings.Contains(text, "000001") {
					t.Errorf("%d %s, want %d", status, text, c.want)
				}
				if got := passedOn(first) + passedOn(second) - before; got != c.times {
					t.Errorf("it was passed on %v times, want %v", got, c.times)
				}
				if c.want != http.StatusOK || c.passed != 0 {
					return
				}
				if status, text := locate(); status != http.StatusOK {
					t.Errorf("again: %d %s", status, text)
				}
				if got := passedOn(first) + passedOn(second) - before - c.times; got > 1 {
					t.Errorf("the next one was passed on %v times", got)
				}
			})
		}
	}
}

// A request that is to be passed on to a pod that has died waits for who has the shard next: nothing was done of it.
func TestARequestWhoseHolderHasDied(t *testing.T) {
	const supi = "imsi-208930000000001"
	p := podWith(t, func() []string { return nil }, func(o *Options) {
		o.Passing = Passing{Root: func(string) string { return "http://127.0.0.1:1" }, Transport: http.DefaultTransport}
	})
	lease, err := p.Store.Acquire(t.Context(), p.name(1), "amf-9", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	p.keeps(t, lease, supi, 1)
	p.running.Go(func() { p.keeper.Run(p.ctx, p.Store) })
	for deadline := time.Now().Add(patience); p.keeper.Holder(p.name(1)) != "amf-9"; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%q is taken for the holder", p.keeper.Holder(p.name(1)))
		}
	}
	r, w := httptest.NewRequest(http.MethodPost, "/namf-loc/v1/"+supi+"/provide-loc-info", strings.NewReader(`{"req5gsLoc":true}`)), httptest.NewRecorder()
	r.Header.Set("Content-Type", "application/json")
	p.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Errorf("the request is answered %d %s, want as who has the shard next does", w.Code, w.Body)
	}
}

// A UE that another AMF names by a 5G-GUTI is found at the first try, too: in the shard of its 5G-TMSI, or in the one that it has come to since.
func TestA5GGUTILeadsToWhereTheUEIs(t *testing.T) {
	first, second, one, two := twoPods(t)
	if first.Holds(2) {
		first, second, one, two = second, first, two, one
	}
	first.Configure(settingsOf("20893")) // shard 1 is the first pod's, shard 2 the second one's
	second.Configure(settingsOf("20893"))
	lease, ok := second.keeper.Lease(second.name(2))
	if !ok {
		t.Fatal("the shard is not the second pod's")
	}
	made := uint32(time.Now().UnixNano() & 0xffff)
	for sentence, c := range map[string]struct {
		tmsi, shard uint16 // whose 5G-TMSI the UE has, and whose it is
		known       bool   // to the pod that it comes to
		at          http.Handler
		want        int
		times       float64
	}{
		"it comes to another pod":                                     {tmsi: 2, shard: 2, at: one, want: http.StatusOK, times: 1},
		"it comes to the holder":                                      {tmsi: 2, shard: 2, at: two, want: http.StatusOK},
		"the UE is another shard's by now, of another pod":            {tmsi: 1, shard: 2, at: one, want: http.StatusOK, times: 1},
		"and the pod remembers the UE":                                {tmsi: 1, shard: 2, known: true, at: one, want: http.StatusOK, times: 1},
		"and it comes to that one, which does not have the 5G-TMSI":   {tmsi: 1, shard: 2, at: two, want: http.StatusOK, times: 2},
		"there is no such UE, and it comes to the pod of the 5G-TMSI": {tmsi: 1, at: one, want: http.StatusNotFound},
		"there is no such UE, and it comes to another":                {tmsi: 2, at: one, want: http.StatusNotFound, times: 1},
		"there is no such shard":                                      {tmsi: 200, at: one, want: http.StatusNotFound},
	} {
		t.Run(sentence, func(t *testing.T) {
			made++
			u := &record.UE{
				SUPI: fmt.Sprintf("nai-%d/%%2F?@example.com", made), Shard: c.shard, Phase: record.Registered, Place: record.Place{PLMN: "20893", TAC: 1}, TMSI: record.TMSI(c.tmsi, made),
				Security: &record.Security{Key: make([]byte, 32), Integrity: 2, Ciphering: 2, Uplink: 1},
			}
			if c.shard != 0 {
				second.keepsUE(t, lease, u)
			}
			if c.known {
				first.hints.add(u.SUPI, c.shard)
			}
			s := first.Settings()
			name := gutiName(n1.GUTI{PLMN: mustPLMN(t, "208", "93"), Region: s.Region, Set: s.Set, TMSI: u.TMSI})
			before := passedOn(first) + passedOn(second)
			status, _, text := asks(t, c.at, http.MethodPost, "/namf-comm/v1/ue-contexts/"+name+"/transfer", `{"reason":"MOBI_REG_UE_VALIDATED","accessType":"3GPP_ACCESS"}`)
			if status != c.want || c.want == http.StatusOK && !strings.Contains(text, u.SUPI) {
				t.Errorf("%d %s, want %d", status, text, c.want)
			}
			if got := passedOn(first) + passedOn(second) - before; got != c.times {
				t.Errorf("it was passed on %v times, want %v", got, c.times)
			}
			if c.want != http.StatusOK {
				return
			}
			if status, _, text := asks(t, c.at, http.MethodPost, "/namf-comm/v1/ue-contexts/"+name+"/transfer-update", `{"transferStatus":"NOT_TRANSFERRED"}`); status != http.StatusOK {
				t.Errorf("what has become of it: %d %s", status, text)
			}
		})
	}
}

// passedOn is how many requests a pod has passed on.
func passedOn(p *Pod) float64 {
	return testutil.ToFloat64(p.measures.passed.WithLabelValues(passedRequest, passedDone))
}

// A UE whose shard pods say of each other that they have it is not looked for for ever.
func TestARequestIsNotSentAround(t *testing.T) {
	first, second, one, two := twoPods(t)
	if first.Holds(2) {
		first, second, one = second, first, two
	}
	const supi = "imsi-208930000000077"
	lease, _ := second.keeper.Lease(second.name(2))
	second.keeps(t, lease, supi, 2)
	root := sbitest.Serve(t, one)
	first.Passing.Root = func(string) string { return root } // whom it asks is always one that does not have it
	r, w := httptest.NewRequest(http.MethodPost, "/namf-loc/v1/"+supi+"/provide-loc-info", strings.NewReader(`{"req5gsLoc":true}`)), httptest.NewRecorder()
	r.Header.Set("Content-Type", "application/json")
	one.ServeHTTP(w, r)
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || w.Header().Get(headerPassed) != "" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if got := passedOn(first); got != mostPassing {
		t.Errorf("it was passed on %v times, want %d", got, mostPassing)
	}
}

// What this pod remembers of a UE is mended by a shard of its own that the UE comes to, and nothing is remembered of UEs that nobody asks for.
func TestAUEThatComesIsRememberedRight(t *testing.T) {
	p := podAt(t, func() []string { return nil })
	s := &Shard{pod: p, number: 2}
	p.hints.add("imsi-1", 1)
	for _, supi := range []string{"imsi-1", "imsi-2", ""} {
		s.Handled(runner.Handled{SUPI: supi, Event: procedure.Named{}, Output: &procedure.Output{}})
	}
	if one, two := p.hints.of("imsi-1"), p.hints.of("imsi-2"); one != 2 || two != 0 || len(p.hints.shards) != 1 {
		t.Errorf("shards %d and %d are remembered", one, two)
	}
}

// What was asked of a shard that does not have the UE any more is asked of the one that has, of the same pod.
func TestAShardThatHasTheUENoMore(t *testing.T) {
	p := podAt(t, func() []string { return nil })
	p.Configure(settingsOf("20893"))
	ctx, cancel := context.WithCancel(t.Context())
	kept := make(chan struct{})
	go func() { p.keeper.Run(ctx, p.Store); close(kept) }()
	t.Cleanup(func() { cancel(); <-kept })
	awaitsThat(t, "the pod has no shards", func() bool { return p.Holds(1) && p.Holds(2) })
	lease, _ := p.keeper.Lease(p.name(2))
	const supi = "imsi-208930000000001"
	p.keeps(t, lease, supi, 2)
	p.hints.add(supi, 1)
	placed, err := requests{p}.place(t.Context(), supi, false)
	if err != nil || placed.Place.TAC != 1 || p.hints.of(supi) != 2 {
		t.Errorf("%+v, %v; shard %d is remembered", placed, err, p.hints.of(supi))
	}
	_, err = requests{p}.place(t.Context(), "imsi-208930000000002", false)
	if !errors.Is(err, errNoUE) {
		t.Errorf("of nobody: %v", err)
	}
}

// whileFinding does something when a service is looked for, and finds none.
type whileFinding func()

func (f whileFinding) Find(context.Context, sbi.Service) ([]sbi.Endpoint, error) {
	f()
	return nil, http.ErrNotSupported
}
func (whileFinding) Failed(sbi.Service, sbi.Endpoint) {}

// The SMF that is to make a session asks for its UE before it has answered: the UE is found, and nobody looks into the store for it.
func TestAUEIsFoundWhileItsSessionIsMade(t *testing.T) {
	const supi = "imsi-208930000000001"
	p := podAt(t, func() []string { return nil })
	p.settings.Store(&procedure.Settings{})
	p.InstanceID = "amf-0"
	here := &Shard{pod: p, number: 2, log: slog.New(slog.DiscardHandler)}
	p.held[2] = here
	asked := false
	p.SMF = nsmf.NewClient(sbi.NewClient(&http.Transport{}, whileFinding(func() {
		asked = true
		if s, err := p.holder(t.Context(), supi); s != here { // the store has no record of it
			t.Errorf("found in %v: %v", s, err)
		}
	}), prometheus.NewRegistry()))
	here.session(t.Context(), procedure.AskSession{
		Operation: procedure.CreateSession, SUPI: supi, PLMN: "20893", Session: record.Session{ID: 1, DNN: "internet", Slice: record.Slice{SST: 1}},
	})
	if !asked {
		t.Error("no SMF was looked for")
	}
}
