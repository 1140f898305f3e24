package pod

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
)

func TestHowAProgramEnds(t *testing.T) {
	parse := func(args []string, output io.Writer) (Config, error) {
		c := Config{LogLevel: slog.LevelError + 1}
		f := flag.NewFlagSet("test", flag.ContinueOnError)
		f.SetOutput(output)
		c.Flags(f)
		return c, Parse(f, args)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, x := range map[string]struct {
		ctx  context.Context
		args []string
		run  error
		want int
		says string
	}{
		"well":                               {ctx: t.Context()},
		"asked for its flags":                {ctx: t.Context(), args: []string{"-h"}, says: "-log-level"},
		"by a command line it does not know": {ctx: t.Context(), args: []string{"-x"}, want: 2, says: "test: flag provided but not defined: -x"},
		"by an error":                        {ctx: t.Context(), run: errors.New("no store"), want: 1},
		"by what others cancelled":           {ctx: t.Context(), run: context.Canceled, want: 1},
		"by its end":                         {ctx: cancelled, run: fmt.Errorf("waiting: %w", context.Canceled)},
		"by an error at its end":             {ctx: cancelled, run: errors.New("not given up"), want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			got := start(x.ctx, "test", x.args, &out, parse, func(context.Context, Config, *slog.Logger) error { return x.run })
			if got != x.want || !strings.Contains(out.String(), x.says) {
				t.Errorf("status %d, want %d; it says %q, want %q", got, x.want, out.String(), x.says)
			}
		})
	}
}
