// Vulnerabilities runs govulncheck over the Go modules that core5g ships and holds what it finds against
// triage.yaml: a vulnerability whose code is called must be mended, or stand there with a reason and a
// day on which it is looked at again. One in a module whose vulnerable code nobody calls is only told.
//
//	go run ./hack/vulnerabilities -govulncheck out/bin/govulncheck
//
// The database is vuln.go.dev, or what CORE5G_VULNERABILITY_DB names: a mirror, or file:///… for a copy.
// Where it cannot be reached, the check is skipped and says so.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// finding is a vulnerability in a module, and whether its code is called.
type finding struct {
	id, module, version, fixed, summary string
	called                              bool
	caller                              string // a function of ours, when called
}

type exception struct {
	ID     string `json:"id"`
	Module string `json:"module"`
	Reason string `json:"reason"`
	Until  string `json:"until"` // the last day, 2026-12-31
}

var errNoDatabase = errors.New("the vulnerability database cannot be reached")

func main() {
	program := flag.String("govulncheck", "out/bin/govulncheck", "the program")
	flag.Parse()
	ok, err := run(*program, time.Now())
	if err != nil {
		fmt.Fprintln(os.Stderr, "vulnerabilities:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func run(program string, now time.Time) (ok bool, err error) {
	program, err = filepath.Abs(program)
	if err != nil {
		return false, err
	}
	exceptions, err := readTriage("hack/vulnerabilities/triage.yaml")
	if err != nil {
		return false, err
	}
	// What is shipped: the repository's own module and those of the network functions.
	modules, err := filepath.Glob("images/*/go.mod")
	if err != nil {
		return false, err
	}
	modules = append([]string{"go.mod"}, modules...)
	var found []finding
	for _, file := range modules {
		dir := filepath.Dir(file)
		inModule, err := scan(program, dir)
		if errors.Is(err, errNoDatabase) {
			fmt.Printf("SKIP: vulnerabilities: %v\nvulnerabilities: 0 passed, 0 failed, %d skipped\n", err, len(modules))
			return true, nil
		}
		if err != nil {
			return false, fmt.Errorf("%s: %w", dir, err)
		}
		found = append(found, inModule...)
	}
	wrong, notes := judge(found, exceptions, now)
	for _, line := range append(notes, wrong...) {
		fmt.Println(line)
	}
	fmt.Printf("vulnerabilities: %d passed, %d failed, 0 skipped\n", max(len(modules)-len(wrong), 0), len(wrong))
	return len(wrong) == 0, nil
}

func readTriage(file string) ([]exception, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var triage struct {
		Findings []exception `json:"findings"`
	}
	if err := yaml.UnmarshalStrict(text, &triage); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, e := range triage.Findings {
		if e.ID == "" || e.Module == "" || e.Reason == "" {
			return nil, fmt.Errorf("%s: %+v: give id, module and reason", file, e)
		}
		if _, err := time.Parse(time.DateOnly, e.Until); err != nil {
			return nil, fmt.Errorf("%s: %s: until is %q, want a day as 2026-12-31", file, e.ID, e.Until)
		}
	}
	return triage.Findings, nil
}

// scan runs govulncheck over one module.
func scan(program, dir string) ([]finding, error) {
	args := []string{"-C", dir, "-format", "json"}
	if db := os.Getenv("CORE5G_VULNERABILITY_DB"); db != "" {
		args = append(args, "-db", db)
	}
	var stderr bytes.Buffer
	cmd := exec.Command(program, append(args, "./...")...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		said := strings.TrimSpace(stderr.String())
		if strings.Contains(said, "fetching vulnerabilities") {
			return nil, fmt.Errorf("%w: %s", errNoDatabase, said)
		}
		return nil, fmt.Errorf("%w: %s", err, said)
	}
	return parse(bytes.NewReader(out))
}

// message is the part of govulncheck's stream that is read here.
type message struct {
	OSV *struct {
		ID      string `json:"id"`
		Summary string `json:"summary"`
	} `json:"osv"`
	Finding *struct {
		OSV   string `json:"osv"`
		Fixed string `json:"fixed_version"`
		// From the vulnerable symbol to a function of the scanned module; of a module that is only
		// required, or a package that is only imported, one frame without a function.
		Trace []struct {
			Module   string `json:"module"`
			Version  string `json:"version"`
			Package  string `json:"package"`
			Function string `json:"function"`
		} `json:"trace"`
	} `json:"finding"`
}

// parse makes one finding of the several that govulncheck writes for a vulnerability and a module.
func parse(stream io.Reader) ([]finding, error) {
	summaries := map[string]string{}
	all := map[string]finding{}
	for d := json.NewDecoder(stream); ; {
		var m message
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("govulncheck's output: %w", err)
		}
		if m.OSV != nil {
			summaries[m.OSV.ID] = m.OSV.Summary
		}
		if m.Finding == nil || len(m.Finding.Trace) == 0 {
			continue
		}
		first, last := m.Finding.Trace[0], m.Finding.Trace[len(m.Finding.Trace)-1]
		key := m.Finding.OSV + " " + first.Module
		f := all[key]
		f.id, f.module, f.version, f.fixed = m.Finding.OSV, first.Module, first.Version, m.Finding.Fixed
		if first.Function != "" && !f.called {
			f.called, f.caller = true, last.Package+"."+last.Function
		}
		all[key] = f
	}
	var found []finding
	for _, key := range slices.Sorted(maps.Keys(all)) {
		f := all[key]
		f.summary = summaries[f.id]
		found = append(found, f)
	}
	return found, nil
}

// judge sorts findings into what is wrong and what is only told. The same one of two modules counts once.
func judge(found []finding, exceptions []exception, now time.Time) (wrong, notes []string) {
	type key struct{ id, module string }
	used := map[key]bool{}
	seen := map[string]bool{}
	say := func(list *[]string, line string) {
		if !seen[line] {
			seen[line] = true
			*list = append(*list, line)
		}
	}
	for _, f := range found {
		what := fmt.Sprintf("%s in %s %s (%s)", f.id, f.module, f.version, f.summary)
		fix := "no version mends it"
		if f.fixed != "" {
			fix = "mended in " + f.fixed
		}
		if !f.called {
			say(&notes, fmt.Sprintf("note: %s: not called; %s", what, fix))
			continue
		}
		i := slices.IndexFunc(exceptions, func(e exception) bool { return e.ID == f.id && e.Module == f.module })
		if i < 0 {
			say(&wrong, fmt.Sprintf("%s: called by %s; %s; update it, or give a reason in hack/vulnerabilities/triage.yaml", what, f.caller, fix))
			continue
		}
		used[key{f.id, f.module}] = true
		until, err := time.Parse(time.DateOnly, exceptions[i].Until)
		if err != nil || now.After(until.AddDate(0, 0, 1)) {
			say(&wrong, fmt.Sprintf("%s: its reason in hack/vulnerabilities/triage.yaml held until %s (%s); %s; look again", what, exceptions[i].Until, exceptions[i].Reason, fix))
			continue
		}
		say(&notes, fmt.Sprintf("note: %s: %s", what, exceptions[i].Reason))
	}
	for _, e := range exceptions {
		if !used[key{e.ID, e.Module}] {
			say(&wrong, fmt.Sprintf("hack/vulnerabilities/triage.yaml: nothing needs %s of %s any more; take it out", e.ID, e.Module))
		}
	}
	return wrong, notes
}
