package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
)

// A bill of materials says what an image is made of, in CycloneDX' JSON: the Go modules that are linked
// into its programs, the Debian packages that files come from, the Maven artefacts of its jars, and the
// digest of every file. It is read from the files themselves; only what a program was linked to
// statically, by another compiler than Go's, must be said in the recipe (packages). It is the same
// for the same files: no time, no random number.
type billOfMaterials struct {
	Schema      string       `json:"$schema"`
	BOMFormat   string       `json:"bomFormat"`
	SpecVersion string       `json:"specVersion"`
	Version     int          `json:"version"`
	Metadata    billMetadata `json:"metadata"`
	Components  []component  `json:"components"`
}

type billMetadata struct {
	Component component `json:"component"`
}

type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	PURL    string `json:"purl,omitempty"`
	Hashes  []hash `json:"hashes,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

// billOf lists what an image holds.
func billOf(reference string, r *recipe, t tree, from sources) ([]byte, error) {
	libraries := map[string]component{} // by purl
	add := func(found ...component) {
		for _, c := range found {
			libraries[c.PURL] = c
		}
	}
	var files []component
	asked := map[string][]string{} // a path on this machine, to the sources that are the same file
	for _, place := range t.places() {
		n := t[place]
		if n.kind != regular {
			continue
		}
		digest, err := contentDigest(n)
		if err != nil {
			return nil, err
		}
		files = append(files, component{Type: "file", Name: place, Hashes: []hash{{"SHA-256", digest}}})
		switch {
		case n.source == "":
		case strings.HasSuffix(place, ".jar"):
			artefacts, err := mavenArtefacts(n.source)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", place, err)
			}
			// Other builders than Maven leave only the name: demo-1.2.3.jar.
			if m := versionedJar.FindStringSubmatch(path.Base(place)); m != nil && len(artefacts) == 0 {
				artefacts = []component{{Type: "library", Name: m[1], Version: m[2], PURL: "pkg:generic/" + m[1] + "@" + m[2]}}
			}
			add(artefacts...)
		default:
			if modules, ok := goModules(n.source); ok {
				add(modules...)
				continue
			}
			// A copy in the build's folders is a package's file if the package's is the same.
			for _, candidate := range []string{n.source, from.place(place)} {
				if same, err := sameContent(n.source, candidate); err == nil && same {
					asked[candidate] = append(asked[candidate], place)
				}
			}
		}
	}
	packages, err := debianOwners(slices.Sorted(maps.Keys(asked)), from.system)
	if err != nil {
		return nil, err
	}
	packages = append(packages, r.Packages...)
	debian, err := debianComponents(packages, from.system)
	if err != nil {
		return nil, err
	}
	add(debian...)

	name, version, _ := strings.Cut(reference, ":")
	return billText(component{Type: "container", Name: name, Version: version}, libraries, files)
}

// writeBills writes the bills of programs that are in no image, what Go has linked into each, and of Debian packages.
func writeBills(version string, programs []string) error {
	if len(programs) == 0 {
		return errors.New("-bill: name programs")
	}
	for _, program := range programs {
		if strings.HasSuffix(program, ".deb") {
			text, err := billOfPackage(program, version)
			if err == nil {
				err = os.WriteFile(program+".cdx.json", text, 0o644)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", program, err)
			}
			continue
		}
		modules, ok := goModules(program)
		if !ok {
			return fmt.Errorf("%s: not a program of Go's compiler", program)
		}
		digest, err := sum(program)
		if err != nil {
			return err
		}
		libraries := map[string]component{}
		for _, m := range modules {
			libraries[m.PURL] = m
		}
		of := component{Type: "application", Name: filepath.Base(program), Version: version, Hashes: []hash{{"SHA-256", fmt.Sprintf("%x", digest)}}}
		text, err := billText(of, libraries, nil)
		if err != nil {
			return err
		}
		if err := os.WriteFile(program+".cdx.json", text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// staticallyLinked is an entry of Built-Using: a source package and its version.
var staticallyLinked = regexp.MustCompile(`([a-z0-9][a-z0-9+.-]*) \(= ([^)]+)\)`)

// billOfPackage lists what a Debian package holds: its files, what Go has linked into its programs, and what else is linked in, by its own word.
func billOfPackage(deb, version string) ([]byte, error) {
	field := func(name string) (string, error) {
		said, err := exec.Command("dpkg-deb", "--field", deb, name).Output()
		return strings.TrimSpace(string(said)), err
	}
	name, err := field("Package")
	if err != nil {
		return nil, err
	}
	linked, err := field("Built-Using")
	if err != nil {
		return nil, err
	}
	libraries := map[string]component{}
	for _, m := range staticallyLinked.FindAllStringSubmatch(linked, -1) {
		purl := "pkg:deb/debian/" + m[1] + "@" + strings.ReplaceAll(m[2], "+", "%2B") + "?arch=source"
		libraries[purl] = component{Type: "library", Name: m[1], Version: m[2], PURL: purl}
	}
	root, err := os.MkdirTemp("", "core5g-bill-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(root)
	if said, err := exec.Command("dpkg-deb", "--extract", deb, root).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("dpkg-deb: %w: %s", err, said)
	}
	var files []component
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		digest, err := sum(file)
		if err != nil {
			return err
		}
		files = append(files, component{Type: "file", Name: strings.TrimPrefix(file, root), Hashes: []hash{{"SHA-256", fmt.Sprintf("%x", digest)}}})
		modules, _ := goModules(file)
		for _, m := range modules {
			libraries[m.PURL] = m
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	digest, err := sum(deb)
	if err != nil {
		return nil, err
	}
	of := component{Type: "application", Name: name, Version: version, Hashes: []hash{{"SHA-256", fmt.Sprintf("%x", digest)}}}
	return billText(of, libraries, files)
}

// billText is the bill of something: libraries by their purls, then files.
func billText(of component, libraries map[string]component, files []component) ([]byte, error) {
	bill := billOfMaterials{
		Schema:      "http://cyclonedx.org/schema/bom-1.6.schema.json",
		BOMFormat:   "CycloneDX",
		SpecVersion: "1.6",
		Version:     1,
		Metadata:    billMetadata{of},
		Components:  []component{},
	}
	for _, purl := range slices.Sorted(maps.Keys(libraries)) {
		bill.Components = append(bill.Components, libraries[purl])
	}
	bill.Components = append(bill.Components, files...)
	text, err := json.MarshalIndent(bill, "", "  ")
	return append(text, '\n'), err
}

func contentDigest(n node) (string, error) {
	if n.source == "" {
		return fmt.Sprintf("%x", sha256.Sum256([]byte(n.text))), nil
	}
	digest, err := sum(n.source)
	return fmt.Sprintf("%x", digest), err
}

// goModules reads what the Go compiler wrote into a program: its own module and the Go release too.
func goModules(file string) ([]component, bool) {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return nil, false
	}
	release := strings.TrimPrefix(strings.Fields(info.GoVersion)[0], "go")
	found := []component{{Type: "library", Name: "std", Version: release, PURL: "pkg:golang/std@" + release}}
	for _, module := range info.Deps {
		found = append(found, goModule(module))
	}
	return found, true
}

func goModule(module *debug.Module) component {
	name, version := module.Path, module.Version
	if by := module.Replace; by != nil {
		// A folder of this repository has no version, and is named by what it stands for; Go calls it (devel).
		if by.Version == "" || by.Version == "(devel)" {
			version = ""
		} else {
			name, version = by.Path, by.Version
		}
	}
	c := component{Type: "library", Name: name, Version: version, PURL: "pkg:golang/" + name}
	if version != "" {
		c.PURL += "@" + strings.ReplaceAll(version, "+", "%2B")
	}
	return c
}

var versionedJar = regexp.MustCompile(`^([A-Za-z][\w.-]*?)-(\d[\w.]*)\.jar$`)

// mavenArtefacts reads the coordinates that Maven writes into a jar; others have none.
func mavenArtefacts(jar string) ([]component, error) {
	archive, err := zip.OpenReader(jar)
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	var found []component
	for _, f := range archive.File {
		if !strings.HasPrefix(f.Name, "META-INF/maven/") || path.Base(f.Name) != "pom.properties" {
			continue
		}
		text, err := f.Open()
		if err != nil {
			return nil, err
		}
		keys := map[string]string{}
		for lines := bufio.NewScanner(text); lines.Scan(); {
			if key, value, ok := strings.Cut(lines.Text(), "="); ok {
				keys[strings.TrimSpace(key)] = strings.TrimSpace(value)
			}
		}
		text.Close()
		if group, artefact, version := keys["groupId"], keys["artifactId"], keys["version"]; artefact != "" {
			found = append(found, component{
				Type: "library", Name: group + ":" + artefact, Version: version,
				PURL: "pkg:maven/" + group + "/" + artefact + "@" + version,
			})
		}
	}
	return found, nil
}

// debianOwners names the packages that files of this machine come from. Where there is no dpkg there
// are none, and what dpkg does not know has none.
func debianOwners(files []string, system string) ([]string, error) {
	if _, err := exec.LookPath("dpkg-query"); err != nil || len(files) == 0 {
		return nil, nil
	}
	// dpkg knows a file by the name that it was installed under, before or after /lib became /usr/lib.
	var names []string
	for _, file := range files {
		target, err := filepath.EvalSymlinks(file)
		if err == nil {
			target = strings.TrimPrefix(target, system)
		}
		file = strings.TrimPrefix(file, system)
		names = append(names, file)
		if below, ok := strings.CutPrefix(file, "/usr"); ok {
			names = append(names, below)
		} else {
			names = append(names, "/usr"+file)
		}
		if err == nil {
			names = append(names, target, strings.TrimPrefix(target, "/usr"))
		}
	}
	// It ends with 1 when it does not know one of them, and says the others.
	out, err := exec.Command("dpkg-query", append(slices.Concat(database(system), []string{"--search", "--"}), names...)...).Output()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) {
		return nil, fmt.Errorf("dpkg-query --search: %w", err)
	}
	var owners []string
	for line := range strings.Lines(string(out)) {
		if packages, _, ok := strings.Cut(line, ": "); ok && !strings.HasPrefix(line, "diversion ") {
			owners = append(owners, strings.Split(packages, ", ")...)
		}
	}
	slices.Sort(owners)
	return slices.Compact(owners), nil
}

// database is the option that names the packages of another system than this machine's.
func database(system string) []string {
	if system == "" {
		return nil
	}
	return []string{"--admindir=" + filepath.Join(system, "var/lib/dpkg")}
}

// debianComponents adds the versions to packages, named with or without an architecture.
func debianComponents(packages []string, system string) ([]component, error) {
	if len(packages) == 0 {
		return nil, nil
	}
	if _, err := exec.LookPath("dpkg-query"); err != nil {
		return nil, fmt.Errorf("packages: this machine has no dpkg-query, and so no versions of %s", strings.Join(packages, ", "))
	}
	format := "--showformat=${Package} ${Version} ${Architecture}\\n"
	var stderr bytes.Buffer
	cmd := exec.Command("dpkg-query", append(slices.Concat(database(system), []string{"--show", format, "--"}), packages...)...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("dpkg-query --show: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	var found []component
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			return nil, fmt.Errorf("dpkg-query --show: %q", line)
		}
		name, version, arch := fields[0], fields[1], fields[2]
		escaped := strings.NewReplacer("+", "%2B", ":", "%3A").Replace(version)
		found = append(found, component{
			Type: "library", Name: name, Version: version,
			PURL: fmt.Sprintf("pkg:deb/debian/%s@%s?arch=%s", name, escaped, arch),
		})
	}
	return found, nil
}
