package record

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func statusWatch() *StatusWatch {
	return &StatusWatch{
		Version: Version, Name: "3-00000000000000a1", URI: "http://smf/status", Wanted: []GUAMI{{"20893", 0x0100c1}, {"001001", 0x0100c1}}, Told: []GUAMI{{"20893", 0x0100c1}}, Unsure: []GUAMI{{"001001", 0x0100c1}},
	}
}

// statusWatchOf1 is as version 1 has written it.
const statusWatchOf1 = "a6000101" + "72332d30303030303030303030303030306131" + "0271687474703a2f2f736d662f737461747573" +
	"0382a2006532303839330" + "11a000100c1" + "a20066303031303031" + "011a000100c1" + "0481a2006532303839330" + "11a000100c1" + "0581a20066303031303031" + "011a000100c1"

func TestStatusWatch(t *testing.T) {
	b, err := statusWatch().Encode()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(statusWatchOf1, hex.EncodeToString(b)); diff != "" {
		t.Errorf("octets (-want +got):\n%s", diff)
	}
	got, err := DecodeStatusWatch(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(statusWatch(), got); diff != "" {
		t.Errorf("read again (-want +got):\n%s", diff)
	}
	for name, change := range map[string]func(*StatusWatch){
		"without a name":           func(w *StatusWatch) { w.Name = "" },
		"told nowhere":             func(w *StatusWatch) { w.URI = "" },
		"more than can be wanted":  func(w *StatusWatch) { w.Wanted = make([]GUAMI, MostGUAMIs+1) },
		"more than there could be": func(w *StatusWatch) { w.Told = make([]GUAMI, MostServed+1) },
		"more than it can be told": func(w *StatusWatch) { w.Unsure = make([]GUAMI, MostServed+1) },
	} {
		w := statusWatch()
		change(w)
		b, err := w.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := DecodeStatusWatch(b); err == nil || strings.Contains(err.Error(), "smf") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
