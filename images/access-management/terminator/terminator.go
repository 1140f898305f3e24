package terminator

import (
	"maps"
	"slices"
	"time"

	"core5g.dev/core5g/images/access-management/link"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"
)

// World is what a Terminator needs. All of it returns at once; what comes of it is told by the methods of Terminator.
type World interface {
	// Transmit a message on a stream of an association. An error: it has not left, and never will.
	Transmit(association uint64, stream uint16, message []byte) error
	// Shut an association down. Ended follows.
	Shut(association uint64)
	// Pause stops the reading of an association, or goes on with it.
	Pause(association uint64, paused bool)
	// Tell a worker. Where that is not possible any more, WorkerGone follows.
	Tell(worker uint64, f link.Frame)
	// Drop a worker's connection. WorkerGone follows.
	Drop(worker uint64, why string)
	Now() time.Time
}

// Bounds of what waits.
const (
	// mostWaiting messages or octets of one association: more are not read from it until half of them are done.
	mostWaiting       = 1024
	mostWaitingOctets = 8 << 20
	// Patience is how long a message waits for somebody to take it, and is kept: a UE asks again after T3510 and T3517, 15 s (TS 24.501 10.2).
	Patience = 15 * time.Second
	// mostKept of one association: what is more is not kept.
	mostKept = 4096
)

// Config of a terminator.
type Config struct {
	World World
	// Name of the pod, and of its life: new with each.
	Name string
	// Shards of the set, numbered from 1.
	Shards uint16
	// Set is the AMF Set ID (TS 23.003 2.10.1), ten bits.
	Set uint16
	// Count is told what happened; nil: nobody.
	Count func(Happening)
}

// Happening is what is counted.
type Happening string

// What happens to messages.
const (
	Delivered   Happening = "delivered"
	Redelivered Happening = "redelivered"
	// Expired: nobody took it in time. Orphaned: its association had ended before anybody took it.
	Expired  Happening = "expired"
	Orphaned Happening = "orphaned"
	Sent     Happening = "sent"
	// Fenced: another worker holds the shard. Unsendable: the association is gone or takes nothing.
	Fenced     Happening = "fenced"
	Unsendable Happening = "unsendable"
	// Repeated: the answer to an NG Setup that a holder of before has answered. The gNB would let go of the UEs that have come since.
	Repeated Happening = "repeated"
)

// Terminator is not safe for concurrent use.
type Terminator struct {
	w      World
	name   string
	set    uint16
	count  func(Happening)
	number uint64 // of the last message

	associations map[uint64]*association
	messages     map[uint64]*message
	shards       []shard // by number, from 1
	next         uint16  // shard that was chosen last for a UE that nobody knows
	opened       uint64  // the highest number of an association, ever
	workers      map[uint64]*worker
}

type association struct {
	id      uint64
	streams uint16
	peer    string
	here    string
	opened  time.Time
	node    []byte
	// lead is the shard that does what concerns the gNB; 0: none has yet.
	lead            uint16
	waiting, octets int
	kept            int
	paused          bool
	setup           *setup // nil: no NG Setup is under way
	answered        bool   // the last one was
}

// message is one on its way to a worker: in the list of its shard, until it is done.
type message struct {
	number      uint64
	association uint64
	shard       uint16
	octets      []byte
	// came is when it did, however often it is delivered; waits is since when it waits for somebody to take it.
	came, waits time.Time
	// to is the worker that has it, 0: nobody yet. again: somebody has had it.
	to            uint64
	again, shared bool
	// of is the number of the one that is shared by this.
	of uint64
	// ue is its UE's AMF UE NGAP ID, of one that is kept; 0: it is not.
	ue uint64
}

func (m *message) kept() bool { return m.ue != 0 }

// shard is a list of messages, in the order in which they came, and who does them.
type shard struct {
	holder uint64 // worker, 0: nobody
	epoch  uint64 // the highest ever
	// leaving: its holder will let go of it soon.
	leaving bool
	list    []*message
}

// New makes a terminator without associations and workers.
func New(c Config) *Terminator {
	t := &Terminator{
		w: c.World, name: c.Name, set: c.Set, count: c.Count, associations: map[uint64]*association{}, messages: map[uint64]*message{},
		shards: make([]shard, int(c.Shards)+1), workers: map[uint64]*worker{},
	}
	if t.count == nil {
		t.count = func(Happening) {}
	}
	return t
}

// Opened: there is an association, with a number above all that there were, and so many streams for what is sent, from peer to here.
func (t *Terminator) Opened(id uint64, streams uint16, peer, here string) {
	t.associations[id] = &association{id: id, streams: max(streams, 1), peer: peer, here: here, opened: t.w.Now()}
	t.opened = max(t.opened, id)
	for _, w := range t.greeted() {
		t.w.Tell(w, &link.Opened{Association: id, Peer: peer, Here: here})
	}
}

// Ended: an association is gone. What nobody has taken of it is nobody's any more: whatever it asked for, there is no one to answer.
func (t *Terminator) Ended(id uint64, why string) {
	if t.associations[id] == nil {
		return
	}
	delete(t.associations, id)
	for n := range t.shards {
		t.forget(n, Orphaned, func(m *message) bool { return m.association == id && (m.to == 0 || m.kept()) })
	}
	for _, w := range t.greeted() {
		t.w.Tell(w, &link.Ended{Association: id, Why: why})
	}
}

// forget messages of a shard that are like this. Those that nobody has are counted; what a worker has and is kept is done with.
func (t *Terminator) forget(n int, counted Happening, like func(*message) bool) {
	s := &t.shards[n]
	s.list = slices.DeleteFunc(s.list, func(m *message) bool {
		if !like(m) {
			return false
		}
		if m.to == 0 {
			t.count(counted)
		}
		t.gone(m)
		return true
	})
}

// Received: a message came.
func (t *Terminator) Received(id uint64, octets []byte) {
	a := t.associations[id]
	if a == nil {
		return
	}
	h, _ := n2.Peek(octets)
	number := t.put(t.shardOf(a, h), id, octets, nil)
	if h.Kind == ngSetupRequest {
		t.setsUp(a, number)
	}
}

// put a message in the list of a shard, and return its number. of is the one that is shared by it; nil: it has come now.
func (t *Terminator) put(n uint16, id uint64, octets []byte, of *message) uint64 {
	t.number++
	m := &message{number: t.number, association: id, shard: n, octets: octets, came: t.w.Now()}
	if of != nil {
		m.shared, m.of, m.came = true, of.number, of.came
	}
	m.waits = m.came
	t.messages[m.number] = m
	t.shards[n].list = append(t.shards[n].list, m)
	if a := t.associations[id]; a != nil {
		a.waiting, a.octets = a.waiting+1, a.octets+len(octets)
		if !a.paused && (a.waiting >= mostWaiting || a.octets >= mostWaitingOctets) {
			a.paused = true
			t.w.Pause(id, true)
		}
	}
	t.deliver(m)
	return m.number
}

// gone: a message has left its shard's list.
func (t *Terminator) gone(m *message) {
	delete(t.messages, m.number)
	a := t.associations[m.association]
	switch {
	case a == nil:
	case m.kept():
		a.kept--
	default:
		t.waitsNot(a, m)
		t.settle(a)
	}
}

// waitsNot: a message of the association waits no more.
func (t *Terminator) waitsNot(a *association, m *message) {
	a.waiting, a.octets = a.waiting-1, a.octets-len(m.octets)
	if a.paused && a.waiting <= mostWaiting/2 && a.octets <= mostWaitingOctets/2 {
		a.paused = false
		t.w.Pause(a.id, false)
	}
}

// unassigned is the list of messages for any shard, while there is none that is held, and will be for a while.
const unassigned = 0

// shardOf a message, by its header; unassigned: that of the first worker that comes. What cannot be read is the lead's to answer.
func (t *Terminator) shardOf(a *association, h n2.Header) uint16 {
	n := uint16(unassigned)
	switch {
	case h.AMF != nil:
		n = record.ShardOfAttachment(uint64(*h.AMF))
	case h.STMSI != nil && h.STMSI.Set == t.set:
		n = record.ShardOfTMSI(h.STMSI.TMSI)
	}
	switch {
	case t.has(n):
		return n
	case h.Kind == initialUEMessage:
		return t.any()
	}
	return t.leadOf(a)
}

// initialUEMessage is how a UE comes, one that nobody may know.
var initialUEMessage = (&n2.InitialUEMessage{}).Kind()

func (t *Terminator) has(n uint16) bool { return n != 0 && int(n) < len(t.shards) }

// any shard that is held, and will be for a while, each in its turn.
func (t *Terminator) any() uint16 {
	for range len(t.shards) - 1 {
		t.next = t.next%uint16(len(t.shards)-1) + 1
		if s := &t.shards[t.next]; s.holder != 0 && !s.leaving {
			return t.next
		}
	}
	return unassigned
}

// leadOf an association: one shard does all that concerns its gNB, in the order in which it came, also while nobody holds it.
func (t *Terminator) leadOf(a *association) uint16 {
	if a.lead == 0 {
		a.lead = t.any()
	}
	return a.lead
}

// deliver a message, where its shard is held.
func (t *Terminator) deliver(m *message) {
	holder := t.shards[m.shard].holder
	if holder == 0 {
		return
	}
	m.to = holder
	t.count(Delivered)
	if m.again {
		t.count(Redelivered)
	}
	t.w.Tell(holder, &link.Deliver{
		Number: m.number, Association: m.association, Shard: m.shard, Again: m.again, Shared: m.shared, Message: m.octets, Of: m.of, At: m.came.UnixMilli(),
		Keeps: true, UE: m.ue,
	})
	m.again = true
}

// Tick throws away what is kept for longer than its UE waits, what has waited too long for somebody to take it, but for what all shards must hear, and sends answers to NG Setups that have waited. It is to
// be called every half second or so.
func (t *Terminator) Tick() {
	for _, id := range slices.Sorted(maps.Keys(t.associations)) {
		t.settle(t.associations[id])
	}
	since := t.w.Now().Add(-Patience)
	for n := range t.shards {
		t.forget(n, Expired, func(m *message) bool {
			return m.kept() && m.came.Before(since) || m.to == 0 && !m.shared && m.waits.Before(since)
		})
	}
}

// Waiting is how many messages are on their way, and how many of them nobody has taken. Those that are kept are not.
func (t *Terminator) Waiting() (all, untaken int) {
	for _, m := range t.messages {
		switch {
		case m.to == 0:
			all, untaken = all+1, untaken+1
		case !m.kept():
			all++
		}
	}
	return all, untaken
}

// mostStreams of an association are used for UEs. SCTP over UDP agrees on 65,535, and both ends keep memory for each that was used once; a message that is lost holds up
// those of few others with so many, too.
const mostStreams = 64

// stream of an association for a UE's signalling (TS 38.412 7): a UE has one, and it is not that of what concerns no UE.
func (a *association) stream(ue uint64) uint16 {
	if ue == 0 || a.streams < 2 {
		return 0
	}
	return 1 + uint16(ue%uint64(min(a.streams-1, mostStreams)))
}
