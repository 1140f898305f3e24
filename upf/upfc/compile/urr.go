package compile

import (
	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/rules"
)

func (c *compiler) urr(r *rules.URR) abi.Urr {
	u := abi.Urr{UrrId: r.ID, Slot: c.in.Meters.Get(r.ID).Slot, QuotaFar: abi.None16}
	if r.Is(rules.BeforeQoS) {
		u.Flags |= abi.UrrBeforeQos
	}
	if r.Timed() {
		u.Flags |= abi.UrrTimed
	}
	u.EthernetInactivityS = uint32(r.Rest().Stations)
	if more := r.Rest(); more.HasQuotaFAR {
		u.QuotaFar = place(c.in.Rules.FARs, more.QuotaFAR)
	}
	return u
}
