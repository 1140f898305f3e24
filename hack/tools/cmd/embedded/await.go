package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// startTime is how long a machine that is busy with other things may take to bring a node up.
	startTime = 3 * time.Minute
	// settleTime is how long the kernel may take to finish what it was told.
	settleTime = 20 * time.Second
	pollEvery  = 50 * time.Millisecond
)

// until returns when the condition holds.
func until(condition func() error) {
	for condition() != nil {
		time.Sleep(pollEvery)
	}
}

// untilFor returns the condition's last error when it does not hold in time.
func untilFor(ctx context.Context, limit time.Duration, condition func() error) error {
	deadline := time.After(limit)
	for {
		err := condition()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.New("interrupted")
		case <-deadline:
			return err
		case <-time.After(pollEvery):
		}
	}
}

// await waits for a step of the start. It gives up early when a daemon keeps ending, and then shows the
// end of that daemon's log.
func (s *settings) await(ctx context.Context, what string, condition func() error) error {
	var failing error
	err := untilFor(ctx, startTime, func() error {
		if failing = s.failingDaemon(); failing != nil {
			return nil
		}
		return condition()
	})
	if failing != nil {
		return fmt.Errorf("%s: %w", what, failing)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: interrupted", what)
	}
	if err != nil {
		return fmt.Errorf("%s: not within %s: %w (logs: %s)", what, startTime, err, s.path("log"))
	}
	return nil
}

// failingDaemon names a daemon that has ended again and again, or process 1 of the sandbox, which starts them.
func (s *settings) failingDaemon() error {
	if _, err := os.Stat(s.path("pid")); err == nil && !s.running() {
		log := s.path("log", "init.log")
		return fmt.Errorf("the sandbox has ended; the end of %s:\n%s", log, tail(log, 15))
	}
	notes, err := filepath.Glob(s.path("log", "*.exits"))
	if err != nil {
		return err
	}
	for _, note := range notes {
		text, err := os.ReadFile(note)
		if err != nil || strings.Count(string(text), "\n") < 4 {
			continue
		}
		log := strings.TrimSuffix(note, ".exits") + ".log"
		return fmt.Errorf("%s does not stay up; the end of %s:\n%s",
			strings.TrimSuffix(filepath.Base(note), ".exits"), log, tail(log, 15))
	}
	return nil
}

// tail returns the last lines of a file.
func tail(file string, lines int) string {
	f, err := os.Open(file)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	const most = 16 << 10
	if info, err := f.Stat(); err == nil && info.Size() > most {
		if _, err := f.Seek(-most, io.SeekEnd); err != nil {
			return err.Error()
		}
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// apiReady asks the API server whether it can do its work.
func (s *settings) apiReady() error {
	ca, err := os.ReadFile(s.path("pki", "ca.crt"))
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return errors.New("no certificate in ca.crt")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 2 * time.Second}
	answer, err := client.Get(s.server() + "/readyz")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return errors.New("the API server answers " + answer.Status)
	}
	return nil
}

func dialUnix(path string) error {
	connection, err := net.DialTimeout("unix", path, time.Second)
	if err != nil {
		return err
	}
	return connection.Close()
}
