package sessionmanagement

import (
	"context"
	"log/slog"
	"sync/atomic"

	"core5g.dev/core5g/images/nf/nrf"
	"core5g.dev/core5g/images/nf/pod"
	"core5g.dev/core5g/images/nf/ts29571"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/nsmf"
	"core5g.dev/core5g/images/session-management/shard"
)

// registrar keeps the shards that this pod holds known to the NRF, with the slices that they serve.
type registrar struct {
	pod.Registrar
	log     *slog.Logger
	current *atomic.Pointer[configuration.Snapshot]
}

func newRegistrar(c Config, around *pod.Around, current *atomic.Pointer[configuration.Snapshot]) *registrar {
	r := &registrar{log: around.Log, current: current}
	r.Registrar = around.Registrar(c.NRF, r.plmns)
	return r
}

func (r *registrar) plmns(context.Context) ([]ts29571.PLMN, error) {
	var out []ts29571.PLMN
	for _, p := range r.current.Load().Core().PLMNs {
		out = append(out, ts29571.PLMN{MCC: p.MCC, MNC: p.MNC})
	}
	return out, nil
}

// keep a shard registered until its context ends. Its profile stays: another pod goes on with it.
func (r *registrar) keep(ctx context.Context, id shard.Identity) {
	err := r.Keep(ctx, nrf.Function{
		Type: "SMF", URI: id.URI, ID: id.InstanceID, Services: map[string][]string{nsmf.ServiceName: {"v1"}},
		Offers: r.offers, Stays: func() bool { return true },
	})
	if err != nil {
		r.log.Error("a shard is not registered with the NRF", "shard", id.Name, "err", err)
	}
}

func (r *registrar) offers() nrf.Offers {
	var out nrf.Offers
	for _, s := range r.current.Load().Slices() {
		slice := nrf.Slice{SNSSAI: shard.SNSSAI(s.SST, s.SD)}
		for n := range s.DataNetworks {
			slice.DNNs = append(slice.DNNs, s.DataNetworks[n].DNN)
		}
		out.Slices = append(out.Slices, slice)
	}
	return out
}
