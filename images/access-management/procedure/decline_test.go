package procedure

import (
	"testing"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/record"

	"github.com/google/go-cmp/cmp"
)

// The store is away: a UE is told to come later, once, and let go of; another function is told when to ask again.
func TestDecline(t *testing.T) {
	tr := newTeller(t)
	idleUE(tr)
	for name, c := range map[string]struct {
		event Event
		want  []string
	}{
		"a registration": {asksIn.event(tr), []string{
			"DownlinkNASTransport{NAS RegistrationReject{Cause 22, T3346 30s}}", "UEContextReleaseCommand{Cause NAS: normal release}",
		}},
		"a Service Request": {serves.event(tr), []string{
			"DownlinkNASTransport{NAS ServiceReject{Cause 22, T3346 30s}}", "UEContextReleaseCommand{Cause NAS: normal release}",
		}},
		"a Deregistration Request": {first("", gnb1, 4, 1, func(tr *teller) []byte {
			return plain(tr.t, &n1.DeregistrationRequestFromUE{Access: n1.Access3GPP, Identity: suci()})
		}).event(tr), []string{"UEContextReleaseCommand{Cause NAS: normal release}"}},
		"an SMF":        {packets.event(tr), []string{"8 NF_CONGESTION"}},
		"nobody's time": {Due{Name: dueCommand}, nil},
	} {
		var got []string
		for _, e := range Decline(tr.input(keys), c.event, "the store is away") {
			switch e := e.(type) {
			case Send:
				got = append(got, messageWords(e.Message))
			case Reply:
				got = append(got, string(rune('0'+e.To))+" "+e.Body.(Failed).Cause)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if Begins(c.event) != (c.want != nil) {
			t.Errorf("%s: begins is %t", name, Begins(c.event))
		}
	}
	told := Unanswered([]Effect{Reply{To: 3, Body: Ended{}}, Send{}})
	if diff := cmp.Diff([]Effect{Reply{To: 3, Body: notNow("the record was not written")}}, told); diff != "" {
		t.Errorf("a write that failed (-want +got):\n%s", diff)
	}
}

func TestAssociated(t *testing.T) {
	one, two, three := at(gnb1, 1), at(gnb2, 2), record.Attachment{Terminator: "n2-1", Association: 1}
	u := &record.UE{N2: &one, Left: []record.Attachment{two}, Handover: &record.Handover{Target: three}}
	for name, c := range map[string]struct {
		u           *record.UE
		terminator  string
		association uint64
		want        bool
	}{
		"where it is":           {u, "n2-0", 1, true},
		"what it has left":      {u, "n2-0", 2, true},
		"where it goes":         {u, "n2-1", 1, true},
		"nowhere":               {u, "n2-1", 2, false},
		"a UE that is not here": {&record.UE{}, "n2-0", 1, false},
	} {
		if got := Associated(c.u, c.terminator, c.association); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
