// Command kubectl-core5g is the kubectl plug-in of core5g: on the path, it is `kubectl core5g`.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"core5g.dev/core5g/operators/kubectlplugin"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	os.Exit(kubectlplugin.Run(ctx, os.Args[1:], kubectlplugin.Plugin{
		In: os.Stdin, OpenFile: func(name string) (io.ReadCloser, error) { return os.Open(name) },
		Out: os.Stdout, Err: os.Stderr, Now: time.Now, Sleep: sleep,
		// Logs are in it: nobody else's business.
		Create: func(name string) (io.WriteCloser, error) {
			return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		},
	}, kubectlplugin.Connect))
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
