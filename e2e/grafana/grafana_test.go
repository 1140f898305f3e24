package grafana

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const shipped = "../../charts/core5g/files/dashboards"

// server answers as Prometheus does; asked collects the queries.
func server(t *testing.T, answer func(path, query string) string) (*Prometheus, *[]string) {
	t.Helper()
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.FormValue("query")
		if query != "" {
			asked = append(asked, query)
		}
		_, _ = io.WriteString(w, answer(r.URL.Path, query))
	}))
	t.Cleanup(s.Close)
	return &Prometheus{URL: s.URL, Client: s.Client()}, &asked
}

const (
	matrix = `{"status":"success","data":{"resultType":"matrix","result":[
		{"metric":{"pod":"upf-0","reason":"no_pdr","slice":"internet"},"values":[[1000,"1"],[1010,"2.5"],[1020,"NaN"]]}]}}`
	vector = `{"status":"success","data":{"resultType":"vector","result":[
		{"metric":{"function":"smf","deployment":"core5g-smf-<internet>"},"value":[1000,"1"]}]}}`
	names = `{"status":"success","data":["core5g"]}`
)

func prometheusLike(path, _ string) string {
	switch {
	case strings.HasSuffix(path, "/query"):
		return vector
	case strings.HasSuffix(path, "/query_range"):
		return matrix
	default:
		return names
	}
}

var span = Span{time.Unix(1000, 0), time.Unix(1600, 0)}

// Every shipped page can be asked and drawn, and no variable is left in a query.
func TestShippedPages(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(shipped, "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no dashboards: %v", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			page, err := Read(path)
			if err != nil {
				t.Fatal(err)
			}
			prom, asked := server(t, prometheusLike)
			answered, err := page.Ask(t.Context(), prom, span, nil)
			if err != nil {
				t.Fatal(err)
			}
			targets := 0
			for _, p := range page.Panels {
				targets += len(p.Targets)
			}
			if len(*asked) != targets+1 { // and the annotation
				t.Errorf("%d queries asked, the page has %d and an annotation", len(*asked), targets)
			}
			for _, query := range *asked {
				if strings.Contains(strings.ReplaceAll(query, `"$1"`, ""), "$") {
					t.Errorf("a variable is left in %s", query)
				}
			}
			var svg bytes.Buffer
			if err := answered.Picture(&svg); err != nil {
				t.Fatal(err)
			}
			wellFormed(t, svg.Bytes())
		})
	}
}

func wellFormed(t *testing.T, svg []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("the picture is no XML: %v", err)
		}
	}
}

func TestPrometheusErrors(t *testing.T) {
	tests := []struct {
		name, answer, want string
	}{
		{"a query that it cannot read", `{"status":"error","errorType":"bad_data","error":"parse error"}`, "parse error"},
		{"a query that it wonders about", `{"status":"success","infos":["metric might not be a counter"],"data":{"resultType":"vector","result":[]}}`, "might not be a counter"},
		{"something else answers", `<html>`, "<html>"},
		{"a sample that is none", `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,2]}]}}`, "not [time, value]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			prom, _ := server(t, func(string, string) string { return tt.answer })
			_, err := prom.Now(context.Background(), "up")
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestVariableWithoutValueIsAnError(t *testing.T) {
	page, err := Read(filepath.Join(shipped, "core5g-core.json"))
	if err != nil {
		t.Fatal(err)
	}
	prom, _ := server(t, func(string, string) string { return `{"status":"success","data":[]}` })
	if _, err := page.Ask(t.Context(), prom, span, nil); err == nil || !strings.Contains(err.Error(), "has no value") {
		t.Errorf("error %v, want that the namespace has no value", err)
	}
}

func TestUnknownPanelsAreRefused(t *testing.T) {
	for name, content := range map[string]string{
		"kind of panel":  `{"panels": [{"type": "piechart", "title": "x"}]}`,
		"transformation": `{"panels": [{"type": "table", "transformations": [{"id": "merge"}]}]}`,
	} {
		path := filepath.Join(t.TempDir(), "page.json")
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil {
			t.Errorf("an unknown %s was taken", name)
		}
	}
}

func TestLegend(t *testing.T) {
	labels := map[string]string{"slice": "internet", "cause": ""}
	tests := []struct{ format, want string }{
		{"{{slice}} {{cause}} up", "internet up"},
		{"{{ slice }}", "internet"},
		{"{{nothing}}", ""},
		{"", ""},
	}
	for _, tt := range tests {
		if got := legend(Target{Legend: tt.format}, labels); got != tt.want {
			t.Errorf("legend %q: %q, want %q", tt.format, got, tt.want)
		}
	}
}

func TestPutReplacesLongNamesFirst(t *testing.T) {
	got := put(`$pods{a="$pod"}`, map[string]string{"pod": "x", "pods": "y"})
	if got != `y{a="x"}` {
		t.Errorf("got %s", got)
	}
}

func TestFormat(t *testing.T) {
	tests := []struct {
		value float64
		unit  string
		want  string
	}{
		{0, "bps", "0 bit/s"},
		{1.234e9, "bps", "1.23 Gbit/s"},
		{0.0312, "percentunit", "3.1 %"},
		{1536, "bytes", "1.5 KiB"},
		{0.00042, "s", "420 µs"},
		{0.042, "s", "42 ms"},
		{86400 * 90, "s", "90 days"},
		{12, "short", "12"},
		{1500, "short", "1.5 k"},
		{math.NaN(), "s", "-"},
	}
	for _, tt := range tests {
		if got := format(tt.value, tt.unit); got != tt.want {
			t.Errorf("%v in %s: %q, want %q", tt.value, tt.unit, got, tt.want)
		}
	}
}

func TestNice(t *testing.T) {
	for v, want := range map[float64]float64{0: 1, 0.93: 1, 1.2: 2, 99: 100, 101: 200, 4200: 6000} {
		if got := nice(v); math.Abs(got-want) > want/1e6 {
			t.Errorf("nice(%v) = %v, want %v", v, got, want)
		}
	}
}

func TestStackedCurvesAddUp(t *testing.T) {
	var panel Panel
	if err := json.Unmarshal([]byte(`{"fieldConfig": {"defaults": {"custom": {"stacking": {"mode": "normal"}}}}}`), &panel); err != nil {
		t.Fatal(err)
	}
	series := func(values ...float64) Named {
		var n Named
		for i, v := range values {
			n.Samples = append(n.Samples, Sample{time.Unix(int64(i), 0), v})
		}
		return n
	}
	list := curves(Answer{Panel: panel, Series: []Named{series(1, 2), series(10, math.NaN())}})
	if got := list[1].samples; len(got) != 1 || got[0].Value != 11 {
		t.Errorf("upper curve %v, want 11 and nothing where there was no number", got)
	}
}

func TestBandsAreTheUnionOfAlerts(t *testing.T) {
	at := func(seconds ...int64) Series {
		var s Series
		for _, n := range seconds {
			s.Samples = append(s.Samples, Sample{At: time.Unix(n, 0)})
		}
		return s
	}
	got := bands([]Series{at(10, 20, 50), at(20, 30)}, 10*time.Second)
	want := []Span{{time.Unix(10, 0), time.Unix(30, 0)}, {time.Unix(50, 0), time.Unix(50, 0)}}
	if !slices.Equal(got, want) {
		t.Errorf("bands %v, want %v", got, want)
	}
}
