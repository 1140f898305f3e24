package node

// Load and overload control (TS 29.244 6.2.3, 6.2.4). A CP function that has said LOAD or OVRL among its features hears, in answers to its
// session requests and in Session Report Requests, how full this UPF is, and, while it is behind with its requests, what share of them to leave
// out. No message is sent for that alone, so nothing runs for it: who has something to say to such a CP function looks, once in lookEvery.
//
//	Load Metric    the fullest of: sessions, pairs of slots, cycles of upf-u's workers. It is said when it has changed by worthSaying.
//	overload       none of the session requests since the last look waited less than tooLong until it was begun, or one found no room: a step
//	               more is left out. Else a step less for each lookEvery that has gone by, and 0 is said at the end.
//
// What is said has the clock's seconds as its number, so that numbers grow over a restart, and over a switch to a standby: nothing is said in the
// first second of a life, which may have been the last of the one before. A CP function hears each number once: whoever repeats a request has the same
// answer again. What it says of itself by an Association Update is another instance's, maybe, and it hears all anew.

import (
	"math"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/state"
)

const (
	lookEvery = time.Second
	// worthSaying, in percent: less makes no difference to who chooses among UPFs.
	worthSaying = 5
	// busyOver is for how long the workers' busy share is a mean.
	busyOver = 10 * time.Second
	// tooLong is half of the usual T1: behind it requests will be repeated. A pod whose CPU is limited stands still for nearly 100 ms at a time, which is none.
	tooLong = 500 * time.Millisecond
	// crowd is how many requests say that all have to wait.
	crowd = 8
	// reductionStep and reductionMost, in percent. Some are let in always: by these it is seen how it goes.
	reductionStep, reductionMost = 10, 90
	// validity of an overload. It is said again at half of it.
	validity = 10 * time.Second
)

// aoci is a bit of OCI Flags (TS 29.244 8.2.76): the overload is that of the Node ID.
const aoci = 0x01

// load is what is known of it.
type load struct {
	listeners atomic.Int32 // CP functions that want to hear of it
	waits     waits

	mu         sync.Mutex
	looked     time.Time // or when this life began
	busy, idle uint64    // of workers, at the last look
	share      float64   // of their cycles
	words      words
}

func (l *load) begin(now time.Time) {
	l.looked = now
	l.waits.least.Store(math.MaxInt64)
}

// words are what is said.
type words struct {
	load, reduction uint8 // percent
	// Numbers of what was said last, 0: nothing was.
	loadNumber, overloadNumber uint32
	loadIE, overloadIE         pfcp.IEs
	overloadAt                 time.Time
}

// waits are how long session requests have waited since the last look.
type waits struct {
	begun, refused atomic.Uint32
	least          atomic.Int64 // ns
}

func (w *waits) add(d time.Duration) {
	w.begun.Add(1)
	for least := w.least.Load(); int64(d) < least; least = w.least.Load() {
		if w.least.CompareAndSwap(least, int64(d)) {
			return
		}
	}
}

// behind says whether upf-c is behind with its requests, and begins anew.
func (w *waits) behind() bool {
	begun, refused, least := w.begun.Swap(0), w.refused.Swap(0), w.least.Swap(math.MaxInt64)
	return refused > 0 || begun >= crowd && least > int64(tooLong)
}

// forSession says whether a request is a session's.
func forSession(m *pfcp.Message) bool { return m.Type >= message.MsgTypeSessionEstablishmentRequest }

// Begun notes that a request is begun.
func (n *Node) Begun(m *pfcp.Message) {
	if forSession(m) && n.load.listeners.Load() > 0 {
		n.load.waits.add(n.o.Machine.Now().Sub(m.Received))
	}
}

// NoRoom notes that a session request is refused for want of room.
func (n *Node) NoRoom() {
	if n.load.listeners.Load() > 0 {
		n.load.waits.refused.Add(1)
	}
}

// look at how full the UPF is, unless somebody just has. The caller does not hold n.mu.
func (n *Node) look() words {
	now, l := n.o.Machine.Now(), &n.load
	l.mu.Lock()
	defer l.mu.Unlock()
	since := now.Sub(l.looked)
	if since < lookEvery {
		return l.words
	}
	l.looked = now
	l.work(n.o.Workers(), since)
	w := &l.words
	if is := percent(max(n.o.Full(), l.share)); w.loadNumber == 0 || max(is, w.load)-min(is, w.load) >= worthSaying || is != w.load && max(is, w.load) == 100 {
		w.load = is
		w.loadIE = written(ie.NewLoadControlInformation(ie.NewSequenceNumber(number(&w.loadNumber, now)), ie.NewMetric(is)))
	}
	reduction := w.reduction - min(w.reduction, reductionStep*uint8(min(since/lookEvery, reductionMost/reductionStep)))
	if l.waits.behind() {
		reduction = min(w.reduction+reductionStep, reductionMost)
	}
	if reduction != w.reduction || reduction > 0 && now.Sub(w.overloadAt) >= validity/2 {
		period := ie.NewTimer(validity)
		if reduction == 0 {
			period = ie.New(ie.Timer, []byte{0}) // TS 29.244 8.2.35: stopped
		}
		w.reduction, w.overloadAt = reduction, now
		w.overloadIE = written(ie.NewOverloadControlInformation(ie.NewSequenceNumber(number(&w.overloadNumber, now)), ie.NewMetric(reduction), period, ie.NewOCIFlags(aoci)))
	}
	return l.words
}

// Load is the Load Metric and the Overload Reduction Metric, in percent, as they are said.
func (n *Node) Load() (load, reduction uint8) {
	w := n.look()
	return w.load, w.reduction
}

// written is an IE as it stands in a message; nothing where it could not be built.
func written(i *ie.IE) (b pfcp.IEs) {
	_ = b.Add(i)
	return b
}

// number is a later one than the last.
func number(last *uint32, now time.Time) uint32 {
	*last = max(*last+1, uint32(now.Unix()))
	return *last
}

func percent(share float64) uint8 { return uint8(math.Round(100 * min(max(share, 0), 1))) }

// work takes what upf-u's workers have done since the last look, the first time all that they ever did.
func (l *load) work(list []abi.WorkerStats, since time.Duration) {
	var busy, idle uint64
	for i := range list {
		busy, idle = busy+list[i].CyclesBusy, idle+list[i].CyclesIdle
	}
	did, not, weight := busy-l.busy, idle-l.idle, min(1, since.Seconds()/busyOver.Seconds())
	if busy < l.busy || idle < l.idle { // another upf-u
		did, not = busy, idle
	}
	if l.busy+l.idle == 0 {
		weight = 1
	}
	l.busy, l.idle = busy, idle
	if did+not > 0 {
		l.share += (float64(did)/float64(did+not) - l.share) * weight
	}
}

// SayLoad tells who asks for something of a session what he is to hear of load and overload.
func (n *Node) SayLoad(m *pfcp.Message, ies *pfcp.IEs) {
	if !forSession(m) || n.load.listeners.Load() == 0 {
		return
	}
	w := n.look()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.senderLocked(m.From).hears(&w, ies)
}

// SayLoadTo is the same for a report to a node.
func (n *Node) SayLoadTo(node string, ies *pfcp.IEs) {
	if n.load.listeners.Load() == 0 {
		return
	}
	w := n.look()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.associations[node].hears(&w, ies)
}

// heard is what a CP function was told of load and overload.
type heard struct {
	load, overload uint32 // numbers
	throttles      bool   // it leaves requests out
}

// hears appends what a CP function has not been told. The caller holds n.mu.
func (as *association) hears(w *words, ies *pfcp.IEs) {
	if as == nil {
		return
	}
	if as.Load && as.heard.load != w.loadNumber {
		as.heard.load = w.loadNumber
		*ies = append(*ies, w.loadIE...)
	}
	if as.Overload && as.heard.overload != w.overloadNumber && (w.reduction > 0 || as.heard.throttles) {
		as.heard.overload, as.heard.throttles = w.overloadNumber, w.reduction > 0
		*ies = append(*ies, w.overloadIE...)
	}
}

// wants reads of a CP function's features (TS 29.244 8.2.58) what it wants to hear; has is false where it says nothing of them.
func wants(m *pfcp.Message) (load, overload, has bool) {
	e := m.Elements.First(ie.CPFunctionFeatures)
	if e == nil || len(e.Value) == 0 {
		return false, false, false
	}
	return e.Value[0]&0x01 != 0, e.Value[0]&0x02 != 0, true
}

// updated: a CP function has updated its association. Its features are as it says now, and all is new to it.
func (n *Node) updated(m *pfcp.Message, as *association) {
	load, overload, has := wants(m)
	n.mu.Lock()
	changed := has && (as.Load != load || as.Overload != overload)
	if changed {
		as.Load, as.Overload = load, overload
		n.countListenersLocked()
	}
	as.heard.load, as.heard.overload = 0, 0
	n.mu.Unlock()
	if changed {
		n.o.Persist()
	}
}

// countListenersLocked is for whoever has changed associations.
func (n *Node) countListenersLocked() {
	listeners := int32(0)
	for _, as := range n.associations {
		if as.Load || as.Overload {
			listeners++
		}
	}
	n.load.listeners.Store(listeners)
}

// associationOf is what is kept of an association that a message sets up.
func (n *Node) associationOf(m *pfcp.Message, node string, from netip.AddrPort, recovery uint32) state.Association {
	as := state.Association{Node: node, From: from, Recovery: recovery, Created: n.o.Machine.Now().Unix()}
	as.Load, as.Overload, _ = wants(m)
	return as
}
