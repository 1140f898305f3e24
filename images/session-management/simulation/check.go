package simulation

import (
	"context"
	"fmt"
	"strings"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore/memory"
	"core5g.dev/core5g/images/nf/shards"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
)

type waiting struct {
	u *ue
	r *request
}

// expect an answer to a request.
func (w *world) expect(u *ue, r *request) procedure.Token {
	w.tokens++
	if w.waiting == nil {
		w.waiting = map[procedure.Token]waiting{}
	}
	w.waiting[w.tokens] = waiting{u, r}
	return w.tokens
}

func (w *world) replied(r procedure.Reply) {
	if x, ok := w.waiting[r.To]; ok {
		delete(w.waiting, r.To)
		x.u.finish(x.r, r.Body)
		return
	}
	w.Fail("an answer to nobody, or a second one: %+v", r)
}

// unanswered: the answer is lost, and who asked still waits.
func (w *world) unanswered(r procedure.Reply) {
	if x, ok := w.waiting[r.To]; ok {
		x.r.lost = r.Body
	}
}

// status is Nsmf_PDUSession_SMContextStatusNotify.
func (w *world) status(a procedure.AskStatus) {
	u := w.ueAt(a.URI)
	w.Note("%s: the context has ended", u.supi)
	w.heard[a.URI] = true
	if u.uri == a.URI {
		u.gone(u.ref)
	}
}

// ueAt is whose context's end is told there.
func (w *world) ueAt(uri string) *ue {
	supi, _, _ := strings.Cut(strings.TrimPrefix(uri, "amf/"), "/")
	return w.ueOf(supi)
}

// oneHolder: nobody else may act for a shard that somebody has gained. Leases that are there only end, so that this is when to look.
func (w *world) oneHolder(name string) {
	holders := 0
	for _, p := range w.pods {
		if !p.Alive {
			continue
		}
		if _, ok := p.Keeper.Lease(name); ok {
			holders++
		}
	}
	if holders > 1 && w.Now.Sub(w.forgotten) > shards.DefaultTTL {
		w.Fail("%d pods may act for %s", holders, name)
	}
}

// leaves: something does, in the name of a shard. The store must know it as this holder's.
func (w *world) leaves(v *view) {
	if w.Now.Sub(w.forgotten) <= shards.DefaultTTL {
		return // nobody can tell
	}
	l := v.held.lease
	var holder string
	var epoch uint64
	var err error
	w.store.Look(func(ctx context.Context, store *memory.Store) { holder, epoch, err = store.Holder(ctx, l.Shard) })
	if err == nil && holder == l.Holder && epoch > l.Epoch && !w.actsUnder(l.Shard, epoch) {
		return // its own life before has asked for it, and the store has heard late: nobody else is there
	}
	if err != nil || holder != l.Holder || epoch != l.Epoch {
		w.Fail("%s speaks for %s under epoch %d, which is %s's, epoch %d (%v)", l.Holder, l.Shard, l.Epoch, holder, epoch, err)
	}
}

// actsUnder says whether a pod has the shard under that epoch.
func (w *world) actsUnder(shard string, epoch uint64) bool {
	for _, p := range w.pods {
		if l, ok := p.Keeper.Lease(shard); ok && p.Alive && l.Epoch == epoch {
			return true
		}
	}
	return false
}

// agree: when all is quiet, everybody thinks the same of a session.
func (w *world) agree() error {
	var wrong error
	fail := func(format string, arguments ...any) {
		if wrong == nil {
			wrong = fmt.Errorf(format, arguments...)
		}
	}
	sessions := map[string]place{}
	for _, u := range w.units {
		for _, s := range u.has() {
			if other, twice := sessions[record.Ref(s.cpSEID)]; twice {
				fail("%s and %s have session %x", other.u.nodeID, u.nodeID, s.cpSEID)
			}
			sessions[record.Ref(s.cpSEID)] = place{u, s}
		}
		if len(u.restoring) > 0 {
			fail("%s waits for shards to restore for ever: %v", u.nodeID, u.restoring)
		}
	}
	for _, u := range w.ues {
		rec := w.truth(record.Key(u.supi, sessionID))
		switch {
		case wrong != nil:
		case u.request != nil:
			fail("%s: %s has no answer", u.supi, u.request.name)
		case rec == nil && u.ref != "" && !w.unheard[u.uri]:
			fail("%s: the AMF has session %s, the store has none", u.supi, u.ref)
		case rec == nil:
		case u.ref != rec.Ref():
			fail("%s: the store has session %s, the AMF %q", u.supi, rec.Ref(), u.ref)
		case rec.Procedure != nil || rec.Told != nil:
			fail("%s: session %s is not at rest: %+v", u.supi, rec.Ref(), rec)
		case rec.Phase == record.Establishing || rec.Phase == record.Releasing:
			fail("%s: session %s is in phase %d for ever", u.supi, rec.Ref(), rec.Phase)
		case sessions[rec.Ref()].s == nil || sessions[rec.Ref()].u.nodeID != rec.Unit.NodeID:
			fail("%s: session %s is not in its unit", u.supi, rec.Ref())
		case rec.Phase == record.Active && rec.Downlink.TEID != u.teid, rec.Phase == record.Idle && u.teid != 0:
			fail("%s: session %s: the record's tunnel is %+v, the access network's %d", u.supi, rec.Ref(), rec.Downlink, u.teid)
		default:
			s := sessions[rec.Ref()].s
			u.agreeOnWay(rec, sessions, fail)
			if s.teid != rec.Uplink.TEID || s.ue != rec.IPv4 || s.upSEID != rec.UPSEID {
				fail("%s: session %s: the unit has %+v, the record %+v", u.supi, rec.Ref(), s, rec)
			}
			u.agreeOnFlows(rec, s, fail)
			u.agreeOnFrames(rec, s, fail)
			delete(sessions, rec.Ref())
		}
	}
	for ref, p := range sessions {
		fail("%s has session %s, and nobody else has", p.u.nodeID, ref)
	}
	w.pcf.agree(fail)
	w.chf.agree(fail)
	w.intents(fail)
	return wrong
}

// intents and times of records that are not there, or not in the midst of anything.
func (w *world) intents(fail func(string, ...any)) {
	w.store.Look(func(ctx context.Context, store *memory.Store) {
		for n := range w.shards {
			keys, err := store.Intents(ctx, shardName(n+1), 1<<10)
			if err != nil || len(keys) > 0 {
				fail("intents that nobody resumes: %v %v", keys, err)
			}
			due, err := store.Due(ctx, shardName(n+1), w.Now.Add(-time.Minute), 1<<10)
			if err != nil || len(due) > 0 {
				fail("due for a minute, and nobody has looked: %v %v", due, err)
			}
		}
	})
}
