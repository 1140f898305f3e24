package record

import (
	"testing"

	"core5g.dev/core5g/images/session-management/n1"

	"github.com/google/go-cmp/cmp"
)

func TestSeen(t *testing.T) {
	of := func(n int) (out []n1.MAC) {
		for i := range n {
			out = append(out, n1.MAC{2, 0, 0, 0, 0, byte(i + 1)})
		}
		return out
	}
	for sentence, c := range map[string]struct {
		had               Ethernet
		detected, removed []n1.MAC
		want              Ethernet
	}{
		"the first":                         {Ethernet{}, of(2), nil, Ethernet{MACs: of(2)}},
		"one twice":                         {Ethernet{MACs: of(2)}, of(1), nil, Ethernet{MACs: of(2)}},
		"one goes":                          {Ethernet{MACs: of(2)}, nil, of(1), Ethernet{MACs: of(2)[1:]}},
		"one that was not known":            {Ethernet{MACs: of(1)}, nil, of(2)[1:], Ethernet{MACs: of(1)}},
		"as many as there is room for":      {Ethernet{}, of(MostMACs), nil, Ethernet{MACs: of(MostMACs)}},
		"one more":                          {Ethernet{}, of(MostMACs + 1), nil, Ethernet{MACs: of(MostMACs), More: true}},
		"one that comes and goes in a word": {Ethernet{}, of(1), of(1), Ethernet{MACs: []n1.MAC{}}},
	} {
		got := c.had
		got.Seen(c.detected, c.removed)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sentence, diff)
		}
	}
}

func TestMACsThatAreNone(t *testing.T) {
	for _, b := range [][]byte{{1, 2, 3, 4, 5}, make([]byte, 7), make([]byte, 6*(MostMACs+1))} {
		var m MACs
		if err := m.UnmarshalBinary(b); err == nil {
			t.Errorf("%d octets: %v", len(b), m)
		}
	}
}
