package compile

import (
	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/rules"
)

func (c *compiler) urr(r *rules.URR) abi.Urr {
	return abi.Urr{UrrId: r.ID, Slot: c.in.URRSlots[r.ID], QuotaFar: abi.None16}
}
