package runner

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"

	"github.com/google/go-cmp/cmp"
)

// chart of what subscribers to the AMF's status are told, and answer, one line each.
type chart struct {
	*network
	lines []string
}

func (c *chart) subscribe(h *holder, name string, replaces bool) {
	w, _ := procedure.NewStatusWatch(name, "http://smf/"+name, nil, c.settings)
	h.runner.KeepStatus(w, replaces, func(err error) { c.line("%s subscribed: %v", name, err) })
	c.settle()
}

func (c *chart) end(h *holder, name string) {
	h.runner.EndStatus(name, func(err error) { c.line("%s unsubscribed: %v", name, err) })
	c.settle()
}

func (c *chart) line(format string, a ...any) { c.lines = append(c.lines, fmt.Sprintf(format, a...)) }

// serves PLMNs from now on.
func (c *chart) serves(h *holder, plmns ...string) {
	is := *c.settings
	is.PLMNs = nil
	for _, p := range plmns {
		is.PLMNs = append(is.PLMNs, procedure.PLMN{PLMN: p, Slices: []record.Slice{{SST: 1}}})
	}
	c.settings = &is
	if h != nil {
		h.runner.Configured()
	}
	c.settle()
}

// told are those that wait for an answer.
func (c *chart) told() {
	for _, e := range c.asks {
		if x, is := e.(procedure.AskStatusHeard); is {
			c.line("AMF -> %s: gone %v, back %v", x.URI, x.Gone, x.Back)
		}
	}
	c.asks = nil
}

// answers each that waits.
func (c *chart) answers(a procedure.StatusHeard) {
	c.told()
	list := c.asked
	c.asked = nil
	for _, f := range list {
		c.line("  %d %s", a.Outcome, a.Cause)
		f(a)
	}
	c.settle()
}

func TestStatusChange(t *testing.T) {
	done, unknown := procedure.StatusHeard{Outcome: procedure.Done}, procedure.StatusHeard{Outcome: procedure.Unknown}
	for name, x := range map[string]struct {
		story func(*testing.T, *chart, *holder)
		want  string
	}{
		"a PLMN comes and goes, and each is told once": {func(_ *testing.T, c *chart, h *holder) {
			c.subscribe(h, "1-a", false)
			c.serves(h, "20893", "00101")
			c.answers(done)
			c.serves(h, "20893", "00101")
			c.answers(done)
			c.serves(h, "20893")
			c.answers(done)
		}, `1-a subscribed: <nil>
AMF -> http://smf/1-a: gone [], back [00101-010041]
  1 
AMF -> http://smf/1-a: gone [00101-010041], back []
  1 `},
		"it goes while nobody holds the shard: the next holder tells": {func(_ *testing.T, c *chart, h *holder) {
			c.subscribe(h, "1-a", false)
			h.die()
			c.serves(nil, "00101")
			c.hold(1)
			c.answers(done)
		}, `1-a subscribed: <nil>
AMF -> http://smf/1-a: gone [20893-010041], back [00101-010041]
  1 `},
		"the holder dies before the answer: told again, and then no more": {func(_ *testing.T, c *chart, h *holder) {
			c.subscribe(h, "1-a", false)
			c.serves(h, "00101")
			c.told()
			c.asked = nil
			h.die()
			next := c.hold(1)
			c.answers(done)
			next.die()
			c.hold(1)
			c.answers(done)
		}, `1-a subscribed: <nil>
AMF -> http://smf/1-a: gone [20893-010041], back [00101-010041]
AMF -> http://smf/1-a: gone [20893-010041], back [00101-010041]
  1 `},
		"no answer: again after a second, with what is so then": {func(_ *testing.T, c *chart, h *holder) {
			c.subscribe(h, "1-a", false)
			c.serves(h, "00101")
			c.answers(unknown)
			c.serves(nil, "00102")
			c.pass(2 * firstTelling)
			c.answers(done)
			c.pass(time.Hour)
			c.answers(done)
		}, `1-a subscribed: <nil>
AMF -> http://smf/1-a: gone [20893-010041], back [00101-010041]
  3 
AMF -> http://smf/1-a: gone [20893-010041 00101-010041], back [00102-010041]
  1 `},
		"no answer, and all is as it was: it hears that": {func(_ *testing.T, c *chart, h *holder) {
			c.subscribe(h, "1-a", false)
			c.serves(h, "00101")
			c.answers(unknown)
			c.serves(h, "20893")
			c.answers(done)
			c.pass(time.Hour)
			c.answers(done)
		}, `1-a subscribed: <nil>
AMF -> http://smf/1-a: gone [20893-010041], back [00101-010041]
  3 
AMF -> http://smf/1-a: gone [00101-010041], back [20893-010041]
  1 `},
		"the holder dies before the answer, and all is as it was: the next one says that": {func(_ *testing.T, c *chart, h *holder) {
			c.subscribe(h, "1-a", false)
			c.serves(h, "00101")
			c.told()
			c.asked = nil
			h.die()
			c.serves(nil, "20893")
			next := c.hold(1)
			c.answers(done)
			next.die()
			c.hold(1)
			c.answers(done)
		}, `1-a subscribed: <nil>
AMF -> http://smf/1-a: gone [20893-010041], back [00101-010041]
AMF -> http://smf/1-a: gone [00101-010041], back [20893-010041]
  1 `},
		"the Settings change while it is told: it hears that, too": {func(_ *testing.T, c *chart, h *holder) {
			c.subscribe(h, "1-a", false)
			c.serves(h, "00101")
			c.serves(h, "20893")
			c.answers(done)
			c.answers(done)
		}, `1-a subscribed: <nil>
AMF -> http://smf/1-a: gone [20893-010041], back [00101-010041]
  1 
AMF -> http://smf/1-a: gone [00101-010041], back [20893-010041]
  1 `},
		"nobody is there any more: it ends": {func(_ *testing.T, c *chart, h *holder) {
			c.subscribe(h, "1-a", false)
			c.serves(h, "00101")
			c.answers(procedure.StatusHeard{Outcome: procedure.Refused, Nobody: true})
			c.end(h, "1-a")
		}, `1-a subscribed: <nil>
AMF -> http://smf/1-a: gone [20893-010041], back [00101-010041]
  2 
1-a unsubscribed: there is no such subscription`},
		"it never answers: it ends": {func(_ *testing.T, c *chart, h *holder) {
			c.subscribe(h, "1-a", false)
			c.serves(h, "00101")
			for range mostTellings {
				c.asks = nil
				list := c.asked
				c.asked = nil
				for _, f := range list {
					f(unknown)
				}
				c.pass(longestTelling)
			}
			c.end(h, "1-a")
		}, `1-a subscribed: <nil>
1-a unsubscribed: there is no such subscription`},
		"unsubscribed: it hears nothing, from the next holder neither": {func(_ *testing.T, c *chart, h *holder) {
			c.subscribe(h, "1-a", false)
			c.subscribe(h, "1-b", false)
			c.end(h, "1-a")
			c.end(h, "1-a")
			h.die()
			next := c.hold(1)
			c.serves(next, "00101")
			c.answers(done)
		}, `1-a subscribed: <nil>
1-b subscribed: <nil>
1-a unsubscribed: <nil>
1-a unsubscribed: there is no such subscription
AMF -> http://smf/1-b: gone [20893-010041], back [00101-010041]
  1 `},
		"replaced, where there is one": {func(_ *testing.T, c *chart, h *holder) {
			c.subscribe(h, "1-a", true)
			c.subscribe(h, "1-a", false)
			c.subscribe(h, "1-a", true)
		}, `1-a subscribed: there is no such subscription
1-a subscribed: <nil>
1-a subscribed: <nil>`},
		"asked for before the holder has read what there is": {func(t *testing.T, c *chart, h *holder) {
			c.subscribe(h, "1-a", false)
			h.die()
			c.soon = nil
			lease, err := c.store.Acquire(t.Context(), "amf-1", "holder-9", leaseTime)
			if err != nil {
				t.Fatal(err)
			}
			next := &holder{network: c.network, lease: lease, shard: 1, id: 9, may: true}
			next.runner = New(Config{World: next, Log: h.runner.log, Shard: 1, Lease: lease, Sealer: c.sealer, Keys: c.keys, Writer: 99})
			next.runner.Start()
			c.end(next, "1-a")
		}, `1-a subscribed: <nil>
1-a unsubscribed: <nil>`},
		"more than there can be": {func(_ *testing.T, c *chart, h *holder) {
			for n := range MostStatuses {
				c.subscribe(h, fmt.Sprint("1-", n), false)
			}
			c.lines = nil
			c.subscribe(h, "1-a", false)
			c.end(h, "1-7")
			c.subscribe(h, "1-a", false)
		}, `1-a subscribed: there are as many subscriptions to the AMF's status as there can be
1-7 unsubscribed: <nil>
1-a subscribed: <nil>`},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			c := &chart{network: n}
			n.manual = true
			x.story(t, c, n.hold(1))
			c.told()
			if diff := cmp.Diff(strings.Split(x.want, "\n"), c.lines); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
