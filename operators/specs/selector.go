package specs

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// DefaultUPF is the UPFInstance that a Slice means when it names none.
const DefaultUPF = "upf"

// MayMean reports whether a Slice's selector fits a UPFInstance, whichever others it fits.
func MayMean(slice *api.Slice, upf *api.UPFInstance) bool {
	selector := slice.Spec.UPFSelector
	if selector == nil || (selector.Name == "" && len(selector.MatchLabels) == 0) {
		return upf.Name == DefaultUPF
	}
	if selector.Name != "" {
		return selector.Name == upf.Name
	}
	return labels.SelectorFromSet(selector.MatchLabels).Matches(labels.Set(upf.Labels))
}

// Selects reports whether a Slice's selector means this UPFInstance among those of its namespace.
func Selects(slice *api.Slice, upf *api.UPFInstance, upfs []api.UPFInstance) bool {
	if !MayMean(slice, upf) {
		return false
	}
	chosen, _ := SelectUPF(slice, upfs)
	return chosen != nil && chosen.Name == upf.Name
}

// Uses reports whether a Slice's SMF has, or has had until it is released, its user plane on the UPFInstance.
func Uses(slice *api.Slice, upf string) bool {
	return (slice.Status.UPF != nil && slice.Status.UPF.Name == upf) || (slice.Status.PreviousUPF != nil && slice.Status.PreviousUPF.Name == upf)
}

// NameOfUPF in a Slice's status; "" where there is none.
func NameOfUPF(status *api.SliceUPFStatus) string {
	if status == nil {
		return ""
	}
	return status.Name
}

// FurtherUPFs are the names of UPFInstances that data networks of a Slice name beside that of its selector, each once, in their order.
func FurtherUPFs(slice *api.Slice) []string {
	var names []string
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, dn := range slice.Spec.DataNetworks {
		for _, u := range dn.UPFs {
			add(u.Name)
		}
		for _, b := range dn.Breakouts {
			add(b.UPFInstance)
		}
	}
	return names
}

// FurtherUPFProblem says which of these there is not: the data network goes without.
func FurtherUPFProblem(slice *api.Slice, upfs []api.UPFInstance) *Problem {
	core := slice.Spec.CoreRef.NameOrDefault()
	for _, name := range FurtherUPFs(slice) {
		switch upf := upfNamed(upfs, name); {
		case upf == nil:
			return &Problem{api.ReasonNotFound, fmt.Sprintf("UPFInstance %s does not exist: create it, or name another in %s", name, namedIn(slice, name))}
		case upf.Spec.CoreRef.NameOrDefault() != core:
			return &Problem{api.ReasonNotFound, fmt.Sprintf("UPFInstance %s belongs to Core5G %s: name one of Core5G %s in %s", name, upf.Spec.CoreRef.NameOrDefault(), core, namedIn(slice, name))}
		}
	}
	return nil
}

// namedIn is the field of a Slice that names a further UPFInstance.
func namedIn(slice *api.Slice, upf string) string {
	for _, dn := range slice.Spec.DataNetworks {
		if slices.ContainsFunc(dn.UPFs, func(u api.DataNetworkUPF) bool { return u.Name == upf }) {
			return fmt.Sprintf("upfs of DNN %s", dn.DNN)
		}
		if slices.ContainsFunc(dn.Breakouts, func(b api.Breakout) bool { return b.UPFInstance == upf }) {
			return fmt.Sprintf("breakouts of DNN %s", dn.DNN)
		}
	}
	return "dataNetworks"
}

// WithoutUPF says what becomes of a Slice while a further UPFInstance of its does not serve.
func WithoutUPF(slice *api.Slice, upf string) string {
	var refused, moved []string
	for _, dn := range slice.Spec.DataNetworks {
		for _, u := range dn.UPFs {
			if u.Name != upf {
				continue
			}
			for _, tac := range u.TACs {
				if u.Fallback == api.UPFFallbackNone {
					refused = append(refused, string(tac))
				} else {
					moved = append(moved, string(tac))
				}
			}
		}
	}
	switch {
	case len(refused) > 0:
		return "new PDU sessions in tracking areas " + strings.Join(refused, ", ") + " are refused, where nothing else names these"
	case len(moved) > 0:
		return "new PDU sessions in tracking areas " + strings.Join(moved, ", ") + " go to others of the Slice"
	}
	return "the data networks go without it"
}

// SelectUPF returns which of the namespace's UPFInstances a Slice's selector means, or a sentence that says
// why there is none.
func SelectUPF(slice *api.Slice, upfs []api.UPFInstance) (*api.UPFInstance, string) {
	selector := slice.Spec.UPFSelector
	if selector == nil || (selector.Name == "" && len(selector.MatchLabels) == 0) {
		selector = &api.UPFSelector{Name: DefaultUPF}
	}
	core := slice.Spec.CoreRef.NameOrDefault()
	if selector.Name != "" {
		for i := range upfs {
			upf := &upfs[i]
			if upf.Name != selector.Name {
				continue
			}
			if upf.Spec.CoreRef.NameOrDefault() != core {
				return nil, fmt.Sprintf("UPFInstance %s belongs to Core5G %s: name one of Core5G %s in spec.upfSelector", upf.Name, upf.Spec.CoreRef.NameOrDefault(), core)
			}
			return upf, ""
		}
		return nil, fmt.Sprintf("UPFInstance %s does not exist: create it, or name another in spec.upfSelector", selector.Name)
	}
	wanted := labels.SelectorFromSet(selector.MatchLabels)
	var found []*api.UPFInstance
	for i := range upfs {
		if upfs[i].Spec.CoreRef.NameOrDefault() == core && wanted.Matches(labels.Set(upfs[i].Labels)) {
			found = append(found, &upfs[i])
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Sprintf("no UPFInstance of Core5G %s carries the labels %s", core, wanted)
	case 1:
		return found[0], ""
	default:
		return nil, fmt.Sprintf("UPFInstances %s and %s both carry the labels %s: write labels that one of them carries, or its name", found[0].Name, found[1].Name, wanted)
	}
}
