package accessmanagement

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/access-management/worker"
	"core5g.dev/core5g/images/nf/nrf"
	"core5g.dev/core5g/images/nf/pod"
	"core5g.dev/core5g/images/nf/ts29571"
)

// registrar keeps the AMF known to the NRF, with what it serves. Every pod does so, with the same profile.
type registrar struct {
	pod.Registrar
	function nrf.Function
	settings func() *procedure.Settings
	log      *slog.Logger
}

func newRegistrar(c Config, around *pod.Around, settings func() *procedure.Settings) *registrar {
	r := &registrar{settings: settings, log: around.Log}
	r.function = nrf.Function{
		Type: "AMF", URI: c.uri(around.Scheme()), ID: c.instance(), Offers: r.offers,
		Services: worker.Services(),
		// What the AMF knows is in the session store, and outlives its pods: none of them begins anew.
		Recovery: time.Unix(0, 0), Stays: func() bool { return true },
	}
	r.Registrar = around.Registrar(c.NRF, r.plmns)
	return r
}

// keep the AMF registered until ctx ends. Its profile stays: other pods go on.
func (r *registrar) keep(ctx context.Context) error { return r.Keep(ctx, r.function) }

func snssai(s record.Slice) ts29571.SNSSAI {
	if s.SD == nil {
		return ts29571.SNSSAI{SST: int32(s.SST)}
	}
	return ts29571.MakeSNSSAI(int32(s.SST), hex.EncodeToString(s.SD[:]))
}

func plmnOf(digits string) ts29571.PLMN { return ts29571.PLMN{MCC: digits[:3], MNC: digits[3:]} }

func (r *registrar) plmns(context.Context) ([]ts29571.PLMN, error) {
	var out []ts29571.PLMN
	for _, p := range r.settings().PLMNs {
		out = append(out, plmnOf(p.PLMN))
	}
	return out, nil
}

func (r *registrar) offers() nrf.Offers {
	s := r.settings()
	id := fmt.Sprintf("%06x", uint32(s.Region)<<16|uint32(s.Set)<<6|uint32(s.Pointer)) // TS 23.003 2.10.1
	var guamis []ts29571.GUAMI
	var tais []ts29571.TAI
	var out nrf.Offers
	for n, p := range s.PLMNs {
		plmn := plmnOf(p.PLMN)
		guamis = append(guamis, ts29571.GUAMI{PLMN: plmn, AMFID: id})
		for _, tac := range p.TACs {
			tais = append(tais, ts29571.TAI{PLMN: plmn, TAC: fmt.Sprintf("%06x", tac)})
		}
		for _, slice := range p.Slices { // of any PLMN, once
			if !slices.ContainsFunc(s.PLMNs[:n], func(before procedure.PLMN) bool { return slices.ContainsFunc(before.Slices, slice.Is) }) {
				out.Slices = append(out.Slices, nrf.Slice{SNSSAI: snssai(slice)})
			}
		}
	}
	var err error
	if out.AMF, err = nrf.MakeAMF(guamis, tais); err != nil {
		r.log.Error("the NRF cannot be told what the AMF serves", "err", err)
	}
	return out
}
