package upf

import (
	"context"
	"fmt"
	"slices"
	"strings"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/workloads"
	"core5g.dev/core5g/operators/specs"
)

// observeUnits turns what was seen into conditions.
func (r *Reconciler) observeUnits(_ context.Context, s *scope) error {
	status := &s.upf.Status
	status.Units, status.ReadyUnits, status.UnitStatuses = 0, 0, nil
	for _, u := range s.units {
		if u.number >= specs.PossibleUnits(s.upf) && u.pod == nil {
			continue // scaled away
		}
		u.sayMembers()
		status.UnitStatuses = append(status.UnitStatuses, u.status)
		if u.pod != nil {
			status.Units++
		}
		if u.status.State == api.UnitReady {
			status.ReadyUnits++
		}
	}
	status.Places = places(status.UnitStatuses)
	s.observePending()
	s.observeReady()
	s.observeAligned()
	s.observeLinks()
	s.observeGateways()
	s.observeStandbys()
	s.observeLostNodes()
	if s.halted != nil {
		return nil
	}
	s.observePlaced()
	s.observeAttached(api.ConditionN3Attached, specs.InterfaceN3)
	s.observeAttached(api.ConditionN6Attached, specs.InterfacesOfN6(s.upf)...)
	return nil
}

func (s *scope) observePending() {
	var waiting, replaced []string
	for _, u := range s.members() {
		switch {
		case u.replacing != "":
			replaced = append(replaced, u.status.Name)
		case u.pending:
			waiting = append(waiting, u.status.Name)
		}
	}
	cost := [2]string{"a restart ends its sessions", "this ends their PDU sessions"}
	if specs.Redundant(s.upf) {
		cost = [2]string{"its pods are to be replaced: the standby's, which then takes over, and the other", "each after its standby, which takes over"}
	}
	switch {
	case len(waiting) > 0 && s.halted != nil:
		s.conditions.Yes(api.ConditionUpdatePending, s.halted.Reason,
			fmt.Sprintf("image or configuration of %s has changed, but no pod can be made, and those that run stay as they are: %s", strings.Join(waiting, ", "), s.halted.Message))
	case len(waiting) > 0:
		s.conditions.Yes(api.ConditionUpdatePending, api.ReasonRestartRequired,
			fmt.Sprintf("image or configuration of %s has changed, and %s. Choose the moment: kubectl annotate --overwrite upfinstance %s %s=%s",
				strings.Join(waiting, ", "), cost[0], s.upf.Name, api.AnnotationApplyUpdate, s.updateHash()))
	case len(replaced) > 0:
		s.conditions.Yes(api.ConditionUpdatePending, "Replacing",
			fmt.Sprintf("%s are replaced, one after the other; %s", strings.Join(replaced, ", "), cost[1]))
	default:
		s.conditions.No(api.ConditionUpdatePending, api.ReasonUpToDate, "every unit runs the present configuration")
	}
}

func (s *scope) observeReady() {
	asked := specs.AskedUnits(s.upf)
	ready := s.upf.Status.ReadyUnits
	message := fmt.Sprintf("%d of %d units are ready", ready, asked)
	switch limit, problem := specs.UnitLimit(s.upf); {
	case s.upf.Spec.AdministrativeState == api.StateShuttingDown:
		s.conditions.No(api.ConditionUnitsReady, "ShuttingDown", "administrativeState is ShuttingDown: the units go when their PDU sessions have ended; write Unlocked to keep them")
	case s.upf.Spec.AdministrativeState == api.StateLocked:
		s.conditions.No(api.ConditionUnitsReady, api.ReasonLocked, "administrativeState is Locked: write Unlocked to start the units")
	case asked > limit:
		s.conditions.No(api.ConditionUnitsReady, api.ReasonAddressesMissing, message+": "+problem)
	case s.unguarded != "":
		s.conditions.No(api.ConditionUnitsReady, api.ReasonNameTaken, message+", and evictions are not kept from them: "+s.unguarded)
	case slices.ContainsFunc(s.units, func(u *unitScope) bool { return u.taken != "" }):
		at := slices.IndexFunc(s.units, func(u *unitScope) bool { return u.taken != "" })
		s.conditions.No(api.ConditionUnitsReady, api.ReasonNameTaken, message+": "+s.units[at].taken)
	case int(ready) >= asked:
		s.conditions.Yes(api.ConditionUnitsReady, api.ReasonReady, message)
	default:
		for _, u := range s.units {
			if u.status.Message != "" {
				message += ": " + u.status.Message
			}
		}
		s.conditions.No(api.ConditionUnitsReady, api.ReasonProgressing, message)
	}
}

// observeAttached reads from the pod what Multus has really attached.
func (s *scope) observeAttached(condition string, interfaces ...string) {
	for _, u := range s.units {
		if u.pod == nil {
			s.conditions.No(condition, api.ReasonProgressing, u.status.Name+" does not run")
			return
		}
		attached := workloads.AttachedTo(u.pod)
		for _, iface := range interfaces {
			if !slices.ContainsFunc(attached, func(a workloads.NetworkStatus) bool { return a.Interface == iface }) {
				s.conditions.No(condition, api.ReasonProgressing, fmt.Sprintf("Multus has not reported interface %s of pod %s", iface, u.pod.Name))
				return
			}
		}
	}
	s.conditions.Yes(condition, api.ReasonReady, "every unit has its interface "+strings.Join(interfaces, ", "))
}
