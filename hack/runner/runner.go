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
	// Limit ends a step that hangs; zero means 30 minutes.
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

// every how often a line is printed while a step runs long.
const (
	progressFirst = 5 * time.Second
	progressEvery = 20 * time.Second
	tailLines     = 25
	failureLines  = 12
)

// Run runs one step.
func (r *Runner) Run(ctx context.Context, step Step) Result {
	r.done++
	prefix := fmt.Sprintf("[%2d/%d] %-34s", r.done, r.Total, step.Name)
	limit := step.Limit
	if limit == 0 {
		limit = 30 * time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	path := filepath.Join(r.LogDir, fmt.Sprintf("%02d-%s.log", r.done, slug(step.Name)))
	result := Result{Name: step.Name, Log: path}
	log, err := newLog(path)
	if err != nil {
		result.Err = err
		r.Results = append(r.Results, result)
		return result
	}
	var sink io.Writer = log
	if step.Echo {
		sink = io.MultiWriter(log, r.Out)
	}

	start := time.Now()
	finished := make(chan error, 1)
	go func() { finished <- step.run(ctx, sink) }()
	next := time.NewTimer(progressFirst)
	defer next.Stop()
	first := true
loop:
	for {
		select {
		case result.Err = <-finished:
			break loop
		case <-next.C:
			note := log.last()
			if first && step.Why != "" {
				note = step.Why
			}
			first = false
			if !step.Echo {
				fmt.Fprintf(r.Out, "%s … %4.0f s  %s\n", prefix, time.Since(start).Seconds(), clip(note, 90))
			}
			next.Reset(progressEvery)
		}
	}
	log.close()
	result.Seconds = float64(time.Since(start).Milliseconds()) / 1000
	verdict := "ok"
	if result.Err != nil {
		verdict = "FAILED"
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			result.Err = fmt.Errorf("did not end within %s", limit)
		}
	}
	fmt.Fprintf(r.Out, "%s %-6s %6.1f s\n", prefix, verdict, result.Seconds)
	if result.Err != nil {
		result.Tail = log.tail()
		if !step.Echo {
			what, lines := "last lines of "+path, result.Tail
			// A suite goes on after a test that failed: what it printed last is of others that passed.
			if c, err := CountFile(path); err == nil && len(c.FailedNames) > 0 {
				what, lines = fmt.Sprintf("failed, of %s (all of it: %s)", c, path), c.FailedNames
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
