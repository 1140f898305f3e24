// Package repository finds the project's files for programs and tests, wherever in it they run.
package repository

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
)

var errOutside = errors.New("not inside the project's checkout")

// Root is the nearest folder upwards that holds the project's go.mod.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(mod, []byte("module core5g.dev/core5g\n")) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errOutside
		}
	}
}

// Test is a *testing.T.
type Test interface {
	Helper()
	Fatal(...any)
}

// Path of a file of the repository, for a test.
func Path(t Test, elements ...string) string {
	t.Helper()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(append([]string{root}, elements...)...)
}
