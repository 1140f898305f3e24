package worker

import (
	"strings"
	"time"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/runner"

	"github.com/prometheus/client_golang/prometheus"
)

// messageCounts are of NAS and NGAP. Those of each message are there from the beginning, so that a rate sees the first, and are found without a look-up.
type messageCounts struct {
	nas, ngap *prometheus.CounterVec
	said      [2][256]prometheus.Counter // by direction and type, those without a cause
	carried   map[carried]prometheus.Counter
}

type carried struct {
	kind     n2.Kind
	toAccess bool
}

// The directions of messages, as label values.
const (
	received = "received"
	sent     = "sent"
)

func newMessageCounts() *messageCounts {
	c := &messageCounts{
		nas: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "core5g_amf_nas_messages_total",
			Help: "NAS messages of mobility management (TS 24.501 8.2) that UEs have sent (received) and were sent, with their 5GMM cause where they say one.",
		}, []string{"direction", "message", "cause"}),
		ngap: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "core5g_amf_ngap_messages_total", Help: "NGAP messages (TS 38.413 9.2) that gNBs have sent (received) and were sent.",
		}, []string{"direction", "message"}),
		carried: map[carried]prometheus.Counter{},
	}
	for d, name := range []string{n1.Uplink: received, n1.Downlink: sent} {
		for t := range c.said[d] {
			if kind := n1.MessageType(t); kind.Goes(n1.Direction(d)) {
				c.said[d][t] = c.nas.WithLabelValues(name, nasName(kind), "")
			}
		}
	}
	for _, k := range n2.Kinds() {
		if k.FromRAN() {
			c.carried[carried{k, false}] = c.ngap.WithLabelValues(received, k.String())
		}
		if k.FromAMF() {
			c.carried[carried{k, true}] = c.ngap.WithLabelValues(sent, k.String())
		}
	}
	return c
}

// nasName is the specification's, in one word: RegistrationRequest.
func nasName(t n1.MessageType) string {
	return strings.NewReplacer(" ", "", "-", "", "(", "", ")", "").Replace(t.String())
}

// count NAS. What is of no type that can be in its direction was answered, and is not counted by whatever number somebody sends.
func (c *messageCounts) count(list []procedure.Said) {
	for _, s := range list {
		t := s.Type()
		counter := c.said[s.Direction][t]
		if counter == nil {
			continue
		}
		if cause, says := n1.CauseIn(s.Plain); says {
			name := received
			if s.Direction == n1.Downlink {
				name = sent
			}
			counter = c.nas.WithLabelValues(name, nasName(t), causeName(cause))
		}
		counter.Inc()
	}
}

// causeName bounds what UEs can make a label value of.
func causeName(c n1.Cause) string {
	if name := c.String(); !strings.HasPrefix(name, unnamedCause) {
		return name
	}
	return "other"
}

const unnamedCause = "5GMM cause "

// Handled implements runner.World.
func (s *Shard) Handled(h runner.Handled) {
	s.pod.measures.messages.count(h.Output.NAS)
	if _, is := h.Event.(procedure.Named); is && h.SUPI != "" { // what this pod remembers may be of another shard
		s.pod.hints.correct(h.SUPI, s.number)
	}
	s.trace(h)
	for _, r := range h.Output.Ended {
		s.refusals.tell(s, r)
	}
}

// refusals are registrations that have failed, as people want to see them: which UE, and why. In a storm some stand for all.
type refusals struct {
	since time.Time
	told  int
	more  int // that were not told
}

// mostTold in a second, of a shard.
const mostTold = 20

func (f *refusals) tell(s *Shard, r procedure.Result) {
	if r.Kind != procedure.Registration || r.Cause == "" {
		return
	}
	if now := s.Now(); now.Sub(f.since) >= time.Second {
		f.since, f.told = now, 0
	}
	if f.told++; f.told > mostTold {
		f.more++
		return
	}
	s.log.Info("a registration has failed", "ue", r.Who, "type", registrationTypes[r.Type], "why", r.Cause, "untold", f.more)
	f.more = 0
}

// Carried implements runner.World.
func (s *Shard) Carried(m n2.Message, toAccess bool) {
	if c := s.pod.measures.messages.carried[carried{m.Kind(), toAccess}]; c != nil {
		c.Inc()
	}
}
