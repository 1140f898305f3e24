package terminator

import (
	"time"

	"core5g.dev/core5g/images/access-management/link"
	"core5g.dev/core5g/images/access-management/n2"
)

// A gNB that hears that its UEs are not kept lets go of them with the answer to its NG Setup (TS 38.413 8.7.1.1), and with them of the tunnels that the UPF still
// sends to. So the answer waits until all shards are done with the request: their SMFs have had the UPF keep packets by then. Until it has left nothing else
// does, neither a Paging nor what UEs are told: NG Setup comes first.
type setup struct {
	number   uint64 // of the request
	since    time.Time
	answered bool
	// held is what leaves with the answer, which is the first of it.
	held []heldSend
}

type heldSend struct {
	worker uint64
	f      *link.Send
}

const (
	// setupPatience is how long an answer waits: a gNB does not for ever, and UEs for their gNB.
	setupPatience = 2 * time.Second
	// mostHeld is how much waits for it.
	mostHeld = 1024
)

var (
	ngSetupRequest  = (&n2.NGSetupRequest{}).Kind()
	ngSetupResponse = (&n2.NGSetupResponse{}).Kind()
	ngSetupFailure  = (&n2.NGSetupFailure{}).Kind()
)

// setsUp: an NG Setup Request came. Where it was taken, nothing leaves before its answer.
func (t *Terminator) setsUp(a *association, number uint64) {
	x := &setup{number: number, since: t.w.Now()}
	a.answered = false
	if a.setup != nil { // it has not waited for the answer
		x.held = a.setup.held
	}
	a.setup = x
	t.settle(a)
}

// hold what is sent to a gNB that is setting itself up.
func (t *Terminator) hold(id uint64, a *association, f *link.Send) {
	x := a.setup
	switch answer := answersSetup(f); {
	case answer && x.answered: // by a holder of before
		x.held[0] = heldSend{id, f}
	case answer:
		x.answered = true
		x.held = append([]heldSend{{id, f}}, x.held...)
	case len(x.held) >= mostHeld:
		t.notSent(id, f, Unsendable, "the gNB is setting itself up")
		return
	default:
		x.held = append(x.held, heldSend{id, f})
	}
	t.settle(a)
}

// answersSetup says whether a message is the answer to an NG Setup.
func answersSetup(f *link.Send) bool {
	if f.UE != 0 {
		return false
	}
	h, _ := n2.Peek(f.Message)
	return h.Kind == ngSetupResponse || h.Kind == ngSetupFailure
}

// Holds says whether messages to a gNB wait for the answer to its NG Setup. It hears all of them behind that.
func (t *Terminator) Holds(id uint64) bool {
	a := t.associations[id]
	return a != nil && a.setup != nil && len(a.setup.held) > 0
}

// settle an NG Setup that all who are there are done with, or that has waited for them.
func (t *Terminator) settle(a *association) {
	x := a.setup
	if x == nil || t.underWay(x) && (!x.answered || t.w.Now().Sub(x.since) < setupPatience) {
		return
	}
	a.setup = nil
	for _, h := range x.held {
		t.transmit(h.worker, a, h.f)
	}
}

// underWay says whether a shard that is held has not said that it is done with the request; one that nobody holds has nobody to say so.
func (t *Terminator) underWay(x *setup) bool {
	for n := range t.shards {
		if n != unassigned && t.shards[n].holder == 0 && x.answered {
			continue
		}
		for _, m := range t.shards[n].list {
			if m.number == x.number || m.of == x.number {
				return true
			}
		}
	}
	return false
}
