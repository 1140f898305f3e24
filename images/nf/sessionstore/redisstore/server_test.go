package redisstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"core5g.dev/core5g/images/nf/loopback"

	"github.com/redis/go-redis/v9"
)

// server is a redis-server, or a Sentinel, of the test's own, on the loopback interface.
type server struct {
	t       *testing.T
	dir     string
	port    int
	args    []string
	command *exec.Cmd
}

// limit is for what happens within a second on a machine that is not loaded.
const limit = 2 * time.Minute

func redisServer(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("no redis-server: hack/install-tools.sh session-store installs it")
	}
	return path
}

// start runs a server with an append-only file that is synced before a write is answered, as the embedded store's is, and
// waits until it answers. Synced each second, a killed server may have forgotten what it answered (ADR 0015).
func start(t *testing.T, args ...string) *server {
	s := &server{t: t, dir: t.TempDir(), port: loopback.Port(t)}
	s.args = append([]string{
		"--bind", "127.0.0.1", "--port", strconv.Itoa(s.port), "--dir", s.dir,
		"--save", "", "--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction",
		"--repl-diskless-sync-delay", "0",
	}, args...)
	s.run()
	t.Cleanup(s.kill)
	return s
}

func (s *server) run() {
	s.t.Helper()
	s.command = exec.Command(redisServer(s.t), s.args...)
	if err := s.command.Start(); err != nil {
		s.t.Fatal(err)
	}
	c := s.client()
	defer func() { _ = c.Close() }()
	await(s.t, "redis-server answers", func() error { return c.Ping(context.Background()).Err() })
}

func (s *server) address() string { return "127.0.0.1:" + strconv.Itoa(s.port) }

func (s *server) client() *redis.Client {
	return redis.NewClient(&redis.Options{Addr: s.address(), MaxRetries: -1, DialTimeout: 10 * time.Second, DisableIdentity: true})
}

// kill ends it as a crash does.
func (s *server) kill() {
	if s.command != nil {
		_ = s.command.Process.Kill()
		_ = s.command.Wait()
		s.command = nil
	}
}

// keep copies its files as a disk has them that was synced now; the function it returns kills the server and
// starts it with that copy.
func (s *server) keep() (loseTheRest func()) {
	copied := s.t.TempDir()
	if err := os.CopyFS(filepath.Join(copied, "data"), os.DirFS(s.dir)); err != nil {
		s.t.Fatal(err)
	}
	return func() {
		s.kill()
		entries, err := os.ReadDir(s.dir)
		for _, e := range entries {
			err = errors.Join(err, os.RemoveAll(filepath.Join(s.dir, e.Name())))
		}
		if err == nil {
			err = os.CopyFS(s.dir, os.DirFS(filepath.Join(copied, "data")))
		}
		if err != nil {
			s.t.Fatal(err)
		}
		s.run()
	}
}

func await(t *testing.T, what string, try func() error) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited %s until %s: %v", limit, what, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func open(t *testing.T, o Options) *Store {
	t.Helper()
	if o.Prefix == "" {
		o.Prefix = fmt.Sprintf("core5g:%s:", t.Name())
	}
	var s *Store
	await(t, "the store opens", func() (err error) {
		s, err = Open(context.Background(), o)
		return err
	})
	t.Cleanup(func() {
		if err := s.Close(); err != nil && !errors.Is(err, redis.ErrClosed) {
			t.Error("Close:", err)
		}
	})
	return s
}

// startSentinel runs a Sentinel that watches the primary as "core5g", and waits until it knows both replicas.
func startSentinel(t *testing.T, primary *server) *server {
	s := &server{t: t, dir: t.TempDir(), port: loopback.Port(t)}
	config := filepath.Join(s.dir, "sentinel.conf")
	text := fmt.Sprintf("bind 127.0.0.1\nport %d\ndir %s\nsentinel monitor core5g 127.0.0.1 %d 2\n"+
		"sentinel down-after-milliseconds core5g 1000\nsentinel failover-timeout core5g 5000\n", s.port, s.dir, primary.port)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.args = []string{config, "--sentinel"}
	s.run()
	t.Cleanup(s.kill)
	sentinel := redis.NewSentinelClient(&redis.Options{Addr: s.address(), DisableIdentity: true})
	defer func() { _ = sentinel.Close() }()
	await(t, "the Sentinel knows the replicas", func() error {
		replicas, err := sentinel.Replicas(context.Background(), "core5g").Result()
		if err == nil && len(replicas) < 2 {
			err = fmt.Errorf("%d replicas", len(replicas))
		}
		return err
	})
	return s
}
