package specs

import (
	"k8s.io/apimachinery/pkg/api/equality"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// What a change restarts is found by building twice: whatever is built otherwise is made anew.

// CoreFunctions builds the functions that a core has one of, in the order of creation.
func CoreFunctions(core *api.Core5G, p Platform, database Database) []FunctionObjects {
	var out []FunctionObjects
	if core.Fused() {
		return nil // ControlPlane is all of them
	}
	if !database.External {
		out = append(out, DatabaseFunction(core, p))
	}
	out = append(out, NRF(core, p, database), PCF(core, p, database), CHF(core, p, database), SubscriberData(core, p))
	if core.OwnControlPlane() {
		return append(out, N2Terminators(core, p), AMFWorkers(core, p))
	}
	return append(out, AMF(core, p))
}

// CoreRestarts names the Deployments that a change of a Core5G replaces the pods of, without those of SMFs.
func CoreRestarts(before, after *api.Core5G, p Platform) []string {
	was := map[string]FunctionObjects{}
	for _, f := range CoreFunctions(before, p, anyDatabase(before)) {
		was[f.Deployment.Name] = f
	}
	var out []string
	for _, f := range CoreFunctions(after, p, anyDatabase(after)) {
		if old, ran := was[f.Deployment.Name]; ran && restarts(old, f) {
			out = append(out, f.Deployment.Name)
		}
	}
	return out
}

// anyDatabase stands for the database of a site, whose URI is in a Secret.
func anyDatabase(core *api.Core5G) Database {
	if core.Spec.Database.Type == api.DatabaseExternal {
		return Database{URI: "mongodb://", External: true}
	}
	return EmbeddedDatabase(core)
}

// SMFSource is what a Slice's SMF is made from.
type SMFSource struct {
	Core  *api.Core5G
	Slice *api.Slice
	UPF   *api.UPFInstance
}

// build stands for the SMF: addresses are the same before and after.
func (s SMFSource) build(p Platform) FunctionObjects {
	const address = "192.0.2.1"
	return SMF(s.Core, s.Slice, p, SliceUserPlane{UPF: s.UPF.Name, N4Address: address, N3Endpoint: address, Parts: Parts(s.UPF), SMFAddress: address})
}

// SMFRestarts tells whether a change replaces the pod of a Slice's SMF. One of core5g's own takes changes as they come.
func SMFRestarts(before, after SMFSource, p Platform) bool {
	for _, s := range []SMFSource{before, after} {
		if s.Core == nil || s.Core.OwnControlPlane() || s.Slice == nil || s.UPF == nil {
			return false
		}
	}
	return restarts(before.build(p), after.build(p))
}

func restarts(before, after FunctionObjects) bool {
	return !equality.Semantic.DeepEqual(before.Deployment.Spec.Template, after.Deployment.Spec.Template)
}

// UnitRestarts names the units of a UPFInstance that a change of it replaces.
func UnitRestarts(before, after *api.UPFInstance, core *api.Core5G, p Platform) []string {
	var out []string
	for _, u := range before.Status.UnitStatuses {
		unit := UnitNumber(before, u.Name)
		limit, _ := UnitLimit(after)
		if unit < 0 || unit >= min(limit, AskedUnits(after)) || u.Hash == "" {
			continue
		}
		if UPFUnit(before, core, p, unit, u.N4Address).TemplateHash != UPFUnit(after, core, p, unit, u.N4Address).TemplateHash {
			out = append(out, UnitName(after.Name, unit))
		}
	}
	return out
}

// UnitsEnd names the units that run now and that a change of the UPFInstance takes away.
func UnitsEnd(before, after *api.UPFInstance) []string {
	left := AskedUnits(after)
	if state := after.Spec.AdministrativeState; state == api.StateLocked || state == api.StateShuttingDown {
		left = 0
	}
	var out []string
	for _, u := range before.Status.UnitStatuses {
		if UnitNumber(before, u.Name) >= left && u.Hash != "" {
			out = append(out, u.Name)
		}
	}
	return out
}
