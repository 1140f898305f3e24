package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"core5g.dev/core5g/e2e/processes"
)

// replicas is a session store as production has it (docs/session-store.md): three servers, of which a write must have reached
// two, and three Sentinels that make another one the primary where it dies.
type replicas struct {
	dir       string
	servers   []*exec.Cmd // nil: it is dead
	sentinels []*exec.Cmd
}

const (
	// serverPort and sentinelPort are those of the first.
	serverPort   = 6391
	sentinelPort = 6395
	primaryName  = "core5g"
	copies       = 3
)

func startReplicas(ctx context.Context, dir string) (*replicas, error) {
	r := &replicas{dir: dir, servers: make([]*exec.Cmd, copies)}
	for n := range copies {
		if err := r.start(n, serverPort); err != nil {
			return r, err
		}
	}
	if err := processes.Await(ctx, "two replicas", func() error { return r.linked(serverPort) }); err != nil {
		return r, err
	}
	for n := range copies {
		port := sentinelPort + n
		config := filepath.Join(dir, fmt.Sprint("sentinel-", n), "sentinel.conf")
		if err := os.MkdirAll(filepath.Dir(config), 0o700); err != nil {
			return r, err
		}
		text := fmt.Sprintf("bind 127.0.0.1\nport %d\ndir %s\nsentinel monitor %[3]s 127.0.0.1 %[4]d 2\nsentinel auth-pass %[3]s bench\n"+
			"sentinel down-after-milliseconds %[3]s 1000\nsentinel failover-timeout %[3]s 5000\n", port, filepath.Dir(config), primaryName, serverPort)
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			return r, err
		}
		c, err := startServer(config, "--sentinel")
		if err != nil {
			return r, err
		}
		r.sentinels = append(r.sentinels, c)
	}
	return r, r.whole(ctx)
}

// start the n-th server; one that is not the primary follows it. A Sentinel tells it again if there is another one meanwhile.
func (r *replicas) start(n, primary int) error {
	dir := filepath.Join(r.dir, fmt.Sprint("server-", n))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	args := []string{"--bind", "127.0.0.1", "--port", strconv.Itoa(serverPort + n), "--dir", dir, "--appendonly", "yes", "--appendfsync", "always", "--save", "",
		"--requirepass", "bench", "--masterauth", "bench", "--maxmemory-policy", "noeviction", "--min-replicas-to-write", "1", "--min-replicas-max-lag", "2"}
	if serverPort+n != primary {
		args = append(args, "--replicaof", "127.0.0.1 "+strconv.Itoa(primary))
	}
	c, err := startServer(args...)
	r.servers[n] = c
	return err
}

func startServer(args ...string) (*exec.Cmd, error) {
	c := exec.Command("redis-server", args...)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("redis-server: %w", err)
	}
	return c, nil
}

func (r *replicas) close() {
	for _, c := range append(r.servers, r.sentinels...) {
		if c != nil {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	}
}

// addresses of the Sentinels, for the Secret.
func (r *replicas) addresses() string {
	var out []string
	for n := range copies {
		out = append(out, fmt.Sprint("127.0.0.1:", sentinelPort+n))
	}
	return strings.Join(out, "\n")
}

func ask(port int, args ...string) (string, error) {
	c := exec.Command("redis-cli", append([]string{"-e", "-p", strconv.Itoa(port)}, args...)...)
	if port < sentinelPort {
		c.Env = append(os.Environ(), "REDISCLI_AUTH=bench")
	}
	out, err := c.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("redis-cli: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

// linked: two replicas follow the server at a port.
func (r *replicas) linked(port int) error {
	said, err := ask(port, "info", "replication")
	if err != nil {
		return err
	}
	if n := strings.Count(said, "state=online"); !strings.Contains(said, "role:master") || n != copies-1 {
		return fmt.Errorf("%d replicas follow the server at port %d", n, port)
	}
	return nil
}

// primary is the port of what the first Sentinel takes for it.
func (r *replicas) primary() (int, error) {
	said, err := ask(sentinelPort, "sentinel", "get-master-addr-by-name", primaryName)
	if err != nil {
		return 0, err
	}
	f := strings.Fields(said)
	if len(f) != 2 {
		return 0, fmt.Errorf("the Sentinel says %q", said)
	}
	return strconv.Atoi(f[1])
}

// whole: what was dead is a replica again, and every Sentinel knows all there is.
func (r *replicas) whole(ctx context.Context) error {
	for n, c := range r.servers {
		if c != nil {
			continue
		}
		primary, err := r.primary()
		if err != nil {
			return err
		}
		if err := r.start(n, primary); err != nil {
			return err
		}
	}
	return processes.Await(ctx, "three servers and three Sentinels", func() error {
		primary, err := r.primary()
		if err != nil {
			return err
		}
		for n := range copies {
			said, err := ask(sentinelPort+n, "sentinel", "master", primaryName)
			if err != nil {
				return err
			}
			words := strings.Fields(said)
			for i, w := range words {
				if (w == "num-slaves" || w == "num-other-sentinels") && words[i+1] != strconv.Itoa(copies-1) || w == "flags" && words[i+1] != "master" {
					return fmt.Errorf("Sentinel %d: %s %s", n, w, words[i+1])
				}
			}
		}
		return r.linked(primary)
	})
}

// killPrimary without a word.
func (r *replicas) killPrimary() error {
	port, err := r.primary()
	if err != nil {
		return err
	}
	c := r.servers[port-serverPort]
	if c == nil {
		return errors.New("the primary is dead already")
	}
	r.servers[port-serverPort] = nil
	err = c.Process.Kill()
	_ = c.Wait()
	return err
}
