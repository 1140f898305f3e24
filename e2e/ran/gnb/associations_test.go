package gnb

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/free5gc/aper"
	"github.com/free5gc/ngap/ngapType"
)

func endpoint(octets ...byte) ngapType.CPTransportLayerInformation {
	return ngapType.CPTransportLayerInformation{
		Present:           ngapType.CPTransportLayerInformationPresentEndpointIPAddress,
		EndpointIPAddress: &ngapType.TransportLayerAddress{Value: aper.BitString{Bytes: octets, BitLength: uint64(8 * len(octets))}},
	}
}

// What a strict gNB refuses of what it is told of the AMF's addresses.
func TestListsThatAreNotAsTheyShouldBe(t *testing.T) {
	add := func(list ...ngapType.AMFTNLAssociationToAddItem) *ngapType.AMFTNLAssociationToAddList {
		return &ngapType.AMFTNLAssociationToAddList{List: list}
	}
	one := func(weight int64, octets ...byte) ngapType.AMFTNLAssociationToAddItem {
		return ngapType.AMFTNLAssociationToAddItem{AMFTNLAssociationAddress: endpoint(octets...), TNLAddressWeightFactor: ngapType.TNLAddressWeightFactor{Value: weight}}
	}
	remove := func(octets ...byte) *ngapType.AMFTNLAssociationToRemoveList {
		return &ngapType.AMFTNLAssociationToRemoveList{List: []ngapType.AMFTNLAssociationToRemoveItem{{AMFTNLAssociationAddress: endpoint(octets...)}}}
	}
	six := netip.MustParseAddr("2001:db8::1").AsSlice()
	for name, c := range map[string]struct {
		told told
		want string
	}{
		"of IPv4 and IPv6":           {told: told{add: add(one(1, 192, 0, 2, 1), one(255, six...)), remove: remove(192, 0, 2, 2)}},
		"an address of three octets": {told{add: add(one(1, 192, 0, 2))}, "an address of 24 bits"},
		"none":                       {told{remove: remove()}, "an address of 0 bits"},
		"twice":                      {told{add: add(one(1, 192, 0, 2, 1), one(1, 192, 0, 2, 1))}, "192.0.2.1 is there twice"},
		"to add and to remove":       {told{add: add(one(1, 192, 0, 2, 1)), remove: remove(192, 0, 2, 1)}, "Remove List: 192.0.2.1 is there twice"},
		"of too much weight":         {told{add: add(one(256, 192, 0, 2, 1))}, "weight 256"},
	} {
		got := ""
		if err := c.told.wrong(); err != nil {
			got = err.Error()
		}
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
