package repository

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestRoot(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(here, "../..")
	t.Chdir("../../images/nf/sctp") // a module of its own
	if got, err := Root(); got != root || err != nil {
		t.Errorf("from another module: %s, %v, want %s", got, err, root)
	}
	if got := Path(t, "docs", "README.md"); got != filepath.Join(root, "docs/README.md") {
		t.Errorf("a file: %s", got)
	}
	t.Chdir(t.TempDir())
	if got, err := Root(); !errors.Is(err, errOutside) {
		t.Errorf("outside: %s, %v", got, err)
	}
}
