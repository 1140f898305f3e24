package runner

import (
	"maps"
	"slices"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
)

// What sessions follow of the configuration while they are there. The shard's own record says by which configuration the sessions of a Slice
// were looked at last, all of them: a holder that dies in the midst of it is followed by one that looks again, and so is one that nobody
// followed for a while.

// slice whose sessions are being looked at, of that digest. again: it has changed once more meanwhile, if only to what it was.
type slice struct {
	digest uint64
	again  bool
}

// following stands in the shard's record for the digest of a Slice whose sessions are being looked at: some follow it already, and others what was before.
const following = 1

// Configured looks at the sessions of every Slice that is another one than the shard's record says. It is called when the configuration
// has changed; who takes a shard over begins with it.
func (r *Runner) Configured() {
	c := r.w.Configuration()
	if r.stopped || !r.shardRead || c == nil {
		return
	}
	names := maps.Clone(r.kept.Slices)
	for _, s := range c.Slices() {
		names[s.Name] = 0
	}
	for _, name := range sorted(names) {
		r.follow(name)
	}
	r.depart()
}

func (r *Runner) follow(name string) {
	c := r.w.Configuration()
	digest := c.Digest(name)
	if s := r.slices[name]; s != nil {
		s.again = s.again || digest != s.digest
		return
	}
	if r.kept.Slices[name] == digest || digest == 0 && !c.SliceGone(name) {
		return
	}
	s := &slice{digest: digest}
	r.slices[name] = s
	if r.kept.Slices[name] <= following { // whoever takes over in the midst of it looks, too
		r.visitAll(name, s)
		return
	}
	r.kept.Slices[name] = following
	r.keepShard(func() { r.visitAll(name, s) })
}

// visitAll sessions of a Slice, which are to follow it.
func (r *Runner) visitAll(name string, s *slice) {
	group := SliceGroup(r.shard, name)
	w := &walk{r: r, group: group, window: window, keys: r.joining(group)}
	w.event = func(rec *record.Session) procedure.Event { return changedFor(rec, r.w.Configuration()) }
	w.done = func() {
		delete(r.slices, name)
		if s.again {
			r.follow(name)
			return
		}
		if s.digest == 0 {
			delete(r.kept.Slices, name)
		} else {
			r.kept.Slices[name] = s.digest
		}
		r.log.Info("the sessions of a Slice follow its configuration", "slice", name)
		r.keepShard(func() {})
	}
	w.advance()
}

// changedFor a session: it ends with its data network.
func changedFor(rec *record.Session, c *configuration.Snapshot) procedure.Event {
	named := slices.ContainsFunc(c.Slices(), func(s *configuration.Slice) bool { return s.Name == rec.Slice })
	switch {
	case c.Named(rec.Slice, rec.DNN) != nil:
		return procedure.SettingsChanged{}
	case named || c.SliceGone(rec.Slice):
		return procedure.End{Cause: n1.CauseRegularDeactivation}
	}
	return nil
}
