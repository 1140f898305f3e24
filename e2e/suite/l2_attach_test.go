package suite

import (
	"net/netip"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
)

func TestPhoneAttaches(t *testing.T) {
	ctx := story(t, 5*time.Minute)
	ue := attached(t, ctx, firstPhone)
	address := must[netip.Addr](t)(netip.ParseAddr(ue.Sessions[0].Address))
	if pool := netip.MustParsePrefix("10.45.0.0/16"); !pool.Contains(address) {
		t.Errorf("%s got %s, which is not of the slice's pool %s", firstPhone, address, pool)
	}
	p := must[cluster.Ping](t)(k.Ping(ctx, firstPhone, dataNetwork, 100, 10*time.Millisecond))
	if p.Sent != 100 || p.Received != p.Sent {
		t.Errorf("%d of %d packets came back through the UPF", p.Received, p.Sent)
	}
}

// The UPF's own counters say that the packets crossed it, and not something beside it.
func TestPacketsCrossTheUPF(t *testing.T) {
	ctx := story(t, 2*time.Minute)
	before := upfMetrics(t, ctx)
	const packets = 50
	p := must[cluster.Ping](t)(k.Ping(ctx, firstPhone, dataNetwork, packets, 10*time.Millisecond))
	after := upfMetrics(t, ctx)
	for _, direction := range []string{"ul", "dl"} {
		name := metricForwarded(direction)
		if got := after[name] - before[name]; got < packets {
			t.Errorf("%s grew by %.0f over %d answered pings", name, got, p.Received)
		}
	}
}

func TestThroughput(t *testing.T) {
	ctx := story(t, 2*time.Minute)
	for _, direction := range []string{"up", "down"} {
		result := must[cluster.Throughput](t)(k.Throughput(ctx, firstPhone, dataNetwork, direction, 2))
		if result.Mbps <= 0 {
			t.Errorf("%s: %v Mbit/s through the phone", direction, result.Mbps)
		}
		t.Logf("%s: %.0f Mbit/s", direction, result.Mbps)
	}
}

// An idle phone has no radio bearer; its own packet, a service request, brings the session back
// with the same address.
func TestIdleAndServiceRequest(t *testing.T) {
	ctx := story(t, 4*time.Minute)
	before := attached(t, ctx, firstPhone)
	check(t, k.RAN(ctx, nil, "idle", "--ue", firstPhone))
	check(t, k.RAN(ctx, nil, "service-request", "--ue", firstPhone))
	after := attached(t, ctx, firstPhone)
	if before.Sessions[0].Address != after.Sessions[0].Address {
		t.Errorf("address %s became %s over a service request", before.Sessions[0].Address, after.Sessions[0].Address)
	}
}

func TestDeregisterAndRegister(t *testing.T) {
	ctx := story(t, 4*time.Minute)
	attached(t, ctx, firstPhone)
	check(t, k.RAN(ctx, nil, "deregister", "--ue", firstPhone))
	check(t, cluster.Eventually(ctx, patience, func() error { return upfSessionsAre(ctx, 0) }))
	check(t, k.RAN(ctx, nil, "register", "--ue", firstPhone))
	attached(t, ctx, firstPhone)
	check(t, cluster.Eventually(ctx, patience, func() error { return upfSessionsAre(ctx, 1) }))
}
