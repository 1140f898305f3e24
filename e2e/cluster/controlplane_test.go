package cluster

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestWhoseControlPlane(t *testing.T) {
	for name, c := range map[string]struct{ said, want, err string }{
		"nobody says":    {"", Core5G, ""},
		"core5g's own":   {Core5G, Core5G, ""},
		"free5GC's":      {Free5GC, Free5GC, ""},
		"one that is no": {"own", "", `CONTROL_PLANE is "own": write Core5G or Free5GC`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("CONTROL_PLANE", c.said)
			got, err := ControlPlane()
			if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %q, %v, want %q, %q", got, err, c.want, c.err)
			}
		})
	}
}

func TestWhichLayout(t *testing.T) {
	for name, c := range map[string]struct{ plane, said, want, err string }{
		"nobody says":                {"", "", Distributed, ""},
		"pods of their own":          {Free5GC, Distributed, Distributed, ""},
		"one pod":                    {"", Fused, Fused, ""},
		"one pod of free5GC's":       {Free5GC, Fused, "", "LAYOUT=Fused needs CONTROL_PLANE=Core5G"},
		"a layout that there is not": {"", "fused", "", `LAYOUT is "fused": write Distributed or Fused`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("CONTROL_PLANE", c.plane)
			t.Setenv("LAYOUT", c.said)
			got, err := Layout()
			if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %q, %v, want %q, %q", got, err, c.want, c.err)
			}
		})
	}
}

func TestComponentOf(t *testing.T) {
	for name, c := range map[string]struct{ layout, component, want string }{
		"pods of their own":            {Distributed, "smf", "smf"},
		"one pod for AMF and SMF":      {Fused, "smf", "control-plane"},
		"the store has its pod":        {Fused, "session-store", "session-store"},
		"a function that there is not": {Fused, "nrf", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ComponentOf(c.layout, c.component); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestControlPlaneValues(t *testing.T) {
	for name, c := range map[string]struct{ values, plane, layout, want string }{
		"from nothing":   {`{}`, Core5G, Distributed, `{"core":{"spec":{"amf":{"workers":2},"controlPlane":"Core5G","layout":"Distributed"}}}`},
		"the rest stays": {`{"core":{"name":"x","spec":{"amf":{"name":"y"}}},"upf":{}}`, Core5G, Fused, `{"core":{"name":"x","spec":{"amf":{"name":"y","workers":2},"controlPlane":"Core5G","layout":"Fused"}},"upf":{}}`},
		"free5GC's, which know less": {`{"core":{"spec":{"amf":{"name":"y","workers":2,"shards":8},"sessionManagement":{"replicas":3}}}}`, Free5GC, Distributed,
			`{"core":{"spec":{"amf":{"name":"y"},"controlPlane":"Free5GC","layout":"Distributed"}}}`},
		"free5GC's from nothing": {`{}`, Free5GC, Distributed, `{"core":{"spec":{"controlPlane":"Free5GC","layout":"Distributed"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			values := map[string]any{}
			if err := json.Unmarshal([]byte(c.values), &values); err != nil {
				t.Fatal(err)
			}
			ControlPlaneValues(values, c.plane, c.layout)
			if got, err := json.Marshal(values); err != nil || string(got) != c.want {
				t.Errorf("got %s, %v, want %s", got, err, c.want)
			}
		})
	}
}
