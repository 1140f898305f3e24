package compile

import (
	"cmp"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/rules"
)

// gbrWindow is the Averaging Window of GBR flows for which the SMF names none, in milliseconds (TS 23.501
// 5.7.3.6, table 5.7.4-1).
const gbrWindow = 2000

func (c *compiler) qer(r *rules.QER) abi.Qer {
	q := abi.Qer{QerId: r.ID, Slot: c.in.QERSlots.Get(r.ID), Qfi: r.QFI, WindowMs: r.Window}
	if r.ULClosed {
		q.Flags |= abi.QerGateUlClosed
	}
	if r.DLClosed {
		q.Flags |= abi.QerGateDlClosed
	}
	if r.HasMBR {
		q.Flags |= abi.QerMbr
		q.MbrUl, q.MbrDl = r.MBRUL, r.MBRDL
	}
	if slot, ok := c.in.GBRSlots.Find(r.ID); ok && r.HasGBR {
		q.Flags |= abi.QerGbr
		q.GbrUl, q.GbrDl, q.GbrSlot = r.GBRUL, r.GBRDL, slot
		q.WindowMs = cmp.Or(r.Window, gbrWindow)
	}
	if r.RQI {
		q.Flags |= abi.QerRqi
	}
	if r.HasPPI {
		q.Flags |= abi.QerPpi
		q.Ppi = r.PPI
	}
	if r.HasToS {
		q.Flags |= abi.QerTos
		q.Tos = r.ToS & r.ToSMask
	}
	return q
}
