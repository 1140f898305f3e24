// Command definitions has every custom resource definition that controller-gen has written serve version v1beta1 beside v1alpha1, which is
// what is stored. Both are the same to the octet: docs/adr/0027-two-versions-of-one-shape.md says why.
//
//	go run ./hack/definitions     in operators/config/crd, right after controller-gen
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// What stands in each definition once, and what it is in the copy.
var changes = []struct{ from, to string }{
	{"\n    name: v1alpha1\n", "\n    name: v1beta1\n"},
	{"\n    storage: true\n", "\n    storage: false\n"},
}

func main() {
	root := flag.String("root", ".", "the repository's root")
	flag.Parse()
	if err := generate(filepath.Join(*root, "operators/config/crd")); err != nil {
		fmt.Fprintln(os.Stderr, "definitions:", err)
		os.Exit(1)
	}
}

func generate(dir string) error {
	paths, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return fmt.Errorf("no definitions in %s: run controller-gen first", dir)
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if content, err = twoVersions(content); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// twoVersions appends the copy to the list of versions, with which a definition ends. The text is used as it is, so that nothing is said
// otherwise in one of them.
func twoVersions(definition []byte) ([]byte, error) {
	const list = "\n  versions:\n"
	if n := bytes.Count(definition, []byte(list)); n != 1 {
		return nil, fmt.Errorf("%d lists of versions, want one: run controller-gen first", n)
	}
	_, version, _ := bytes.Cut(definition, []byte(list))
	for line := range bytes.Lines(version) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		if len(line) > 0 && !bytes.HasPrefix(line, []byte("  - ")) && !bytes.HasPrefix(line, []byte("    ")) {
			return nil, fmt.Errorf("%q follows the versions, with which a definition ends", line)
		}
	}
	if n := bytes.Count(version, []byte("\n    schema:\n")); n != 1 {
		return nil, fmt.Errorf("%d versions, want one: run controller-gen first", n)
	}
	for _, c := range changes {
		if n := bytes.Count(version, []byte(c.from)); n != 1 {
			return nil, fmt.Errorf("%d times %q in its versions, want it once: run controller-gen first", n, bytes.TrimSpace([]byte(c.from)))
		}
		version = bytes.Replace(version, []byte(c.from), []byte(c.to), 1)
	}
	return append(definition[:len(definition):len(definition)], version...), nil
}
