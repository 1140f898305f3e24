package records

// Records are JSON, and most of what they say is what all of them say: names of members, paths of callbacks, the URIs of this core. In the store they are deflated
// (RFC 1951) as if these words had been said before, behind an octet that says which words these are. What is short is kept as it is.
//
// Who reads. A program reads what it writes, what the program before it wrote, and what is no JSON of its own counts as a record that cannot be read. The words of
// a number never change, since nothing that was written with them could be read any more; others get another number, which a version reads before one writes it.

import "core5g.dev/core5g/images/deflated"

const (
	// packedOnce is the number of words; no JSON begins with it.
	packedOnce = 0x01
	// worthIt is how long a record is that is packed.
	worthIt = 256
)

// words of packedOnce: those that are the likeliest last.
const words = `"emergencyRegistrationInd":true,"backupAmfInfo":[{"backupAmf":"","guamiList":["farewells":[{"uri":"http://","access":"amf-3gpp-access",` +
	`"reason":"UE_REGISTRATION_AREA_CHANGE","since":"INITIAL_REGISTRATION"withdrawn":true,"amf-non-3gpp-access"HOMOGENEOUS_SUPPORT","supportedFeatures":"` +
	`"sm-data":"https://core5g-smf.core5g.svc:8000/nsmf-callback/v1/"snssai":{"sst":1,"sd":"dnn":"internet","expires":"` +
	`{"begun":"2026-11-","body":{"callback":"https://core5g-amf.core5g.svc:8000/namf-callback/v1/ues/imsi-/subscription","resources":{` +
	`"am-data":"https://core5g-udm.core5g.svc:8000/nudm-sdm/v2/imsi-/am-data","nssai":"/nssai","smf-select-data":"/smf-select-data"},` +
	`"seen":{"am-data":"","nssai":"","smf-select-data":""}}}` +
	`{"amf":{"amf-3gpp-access":{"body":{"amfInstanceId":"","deregCallbackUri":"https://core5g-amf.core5g.svc:8000/namf-callback/v1/ues/imsi-/deregistration",` +
	`"guami":{"amfId":"","plmnId":{"mcc":"","mnc":"01"}},"imsVoPs":"HOMOGENEOUS_NON_SUPPORT","initialRegistrationInd":true,"pei":"imeisv-","ratType":"NR",` +
	`"registrationTime":"2026-11-"},"snssais":[{"sst":1,"sd":"000001"}]}}}`

var packing = deflated.New(packedOnce, deflated.Fast, words, MaxValue)

// pack a record, where that is worth it.
func pack(value []byte) []byte {
	if len(value) < worthIt {
		return value
	}
	packed, err := packing.Pack(nil, value)
	if err != nil || len(packed) >= len(value) {
		return value
	}
	return packed
}

// unpack a record as it is in the store. Its error names nothing of the content.
func unpack(kept []byte) ([]byte, error) {
	if len(kept) == 0 || kept[0] >= ' ' {
		return kept, nil
	}
	return packing.Unpack(kept)
}
