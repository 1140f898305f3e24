package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// program is one of the two that are measured.
type program struct {
	command *exec.Cmd
	log     bytes.Buffer
	// metrics and health are addresses that it serves on; sbi is the third of the subscriber data functions.
	metrics, health, sbi string
	ended                chan error
}

// freeAddress is one that nobody listens on.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String(), nil
}

func (r *rig) start(path string, arguments func(*program) []string) (*program, error) {
	p := &program{ended: make(chan error, 1)}
	for _, address := range []*string{&p.metrics, &p.health, &p.sbi} {
		free, err := freeAddress()
		if err != nil {
			return nil, err
		}
		*address = free
	}
	p.command = exec.Command(path, arguments(p)...)
	p.command.Env = append(os.Environ(), "KUBECONFIG="+r.kubeconfig, "POD_NAMESPACE="+namespace, fmt.Sprintf("GOMEMLIMIT=%dKiB", r.limit*1024/10*9))
	p.command.Env = append(p.command.Env, r.environment...)
	p.command.Stdout, p.command.Stderr = &p.log, &p.log
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go func() { p.ended <- p.command.Wait() }()
	return p, nil
}

func (r *rig) startOperator() (err error) {
	r.operator, err = r.start(r.options.operator, func(p *program) []string {
		return []string{"run", "-namespace", namespace, "-metrics-bind-address", p.metrics, "-health-probe-bind-address", p.health, "-log-level", "error"}
	})
	return err
}

// startData returns when the functions have read the objects and answer.
func (r *rig) startData(ctx context.Context) (err error) {
	r.data, err = r.start(r.subscriberD, func(p *program) []string {
		return []string{"-namespace", namespace, "-core", core, "-nrf", "none", "-listen", p.sbi, "-metrics-listen", p.metrics, "-health-listen", p.health, "-log-level", "error"}
	})
	if err != nil {
		return err
	}
	return r.eventually(ctx, "the subscriber data functions answer", func(ctx context.Context) error {
		_, err := get(ctx, "http://"+r.data.health+"/readyz")
		return err
	})
}

// end is told when the program has ended; never of none.
func (p *program) end() <-chan error {
	if p == nil {
		return nil
	}
	return p.ended
}

// stop ends the program and waits for it.
func (p *program) stop() {
	if p == nil || p.command.Process.Signal(syscall.SIGTERM) != nil {
		return
	}
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		_ = p.command.Process.Kill()
		<-p.ended
	}
}

// show copies the end of the log of a program that has ended.
func (p *program) show(w io.Writer) {
	if p != nil {
		said := p.log.Bytes()
		_, _ = w.Write(said[max(0, len(said)-4096):])
	}
}

// memory in MiB, resident: the most that it was, and now.
type memory struct{ most, now int }

func (p *program) memory() memory {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		return memory{}
	}
	return memory{most: statusMiB(string(status), "VmHWM:"), now: statusMiB(string(status), "VmRSS:")}
}

// statusMiB reads a line of proc(5) status, which is in kB, rounded up.
func statusMiB(status, name string) int {
	for line := range strings.Lines(status) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == name {
			kib, _ := strconv.Atoi(fields[1])
			return (kib + 1023) / 1024
		}
	}
	return 0
}

func load() string {
	content, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(content), " ")
	return first
}

// metric is the sum of the series whose names and labels begin as given: the last label may be left out. It is 0
// where there is none.
func (p *program) metric(ctx context.Context, series string) (float64, error) {
	text, err := get(ctx, "http://"+p.metrics+"/metrics")
	if err != nil {
		return 0, err
	}
	return sumOf(text, series)
}

func sumOf(text []byte, series string) (sum float64, err error) {
	prefix := strings.TrimSuffix(series, "}")
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, value, found := cutLast(lines.Text())
		if !found || !strings.HasPrefix(name, prefix) {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		sum += n
	}
	return sum, lines.Err()
}

func cutLast(line string) (before, after string, found bool) {
	at := strings.LastIndexByte(line, ' ')
	if at < 0 || strings.HasPrefix(line, "#") {
		return "", "", false
	}
	return line[:at], line[at+1:], true
}

func get(ctx context.Context, uri string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, uri, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	return content, err
}
