package release

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// group is the API group of every kind that this package touches.
const group, version = "core5g.dev", "v1alpha1"

// Exit statuses of Main.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// Main runs `apply` or `cleanup` (args[0]) against the cluster that config names and returns the
// exit status. What it did goes to logs, a failure's reason to stderr as its last line, so that it
// becomes the termination message of the Job's pod.
func Main(ctx context.Context, config func() (*rest.Config, error), args []string, stderr io.Writer) int {
	log := slog.New(slog.NewJSONHandler(stderr, nil))
	run, err := parse(args, stderr, log)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return exitUsage
	}
	restConfig, err := config()
	if err == nil {
		// The client's default of 20 requests a second makes many Subscribers wait.
		restConfig.QPS, restConfig.Burst = 100, 200
		var c client.Client
		if c, err = client.New(restConfig, client.Options{}); err == nil {
			err = run(ctx, c)
		}
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", args[0], err)
		return exitFailed
	}
	return exitOK
}

// parse turns a command line into what it asks for.
func parse(args []string, stderr io.Writer, log *slog.Logger) (func(context.Context, client.Client) error, error) {
	if len(args) == 0 {
		return nil, errors.New("want a sub-command: apply or cleanup")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(stderr)
	namespace := flags.String("namespace", "", "namespace of the release")
	timeout := flags.Duration("timeout", 3*time.Minute, "how long to try before giving up")
	switch args[0] {
	case "apply":
		apply := Apply{Log: log}
		flags.StringVar(&apply.Directory, "directory", "", "folder of YAML files to apply")
		flags.StringVar(&apply.Release, "release", "", "name of the Helm release, the mark of what it owns")
		if err := flags.Parse(args[1:]); err != nil {
			return nil, err
		}
		apply.Namespace, apply.Timeout = *namespace, *timeout
		if apply.Directory == "" || apply.Release == "" || apply.Namespace == "" || flags.NArg() > 0 {
			return nil, errors.New("apply: want --directory, --release and --namespace, and nothing else")
		}
		return apply.Run, nil
	case "cleanup":
		cleanup := Cleanup{Log: log}
		keep := flags.String("keep", "", "kinds to leave alone, separated by commas")
		flags.StringVar(&cleanup.Release, "release", "", "name of the Helm release that ends; what belongs to another stays")
		flags.DurationVar(&cleanup.Force, "force-timeout", 30*time.Second,
			"how long to wait once finalizers were removed by force")
		if err := flags.Parse(args[1:]); err != nil {
			return nil, err
		}
		cleanup.Namespace, cleanup.Timeout = *namespace, *timeout
		if cleanup.Namespace == "" || cleanup.Release == "" || flags.NArg() > 0 {
			return nil, errors.New("cleanup: want --release and --namespace, and nothing else")
		}
		for _, kind := range strings.FieldsFunc(*keep, func(r rune) bool { return r == ',' }) {
			if !isTeardownKind(kind) {
				return nil, fmt.Errorf("cleanup: --keep=%s: no such kind in group %s, want one of %s",
					kind, group, strings.Join(teardownOrder, ", "))
			}
			cleanup.Keep = append(cleanup.Keep, kind)
		}
		return cleanup.Run, nil
	}
	return nil, fmt.Errorf("unknown sub-command %q, want apply or cleanup", args[0])
}

func kindOf(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}
}
