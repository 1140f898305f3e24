package runner

import (
	"reflect"
	"slices"

	"core5g.dev/core5g/images/access-management/link"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
)

// fromGNB: what concerns a gNB rather than a UE. UEs that are lost by it are, before it is answered; those of other shards are lost there, from the same
// message (link.Share). UEs whose connections came behind it (record.Attachment.Since) are not of those, however late it is.
func (r *Runner) fromGNB(at record.Attachment, d *link.Deliver, m n2.Message, done func()) {
	g := r.w.GNB(at.Terminator, at.Association)
	out := procedure.HandleGNB(r.w.Settings(), g, m)
	if out.Refused != "" {
		r.log.Warn("a gNB is refused", "association", at.Association, "message", m.Kind().String(), "why", out.Refused)
	}
	answer := func() {
		if !d.Shared {
			r.answerGNB(at, g, out)
		}
		done()
	}
	if g == nil || !out.Lost && len(out.Reset) == 0 { // what has not been set up has no UEs
		answer()
		return
	}
	if !d.Shared && r.may() {
		r.w.Post(at.Terminator, &link.Share{Number: d.Number})
	}
	r.loseThose(association{at.Terminator, at.Association}, "the gNB has forgotten its UEs", func(a *record.Attachment) bool {
		return (out.Lost || named(out.Reset, a)) && a.Since <= at.Since
	}, answer)
}

// named says whether a connection is one of the list.
func named(list []n2.UEConnection, a *record.Attachment) bool {
	return slices.ContainsFunc(list, func(c n2.UEConnection) bool {
		return (c.HasAMF || c.HasRAN) && (!c.HasAMF || uint64(c.AMF) == a.AMF) && (!c.HasRAN || uint32(c.RAN) == a.RAN)
	})
}

// answerGNB, and have its terminator remember what it is now.
func (r *Runner) answerGNB(at record.Attachment, was *record.GNB, out procedure.GNBOutput) {
	if out.GNB != nil {
		is := *out.GNB // others read it
		is.Terminator, is.Association = at.Terminator, at.Association
		if (was == nil || !reflect.DeepEqual(*was, is)) && r.may() {
			octets, err := is.Encode()
			if err != nil {
				r.log.Error("a gNB cannot be remembered", "err", err)
				return
			}
			r.w.Post(at.Terminator, &link.Remember{Shard: r.shard, Epoch: r.lease.Epoch, Association: at.Association, Node: octets})
		}
	}
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
}
