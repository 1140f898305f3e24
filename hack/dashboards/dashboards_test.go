package dashboards

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

const root = "../.."

// shipped are the files of the chart, by their names.
func shipped(t *testing.T) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, Folder, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(path)] = content
	}
	return files
}

// What is shipped is what the code says, and making it twice gives the same.
func TestShippedFilesAreCurrent(t *testing.T) {
	files := shipped(t)
	for _, d := range All() {
		first, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		second, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first, second) {
			t.Errorf("%s is another one the second time", d.UID)
		}
		name := d.UID + ".json"
		if diff := cmp.Diff(string(files[name]), string(first)); diff != "" {
			t.Errorf("%s is not what the code makes, run hack/generate.sh (-shipped +made):\n%s", name, diff)
		}
		delete(files, name)
	}
	for name := range files {
		t.Errorf("%s belongs to no dashboard", name)
	}
}

// Grafana's schema, as its SDK has it: no field that it does not know, none of another type, none
// missing, in the dashboard, in the panels' own options and in the queries.
func TestShippedFilesFitGrafanasSchema(t *testing.T) {
	plugins.RegisterDefaultPlugins()
	for name, content := range shipped(t) {
		t.Run(name, func(t *testing.T) {
			if err := fits(content); err != nil {
				t.Error(err)
			}
		})
	}
}

func fits(content []byte) error {
	var d dashboard.Dashboard
	if err := d.UnmarshalJSONStrict(content); err != nil {
		return err
	}
	return d.Validate()
}

func TestSchemaRefusesWhatGrafanaDoesNotKnow(t *testing.T) {
	plugins.RegisterDefaultPlugins()
	content := shipped(t)["core5g-core.json"]
	tests := []struct {
		name     string
		old, new string
	}{
		{"a field of the dashboard", `"schemaVersion"`, `"schemeVersion"`},
		{"a panel's own option", `"fillOpacity"`, `"fillOpaqueness"`},
		{"a field of a query", `"legendFormat"`, `"legend"`},
		{"a value of another type", `"refresh": "30s"`, `"refresh": 30`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			wrong := bytes.Replace(content, []byte(tt.old), []byte(tt.new), 1)
			if bytes.Equal(wrong, content) {
				t.Fatalf("no %s to spoil", tt.old)
			}
			if fits(wrong) == nil {
				t.Errorf("%s instead of %s was accepted", tt.new, tt.old)
			}
		})
	}
}

// What the SDK cannot know: ids, places on the grid, legends, variables.
func TestPagesAreWellMade(t *testing.T) {
	uids := map[string]bool{}
	for _, d := range All() {
		t.Run(d.UID, func(t *testing.T) {
			if !regexp.MustCompile(`^core5g(-[a-z0-9]+)+$`).MatchString(d.UID) || uids[d.UID] {
				t.Errorf("uid %q is taken or not of the form core5g-x", d.UID)
			}
			uids[d.UID] = true
			content, err := d.JSON()
			if err != nil {
				t.Fatal(err)
			}
			var page struct {
				Panels []struct {
					ID      int
					Title   string
					GridPos struct{ X, Y, W, H int }
				}
			}
			if err := json.Unmarshal(content, &page); err != nil {
				t.Fatal(err)
			}
			cells, ids := map[string]string{}, map[int]bool{}
			for _, p := range page.Panels {
				if ids[p.ID] {
					t.Errorf("panel %q has the id of another", p.Title)
				}
				ids[p.ID] = true
				for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
					for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
						cell := fmt.Sprint(x, "/", y)
						if cells[cell] != "" || x >= gridWidth {
							t.Fatalf("panel %q lies on %q, or beyond the edge", p.Title, cells[cell])
						}
						cells[cell] = p.Title
					}
				}
			}
		})
	}
}

func TestQueriesUseKnownVariables(t *testing.T) {
	used := regexp.MustCompile(`\$\{?(\w+)`)
	for _, d := range All() {
		known := map[string]bool{"namespace": true, "__rate_interval": true, "1": true}
		if d.Select != nil {
			known[d.Select.Name] = true
		}
		for _, row := range d.Rows {
			for _, p := range row.Panels {
				for _, q := range p.Queries {
					for _, m := range used.FindAllStringSubmatch(q.Expr, -1) {
						if !known[m[1]] {
							t.Errorf("%s, panel %q: nobody sets $%s", d.UID, p.Title, m[1])
						}
					}
					if p.Kind == Table && q.Legend != "" {
						t.Errorf("%s, panel %q: a table has columns and no legend", d.UID, p.Title)
					}
				}
				if p.Kind == Table && len(p.Columns) == 0 {
					t.Errorf("%s, panel %q: a table without columns", d.UID, p.Title)
				}
			}
		}
	}
}

// The words of a legend and the columns of a table are labels that survive the query's aggregation.
func TestLegendsNameLabelsThatAreThere(t *testing.T) {
	label := regexp.MustCompile(`\{\{(\w+)\}\}`)
	kept := regexp.MustCompile(`\bby \(([^)]*)\)`)
	for _, d := range All() {
		for _, row := range d.Rows {
			for _, p := range row.Panels {
				for _, q := range p.Queries {
					groups := kept.FindAllStringSubmatch(q.Expr, -1)
					if len(groups) == 0 {
						continue // a plain selector has all its labels
					}
					for _, m := range label.FindAllStringSubmatch(q.Legend, -1) {
						if !strings.Contains(groups[0][1], m[1]) {
							t.Errorf("%s, panel %q: legend {{%s}}, but the query keeps (%s)", d.UID, p.Title, m[1], groups[0][1])
						}
					}
				}
			}
		}
	}
}
