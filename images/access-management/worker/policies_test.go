package worker

import (
	"testing"

	"core5g.dev/core5g/images/access-management/npcf"
	"core5g.dev/core5g/images/access-management/record"

	"github.com/google/go-cmp/cmp"
)

func TestWhatThePCFIsToldHasItsTrigger(t *testing.T) {
	always := []npcf.Trigger{npcf.LocationChange, npcf.AllowedNSSAIChange}
	for name, x := range map[string]struct {
		ue   record.UE
		want []npcf.Trigger
	}{
		"neither AMBR nor RFSP": {record.UE{}, always},
		"an AMBR":               {record.UE{Uplink: 1, Downlink: 2}, append(always[:2:2], npcf.AMBRChange)},
		"an AMBR and an RFSP":   {record.UE{Uplink: 1, Downlink: 2, RFSP: 7}, append(always[:2:2], npcf.AMBRChange, npcf.RFSPChange)},
	} {
		if diff := cmp.Diff(x.want, policyChange(&x.ue).Triggers); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
