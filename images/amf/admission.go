package main

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"runtime/debug"
	"slices"
	"sync"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/prometheus/client_golang/prometheus"

	_ "github.com/free5gc/amf/pkg/service" // has the scheduler
)

// free5GC's AMF 1.4.5 takes every NGAP message in the order in which it came. When hundreds of UEs register at
// once, the first message of each comes before the second of any: when the AMF gets to the second messages,
// the UEs have given up (T3510, 15 s; TS 24.501 10.2), their next attempts stand in the queue behind messages
// that nobody waits for, and so on without end. It also takes as many messages at a time as there are CPUs,
// each for as long as other functions need to answer, and for good where one panics.
//
// So initial registrations are admitted: some are under way at a time, the others wait outside, and messages
// of UEs that are inside never wait for them. Of those who wait the latest goes first: it has the most time
// left. Who has waited for waitLimit is not let in any more, and comes anew by itself. How many are inside
// follows what the core can do: one more for so many that get in, half as many when one does not in time.
// Emergency registrations, service requests, and registration updates do not wait.
//
// handle is called by the AMF's workers, in parallel, in order for one UE.

const (
	// ngapWorkers handle messages at a time; messages of one UE have the same.
	ngapWorkers = 64
	// ngapQueue is of one worker. The AMF keeps 256 KiB for each message in it.
	ngapQueue = 16

	minAdmitted, firstAdmitted, maxAdmitted = 4, 16, 64

	t3510 = 15 * time.Second
	// waitLimit leaves the UE enough of T3510 for its registration.
	waitLimit = 8 * time.Second
	// silenceLimit is how long a UE that has all answers of the AMF keeps its place.
	silenceLimit = 4 * time.Second
	sweepPeriod  = 250 * time.Millisecond
)

//go:linkname initScheduler github.com/free5gc/amf/internal/ngap.InitScheduler
func initScheduler(workers, queue int, handler func(net.Conn, []byte))

//go:linkname dispatch github.com/free5gc/amf/internal/ngap.Dispatch
func dispatch(conn net.Conn, message []byte)

// ueAtGNB is a UE by its RAN UE NGAP ID, which is the gNB's.
type ueAtGNB struct {
	conn net.Conn
	id   int64
}

// place is one inside.
type place struct {
	admitted time.Time
	// handling is how many messages of the UE the AMF works on, quiet since when it is none.
	handling int
	quiet    time.Time
	// registered is true from the Initial Context Setup Response on; the PDU session is still to come.
	registered bool
}

// caller waits outside.
type caller struct {
	ue      ueAtGNB
	came    time.Time
	message []byte
}

type admission struct {
	next func(net.Conn, []byte)
	log  *slog.Logger
	now  func() time.Time
	// spawn runs what must not hold its caller up.
	spawn func(func())

	mu      sync.Mutex
	limit   float64
	halved  time.Time
	inside  map[ueAtGNB]*place
	waiting []caller // the latest is the last
	dropped int
}

func newAdmission(next func(net.Conn, []byte), log *slog.Logger) *admission {
	return &admission{
		next: next, log: log, now: time.Now, spawn: func(f func()) { go f() },
		limit: firstAdmitted, inside: map[ueAtGNB]*place{},
	}
}

// start has the AMF hand its messages to the admission. The AMF's own start of its scheduler, which comes
// later, finds that it has one.
func (a *admission) start(ctx context.Context) {
	initScheduler(ngapWorkers, ngapQueue, a.handle)
	go func() {
		tick := time.NewTicker(sweepPeriod)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				a.sweep()
			}
		}
	}()
}

func (a *admission) handle(conn net.Conn, message []byte) {
	kind, id := look(message)
	ue := ueAtGNB{conn, id}
	switch kind {
	case other:
		a.pass(conn, message)
		return
	case initialRegistration:
		if !a.enter(ue, message) {
			return
		}
	}
	a.serve(ue, kind, message)
}

// enter tells whether the UE may go in now; if not, it waits.
func (a *admission) enter(ue ueAtGNB, message []byte) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	if len(a.inside) < int(a.limit) || a.inside[ue] != nil {
		a.inside[ue] = &place{admitted: now, quiet: now}
		return true
	}
	// The AMF's buffer is 256 KiB, the message is not.
	a.waiting = append(a.waiting, caller{ue, now, bytes.Clone(message)})
	return false
}

// serve hands a message of a UE to the AMF, and sees what it means for the UE's place.
func (a *admission) serve(ue ueAtGNB, kind kind, message []byte) {
	a.mu.Lock()
	p := a.inside[ue]
	if p != nil {
		p.handling++
	}
	a.mu.Unlock()
	a.pass(ue.conn, message)
	a.mu.Lock()
	if p != nil {
		p.handling--
		p.quiet = a.now()
		switch kind {
		case contextSetUp:
			if !p.registered {
				p.registered = true
				a.limit = min(a.limit+1/a.limit, maxAdmitted)
			}
		case sessionSetUp, gone:
			delete(a.inside, ue)
		}
	}
	called := a.call()
	a.mu.Unlock()
	a.admit(called)
}

// pass outlives a message that the AMF cannot handle: its worker would not.
func (a *admission) pass(conn net.Conn, message []byte) {
	defer func() {
		if p := recover(); p != nil {
			a.log.Error("an NGAP message was not handled to its end", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	a.next(conn, message)
}

// call gives the free places to those who came last. It is called with the lock held.
func (a *admission) call() []caller {
	now := a.now()
	var called []caller
	for len(a.inside) < int(a.limit) && len(a.waiting) > 0 {
		last := len(a.waiting) - 1
		c := a.waiting[last]
		if now.Sub(c.came) >= waitLimit {
			break // and all others came before
		}
		a.waiting[last] = caller{}
		a.waiting = a.waiting[:last]
		a.inside[c.ue] = &place{admitted: now, quiet: now}
		called = append(called, c)
	}
	return called
}

func (a *admission) admit(called []caller) {
	for _, c := range called {
		a.spawn(func() { a.serve(c.ue, initialRegistration, c.message) })
	}
}

// sweep takes the places of those who are silent or late, and sends away who has waited for too long.
func (a *admission) sweep() {
	a.mu.Lock()
	now := a.now()
	for ue, p := range a.inside {
		late := !p.registered && now.Sub(p.admitted) >= t3510
		silent := p.handling == 0 && now.Sub(p.quiet) >= silenceLimit
		if !late && !silent {
			continue
		}
		delete(a.inside, ue)
		// It has answered all the time: it is the core that was too slow. Those who came in with it
		// were told apart from it by nothing: they count once.
		if !silent && p.admitted.After(a.halved) {
			a.halved = now
			a.limit = max(a.limit/2, minAdmitted)
		}
	}
	tired, _ := slices.BinarySearchFunc(a.waiting, now.Add(-waitLimit), func(c caller, t time.Time) int {
		if c.came.After(t) {
			return 1
		}
		return -1
	})
	a.dropped += tired
	a.waiting = slices.Delete(a.waiting, 0, tired)
	called := a.call()
	a.mu.Unlock()
	a.admit(called)
}

var (
	registrationsDesc = prometheus.NewDesc("core5g_amf_initial_registrations",
		"Initial registrations of UEs that are under way, and that wait to be admitted.", []string{"state"}, nil)
	registrationsLimitDesc = prometheus.NewDesc("core5g_amf_initial_registrations_limit",
		"Initial registrations that may be under way at a time; follows what the core can do.", nil, nil)
	registrationsDroppedDesc = prometheus.NewDesc("core5g_amf_initial_registrations_dropped_total",
		"Initial registrations that were not admitted in time; their UEs try again.", nil, nil)
)

// Describe implements prometheus.Collector.
func (a *admission) Describe(ch chan<- *prometheus.Desc) {
	ch <- registrationsDesc
	ch <- registrationsLimitDesc
	ch <- registrationsDroppedDesc
}

// Collect implements prometheus.Collector.
func (a *admission) Collect(ch chan<- prometheus.Metric) {
	a.mu.Lock()
	defer a.mu.Unlock()
	ch <- prometheus.MustNewConstMetric(registrationsDesc, prometheus.GaugeValue, float64(len(a.inside)), "admitted")
	ch <- prometheus.MustNewConstMetric(registrationsDesc, prometheus.GaugeValue, float64(len(a.waiting)), "waiting")
	ch <- prometheus.MustNewConstMetric(registrationsLimitDesc, prometheus.GaugeValue, float64(int(a.limit)))
	ch <- prometheus.MustNewConstMetric(registrationsDroppedDesc, prometheus.CounterValue, float64(a.dropped))
}
