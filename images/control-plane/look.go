package controlplane

import (
	"context"
	"fmt"
	"io"

	ues "core5g.dev/core5g/images/access-management/inspection"
	"core5g.dev/core5g/images/onlookers"
	sessions "core5g.dev/core5g/images/session-management/inspection"
)

// Look is what people ask for in the place of the program, and nil where the arguments are the program's own. `sessions`, `session`, `ues` and `ue` are of
// one part. AMF and SMF trace each for themselves: behind `trace`, `-part amf` or `-part smf` says which is asked.
func Look(args []string) func(ctx context.Context, args []string, out io.Writer) error {
	switch {
	case len(args) > 0 && args[0] == onlookers.TraceCommand:
		return trace
	case sessions.IsCommand(args):
		return sessions.RunCommand
	case ues.IsCommand(args):
		return ues.RunCommand
	}
	return nil
}

// tracing are the parts that do, by their names in metrics.
var tracing = map[string]func(context.Context, []string, io.Writer) error{"amf": ues.RunCommand, "smf": sessions.RunCommand}

func trace(ctx context.Context, args []string, out io.Writer) error {
	if len(args) < 3 || args[1] != "-part" || tracing[args[2]] == nil {
		return fmt.Errorf("AMF and SMF trace each for themselves: write %s -part amf or %[1]s -part smf, and then what there is to say", onlookers.TraceCommand)
	}
	return tracing[args[2]](ctx, append([]string{args[0]}, args[3:]...), out)
}
