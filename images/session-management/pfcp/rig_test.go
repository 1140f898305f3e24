package pfcp

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	wire "core5g.dev/core5g/upf/upfc/pfcp"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// rig is an endpoint with a clock of its own, and the other end of its wire.
type rig struct {
	testing.TB
	*Endpoint
	now    time.Time
	held   bool // the lease
	out    []datagram
	events []Event
}

type datagram struct {
	to netip.AddrPort
	b  []byte
}

var (
	unitAddr = netip.MustParseAddrPort("192.0.2.1:8805")
	born     = StampOf(time.Unix(1_700_000_000, 0)) // the unit
	able     = Features{}.With(FTUP, UEIP, EMPU)
)

func newRig(t testing.TB, set ...func(*Config)) *rig {
	t.Helper()
	r := &rig{TB: t, now: time.Unix(1_760_000_000, 0), held: true}
	cfg := Config{
		Node: "smf-0.core5g", IPv4: netip.MustParseAddr("198.51.100.1"), Recovery: StampOf(time.Unix(1_750_000_000, 0)),
		Clock: func() time.Time { return r.now }, Random: rand.New(rand.NewPCG(1, 2)),
		Send:    func(to netip.AddrPort, b []byte) { r.out = append(r.out, datagram{to, append([]byte(nil), b...)}) },
		May:     func() bool { return r.held },
		Handle:  func(ev Event) { r.events = append(r.events, ev) },
		Metrics: NewMetrics(prometheus.NewRegistry()),
	}
	for _, f := range set {
		f(&cfg)
	}
	var err error
	if r.Endpoint, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	return r
}

// next is the next message that was sent, and where to.
func (r *rig) next() (*wire.Message, netip.AddrPort) {
	r.Helper()
	if len(r.out) == 0 {
		r.Fatal("nothing was sent")
	}
	d := r.out[0]
	r.out = r.out[1:]
	m, err := wire.Parse(d.b)
	if err != nil {
		r.Fatalf("what was sent cannot be read: %v", err)
	}
	return m, d.to
}

// wants is the next message, which is to be of a type.
func (r *rig) wants(kind uint8) *wire.Message {
	r.Helper()
	m, _ := r.next()
	if m.Type != kind {
		r.Fatalf("sent %s, want %s", wire.TypeName(m.Type), wire.TypeName(kind))
	}
	return m
}

func (r *rig) silent() {
	r.Helper()
	if len(r.out) > 0 {
		m, _ := r.next()
		r.Fatalf("sent %s, want nothing", wire.TypeName(m.Type))
	}
}

// pass lets time pass.
func (r *rig) pass(d time.Duration) {
	end := r.now.Add(d)
	for {
		at, ok := r.NextDeadline()
		if !ok || at.After(end) {
			break
		}
		r.now = at
		r.Tick(r.now)
	}
	r.now = end
}

// from is a message that comes from an address.
func (r *rig) from(addr netip.AddrPort, kind uint8, seid *uint64, sequence uint32, ies ...*ie.IE) {
	r.Helper()
	b, err := wire.Marshal(kind, seid, sequence, ies)
	if err != nil {
		r.Fatal(err)
	}
	r.Receive(addr, b)
}

// answer answers a message of the endpoint's, as the unit. A session message's header has SEID.
func (r *rig) answer(m *wire.Message, ies ...*ie.IE) {
	r.Helper()
	r.from(unitAddr, m.Type+1, nil, m.Sequence, ies...)
}

func (r *rig) answerSession(m *wire.Message, seid uint64, ies ...*ie.IE) {
	r.Helper()
	r.from(unitAddr, m.Type+1, &seid, m.Sequence, ies...)
}

func cause(c uint8) *ie.IE { return ie.NewCause(c) }

var (
	accepted = cause(ie.CauseRequestAccepted)
	upf      = ie.NewNodeID("", "", "upf-0")
)

func featuresElement(f Features) *ie.IE { return ie.New(ie.UPFunctionFeatures, f[:]) }

// story is the events so far, in words, and forgets them.
func (r *rig) story() string {
	var out []string
	for _, ev := range r.events {
		switch ev := ev.(type) {
		case Associated:
			s := "associated"
			for _, w := range []struct {
				word string
				is   bool
			}{{" updated", ev.Updated}, {" by unit", ev.ByUnit}, {" retained", ev.Retained}, {" emptied", ev.Emptied}} {
				if w.is {
					s += w.word
				}
			}
			out = append(out, s)
		case NotAssociated:
			out = append(out, "in vain: "+ev.Err.Error())
		case PathDown:
			out = append(out, "down")
		case UnitRestarted:
			out = append(out, fmt.Sprintf("restarted %+d", int32(ev.New-ev.Old)))
		case AssociationLost:
			out = append(out, "lost")
		case Released:
			out = append(out, fmt.Sprintf("released %v", ev.Err))
		case ReleaseRequested:
			out = append(out, "wants release in "+ev.Period.String())
		case FeaturesChanged:
			out = append(out, "features changed")
		case LoadChanged:
			out = append(out, fmt.Sprintf("load %d", ev.Percent))
		case OverloadChanged:
			s := fmt.Sprintf("overload %d", ev.Percent)
			if !ev.Until.IsZero() {
				s += fmt.Sprintf(" for %s", ev.Until.Sub(r.now))
			}
			out = append(out, s)
		case SessionReport:
			out = append(out, fmt.Sprintf("report of %#x", ev.CPSEID))
		case NodeReport:
			out = append(out, "node report")
		}
	}
	r.events = nil
	return strings.Join(out, "; ")
}

func (r *rig) tells(want string) {
	r.Helper()
	if got := r.story(); got != want {
		r.Fatalf("told %q, want %q", got, want)
	}
}

func (r *rig) dropped(reason string) int {
	return int(testutil.ToFloat64(r.cfg.Metrics.dropped.WithLabelValues(reason)))
}

func (r *rig) add(u Unit) {
	r.Helper()
	if err := r.AddUnit(u); err != nil {
		r.Fatal(err)
	}
}

// ready is a rig with a unit that can be used.
func ready(t testing.TB, set ...func(*Config)) *rig {
	t.Helper()
	r := newRig(t, set...)
	r.add(Unit{NodeID: "upf-0", Address: unitAddr})
	r.answer(r.wants(message.MsgTypeAssociationSetupRequest), upf, accepted, born.element(), featuresElement(able))
	r.tells("associated")
	return r
}

// outcomes collects what became of requests.
type outcomes []Outcome

func (o *outcomes) done(x Outcome) { *o = append(*o, x) }
