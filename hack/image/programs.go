package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// errFolders: what compiles is told so by the Makefile, or by hack/goflags.sh.
var errFolders = errors.New("GOFLAGS has no -trimpath, and the programs would hold this machine's folders: write `make images`, or source hack/goflags.sh before")

// makePrograms makes the programs of images, or of all, as their recipes say. Go's are stripped, and know nothing of
// the folder that they were compiled in: the same sources make the same program everywhere.
func makePrograms(b *builder, names []string) error {
	if !slices.Contains(strings.Fields(os.Getenv("GOFLAGS")), "-trimpath") {
		return errFolders
	}
	all := len(names) == 0
	if all {
		var err error
		if names, err = b.all(); err != nil {
			return err
		}
	}
	for _, name := range names {
		recipeFile := filepath.Join(b.recipes, name, "image.yaml")
		r, err := readRecipe(filepath.Join(b.root, recipeFile))
		if err != nil {
			return err
		}
		if r.Build == nil && all {
			continue
		}
		if r.Build == nil {
			return fmt.Errorf("%s: no build", recipeFile)
		}
		if platform := "linux/" + b.arch; b.foreign() && !slices.Contains(r.Build.platforms(), platform) {
			return fmt.Errorf("%s: its sources compile for %s, not for %s", recipeFile, strings.Join(r.Build.platforms(), " and "), platform)
		}
		cmd := r.Build.command(b.sources)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: build: %w", recipeFile, err)
		}
	}
	return nil
}

// command makes the programs of a recipe. One that is no `go build` is told by its environment where they
// go (OUT), and for another architecture which (ARCH, with GOARCH and CC) and where its libraries are
// (SYSROOT).
func (s *buildSteps) command(from sources) *exec.Cmd {
	var cmd *exec.Cmd
	if len(s.Go) > 0 {
		out := s.Out
		if out == "" {
			out = "out/bin/"
		}
		// With a / at its end go build takes it for a folder.
		args := []string{"build", "-ldflags", "-s -w", "-o", from.place(out) + "/"}
		cmd = exec.Command("go", append(args, s.Go...)...)
		cmd.Dir = filepath.Join(from.root, s.Module)
	} else {
		cmd = exec.Command("sh", "-c", s.Run)
		cmd.Dir = from.root
	}
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if from.foreign() {
		cmd.Env = append(cmd.Env, "GOARCH="+from.arch, "ARCH="+from.arch, "OUT="+from.out(),
			"SYSROOT="+from.system, "CC="+from.triple()+"-gcc")
	}
	return cmd
}

// platforms are those that the sources compile for.
func (s *buildSteps) platforms() []string {
	if len(s.Platforms) == 0 {
		return []string{"linux/amd64", "linux/arm64"}
	}
	return s.Platforms
}
