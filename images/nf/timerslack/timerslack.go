// Package timerslack has the kernel wake a program a little later than its timers say, and so less often.
//
// While anything is done in a program, the runtime's watcher (sysmon) looks every 20 µs, at first, whether a system call or a goroutine takes too long: a thread
// that is woken some fifty times for each burst of a few milliseconds, which a fifth of the CPU of a pod goes to that is asked for one thing at a time. A thread
// may be woken late by its timer slack (prctl(2), PR_SET_TIMERSLACK), which is 50 µs as a rule. With a millisecond the watcher wakes a tenth as often; so late come
// timers, of which none of ours is that short, and the end of a goroutine's time slice, which is ten. What comes by a socket is as fast as before.
//
// Threads have it from who begins them, and the watcher has begun before main: the program begins anew, with the slack that execve keeps.
package timerslack

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

const slack = time.Millisecond

// From linux/prctl.h.
const (
	setTimerSlack = 29
	getTimerSlack = 30
)

// begun is in the environment of a program that has begun anew, so that it does not once more, whatever the kernel says.
const begun = "CORE5G_TIMER_SLACK_SET"

// Widen the slack of all threads. It is called first of all. Where it is not to be had, all stays as it is.
func Widen() {
	if os.Getenv(begun) != "" {
		return
	}
	runtime.LockOSThread() // whose slack execve keeps
	defer runtime.UnlockOSThread()
	program, err := os.Executable()
	if err != nil || prctl(setTimerSlack, uintptr(slack)) != 0 || prctl(getTimerSlack, 0) != int(slack) {
		return
	}
	_ = syscall.Exec(program, os.Args, append(os.Environ(), begun+"=1")) // it returns only where it is not done
}

func prctl(option, value uintptr) int {
	got, _, err := syscall.RawSyscall6(syscall.SYS_PRCTL, option, value, 0, 0, 0, 0)
	if err != 0 {
		return -1
	}
	return int(got)
}
