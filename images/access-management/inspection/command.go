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
	uesCommand = "ues"
	ueCommand  = "ue"
)

const usage = `access-management ues   UEs of the workers' shards, as JSON, whichever worker holds them
    -slice 1-010203 -gnb ID -tac 000001 -state connected|idle -supi SUPI   only those
    -limit 1000                         so many; "next" in the answer says that there are more
    -cursor NEXT                        those behind
access-management ue SUPI   one in full
    -pod NAME                           the pod to ask, of those whose network this is [$POD_NAME]
` + program + onlookers.TraceUsage

// IsCommand says whether the arguments are for RunCommand.
func IsCommand(args []string) bool {
	return len(args) > 0 && (args[0] == uesCommand || args[0] == ueCommand || args[0] == onlookers.TraceCommand)
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
	if args[0] == uesCommand {
		f.StringVar(&q.Slice, "slice", "", "")
		f.StringVar(&q.GNB, "gnb", "", "")
		f.StringVar(&q.TAC, "tac", "", "")
		f.StringVar(&q.State, "state", "", "")
		f.StringVar(&q.SUPI, "supi", "", "")
		f.StringVar(&q.Cursor, "cursor", "", "")
		f.IntVar(&q.Limit, "limit", 2*onlookers.MostListed, "")
	}
	if err := f.Parse(args[1:]); errors.Is(err, flag.ErrHelp) {
		_, err := fmt.Fprintln(out, usage)
		return err
	} else if err != nil {
		return fmt.Errorf("%w\n%s", err, usage)
	}
	c := client{onlookers.NewClient(program, pod)}
	if args[0] == uesCommand {
		if f.NArg() > 0 || q.Limit < 1 {
			return fmt.Errorf("unexpected argument %q, or a limit below 1\n%s", f.Arg(0), usage)
		}
		page, err := c.list(ctx, q)
		if err != nil {
			return err
		}
		return onlookers.Write(out, page)
	}
	if f.NArg() != 1 || f.Arg(0) == "" {
		return fmt.Errorf("write a SUPI, for example imsi-208930000000001\n%s", usage)
	}
	var story Story
	if err := c.Get(ctx, "/ues/"+url.PathEscape(f.Arg(0)), &story); err != nil {
		return err
	}
	return onlookers.Write(out, story)
}

type client struct{ onlookers.Client }

// list pages until there are enough.
func (c client) list(ctx context.Context, q Query) (Page, error) {
	all := Page{UEs: []UE{}, Next: q.Cursor}
	for {
		var page Page
		query := map[string]string{"slice": q.Slice, "gnb": q.GNB, "tac": q.TAC, "state": q.State, "supi": q.SUPI, "cursor": all.Next}
		if err := c.GetPage(ctx, "/ues", q.Limit-len(all.UEs), query, &page); err != nil {
			return Page{}, err
		}
		all.UEs, all.Next = append(all.UEs, page.UEs...), page.Next
		if all.Next == "" || len(all.UEs) >= q.Limit {
			return all, nil
		}
	}
}
