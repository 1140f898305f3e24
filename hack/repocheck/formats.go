package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/util/yaml"
)

// yamlFiles parses every YAML file but the chart's templates.
func yamlFiles(t tree) (looked int, wrong []string) {
	for _, f := range t.files {
		template := strings.HasPrefix(f.path, "charts/") && strings.Contains(f.path, "/templates/")
		if template || !strings.HasSuffix(f.path, ".yaml") && !strings.HasSuffix(f.path, ".yml") {
			continue
		}
		looked++
		decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(f.content), len(f.content)+1)
		for {
			var document any
			if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				wrong = append(wrong, fmt.Sprintf("%s: %v", f.path, err))
				break
			}
		}
	}
	return looked, wrong
}

// scripts checks that what begins with #! can be run, that what can be run begins with it, and that a
// bash script stops at its first failure.
func scripts(t tree) (looked int, wrong []string) {
	for _, f := range t.files {
		first := f.lines()[0]
		script := strings.HasPrefix(first, "#!")
		if !script && !f.executable {
			continue
		}
		looked++
		switch {
		case script && !f.executable:
			wrong = append(wrong, f.path+": begins with #! and cannot be run: chmod +x")
		case f.executable && !script:
			wrong = append(wrong, f.path+": can be run and begins with no #!: chmod -x")
		case strings.Contains(first, "bash") && !bytes.Contains(f.content, []byte("\nset -euo pipefail\n")):
			wrong = append(wrong, f.path+": has no `set -euo pipefail`")
		}
	}
	return looked, wrong
}
