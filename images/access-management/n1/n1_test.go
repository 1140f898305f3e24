package n1

import (
	"bytes"
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/free5gc/nas"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func hexOctets(t testing.TB, hexadecimal string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(hexadecimal), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var sameTime = cmp.Comparer(func(a, b Clock) bool { return a.Equal(b.Time) && ZoneOf(a.Time) == ZoneOf(b.Time) })

func directionOf(m Message) Direction {
	if kindOf(m.Type()).up {
		return Uplink
	}
	return Downlink
}

// allSet fails the test when a field of a struct has its zero value: a sample that leaves one out shows nothing of it.
func allSet(t *testing.T, m Message) {
	v := reflect.ValueOf(m).Elem()
	for i := range v.NumField() {
		if v.Field(i).IsZero() && v.NumField() > 1 {
			t.Errorf("%s: the sample has no %s", m.Type(), v.Type().Field(i).Name)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	seen := map[MessageType]bool{}
	for name, c := range fullMessages() {
		t.Run(name, func(t *testing.T) {
			if c.message.Type() != RegistrationAcceptType { // DefaultConfigured is the UE's
				allSet(t, c.message)
			}
			seen[c.message.Type()] = true
			b, err := Encode(c.message)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Decode(b, directionOf(c.message))
			if err != nil {
				t.Fatalf("% x: %v", b, err)
			}
			if diff := cmp.Diff(c.message, got, sameTime); diff != "" {
				t.Errorf("% x (-want +got):\n%s", b, diff)
			}
			again, err := Encode(got)
			if err != nil || !bytes.Equal(b, again) {
				t.Errorf("% x, %v\nwritten again as % x", b, err, again)
			}
		})
	}
	for kind := range 256 {
		if kindOf(MessageType(kind)).make != nil && !seen[MessageType(kind)] {
			t.Errorf("no sample of %s", MessageType(kind))
		}
	}
}

// free5GC's library reads what we write, and writes what we read.
func TestWithOthers(t *testing.T) {
	for name, c := range fullMessages() {
		t.Run(name, func(t *testing.T) {
			m := c.message
			if c.theirs != nil {
				if m = c.theirs(); m == nil {
					t.Skip("not of that library")
				}
			}
			b, err := Encode(m)
			if err != nil {
				t.Fatal(err)
			}
			others := nas.NewMessage()
			if err := others.PlainNasDecode(new(bytes.Clone(b))); err != nil {
				t.Fatalf("% x: %v", b, err)
			}
			theirs, err := others.PlainNasEncode()
			if err != nil {
				t.Fatal(err)
			}
			got, err := Decode(theirs, directionOf(m))
			if err != nil {
				t.Fatalf("% x: %v", theirs, err)
			}
			if diff := cmp.Diff(m, got, sameTime); diff != "" {
				t.Errorf("ours   % x\ntheirs % x\n(-ours +theirs):\n%s", b, theirs, diff)
			}
		})
	}
}

func TestDecode(t *testing.T) {
	for name, c := range map[string]struct {
		message string
		want    Message
	}{
		"what UERANSIM begins with": {
			"7e 00 41 79 00 0d 01 02 f8 39 f0 ff 00 00 00 00 00 00 30 2e 02 f0 f0",
			&RegistrationRequest{
				RegistrationType: InitialRegistration, FollowOn: true, KeySet: NoKey,
				Identity: SUCI{Home: lyon, Routing: "0", MSIN: "0000000003"}, Security: UESecurityCapability{0xf0, 0xf0},
			},
		},
		"a SUCI with a scheme": {
			"7e 00 5c 00 0c 01 02 f8 39 21 f3 01 05 aa bb cc dd",
			&IdentityResponse{Identity: SUCI{Home: lyon, Routing: "123", Scheme: SchemeProfileA, HomeKey: 5, Output: []byte{0xaa, 0xbb, 0xcc, 0xdd}}},
		},
		"a SUCI that is a network access identifier": {
			"7e 00 5c 00 22 11 74 79 70 65 31 2e 72 69 64 36 37 38 2e 73 63 68 69 64 30 2e 75 73 65 72 69 64 61 40 65 78 61 6d 70 6c 65 2e 78",
			&IdentityResponse{Identity: SUCI{Format: FormatNAI, NAI: "type1.rid678.schid0.userida@example.x"[:33]}},
		},
		"an order of elements that is not the specification's": {
			"7e 00 41 79 00 01 00 53 01 01 2e 02 f0 70 10 01 03",
			&RegistrationRequest{
				RegistrationType: InitialRegistration, FollowOn: true, KeySet: NoKey, Identity: NoIdentity{},
				Security: UESecurityCapability{0xf0, 0x70}, Update: &UpdateType{SMS: true}, Capability: &Capability{HandoverAttach: true, S1Mode: true},
			},
		},
		"of an element that comes twice the first counts": {
			"7e 00 66 50 02 02 00 50 02 04 00", &NotificationResponse{Sessions: new(Of(1))},
		},
		"elements that nobody knows are passed over": {
			"7e 00 66 e1 13 02 00 00 7f 00 01 55 50 02 02 00", &NotificationResponse{Sessions: new(Of(1))},
		},
		"an optional element with a wrong content is as if it were not there": {
			"7e 00 66 50 01 02", &NotificationResponse{},
		},
		"an optional element that is cut, too": {"7e 00 66 50 04 02 00", &NotificationResponse{}},
		"octets behind what is known are of later releases": {
			"7e 00 66 50 04 02 00 ff ff", &NotificationResponse{Sessions: new(Of(1))},
		},
		"an NSSAI with a slice of no known length": {
			"7e 00 41 79 00 01 00 2f 04 03 01 02 03 53 01 00",
			&RegistrationRequest{RegistrationType: InitialRegistration, FollowOn: true, KeySet: NoKey, Identity: NoIdentity{}, Update: &UpdateType{}},
		},
		"SD ffffff is none": {
			"7e 00 41 79 00 01 00 2f 05 04 01 ff ff ff",
			&RegistrationRequest{RegistrationType: InitialRegistration, FollowOn: true, KeySet: NoKey, Identity: NoIdentity{}, Requested: NSSAI{{SNSSAI: SNSSAI{SST: 1}}}},
		},
		"a registration of a type that is not known is an initial one": {
			"7e 00 41 7f 00 01 00", &RegistrationRequest{RegistrationType: InitialRegistration, FollowOn: true, KeySet: NoKey, Identity: NoIdentity{}},
		},
		"a service type that is unused stands for data": {
			"7e 00 4c 91 00 07 f4 fe 21 de ad be ef", &ServiceRequest{Service: ServiceData, KeySet: 1, STMSI: sampleGUTI().STMSI()},
		},
		"a request for a session of a type that is not known is an initial one": {
			"7e 00 67 01 00 01 2e 12 05 87", &ULNASTransport{PayloadType: PayloadN1SM, Payload: []byte{0x2e}, SessionID: 5, Request: RequestInitial},
		},
		"a tracking area list of all three types": {
			"7e 00 42 01 01 54 1b 00 02 f8 39 00 00 05 21 02 f8 39 00 00 0a 41 13 00 14 00 00 01 02 f8 39 00 00 09",
			&RegistrationAccept{Result: RegistrationResult{Access: Access3GPP}, TAIs: TAIs{{lyon, 5}, {lyon, 10}, {lyon, 11}, {boston, 1}, {lyon, 9}}},
		},
		"a tracking area list beyond the highest code is none": {
			"7e 00 42 01 01 54 07 21 02 f8 39 ff ff ff", &RegistrationAccept{Result: RegistrationResult{Access: Access3GPP}},
		},
		"an emergency number of 42 digits is none": {
			"7e 00 42 01 01 34 17 16 01" + strings.Repeat("11", 21), &RegistrationAccept{Result: RegistrationResult{Access: Access3GPP}},
		},
		"a name of 127 characters": {
			"7e 00 54 43 ff 90" + strings.Repeat("3042", 127), &ConfigurationUpdateCommand{FullName: &Name{Text: strings.Repeat("あ", 127)}},
		},
		"a service area with both kinds is none": {
			"7e 00 42 01 01 27 08 60 02 f8 39 e0 13 00 14", &RegistrationAccept{Result: RegistrationResult{Access: Access3GPP}},
		},
		"a synch failure": {
			"7e 00 59 15 30 0e 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e",
			&AuthenticationFailure{Cause: CauseSynchFailure, AUTS: &Resynchronisation{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := hexOctets(t, c.message)
			got, err := Decode(b, directionOf(c.want))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got, sameTime); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A message of nothing but one element, 20,000 times, takes the room of one.
func TestRepeatedElements(t *testing.T) {
	c := &codec{kind: NotificationResponseType, b: bytes.Repeat([]byte{0x91, 0x50, 2, 2, 0}, 12_000)}
	c.scan()
	if len(c.found) != 2 {
		t.Errorf("%d places", len(c.found))
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		message string
		cause   Cause
		ignored bool
	}{
		"nothing":                                   {"", CauseProtocolErrorUnspecified, true},
		"a cut header":                              {"7e 00", CauseProtocolErrorUnspecified, true},
		"a 5GSM message":                            {"2e 01 01 c1 ff ff", CauseProtocolErrorUnspecified, true},
		"a protected message":                       {"7e 02 00 00 00 00 00 7e 00 43", CauseProtocolErrorUnspecified, true},
		"a type of nobody's":                        {"7e 00 99", CauseMessageTypeNotImplemented, false},
		"a message of the network's":                {"7e 00 42 01 01", CauseMessageTypeNotImplemented, false},
		"a registration request without identity":   {"7e 00 41 79", CauseInvalidMandatoryInformation, false},
		"an identity that is cut":                   {"7e 00 41 79 00 0d 01 02 f8 39", CauseInvalidMandatoryInformation, false},
		"an identity of no length":                  {"7e 00 41 79 00 00", CauseInvalidMandatoryInformation, false},
		"a SUCI with a PLMN that is none":           {"7e 00 41 79 00 0d 01 0f f8 39 f0 ff 00 00 00 00 00 00 30", CauseInvalidMandatoryInformation, false},
		"a SUCI without a routing indicator":        {"7e 00 41 79 00 0d 01 02 f8 39 ff ff 00 00 00 00 00 00 30", CauseInvalidMandatoryInformation, false},
		"a SUCI with an MSIN that is no number":     {"7e 00 41 79 00 0d 01 02 f8 39 f0 ff 00 00 00 00 0a 00 30", CauseInvalidMandatoryInformation, false},
		"a SUCI with digits behind the last":        {"7e 00 41 79 00 0d 01 02 f8 39 f0 ff 00 00 00 00 f0 00 30", CauseInvalidMandatoryInformation, false},
		"a SUCI without an output":                  {"7e 00 41 79 00 08 01 02 f8 39 f0 ff 01 05", CauseInvalidMandatoryInformation, false},
		"a SUCI of a reserved format":               {"7e 00 41 79 00 02 51 61", CauseInvalidMandatoryInformation, false},
		"an IMEI with 14 digits":                    {"7e 00 5c 00 08 4b 09 51 24 30 32 57 f1", CauseInvalidMandatoryInformation, false},
		"a service request with a GUTI":             {"7e 00 4c 11 00 0b f2 02 f8 39 ca fe 21 de ad be ef", CauseInvalidMandatoryInformation, false},
		"an element that has to be known":           {"7e 00 66 05 01 00", CauseInvalidMandatoryInformation, false},
		"an empty payload":                          {"7e 00 67 01 00 00 12 01", CauseInvalidMandatoryInformation, false},
		"session management without a session":      {"7e 00 67 01 00 01 2e", CauseConditionalIE, false},
		"a synch failure without AUTS":              {"7e 00 59 15", CauseConditionalIE, false},
		"a payload without a type":                  {"7e 00 4f 10 7b 00 01 00", CauseConditionalIE, false},
		"a security mode reject without a cause":    {"7e 00 5f", CauseInvalidMandatoryInformation, false},
		"a status without a cause":                  {"7e 00 64", CauseInvalidMandatoryInformation, false},
		"a deregistration request that is cut":      {"7e 00 45 11 00", CauseInvalidMandatoryInformation, false},
		"a slice authentication with half a slice":  {"7e 00 51 03 01 02 03 00 04 01 02 00 04", CauseInvalidMandatoryInformation, false},
		"a message longer than a length of it says": {"7e 00 66" + strings.Repeat("00", 1<<16), CauseProtocolErrorUnspecified, true},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := Decode(hexOctets(t, c.message), Uplink)
			var fault *Fault
			if !errors.As(err, &fault) {
				t.Fatalf("read as %+v", m)
			}
			if fault.Cause != c.cause || fault.Ignore != c.ignored {
				t.Errorf("%v (ignored: %v), want cause %d, ignored: %v", fault, fault.Ignore, c.cause, c.ignored)
			}
		})
	}
}

func TestEncodeRefuses(t *testing.T) {
	long := make(TAIs, 17)
	for i := range long {
		long[i] = TAI{lyon, uint32(i)}
	}
	for name, m := range map[string]Message{
		"no identity":                      &IdentityResponse{},
		"an IMEI with letters":             &IdentityResponse{Identity: IMEI("49015420323751x")},
		"an empty IMEISV":                  &IdentityResponse{Identity: IMEISV("")},
		"a SUCI without a home":            &IdentityResponse{Identity: SUCI{Routing: "0", MSIN: "1"}},
		"a set of more than ten bits":      &RegistrationAccept{GUTI: &GUTI{PLMN: lyon, Set: 1024}},
		"a GUTI without a PLMN":            &RegistrationAccept{GUTI: &GUTI{}},
		"17 tracking areas":                &RegistrationAccept{TAIs: long},
		"a tracking area code too high":    &RegistrationAccept{TAIs: TAIs{{lyon, 1 << 24}}},
		"a LADN without a name":            &RegistrationAccept{LADNs: &LADNs{{"", someTAIs()}}},
		"a LADN without an area":           &RegistrationAccept{LADNs: &LADNs{{"a", nil}}},
		"17 slices":                        &RegistrationAccept{Allowed: make(NSSAI, 17)},
		"a data network with no label":     &ULNASTransport{Payload: []byte{1}, DNN: "a..b"},
		"a payload of 64 KiB":              &DLNASTransport{Payload: make([]byte, 1<<16)},
		"an EAP message that is too big":   &AuthenticationRequest{ABBA: []byte{0, 0}, EAP: make([]byte, 1<<16)},
		"an ABBA of one octet":             &AuthenticationRequest{ABBA: []byte{0}},
		"a RES of 300 octets":              &AuthenticationResponse{RES: make([]byte, 300)},
		"a payload type of five bits":      &DLNASTransport{PayloadType: 16, Payload: []byte{1}},
		"a key set of five bits":           &ServiceRequest{KeySet: 16},
		"a time before 2000":               &ConfigurationUpdateCommand{Clock: &Clock{time.Unix(0, 0)}},
		"a name of 300 letters":            &ConfigurationUpdateCommand{FullName: &Name{Text: strings.Repeat("a", 300)}},
		"an emergency number of 41 digits": &RegistrationAccept{EmergencyNumbers: EmergencyNumbers{{Police, strings.Repeat("1", 41)}}},
		"an emergency number of letters":   &RegistrationAccept{EmergencyNumbers: EmergencyNumbers{{Police, "abc"}}},
	} {
		t.Run(name, func(t *testing.T) {
			before := []byte{1, 2, 3}
			b, err := Append(before, m)
			if err == nil {
				t.Fatalf("written as % x", b)
			}
			if !bytes.Equal(b, before) {
				t.Errorf("appended % x", b[3:])
			}
		})
	}
}

func TestEnvelope(t *testing.T) {
	b := hexOctets(t, "7e 04 11 22 33 44 09 7e 00 5e")
	want := Envelope{Header: IntegrityProtectedAndCipheredNewContext, MAC: [4]byte{0x11, 0x22, 0x33, 0x44}, Sequence: 9, Payload: b[7:]}
	got, err := ReadEnvelope(b)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if again := got.Append(nil); !bytes.Equal(again, b) {
		t.Errorf("written as % x, want % x", again, b)
	}
	for name, b := range map[string]string{
		"a plain message": "7e 00 43 00 00 00 00 00 00 00", "a reserved type": "7e 05 11 22 33 44 09 7e 00 5e",
		"nothing inside": "7e 02 11 22 33 44 09 7e 00", "a 5GSM message": "2e 02 11 22 33 44 09 7e 00 5e", "nothing": "",
	} {
		if e, err := ReadEnvelope(hexOctets(t, b)); err == nil {
			t.Errorf("%s: read as %+v", name, e)
		}
	}
}

func TestText(t *testing.T) {
	for want, got := range map[string]string{
		"208-93": lyon.String(), "310410": boston.Digits(), "208-93-abcdef": TAI{lyon, 0xabcdef}.String(),
		"suci-0-208-93-17-0-0-000000003": SUCI{Home: lyon, Routing: "17", MSIN: "000000003"}.String(),
		"suci-0-310-410-0000-c-27-aabb":  SUCI{Home: boston, Routing: "0000", Scheme: 12, HomeKey: 27, Output: []byte{0xaa, 0xbb}}.String(),
		"suci-1-example.com-678-0-0-user17": SUCI{Format: FormatNAI, NAI: "type1.rid678.schid0.useriduser17@example.com"}.
			String(),
		"suci-1-example.com-678-1-27-ecckeyAA.cipBB.macCC": SUCI{Format: FormatNAI, NAI: "type1.rid678.schid1.hnkey27.ecckeyAA.cipBB.macCC@example.com"}.
			String(),
		"": SUCI{Format: FormatNAI, NAI: "user@example.com"}.String(), "imei-490154203237518": PEI(IMEI("490154203237518")),
		"imeisv-4901542032375186": PEI(IMEISV("4901542032375186")), "mac-0A-02-03-04-05-06-untrusted": PEI(MAC{Address: [6]byte{10, 2, 3, 4, 5, 6}, Unusable: true}),
		"eui-01-02-03-04-05-06-07-FF": PEI(EUI64{1, 2, 3, 4, 5, 6, 7, 255}), "20893-ca-3f8-21-deadbeef": sampleGUTI().String(),
		"1-010203": sliceA.String(), "2": sliceB.String(), "Registration Request": RegistrationRequestType.String(),
		"5GMM message 0x99": MessageType(0x99).String(), "MAC failure": CauseMACFailure.String(), "5GMM cause 42": Cause(42).String(),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, c := range [][2]string{{"208", "93"}, {"310", "410"}, {"001", "01"}} {
		if p, err := MakePLMN(c[0], c[1]); err != nil || p.MCC() != c[0] || p.MNC() != c[1] || !p.Valid() {
			t.Errorf("%v: %v, %v", c, p, err)
		}
	}
	if p, err := MakePLMN("20", "93"); err == nil {
		t.Errorf("an MCC of two digits is %v", p)
	}
}

func TestTimers(t *testing.T) {
	for d, want := range map[time.Duration]struct {
		two, three   byte
		read2, read3 time.Duration
	}{
		Deactivated:          {0xe0, 0xe0, Deactivated, Deactivated},
		0:                    {0x00, 0x60, 0, 0},
		time.Second:          {0x01, 0x61, 2 * time.Second, 2 * time.Second},
		62 * time.Second:     {0x1f, 0x7f, 62 * time.Second, 62 * time.Second},
		63 * time.Second:     {0x22, 0x83, 2 * time.Minute, 90 * time.Second},
		31 * time.Minute:     {0x3f, 0xbf, 31 * time.Minute, 31 * time.Minute},
		32 * time.Minute:     {0x46, 0x04, 36 * time.Minute, 40 * time.Minute},
		54 * time.Minute:     {0x49, 0x06, 54 * time.Minute, time.Hour},
		3 * time.Hour:        {0x5e, 0x12, 3 * time.Hour, 3 * time.Hour},
		24 * time.Hour:       {0x5f, 0x38, 186 * time.Minute, 24 * time.Hour},
		1 << 62:              {0x5f, 0xdf, 186 * time.Minute, 9920 * time.Hour},
		310 * time.Hour:      {0x5f, 0x5f, 186 * time.Minute, 310 * time.Hour},
		time.Hour*310 + 1000: {0x5f, 0xc1, 186 * time.Minute, 320 * time.Hour},
	} {
		if got := (new(Timer2(d))).write(nil)[0]; got != want.two || Timer2(d).Rounded() != want.read2 {
			t.Errorf("timer 2 of %s = %#02x, read as %s, want %#02x, %s", d, got, Timer2(d).Rounded(), want.two, want.read2)
		}
		if got := (new(Timer3(d))).write(nil)[0]; got != want.three || Timer3(d).Rounded() != want.read3 {
			t.Errorf("timer 3 of %s = %#02x, read as %s, want %#02x, %s", d, got, Timer3(d).Rounded(), want.three, want.read3)
		}
	}
	var two Timer2
	if two.read([]byte{0x65}); time.Duration(two) != 5*time.Minute {
		t.Errorf("a unit that is not known is read as %s", time.Duration(two))
	}
}

func TestNames(t *testing.T) {
	for text, want := range map[string]string{
		"core5g":   "86 e3b7bc5c3b03",
		"{€} [ß]":  "84 1bd4a6bc4981363ccfc607",
		"コア":       "90 30b3 30a2",
		"ábc":      "90 00e1 0062 0063",
		"1234567":  "87 31d98c56b3dd00",
		"12345678": "80 31d98c56b3dd70",
		"":         "80",
	} {
		b := (&Name{Text: text}).write(nil)
		if !strings.HasPrefix(hex.EncodeToString(b), strings.ReplaceAll(want, " ", "")) {
			t.Errorf("%q = % x, want %s", text, b, want)
		}
		var got Name
		if !got.read(b) || got.Text != text {
			t.Errorf("%q = % x, read as %q", text, b, got.Text)
		}
	}
}

// Of an initial message only what TS 24.501 4.4.6 lists is said in the clear.
func TestClear(t *testing.T) {
	full := fullMessages()
	said := map[string]bool{}
	for _, m := range []Message{
		full["registration request"].message.(*RegistrationRequest).Clear(), full["service request"].message.(*ServiceRequest).Clear(),
	} {
		v := reflect.ValueOf(m).Elem()
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				said[m.Type().String()+": "+v.Type().Field(i).Name] = true
			}
		}
	}
	want := map[string]bool{}
	for _, name := range []string{"RegistrationType", "FollowOn", "KeySet", "Identity", "Security", "Status", "AdditionalGUTI", "EPSContainer"} {
		want["Registration Request: "+name] = true
	}
	for _, name := range []string{"Service", "KeySet", "STMSI"} {
		want["Service Request: "+name] = true
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEntries(t *testing.T) {
	want := []Entry{
		{PayloadType: PayloadN1SM, Payload: []byte{0x2e, 1}, Optional: []EntryOption{{ieiPDUSession, []byte{1}}, {ieiRequestType, []byte{1}}}},
		{PayloadType: PayloadSMS, Payload: []byte{9}},
	}
	b, err := AppendEntries(nil, want)
	if err != nil {
		t.Fatal(err)
	}
	if wantOctets := hexOctets(t, "02 0009 21 12 01 01 80 01 01 2e 01 0002 02 09"); !bytes.Equal(b, wantOctets) {
		t.Errorf("% x, want % x", b, wantOctets)
	}
	got, is := Entries(b)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); !is || diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for n := range b {
		if got, is := Entries(b[:n]); is {
			t.Errorf("% x is read as %+v", b[:n], got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, c := range fullMessages() {
		b, err := Encode(c.message)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if e, err := ReadEnvelope(b); err == nil && e.Append(nil)[0] != discriminator5GMM {
			t.Fatal("an envelope changes")
		}
		_, _ = Entries(b)
		for _, d := range []Direction{Uplink, Downlink} {
			m, err := Decode(b, d)
			var fault *Fault
			if (m == nil) == (err == nil) || err != nil && (!errors.As(err, &fault) || fault.Cause == 0) {
				t.Fatalf("%+v, %v", m, err)
			}
			if m == nil {
				continue
			}
			// What was read can be written, and is read again as the same.
			written, err := Encode(m)
			if err != nil {
				t.Fatalf("%+v cannot be written: %v", m, err)
			}
			again, err := Decode(written, d)
			if err != nil {
				t.Fatalf("% x cannot be read again: %v", written, err)
			}
			if diff := cmp.Diff(m, again, sameTime, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("(-first +again):\n%s", diff)
			}
		}
	})
}

func BenchmarkDecodeRegistrationRequest(b *testing.B) {
	m := hexOctets(b, "7e 00 41 79 00 0d 01 02 f8 39 f0 ff 00 00 00 00 00 00 30 10 01 03 2e 04 f0 f0 f0 f0 2f 05 04 01 01 02 03 53 01 00")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(m, Uplink); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeDLNASTransport(b *testing.B) {
	m := &DLNASTransport{PayloadType: PayloadN1SM, Payload: make([]byte, 120), SessionID: 1}
	room := make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Append(room, m); err != nil {
			b.Fatal(err)
		}
	}
}
