package specs

import (
	"fmt"

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
