package runner

import (
	"context"
	"io"
	"path/filepath"
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

// A test that failed early in a suite is not hidden by those that passed after it.
func TestFailedTestsArePrintedAtTheirStep(t *testing.T) {
	var out strings.Builder
	r := &Runner{Out: &out, LogDir: t.TempDir(), Total: 1}
	events := `{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:3: the phone is not attached\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:4: all is well\n"}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"fail","Package":"p"}`
	r.Run(context.Background(), Step{Name: "suite", Command: []string{"sh", "-c", `printf '%s\n' "$EVENTS"; exit 1`}, Env: []string{"EVENTS=" + events}})
	for _, want := range []string{"p TestA", "a_test.go:3: the phone is not attached", "1 passed, 1 failed, 0 skipped"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in what was printed:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "all is well") {
		t.Errorf("what a test that passed said is in what was printed:\n%s", out.String())
	}
}

// A step beside others is waited for by who ends it, and fails as any does.
func TestBeside(t *testing.T) {
	var out strings.Builder
	r := &Runner{Out: &out, LogDir: t.TempDir(), Total: 2}
	file := filepath.Join(t.TempDir(), "go on")
	end := r.Beside(context.Background(), Step{Name: "linters", Command: []string{"sh", "-c", "until test -e \"$FILE\"; do sleep 0.01; done; echo found; exit 1"}, Env: []string{"FILE=" + file}})
	if result := r.Run(context.Background(), Step{Name: "alerts", Command: []string{"touch", file}}); result.Err != nil {
		t.Fatal(result.Err)
	}
	if result := end(); result.Err == nil || result.Name != "linters" || strings.Join(result.Tail, " ") != "found" {
		t.Errorf("the step beside ended with %+v", result)
	}
	for _, want := range []string{"[ 1/2] linters", "begun, beside what follows", "[ 2/2] alerts", "FAILED"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in what was printed:\n%s", want, out.String())
		}
	}
	if len(r.Results) != 2 || r.Results[1].Name != "linters" {
		t.Errorf("the results are %+v", r.Results)
	}
}
