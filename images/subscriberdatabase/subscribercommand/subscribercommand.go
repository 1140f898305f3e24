// Package subscribercommand says what the command `subscribers` understands: in a pod of the subscriber data functions, which carries it out, and in
// `kubectl core5g`, which passes it on.
package subscribercommand

import (
	"flag"
	"slices"
	"strings"
)

// Actions of the command.
const (
	Import = "import"
	Export = "export"
	Get    = "get"
	Set    = "set"
	Delete = "delete"
	Reseal = "reseal"
	Schema = "schema"
)

// MaxSUPIs on one command line.
const MaxSUPIs = 1000

// Action is one of them: the flags that it has, and how many SUPIs follow at most; where that is not 0, at least one.
type Action struct {
	Name  string
	Flags []string
	SUPIs int
}

// Actions in the order in which they are told.
func Actions() []Action {
	return []Action{
		{Import, []string{"check"}, 0},
		{Export, []string{"format", "keys"}, 0},
		{Get, []string{"format", "keys"}, MaxSUPIs},
		{Set, []string{"barred", "gpsi", "slices", "uplink", "downlink", "amf", "keys"}, 1},
		{Delete, nil, MaxSUPIs},
		{Reseal, nil, 0},
		{Schema, nil, 0},
	}
}

// Find an action by its name.
func Find(name string) (Action, bool) {
	all := Actions()
	i := slices.IndexFunc(all, func(a Action) bool { return a.Name == name })
	if i < 0 {
		return Action{}, false
	}
	return all[i], true
}

// Names of the actions, for a person.
func Names() string {
	var names []string
	for _, a := range Actions() {
		names = append(names, a.Name)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Flags of all actions.
type Flags struct {
	Keys, Check, Barred                         bool
	Format, GPSI, Slices, Uplink, Downlink, AMF string
}

// Define the flags.
func (x *Flags) Define(f *flag.FlagSet) {
	f.StringVar(&x.Format, "format", "", "")
	f.BoolVar(&x.Keys, "keys", false, "")
	f.BoolVar(&x.Check, "check", false, "")
	f.BoolVar(&x.Barred, "barred", false, "")
	f.StringVar(&x.GPSI, "gpsi", "", "")
	f.StringVar(&x.Slices, "slices", "", "")
	f.StringVar(&x.Uplink, "uplink", "", "")
	f.StringVar(&x.Downlink, "downlink", "", "")
	f.StringVar(&x.AMF, "amf", "", "")
}

// FlagNames are those of Flags.
func FlagNames() (names []string) {
	f := flag.NewFlagSet("", flag.ContinueOnError)
	new(Flags).Define(f)
	f.VisitAll(func(defined *flag.Flag) { names = append(names, defined.Name) })
	return names
}
