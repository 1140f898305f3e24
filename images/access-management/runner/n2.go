package runner

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"core5g.dev/core5g/images/access-management/link"
	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/nf/sessionstore"
)

// Took a frame of a terminator that is for this shard: Deliver, NotSent, or Ended, which is for all. Those of a terminator come in their order.
func (r *Runner) Took(terminator string, f link.Frame) {
	switch f := f.(type) {
	case *link.Deliver:
		r.once(func() { r.delivered(terminator, f) })
	case *link.NotSent:
		r.notSent(f)
	case *link.Ended:
		r.once(func() { r.lose(association{terminator, f.Association}, f.Why) })
	}
}

// once what the holder before was in the midst of is in memory.
func (r *Runner) once(f func()) {
	if r.stopped {
		return
	}
	if !r.begun {
		r.held = append(r.held, f)
		return
	}
	f()
}

// handed is a message as its terminator numbers it; one that is shared is another beside.
type handed struct {
	terminator string
	number     uint64
	shared     bool
}

func (r *Runner) delivered(terminator string, d *link.Deliver) {
	if r.closed() {
		return
	}
	is := handed{terminator, d.Number, d.Shared}
	if r.handling[is] { // it was on its way already when the terminator handed it over again
		r.counts.Repetitions++
		return
	}
	r.handling[is] = true
	done := func() {
		delete(r.handling, is)
		if r.may() {
			r.w.Post(terminator, &link.Done{Number: d.Number})
		}
	}
	m, fault := n2.Read(d.Message)
	if fault != nil && !d.Shared {
		r.faulty(terminator, d.Association, fault)
	}
	if m == nil {
		done()
		return
	}
	if !d.Shared {
		r.w.Carried(m, false)
	}
	at := record.Attachment{Terminator: terminator, Association: d.Association, Since: d.Came(), Came: d.At}
	if g := r.w.GNB(terminator, d.Association); g != nil {
		at.GNB, at.Interface = g.Key(), g.Interface
	}
	amf, ran := n2.Names(m)
	if ran != nil {
		at.RAN = uint32(*ran)
	}
	first, begins := m.(*n2.InitialUEMessage)
	switch {
	case begins:
		r.initial(at, first, d, done)
	case !n2.UEAssociated(m):
		r.fromGNB(at, d, m, done)
	case amf == nil: // an Error Indication that names a UE as the access network does
		r.counts.Unreadable++
		done()
	default:
		at.AMF = uint64(*amf)
		q := queued{Event: procedure.FromAccess{At: at, Message: m}, octets: d.Message, done: done}
		r.deliverAttached(at.AMF, q)
	}
}

// warnEvery is how often messages of a gNB that are not as they should be are worth a warning: one may make the same mistake with each.
const warnEvery = time.Minute

// faulty: TS 38.413 10.
func (r *Runner) faulty(terminator string, number uint64, f *n2.Fault) {
	r.counts.Unreadable++
	level, at := slog.LevelDebug, association{terminator, number}
	if now := r.w.Now(); now.Sub(r.warned[at]) >= warnEvery {
		level, r.warned[at] = slog.LevelWarn, now
	}
	r.log.Log(context.Background(), level, "a message of a gNB is not as it should be", "association", number, "err", f)
	if m := f.Answer(); m != nil {
		to := record.Attachment{Terminator: terminator, Association: number}
		if f.AMF != nil {
			to.AMF = uint64(*f.AMF)
		}
		r.effects(nil, []procedure.Effect{procedure.Send{To: to, Message: m}})
	}
}

// initial: a UE's first message on a connection.
func (r *Runner) initial(at record.Attachment, m *n2.InitialUEMessage, d *link.Deliver, done func()) {
	at.AMF = d.UE
	q, again := queued{Event: procedure.Initial{At: at, Message: m}, octets: d.Message, done: done}, d.Again
	if d.Keeps {
		q.keep = func(id uint64) {
			if r.may() {
				r.w.Post(at.Terminator, &link.Keep{Number: d.Number, UE: id})
			}
		}
	}
	if r.declines(q) {
		return
	}
	if at.AMF != 0 {
		r.beginAgain(at.AMF, q)
		return
	}
	if again && r.attachedAt(at) { // what it began is gone on with
		r.counts.Repetitions++
		done()
		return
	}
	tmsi := r.temporaryOf(m)
	if tmsi == 0 {
		r.stranger(q)
		return
	}
	if again {
		r.deliverTemporary(tmsi, queued{op: func(*ue, error) {
			if r.attachedAt(at) {
				r.counts.Repetitions++
				done()
				return
			}
			r.deliverTemporary(tmsi, q)
		}})
		return
	}
	r.deliverTemporary(tmsi, q)
}

// beginAgain with a UE with which a holder before had begun. One that the store knows by now is in the midst of what it began; any other begins anew, under the AMF UE
// NGAP ID that its gNB may know.
func (r *Runner) beginAgain(id uint64, q queued) {
	r.deliverAttached(id, queued{op: func(_ *ue, err error) {
		var other *otherShardError
		switch {
		case errors.Is(err, sessionstore.ErrNotFound):
			r.counts.BegunAgain++
			r.stranger(q)
		case err == nil, errors.As(err, &other):
			r.counts.Repetitions++
			r.finish(q)
		default:
			r.decline(q, err)
		}
	}})
}

// attachedAt says whether a UE in memory is on that connection.
func (r *Runner) attachedAt(at record.Attachment) bool {
	return len(r.cache.all(func(u *ue) bool {
		for _, a := range attachments(u.state.Record) {
			if a.Is(&at) {
				return true
			}
		}
		return false
	})) > 0
}

// temporaryOf a first message: its 5G-S-TMSI, or what the UE's own message says where its access network was told none; 0: none of this shard.
func (r *Runner) temporaryOf(m *n2.InitialUEMessage) uint32 {
	s := r.w.Settings()
	tmsi := uint32(0)
	if m.STMSI != nil {
		if m.STMSI.Set == s.Set {
			tmsi = m.STMSI.TMSI
		}
	} else if who, ok := identity(m.NAS).(n1.GUTI); ok && who.Region == s.Region && who.Set == s.Set {
		tmsi = who.TMSI
	}
	if record.ShardOfTMSI(tmsi) != r.shard {
		return 0
	}
	return tmsi
}

// identity that a UE says in a message that is not ciphered.
func identity(nas []byte) n1.Identity {
	if e, err := n1.ReadEnvelope(nas); err == nil {
		if e.Header.Ciphered() {
			return nil
		}
		nas = e.Payload
	}
	m, err := n1.Decode(nas, n1.Uplink)
	if err != nil {
		return nil
	}
	switch m := m.(type) {
	case *n1.RegistrationRequest:
		return m.Identity
	case *n1.DeregistrationRequestFromUE:
		return m.Identity
	}
	return nil
}

// send a message. One whose association is gone is not sent; one whose terminator is not heard may be lost on its way, as any is.
func (r *Runner) send(u *ue, e procedure.Send) {
	octets, err := n2.Write(e.Message)
	if err != nil {
		r.log.Error("a message cannot be written", "err", err)
		return
	}
	if r.w.Association(e.To.Terminator, e.To.Association) == Gone {
		r.counts.NotSent++
		if u != nil {
			u.queue = append(u.queue, queued{Event: procedure.NotSent{Send: e}})
		}
		return
	}
	r.w.Carried(e.Message, true)
	id := uint64(0)
	if n2.UEAssociated(e.Message) {
		id = e.To.AMF
	}
	r.w.Post(e.To.Terminator, &link.Send{
		Number: r.sends.add(e, r.w.Now()), Shard: r.shard, Epoch: r.lease.Epoch, Association: e.To.Association, UE: id, Message: octets,
	})
}

// Appeared: a gNB can be reached by now. UEs that are paged are where it is, perhaps, and nobody has paged them there.
func (r *Runner) Appeared(g *record.GNB) {
	r.once(func() {
		r.rejoin(g)
		now := r.w.Now()
		for _, u := range r.cache.all(func(u *ue) bool {
			at, is := u.times.of(procedure.DuePaging)
			return is && at.After(now)
		}) {
			r.deliver(u, queued{Event: procedure.Appeared{GNB: g}})
		}
	})
}

// page by all gNBs of the area. What is not sent is paged for again.
func (r *Runner) page(e procedure.Page) {
	octets, err := n2.Write(e.Message)
	if err != nil {
		r.log.Error("a Paging cannot be written", "err", err)
		return
	}
	for _, g := range r.w.Near(e.Area) {
		r.w.Carried(e.Message, true)
		r.w.Post(g.Terminator, &link.Send{Shard: r.shard, Epoch: r.lease.Epoch, Association: g.Association, Message: octets})
	}
}

// ErrSuperseded is why a runner has stopped: a terminator knows of another holder of the shard.
var ErrSuperseded = errors.New("a terminator knows of another holder of the shard")

func (r *Runner) notSent(f *link.NotSent) {
	e, is := r.sends.take(f.Number)
	switch {
	case r.stopped, !is:
	case f.Fenced:
		r.stop(ErrSuperseded)
	default:
		r.counts.NotSent++
		// A gNB that takes nothing for the moment has its UEs: what they have not heard is said again when its time comes, as what was lost on the air.
		if e.To.AMF != 0 && r.w.Association(e.To.Terminator, e.To.Association) != There {
			r.deliverAttached(e.To.AMF, queued{Event: procedure.NotSent{Send: e}})
		}
		r.unheard(e)
	}
}
