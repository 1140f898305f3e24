package floors

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLook(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"low/a.go":            "package low\n\nimport (\n\t\"fmt\"\n\t\"example.org/home/high\"\n)\n",
		"low/a_test.go":       "package low\n\nimport \"example.org/home/beside\"\n",
		"beside/b.go":         "package beside\n\nimport \"example.org/homely\"\n",
		"high/c.go":           "package high\n\nimport (\n\t\"example.org/home\"\n\t\"example.org/home/low\"\n)\n",
		"forgotten/d.go":      "package forgotten\n",
		"support/e.go":        "package support\n",
		"testdata/whatever.x": "",
	} {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wrong, err := look(dir, "example.org/home", [][]string{{"low", "beside"}, {"high"}}, []string{"support"})
	want := []string{`low imports "high", which is not below it`, `high imports "", which is not below it`, "forgotten is on no floor"}
	if diff := cmp.Diff(want, wrong); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := look(dir, "example.org/home", [][]string{{"nowhere"}}, nil); err == nil {
		t.Error("a package that is not there is none's concern")
	}
}
