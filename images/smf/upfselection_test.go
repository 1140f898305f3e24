package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestEachReadyUPFHasItsTurn(t *testing.T) {
	for turn, want := range []string{"[a c b]", "[c a b]", "[a c b]"} {
		if got := fmt.Sprint(order([]string{"a", "b", "c"}, []bool{true, false, true}, turn)); got != want {
			t.Errorf("turn %d: %s, want %s", turn, got, want)
		}
	}
	if got := order([]string{"a", "b"}, []bool{false, false}, 7); fmt.Sprint(got) != "[a b]" {
		t.Errorf("none is ready: %v", got)
	}
}

func TestSelection(t *testing.T) {
	upfs, applied := 1, []string{}
	clock := time.Unix(1000, 0)
	s := newSelection(func(barred map[string]bool, turn int) {
		applied = append(applied, fmt.Sprintf("%d%v", turn, barred))
	}, func() int { return upfs })
	s.now = func() time.Time { return clock }
	passed := 0
	server := httptest.NewServer(s.handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed++ })))
	defer server.Close()
	call := func(method, path, body string) int {
		t.Helper()
		request, err := http.NewRequest(method, server.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode
	}
	want := func(what string, wantApplied ...string) {
		t.Helper()
		if fmt.Sprint(applied) != fmt.Sprint(wantApplied) {
			t.Errorf("%s: applied %v, want %v", what, applied, wantApplied)
		}
	}
	call("POST", smContexts, "{}")
	want("one UPF needs no turn")
	upfs = 2
	call("POST", smContexts, "{}")
	call("POST", smContexts, "{}")
	want("a turn holds for a period", "1map[]")
	clock = clock.Add(turnPeriod)
	call("POST", smContexts+"/x/modify", "{}")
	want("only a creation takes one", "1map[]")
	call("POST", smContexts, "{}")
	want("the next", "1map[]", "2map[]")
	if code := call("PUT", upfSelection, `{"barred": ["upf-1"]}`); code != http.StatusNoContent {
		t.Errorf("PUT answers %d", code)
	}
	call("PUT", upfSelection, `{"barred": ["upf-1"]}`)
	want("barring is at once, and once", "1map[]", "2map[]", "3map[upf-1:true]")
	if !s.bars("upf-1") || s.bars("upf-0") {
		t.Error("bars the wrong one")
	}
	call("PUT", upfSelection, `{"barred": []}`)
	want("and is taken back", "1map[]", "2map[]", "3map[upf-1:true]", "4map[]")
	if passed != 5 {
		t.Errorf("%d requests reached the SMF, want 5", passed)
	}
	for body, method := range map[string]string{"{": http.MethodPut, "": http.MethodGet} {
		if code := call(method, upfSelection, body); code < 400 {
			t.Errorf("%s %q answers %d", method, body, code)
		}
	}
}
