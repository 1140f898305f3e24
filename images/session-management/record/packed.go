package record

import (
	"fmt"

	"core5g.dev/core5g/images/deflated"
	"core5g.dev/core5g/images/nf/sessionstore"
)

// A record that is larger than a store takes is written packed: a byte string, whose first octet says how, and then DEFLATE (RFC 1951) of the
// record as it would be otherwise. Flows that are changed, and what unit and UE are told of them, are in a record up to three times, as are tunnels:
// packed, a session with eight flows in the midst of everything has room.
//
// Whatever fits is written as before, so that the version that knows nothing of this reads it. That one could not have kept the others.

// most is how large a record may be, in octets before it is sealed.
const most = sessionstore.MaxRecord - sessionstore.SealOverhead

// mostUnpacked bounds what is read of a packed one: a session has 63 flows.
const mostUnpacked = 1 << 15

// packedAs1 is DEFLATE with the dictionary of that number, which is never another one.
const packedAs1 = 1

// dictionary is what records have in common: DEFLATE finds its strings as if they stood before each. The last are the cheapest.
const dictionary = "RES_ALLO_FAIL" + "PccRuleId-" + ".core5g.svc.cluster.local" + "amfset.5gc.mnc00.mcc" + ".region" +
	"https://core5g-amf:8000/namf-callback/v1/smContextStatus/imsi-" +
	"https://core5g-chf:8000/nchf-convergedcharging/v3/chargingdata/" +
	"https://core5g-pcf:8000/npcf-smpolicycontrol/v1/sm-policies/imsi-" +
	"\x02\x1b\x00\x00\x01\xa3\x17\xa4" + "\xa4\x00\x02\x01\x01\x02\x1b\x00\x00\x01\xa3" + // a Past, of 2027
	"\xa2\x00\x1a\x01\x44\x0a" + "\xa3\x00\x1a\x01\x44\x0a\x02\x50\x20\x01\x0d\xb8\x00" + // tunnels
	"\x04\xf5\x05\xf5\x06\x1a\x00\x0f\x42\x40\x07\x1a\x00\x0f\x42\x40\x08\x1a\x3b\x9a\xca\x00\x09\x1a\x3b\x9a\xca\x00" + // rates and ARP of a flow
	"\x0a\xf5\x0b\xf5\x0c\xf5\x0d\x03\x0e\x1a\x0f\xf5\x10\x03\x11\xa3\x00\x1a\x01\xf5\x02\xf5" + "\xb0\x00\x02\x01\x01\x02"

var packing = deflated.New(packedAs1, deflated.Smallest, dictionary, mostUnpacked)

// pack a record that is too large; one that cannot be packed stays as it is, and the store says that it is too large.
func pack(b []byte) ([]byte, error) {
	packed, err := packing.Pack(make([]byte, 0, most), b)
	if err != nil {
		return nil, fmt.Errorf("the record cannot be written: %w", err)
	}
	return encoding.Marshal(packed)
}

// Roomy says whether the store takes the record, and has room for what makes it larger. How large a packed one is depends on what is in it, and not on how
// much alone: numbers that are the same in three places are not for long.
func (s *Session) Roomy() bool {
	b, err := s.Encode()
	if err == nil && isPacked(b) {
		return len(b) <= most*3/4
	}
	return err == nil && len(b) <= most
}

// isPacked: a record that is not is a map.
func isPacked(b []byte) bool { return len(b) > 0 && b[0]>>5 == 2 }

// unpack what pack has made.
func unpack(b []byte) ([]byte, error) {
	var packed []byte
	err := decoding.Unmarshal(b, &packed)
	if err == nil {
		b, err = packing.Unpack(packed)
	}
	if err != nil {
		return nil, fmt.Errorf("the record cannot be read: %w", err)
	}
	return b, nil
}
