package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// kubectl that knows some objects, and no kind of others.
const kubectl = `#!/bin/sh
while [ "$1" != get ]; do shift; done
case $2 in
core5g/core5g) echo core5g.core5g.dev/core5g ;;
upfinstance/*) ;; # --ignore-not-found
*) echo "error: the server doesn't have a resource type" >&2; exit 1 ;;
esac
`

// A story that finds no core says at once what brings one.
func TestWhatAStoryBeginsWithIsThere(t *testing.T) {
	root := t.TempDir()
	c := &Cluster{Root: root, Kubectl: filepath.Join(root, "kubectl")}
	if err := os.WriteFile(c.Kubectl, []byte(kubectl), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		objects []string
		want    string
	}{
		"all are there":           {[]string{"core5g/core5g"}, ""},
		"one is not":              {[]string{"core5g/core5g", "upfinstance/upf"}, "this begins with upfinstance/upf, which the cluster has not: run `make up`"},
		"its kind is not, either": {[]string{"slice/internet"}, "run `make up` (`make e2e` ends with an empty cluster): kubectl"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.There(t.Context(), test.objects...)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// A program that is not built is an error that names the target of make.
func TestProgramsOfOutBin(t *testing.T) {
	c := &Cluster{Root: t.TempDir()}
	bin := filepath.Join(c.Root, "out/bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Built("storm", "e2e-operate"); err == nil || !strings.Contains(err.Error(), "out/bin/storm is not built: run `make e2e-operate`") {
		t.Errorf("one that is not there: %v", err)
	}
	if err := os.WriteFile(filepath.Join(bin, "storm"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if path, err := c.Built("storm", "e2e-operate"); err != nil || path != filepath.Join(bin, "storm") {
		t.Errorf("one that is: %q, %v", path, err)
	}
}
