package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// down removes the cluster and every trace of it. With force it also ends a cluster whose state directory
// is gone; only the number of hugepages that it found is lost then.
func (s *settings) down(ctx context.Context, force bool) error {
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if force {
		if err := s.endDaemons(ctx); err != nil {
			return err
		}
		if err := os.MkdirAll(s.state, 0o755); err != nil {
			return err
		}
	}
	_, err = os.Stat(s.state)
	if errors.Is(err, os.ErrNotExist) {
		step("nothing to take down")
		return nil
	}
	if err != nil {
		return err
	}
	if err := s.clear(ctx); err != nil {
		return err
	}
	step("cluster is down, nothing of it is left")
	return os.Remove(s.state + ".lock")
}

// endDaemons ends whatever runs in the daemons' control group.
func (s *settings) endDaemons(ctx context.Context) error {
	hierarchies, err := cgroupHierarchies()
	if err != nil {
		return err
	}
	return untilFor(ctx, settleTime, func() error {
		var pids []string
		for n := 1; n <= mostNodes; n++ {
			text, err := os.ReadFile(filepath.Join(hierarchies[0], s.further(n).cgroup(), daemonCgroup, "cgroup.procs"))
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			pids = append(pids, strings.Fields(string(text))...)
		}
		if len(pids) == 0 {
			return nil
		}
		for _, field := range pids {
			pid, err := strconv.Atoi(field)
			if err != nil {
				return err
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return err
			}
		}
		return errors.New("the daemons do not end")
	})
}

// clear ends the sandbox, if there is one, and gives back what it took of the machine.
func (s *settings) clear(ctx context.Context) error {
	if _, err := os.Stat(s.state); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err := errors.Join(s.offAll(ctx), s.off(ctx)); err != nil {
		return err
	}
	for _, f := range []func() error{s.removeLink, func() error { return s.removeCgroups(ctx) }, s.returnHugepages} {
		if err := f(); err != nil {
			return err
		}
	}
	// A mount of a container may outlive the container for a moment.
	return untilFor(ctx, settleTime, func() error { return os.RemoveAll(s.state) })
}
