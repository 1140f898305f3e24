package timerslack

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// In the place of the tests: the program that is started by one.
const asProgram = "TIMERSLACK_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}
	before := prctl(getTimerSlack, 0)
	Widen()
	fmt.Println(os.Getpid(), os.Args[1:], before, prctl(getTimerSlack, 0))
	threads, _ := filepath.Glob("/proc/self/task/*")
	for _, thread := range threads {
		if b, err := os.ReadFile(filepath.Join("/proc", filepath.Base(thread), "timerslack_ns")); err == nil { // others' may be read by who has CAP_SYS_NICE
			fmt.Println(strings.TrimSpace(string(b)))
		}
	}
}

// The program goes on as the same process with the same arguments, and all of its threads have the slack, those of before main, too.
func TestWiden(t *testing.T) {
	program := exec.Command(os.Args[0], "-a", "b c")
	program.Env = append(os.Environ(), asProgram+"=1")
	out, err := program.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if want := fmt.Sprint(program.Process.Pid, []string{"-a", "b c"}, 1_000_000, 1_000_000); lines[0] != want {
		t.Errorf("it says %q, want %q", lines[0], want)
	}
	for _, slack := range lines[1:] {
		if slack != "1000000" {
			t.Errorf("a thread has a slack of %s ns", slack)
		}
	}
	t.Logf("the slack of %d threads was read", len(lines)-1)
}

// One that has begun anew does not once more.
func TestWidenOnce(t *testing.T) {
	was := prctl(getTimerSlack, 0)
	t.Setenv(begun, "1")
	Widen()
	if got := prctl(getTimerSlack, 0); got != was {
		t.Errorf("the slack is %d, and was %d", got, was)
	}
}
