package grafana

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// Prometheus is a server's HTTP API.
type Prometheus struct {
	URL    string // without /api
	Client *http.Client
}

// Sample is a value at a time.
type Sample struct {
	At    time.Time
	Value float64
}

// Series is a labelled list of samples; an instant query's has one.
type Series struct {
	Labels  map[string]string
	Samples []Sample
}

// Last is the latest value.
func (s Series) Last() float64 {
	if len(s.Samples) == 0 {
		return math.NaN()
	}
	return s.Samples[len(s.Samples)-1].Value
}

// Alert is an alert that is pending or firing.
type Alert struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	State       string            `json:"state"`
	ActiveAt    time.Time         `json:"activeAt"`
}

// ScrapeTarget is what Prometheus scrapes.
type ScrapeTarget struct {
	Labels    map[string]string `json:"labels"`
	Health    string            `json:"health"`
	LastError string            `json:"lastError"`
}

// Rule is a recording or alerting rule, as Prometheus last ran it.
type Rule struct {
	Name      string `json:"name"`
	Type      string `json:"type"`
	Health    string `json:"health"`
	LastError string `json:"lastError"`
}

// get calls the API and decodes data into v. A warning of Prometheus ("… is not a counter") is an error
// here: it says that a query asks nonsense.
func (p *Prometheus) get(ctx context.Context, path string, args url.Values, v any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL+"/api/v1/"+path+"?"+args.Encode(), nil)
	if err != nil {
		return err
	}
	resp, err := p.Client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var answer struct {
		Status   string          `json:"status"`
		Data     json.RawMessage `json:"data"`
		Error    string          `json:"error"`
		Warnings []string        `json:"warnings"`
		Infos    []string        `json:"infos"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("%s answered %s: %.200s", path, resp.Status, body)
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s: %s", path, answer.Error)
	}
	if notes := slices.Concat(answer.Warnings, answer.Infos); len(notes) > 0 {
		return fmt.Errorf("%s: Prometheus wonders: %v", path, notes)
	}
	return json.Unmarshal(answer.Data, v)
}

// pair is a sample in JSON: [seconds, "value"].
type pair struct{ Sample }

func (p *pair) UnmarshalJSON(data []byte) error {
	var raw [2]any
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	seconds, isNumber := raw[0].(float64)
	text, isText := raw[1].(string)
	if !isNumber || !isText {
		return fmt.Errorf("sample %s is not [time, value]", data)
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return err
	}
	p.At, p.Value = time.UnixMilli(int64(seconds*1000)), value
	return nil
}

func (p *Prometheus) series(ctx context.Context, path string, args url.Values) ([]Series, error) {
	var data struct {
		Type   string          `json:"resultType"`
		Result json.RawMessage `json:"result"`
	}
	if err := p.get(ctx, path, args, &data); err != nil {
		return nil, err
	}
	if data.Type == "scalar" {
		var value pair
		if err := json.Unmarshal(data.Result, &value); err != nil {
			return nil, err
		}
		return []Series{{Samples: []Sample{value.Sample}}}, nil
	}
	var result []struct {
		Metric map[string]string `json:"metric"`
		Value  *pair             `json:"value"`
		Values []pair            `json:"values"`
	}
	if err := json.Unmarshal(data.Result, &result); err != nil {
		return nil, err
	}
	var list []Series
	for _, r := range result {
		s := Series{Labels: r.Metric}
		if r.Value != nil {
			s.Samples = append(s.Samples, r.Value.Sample)
		}
		for _, v := range r.Values {
			s.Samples = append(s.Samples, v.Sample)
		}
		list = append(list, s)
	}
	return list, nil
}

// Now runs an instant query.
func (p *Prometheus) Now(ctx context.Context, expr string) ([]Series, error) {
	return p.series(ctx, "query", url.Values{"query": {expr}})
}

// Range runs a query over a time.
func (p *Prometheus) Range(ctx context.Context, expr string, from, to time.Time, step time.Duration) ([]Series, error) {
	return p.series(ctx, "query_range", url.Values{
		"query": {expr},
		"start": {strconv.FormatInt(from.Unix(), 10)},
		"end":   {strconv.FormatInt(to.Unix(), 10)},
		"step":  {strconv.FormatFloat(step.Seconds(), 'f', -1, 64)},
	})
}

// LabelValues lists a label's values among the series that the selector finds.
func (p *Prometheus) LabelValues(ctx context.Context, selector, label string) ([]string, error) {
	var values []string
	err := p.get(ctx, "label/"+url.PathEscape(label)+"/values", url.Values{"match[]": {selector}}, &values)
	return values, err
}

// Alerts lists what is pending or firing.
func (p *Prometheus) Alerts(ctx context.Context) ([]Alert, error) {
	var data struct {
		Alerts []Alert `json:"alerts"`
	}
	err := p.get(ctx, "alerts", nil, &data)
	return data.Alerts, err
}

// Targets lists what is scraped.
func (p *Prometheus) Targets(ctx context.Context) ([]ScrapeTarget, error) {
	var data struct {
		Active []ScrapeTarget `json:"activeTargets"`
	}
	err := p.get(ctx, "targets", url.Values{"state": {"active"}}, &data)
	return data.Active, err
}

// Rules lists all rules.
func (p *Prometheus) Rules(ctx context.Context) ([]Rule, error) {
	var data struct {
		Groups []struct {
			Rules []Rule `json:"rules"`
		} `json:"groups"`
	}
	err := p.get(ctx, "rules", nil, &data)
	var all []Rule
	for _, g := range data.Groups {
		all = append(all, g.Rules...)
	}
	return all, err
}
