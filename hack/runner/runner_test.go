package runner

import (
	"context"
	"io"
	"strings"
	"testing"
)

// The end of a run is all that some readers see: a failed step says there what it printed last.
func TestFailureCarriesWhatTheStepPrinted(t *testing.T) {
	r := &Runner{Out: io.Discard, LogDir: t.TempDir(), Total: 1}
	result := r.Run(context.Background(), Step{
		Name:    "make down",
		Command: []string{"sh", "-c", "seq 1 40; echo left: a mount >&2; exit 3"},
	})
	if result.Err == nil {
		t.Fatal("a command that ended with 3 passed")
	}
	lines := strings.Split(result.Failure(), failureIndent)
	if lines[0] != "make down: exit status 3" || lines[len(lines)-1] != "left: a mount" || len(lines) != failureLines+1 {
		t.Errorf("the failure reads %q", lines)
	}
	silent := r.Run(context.Background(), Step{Name: "silent", Command: []string{"false"}})
	if got, want := silent.Failure(), "silent: exit status 1"+failureIndent+"(it printed nothing)"; got != want {
		t.Errorf("the failure reads %q, want %q", got, want)
	}
}
