package main

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// The reaper waits for all children of this process: no other test here starts one.
func TestReaperGivesEachDaemonItsOwnEnd(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh here: ", err)
	}
	children := newReaper()
	go children.run()
	start := func(script string) <-chan syscall.WaitStatus {
		t.Helper()
		status, err := children.start(shell, []string{"sh", "-c", script}, &os.ProcAttr{
			Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		})
		if err != nil {
			t.Fatal(err)
		}
		return status
	}
	three, killed := start("exit 3"), start("kill -KILL $$")
	if got := describe(<-three).Error(); got != "exit status 3" {
		t.Errorf("first child: %s, want exit status 3", got)
	}
	if got := describe(<-killed).Error(); got != "signal killed" {
		t.Errorf("second child: %s, want signal killed", got)
	}
	// With no child left it waits for the next one.
	if got := describe(<-start("exit 0")).Error(); got != "exit status 0" {
		t.Errorf("third child: %s, want exit status 0", got)
	}
}
