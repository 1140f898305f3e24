package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// makePrograms makes the programs of images as their recipes say. Go's are stripped, and know nothing of
// the folder that they were compiled in: the same sources make the same program everywhere.
func makePrograms(b *builder, names []string) error {
	if len(names) == 0 {
		return errors.New("-programs: name the images")
	}
	for _, name := range names {
		recipeFile := filepath.Join(b.recipes, name, "image.yaml")
		r, err := readRecipe(filepath.Join(b.root, recipeFile))
		if err != nil {
			return err
		}
		if r.Build == nil {
			return fmt.Errorf("%s: no build", recipeFile)
		}
		cmd := r.Build.command(b.root)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: build: %w", recipeFile, err)
		}
	}
	return nil
}

func (s *buildSteps) command(root string) *exec.Cmd {
	var cmd *exec.Cmd
	if len(s.Go) > 0 {
		out := s.Out
		if out == "" {
			out = "out/bin/"
		}
		// With a / at its end go build takes it for a folder.
		args := []string{"build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(root, out) + "/"}
		cmd = exec.Command("go", append(args, s.Go...)...)
		cmd.Dir = filepath.Join(root, s.Module)
	} else {
		cmd = exec.Command("sh", "-c", s.Run)
		cmd.Dir = root
	}
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	return cmd
}
