// Package subscribers is the command `subscriber-data subscribers`: it writes and reads the subscribers of a core's database. It runs in a pod of the
// functions, which knows the database, and `kubectl core5g subscribers` is what runs it there.
//
//	command.go    what is asked for
//	import.go     many, from CSV or manifests (input.go, csv.go, manifests.go)
//	change.go     get, set, delete
//	claims.go     what only one subscriber may have, compared with rows and with Subscriber objects
//	objects.go    the core's objects, which rows are judged by as Subscribers are
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

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"core5g.dev/core5g/images/subscriber-data/postgresql"
	"core5g.dev/core5g/images/subscriberdatabase"
	"core5g.dev/core5g/images/subscriberdatabase/subscribercommand"
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
	// Cluster has the objects of the core that is named with it; nil: there are none.
	Cluster func() (client.Reader, types.NamespacedName, error)

	subscribercommand.Flags
	given map[string]bool
}

// IsCommand says whether arguments of the program are this command.
func IsCommand(args []string) bool { return len(args) > 0 && args[0] == "subscribers" }

// RunCommand runs it with the process's own input, and the database that the environment names.
func RunCommand(ctx context.Context, args []string, out io.Writer) error {
	c := &Command{In: os.Stdin, Out: out, Err: os.Stderr, Now: time.Now, Cluster: clusterOf(os.Getenv(subscriberdatabase.CoreEnv)), Open: func() (*postgresql.Database, error) {
		directory := os.Getenv(subscriberdatabase.DirectoryEnv)
		if directory == "" {
			return nil, errors.New("this core has no database of subscribers: write subscriberData: PostgreSQL and subscriberDatabase into the Core5G, or kubectl apply Subscribers")
		}
		return postgresql.Open(subscriberdatabase.Directory(directory))
	}}
	return c.Run(ctx, args[1:])
}

// run has what the actions do, but schema, which wants no database.
var run = map[string]func(*Command, context.Context, *postgresql.Database, []string) error{
	subscribercommand.Import: (*Command).importAll, subscribercommand.Export: (*Command).export, subscribercommand.Get: (*Command).get, subscribercommand.Set: (*Command).set,
	subscribercommand.Delete: (*Command).remove, subscribercommand.Reseal: (*Command).reseal,
}

// Run carries out an action.
func (c *Command) Run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("which action?\n" + Usage)
	}
	name := args[0]
	action, known := subscribercommand.Find(name)
	if !known {
		return fmt.Errorf("there is no action %q\n%s", name, Usage)
	}
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	c.Define(f)
	if err := f.Parse(args[1:]); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, Usage)
	}
	c.given = map[string]bool{}
	f.Visit(func(set *flag.Flag) { c.given[set.Name] = true })
	for flag := range c.given {
		if !slices.Contains(action.Flags, flag) {
			return fmt.Errorf("%s has no flag -%s\n%s", name, flag, Usage)
		}
	}
	if n := f.NArg(); n > action.SUPIs || n == 0 && action.SUPIs > 0 {
		return fmt.Errorf("%s: %d arguments: write %s\n%s", name, n, map[int]string{0: "none", 1: "one SUPI", subscribercommand.MaxSUPIs: "1 to 1000 SUPIs"}[action.SUPIs], Usage)
	}
	if !slices.Contains([]string{"", formatCSV, formatYAML}, c.Format) {
		return fmt.Errorf("-format %q: write csv or yaml", c.Format)
	}
	supis, err := supisOf(f.Args())
	if err != nil {
		return err
	}
	if name == subscribercommand.Schema {
		_, err := io.WriteString(c.Out, subscriberdatabase.Schema())
		return err
	}
	database, err := c.Open()
	if err != nil {
		return err
	}
	defer database.Close()
	if err := database.Prepare(ctx); err != nil {
		return errors.New(subscriberdatabase.Explain(err))
	}
	return run[name](c, ctx, database, supis)
}
