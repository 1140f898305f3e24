package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// status says how the cluster is, and fails when it is not up and well.
func (s *settings) status(ctx context.Context) error {
	if !s.running() {
		return errors.New("no cluster is up")
	}
	if err := s.healthy(ctx); err != nil {
		return err
	}
	nodes, err := s.all()
	if err != nil {
		return err
	}
	fmt.Printf("embedded cluster: node %s Ready at %s\nkubeconfig: %s\n", nodeName, s.nodeIP, s.kubeconfig())
	for _, f := range nodes {
		if f.number > 1 {
			fmt.Printf("node %s at %s: %s\n", f.name(), f.nodeIP, s.conditionOf(ctx, f.name()))
		}
		fmt.Printf("logs: %s\n", f.path("log"))
		if err := f.restarts(); err != nil {
			return err
		}
	}
	return s.nodesUp(ctx)
}

// restarts says which daemons of a node have been started again.
func (s *settings) restarts() error {
	notes, err := filepath.Glob(s.path("log", "*.exits"))
	if err != nil {
		return err
	}
	for _, note := range notes {
		text, err := os.ReadFile(note)
		if err != nil {
			return err
		}
		fmt.Printf("%s has been restarted %d times\n",
			strings.TrimSuffix(filepath.Base(note), ".exits"), strings.Count(string(text), "\n"))
	}
	return nil
}

// exec runs a command in the sandbox, and ends as it does.
func (s *settings) exec(command []string) error {
	if !s.running() {
		return errors.New("no cluster is up")
	}
	if len(command) == 0 {
		return errors.New("exec: which command?")
	}
	cmd := s.inSandbox(os.Stdin, command...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	err := cmd.Run()
	if ended := new(exec.ExitError); errors.As(err, &ended) {
		return exitError(ended.ExitCode())
	}
	return err
}
