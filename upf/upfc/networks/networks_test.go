package networks

import (
	"testing"

	"core5g.dev/core5g/upf/abi"
)

func hello(names ...string) *abi.Hello {
	h := &abi.Hello{Networks: uint32(len(names))}
	for i, name := range names {
		copy(h.Network[i].Name[:], name)
	}
	return h
}

func TestFind(t *testing.T) {
	for _, c := range []struct {
		has, name string
		list      List
		want      uint16
		found     bool
	}{
		{"names", "ims", Of(hello("internet", "ims")), 1, true},
		{"names", "mec", Of(hello("internet", "ims")), 0, false},
		{"names", "", Of(hello("internet", "ims")), 0, false},
		{"one for the rest", "mec", Of(hello("internet", "", "ims")), 1, true},
		{"one for the rest", "ims", Of(hello("internet", "", "ims")), 2, true},
		{"one for the rest", "", Of(hello("internet", "")), 1, true},
		{"one for all", "any", Of(hello("")), 0, true},
		{"nothing said", "any", Of(hello()), 0, true},
		{"not met yet", "any", nil, 0, true},
	} {
		if got, found := c.list.Find(c.name); got != c.want || found != c.found {
			t.Errorf("%s: network instance %q: %d, %t, want %d, %t", c.has, c.name, got, found, c.want, c.found)
		}
	}
}

func TestPort(t *testing.T) {
	list := Of(hello("", "ims"))
	for port, want := range map[int]string{abi.PortN3: "n3", abi.PortN9: "n9", abi.PortN6: "n6", abi.PortN6 + 1: "n6:ims", abi.PortN6 + 2: ""} {
		if got, ok := list.Port(port); got.String() != want || ok != (want != "") {
			t.Errorf("port %d is %s, want %q", port, got, want)
		}
	}
	if got, ok := List(nil).Port(abi.PortN6); !ok || got.String() != "n6" {
		t.Errorf("without a list N6 is %s", got)
	}
}
