package subscribercommand

import (
	"slices"
	"testing"
)

func TestActionsHaveFlagsThatAreDefined(t *testing.T) {
	used := map[string]bool{}
	for _, a := range Actions() {
		for _, name := range a.Flags {
			if !slices.Contains(FlagNames(), name) {
				t.Errorf("%s has flag -%s, which is not defined", a.Name, name)
			}
			used[name] = true
		}
	}
	for _, name := range FlagNames() {
		if !used[name] {
			t.Errorf("no action has flag -%s", name)
		}
	}
}

func TestActionsAreFoundByName(t *testing.T) {
	if a, there := Find(Set); !there || a.SUPIs != 1 {
		t.Errorf("set is %+v, %v", a, there)
	}
	if _, there := Find("list"); there {
		t.Error("there is an action list")
	}
	if got, want := Names(), "import, export, get, set, delete, reseal or schema"; got != want {
		t.Errorf("they are %q, want %q", got, want)
	}
}
