package n2

import (
	"testing"

	"github.com/free5gc/aper"
	"github.com/free5gc/ngap/ngapType"
)

// The types of this package and those of ngapType, which the AMF and the simulated gNB use, write the same, but for the
// extensions that ngapType cannot write.
func TestAsTheLibrary(t *testing.T) {
	// What ngapType cannot write, or has wrong.
	beyond := map[string]bool{
		"a release response with what a second radio carried": true,
		"a modification with everything":                      true,
		"a modification's answer with everything":             true,
		"an indication with everything":                       true,
		"a notice of everything":                              true,
		"a path switch with everything":                       true, // the rate of the downlink
		"a handover taken, with the uplink's forwarding":      true,
		"a handover that forwards the uplink":                 true,
		"a report of a session":                               true,
		"a report of a session and flows":                     true,
	}
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			if beyond[s.name] {
				t.Skip("ngapType does not have it")
			}
			want, err := s.transfer.Encode()
			if err != nil {
				t.Fatal(err)
			}
			v := library(s.transfer.InfoType())
			if err := aper.UnmarshalWithParams(want, v, "valueExt"); err != nil {
				t.Fatalf("%x: %v", want, err)
			}
			got, err := aper.MarshalWithParams(v, "valueExt")
			if err != nil {
				t.Fatalf("%x: %v", want, err)
			}
			if string(got) != string(want) {
				t.Errorf("%x, the library writes %x", want, got)
			}
		})
	}
	for name := range beyond {
		found := false
		for _, s := range samples() {
			found = found || s.name == name
		}
		if !found {
			t.Errorf("no sample is %q", name)
		}
	}
}

// library is ngapType's struct of a transfer.
func library(kind InfoType) any {
	switch kind {
	case InfoSetupRequest:
		return &ngapType.PDUSessionResourceSetupRequestTransfer{}
	case InfoSetupResponse:
		return &ngapType.PDUSessionResourceSetupResponseTransfer{}
	case InfoSetupUnsuccessful:
		return &ngapType.PDUSessionResourceSetupUnsuccessfulTransfer{}
	case InfoReleaseCommand:
		return &ngapType.PDUSessionResourceReleaseCommandTransfer{}
	case InfoReleaseResponse:
		return &ngapType.PDUSessionResourceReleaseResponseTransfer{}
	case InfoModifyRequest:
		return &ngapType.PDUSessionResourceModifyRequestTransfer{}
	case InfoModifyResponse:
		return &ngapType.PDUSessionResourceModifyResponseTransfer{}
	case InfoModifyUnsuccessful:
		return &ngapType.PDUSessionResourceModifyUnsuccessfulTransfer{}
	case InfoNotify:
		return &ngapType.PDUSessionResourceNotifyTransfer{}
	case InfoNotifyReleased:
		return &ngapType.PDUSessionResourceNotifyReleasedTransfer{}
	case InfoModifyIndication:
		return &ngapType.PDUSessionResourceModifyIndicationTransfer{}
	case InfoModifyConfirm:
		return &ngapType.PDUSessionResourceModifyConfirmTransfer{}
	case InfoModifyIndicationUnsuccessful:
		return &ngapType.PDUSessionResourceModifyIndicationUnsuccessfulTransfer{}
	case InfoPathSwitchRequest:
		return &ngapType.PathSwitchRequestTransfer{}
	case InfoPathSwitchSetupFailed:
		return &ngapType.PathSwitchRequestSetupFailedTransfer{}
	case InfoPathSwitchAcknowledge:
		return &ngapType.PathSwitchRequestAcknowledgeTransfer{}
	case InfoPathSwitchUnsuccessful:
		return &ngapType.PathSwitchRequestUnsuccessfulTransfer{}
	case InfoHandoverRequired:
		return &ngapType.HandoverRequiredTransfer{}
	case InfoHandoverCommand:
		return &ngapType.HandoverCommandTransfer{}
	case InfoHandoverPreparationUnsuccessful:
		return &ngapType.HandoverPreparationUnsuccessfulTransfer{}
	case InfoHandoverAcknowledge:
		return &ngapType.HandoverRequestAcknowledgeTransfer{}
	case InfoHandoverResourceAllocationUnsuccessful:
		return &ngapType.HandoverResourceAllocationUnsuccessfulTransfer{}
	case InfoSecondaryRATUsage:
		return &ngapType.SecondaryRATDataUsageReportTransfer{}
	}
	return nil
}
