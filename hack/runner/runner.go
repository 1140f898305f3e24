// Package runner runs the steps of `make up` and `make test` one after the other, says what it is
// doing while it does it, and keeps what each step printed in a log of its own.
package runner

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Step is one command, or one function, with a name that a reader understands.
type Step struct {
	Name string
	// Why is printed once while a step runs long.
	Why string
	// Command and its arguments; run in the repository's root.
	Command []string
	// Env is added to the environment.
	Env []string
	// Func runs instead of Command; what it writes goes to the step's log.
	Func func(ctx context.Context, log io.Writer) error
	// Echo copies the step's output to the terminal too.
	Echo bool
	// Limit ends a step that hangs; zero means UsualLimit.
	Limit time.Duration
}

// Result says how a step went.
type Result struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	Log     string  `json:"log,omitempty"`
	Err     error   `json:"-"`
	// Tail is what a failed step printed last.
	Tail []string `json:"-"`
}

// Runner runs steps and remembers their results.
type Runner struct {
	Out     io.Writer
	LogDir  string
	Total   int
	Results []Result

	done int
}

// UsualLimit is that of a step that says none.
const UsualLimit = 30 * time.Minute

// every how often a line is printed while a step runs long.
const (
	progressFirst = 5 * time.Second
	progressEvery = 20 * time.Second
	tailLines     = 25
	failureLines  = 12
)

// Run runs one step.
func (r *Runner) Run(ctx context.Context, step Step) Result { return r.end(r.begin(ctx, step)) }

// LeaveOut a step, and say why.
func (r *Runner) LeaveOut(step Step, why string) {
	r.done++
	fmt.Fprintf(r.Out, "%s left out: %s\n", r.prefix(step), why)
}

func (r *Runner) prefix(step Step) string {
	return fmt.Sprintf("[%2d/%d] %-34s", r.done, r.Total, step.Name)
}

// Beside begins a step that runs beside those that are run next. end waits for it, once, and says how it went.
func (r *Runner) Beside(ctx context.Context, step Step) (end func() Result) {
	x := r.begin(ctx, step)
	fmt.Fprintf(r.Out, "%s begun, beside what follows\n", x.prefix)
	return func() Result { return r.end(x) }
}

// running is a step that has begun.
type running struct {
	Step
	prefix   string
	log      *stepLog
	start    time.Time
	result   Result
	finished chan outcome
}

type outcome struct {
	err error
	at  time.Time
}

func (r *Runner) begin(ctx context.Context, step Step) *running {
	r.done++
	path := filepath.Join(r.LogDir, fmt.Sprintf("%02d-%s.log", r.done, slug(step.Name)))
	if step.Limit == 0 {
		step.Limit = UsualLimit
	}
	x := &running{
		Step: step, prefix: r.prefix(step), start: time.Now(), finished: make(chan outcome, 1),
		result: Result{Name: step.Name, Log: path},
	}
	if x.log, x.result.Err = newLog(path); x.result.Err != nil {
		return x
	}
	var sink io.Writer = x.log
	if step.Echo {
		sink = io.MultiWriter(x.log, r.Out)
	}
	go func() {
		ctx, cancel := context.WithTimeout(ctx, step.Limit)
		defer cancel()
		err := step.run(ctx, sink)
		if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("did not end within %s", step.Limit)
		}
		x.finished <- outcome{err, time.Now()}
	}()
	return x
}

func (r *Runner) end(x *running) Result {
	if x.log == nil {
		r.Results = append(r.Results, x.result)
		return x.result
	}
	var end outcome
	next := time.NewTimer(progressFirst)
	defer next.Stop()
	first := true
loop:
	for {
		select {
		case end = <-x.finished:
			break loop
		case <-next.C:
			note := x.log.last()
			if first && x.Why != "" {
				note = x.Why
			}
			first = false
			if !x.Echo {
				fmt.Fprintf(r.Out, "%s … %4.0f s  %s\n", x.prefix, time.Since(x.start).Seconds(), clip(note, 90))
			}
			next.Reset(progressEvery)
		}
	}
	x.log.close()
	result := x.result
	result.Err, result.Seconds = end.err, float64(end.at.Sub(x.start).Milliseconds())/1000
	verdict := "ok"
	if result.Err != nil {
		verdict = "FAILED"
	}
	fmt.Fprintf(r.Out, "%s %-6s %6.1f s\n", x.prefix, verdict, result.Seconds)
	if result.Err != nil {
		result.Tail = x.log.tail()
		if !x.Echo {
			what, lines := "last lines of "+result.Log, result.Tail
			// A suite goes on after a test that failed: what it printed last is of others that passed.
			if c, err := CountFile(result.Log); err == nil && len(c.FailedNames) > 0 {
				what, lines = fmt.Sprintf("failed, of %s (all of it: %s)", c, result.Log), c.FailedNames
			}
			fmt.Fprintf(r.Out, "----- %s\n%s\n-----\n", what, strings.Join(lines, "\n"))
		}
	}
	r.Results = append(r.Results, result)
	return result
}

func (s Step) run(ctx context.Context, out io.Writer) error {
	if s.Func != nil {
		return s.Func(ctx, out)
	}
	cmd := exec.CommandContext(ctx, s.Command[0], s.Command[1:]...)
	cmd.Env = append(os.Environ(), s.Env...)
	cmd.Stdout, cmd.Stderr = out, out
	// A group of its own, so that the end of a step is the end of what it started.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	// A daemon that keeps our pipe open does not make a finished step fail.
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	return err
}

// stepLog is a file that remembers its last lines.
type stepLog struct {
	mu    sync.Mutex
	file  *os.File
	buf   *bufio.Writer
	part  []byte
	lines []string
}

func newLog(path string) (*stepLog, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &stepLog{file: file, buf: bufio.NewWriter(file)}, nil
}

func (l *stepLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.part = append(l.part, p...)
	for {
		i := bytes.IndexByte(l.part, '\n')
		if i < 0 {
			break
		}
		if line := readable(string(l.part[:i])); line != "" {
			l.lines = append(l.lines, line)
			if len(l.lines) > tailLines {
				l.lines = l.lines[len(l.lines)-tailLines:]
			}
		}
		l.part = l.part[i+1:]
	}
	n, err := l.buf.Write(p)
	if err == nil {
		err = l.buf.Flush()
	}
	return n, err
}

// readable is a line as a person wants to see it: of `go test -json`, what the tests printed.
func readable(line string) string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, `{"`) {
		return line
	}
	var e testEvent
	if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
		return line
	}
	switch {
	case e.Action == "output" && !strings.HasPrefix(e.Output, "==="):
		return strings.TrimSpace(e.Output)
	case e.Action == "run":
		return e.Package + " " + e.Test
	}
	return ""
}

func (l *stepLog) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) == 0 {
		return ""
	}
	return l.lines[len(l.lines)-1]
}

func (l *stepLog) tail() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := slices.Clone(l.lines)
	if rest := strings.TrimSpace(string(l.part)); rest != "" {
		lines = append(lines, rest)
	}
	if len(lines) == 0 {
		return []string{"(it printed nothing)"}
	}
	return lines
}

func (l *stepLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf.Flush()
	l.file.Close()
}

// Failure is the name of a failed step with what ended it and, below, the last that it printed: one entry of
// Count.FailedNames, which stands at the end of a run and must explain itself there.
func (r Result) Failure() string {
	err, _, _ := strings.Cut(r.Err.Error(), "\n")
	tail := r.Tail[max(0, len(r.Tail)-failureLines):]
	lines := []string{r.Name + ": " + err}
	for _, line := range tail {
		lines = append(lines, clip(line, loggedWidth))
	}
	return strings.Join(lines, failureIndent)
}

func slug(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, name)
}

func clip(s string, n int) string {
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	return string(runes[:n-1]) + "…"
}
