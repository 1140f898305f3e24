package runner

import (
	"reflect"
	"slices"
	"time"

	"core5g.dev/core5g/images/access-management/link"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
)

// fromGNB: what concerns a gNB rather than a UE. UEs that are lost by it are, before it is answered; those of other shards are lost there, from the same
// message (link.Share). UEs whose connections came behind it (record.Attachment.Behind) are not of those, however late it is. Of an NG Setup the shard is done when
// SMFs have answered for those UEs, too: its terminator has the answer wait for that. Where it is not known whether other associations of the gNB are gone, it
// waits for that first, since a gNB finds out sooner than anybody.
func (r *Runner) fromGNB(at record.Attachment, d *link.Deliver, m n2.Message, done func()) {
	a := associationOf(&at)
	if behind, waits := r.unsure[a]; waits {
		r.unsure[a] = append(behind, func() { r.fromGNB(at, d, m, done) })
		return
	}
	setup, is := m.(*n2.NGSetupRequest)
	if !is {
		r.handleGNB(at, d, m, done)
		return
	}
	r.unsure[a] = []func(){}
	waited := false
	r.w.Sure(procedure.NameOf(setup.Node), at, func() {
		if r.stopped {
			return
		}
		behind := r.unsure[a]
		delete(r.unsure, a)
		if waited && r.gone(a) { // the gNB has not heard an answer: it comes again
			done()
		} else {
			r.handleGNB(at, d, m, done)
		}
		for _, f := range behind {
			f()
		}
	})
	waited = true
}

func (r *Runner) handleGNB(at record.Attachment, d *link.Deliver, m n2.Message, done func()) {
	if setup, is := m.(*n2.NGSetupRequest); is && setup.Retention && r.gone(associationOf(&at)) {
		done() // it has lost the association since, and says the same on the next: what is decided then it hears
		return
	}
	g := r.gnb(at)
	out := r.becomes(g, d, m)
	if out.Refused != "" {
		r.log.Warn("a gNB is refused", "association", at.Association, "message", m.Kind().String(), "why", out.Refused)
	}
	r.announcedTo(at, &out)
	if !d.Shared { // now: until it is answered it may hear other things, which are noted, too; and all shards are to think the same of one that sets itself up
		r.rememberGNB(at, out.GNB)
	}
	a := associationOf(&at)
	if out.SetUp && !d.Shared {
		r.settingUp[a]++
	}
	settling := &settling{left: 1, then: done}
	answer := func() {
		if out.SetUp && !d.Shared {
			if r.settingUp[a]--; r.settingUp[a] == 0 {
				delete(r.settingUp, a)
			}
		}
		if !d.Shared {
			r.answerGNB(at, out)
		}
		settling.less()
	}
	ends := g != nil && (out.Lost || len(out.Reset) > 0) // what has not been set up has no UEs
	if !ends && !out.SetUp {
		answer()
		return
	}
	if !d.Shared && r.may() {
		r.w.Post(at.Terminator, &link.Share{Number: d.Number})
	}
	then := answer
	if out.SetUp {
		then = func() { r.returned(settling, at, out.GNB.Key(), out.GNB.Retains, answer) }
	}
	if !ends {
		then()
		return
	}
	r.loseEach(settling, append(r.beside(at, g), a), func(a *record.Attachment) procedure.Event {
		if (out.Lost || named(out.Reset, a)) && !a.Behind(&at) {
			return lost(a, "the gNB has forgotten its UEs", false)
		}
		return nil
	}, then)
}

// becomes says what becomes of a gNB by a message.
func (r *Runner) becomes(g *record.GNB, d *link.Deliver, m n2.Message) (out procedure.GNBOutput) {
	was := g
	if update, is := m.(*n2.RANConfigurationUpdate); is && g == nil && update.Node != nil {
		was = r.w.Find(procedure.NameOf(*update.Node))
		if out = procedure.Join(r.w.Settings(), was, update); out.GNB != nil {
			out.GNB.Ends = procedure.Ends(r.interfaceOf(was.At(), was))
		}
	} else {
		out = procedure.HandleGNB(r.w.Settings(), g, r.retains(g, d, m), m)
	}
	if is := out.GNB; out.Configured && was != nil && is.Name == was.Name && is.DRX == was.DRX && reflect.DeepEqual(is.Areas, was.Areas) {
		is.Said = was.Said
	} else if out.Configured {
		is.Said = r.w.Now().UnixMilli()
	}
	return out
}

// interfaceOf are all associations of a gNB's interface.
func (r *Runner) interfaceOf(at record.Attachment, g *record.GNB) []*record.GNB {
	at.Interface = g.Interface
	return slices.DeleteFunc(r.w.GNBs(), func(x *record.GNB) bool { return !x.Serves(&at) })
}

// beside are the other ones.
func (r *Runner) beside(at record.Attachment, g *record.GNB) (out []association) {
	for _, x := range r.interfaceOf(at, g) {
		if a := (association{x.Terminator, x.Association}); a != associationOf(&at) {
			out = append(out, a)
		}
	}
	return out
}

// hangUp the associations that a gNB gives up (TS 38.413 8.7.2.2): its UEs on them go on by others. The one on which it said so ends when it has heard the answer.
func (r *Runner) hangUp(at record.Attachment, g *record.GNB, list []n2.AssociationPair) {
	for _, x := range r.interfaceOf(at, g) {
		if !slices.ContainsFunc(list, func(p n2.AssociationPair) bool { return procedure.Between(x, p) }) {
			continue
		}
		end := func() {
			if r.may() {
				r.w.Post(x.Terminator, &link.HangUp{Shard: r.shard, Epoch: r.lease.Epoch, Association: x.Association})
			}
		}
		if x.Terminator == at.Terminator && x.Association == at.Association {
			r.w.After(answerTime, end)
		} else {
			end()
		}
	}
}

// answerTime is how long an answer takes to its gNB.
const answerTime = time.Second

// retains says whether UEs that a gNB has kept over its NG Setup are kept here, too: on the same association, or since another one was lost a moment ago.
func (r *Runner) retains(g *record.GNB, d *link.Deliver, m n2.Message) bool {
	setup, is := m.(*n2.NGSetupRequest)
	switch {
	case !is:
		return false
	case d.Shared, d.Again && g != nil: // as it was decided
		return g != nil && g.Retains
	case g != nil:
		return !g.Doubtful
	}
	since, known := r.w.Lost(procedure.NameOf(setup.Node))
	return known && r.w.Now().Sub(since) < procedure.RetainedFor
}

// named says whether a connection is one of the list.
func named(list []n2.UEConnection, a *record.Attachment) bool {
	return slices.ContainsFunc(list, func(c n2.UEConnection) bool {
		return (c.HasAMF || c.HasRAN) && (!c.HasAMF || uint64(c.AMF) == a.AMF) && (!c.HasRAN || uint32(c.RAN) == a.RAN)
	})
}

// gnb of an association, as its terminator has it, or will have it in a moment: one that says several things at once has said all of them.
func (r *Runner) gnb(at record.Attachment) *record.GNB {
	g := r.w.GNB(at.Terminator, at.Association)
	if said := r.said[associationOf(&at)]; g != nil && said != nil {
		return said
	}
	return g
}

// rememberGNB has its terminator remember what a gNB is now.
func (r *Runner) rememberGNB(at record.Attachment, g *record.GNB) {
	if g == nil {
		return
	}
	is, was := *g, r.w.GNB(at.Terminator, at.Association) // others read it
	is.Terminator, is.Association, is.Lead = at.Terminator, at.Association, r.shard
	if !r.may() {
		return
	}
	r.said[associationOf(&at)] = &is
	if was != nil && reflect.DeepEqual(*was, is) {
		return
	}
	octets, err := is.Encode()
	if err != nil {
		r.log.Error("a gNB cannot be remembered", "err", err)
		return
	}
	r.w.Post(at.Terminator, &link.Remember{Shard: r.shard, Epoch: r.lease.Epoch, Association: at.Association, Node: octets})
}

func (r *Runner) answerGNB(at record.Attachment, out procedure.GNBOutput) {
	var list []procedure.Effect
	if out.Answer != nil {
		list = append(list, procedure.Send{To: record.Attachment{Terminator: at.Terminator, Association: at.Association}, Message: out.Answer})
	}
	if out.Relay != nil {
		if target := r.w.Find(out.Target); target != nil {
			list = append(list, procedure.Send{
				To: record.Attachment{Terminator: target.Terminator, Association: target.Association}, Message: out.Relay,
			})
		}
	}
	r.effects(nil, list)
	if len(out.Remove) > 0 {
		r.hangUp(at, out.GNB, out.Remove)
	}
}
