// Package subscribers is the command `subscriber-data subscribers`: it writes and reads the subscribers of a core's database. It runs in a pod of the
// functions, which knows the database, and `kubectl core5g subscribers` is what runs it there.
//
//	command.go    what is asked for
//	import.go     many, from CSV or manifests (input.go, csv.go, manifests.go)
//	change.go     get, set, delete
//	output.go     CSV and manifests
package subscribers

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"core5g.dev/core5g/images/subscriber-data/postgresql"
)

// Usage of the command.
const Usage = `subscribers import [-check]           from standard input: CSV or manifests of Subscribers and Secrets
subscribers export [-format csv|yaml] [-keys]
subscribers get [-format csv|yaml] [-keys] SUPI …
subscribers set [-barred=true|false] [-gpsi X] [-slices "A B"] [-uplink R] [-downlink R] [-amf X] [-keys] SUPI
                                      -keys reads k=… and opc=… (or op=…) from standard input
subscribers delete SUPI …
subscribers reseal                    seals all keys with the key that new ones are sealed with
subscribers schema                    the SQL that makes the schema`

// Command is one call of the command.
type Command struct {
	In       io.Reader
	Out, Err io.Writer
	// Open returns the database.
	Open func() (*postgresql.Database, error)
	Now  func() time.Time

	format, gpsi, slices, uplink, downlink, amf string
	keys, check, barred                         bool
	given                                       map[string]bool
}

// IsCommand says whether arguments of the program are this command.
func IsCommand(args []string) bool { return len(args) > 0 && args[0] == "subscribers" }

// RunCommand runs it with the process's own input, and the database that the environment names.
func RunCommand(ctx context.Context, args []string, out io.Writer) error {
	c := &Command{In: os.Stdin, Out: out, Err: os.Stderr, Now: time.Now, Open: func() (*postgresql.Database, error) {
		directory := os.Getenv(postgresql.DirectoryEnv)
		if directory == "" {
			return nil, errors.New("this core has no database of subscribers: write subscriberData: PostgreSQL and subscriberDatabase into the Core5G, or kubectl apply Subscribers")
		}
		return postgresql.Open(postgresql.Directory(directory))
	}}
	return c.Run(ctx, args[1:])
}

// of the actions, the flags that they have and whether SUPIs follow.
var actions = map[string]struct {
	run   func(*Command, context.Context, *postgresql.Database, []string) error
	flags []string
	supis int // at most so many; 0 for none
}{
	"import": {(*Command).importAll, []string{"check"}, 0},
	"export": {(*Command).export, []string{"format", "keys"}, 0},
	"get":    {(*Command).get, []string{"format", "keys"}, maxSUPIs},
	"set":    {(*Command).set, []string{"barred", "gpsi", "slices", "uplink", "downlink", "amf", "keys"}, 1},
	"delete": {(*Command).remove, nil, maxSUPIs},
	"reseal": {(*Command).reseal, nil, 0},
}

// maxSUPIs on one command line.
const maxSUPIs = 1000

// Run carries out an action.
func (c *Command) Run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("which action?\n" + Usage)
	}
	name := args[0]
	if name == "schema" {
		_, err := io.WriteString(c.Out, postgresql.Schema())
		return err
	}
	action, known := actions[name]
	if !known {
		return fmt.Errorf("there is no action %q\n%s", name, Usage)
	}
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&c.format, "format", "", "")
	f.BoolVar(&c.keys, "keys", false, "")
	f.BoolVar(&c.check, "check", false, "")
	f.BoolVar(&c.barred, "barred", false, "")
	f.StringVar(&c.gpsi, "gpsi", "", "")
	f.StringVar(&c.slices, "slices", "", "")
	f.StringVar(&c.uplink, "uplink", "", "")
	f.StringVar(&c.downlink, "downlink", "", "")
	f.StringVar(&c.amf, "amf", "", "")
	if err := f.Parse(args[1:]); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, Usage)
	}
	c.given = map[string]bool{}
	f.Visit(func(set *flag.Flag) { c.given[set.Name] = true })
	for flag := range c.given {
		if !slices.Contains(action.flags, flag) {
			return fmt.Errorf("%s has no flag -%s\n%s", name, flag, Usage)
		}
	}
	if n := f.NArg(); n > action.supis || n == 0 && action.supis > 0 {
		return fmt.Errorf("%s: %d arguments: write %s\n%s", name, n, map[int]string{0: "none", 1: "one SUPI", maxSUPIs: "1 to 1000 SUPIs"}[action.supis], Usage)
	}
	if !slices.Contains([]string{"", formatCSV, formatYAML}, c.format) {
		return fmt.Errorf("-format %q: write csv or yaml", c.format)
	}
	supis, err := supisOf(f.Args())
	if err != nil {
		return err
	}
	database, err := c.Open()
	if err != nil {
		return err
	}
	defer database.Close()
	if err := database.Prepare(ctx); err != nil {
		return errors.New(postgresql.Explain(err))
	}
	return action.run(c, ctx, database, supis)
}
