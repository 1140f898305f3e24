// Licences checks that everything core5g ships has a licence that policy.yaml allows: the Go modules that
// any module of this repository links, by the texts in them, and what else the images hold, by name,
// from the bills of materials in out/images. Where no image is built yet there is nothing to read there:
// `make images` runs this again, for the images alone.
//
//	go run ./hack/licences [-v] [-images folder]
//	go run ./hack/licences -notice              NOTICE: what the images of a release and the plug-in hold, by licence
//	go run ./hack/licences -texts folder        the licences themselves, of the same and of what bills name
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"core5g.dev/core5g/hack/licences/spdx"
)

type policy struct {
	Allowed    []string `json:"allowed"`
	Exceptions []entry  `json:"exceptions"`
	Packages   []entry  `json:"packages"`
}

// entry allows one thing by name; a * in the name of a package stands for anything.
type entry struct {
	Name    string `json:"name"`
	Licence string `json:"licence"`
	Reason  string `json:"reason,omitempty"`
}

// shipped is one thing of somebody else.
type shipped struct {
	name, version string
	folder        string // of a Go module
}

func main() {
	verbose := flag.Bool("v", false, "say the licence of each")
	images := flag.String("images", "", "only what the images in this folder hold")
	writeNotice := flag.Bool("notice", false, "write NOTICE anew, and check nothing")
	texts := flag.String("texts", "", "write the texts of the licences into this folder, and check nothing; -images has the bills, out/images when not given")
	flag.Parse()
	if *writeNotice || *texts != "" {
		var err error
		if *writeNotice {
			err = rewriteNotice(".")
		}
		if err == nil && *texts != "" {
			err = writeTexts(".", *images, *texts)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "licences:", err)
			os.Exit(1)
		}
		return
	}
	ok, err := run(".", *images, *verbose)
	if err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
	if !ok {
		os.Exit(1)
	}
}

func run(root, images string, verbose bool) (ok bool, err error) {
	p, err := readPolicy(root)
	if err != nil {
		return false, err
	}
	var modules []shipped
	folder := images
	if images == "" {
		folder = filepath.Join(root, "out", "images")
		if modules, err = goModules(root); err != nil {
			return false, err
		}
	}
	packages, bills, err := billed(folder)
	if err != nil {
		return false, err
	}

	var wrong []string
	names := map[string]string{}
	for _, m := range modules {
		found, err := spdx.OfFolder(m.folder)
		if err != nil {
			return false, err
		}
		names[m.name+" "+m.version] = strings.Join(found, " AND ")
		if complaint := p.module(m, found); complaint != "" {
			wrong = append(wrong, complaint)
		}
	}
	for _, s := range packages {
		e, known := p.find(s.name)
		names[s.name+" "+s.version] = e.Licence
		if !known {
			wrong = append(wrong, fmt.Sprintf("%s %s is in an image and not in hack/licences/policy.yaml: look up its licence and add it to packages", s.name, s.version))
		}
	}
	if verbose {
		for _, s := range append(modules, packages...) {
			fmt.Printf("%-30s %s %s\n", names[s.name+" "+s.version], s.name, s.version)
		}
	}
	if bills == 0 && images != "" {
		return false, fmt.Errorf("no bill of materials in %s: build the images first (make images)", images)
	}
	for _, complaint := range wrong {
		fmt.Println(complaint)
	}
	fmt.Printf("licences: %d passed, %d failed, 0 skipped\n", len(modules)+len(packages)-len(wrong), len(wrong))
	return len(wrong) == 0, nil
}

func readPolicy(root string) (*policy, error) {
	text, err := os.ReadFile(filepath.Join(root, "hack", "licences", "policy.yaml"))
	if err != nil {
		return nil, err
	}
	p := new(policy)
	if err := yaml.UnmarshalStrict(text, p); err != nil {
		return nil, fmt.Errorf("policy.yaml: %w", err)
	}
	return p, nil
}

// module says what is wrong with the licences of a module, if anything.
func (p *policy) module(m shipped, found []string) string {
	for _, e := range p.Exceptions {
		if e.Name == m.name {
			return ""
		}
	}
	if len(found) == 0 {
		return fmt.Sprintf("%s %s has no licence that is known: read it, and add the module to exceptions in hack/licences/policy.yaml, or do without", m.name, m.version)
	}
	for _, name := range found {
		if !slices.Contains(p.Allowed, name) {
			return fmt.Sprintf("%s %s is under %s, which hack/licences/policy.yaml does not allow", m.name, m.version, name)
		}
	}
	return ""
}

func (p *policy) find(name string) (entry, bool) {
	for _, e := range p.Packages {
		if match, err := path.Match(e.Name, name); err == nil && match {
			return e, true
		}
	}
	return entry{}, false
}

// goModules lists the modules of others that packages and tools of each module of this repository link.
func goModules(root string) ([]shipped, error) {
	files, err := exec.Command("git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", "go.mod", "*/go.mod").Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	all := map[string]shipped{}
	for _, file := range strings.Fields(string(files)) {
		dir := filepath.Join(root, filepath.Dir(file))
		text, err := os.ReadFile(filepath.Join(root, file))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed, and not committed yet
		}
		if err != nil {
			return nil, err
		}
		patterns := []string{"./..."}
		if strings.Contains(string(text), "\ntool ") {
			patterns = append(patterns, "tool")
		}
		// Of a module without packages of its own it lists the tools.
		if err := addLinked(all, dir, nil, patterns...); err != nil {
			return nil, err
		}
	}
	return sorted(all), nil
}

// addLinked adds the modules of others that packages of the module in dir link, on the platform that env says.
func addLinked(all map[string]shipped, dir string, env []string, patterns ...string) error {
	const format = `{{with .Module}}{{if not .Main}}{{with .Replace}}{{.Path}} {{.Version}} {{.Dir}}{{else}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}{{end}}`
	cmd := exec.Command("go", append([]string{"list", "-C", dir, "-deps", "-f", format}, patterns...)...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return fmt.Errorf("go list in %s: %s", dir, exit.Stderr)
	}
	if err != nil {
		return fmt.Errorf("go list in %s: %w", dir, err)
	}
	for line := range strings.Lines(string(out)) {
		// A folder of this repository that stands for a module has no version.
		if fields := strings.Fields(line); len(fields) == 3 {
			all[fields[0]+" "+fields[1]] = shipped{fields[0], fields[1], fields[2]}
		}
	}
	return nil
}

// billed lists what the bills of materials name beside Go modules, and how many bills there are.
func billed(folder string) (packages []shipped, bills int, err error) {
	all := map[string]shipped{}
	err = filepath.WalkDir(folder, func(file string, _ fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && file == folder {
			return nil
		}
		if err != nil || !strings.HasSuffix(file, ".cdx.json") {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var bill struct {
			Components []struct{ Name, Version, PURL string }
		}
		if err := json.Unmarshal(text, &bill); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		bills++
		for _, c := range bill.Components {
			if c.PURL != "" && !strings.HasPrefix(c.PURL, "pkg:golang/") {
				all[c.Name+" "+c.Version] = shipped{name: c.Name, version: c.Version}
			}
		}
		return nil
	})
	return sorted(all), bills, err
}

func sorted(all map[string]shipped) []shipped {
	list := make([]shipped, 0, len(all))
	for _, s := range all {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b shipped) int { return strings.Compare(a.name+" "+a.version, b.name+" "+b.version) })
	return list
}
