package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// recipe is the schema of images/<name>/image.yaml.
type recipe struct {
	// Base is what the image starts from: only "scratch", the empty image.
	Base string `json:"base,omitempty"`

	Entrypoint []string          `json:"entrypoint,omitempty"`
	Cmd        []string          `json:"cmd,omitempty"`
	Workdir    string            `json:"workdir,omitempty"`
	User       string            `json:"user,omitempty"`
	Env        map[string]string `json:"env,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`

	// Packages are the Debian packages that programs were linked to statically, for the bill of
	// materials; what is there as a file is found without being named.
	Packages []string `json:"packages,omitempty"`

	// Build says how the programs among the files are made, for the Dockerfile beside the recipe.
	Build *buildSteps `json:"build,omitempty"`

	// Libs "auto" adds the loader and the shared libraries of every dynamically linked file.
	Libs     string        `json:"libs,omitempty"`
	Files    []fileEntry   `json:"files,omitempty"`
	Dirs     []dirEntry    `json:"dirs,omitempty"`
	Symlinks []linkEntry   `json:"symlinks,omitempty"`
	Inline   []inlineEntry `json:"inline,omitempty"`
}

// buildSteps are either Go packages, which compile for any architecture on any machine, or a command
// that runs on a machine of the image's architecture.
type buildSteps struct {
	Go []string `json:"go,omitempty"`
	// Module is the folder of the packages' module, when that is not the repository's; Out is where the
	// programs go, out/bin/ when absent.
	Module string `json:"module,omitempty"`
	Out    string `json:"out,omitempty"`

	Run string `json:"run,omitempty"`
	// Sections of hack/install-tools.sh that the command needs.
	Sections []string `json:"sections,omitempty"`

	// Platforms are those that the sources compile for; linux/amd64 and linux/arm64 when absent.
	Platforms []string `json:"platforms,omitempty"`
}

// fileEntry copies a file, a directory with all below it, or what a glob matches.
type fileEntry struct {
	// From is relative to the repository, or absolute; *, ? and […] as in a shell.
	From string `json:"from"`
	// To is the absolute place in the image; with a / at its end, the directory to put the file into.
	To string `json:"to"`
	// Mode of a file, "0755" or so; what the source has when absent (directories are always 0755).
	Mode  fileMode `json:"mode,omitempty"`
	Owner owner    `json:"owner,omitempty"`
	// Capabilities are file capabilities, permitted and effective: cap_net_raw, … A container that does not
	// allow all of them cannot run the file.
	Capabilities []string `json:"capabilities,omitempty"`
	// Permitted are file capabilities that the program raises itself; it runs without them, too.
	Permitted []string `json:"permitted,omitempty"`
}

type dirEntry struct {
	Path  string   `json:"path"`
	Mode  fileMode `json:"mode,omitempty"`
	Owner owner    `json:"owner,omitempty"`
}

type linkEntry struct {
	Path   string `json:"path"`
	Target string `json:"target"`
}

// inlineEntry is a small file whose text stands in the recipe: /etc/passwd, say.
type inlineEntry struct {
	To    string   `json:"to"`
	Text  string   `json:"text"`
	Mode  fileMode `json:"mode,omitempty"`
	Owner owner    `json:"owner,omitempty"`
}

// fileMode is the permission bits of a file; zero stands for "not given".
type fileMode int64

// UnmarshalJSON takes an octal string only: an unquoted 0755 means 493 to one YAML parser and 755 to
// another.
func (m *fileMode) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("mode %s: write it in quotes, as \"0755\"", data)
	}
	bits, err := strconv.ParseUint(text, 8, 16)
	if err != nil || bits == 0 || bits > 0o7777 {
		return fmt.Errorf("mode %q: want an octal number such as \"0755\"", text)
	}
	*m = fileMode(bits)
	return nil
}

// owner is "uid:gid", root when not given.
type owner struct{ uid, gid int }

func (o *owner) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("owner %s: write it in quotes, as \"1000:1000\"", data)
	}
	uid, gid, ok := strings.Cut(text, ":")
	u, errU := strconv.ParseUint(uid, 10, 31)
	g, errG := strconv.ParseUint(gid, 10, 31)
	if !ok || errU != nil || errG != nil {
		return fmt.Errorf("owner %q: want numbers, as \"1000:1000\"", text)
	}
	o.uid, o.gid = int(u), int(g)
	return nil
}

// readRecipe reads and checks a recipe. Its errors begin with the name of the file and name the key.
func readRecipe(file string) (*recipe, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r, err := parseRecipe(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

func parseRecipe(text []byte) (*recipe, error) {
	asJSON, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, err
	}
	r := new(recipe)
	unknown, err := kjson.UnmarshalStrict(asJSON, r)
	if err := errors.Join(append(unknown, err)...); err != nil {
		return nil, err
	}
	return r, r.check()
}

func (r *recipe) check() error {
	if r.Base != "" && r.Base != "scratch" {
		return fmt.Errorf("base: %q: only \"scratch\" is known", r.Base)
	}
	if r.Libs != "" && r.Libs != "auto" {
		return fmt.Errorf("libs: %q: only \"auto\" is known", r.Libs)
	}
	if len(r.Entrypoint) == 0 && len(r.Cmd) == 0 {
		return errors.New("entrypoint: give it, or cmd")
	}
	if r.Workdir != "" && !path.IsAbs(r.Workdir) {
		return fmt.Errorf("workdir: %q: want an absolute path", r.Workdir)
	}
	if b := r.Build; b != nil && (len(b.Go) > 0) == (b.Run != "") {
		return errors.New("build: give go, or run")
	}
	for i, f := range r.Files {
		key := fmt.Sprintf("files[%d]", i)
		if f.From == "" {
			return fmt.Errorf("%s.from: missing", key)
		}
		if err := checkPlace(key+".to", f.To); err != nil {
			return err
		}
		if _, err := capabilityXattr(f.Capabilities, true); err != nil {
			return fmt.Errorf("%s.capabilities: %w", key, err)
		}
		if _, err := capabilityXattr(f.Permitted, false); err != nil {
			return fmt.Errorf("%s.permitted: %w", key, err)
		}
		if len(f.Capabilities) > 0 && len(f.Permitted) > 0 {
			return fmt.Errorf("%s: write capabilities or permitted: a file's capabilities are effective all, or none", key)
		}
	}
	for i, d := range r.Dirs {
		if err := checkPlace(fmt.Sprintf("dirs[%d].path", i), d.Path); err != nil {
			return err
		}
	}
	for i, l := range r.Symlinks {
		if err := checkPlace(fmt.Sprintf("symlinks[%d].path", i), l.Path); err != nil {
			return err
		}
		if l.Target == "" {
			return fmt.Errorf("symlinks[%d].target: missing", i)
		}
	}
	for i, f := range r.Inline {
		if err := checkPlace(fmt.Sprintf("inline[%d].to", i), f.To); err != nil {
			return err
		}
	}
	return nil
}

func checkPlace(key, place string) error {
	switch {
	case place == "":
		return fmt.Errorf("%s: missing", key)
	case !path.IsAbs(place):
		return fmt.Errorf("%s: %q: want an absolute path in the image", key, place)
	case strings.Contains(place+"/", "/../"):
		return fmt.Errorf("%s: %q: want a path without .. in it", key, place)
	}
	return nil
}
