package ts29571

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var plmn = PLMN{MCC: "208", MNC: "93"}

func TestLocations(t *testing.T) {
	tai := TAI{PLMN: plmn, TAC: "00000a"}
	for sentence, c := range map[string]struct {
		in, wantError string
		want          Location
	}{
		"NR": {
			in:   `{"nrLocation":{"tai":{"plmnId":{"mcc":"208","mnc":"93"},"tac":"00000A"},"ncgi":{"plmnId":{"mcc":"208","mnc":"93"},"nrCellId":"00000001f"}}}`,
			want: Location{TAI: tai, Cell: 0x1f, CellPLMN: plmn},
		},
		"E-UTRA without a cell": {in: `{"eutraLocation":{"tai":{"plmnId":{"mcc":"208","mnc":"93"},"tac":"00000a"}}}`, want: Location{TAI: tai, EUTRA: true}},
		"behind an N3IWF":       {in: `{"n3gaLocation":{"n3gppTai":{"plmnId":{"mcc":"208","mnc":"93"},"tac":"00000a"},"portNumber":1}}`, want: Location{TAI: tai, Non3GPP: true}},
		"nowhere":               {in: `{}`},
		"members that are null": {in: `{"nrLocation":{"tai":null,"ncgi":null}}`},
		"a short cell":          {in: `{"nrLocation":{"ncgi":{"nrCellId":"1f"}}}`, wantError: "write 9 hexadecimal digits"},
		"a cell of no network":  {in: `{"eutraLocation":{"ecgi":{"plmnId":{"mcc":"2"},"eutraCellId":"0000001"}}}`, wantError: "write three digits"},
		"a list":                {in: `[]`, wantError: "nrLocation, eutraLocation or n3gaLocation"},
	} {
		t.Run(sentence, func(t *testing.T) {
			var got Location
			err := json.Unmarshal([]byte(c.in), &got)
			if c.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), c.wantError) {
					t.Errorf("error %v, want %q", err, c.wantError)
				}
				return
			}
			c.want.Raw = json.RawMessage(c.in)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Fatalf("%v (-want +got):\n%s", err, diff)
			}
			if out, err := json.Marshal(got); err != nil || string(out) != c.in {
				t.Errorf("written as %s, %v", out, err)
			}
		})
	}
}

func TestALocationThatWasNotReadIsWritten(t *testing.T) {
	tai := TAI{PLMN: plmn, TAC: "000001"}
	for _, want := range []Location{
		{TAI: tai, Cell: 0xfffffffff, CellPLMN: plmn}, {TAI: tai, Cell: 1, CellPLMN: plmn, EUTRA: true}, {TAI: tai, Non3GPP: true},
	} {
		raw, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got Location
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if got.Raw = nil; !cmp.Equal(got, want) {
			t.Errorf("%s: %+v", raw, got)
		}
	}
	if n := tai.TACNumber(); n != 1 {
		t.Errorf("TAC %d", n)
	}
}

func TestBitRates(t *testing.T) {
	for in, want := range map[string]BitRate{
		"0 bps": 0, "1 bps": 1, "100 Kbps": 100_000, "1.5 Mbps": 1_500_000, "1 Gbps": 1e9, "2 Tbps": 2e12, "0.1 Mbps": 100_000,
	} {
		got, err := ParseBitRate(in)
		if err != nil || got != want {
			t.Errorf("%s: %d, %v", in, got, err)
		}
		if again, err := ParseBitRate(got.String()); err != nil || again != got {
			t.Errorf("%s is written as %s", in, got)
		}
	}
	for _, in := range []string{"", "1", "1 kbps", "1Mbps", "-1 bps", "1e3 bps", "NaN bps", "Inf bps", "99999999 Tbps", ".. bps", "1 Mbps "} {
		if got, err := ParseBitRate(in); err == nil {
			t.Errorf("%q: %d", in, got)
		}
	}
	for rate, want := range map[BitRate]string{0: "0 bps", 1500: "1500 bps", 2_500_000: "2500 Kbps", 3e12: "3 Tbps"} {
		if rate.String() != want {
			t.Errorf("%d: %s", uint64(rate), rate)
		}
	}
}

func TestARP(t *testing.T) {
	want := ARP{Priority: 3, MayPreempt: true}
	raw, err := json.Marshal(want)
	if err != nil || string(raw) != `{"priorityLevel":3,"preemptCap":"MAY_PREEMPT","preemptVuln":"NOT_PREEMPTABLE"}` {
		t.Errorf("%s, %v", raw, err)
	}
	var got ARP
	if err := json.Unmarshal(raw, &got); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{`{}`, `{"priorityLevel":0}`, `{"priorityLevel":16}`, `{"priorityLevel":"1"}`, `[]`} {
		if err := json.Unmarshal([]byte(bad), &got); err == nil {
			t.Errorf("%s: %+v", bad, got)
		}
	}
}

func TestAMFSets(t *testing.T) {
	for want, g := range map[string]GUAMI{
		"set3f8.regionca.amfset.5gc.mnc093.mcc208": {plmn, "cafe00"},
		"set001.region00.amfset.5gc.mnc012.mcc345": {PLMN{MCC: "345", MNC: "012"}, "00007f"},
		"": {plmn, "xx"},
	} {
		if got := g.Set(); got != want {
			t.Errorf("%+v: %s, want %s", g, got, want)
		}
	}
}

func TestSUPIs(t *testing.T) {
	for text, want := range map[string]bool{
		"imsi-20893": true, "imsi-208930000000001": true, "imsi-2089": false, "imsi-2089300000000012": false, "imsi-": false, "imsi-20893x": false, "20893": false,
		"nai-user@example.com": true, "nai-a/b%2F?c#d+e@example.com": true, "nai-用户@example.com": true, "nai-" + strings.Repeat("a", mostIdentifier): true,
		"nai-" + strings.Repeat("a", mostIdentifier+1): false, "nai-": false, "nai-a b@example.com": false, "nai-a\n@example.com": false, "nai-a\x00": false, "nai-\xff": false,
		"gci-00-1A": true, "gli-AAEC/w==": true, "imei-353492100000007": false, "5g-guti-20893cafe0000000001": false, "": false,
	} {
		if got := IsSUPI(text); got != want {
			t.Errorf("%.40q: %v, want %v", text, got, want)
		}
	}
}
