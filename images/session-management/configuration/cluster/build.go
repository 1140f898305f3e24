package cluster

import (
	"cmp"
	"errors"
	"slices"

	"core5g.dev/core5g/images/customresources"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/specs"
)

// Objects of one core, as they are.
type Objects struct {
	// Core is nil where it does not exist (any more).
	Core         *v1alpha1.Core5G
	Slices       []v1alpha1.Slice
	UPFInstances []v1alpha1.UPFInstance
}

// Refusal says that an object cannot be used as it is.
type Refusal = customresources.Refusal

// Good remembers of each object what was last usable. Its zero value is ready.
type Good struct {
	core   *v1alpha1.Core5G
	slices map[string]v1alpha1.Slice
	upfs   map[string]v1alpha1.UPFInstance
}

// Build a Snapshot from what there is. Objects that are being deleted count as deleted, but for UPFInstances, which drain.
// Of two Slices that want the same the older one has it. good holds what was last usable, and takes over what is now.
func Build(o Objects, good *Good) (*configuration.Snapshot, []Refusal) {
	b := &builder{good: good, next: Good{core: good.core, slices: map[string]v1alpha1.Slice{}, upfs: map[string]v1alpha1.UPFInstance{}}}
	core := b.coreOf(o.Core)
	upfs, units := b.unitsOf(o.UPFInstances)
	mine := slices.DeleteFunc(slices.Clone(o.Slices), func(s v1alpha1.Slice) bool { return s.DeletionTimestamp != nil })
	slices.SortStableFunc(mine, func(x, y v1alpha1.Slice) int {
		if specs.Older(&x, &y) {
			return -1
		}
		return 1
	})
	var list []configuration.Slice
	var snapshot *configuration.Snapshot
	snapshot, _ = configuration.New(nil, slices.Clone(units)) // its units have been looked at
	for i := range mine {
		// With those that are there already: what contradicts another is known to be this one.
		var took bool
		if list, snapshot, took = b.try(&mine[i], list, units, upfs, snapshot); took {
			continue
		}
		if last, was := b.good.slices[mine[i].Name]; was {
			b.refusals[len(b.refusals)-1].Earlier = true
			var again bool
			if list, snapshot, again = b.try(&last, list, units, upfs, snapshot); !again {
				b.refusals = b.refusals[:len(b.refusals)-1] // one sentence an object
				b.refusals[len(b.refusals)-1].Earlier = false
			}
			b.next.slices[last.Name] = last // what keeps it from being in force may go
		}
	}
	*good = b.next
	slices.SortFunc(b.refusals, func(x, y Refusal) int { return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Name, y.Name)) })
	return snapshot.WithCore(core).WithUnread(b.unread()), b.refusals
}

// unread is what there is, and of which nothing is in force.
func (b *builder) unread() (out configuration.Unread) {
	for _, r := range b.refusals {
		switch {
		case r.Earlier:
		case r.Kind == "Slice":
			out.Slices = append(out.Slices, r.Name)
		case r.Kind == "UPFInstance":
			out.UPFInstances = true
		}
	}
	return out
}

// Problem says why the SMF cannot use a Slice as it is beside UPFInstances, and what to write instead; nil: it can.
func Problem(core *v1alpha1.Core5G, slice *v1alpha1.Slice, upfs []v1alpha1.UPFInstance) error {
	_, refusals := Build(Objects{Core: core, Slices: []v1alpha1.Slice{*slice}, UPFInstances: upfs}, &Good{})
	slices.SortStableFunc(refusals, func(x, y Refusal) int { return cmp.Compare(y.Kind, x.Kind) }) // a UPFInstance that cannot be used is missing for the Slice
	for _, r := range refusals {
		switch r.Kind {
		case "UPFInstance":
			return r
		case "Slice":
			return r.Err
		}
	}
	return nil
}

type builder struct {
	good     *Good
	next     Good
	refusals []Refusal
}

// try a Slice beside others. Without it everything is as before.
func (b *builder) try(o *v1alpha1.Slice, list []configuration.Slice, units []configuration.Unit, upfs []v1alpha1.UPFInstance, before *configuration.Snapshot) ([]configuration.Slice, *configuration.Snapshot, bool) {
	slice, err := sliceOf(o, upfs)
	if err == nil {
		with := append(slices.Clone(list), slice)
		var snapshot *configuration.Snapshot
		// New owns what it is given, so that each gets a list of its own.
		if snapshot, err = configuration.New(deep(with), slices.Clone(units)); err == nil {
			b.next.slices[o.Name] = *o
			return with, snapshot, true
		}
	}
	b.refusals = append(b.refusals, Refusal{Kind: "Slice", Name: o.Name, Err: err})
	return list, before, false
}

// deep copies what New writes into.
func deep(list []configuration.Slice) []configuration.Slice {
	out := slices.Clone(list)
	for i := range out {
		out[i].DataNetworks = slices.Clone(out[i].DataNetworks)
		for j := range out[i].DataNetworks {
			dn := &out[i].DataNetworks[j]
			dn.Units = slices.Clone(dn.Units)
			dn.Breakouts = slices.Clone(dn.Breakouts)
			for k := range dn.Breakouts {
				dn.Breakouts[k].Units = slices.Clone(dn.Breakouts[k].Units)
			}
			dn.Flows = slices.Clone(dn.Flows)
			for k := range dn.Flows {
				dn.Flows[k].Filters = slices.Clone(dn.Flows[k].Filters)
			}
		}
	}
	return out
}

// unitsOf the UPFInstances that can be used, and these.
func (b *builder) unitsOf(all []v1alpha1.UPFInstance) (upfs []v1alpha1.UPFInstance, units []configuration.Unit) {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(x, y v1alpha1.UPFInstance) int {
		if specs.Older(&x, &y) {
			return -1
		}
		return 1
	})
	try := func(o v1alpha1.UPFInstance) error {
		own, err := unitsOf(&o)
		if err != nil {
			return err
		}
		with := append(slices.Clone(units), own...)
		if _, err := configuration.New(nil, slices.Clone(with)); err != nil {
			return err
		}
		units, upfs = with, append(upfs, o)
		b.next.upfs[o.Name] = o
		return nil
	}
	for i := range sorted {
		o := sorted[i]
		err := try(o)
		if err == nil {
			continue
		}
		refusal := Refusal{Kind: "UPFInstance", Name: o.Name, Err: err}
		if last, was := b.good.upfs[o.Name]; was {
			// How its units are is always taken as it is.
			last.Status, last.DeletionTimestamp, last.Spec.AdministrativeState = o.Status, o.DeletionTimestamp, o.Spec.AdministrativeState
			refusal.Earlier = try(last) == nil
			b.next.upfs[o.Name] = last
		}
		b.refusals = append(b.refusals, refusal)
	}
	return upfs, units
}

// coreOf the Core5G. What the SMF serves does not end with it: its deletion takes the SMF away, too.
func (b *builder) coreOf(o *v1alpha1.Core5G) configuration.Core {
	refuse := func(name string, err error) configuration.Core {
		b.refusals = append(b.refusals, Refusal{Kind: "Core5G", Name: name, Err: err, Earlier: b.good.core != nil})
		if b.good.core == nil {
			return configuration.Core{Name: name}
		}
		core, _ := convertCore(b.good.core) // it could be read before
		return core
	}
	if o == nil {
		if b.good.core == nil {
			return refuse("", errors.New("it does not exist: create it"))
		}
		return refuse(b.good.core.Name, errors.New("it does not exist: create it"))
	}
	core, err := convertCore(o)
	if err != nil {
		return refuse(o.Name, err)
	}
	b.next.core = o
	return core
}

// defaultShards is what the definition says in words.
const defaultShards = 4

func convertCore(o *v1alpha1.Core5G) (configuration.Core, error) {
	r := reading{}
	core := configuration.Core{Name: o.Name, Shards: defaultShards, TACs: list(&r, "spec.tacs", o.Spec.AllTACs(), configuration.ParseTAC)}
	for _, p := range o.Spec.PLMNs {
		core.PLMNs = append(core.PLMNs, configuration.PLMN{MCC: p.MCC, MNC: p.MNC})
	}
	if m := o.Spec.SessionManagement; m != nil && m.Shards != nil {
		core.Shards = int(*m.Shards)
	}
	return core, r.err
}
