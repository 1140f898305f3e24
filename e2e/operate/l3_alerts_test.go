package operate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/e2e/grafana"
	"core5g.dev/core5g/e2e/scene"
)

// incident is something that goes wrong, who has to hear of it, and how it is healed.
type incident struct {
	name string
	// tells are the alerts that fire.
	tells []tale
	// cause makes it go wrong, and go on being wrong. undo takes away what the incident has brought, after
	// the runbook has healed what it heals; where heal is empty it ends the incident, which then lies
	// outside the cluster.
	cause func(t *testing.T, ctx context.Context) (undo func())
	// heal are commands from the runbooks, in this order; healed is nil once they have helped.
	heal   []remedy
	healed func(ctx context.Context) error
	// skip says why the incident cannot be, on this cluster.
	skip func(ctx context.Context) (string, error)

	began, over time.Time
	undo        func()
}

// tale is an alert with these labels; "a|b" where one of two values is enough.
type tale struct {
	alert  string
	labels map[string]string
	// grown is nil once it is as bad as the alert tells of, where that takes as long as the machine is slow; its two minutes begin then.
	grown func(ctx context.Context) error
}

func alert(name string, labels ...string) tale {
	t := tale{alert: name, labels: map[string]string{}}
	for _, label := range labels {
		key, value, _ := strings.Cut(label, "=")
		t.labels[key] = value
	}
	return t
}

func (w tale) when(grown func(ctx context.Context) error) tale {
	w.grown = grown
	return w
}

func (w tale) is(a grafana.Alert) bool {
	for key, value := range w.labels {
		if !slices.Contains(strings.Split(value, "|"), a.Labels[key]) {
			return false
		}
	}
	return a.Labels["alertname"] == w.alert
}

// Every incident is told within two minutes of its cause, looked at and healed as the runbooks say, and no
// longer told two minutes after. Incidents of one round go on at the same time.
func TestAlertsFireAndClear(t *testing.T) {
	ctx := story(t, 25*time.Minute)
	check(t, quiet(ctx, patience))
	heard := listen(ctx)
	defer heard.stop()
	rounds := incidents()
	// Nothing else needs node agents, and their silence takes the longest to be noticed.
	silent := silentNodeAgent()
	silent.begin(t, ctx)
	for n, round := range rounds {
		for _, i := range round {
			i.begin(t, ctx)
		}
		if n == 1 {
			round = append(round, silent)
		}
		for _, i := range round {
			t.Run(i.name, func(t *testing.T) { i.fires(t, ctx, heard) })
		}
		for _, i := range round {
			i.undo()
			i.over = time.Now()
		}
	}
	t.Run("all clear", func(t *testing.T) {
		check(t, quiet(ctx, alertLimit))
		all := append(slices.Concat(rounds...), silent)
		// The ear asks for itself, and may have been told last before the last of them ended.
		check(t, cluster.Eventually(ctx, patience, func() error {
			for _, i := range all {
				for _, told := range heard.of(i) {
					if told.ended.IsZero() {
						return fmt.Errorf("%s has not ended: %v", told.alert.Labels["alertname"], told.alert.Labels)
					}
				}
			}
			return nil
		}))
		for _, i := range all {
			for _, told := range heard.of(i) {
				name := told.alert.Labels["alertname"]
				if late := told.ended.Sub(i.over); late > alertLimit {
					t.Errorf("%s ended %s after its incident", name, late.Round(time.Second))
				} else {
					t.Logf("%s fired for %s, and ended %s after its incident (%s)", name, told.ended.Sub(told.at).Round(time.Second), max(told.ended.Sub(i.over), 0).Round(time.Second), i.name)
				}
			}
		}
		scene.Must[cluster.UEStatus](t)(k.WaitAttached(ctx, firstPhone, patience))
	})
}

// No alert of the chart is left out of the incidents.
func TestEveryAlertIsCaused(t *testing.T) {
	ctx := story(t, time.Minute)
	caused := map[string]bool{}
	for _, i := range append(slices.Concat(incidents()...), silentNodeAgent()) {
		for _, w := range i.tells {
			caused[w.alert] = true
		}
	}
	for _, rule := range scene.Must[[]grafana.Rule](t)(prom.Rules(ctx)) {
		if rule.Type == "alerting" && strings.HasPrefix(rule.Name, "Core5G") && !caused[rule.Name] {
			t.Errorf("%s is caused by no incident of this suite", rule.Name)
		}
	}
}

func (i *incident) begin(t *testing.T, ctx context.Context) {
	t.Helper()
	i.undo = func() {}
	if i.skip != nil {
		reason, err := i.skip(ctx)
		check(t, err)
		if reason != "" {
			return // fires says it again
		}
	}
	i.began = time.Now()
	i.undo = sync.OnceFunc(i.cause(t, ctx))
	t.Cleanup(i.undo)
}

// fires waits for the alerts, looks as the runbook of each says, and heals.
func (i *incident) fires(t *testing.T, ctx context.Context, heard *ear) {
	t.Helper()
	if i.began.IsZero() {
		reason, err := i.skip(ctx)
		check(t, err)
		t.Skip(reason)
	}
	seen := map[string]*reading{}
	for _, w := range i.tells {
		since := i.began
		if w.grown != nil {
			check(t, cluster.Eventually(ctx, time.Until(i.began.Add(growLimit)), func() error { return w.grown(ctx) }))
			since = time.Now()
		}
		var told news
		check(t, cluster.Eventually(ctx, time.Until(since.Add(alertLimit)), func() error {
			var ok bool
			if told, ok = heard.since(i.began, w); !ok {
				return fmt.Errorf("%s does not fire with %v", w.alert, w.labels)
			}
			return nil
		}))
		name := told.alert.Labels["alertname"]
		t.Logf("%s fires after %s: %s", name, told.at.Sub(i.began).Round(time.Second), told.alert.Annotations["description"])
		seen[name] = look(t, ctx, told.alert)
	}
	for _, r := range i.heal {
		r.apply(t, ctx, seen)
	}
	if i.healed != nil {
		check(t, cluster.Eventually(ctx, patience, func() error { return i.healed(ctx) }))
	}
}

// ear hears every alert when it begins to fire and when it ends, also one that is over before somebody asks.
type ear struct {
	mutex sync.Mutex
	told  []*news
	stop  func()
}

type news struct {
	at, ended time.Time
	alert     grafana.Alert
}

func listen(ctx context.Context) *ear {
	e := &ear{}
	before := map[string]*news{}
	e.stop = repeat(ctx, func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
		alerts, err := firing(ctx)
		if err != nil {
			return err
		}
		e.mutex.Lock()
		defer e.mutex.Unlock()
		now := map[string]*news{}
		for _, a := range alerts {
			key := fmt.Sprint(a.Labels) // in the order of the labels
			if now[key] = before[key]; now[key] == nil {
				now[key] = &news{at: time.Now(), alert: a}
				e.told = append(e.told, now[key])
			}
		}
		for key := range maps.Keys(before) {
			if now[key] == nil {
				before[key].ended = time.Now()
			}
		}
		before = now
		return nil
	})
	return e
}

func (e *ear) since(begin time.Time, w tale) (news, bool) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	for _, n := range e.told {
		if n.at.After(begin) && w.is(n.alert) {
			return *n, true
		}
	}
	return news{}, false
}

// of are the news of an incident.
func (e *ear) of(i *incident) []news {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	var list []news
	for _, n := range e.told {
		if !i.began.IsZero() && n.at.After(i.began) && slices.ContainsFunc(i.tells, func(w tale) bool { return w.is(n.alert) }) && n.at.Before(i.over) {
			list = append(list, *n)
		}
	}
	return list
}

// repeat calls what until it is told to stop, and waits for the last call. Errors are those of a core in
// trouble, and nobody's.
func repeat(ctx context.Context, what func(ctx context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			_ = what(ctx)
		}
	}()
	return func() { cancel(); <-done }
}
