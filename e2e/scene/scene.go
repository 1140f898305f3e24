// Package scene is what the suites share around each of their tests: its time, and what a person would look
// at first when it has failed.
package scene

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// Show prints the last lines of what each kubectl command says, keeps the logs of the core's pods, which often do not live
// as long as who wants to read them, and prints what AMF and SMF said last. Not by t.Log: what the test itself has said
// stays recognisable, for the summary of hack/test repeats it.
func Show(t *testing.T, ctx context.Context, k *cluster.Cluster, last int, commands ...[]string) {
	t.Helper()
	for _, args := range commands {
		out, err := k.Run(ctx, args...)
		if err != nil {
			out = err.Error()
		}
		fmt.Fprintf(t.Output(), "kubectl %s\n%s\n", strings.Join(args, " "), tail(out, last))
	}
	keepLogs(t, ctx, k)
}

// keepLogs writes the logs of the core's pods below out/logs/e2e.
func keepLogs(t *testing.T, ctx context.Context, k *cluster.Cluster) {
	t.Helper()
	dir := filepath.Join(k.Root, "out/logs/e2e", unsafe.ReplaceAllString(t.Name(), "_"))
	pods, err := k.Pods(ctx, "app.kubernetes.io/name=core5g")
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		fmt.Fprintln(t.Output(), "no logs are kept:", err)
		return
	}
	for _, pod := range pods {
		name := pod.Metadata.Name
		out, err := k.Run(ctx, "logs", name, "--all-containers", "--prefix", "--tail=5000")
		if err != nil {
			out += err.Error()
		}
		if err := os.WriteFile(filepath.Join(dir, name+".log"), []byte(out), 0o644); err != nil {
			fmt.Fprintln(t.Output(), err)
		}
		if component := pod.Metadata.Labels["app.kubernetes.io/component"]; slices.Contains([]string{"amf", "smf", "control-plane"}, component) {
			fmt.Fprintf(t.Output(), "%s said last\n%s\n", name, tail(out, loggedLast))
		}
	}
	fmt.Fprintln(t.Output(), "logs of all pods are in", dir)
}

const loggedLast = 8

// tail is the last so many lines of a text.
func tail(text string, last int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(len(lines)-last, 0):], "\n")
}

// unsafe are characters of a test's name that a file's name is better without.
var unsafe = regexp.MustCompile(`[^\w.-]+`)

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
