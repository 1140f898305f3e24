// Command test runs everything that CI runs: unit and vector tests first, then lint and generated
// code, then the suites on a cluster. A step that fails does not hide the ones after it, except
// where these need what it would have built. The last line counts it all.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"core5g.dev/core5g/hack/repository"
	"core5g.dev/core5g/hack/runner"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	given := spell{start: time.Now()}
	root, err := repository.Root()
	if err == nil {
		err = os.Chdir(root)
	}
	if err == nil {
		given.whole, err = wholeOfRun()
	}
	if err == nil {
		err = os.Setenv("CORE5G_COUNTED", "1") // make has tests print events
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	steps := all()
	r := &runner.Runner{Out: os.Stdout, LogDir: "out/logs/test", Total: len(steps)}
	var total runner.Count
	skip := func(what string) {
		total.Skipped++
		total.SkippedNames = append(total.SkippedNames, what)
	}
	behind := func() {}
	for i, s := range steps {
		if why := given.leaves(steps, i, time.Now()); why != "" {
			r.LeaveOut(s.Step, why)
			skip(s.Name + ": " + why)
			continue
		}
		s.Limit = given.limit(steps, i, time.Now())
		if s.beside {
			end := r.Beside(ctx, s.Step)
			behind = func() { total.Add(counted(s, end())) }
			continue
		}
		result := r.Run(ctx, s.Step)
		total.Add(counted(s, result))
		behind()
		behind = func() {}
		if result.Err != nil && s.needed {
			for _, rest := range steps[i+1:] {
				skip(rest.Name + `: needs "` + s.Name + `"`)
			}
			break
		}
	}
	total.Settle()
	fmt.Println()
	for _, name := range total.SkippedNames {
		fmt.Println("SKIP", name)
	}
	for _, name := range total.FailedNames {
		fmt.Println("FAIL", name)
	}
	fmt.Printf("took %s; logs in out/logs/test\n", time.Since(given.start).Round(time.Second))
	fmt.Println(total)
	if err := os.WriteFile("out/test-summary", []byte(total.String()+"\n"), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if total.Failed > 0 {
		os.Exit(1)
	}
}

func counted(s step, result runner.Result) runner.Count {
	var c runner.Count
	if s.tests {
		var err error
		if c, err = runner.CountFile(result.Log); err != nil {
			return runner.Count{Failed: 1, FailedNames: []string{s.Name + ": " + err.Error()}}
		}
		// A test step that counted nothing has tested nothing.
		if c.Sum() == 0 && result.Err == nil {
			return runner.Count{Failed: 1, FailedNames: []string{s.Name + ": ran no test"}}
		}
		if result.Err != nil && c.Failed == 0 {
			c.Failed, c.FailedNames = 1, append(c.FailedNames, result.Failure())
		}
		return c
	}
	if result.Err != nil {
		return runner.Count{Failed: 1, FailedNames: []string{result.Failure()}}
	}
	return runner.Count{Passed: 1}
}
