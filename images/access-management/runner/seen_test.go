package runner

import (
	"slices"
	"testing"

	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/ngapcause"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/go-cmp/cmp"
)

// said so far, and who said it: the SUPI as it was known then.
func (n *network) said() (out []string) {
	for _, h := range n.handled {
		for _, s := range h.Output.NAS {
			out = append(out, h.SUPI+" "+s.Direction.String()+" "+s.Type().String())
		}
	}
	return out
}

func TestWhoLooksSeesEveryMessageOnce(t *testing.T) {
	n, _ := registered(t)
	supi := n.kept().SUPI
	want := []string{
		" uplink Registration Request", " downlink Authentication Request", " uplink Authentication Response",
		supi + " downlink Security Mode Command", supi + " uplink Security Mode Complete", supi + " downlink Registration Accept",
		supi + " uplink Registration Complete",
	}
	if diff := cmp.Diff(want, n.said()); diff != "" {
		t.Errorf("NAS (-want +got):\n%s", diff)
	}
	for _, h := range n.handled[1:] {
		if h.UE != n.handled[0].UE {
			t.Errorf("one UE is %d and %d", n.handled[0].UE, h.UE)
		}
	}
	carried := []string{
		"InitialUEMessage false", "DownlinkNASTransport true", "UplinkNASTransport false", "DownlinkNASTransport true", "UplinkNASTransport false",
		"InitialContextSetupRequest true", "InitialContextSetupResponse false", "UplinkNASTransport false",
	}
	got := slices.DeleteFunc(n.carried, func(m string) bool { return m == "UERadioCapabilityInfoIndication false" })
	if diff := cmp.Diff(carried, got); diff != "" {
		t.Errorf("NGAP (-want +got):\n%s", diff)
	}
}

// A UE is counted where it is: in its shard, its slices, and among the connected as long as it is.
func TestGroupsThatAreCounted(t *testing.T) {
	n, _ := registered(t)
	counts := func() (out []int) {
		for _, group := range []string{UEGroup(1), ConnectedGroup(1), SliceGroup(1, record.Slice{SST: 1}.String()), SliceGroup(1, "2")} {
			c, err := n.store.Count(t.Context(), group)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, c)
		}
		return out
	}
	if diff := cmp.Diff([]int{1, 1, 1, 0}, counts()); diff != "" {
		t.Errorf("connected (-want +got):\n%s", diff)
	}
	n.phone.says(&n2.UEContextReleaseRequest{UE: n2.UEIDs{AMF: n.phone.amf, RAN: n2.RANUEID(n.phone.ran)}, Cause: ngapcause.UserInactivity})
	n.settle()
	if diff := cmp.Diff([]int{1, 0, 1, 0}, counts()); diff != "" {
		t.Errorf("idle (-want +got):\n%s", diff)
	}
}

// A UE that a program has written that does not know the lists of UEs is in them again with the next write.
func TestGroupsOfARecordOfBefore(t *testing.T) {
	n, h := registered(t)
	h.die()
	before := n.hold(1)
	found, err := n.store.Read(t.Context(), record.Key(supi))
	if err != nil {
		t.Fatal(err)
	}
	octets, err := n.sealer.Open(found.Key, found.Value)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[int]cbor.RawMessage
	if err := cbor.Unmarshal(octets, &fields); err != nil {
		t.Fatal(err)
	}
	delete(fields, listedField)
	if octets, err = cbor.Marshal(fields); err != nil {
		t.Fatal(err)
	}
	if err := n.store.Commit(t.Context(), before.lease, sessionstore.Change{
		Key: found.Key, Was: found.Revision, Is: sessionstore.Revision{Writer: 1, Count: 1}, Value: n.sealer.Seal(found.Key, octets),
		LeaveGroups: []string{ConnectedGroup(1), SliceGroup(1, "1")},
	}); err != nil {
		t.Fatal(err)
	}
	before.die()
	n.hold(1)
	n.phone.says(&n2.LocationReport{UE: n2.UEIDs{AMF: n.phone.amf, RAN: n2.RANUEID(n.phone.ran)}, Location: n.phone.location()})
	n.settle()
	for group, want := range map[string]int{ConnectedGroup(1): 1, SliceGroup(1, "1"): 1} {
		if got, err := n.store.Count(t.Context(), group); err != nil || got != want {
			t.Errorf("%s has %d UEs, not %d (%v)", group, got, want, err)
		}
	}
	n.phone.says(&n2.UEContextReleaseRequest{UE: n2.UEIDs{AMF: n.phone.amf, RAN: n2.RANUEID(n.phone.ran)}, Cause: ngapcause.UserInactivity})
	n.settle()
	if got, err := n.store.Count(t.Context(), ConnectedGroup(1)); err != nil || got != 0 {
		t.Errorf("%d UEs are connected, and the only one is idle (%v)", got, err)
	}
}

// listedField is the number of record.UE's Listed.
const listedField = 55
