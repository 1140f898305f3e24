// Package postgresqltest runs a PostgreSQL of a test's own, on the loopback interface, from the packages of the system.
package postgresqltest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Account and password that get in.
const (
	Account  = "core5g"
	Password = "p@ss/word"
)

// ErrMissing: there is no PostgreSQL on this machine.
var ErrMissing = errors.New("no initdb: hack/install-tools.sh subscriber-database installs PostgreSQL")

// startLimit is for a server that starts, on a machine that has much else to do.
const startLimit = 3 * time.Minute

// Server is one PostgreSQL, whose files are in a directory of its own.
type Server struct {
	bin, dir string
	port     int
	settings []string
	account  *syscall.Credential
	command  *exec.Cmd
	output   *os.File
}

// binaries are those of the newest version; Debian has them in no PATH.
func binaries() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", ErrMissing
	}
	return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return versionOf(a) - versionOf(b) })), nil
}

func versionOf(initdb string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(initdb))))
	return n
}

// unprivileged is whom the server runs as: it refuses to be root.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}
	uid, err1 := strconv.ParseUint(nobody.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(nobody.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(err1, err2)
}

// Start a new server with settings like "fsync=off". Close ends it and takes its files away.
func Start(settings ...string) (s *Server, err error) {
	s = &Server{settings: settings}
	if s.bin, err = binaries(); err != nil {
		return nil, err
	}
	if s.account, err = unprivileged(); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp("", "postgresql-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	password := filepath.Join(s.dir, "password")
	if err := os.WriteFile(password, []byte(Password), 0o600); err != nil {
		return nil, err
	}
	if s.account != nil {
		if err := errors.Join(os.Chown(s.dir, int(s.account.Uid), int(s.account.Gid)), os.Chown(password, int(s.account.Uid), int(s.account.Gid))); err != nil {
			return nil, err
		}
	}
	if s.output, err = os.Create(filepath.Join(s.dir, "log")); err != nil {
		return nil, err
	}
	initdb := s.run("initdb", "-D", s.data(), "-U", Account, "-A", "scram-sha-256", "--pwfile="+password, "-E", "UTF8", "--locale=C", "--no-sync")
	if err := initdb.Run(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, s.log())
	}
	if s.port, err = freePort(); err != nil {
		return nil, err
	}
	return s, s.Begin()
}

func freePort() (int, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) log() string {
	text, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	return string(text[max(0, len(text)-2000):])
}

func (s *Server) run(program string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(s.bin, program), args...)
	c.Dir, c.Stdout, c.Stderr = s.dir, s.output, s.output
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.account, Pdeathsig: syscall.SIGQUIT}
	return c
}

// Begin runs the server, after Stop with what it had, and waits until it answers.
func (s *Server) Begin() error {
	args := []string{"-D", s.data(), "-p", strconv.Itoa(s.port), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=" + s.dir}
	for _, setting := range s.settings {
		args = append(args, "-c", setting)
	}
	s.command = s.run("postgres", args...)
	if err := s.command.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	for {
		c, err := pgx.Connect(ctx, s.URI())
		if err == nil {
			return c.Close(ctx)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server does not answer: %w: %s", err, s.log())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Stop ends the server and all connections at once, without a word to who is connected that it could not say in time.
func (s *Server) Stop() {
	if s.command == nil {
		return
	}
	_ = s.command.Process.Signal(syscall.SIGQUIT) // "immediate shutdown"
	_ = s.command.Wait()
	s.command = nil
}

// Freeze has every process of the server stand still, as where its node is gone, until thaw is called.
func (s *Server) Freeze() (thaw func()) {
	of := s.Processes()
	for _, pid := range of {
		_ = syscall.Kill(pid, syscall.SIGSTOP)
	}
	return func() {
		for _, pid := range of {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	}
}

// Processes are the server's first, and those that it has made, which serve connections and do other work.
func (s *Server) Processes() []int {
	first := s.command.Process.Pid
	out := []int{first}
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", first, first))
	pid := 0
	for _, b := range append(children, ' ') {
		switch {
		case b >= '0' && b <= '9':
			pid = 10*pid + int(b-'0')
		case pid > 0:
			out, pid = append(out, pid), 0
		}
	}
	return out
}

// Close ends the server and takes its files away.
func (s *Server) Close() {
	s.Stop()
	if s.output != nil {
		_ = s.output.Close()
	}
	_ = os.RemoveAll(s.dir)
}

// URI of its database, for anybody on this machine who knows the password.
func (s *Server) URI() string { return s.URIOf("postgres") }

// URIOf a database of that name.
func (s *Server) URIOf(database string) string {
	u := url.URL{Scheme: "postgresql", User: url.UserPassword(Account, Password), Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)), Path: "/" + database}
	return u.String()
}

// settings of a server whose disk nobody reads again.
var settings = []string{"fsync=off", "max_connections=60", "shared_buffers=16MB"}

// New starts a server for a test, which is skipped where there is no PostgreSQL.
func New(t testing.TB) *Server {
	t.Helper()
	s, err := Start(settings...)
	if errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Exec runs SQL.
func (s *Server) Exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), s.URI())
	if err == nil {
		_, err = c.Exec(t.Context(), sql, args...)
		err = errors.Join(err, c.Close(t.Context()))
	}
	if err != nil {
		t.Fatal(err)
	}
}
