package specs

import (
	"fmt"
	"slices"
	"strings"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// SUPIProblem says which older Subscriber of the core has the SUPI; others are those with the same one.
func SUPIProblem(s *api.Subscriber, others []api.Subscriber) *Problem {
	if older := olderSubscriber(s, others, func(o *api.Subscriber) bool { return o.Spec.SUPI == s.Spec.SUPI }); older != nil {
		return &Problem{api.ReasonDuplicate, fmt.Sprintf("SUPI %s belongs to Subscriber %s already: delete one of the two", s.Spec.SUPI, older.Name)}
	}
	return nil
}

// GPSIProblem says which older Subscriber of the core has the GPSI; others are those with the same one.
func GPSIProblem(s *api.Subscriber, others []api.Subscriber) *Problem {
	if s.Spec.GPSI == "" {
		return nil
	}
	if older := olderSubscriber(s, others, func(o *api.Subscriber) bool { return o.Spec.GPSI == s.Spec.GPSI }); older != nil {
		return &Problem{api.ReasonDuplicate, fmt.Sprintf("GPSI %s belongs to Subscriber %s already: write another number, or leave gpsi out", s.Spec.GPSI, older.Name)}
	}
	return nil
}

func olderSubscriber(s *api.Subscriber, others []api.Subscriber, same func(*api.Subscriber) bool) *api.Subscriber {
	for i := range others {
		o := &others[i]
		if o.Name != s.Name && o.Spec.CoreRef.NameOrDefault() == s.Spec.CoreRef.NameOrDefault() && same(o) && Older(o, s) {
			return o
		}
	}
	return nil
}

// HomeProblem says that a SUPI is of none of the core's PLMNs (TS 23.003 2.2).
func HomeProblem(s *api.Subscriber, core *api.Core5G) *Problem {
	var plmns []string
	for _, p := range core.Spec.PLMNs {
		if p.HasSUPI(s.Spec.SUPI) {
			return nil
		}
		plmns = append(plmns, p.String())
	}
	return &Problem{api.ReasonMalformed, fmt.Sprintf(
		"SUPI %s begins with no PLMN of Core5G %s (%s), so it is not a subscriber of this network: write a SUPI of one of them, or add its PLMN to spec.plmns of the Core5G first",
		s.Spec.SUPI, core.Name, strings.Join(plmns, ", "))}
}

// SubscribedSlices are the names of spec.slices, joined by commas.
func SubscribedSlices(s *api.Subscriber) string {
	var names []string
	for _, subscribed := range s.Spec.Slices {
		names = append(names, subscribed.Name)
	}
	return strings.Join(names, ",")
}

// SubscribedSliceProblem judges one entry of spec.slices by the Slice that it names, nil where there is none.
func SubscribedSliceProblem(s *api.Subscriber, subscribed api.SubscribedSlice, slice *api.Slice) *Problem {
	if slice == nil {
		return &Problem{api.ReasonNotFound, fmt.Sprintf("Slice %s does not exist: create it, or take it out of spec.slices", subscribed.Name)}
	}
	if core := s.Spec.CoreRef.NameOrDefault(); slice.Spec.CoreRef.NameOrDefault() != core {
		return &Problem{api.ReasonMalformed, fmt.Sprintf("Slice %s belongs to Core5G %s and the Subscriber to %s", slice.Name, slice.Spec.CoreRef.NameOrDefault(), core)}
	}
	for _, dnn := range subscribed.DNNs {
		if !slices.ContainsFunc(slice.Spec.DataNetworks, func(d api.DataNetwork) bool { return d.DNN == dnn }) {
			return &Problem{api.ReasonNotFound, fmt.Sprintf("Slice %s has no data network %s: write one of its own (%s), or none for all of them",
				slice.Name, dnn, strings.ReplaceAll(SummaryOf(slice).DNNs, ",", ", "))}
		}
	}
	return nil
}
