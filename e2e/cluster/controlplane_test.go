package cluster

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestWhoseAMF(t *testing.T) {
	for name, c := range map[string]struct{ plane, amf, want, err string }{
		"nobody says":                   {"", "", Free5GC, ""},
		"core5g's SMF alone":            {Core5G, "", Free5GC, ""},
		"core5g's own":                  {Core5G, Core5G, Core5G, ""},
		"free5GC's":                     {Core5G, Free5GC, Free5GC, ""},
		"core5g's beside free5GC's SMF": {"", Core5G, "", "AMF=Core5G needs CONTROL_PLANE=Core5G"},
		"an AMF that is none":           {Core5G, "own", "", `AMF is "own": write Free5GC or Core5G`},
		"a control plane that is none":  {"own", "", "", `CONTROL_PLANE is "own"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("CONTROL_PLANE", c.plane)
			t.Setenv("AMF", c.amf)
			got, err := AMF()
			if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %q, %v, want %q, %q", got, err, c.want, c.err)
			}
		})
	}
}

func TestControlPlaneValues(t *testing.T) {
	for name, c := range map[string]struct{ values, plane, amf, want string }{
		"from nothing":          {`{}`, Core5G, Core5G, `{"core":{"spec":{"amf":{"workers":2},"controlPlane":"Core5G"}}}`},
		"the rest stays":        {`{"core":{"name":"x","spec":{"amf":{"name":"y"}}},"upf":{}}`, Core5G, Core5G, `{"core":{"name":"x","spec":{"amf":{"name":"y","workers":2},"controlPlane":"Core5G"}},"upf":{}}`},
		"free5GC's AMF again":   {`{"core":{"spec":{"amf":{"name":"y","workers":2}}}}`, Core5G, Free5GC, `{"core":{"spec":{"amf":{"name":"y"},"controlPlane":"Core5G"}}}`},
		"free5GC's SMF as well": {`{"core":{"spec":{"amf":{"workers":2}}}}`, Free5GC, Core5G, `{"core":{"spec":{"amf":{},"controlPlane":"Free5GC"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			values := map[string]any{}
			if err := json.Unmarshal([]byte(c.values), &values); err != nil {
				t.Fatal(err)
			}
			ControlPlaneValues(values, c.plane, c.amf)
			if got, err := json.Marshal(values); err != nil || string(got) != c.want {
				t.Errorf("got %s, %v, want %s", got, err, c.want)
			}
		})
	}
}
