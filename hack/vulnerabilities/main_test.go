package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// As govulncheck writes: a vulnerability for each module that has it, then findings from the module
// down to the call.
const stream = `
{"config": {"scanner_name": "govulncheck"}}
{"osv": {"id": "GO-2026-1", "summary": "reads too far"}}
{"finding": {"osv": "GO-2026-1", "fixed_version": "v1.2.0", "trace": [{"module": "example.org/a", "version": "v1.0.0"}]}}
{"finding": {"osv": "GO-2026-1", "fixed_version": "v1.2.0", "trace": [{"module": "example.org/a", "version": "v1.0.0", "package": "example.org/a/p"}]}}
{"finding": {"osv": "GO-2026-1", "fixed_version": "v1.2.0", "trace": [
	{"module": "example.org/a", "version": "v1.0.0", "package": "example.org/a/p", "function": "Read"},
	{"module": "ours", "package": "ours/cmd", "function": "main"}]}}
{"osv": {"id": "GO-2026-2", "summary": "is slow"}}
{"finding": {"osv": "GO-2026-2", "trace": [{"module": "example.org/b", "version": "v0.1.0"}]}}
`

var findings = []finding{
	{id: "GO-2026-1", module: "example.org/a", version: "v1.0.0", fixed: "v1.2.0", summary: "reads too far", called: true, caller: "ours/cmd.main"},
	{id: "GO-2026-2", module: "example.org/b", version: "v0.1.0", summary: "is slow"},
}

func TestParse(t *testing.T) {
	got, err := parse(strings.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(findings, got, cmp.AllowUnexported(finding{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := parse(strings.NewReader("{")); err == nil {
		t.Error("half a message is taken for a whole one")
	}
}

func TestJudge(t *testing.T) {
	today := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	excuse := exception{ID: "GO-2026-1", Module: "example.org/a", Reason: "never from the wire", Until: "2026-11-21"}
	old := excuse
	old.Until = "2026-11-20"
	other := exception{ID: "GO-2025-9", Module: "example.org/a", Reason: "gone", Until: "2027-01-01"}
	for sentence, test := range map[string]struct {
		exceptions []exception
		wantWrong  []string // a part of each
		wantNotes  int
	}{
		"what is called is wrong, what is not is told": {nil, []string{"called by ours/cmd.main; mended in v1.2.0"}, 1},
		"a reason that holds today":                    {[]exception{excuse}, nil, 2},
		"a reason that held until yesterday":           {[]exception{old}, []string{"held until 2026-11-20"}, 1},
		"a reason that nothing needs":                  {[]exception{excuse, other}, []string{"nothing needs GO-2025-9"}, 2},
	} {
		t.Run(sentence, func(t *testing.T) {
			// A vulnerability of a module that two of ours use is said once.
			wrong, notes := judge(append(findings, findings...), test.exceptions, today)
			if len(wrong) != len(test.wantWrong) || len(notes) != test.wantNotes {
				t.Fatalf("%d wrong, %d notes; want %d and %d:\n%s\n%s", len(wrong), len(notes), len(test.wantWrong), test.wantNotes,
					strings.Join(wrong, "\n"), strings.Join(notes, "\n"))
			}
			for i, want := range test.wantWrong {
				if !strings.Contains(wrong[i], want) {
					t.Errorf("%q, want %q in it", wrong[i], want)
				}
			}
		})
	}
}

func TestReadTriage(t *testing.T) {
	for sentence, test := range map[string]struct{ text, want string }{
		"none":            {"findings: []", ""},
		"whole":           {"findings: [{id: a, module: b, reason: c, until: '2026-12-31'}]", ""},
		"no reason":       {"findings: [{id: a, module: b, until: '2026-12-31'}]", "give id, module and reason"},
		"no day":          {"findings: [{id: a, module: b, reason: c}]", "want a day"},
		"a key misspelt":  {"findings: [{identity: a}]", "identity"},
		"the wrong thing": {"found: []", "found"},
	} {
		t.Run(sentence, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "triage.yaml")
			if err := os.WriteFile(file, []byte(test.text), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := readTriage(file)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
		})
	}
}
