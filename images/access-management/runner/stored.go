package runner

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/nf/sessionstore"
)

// stored is what the store has of a UE.
type stored struct {
	revision sessionstore.Revision // zero: it has none
	record   *record.UE
	octets   []byte // as encoded, before sealing
}

func (s stored) exists() bool { return s.revision != sessionstore.Revision{} }

// Indexes of the store: a UE's AMF UE NGAP IDs and 5G-TMSIs, in decimal. Its SUPI is its key.
const (
	IndexAttachment = "amf-ue-ngap-id"
	IndexTemporary  = "5g-tmsi"
)

func attachmentIndex(id uint64) sessionstore.Index {
	return sessionstore.Index{Kind: IndexAttachment, Value: strconv.FormatUint(id, 10)}
}

func temporaryIndex(tmsi uint32) sessionstore.Index {
	return sessionstore.Index{Kind: IndexTemporary, Value: strconv.FormatUint(uint64(tmsi), 10)}
}

// attachments that a UE has, or may have.
func attachments(u *record.UE) (out []*record.Attachment) {
	if u == nil {
		return nil
	}
	if u.N2 != nil {
		out = append(out, u.N2)
	}
	for n := range u.Left {
		out = append(out, &u.Left[n])
	}
	if u.Handover != nil {
		out = append(out, &u.Handover.Target)
	}
	return out
}

func temporaries(u *record.UE) (out []uint32) {
	if u == nil {
		return nil
	}
	for _, t := range []uint32{u.TMSI, u.OldTMSI} {
		if t != 0 && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

func indexes(u *record.UE) (out []sessionstore.Index) {
	for _, a := range attachments(u) {
		if i := attachmentIndex(a.AMF); !slices.Contains(out, i) {
			out = append(out, i)
		}
	}
	for _, t := range temporaries(u) {
		out = append(out, temporaryIndex(t))
	}
	return out
}

// UEGroup lists the UEs of a shard.
func UEGroup(shard uint16) string { return ofShard(shard) + "ue" }

// ofShard begins all groups of a shard.
func ofShard(shard uint16) string { return "amf/" + strconv.Itoa(int(shard)) + "/" }

// ConnectedGroup lists the UEs of a shard that are in CM-CONNECTED (TS 23.501 5.3.3), SliceGroup those that are allowed an S-NSSAI.
func ConnectedGroup(shard uint16) string { return ofShard(shard) + "connected" }

// SliceGroup of an S-NSSAI as record.Slice writes it.
func SliceGroup(shard uint16, snssai string) string { return ofShard(shard) + "slice/" + snssai }

// associationGroup lists the UEs that a shard has on an association.
func associationGroup(shard uint16, a association) string {
	return ofShard(shard) + "n2/" + a.terminator + "/" + strconv.FormatUint(a.number, 10)
}

// counted are the groups that a UE is in to be counted.
func counted(u *record.UE) (out []string) {
	if u.N2 != nil {
		out = append(out, ConnectedGroup(u.Shard))
	}
	for _, s := range u.Allowed {
		if g := SliceGroup(u.Shard, s.String()); !slices.Contains(out, g) {
			out = append(out, g)
		}
	}
	return out
}

// foundAlike says that a record is found as the one before is, by the same names in the same groups, which nearly all are.
func foundAlike(was, is *record.UE) bool {
	return was != nil && is != nil && was.Listed && was.Remnant == is.Remnant && was.Shard == is.Shard && was.TMSI == is.TMSI && was.OldTMSI == is.OldTMSI && (was.N2 == nil) == (is.N2 == nil) &&
		slices.EqualFunc(attachments(was), attachments(is), func(a, b *record.Attachment) bool { return a.AMF == b.AMF && associationOf(a) == associationOf(b) }) &&
		slices.EqualFunc(was.Allowed, is.Allowed, record.Slice.Is)
}

// regrouped are the groups that a record joins and leaves. One that a program has written that does not know all of them may be in any.
func regrouped(was, is *record.UE) (join, leave []string) {
	before, after := groups(was), groups(is)
	join, leave = without(after, before), without(before, after)
	if was == nil || was.Listed {
		return join, leave
	}
	if is == nil || is.N2 == nil {
		leave = append(leave, ConnectedGroup(was.Shard))
	}
	if is != nil {
		join = append(without(join, counted(is)), counted(is)...)
	}
	return join, leave
}

func groups(u *record.UE) (out []string) {
	if u == nil {
		return nil
	}
	if !u.Remnant { // nobody counts it, and gNBs alone look for it
		out = append([]string{UEGroup(u.Shard)}, counted(u)...)
	}
	for _, a := range attachments(u) {
		if g := associationGroup(u.Shard, associationOf(a)); !slices.Contains(out, g) {
			out = append(out, g)
		}
	}
	return out
}

// without returns what of a is not in b.
func without[T comparable](a, b []T) []T {
	return slices.DeleteFunc(slices.Clone(a), func(x T) bool { return slices.Contains(b, x) })
}

// unfinished: whoever takes over goes on with what was begun.
func unfinished(u *record.UE) bool {
	if u.N2 != nil && (u.N2.Setting || u.N2.Releasing) {
		return true
	}
	return u.Procedure != nil || u.Handover != nil || len(u.Left) > 0 || u.Paging != nil || slices.ContainsFunc(u.Sessions, func(s record.Session) bool { return s.Silent || s.Arriving })
}

// change from what the store has of the UE to what it is to have; nil where that is the same.
func (r *Runner) change(u *ue, due map[string]time.Time) (*sessionstore.Change, stored, error) {
	was, is := u.stored, stored{record: u.state.Record}
	if is.record != nil {
		listed := *is.record
		listed.Listed = true
		is.record = &listed
		var err error
		if is.octets, err = is.record.Encode(); err != nil {
			return nil, stored{}, fmt.Errorf("the record of a UE cannot be written: %w", err)
		}
	}
	if u.fresh { // its times were in memory alone, and what the store has are another life's
		due = u.times.all()
	}
	switch {
	case is.record == nil && !was.exists(), is.record != nil && was.exists() && !u.fresh && len(due) == 0 && slices.Equal(was.octets, is.octets):
		return nil, was, nil
	}
	is.revision = r.revision()
	c := &sessionstore.Change{Key: u.key, Was: was.revision, Is: is.revision, Due: map[string]time.Time{}}
	if !foundAlike(was.record, is.record) {
		before, after := indexes(was.record), indexes(is.record)
		c.AddIndexes, c.RemoveIndexes = without(after, before), without(before, after)
		c.JoinGroups, c.LeaveGroups = regrouped(was.record, is.record)
	}
	if was.exists() && (u.fresh || is.record == nil) {
		for _, name := range procedure.DueNames {
			c.Due[name] = time.Time{}
		}
	}
	if was.record != nil && was.record.Shard != r.shard { // it was given up
		c.From, c.Gone = r.shardName(was.record.Shard), []string{procedure.DueGiven}
	}
	if is.record == nil {
		is.revision = sessionstore.Revision{}
		return c, is, nil
	}
	for name, at := range due {
		if was.exists() || !at.IsZero() { // there is nothing to take away from a record that is not there
			c.Due[name] = at
		}
	}
	c.Value = r.sealer.Seal(u.key, is.octets)
	c.OpenIntent = unfinished(is.record)
	c.CloseIntent = was.exists() && !c.OpenIntent
	return c, is, nil
}

func (r *Runner) revision() sessionstore.Revision {
	r.writes++
	return sessionstore.Revision{Writer: r.writer, Count: r.writes}
}

// unowned is the revision of a record of which nobody does what it says: who reads it next takes it up, be that who has written it.
func (r *Runner) unowned() sessionstore.Revision {
	is := r.revision()
	is.Writer = ^is.Writer
	return is
}

// commit until it is known what became of it: then is called with nil, or an error for good, by who holds the shard.
func (r *Runner) commit(c sessionstore.Change, then func(error)) {
	r.writing++
	r.commitAgain(c, firstPause, func(err error) {
		then(err)
		r.writing--
		r.leaveWritten()
	})
}

func (r *Runner) commitAgain(c sessionstore.Change, pause time.Duration, then func(error)) {
	lease := r.lease
	r.w.Store(func(ctx context.Context, store sessionstore.Store) func() {
		err := store.Commit(ctx, lease, c)
		return func() {
			r.heard(err)
			switch {
			case r.stopped:
			case err == nil || lasting(err):
				then(err)
			default: // nobody knows
				r.counts.Repeated++
				r.w.After(pause, func() {
					if !r.stopped {
						r.commitAgain(c, min(2*pause, longestWait), then)
					}
				})
			}
		}
	})
}
