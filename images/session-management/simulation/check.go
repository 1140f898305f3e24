package simulation

import (
	"context"
	"strings"

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
	w.fail("an answer to nobody, or a second one: %+v", r)
}

// status is Nsmf_PDUSession_SMContextStatusNotify.
func (w *world) status(a procedure.AskStatus) {
	u := w.ueOf(strings.TrimPrefix(a.URI, "amf/"))
	w.note("%s: the context has ended", u.supi)
	u.gone(u.ref)
}

// check what must hold after every event.
func (w *world) check() {
	holders := 0
	for _, p := range w.pods {
		if p.alive && p.runner != nil && p.lease.Valid(w.now) {
			holders++
		}
	}
	if holders > 1 {
		w.fail("%d pods hold the shard", holders)
	}
}

// agree: when all is quiet, everybody thinks the same of a session.
func (w *world) agree() {
	sessions := map[string]*unitSession{}
	for _, s := range w.unit.sessions {
		sessions[record.Ref(s.cpSEID)] = s
	}
	for _, u := range w.ues {
		rec := w.recordOf(u)
		switch {
		case w.wrong != nil:
		case u.request != nil:
			w.fail("%s: %s has no answer", u.supi, u.request.name)
		case rec == nil && u.ref != "":
			w.fail("%s: the AMF has session %s, the store has none", u.supi, u.ref)
		case rec == nil:
		case u.ref != rec.Ref():
			w.fail("%s: the store has session %s, the AMF %q", u.supi, rec.Ref(), u.ref)
		case rec.Procedure != nil || rec.Told != nil:
			w.fail("%s: session %s is not at rest: %+v", u.supi, rec.Ref(), rec)
		case rec.Phase == record.Establishing || rec.Phase == record.Releasing:
			w.fail("%s: session %s is in phase %d for ever", u.supi, rec.Ref(), rec.Phase)
		case sessions[rec.Ref()] == nil:
			w.fail("%s: session %s is not in the unit", u.supi, rec.Ref())
		case rec.Phase == record.Active && rec.Downlink.TEID != u.teid, rec.Phase == record.Idle && u.teid != 0:
			w.fail("%s: session %s: the record's tunnel is %+v, the access network's %d", u.supi, rec.Ref(), rec.Downlink, u.teid)
		default:
			s := sessions[rec.Ref()]
			if s.far.tunnel() != rec.Downlink || s.teid != rec.Uplink.TEID || s.ue != rec.IPv4 {
				w.fail("%s: session %s: the unit has %+v, the record %+v", u.supi, rec.Ref(), s, rec)
			}
			delete(sessions, rec.Ref())
		}
	}
	for ref := range sessions {
		w.orphans++
		w.note("the unit has session %s, and nobody else has", ref)
	}
}

func (w *world) recordOf(u *ue) *record.Session {
	key := record.Key(u.supi, sessionID)
	found, err := w.store.Read(context.Background(), key)
	if err != nil {
		return nil
	}
	b, err := w.sealer.Open(key, found.Value)
	if err != nil {
		w.fail("%s: %v", key, err)
		return nil
	}
	rec, err := record.Decode(b)
	if err != nil {
		w.fail("%s: %v", key, err)
		return nil
	}
	return rec
}
