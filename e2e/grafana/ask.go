package grafana

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Span is the time that a page shows.
type Span struct {
	From, To time.Time
}

// points is how many samples a graph is drawn from.
const points = 120

// Step is the distance of a graph's samples.
func (s Span) Step() time.Duration {
	return max(s.To.Sub(s.From)/points, time.Second).Truncate(time.Second)
}

// Answer is what Prometheus said to the queries of one panel.
type Answer struct {
	Panel  Panel
	Series []Named
	Errs   []error
}

// Named is a series with its name in the legend.
type Named struct {
	Name string
	Series
}

// Answered is a page with its panels' answers.
type Answered struct {
	Page    *Page
	Span    Span
	Choice  map[string]string // of the variables
	Answers []Answer
	Alerts  []Series // that fired
}

// rateInterval stands for Grafana's variable of that name, four scrape intervals of 15 s.
const rateInterval = "1m"

var (
	labelValues = regexp.MustCompile(`^label_values\((.+),\s*(\w+)\)$`)
	legendLabel = regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`)
)

// Ask chooses a value for each variable, all of them where that is offered, and asks every query.
// choice sets variables by hand. An error of a query is the panel's, an error of a variable the page's.
func (p *Page) Ask(ctx context.Context, prom *Prometheus, span Span, choice map[string]string) (*Answered, error) {
	a := &Answered{Page: p, Span: span, Choice: map[string]string{"__rate_interval": rateInterval}}
	for _, v := range p.Templating.List {
		value := choice[v.Name]
		if value == "" && v.Type == "query" {
			var err error
			if value, err = choose(ctx, prom, v, a.Choice); err != nil {
				return nil, fmt.Errorf("%s: variable %s: %w", p.UID, v.Name, err)
			}
		}
		a.Choice[v.Name] = value
	}
	for _, panel := range p.Panels {
		if panel.Type == rowType {
			continue
		}
		answer := Answer{Panel: panel}
		for _, t := range panel.Targets {
			series, err := ask(ctx, prom, t, span, a.Choice)
			if err != nil {
				answer.Errs = append(answer.Errs, fmt.Errorf("%s, panel %q, query %s: %w\n%s", p.UID, panel.Title, t.RefID, err, put(t.Expr, a.Choice)))
			}
			answer.Series = append(answer.Series, series...)
		}
		a.Answers = append(a.Answers, answer)
	}
	for _, note := range p.Annotations.List {
		if note.Expr == "" {
			continue
		}
		series, err := prom.Range(ctx, put(note.Expr, a.Choice), span.From, span.To, span.Step())
		if err != nil {
			return nil, fmt.Errorf("%s: annotation %s: %w", p.UID, note.Name, err)
		}
		a.Alerts = append(a.Alerts, series...)
	}
	return a, nil
}

// Missing is the errors of queries, and the panels that have nothing to show and do not say what that means.
func (a *Answered) Missing() error {
	var errs []error
	for _, answer := range a.Answers {
		errs = append(errs, answer.Errs...)
		if len(answer.Series) == 0 && len(answer.Errs) == 0 && answer.Panel.FieldConfig.Defaults.NoValue == "" {
			var queries []string
			for _, t := range answer.Panel.Targets {
				queries = append(queries, put(t.Expr, a.Choice))
			}
			errs = append(errs, fmt.Errorf("%s, panel %q is empty, and has no noValue: %s", a.Page.UID, answer.Panel.Title, strings.Join(queries, "; ")))
		}
	}
	return errors.Join(errs...)
}

// choose is a variable's first value, or its way to say "all". A variable without any value is an
// error: the page would be empty.
func choose(ctx context.Context, prom *Prometheus, v Variable, choice map[string]string) (string, error) {
	m := labelValues.FindStringSubmatch(v.Definition)
	if m == nil {
		return "", fmt.Errorf("%q is not label_values(metric, label)", v.Definition)
	}
	values, err := prom.LabelValues(ctx, put(m[1], choice), m[2])
	if err != nil {
		return "", err
	}
	if len(values) == 0 {
		return "", fmt.Errorf("%s has no value", put(v.Definition, choice))
	}
	if v.IncludeAll {
		return v.AllValue, nil
	}
	return values[0], nil
}

func ask(ctx context.Context, prom *Prometheus, t Target, span Span, choice map[string]string) ([]Named, error) {
	expr := put(t.Expr, choice)
	var series []Series
	var err error
	if t.Instant {
		series, err = prom.Now(ctx, expr)
	} else {
		series, err = prom.Range(ctx, expr, span.From, span.To, span.Step())
	}
	var named []Named
	for _, s := range series {
		named = append(named, Named{Name: legend(t, s.Labels), Series: s})
	}
	slices.SortStableFunc(named, func(a, b Named) int { return cmp.Compare(a.Name, b.Name) })
	return named, err
}

// put replaces variables, the longest names first.
func put(text string, choice map[string]string) string {
	var names []string
	for name := range choice {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
	for _, name := range names {
		text = strings.ReplaceAll(text, "$"+name, choice[name])
	}
	return text
}

func legend(t Target, labels map[string]string) string {
	if t.Legend == "" {
		return ""
	}
	name := legendLabel.ReplaceAllStringFunc(t.Legend, func(word string) string {
		return labels[legendLabel.FindStringSubmatch(word)[1]]
	})
	return strings.Join(strings.Fields(name), " ")
}
