package cluster

import (
	"errors"
	"fmt"
	"math"

	"core5g.dev/core5g/images/access-management/configuration"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/customresources"
	"core5g.dev/core5g/operators/api/v1alpha1"
)

// Good remembers what was last usable. Its zero value is ready.
type Good struct {
	settings *procedure.Settings
	name     string
}

// Build Settings of a Core5G; nil: there is none. Where it cannot be used, they are those that were last made, nil at first. What the AMF serves does not end
// with the Core5G: its deletion takes the AMF away, too.
func Build(core *v1alpha1.Core5G, good *Good) (*procedure.Settings, []customresources.Refusal) {
	name, err := good.name, errors.New("it does not exist: create it")
	if core != nil {
		name = core.Name
		var settings *procedure.Settings
		if settings, err = settingsOf(core); err == nil {
			*good = Good{settings, name}
			return settings, nil
		}
	}
	return good.settings, []customresources.Refusal{{Kind: "Core5G", Name: name, Err: err, Earlier: good.settings != nil}}
}

func settingsOf(core *v1alpha1.Core5G) (*procedure.Settings, error) {
	a := &core.Spec.AMF
	n := configuration.Network{
		Name: a.Name, Region: number(a.Region, configuration.DefaultRegion), Set: number(a.Set, configuration.DefaultSet),
		Pointer: number(a.Pointer, configuration.DefaultPointer), Capacity: configuration.DefaultCapacity,
	}
	for i, p := range core.Spec.PLMNs {
		plmn, err := configuration.ParsePLMN(p.MCC, p.MNC)
		if err != nil {
			return nil, fmt.Errorf("spec.plmns[%d]: %w", i, err)
		}
		n.PLMNs = append(n.PLMNs, plmn)
	}
	for i, text := range core.Spec.TACs {
		tac, err := configuration.ParseTAC(string(text))
		if err != nil {
			return nil, fmt.Errorf("spec.tacs[%d]: %w", i, err)
		}
		n.TACs = append(n.TACs, tac)
	}
	var err error
	if n.Catalogue, err = catalogueOf(core.Spec.SliceCatalogue); err != nil {
		return nil, err
	}
	return n.Settings()
}

func catalogueOf(list []v1alpha1.SNSSAI) ([]record.Slice, error) {
	var out []record.Slice
	for i, s := range list {
		slice, err := configuration.ParseSNSSAI(int(s.SST), s.SD)
		if err != nil {
			return nil, fmt.Errorf("spec.sliceCatalogue[%d]: %w", i, err)
		}
		out = append(out, slice)
	}
	return out, nil
}

// number, or what the definition gives where it says nothing; that matters where no API server has applied it.
func number(v *int32, otherwise int) int {
	if v == nil {
		return otherwise
	}
	return int(max(*v, math.MinInt16))
}
