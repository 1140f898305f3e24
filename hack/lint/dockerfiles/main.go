// Dockerfiles parses Dockerfiles as BuildKit does, which no machine without a container engine would do
// otherwise, and checks what the parser leaves to the build: that a stage is copied from which is there.
//
//	dockerfiles FILE…
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

func main() {
	good, bad := 0, 0
	for _, file := range os.Args[1:] {
		if err := check(file); err != nil {
			fmt.Printf("%s: %v\n", file, err)
			bad++
			continue
		}
		good++
	}
	fmt.Printf("dockerfiles: %d passed, %d failed, 0 skipped\n", good, bad)
	if bad > 0 {
		os.Exit(1)
	}
}

func check(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	parsed, err := parser.Parse(f)
	if err != nil {
		return err
	}
	for _, warning := range parsed.Warnings {
		return fmt.Errorf("%s", warning.Short)
	}
	stages, _, err := instructions.Parse(parsed.AST, nil)
	if err != nil {
		return err
	}
	return checkCopies(stages)
}

// checkCopies wants every COPY --from to name a stage that stands before its own.
func checkCopies(stages []instructions.Stage) error {
	for i, stage := range stages {
		for _, command := range stage.Commands {
			c, ok := command.(*instructions.CopyCommand)
			if !ok || c.From == "" {
				continue
			}
			if !named(stages[:i], c.From) {
				return fmt.Errorf("%s: no stage %s before it", c, c.From)
			}
		}
	}
	return nil
}

func named(stages []instructions.Stage, name string) bool {
	for i, stage := range stages {
		if strings.EqualFold(stage.Name, name) || strconv.Itoa(i) == name {
			return true
		}
	}
	return false
}
