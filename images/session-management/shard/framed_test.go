package shard

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"core5g.dev/core5g/images/nf/ts29571"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/nsmf"
	"core5g.dev/core5g/upf/abi"

	"github.com/prometheus/client_golang/prometheus"
)

// Networks behind a UE, from its Subscriber to upf-u: core5g's own UDM tells the SMF, and upf-c takes them. They outlive the pod, whose successor hears from
// the unit that it takes them when it updates the association, and another list ends the session.
func TestFramedRoutes(t *testing.T) {
	const slice = "- {name: internet, dnns: [internet, other]"
	r := newRig(t)
	s := r.subscribers()
	behind := func(prefixes string) {
		s.has(strings.NewReplacer(slice, slice+", framedRoutes: [{dnn: Internet, prefixes: ["+prefixes+"]}]", "[10.45.0.0/24]", `[10.45.0.0/24, "2001:db8:45::/56"]`).Replace(subscribed))
	}
	behind(`192.168.7.0/24, "2001:db8:7::/48"`)
	again(t, func(ctx context.Context) (struct{}, error) {
		d, err := s.udm.Data(ctx, "imsi-208930000000001", SNSSAI(1, &[3]byte{1, 2, 3}), "internet", ts29571.PLMN{MCC: "208", MNC: "93"})
		if err == nil && len(d.Routes) != 2 {
			err = errors.New("the UDM has the subscription of before")
		}
		return struct{}{}, err
	})
	want := []abi.Route{{Addr: abi.AddrOf(netip.MustParseAddr("192.168.7.0")), Len: 24}, {Addr: abi.AddrOf(netip.MustParseAddr("2001:db8:7::")), Len: 48, Ip6: 1}}
	has := func(when string) {
		t.Helper()
		sessions := r.upfu.Sessions()
		if len(sessions) != 1 {
			t.Fatalf("%s: %d sessions in upf-u", when, len(sessions))
		}
		for _, one := range sessions {
			if !slices.Equal(one.Routes, want) {
				t.Errorf("%s: upf-u has %+v, want %+v", when, one.Routes, want)
			}
		}
	}
	start := func(holder string) (*Pod, func()) {
		p, end := r.start(holder, func(o *Options) { o.UDM, o.Shards[0].URI = s.udm, s.smfURI })
		h := p.Handler(p.Shards[0], p.Log, prometheus.NewRegistry(), nsmf.Options{})
		s.smf.Store(&h)
		return p, end
	}
	established := func(p *Pod) (ref string) {
		t.Helper()
		ref = r.create(p, "imsi-208930000000001", n1.IPv4v6)
		if x := r.amf.next(t); x.n1[3] != byte(n1.EstablishmentAcceptType) {
			t.Fatalf("the AMF was given N1 %x, want an accept", x.n1)
		}
		r.tunnel(p, ref, 0x100)
		return ref
	}
	first, end := start("pod-1")
	ref := established(first)
	has("established")
	end()

	second, _ := start("pod-2")
	again(t, func(ctx context.Context) (*nsmf.Updated, error) {
		return second.Requests("smf-1").Update(ctx, ref, &nsmf.Update{UpCnxState: nsmf.Deactivated})
	})
	has("the next pod has the session")
	again(t, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, second.Requests("smf-1").Release(ctx, ref, &nsmf.Release{})
	})
	established(second)
	has("established by the next pod")
	behind("192.168.8.0/24")
	if x := r.amf.next(t); len(x.n1) < 5 || x.n1[3] != byte(n1.ReleaseCommandType) || n1.Cause(x.n1[4]) != n1.CauseReactivationRequested {
		t.Errorf("the UE is told %x, want a release command with cause 39", x.n1)
	}
	await(t, "the session has gone from upf-u", func() bool { return len(r.upfu.Sessions()) == 0 })
}
