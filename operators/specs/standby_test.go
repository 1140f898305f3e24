package specs

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/fencing"
)

func redundantUPF() *api.UPFInstance {
	upf := makeUPF()
	upf.Spec.Redundancy = &api.RedundancySpec{Standbys: 1}
	return upf
}

// No standby is no redundancy: nothing of a unit differs from one whose specification says nothing of it.
func TestNoStandbyChangesNothing(t *testing.T) {
	none := makeUPF()
	none.Spec.Redundancy = &api.RedundancySpec{}
	plain := UPFUnit(makeUPF(), makeCore(), Platform{}, 0, "10.96.1.3")
	if got := UPFUnit(none, makeCore(), Platform{}, 0, "10.96.1.3"); got.TemplateHash != plain.TemplateHash || got.SpecHash != plain.SpecHash {
		t.Error("standbys: 0 replaces units")
	}
	if got := UPFUnit(redundantUPF(), makeCore(), Platform{}, 0, "10.96.1.3"); got.SpecHash == plain.SpecHash {
		t.Error("standbys: 1 replaces no unit")
	}
}

// upf-c takes the files of both members, and each names the Service of the other one.
func TestMembersReadTheirFiles(t *testing.T) {
	for member, peer := range map[Member]string{MemberA: "upf-0-sync-b.core5g.svc:8806", MemberB: "upf-0-sync-a.core5g.svc:8806"} {
		unit := UPFMember(redundantUPF(), makeCore(), Platform{}, 0, member, "10.96.1.3")
		text := unit.Config.Data["upf-c.yaml"]
		if _, err := config.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), "redundancy.member") {
			t.Errorf("member %s: %v, want the member's name alone to be missing", member, err)
		}
		c, err := config.Parse([]byte(strings.Replace(text, "redundancy:\n", "redundancy:\n  member: 5f0c\n", 1)))
		if err != nil {
			t.Fatalf("member %s: %v\n%s", member, err, text)
		}
		if c.Redundancy.Peer != peer || c.Redundancy.Unit != "upf-0" || c.Redundancy.Lease.Name != LeaseName("upf", 0) {
			t.Errorf("member %s: %+v, want peer %s", member, c.Redundancy, peer)
		}
		var upfu upfuConfig
		if err := yaml.Unmarshal([]byte(unit.Config.Data["upf-u.yaml"]), &upfu); err != nil || !upfu.Redundancy {
			t.Errorf("member %s: upf-u is not silent until it is granted an epoch (%v)", member, err)
		}
		if got := unit.Pod.Name; got != MemberName("upf", 0, member) {
			t.Errorf("member %s is pod %s", member, got)
		}
	}
}

// What waits for a standby that lags is bounded by 64 MiB, beside the sessions.
func TestUPFCOfAMemberHasMemoryForItsStream(t *testing.T) {
	for want, upf := range map[string]*api.UPFInstance{"128Mi": makeUPF(), "256Mi": redundantUPF()} {
		for _, c := range UPFUnit(upf, makeCore(), Platform{}, 0, "10.96.1.3").Pod.Spec.Containers {
			if c.Name != string(api.FunctionUPFC) {
				continue
			}
			if got := c.Resources.Limits.Memory().String(); got != want || c.Resources.Requests.Memory().String() != want {
				t.Errorf("upf-c has %s, want %s", got, want)
			}
		}
	}
}

// A virtual function's MAC address is never that of another pod.
func TestMembersHaveMACAddressesOfTheirOwn(t *testing.T) {
	upf := makeUnits(3, "172.30.6.16/28")
	upf.Spec.Redundancy = &api.RedundancySpec{Standbys: 1}
	upf.Spec.N3.Attachment = api.AttachmentSpec{Type: api.AttachmentSRIOV, ResourceName: "core5g.dev/n3", MACAddress: "02:00:00:00:03:00"}
	seen := map[string]string{}
	for unit := range 3 {
		for _, m := range Members {
			pod := UPFMember(upf, makeCore(), Platform{}, unit, m, "10.96.1.3").Pod
			_, mac, found := strings.Cut(pod.Annotations[annotationNetworks], `"mac":"`)
			if !found {
				t.Fatalf("pod %s asks for no MAC address", pod.Name)
			}
			mac, _, _ = strings.Cut(mac, `"`)
			if other := seen[mac]; other != "" {
				t.Errorf("%s and %s have both %s", other, pod.Name, mac)
			}
			seen[mac] = pod.Name
		}
	}
	if seen["02:00:00:00:03:02"] != "upf-2" || seen["02:00:00:00:03:04"] != "upf-0-b" {
		t.Errorf("MAC addresses %v: those of units come first, as without redundancy, and those of standbys behind their parts", seen)
	}
}

func TestUnitRecord(t *testing.T) {
	lease := UnitLease(redundantUPF(), 0, 7)
	record, err := UnitRecord(lease)
	if err != nil || record != (fencing.Record{Epoch: 7}) {
		t.Errorf("a new Lease says %+v, %v", record, err)
	}
	lease.Annotations[fencing.RecordAnnotation] = "x"
	if _, err := UnitRecord(lease); err == nil || !strings.Contains(err.Error(), "Lease upf-0") {
		t.Errorf("a Lease that says nothing: %v", err)
	}
}

// Access is to the units' Leases by name, and to none where there is no unit.
func TestStandbyAccess(t *testing.T) {
	for units, want := range map[int]int{0: 0, 2: 2} {
		_, role, _ := StandbyAccess(redundantUPF(), units)
		names := 0
		for _, r := range role.Rules {
			names += len(r.ResourceNames)
			if len(r.ResourceNames) == 0 {
				t.Errorf("%d units: a rule for all Leases", units)
			}
		}
		if names != want {
			t.Errorf("%d units: %d names", units, names)
		}
	}
}
