// Package scene is what the suites share around each of their tests: its time, and what a person would look
// at first when it has failed.
package scene

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
)

// Main runs a suite where the environment variable says that it has a cluster; run opens it, and tells how the
// tests ended. Without it every test skips itself by name.
func Main(m *testing.M, variable string, run func(*testing.M) (int, error)) {
	if os.Getenv(variable) == "" {
		os.Exit(m.Run())
	}
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// Begin is the context of a test that may take so long. If the test fails, explain is called at its end.
func Begin(t *testing.T, limit time.Duration, explain func(*testing.T)) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	t.Cleanup(func() {
		if t.Failed() {
			explain(t)
		}
	})
	return ctx
}

// Show prints the last lines of what each kubectl command says. Not by t.Log: what the test itself has said
// stays recognisable, for the summary of hack/test repeats it.
func Show(t *testing.T, ctx context.Context, k *cluster.Cluster, last int, commands ...[]string) {
	t.Helper()
	for _, args := range commands {
		out, err := k.Run(ctx, args...)
		if err != nil {
			out = err.Error()
		}
		lines := strings.Split(strings.TrimRight(out, "\n"), "\n")
		fmt.Fprintf(t.Output(), "kubectl %s\n%s\n", strings.Join(args, " "), strings.Join(lines[max(len(lines)-last, 0):], "\n"))
	}
}

// Check ends the test at an error.
func Check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Must is the value, or the end of the test at the error that came with it.
func Must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		Check(t, err)
		return v
	}
}
