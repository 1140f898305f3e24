// Command repocheck checks what no compiler looks at: that every relative link in the documents leads
// to a file and a heading that exist, that the functions, types and source files that they name exist,
// that what they tell their readers to type exists and that shells can read it, that their examples and
// the manifests are what the API server would take, that YAML files parse, that no committed file names a
// path or an address of somebody's machine, that scripts can be run, that every test runs somewhere, that
// the includes of upf-u make no circle, and that modules which share most of what they need have it in one version. It reads the files that git tracks.
//
// Each check prints what it found and closes with "name: N passed, M failed".
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// file is one tracked file; path is relative to the root and has slashes.
type file struct {
	path       string
	content    []byte
	executable bool
}

// tree is what the checks look at.
type tree struct {
	files []file
	// paths has every tracked file and every folder above one.
	paths map[string]bool
}

// check returns how many things it looked at and what is wrong with them, one line each.
type check struct {
	name string
	run  func(tree) (looked int, wrong []string)
}

func main() {
	root := flag.String("root", ".", "the repository's root")
	flag.Parse()
	t, err := tracked(*root)
	if err != nil {
		fmt.Fprintln(os.Stderr, "repocheck:", err)
		os.Exit(1)
	}
	failed := false
	for _, c := range []check{{"links", links}, {"yaml", yamlFiles}, {"machine_paths", machinePaths}, {"scripts", scripts}, {"code_names", codeNames},
		{"shell_blocks", shellBlocks}, {"commands", commands}, {"examples", examples}, {"short_tests", shortTests}, {"includes", includes}, {"modules", modules}} {
		looked, wrong := c.run(t)
		for _, line := range wrong {
			fmt.Println(line)
		}
		failed = failed || len(wrong) > 0
		fmt.Printf("%s: %d passed, %d failed\n", c.name, max(looked-len(wrong), 0), len(wrong))
	}
	if failed {
		os.Exit(1)
	}
}

// tracked reads the files that git knows, as they are in the work tree.
func tracked(root string) (tree, error) {
	list, err := exec.Command("git", "-C", root, "ls-files", "-z").Output()
	if err != nil {
		return tree{}, fmt.Errorf("git ls-files: %w", err)
	}
	t := tree{paths: map[string]bool{".": true}}
	for name := range bytes.SplitSeq(list, []byte{0}) {
		if len(name) == 0 {
			continue
		}
		path := filepath.Join(root, string(name))
		info, err := os.Lstat(path)
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
		} else if err != nil {
			return tree{}, err
		}
		f := file{path: string(name)}
		if info.Mode().IsRegular() { // the bits of a link say nothing
			f.executable = info.Mode()&0o111 != 0
			if f.content, err = os.ReadFile(path); err != nil {
				return tree{}, err
			}
		}
		t.add(f)
	}
	return t, nil
}

func (t *tree) add(f file) {
	t.files = append(t.files, f)
	for path := f.path; path != "." && path != "/"; path = filepath.Dir(path) {
		t.paths[path] = true
	}
}

// documents are the Markdown files.
func (t *tree) documents() []file {
	var all []file
	for _, f := range t.files {
		if strings.HasSuffix(f.path, ".md") {
			all = append(all, f)
		}
	}
	return all
}

// text tells text from binary the way git does.
func (f file) text() bool { return !bytes.Contains(f.content[:min(len(f.content), 8000)], []byte{0}) }

func (f file) lines() []string { return strings.Split(string(f.content), "\n") }
