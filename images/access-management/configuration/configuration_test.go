package configuration

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"

	"github.com/google/go-cmp/cmp"
)

// The example has every field of the file's form.
func TestParse(t *testing.T) {
	text, err := os.ReadFile("testdata/example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	catalogue := []record.Slice{{SST: 1, SD: &[3]byte{1, 2, 3}}, {SST: 2}, {SST: 3}}
	want := &procedure.Settings{
		Name: "North-1", Region: 1, Set: 2, Pointer: 3, Capacity: 4,
		PLMNs:     []procedure.PLMN{{PLMN: "20893", TACs: []uint32{1, 10}, Slices: catalogue}, {PLMN: "001001", TACs: []uint32{1, 10}, Slices: catalogue}},
		Integrity: []uint8{3, 1}, Ciphering: []uint8{1, 0}, Periodic: 10 * time.Minute, Backoff: time.Minute, Voice: true,
		FullName: "Network of the North", ShortName: "North", Zone: -3*time.Hour - 30*time.Minute,
		Emergency: &procedure.Emergency{Slice: record.Slice{SST: 2}, DNN: "sos", Unauthenticated: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again, err := Parse(text)
	if err != nil || !Equal(got, again) {
		t.Errorf("two readings of one file differ: %v", err)
	}
	again.Capacity++
	if Equal(got, again) || Equal(got, nil) || !Equal(nil, nil) {
		t.Error("another capacity makes no difference")
	}
}

const short = `{plmns: [{mcc: "208", mnc: "93"}], sliceCatalogue: [{sst: 1}]}`

func TestParseFillsIn(t *testing.T) {
	got, err := Parse([]byte(short))
	if err != nil {
		t.Fatal(err)
	}
	want := &procedure.Settings{
		Name: "AMF", Region: 202, Set: 1016, Capacity: 255, PLMNs: []procedure.PLMN{{PLMN: "20893", Slices: []record.Slice{{SST: 1}}}},
		Integrity: []uint8{2, 1, 3}, Ciphering: []uint8{2, 1, 3}, Periodic: time.Hour, Backoff: 30 * time.Second,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What is wrong is named, with what to write instead.
func TestParseRefuses(t *testing.T) {
	with := func(amf string) string { return strings.TrimSuffix(short, "}") + ", amf: {" + amf + "}}" }
	many := func(n int, f string) string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf(f, i))
		}
		return strings.Join(out, ",")
	}
	for name, c := range map[string]struct{ text, want string }{
		"no YAML":                      {"{", "cannot be read"},
		"a field that is none":         {"{plmn: []}", `unknown field "plmn"`},
		"no PLMN":                      {"{sliceCatalogue: [{sst: 1}]}", "0 plmns: write 1 to 12"},
		"too many":                     {"{plmns: [" + many(13, `{mcc: "208", mnc: "%02d"}`) + "]}", "13 plmns: write 1 to 12"},
		"an MNC of one digit":          {`{plmns: [{mcc: "208", mnc: "9"}]}`, `write three digits and two or three, in quotes`},
		"an MCC of letters":            {`{plmns: [{mcc: "2o8", mnc: "93"}]}`, `mcc "2o8"`},
		"a PLMN twice":                 {`{plmns: [{mcc: "208", mnc: "93"}, {mcc: "208", mnc: "93"}]}`, "PLMN 20893 is there twice"},
		"a TAC that is none":           {`{tacs: ["1"]}`, `tac "1": write six hexadecimal digits`},
		"a reserved TAC":               {`{plmns: [{mcc: "208", mnc: "93"}], tacs: [fffffe]}`, "tac fffffe is reserved"},
		"a TAC twice":                  {`{plmns: [{mcc: "208", mnc: "93"}], tacs: ["000001", "000001"]}`, "tac 000001 is there twice"},
		"no slice":                     {`{plmns: [{mcc: "208", mnc: "93"}]}`, "0 slices: write 1 to 1024"},
		"an SST that is none":          {`{sliceCatalogue: [{sst: 256}]}`, "sliceCatalogue: sst 256: write 1 to 255"},
		"an SD that is none":           {`{sliceCatalogue: [{sst: 1, sd: "1"}]}`, `sd "1": write six hexadecimal digits`},
		"a slice twice":                {`{plmns: [{mcc: "208", mnc: "93"}], sliceCatalogue: [{sst: 1, sd: "010203"}, {sst: 1, sd: "010203"}]}`, "S-NSSAI 1-010203 is in the catalogue twice"},
		"a slice without SD twice":     {`{plmns: [{mcc: "208", mnc: "93"}], sliceCatalogue: [{sst: 1}, {sst: 1, sd: ffffff}]}`, "S-NSSAI 1 is in the catalogue twice"},
		"a name that cannot be said":   {with("name: Zürich"), "AMF name"},
		"a name that is too long":      {with("name: " + strings.Repeat("x", 151)), "write 1 to 150 letters"},
		"a region of nine bits":        {with("region: 256"), "region 256: write 0 to 255"},
		"a set of eleven":              {with("set: 1024"), "set 1024: write 0 to 1023"},
		"a pointer of seven":           {with("pointer: 64"), "pointer 64: write 0 to 63"},
		"a capacity below none":        {with("capacity: -1"), "capacity -1: write 0 to 255"},
		"no integrity":                 {with("integrity: [NIA0]"), `integrity: algorithm "NIA0": write NIA1 to NIA3`},
		"ciphering for integrity":      {with("integrity: [NEA1]"), `integrity: algorithm "NEA1"`},
		"an algorithm to come":         {with("ciphering: [NEA4]"), `ciphering: algorithm "NEA4": write NEA0 to NEA3`},
		"an algorithm twice":           {with("ciphering: [NEA2, NEA2]"), "NEA2 is there twice"},
		"a time that is none":          {with("periodicRegistration: often"), `periodicRegistration "often": write a time`},
		"a time before now":            {with("backoff: -1s"), `backoff "-1s": write a time`},
		"longer than a timer can say":  {with("periodicRegistration: 311h"), "write 2s to 310h"},
		"a back-off that is too long":  {with("backoff: 4h"), "back-off (T3346) 4h0m0s"},
		"no slice of emergencies":      {with("emergency: {snssai: {sst: 0}, dnn: sos}"), "emergency: sst 0: write 1 to 255"},
		"one that is not advertised":   {with("emergency: {snssai: {sst: 9}, dnn: sos}"), "S-NSSAI 9 of the emergency services is not in the catalogue"},
		"no DNN of emergencies":        {with("emergency: {snssai: {sst: 1}}"), "write one of 1 to 100 characters, for example sos"},
		"a zone without a sign":        {with(`networkName: {timeZone: "02:00"}`), `time zone "02:00"`},
		"a zone of another planet":     {with(`networkName: {timeZone: "+15:00"}`), `for example "+02:00"`},
		"a zone beyond the last":       {with(`networkName: {timeZone: "+14:45"}`), "from -14:00 to +14:00"},
		"a zone in minutes":            {with(`networkName: {timeZone: "+01:20"}`), "in quarters of an hour"},
		"a network name with newlines": {with(`networkName: {full: "a\nb"}`), "that can be shown"},
		"a network name without end":   {with(`networkName: {short: ` + strings.Repeat("x", 61) + `}`), "at most 60 characters"},
	} {
		if s, err := Parse([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v, want an error with %q", name, s, err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(short)
	if text, err := os.ReadFile("testdata/example.yaml"); err == nil {
		f.Add(string(text))
	}
	f.Add(`{plmns: [{mcc: "1", mnc: "2"}], amf: {integrity: [NIA], networkName: {timeZone: "+"}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse([]byte(text))
		if (s == nil) == (err == nil) {
			t.Fatalf("%+v, %v", s, err)
		}
		if s != nil && (len(s.PLMNs) == 0 || len(s.PLMNs[0].Slices) == 0 || len(s.Integrity) == 0 || len(s.Ciphering) == 0) {
			t.Fatalf("%+v", s)
		}
	})
}

// A file that is changed is in force soon, and one that cannot be used never.
func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "amf.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := Open(path); err == nil {
		t.Error("a file that is not there is opened")
	}
	write(short)
	f, settings, err := Open(path)
	if err != nil || settings.Name != "AMF" {
		t.Fatalf("%+v, %v", settings, err)
	}
	said := make(chan string, 10)
	told := make(chan *procedure.Settings, 10)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		f.Follow(ctx, func(s *procedure.Settings) { told <- s }, slog.New(slog.NewTextHandler(lines(said), nil)))
		close(ended)
	}()
	await := func(what string, c <-chan string) string {
		t.Helper()
		select {
		case v := <-c:
			return v
		case <-time.After(time.Minute):
			t.Fatal("nobody hears of " + what)
			return ""
		}
	}
	write("{plmns: []}")
	if got := await("what is wrong", said); !strings.Contains(got, "0 plmns: write 1 to 12") || len(told) != 0 {
		t.Errorf("said %s, told %d", got, len(told))
	}
	write(strings.TrimSuffix(short, "}") + ", amf: {name: North}}")
	if got := await("the change", said); !strings.Contains(got, "has changed") || len(said) != 0 {
		t.Errorf("said %s, and %d more", got, len(said))
	}
	select {
	case got := <-told:
		if got.Name != "North" {
			t.Errorf("%+v", got)
		}
	case <-time.After(time.Minute):
		t.Error("nobody is told")
	}
	cancel()
	<-ended
}

// lines of a log.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}
