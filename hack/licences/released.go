package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// platforms that programs of a release are made for; a package links other modules on each.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}

// plugin is the program of a release that is in no image.
const plugin = "./operators/cmd/kubectl-core5g"

// releasedModules lists the modules of others that are linked into what a release holds: the programs that the
// recipes of images say how to build, and the plug-in. Prerequisites of an embedded cluster are no part of a release.
func releasedModules(root string) ([]shipped, error) {
	packages := map[string][]string{".": {plugin}} // by the folder of the module
	recipes, err := filepath.Glob(filepath.Join(root, "images", "*", "image.yaml"))
	if err != nil {
		return nil, err
	}
	for _, file := range recipes {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var recipe struct {
			Build struct {
				Go          []string
				Module, Run string
			}
		}
		if err := yaml.Unmarshal(text, &recipe); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		b := recipe.Build
		if strings.HasPrefix(b.Run, "go build ") {
			for _, word := range strings.Fields(b.Run) {
				if strings.HasPrefix(word, "./") {
					b.Go = append(b.Go, word)
				}
			}
		}
		if len(b.Go) > 0 {
			packages[filepath.Clean(b.Module)] = append(packages[filepath.Clean(b.Module)], b.Go...)
		}
	}
	all := map[string]shipped{}
	for module, names := range packages {
		for _, platform := range platforms {
			system, arch, _ := strings.Cut(platform, "/")
			if system != "linux" {
				names = []string{plugin}
				if module != "." {
					continue
				}
			}
			env := []string{"GOOS=" + system, "GOARCH=" + arch, "CGO_ENABLED=0"}
			if err := addLinked(all, filepath.Join(root, module), env, names...); err != nil {
				return nil, err
			}
		}
	}
	return sorted(all), nil
}
