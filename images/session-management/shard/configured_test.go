package shard

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/nsmf"
	"core5g.dev/core5g/images/session-management/record"
)

// networks is a configuration with these data networks, all at the rig's unit.
func (r *rig) networks(n4 netip.AddrPort, dnns ...string) *configuration.Snapshot {
	r.t.Helper()
	slice := configuration.Slice{Name: "internet", SST: 1, SD: &[3]byte{1, 2, 3}}
	for n, dnn := range dnns {
		pool := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 45, byte(n), 0}), 24)
		slice.DataNetworks = append(slice.DataNetworks, configuration.DataNetwork{
			DNN: dnn, Types: []n1.SessionType{n1.IPv4}, AMBR: record.AMBR{Uplink: 1e9, Downlink: 1e9}, FiveQI: 9,
			ARP: configuration.ARP{Priority: 8}, Units: []configuration.Serving{{NodeID: "upf.test", Pools: []netip.Prefix{pool}}},
		})
	}
	c, err := configuration.New([]configuration.Slice{slice}, []configuration.Unit{{NodeID: "upf.test", Address: n4}})
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// awaitEnded waits until the AMF has heard that so many contexts have ended.
func (a *amf) awaitEnded(t *testing.T, want int) {
	t.Helper()
	deadline := time.After(patience)
	for {
		a.mu.Lock()
		ended := a.ended
		a.mu.Unlock()
		if ended == want {
			return
		}
		select {
		case <-a.more:
		case <-deadline:
			t.Fatalf("the AMF has heard of %d ends, want %d", ended, want)
		}
	}
}

// A data network that leaves its Slice takes its own sessions along, whether somebody held the shard then or not, and no others.
func TestASessionEndsWithItsDataNetwork(t *testing.T) {
	for name, held := range map[string]bool{"while the shard is held": true, "while nobody holds it": false} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.config = r.networks(r.n4, "internet", "ims")
			pod, end := r.start("pod-1")
			r.dnn = "ims"
			gone := r.create(pod, "imsi-208930000000001", n1.IPv4)
			r.amf.next(t)
			r.tunnel(pod, gone, 0x100)
			r.dnn = "internet"
			stays := r.create(pod, "imsi-208930000000002", n1.IPv4)
			r.amf.next(t)
			r.tunnel(pod, stays, 0x200)

			r.config = r.networks(r.n4, "internet")
			if held {
				pod.Configure(r.config)
			} else {
				end()
				pod, _ = r.start("pod-2")
			}
			if x := r.amf.next(t); x.n1[3] != byte(n1.ReleaseCommandType) {
				t.Fatalf("the AMF was given N1 %x, want the release of the session to ims", x.n1)
			}
			again(t, func(ctx context.Context) (*nsmf.Updated, error) {
				return pod.Requests("smf-1").Update(ctx, gone, &nsmf.Update{N1: []byte{0x2e, 1, 0, byte(n1.ReleaseCompleteType)}})
			})
			r.amf.awaitEnded(t, 1)
			u := again(t, func(ctx context.Context) (*nsmf.Updated, error) {
				return pod.Requests("smf-1").Update(ctx, stays, &nsmf.Update{UpCnxState: nsmf.Deactivated})
			})
			if u.UpCnxState != nsmf.Deactivated || len(r.upfu.Sessions()) != 1 {
				t.Errorf("the session to internet: connection %q, %d sessions in upf-u", u.UpCnxState, len(r.upfu.Sessions()))
			}
		})
	}
}

// A unit whose N4 address is another one than before is met there.
func TestAUnitMoves(t *testing.T) {
	r := newRig(t)
	right := r.n4
	r.config = r.networks(netip.MustParseAddrPort("127.77.1.1:9"), "internet")
	r.dnn = "internet"
	pod, _ := r.start("pod-1")
	again(t, func(context.Context) (struct{}, error) { return struct{}{}, pod.Ready() })
	pod.Configure(r.networks(right, "internet"))
	r.create(pod, "imsi-208930000000001", n1.IPv4)
	if x := r.amf.next(t); x.n1[3] != byte(n1.EstablishmentAcceptType) {
		t.Errorf("the AMF was given N1 %x, want an accept", x.n1)
	}
}
