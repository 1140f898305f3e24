package shard

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"core5g.dev/core5g/images/associations"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
)

// The operator is told with which units there is an association, what keeps others from one, and how many sessions one has.
func TestAssociationsAreTold(t *testing.T) {
	r := newRig(t)
	unfit := r.unitWithout("unfit.test", "127.77.1.3")
	units := []configuration.Unit{
		{NodeID: "upf.test", Address: r.n4}, {NodeID: "unfit.test", Address: unfit}, {NodeID: "silent.test", Address: netip.MustParseAddrPort("127.77.1.4:8805")},
		{NodeID: "named.otherwise.test", Address: r.n4},
	}
	list := []configuration.Slice{*r.config.Slices()[0]}
	var err error
	if r.config, err = configuration.New(list, units); err != nil {
		t.Fatal(err)
	}
	pod, _ := r.start("pod-1")
	r.create(pod, "imsi-208930000000001", n1.IPv4)
	r.amf.next(t)
	// A busy machine lets go of a shard for a moment, and has it again: nothing is told of it then, or an error.
	report := func(query string) (out associations.Report) {
		t.Helper()
		w := httptest.NewRecorder()
		pod.ServeAssociations(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, associations.Path+query, nil))
		if w.Code != http.StatusOK {
			t.Logf("%d %s", w.Code, w.Body)
			return out
		}
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	of := func(node string) associations.Unit {
		t.Helper()
		now := report("")
		if len(now.Shards) == 0 {
			return associations.Unit{}
		}
		if len(now.Shards) != 1 || now.Shards[0].Name != "smf-1" || now.Shards[0].Node != "smf-1.test" {
			t.Fatalf("%+v", now)
		}
		at := slices.IndexFunc(now.Shards[0].Units, func(u associations.Unit) bool { return u.NodeID == node })
		if at < 0 { // not yet
			return associations.Unit{}
		}
		return now.Shards[0].Units[at]
	}
	await(t, "an association", func() bool { return of("upf.test").Associated })
	await(t, "a unit that cannot choose UE addresses", func() bool {
		u := of("unfit.test")
		return !u.Associated && slices.Equal(u.Lacks, []string{"UEIP"}) && strings.Contains(u.Problem, "give it pools of them by network instance (upf-c: uePools)")
	})
	await(t, "a unit that does not answer", func() bool { u := of("silent.test"); return !u.Associated && u.Problem != "" && u.Lacks == nil })
	await(t, "a unit with another name", func() bool {
		return strings.Contains(of("named.otherwise.test").Problem, `calls itself "upf.test": write this Node ID for it`)
	})
	await(t, "sessions of two units", func() bool {
		return maps.Equal(report("?sessions=upf.test&sessions=silent.test").Sessions, map[string]int64{"upf.test": 1, "silent.test": 0})
	})
	w := httptest.NewRecorder()
	pod.ServeAssociations(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, associations.Path+"?"+strings.Repeat("sessions=x&", mostCounted+1), nil))
	if w.Code != http.StatusBadRequest {
		t.Errorf("too many units: %d", w.Code)
	}

	// A unit that is taken out is not spoken of.
	next, err := configuration.New(list, units[:1])
	if err != nil {
		t.Fatal(err)
	}
	pod.Configure(next)
	await(t, "others are not spoken of", func() bool {
		now := report("")
		return len(now.Shards) == 1 && len(now.Shards[0].Units) == 1
	})
}

// A shard that is to have another address for units outside of the cluster, and does not know it yet, leaves these alone, and says why.
func TestUnitsOutsideWaitForAnAddress(t *testing.T) {
	r := newRig(t)
	_, at := r.unitAt("outside.test", "127.77.1.5", "172.30.6.16/28")
	units := []configuration.Unit{{NodeID: "upf.test", Address: r.n4}, {NodeID: "outside.test", Address: at, Outside: true}}
	slice := *r.config.Slices()[0]
	slice.DataNetworks[0].Units = append(slices.Clone(slice.DataNetworks[0].Units), configuration.Serving{NodeID: "outside.test", Pools: []netip.Prefix{netip.MustParsePrefix("10.46.0.0/24")}})
	var err error
	if r.config, err = configuration.New([]configuration.Slice{slice}, units); err != nil {
		t.Fatal(err)
	}
	pod, _ := r.start("pod-1", func(o *Options) { o.Shards[0].Waits = true })
	r.create(pod, "imsi-208930000000001", n1.IPv4) // at the other
	r.amf.next(t)
	report, err := pod.Associations(t.Context(), []string{"outside.test"})
	if err != nil || len(report.Shards) != 1 || len(report.Shards[0].Units) != 2 || report.Sessions["outside.test"] != 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	for _, u := range report.Shards[0].Units {
		if u.Associated == (u.NodeID == "outside.test") || (u.Problem == "") == (u.NodeID == "outside.test") {
			t.Errorf("%+v", u)
		}
	}
	pod.Configure(r.config)
	next, err := configuration.New([]configuration.Slice{*r.config.Slices()[0]}, []configuration.Unit{{NodeID: "upf.test", Address: r.n4}})
	if err != nil {
		t.Fatal(err)
	}
	pod.Configure(next)
	await(t, "it is not spoken of any more", func() bool {
		now, err := pod.Associations(t.Context(), nil)
		return err == nil && len(now.Shards) == 1 && len(now.Shards[0].Units) == 1
	})
}
