package inspection

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"

	"core5g.dev/core5g/images/onlookers"
)

// Commands of the program that look instead of serving.
const (
	sessionsCommand = "sessions"
	sessionCommand  = "session"
)

const usage = `session-management sessions   PDU sessions of the pod's shards, as JSON, whichever pod holds them
    -slice NAME -unit NAME -supi SUPI   only those
    -limit 1000                         so many; "next" in the answer says that there are more
    -cursor NEXT                        those behind
session-management session SUPI/ID   one in full
    -pod NAME                           the pod to ask, of those whose network this is [$POD_NAME]
` + program + onlookers.TraceUsage

// IsCommand says whether the arguments are for RunCommand.
func IsCommand(args []string) bool {
	return len(args) > 0 && (args[0] == sessionsCommand || args[0] == sessionCommand || args[0] == onlookers.TraceCommand)
}

// RunCommand carries out one of them. Its error says what to write instead where the arguments cannot be understood.
func RunCommand(ctx context.Context, args []string, out io.Writer) error {
	if args[0] == onlookers.TraceCommand {
		return onlookers.RunTrace(ctx, program, args[1:], out)
	}
	var q Query
	var pod string
	f := flag.NewFlagSet(args[0], flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&pod, "pod", os.Getenv("POD_NAME"), "")
	if args[0] == sessionsCommand {
		f.StringVar(&q.Slice, "slice", "", "")
		f.StringVar(&q.Unit, "unit", "", "")
		f.StringVar(&q.SUPI, "supi", "", "")
		f.StringVar(&q.Cursor, "cursor", "", "")
		f.IntVar(&q.Limit, "limit", 2*MostListed, "")
	}
	if err := f.Parse(args[1:]); errors.Is(err, flag.ErrHelp) {
		_, err := fmt.Fprintln(out, usage)
		return err
	} else if err != nil {
		return fmt.Errorf("%w\n%s", err, usage)
	}
	c := client{onlookers.NewClient(program, pod)}
	if args[0] == sessionsCommand {
		if f.NArg() > 0 || q.Limit < 1 {
			return fmt.Errorf("unexpected argument %q, or a limit below 1\n%s", f.Arg(0), usage)
		}
		page, err := c.list(ctx, q)
		if err != nil {
			return err
		}
		return onlookers.Write(out, page)
	}
	supi, id, ok := onlookers.CutSession(f.Arg(0))
	if !ok || f.NArg() != 1 {
		return fmt.Errorf("write SUPI/ID, for example imsi-208930000000001/1\n%s", usage)
	}
	var story Story
	if err := c.Get(ctx, "/sessions/"+url.PathEscape(supi)+"/"+url.PathEscape(id), &story); err != nil {
		return err
	}
	return onlookers.Write(out, story)
}

type client struct{ onlookers.Client }

// list pages until there are enough.
func (c client) list(ctx context.Context, q Query) (Page, error) {
	all := Page{Sessions: []Session{}, Next: q.Cursor}
	for {
		var page Page
		query := map[string]string{"slice": q.Slice, "unit": q.Unit, "supi": q.SUPI, "cursor": all.Next}
		if err := c.GetPage(ctx, "/sessions", q.Limit-len(all.Sessions), query, &page); err != nil {
			return Page{}, err
		}
		all.Sessions, all.Next = append(all.Sessions, page.Sessions...), page.Next
		if all.Next == "" || len(all.Sessions) >= q.Limit {
			return all, nil
		}
	}
}
