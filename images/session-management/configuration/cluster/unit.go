package cluster

import (
	"fmt"
	"net/netip"
	"time"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/specs"
)

// drainTime is how long sessions may stay where a UPFInstance says nothing.
const drainTime = 300 * time.Second

// unitsOf a UPFInstance that have an address on N4. The operator makes that their Node ID.
func unitsOf(upf *v1alpha1.UPFInstance) ([]configuration.Unit, error) {
	if upf.Spec.External != nil {
		u, err := externalOf(upf)
		return []configuration.Unit{u}, err
	}
	var out []configuration.Unit
	for _, unit := range reached(upf) {
		u := unitOf(upf, unit.status)
		u.NodeID = unit.nodeID
		block, err := netip.ParsePrefix(specs.UnitN3Endpoints(upf, unit.number))
		if err != nil {
			return nil, fmt.Errorf("spec.n3.endpoints %q: write a network address and a prefix length, for example 172.30.3.16/28", upf.Spec.N3.Endpoints)
		}
		u.N3 = []netip.Prefix{block}
		out = append(out, u)
	}
	return out, nil
}

// unitOf a UPFInstance, wherever it runs, without where it is reached.
func unitOf(upf *v1alpha1.UPFInstance, status v1alpha1.UnitStatus) configuration.Unit {
	u := configuration.Unit{UPFInstance: upf.Name, Name: status.Name, State: stateOf(upf, status), Ending: ending(upf, status), Drain: drainTime}
	if upf.Spec.Drain != nil {
		u.Drain = upf.Spec.Drain.Timeout.Duration
	}
	return u
}

// externalOf a UPF that runs elsewhere: all is in its specification but how far its end has come.
func externalOf(upf *v1alpha1.UPFInstance) (configuration.Unit, error) {
	e, u := upf.Spec.External, unitOf(upf, externalStatus(upf))
	u.NodeID, u.Address, u.Outside = specs.ExternalNodeID(upf), specs.ExternalN4(upf), true
	if !u.Address.IsValid() {
		return u, fmt.Errorf("spec.external.n4.address %.60q: write an IP address, for example 203.0.113.7", e.N4.Address)
	}
	r := reading{}
	u.N3 = list(&r, "spec.external.n3.endpoints", e.N3.Endpoints, netip.ParsePrefix)
	u.Sources = list(&r, "spec.external.n4.sources", e.N4.Sources, netip.ParsePrefix)
	if names := e.NetworkInstances; names != nil {
		u.Access = names.Access
		for _, n := range names.Core {
			if u.Core == nil {
				u.Core = map[string]string{}
			}
			u.Core[configuration.NetworkInstance(n.Slice, string(n.DNN))] = n.Name
		}
	}
	for _, p := range e.Pools {
		if u.Pools == nil {
			u.Pools = map[netip.Prefix]string{}
		}
		u.Pools[take(&r, "spec.external.pools", string(p.Range), netip.ParsePrefix)] = p.Name
	}
	return u, r.err
}

// externalStatus is what the operator has written, if it has.
func externalStatus(upf *v1alpha1.UPFInstance) v1alpha1.UnitStatus {
	for _, status := range upf.Status.UnitStatuses {
		if status.Name == specs.ExternalUnitName(upf) {
			return status
		}
	}
	return v1alpha1.UnitStatus{Name: specs.ExternalUnitName(upf)}
}

// reached are the units of a UPFInstance that have an address on N4, with their Node IDs and what is written of them.
func reached(upf *v1alpha1.UPFInstance) (out []numbered) {
	if upf.Spec.External != nil {
		return []numbered{{0, specs.ExternalNodeID(upf), externalStatus(upf)}}
	}
	for _, status := range upf.Status.UnitStatuses {
		if number := specs.UnitNumber(upf, status.Name); status.N4Address != "" && number >= 0 {
			out = append(out, numbered{number, status.N4Address, status})
		}
	}
	return out
}

type numbered struct {
	number int
	nodeID string
	status v1alpha1.UnitStatus
}

// stateOf a unit: the whole instance's, unless it is on its way out by itself. What is locked may still have time for its sessions.
func stateOf(upf *v1alpha1.UPFInstance, unit v1alpha1.UnitStatus) configuration.State {
	locked := upf.Spec.AdministrativeState == v1alpha1.StateLocked
	waits := unit.Drain != nil || upf.Spec.Drain != nil && upf.Spec.Drain.Timeout.Duration > 0 && (unit.State == v1alpha1.UnitReady || unit.State == v1alpha1.UnitRunning)
	switch {
	case unit.Drain != nil && unit.Drain.ReleasedAt != nil, locked && !waits:
		return configuration.Locked
	case locked, upf.Spec.AdministrativeState == v1alpha1.StateShuttingDown, unit.Drain != nil, upf.DeletionTimestamp != nil:
		return configuration.Draining
	}
	return configuration.InService
}

// ending: the unit is taken away, rather than made anew.
func ending(upf *v1alpha1.UPFInstance, unit v1alpha1.UnitStatus) bool {
	return upf.Spec.AdministrativeState == v1alpha1.StateLocked || upf.Spec.AdministrativeState == v1alpha1.StateShuttingDown ||
		upf.DeletionTimestamp != nil || specs.UnitNumber(upf, unit.Name) >= specs.AskedUnits(upf)
}
