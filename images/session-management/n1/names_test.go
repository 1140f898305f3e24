package n1

import "testing"

func TestLook(t *testing.T) {
	reject := EstablishmentReject{SessionID: 1, PTI: 2, Cause: CauseUnknownDNN}
	for name, c := range map[string]struct {
		octets []byte
		want   string
		cause  Cause
		not    bool
	}{
		"a request":                         {octets: []byte{0x2e, 1, 1, 0xc1}, want: "PDU Session Establishment Request"},
		"a reject":                          {octets: reject.Encode(), want: "PDU Session Establishment Reject", cause: CauseUnknownDNN},
		"a reject that ends before it says": {octets: reject.Encode()[:4], want: "PDU Session Establishment Reject"},
		"a type that is not known":          {octets: []byte{0x2e, 1, 1, 0x99}, want: "5GSM message 0x99"},
		"mobility management":               {octets: []byte{0x7e, 0, 0x41, 0}, not: true},
		"nothing":                           {not: true},
	} {
		kind, cause, ok := Look(c.octets)
		if ok == c.not || ok && (kind.String() != c.want || cause != c.cause) {
			t.Errorf("%s: %s, %d, %t", name, kind, cause, ok)
		}
	}
}
