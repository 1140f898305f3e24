package onprem

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
)

// N3 of both units is a tagged VLAN: each VF lets its frames in and puts the tag on, with the MAC address that the
// node gave it. A peer in that VLAN gets an answer, one in another none.
func TestTrafficIsTagged(t *testing.T) {
	ctx := story(t, 8*time.Minute)
	if s.n3VLAN == "" {
		t.Skip("CORE5G_ONPREM_N3_VLAN is not set: N3 is untagged here")
	}
	vlan, err := strconv.Atoi(s.n3VLAN)
	check(t, err)
	u, err := upf(ctx)
	check(t, err)
	for _, status := range u.Status.UnitStatuses {
		n3, err := n3Of(ctx, status.Name)
		check(t, err)
		if n3.VLAN != int32(vlan) || fmt.Sprint(n3.MTU) != s.n3MTU {
			t.Errorf("n3 of %s is %+v, want VLAN %d and MTU %s", status.Name, n3, vlan, s.n3MTU)
		}
		address, _, _ := strings.Cut(status.N3Endpoints, "/")
		other := vlan%4094 + 1
		out, err := onNodeNetwork(ctx, status.Node, fmt.Sprintf(askFromPF, n3.Device, address, vlan, other))
		check(t, err)
		t.Logf("%s, %s on %s:\n%s", status.Name, n3.Device, status.Node, out)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if len(lines) != 3 {
			t.Fatalf("%d lines, want 3", len(lines))
		}
		if !strings.Contains(lines[0], " "+n3.MAC+" ") {
			t.Errorf("%s has the MAC address %s, which is not the node's for %s", status.Name, n3.MAC, n3.Device)
		}
		if !strings.Contains(lines[1], "["+n3.MAC+"]") {
			t.Errorf("%s does not answer a peer in VLAN %d", status.Name, vlan)
		}
		if strings.Contains(lines[2], "reply") {
			t.Errorf("%s answers a peer in VLAN %d", status.Name, other)
		}
	}
}

// askFromPF is a script for the node: its own line for the VF of a unit, and what the unit answers peers in two VLANs
// on the PF. They ask as who looks whether the address is taken (RFC 5227), so that they need none.
const askFromPF = `vf=%s address=%s vlan=%d other=%d
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
node() { /bin/busybox chroot /host /bin/sh -c "$*"; }
functions=/sys/bus/pci/devices/$vf/physfn
pf=$(node ls $functions/net) || exit 1
number=0
until [ "$(node readlink -f $functions/virtfn$number)" = "$(node readlink -f /sys/bus/pci/devices/$vf)" ]; do
	number=$((number + 1))
	[ $number -lt 256 ] || { echo "no VF $vf of $pf"; exit 1; }
done
node ip link show dev $pf | grep "vf $number " || exit 1
forget() { node "for id in $vlan $other; do ip link del core5g.\$id; done" 2>/dev/null; }
forget
trap forget EXIT
node "for id in $vlan $other; do ip link add link $pf name core5g.\$id type vlan id \$id && ip link set core5g.\$id up; done" || exit 1
ask() { echo "$1: $(/bin/busybox arping -D -c $3 -w $3 -I core5g.$2 $address | grep 'reply from')"; }
ask "VLAN $vlan" $vlan 10
ask "VLAN $other" $other 2
`

// A packet of 1500 octets crosses N3, in its tunnel longer than that, in one piece both ways.
func TestTrafficOfFullLength(t *testing.T) {
	ctx := story(t, 5*time.Minute)
	const outer = 1500 + 44 // IPv4, UDP, GTP-U with its extension header (TS 29.281 5.1)
	if mtu, err := strconv.Atoi(s.n3MTU); err != nil || mtu < outer {
		t.Skipf("CORE5G_ONPREM_N3_MTU is %s: less than %d", s.n3MTU, outer)
	}
	byUnit := attachBoth(t, ctx)
	for unit, supi := range byUnit {
		before, err := k.UPFMetrics(ctx, unit)
		check(t, err)
		const packets = 20
		var p cluster.Ping
		// Not through the UE's TUN device, which has the MTU of the PDU session.
		check(t, k.RAN(ctx, &p, "ping", "--ue", supi, "--to", s.n6Gateway, "--count", fmt.Sprint(packets), "--interval", "50ms",
			"--size", fmt.Sprint(1500-20-8), "--in-process"))
		if p.Received != p.Sent || p.Sent != packets {
			t.Errorf("%d of %d packets of 1500 octets came back to %s through %s", p.Received, p.Sent, supi, unit)
		}
		after, err := k.UPFMetrics(ctx, unit)
		check(t, err)
		for _, direction := range []string{"rx", "tx"} {
			labels := fmt.Sprintf("{direction=%q,interface=\"n3\",network_instance=\"\"}", direction)
			frames := after["upf_interface_packets_total"+labels] - before["upf_interface_packets_total"+labels]
			octets := after["upf_interface_bytes_total"+labels] - before["upf_interface_bytes_total"+labels]
			if octets < packets*outer || frames >= 2*packets {
				t.Errorf("n3 of %s, %s: %.0f octets in %.0f frames, want %d or more in less than %d", unit, direction, octets, frames, packets*outer, 2*packets)
			}
		}
		t.Logf("%s through %s: %d of %d packets of 1500 octets, rtt %.1f/%.1f/%.1f ms", supi, unit, p.Received, p.Sent, p.RTT.Min, p.RTT.Avg, p.RTT.Max)
	}
}
