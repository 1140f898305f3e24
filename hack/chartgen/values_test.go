package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValuesTable(t *testing.T) {
	const schema = `{"properties": {"level": {"enum": ["Info", "Debug"]}, "a": {"properties": {"policy": {"enum": ["Always", "Never"]}}}}}`
	tests := []struct {
		name, values string
		want         []string
		wantErr      string
	}{
		{"a value and the comment before it", "# Of the file.\n\n# What it is,\n# in two lines.\nx: 3\n", []string{"| `x` | `3` | What it is, in two lines. |"}, ""},
		{"a mapping's comment explains its values", "# All of a.\na:\n  on: true\n  list: [{b: 1}]\n",
			[]string{"| `a` | | All of a. |", "| `a.on` | `true` |  |", "| `a.list` | `[{\"b\":1}]` |  |"}, ""},
		{"what is empty is shown", "# E.\ne: {}\n# S.\ns: \"\"\n", []string{"| `e` | `{}` | E. |", "| `s` | `\"\"` | S. |"}, ""},
		{"the schema's words, once", "level: Info\na:\n  # Always | Never\n  policy: Never\n",
			[]string{"| `level` | `Info` | One of `Info`, `Debug`. |", `| ` + "`a.policy` | `Never` | Always \\| Never |"}, ""},
		{"nothing says what it is", "a:\n  x: 1\n", nil, "line 2: a.x has no comment"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var parsed map[string]any
			if err := json.Unmarshal([]byte(schema), &parsed); err != nil {
				t.Fatal(err)
			}
			got, err := valuesTable([]byte(test.values), parsed)
			if (err == nil) != (test.wantErr == "") || err != nil && !strings.Contains(err.Error(), test.wantErr) {
				t.Fatalf("error %v, want one with %q", err, test.wantErr)
			}
			var rows []string
			for line := range strings.Lines(got) {
				if strings.HasPrefix(line, "| `") {
					rows = append(rows, strings.TrimSpace(line))
				}
			}
			if diff := cmp.Diff(test.want, rows); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}
