package strictcbor

import (
	"encoding/hex"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type thing struct {
	Number  uint8          `cbor:"0,keyasint"`
	Address netip.Addr     `cbor:"1,keyasint,omitzero"`
	Text    string         `cbor:"2,keyasint,omitempty"`
	List    []uint8        `cbor:"3,keyasint,omitempty"`
	Inner   *thing         `cbor:"4,keyasint,omitempty"`
	Map     map[uint8]bool `cbor:"5,keyasint,omitempty"`
}

func TestDecoding(t *testing.T) {
	for name, tt := range map[string]struct {
		octets string
		want   thing
		wrong  bool
	}{
		"what Encoding writes":           {octets: "a2000101447f000001", want: thing{Number: 1, Address: netip.AddrFrom4([4]byte{127, 0, 0, 1})}},
		"a field that is not known":      {octets: "a200011863f5", want: thing{Number: 1}},
		"a key that comes twice":         {octets: "a200010002", wrong: true},
		"an indefinite length":           {octets: "bf0001ff", wrong: true},
		"text that is not UTF-8":         {octets: "a2000102" + "61ff", wrong: true},
		"four levels":                    {octets: "a1" + "04a1" + "04a1" + "04a10001", want: thing{Inner: &thing{Inner: &thing{Inner: &thing{Number: 1}}}}},
		"five levels":                    {octets: "a1" + "04a1" + "04a1" + "04a1" + "04a10001", wrong: true},
		"a list of sixteen":              {octets: "a103" + "90" + "01010101010101010101010101010101", want: thing{List: []uint8{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}},
		"a list of seventeen":            {octets: "a103" + "91" + "0101010101010101010101010101010101", wrong: true},
		"a map of seventeen":             {octets: "a105" + "b1" + "00f501f502f503f504f505f506f507f508f509f50af50bf50cf50df50ef50ff510f5", wrong: true},
		"more behind it":                 {octets: "a1000100", wrong: true},
		"a length that is not all there": {octets: "a10261", wrong: true},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := hex.DecodeString(tt.octets)
			if err != nil {
				t.Fatal(err)
			}
			var got thing
			if err := Decoding(4, 16, 16).Unmarshal(b, &got); (err != nil) != tt.wrong {
				t.Fatalf("%+v, %v", got, err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" && !tt.wrong {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEncoding(t *testing.T) {
	b, err := Encoding().Marshal(thing{Number: 1, Address: netip.AddrFrom4([4]byte{127, 0, 0, 1})})
	if got := hex.EncodeToString(b); err != nil || got != "a2000101447f000001" {
		t.Errorf("%s, %v", got, err)
	}
}
