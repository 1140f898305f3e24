package peers

import (
	"net/netip"
	"testing"
	"time"

	"core5g.dev/core5g/upf/upfc/rules"
)

func TestIndicationsOfOneTunnelAreReportedOnceASecond(t *testing.T) {
	n := indications{seen: map[rules.FTEID]time.Time{}}
	start := time.Unix(1_800_000_000, 0)
	f := rules.FTEID{Addr: netip.MustParseAddr("172.30.3.100"), TEID: 1}
	if !n.fresh(f, start) || n.fresh(f, start.Add(999*time.Millisecond)) || !n.fresh(f, start.Add(time.Second)) {
		t.Error("want the first one, and the first one after a second")
	}
	for teid := range uint32(2 * indicationsMax) {
		f.TEID = teid
		n.fresh(f, start.Add(time.Second))
	}
	if len(n.seen) > indicationsMax {
		t.Errorf("%d tunnels are remembered", len(n.seen))
	}
	if !n.fresh(f, start.Add(3*time.Second)) {
		t.Error("a flood is not forgotten")
	}
}
