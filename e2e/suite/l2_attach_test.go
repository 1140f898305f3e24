package suite

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/e2e/scene"
)

func TestPhoneAttaches(t *testing.T) {
	ctx := story(t, 5*time.Minute)
	ue := attached(t, ctx, firstPhone)
	address := scene.Must[netip.Addr](t)(netip.ParseAddr(ue.Sessions[0].Address))
	if pool := netip.MustParsePrefix("10.45.0.0/16"); !pool.Contains(address) {
		t.Errorf("%s got %s, which is not of the slice's pool %s", firstPhone, address, pool)
	}
	p := scene.Must[cluster.Ping](t)(k.Ping(ctx, firstPhone, dataNetwork, 100, 10*time.Millisecond))
	if p.Sent != 100 || p.Received != p.Sent {
		t.Errorf("%d of %d packets came back through the UPF", p.Received, p.Sent)
	}
}

// The UPF's own counters say that the packets crossed it, and not something beside it.
func TestPacketsCrossTheUPF(t *testing.T) {
	ctx := story(t, 2*time.Minute)
	before := upfMetrics(t, ctx)
	const packets = 50
	p := scene.Must[cluster.Ping](t)(k.Ping(ctx, firstPhone, dataNetwork, packets, 10*time.Millisecond))
	after := upfMetrics(t, ctx)
	for _, direction := range []string{"ul", "dl"} {
		name := metricForwarded(direction)
		if got := after[name] - before[name]; got < packets {
			t.Errorf("%s grew by %.0f over %d answered pings", name, got, p.Received)
		}
	}
}

// The phone's TUN device carries programs that know nothing of 5G.
func TestRealProgramsUseThePhone(t *testing.T) {
	ctx := story(t, 2*time.Minute)
	ue := attached(t, ctx, firstPhone)
	address := ue.Sessions[0].Address
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"ping", []string{"/bin/busybox", "ping", "-I", address, "-c", "3", "-i", "0.2", dataNetwork}, "3 packets received, 0% packet loss"},
		{"iperf3-like transfer beside it", []string{"/ran", "ctl", "throughput", "-ue", firstPhone, "-to", dataNetwork, "-seconds", "1"}, "throughput_mbps"},
		{"HTTP", []string{"/ran", "ctl", "http", "-ue", firstPhone, "-url", "http://" + dataNetwork + ":8080/"}, address},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, err := k.Run(ctx, append([]string{"exec", "deploy/ran", "-c", "ran", "--"}, tt.args...)...)
			check(t, err)
			if !strings.Contains(out, tt.want) {
				t.Errorf("want %q in:\n%s", tt.want, out)
			}
		})
	}
}

func TestThroughput(t *testing.T) {
	ctx := story(t, 2*time.Minute)
	for _, direction := range []string{"up", "down"} {
		result := scene.Must[cluster.Throughput](t)(k.Throughput(ctx, firstPhone, dataNetwork, direction, 2))
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

// A packet for an idle phone is kept by the UPF until the phone has been paged and answers.
func TestIdlePhoneIsPaged(t *testing.T) {
	ctx := story(t, 4*time.Minute)
	ue := attached(t, ctx, firstPhone)
	check(t, k.RAN(ctx, nil, "idle", "--ue", firstPhone))
	var p cluster.Ping
	out, err := k.Run(ctx, "exec", "deploy/dn", "--", "/ran", "ping", "-to", ue.Sessions[0].Address, "-count", "10", "-interval", "200ms")
	check(t, err)
	check(t, json.Unmarshal([]byte(out), &p))
	if p.Sent != 10 || p.Received != p.Sent {
		t.Errorf("%d of %d packets to an idle phone were answered", p.Received, p.Sent)
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
