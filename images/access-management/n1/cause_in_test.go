package n1

import "testing"

// The cause is found where Decode finds it, in each message that has one.
func TestCauseIn(t *testing.T) {
	is := CauseCongestion
	for name, c := range map[string]struct {
		message Message
		none    bool
	}{
		"a rejected registration":               {message: &RegistrationReject{Cause: is}},
		"a rejected service":                    {message: &ServiceReject{Cause: is}},
		"a failed authentication":               {message: &AuthenticationFailure{Cause: is}},
		"a rejected security mode":              {message: &SecurityModeReject{Cause: is}},
		"a status":                              {message: &Status{Cause: is}},
		"a deregistration with a cause":         {message: &DeregistrationRequestToUE{Cause: is}},
		"a deregistration without":              {message: &DeregistrationRequestToUE{}, none: true},
		"a transport with a cause":              {message: &DLNASTransport{PayloadType: PayloadN1SM, Payload: []byte{1, 2, 3}, SessionID: 5, Cause: is}},
		"a transport without":                   {message: &DLNASTransport{PayloadType: PayloadN1SM, Payload: []byte{1, 2, 3}, SessionID: 5}, none: true},
		"a message that has no cause":           {message: &AuthenticationReject{}, none: true},
		"a message that ends before its cause":  {message: nil, none: true},
		"a transport whose payload is too long": {message: &DLNASTransport{PayloadType: PayloadN1SM, Payload: make([]byte, 300)}, none: true},
	} {
		t.Run(name, func(t *testing.T) {
			plain := []byte{0x7e, 0, byte(RegistrationRejectType)}
			if c.message != nil {
				var err error
				if plain, err = Encode(c.message); err != nil {
					t.Fatal(err)
				}
			}
			got, says := CauseIn(plain)
			if says == c.none || says && got != is {
				t.Errorf("%v, %t", got, says)
			}
			for n := range plain { // a part of a message says nothing, or what the whole does, and is no trouble
				if got, says := CauseIn(plain[:n]); says && (got != is || c.none) {
					t.Errorf("the first %d octets: %v", n, got)
				}
			}
		})
	}
}
