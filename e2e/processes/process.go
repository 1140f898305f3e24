package processes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Command is a process that is to be.
type Command struct {
	// Program and its arguments. Environment is beside that of this process.
	Program     string
	Args        []string
	Environment []string
	// Output is where it may write; nil: nowhere.
	Output io.Writer
}

// Process is one that has begun. It ends with this process at the latest.
type Process struct {
	cmd   *exec.Cmd
	ended chan struct{} // is closed when it has
	err   error         // how it ended, then
}

// Start a process.
func Start(c Command) (*Process, error) {
	cmd := exec.Command(c.Program, c.Args...)
	cmd.Env = append(os.Environ(), c.Environment...)
	cmd.Stdout, cmd.Stderr = c.Output, c.Output
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", c.Program, err)
	}
	p := &Process{cmd: cmd, ended: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// Ended says that the process has, and how; nil: it lives.
func (p *Process) Ended() error {
	select {
	case <-p.ended:
		if p.err == nil {
			return errors.New("it has ended")
		}
		return fmt.Errorf("it has ended: %w", p.err)
	default:
		return nil
	}
}

// PID of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Kill it without a word.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// Signal it, and do not wait for what comes of that.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// End it as Kubernetes does, with SIGTERM, and wait until it has ended.
func (p *Process) End() error {
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	<-p.ended
	return p.err
}

// Usage is what a process has taken.
type Usage struct {
	CPU time.Duration // since it began
	// Resident octets.
	Resident int64
}

// Add what another process has taken.
func (u Usage) Add(o Usage) Usage { return Usage{u.CPU + o.CPU, u.Resident + o.Resident} }

// Since what it had taken before.
func (u Usage) Since(before Usage) Usage {
	return Usage{u.CPU - before.CPU, u.Resident - before.Resident}
}

// Usage of the process, in steps of 10 ms.
func (p *Process) Usage() (Usage, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID()))
	if err != nil {
		return Usage{}, err
	}
	// Behind the name, which may have spaces: utime and stime are the 12th and 13th, rss the 22nd (proc(5)).
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	var values [3]int64
	for i, n := range []int{11, 12, 21} {
		if n >= len(f) {
			return Usage{}, fmt.Errorf("/proc/%d/stat has %d fields", p.PID(), len(f))
		}
		if values[i], err = strconv.ParseInt(f[n], 10, 64); err != nil {
			return Usage{}, err
		}
	}
	const tick = 10 * time.Millisecond // USER_HZ
	return Usage{CPU: time.Duration(values[0]+values[1]) * tick, Resident: values[2] * int64(os.Getpagesize())}, nil
}

// Ready asks a process at its health address, host:port, whether it is.
func Ready(health string) error {
	answer, err := http.Get("http://" + health + "/readyz")
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(answer.Body)
		return errors.New(strings.TrimSpace(string(text)))
	}
	return nil
}

// Metrics are what a process says at its metrics address, host:port.
func Metrics(ctx context.Context, address string) (string, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	return string(text), err
}
