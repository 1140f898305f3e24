package cluster

import (
	"errors"
	"fmt"
	"math"
	"net/netip"

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
// with the Core5G: its deletion takes the AMF away, too, which these Settings say.
func Build(core *v1alpha1.Core5G, good *Good) (*procedure.Settings, []customresources.Refusal) {
	name, err := good.name, errors.New("it does not exist: create it")
	if core != nil {
		name = core.Name
		var settings *procedure.Settings
		if settings, err = settingsOf(core); err == nil {
			*good = Good{settings, name}
			if core.DeletionTimestamp != nil {
				return removed(settings), nil
			}
			return settings, nil
		}
	}
	if core == nil && good.settings != nil {
		return removed(good.settings), []customresources.Refusal{{Kind: "Core5G", Name: name, Err: err, Earlier: true}}
	}
	return good.settings, []customresources.Refusal{{Kind: "Core5G", Name: name, Err: err, Earlier: good.settings != nil}}
}

// Problem says why the AMF cannot use a Core5G as it is, and what to write instead; nil: it can.
func Problem(core *v1alpha1.Core5G) error {
	_, err := settingsOf(core)
	return err
}

func removed(s *procedure.Settings) *procedure.Settings {
	out := *s
	out.Removed = true
	return &out
}

func settingsOf(core *v1alpha1.Core5G) (*procedure.Settings, error) {
	a := &core.Spec.AMF
	n := configuration.Network{
		Name: a.Name, Region: number(a.Region, configuration.DefaultRegion), Set: number(a.Set, configuration.DefaultSet),
		Pointer: number(a.Pointer, configuration.DefaultPointer), Capacity: number(a.Capacity, configuration.DefaultCapacity), Voice: a.IMSVoice,
	}
	var err error
	if n.PLMNs, err = each("spec.plmns", core.Spec.PLMNs, func(p v1alpha1.PLMN) (string, error) { return configuration.ParsePLMN(p.MCC, p.MNC) }); err != nil {
		return nil, err
	}
	if n.TACs, err = each("spec.tacs", core.Spec.TACs, func(t v1alpha1.TAC) (uint32, error) { return configuration.ParseTAC(string(t)) }); err != nil {
		return nil, err
	}
	if n.Catalogue, err = each("spec.sliceCatalogue", core.Spec.SliceCatalogue, sliceOf); err != nil {
		return nil, err
	}
	for i, p := range core.Spec.PLMNs {
		within, own := fmt.Sprintf("spec.plmns[%d]", i), configuration.Own{}
		if own.TACs, err = each(within+".tacs", p.TACs, func(t v1alpha1.TAC) (uint32, error) { return configuration.ParseTAC(string(t)) }); err != nil {
			return nil, err
		}
		if own.Catalogue, err = each(within+".sliceCatalogue", p.SliceCatalogue, sliceOf); err != nil {
			return nil, err
		}
		if len(own.TACs) > 0 || len(own.Catalogue) > 0 {
			if n.Own == nil {
				n.Own = map[string]configuration.Own{}
			}
			n.Own[n.PLMNs[i]] = own
		}
	}
	if n.Integrity, err = each("spec.amf.integrity", a.Integrity, func(x v1alpha1.IntegrityAlgorithm) (uint8, error) { return configuration.ParseIntegrity(string(x)) }); err != nil {
		return nil, err
	}
	if n.Ciphering, err = each("spec.amf.ciphering", a.Ciphering, func(x v1alpha1.CipheringAlgorithm) (uint8, error) { return configuration.ParseCiphering(string(x)) }); err != nil {
		return nil, err
	}
	if a.PeriodicRegistration != nil {
		n.Periodic = a.PeriodicRegistration.Duration
	}
	if a.Backoff != nil {
		n.Backoff = a.Backoff.Duration
	}
	if e := a.Emergency; e != nil {
		n.Emergency = &procedure.Emergency{DNN: string(e.DNN), Unauthenticated: e.Unauthenticated}
		if n.Emergency.Slice, err = sliceOf(e.SNSSAI); err != nil {
			return nil, fmt.Errorf("spec.amf.emergency: %w", err)
		}
	}
	if name := a.NetworkName; name != nil {
		n.FullName, n.ShortName = name.Full, name.Short
		if n.Zone, err = configuration.ParseZone(name.TimeZone); err != nil {
			return nil, fmt.Errorf("spec.amf.networkName: %w", err)
		}
	}
	settings, err := n.Settings()
	if err == nil {
		settings.Terminators = terminatorsOf(core.Status.N2)
	}
	return settings, err
}

// portOfNGAP is the one by which a gNB connects to an address that it is told, since it is told no port (TS 38.412 7, TS 38.413 9.3.2.6).
const portOfNGAP = 38412

// terminatorsOf the status are those that the operator says gNBs can reach one by one. What cannot be read is none of them.
func terminatorsOf(n2 *v1alpha1.N2Status) (out []procedure.Terminator) {
	if n2 == nil {
		return nil
	}
	for _, pod := range n2.Pods {
		x := procedure.Terminator{Pod: pod.Name}
		for _, text := range pod.Addresses {
			if at, err := netip.ParseAddrPort(text); err == nil && at.Port() == portOfNGAP {
				x.Addresses = append(x.Addresses, at.Addr().Unmap().WithZone(""))
			}
		}
		if len(x.Addresses) > 0 {
			out = append(out, x)
		}
	}
	return out
}

func sliceOf(s v1alpha1.SNSSAI) (record.Slice, error) {
	return configuration.ParseSNSSAI(int(s.SST), s.SD)
}

// each of a list, until one cannot be read.
func each[From, To any](field string, list []From, read func(From) (To, error)) ([]To, error) {
	var out []To
	for i, from := range list {
		to, err := read(from)
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", field, i, err)
		}
		out = append(out, to)
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
