package main

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aead.dev/minisign"
)

// push copies the images of a release to a registry, with what its reader has for that.
//
//go:embed push.sh
var push []byte

// inputs are what a release is made of.
type inputs struct {
	version, commit    string
	source, built, out string
	helm               string
	previous, url      string
}

// assemble writes the files of the release, and signs them where there is a key.
func (r *inputs) assemble(key *minisign.PrivateKey) (*contents, error) {
	if err := checkVersion(r.version); err != nil {
		return nil, err
	}
	digests, err := r.digestsBefore()
	if err != nil {
		return nil, err
	}
	if err := emptyFolder(r.out); err != nil {
		return nil, err
	}
	m := &contents{Name: "core5g", Version: r.version, Commit: r.commit, Chart: r.archiveOf(coreChart),
		OperatorChart: r.archiveOf(operatorChart), UPFChart: r.archiveOf(upfChart)}
	if m.LeftOut, err = readLeftOut(filepath.Join(r.built, "left-out")); err != nil {
		return nil, err
	}
	if err := r.addImages(m); err != nil {
		return nil, err
	}
	digests[r.version] = map[string]string{}
	for _, i := range m.Images {
		digests[r.version][i.Name] = i.Digest
	}
	if err := r.writeCharts(digests); err != nil {
		return nil, err
	}
	if err := r.addPlugins(m); err != nil {
		return nil, err
	}
	if err := r.addPackages(m); err != nil {
		return nil, err
	}
	if err := r.addTexts(); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(r.out, "push.sh"), push, 0o755); err != nil {
		return nil, err
	}
	if key != nil {
		public, ok := key.Public().(minisign.PublicKey)
		if !ok {
			return nil, errors.New("the key has no public half")
		}
		if err := writePublic(filepath.Join(r.out, publicFile), public); err != nil {
			return nil, err
		}
	}
	if err := writeManifest(r.out, m); err != nil {
		return nil, err
	}
	if key != nil {
		for _, name := range []string{manifestFile, sumsFile} {
			if err := sign(*key, filepath.Join(r.out, name), "core5g "+r.version+" "+name); err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}

// digestsBefore are those of the release before: an upgrade in parts leaves functions on its images for a while.
func (r *inputs) digestsBefore() (map[string]map[string]string, error) {
	digests := map[string]map[string]string{}
	if r.previous == "" {
		return digests, nil
	}
	before, _, err := readManifest(r.previous)
	if err != nil {
		return nil, fmt.Errorf("the release before: %w", err)
	}
	if before.Version == r.version {
		return nil, fmt.Errorf("%s is of version %s itself: name the release before", r.previous, r.version)
	}
	digests[before.Version] = map[string]string{}
	for _, i := range before.Images {
		digests[before.Version][i.Name] = i.Digest
	}
	return digests, nil
}

// emptyFolder makes a folder; files of another release among these would be taken for theirs.
func emptyFolder(folder string) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return os.MkdirAll(folder, 0o755)
	}
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("%s is not empty: a release is made into a folder of its own", folder)
	}
	return err
}

// readLeftOut reads lines of image, platform and reason.
func readLeftOut(path string) ([]leftOut, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []leftOut
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.SplitN(lines.Text(), " ", 3)
		if len(fields) != 3 || fields[2] == "" {
			return nil, fmt.Errorf("%s: %q: want image, platform and reason", path, lines.Text())
		}
		all = append(all, leftOut{fields[0], fields[1], fields[2]})
	}
	slices.SortFunc(all, func(a, b leftOut) int { return strings.Compare(a.Image+" "+a.Platform, b.Image+" "+b.Platform) })
	return all, nil
}

func (r *inputs) addImages(m *contents) error {
	built, err := builtImages(r.built)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(built)) {
		i := image{Name: name, Archive: "images/" + name + "-" + r.version + ".oci.tar"}
		for _, folder := range built[name] {
			i.Platforms = append(i.Platforms, strings.Replace(folder, "-", "/", 1))
			bill := filepath.Join(r.built, "images", folder, name+".cdx.json")
			if err := r.copy(bill, "sbom/"+name+"-"+r.version+"-"+folder+".cdx.json", 0o644); err != nil {
				return err
			}
		}
		if i.Digest, err = writeImage(r.built, name, built[name], r.version, filepath.Join(r.out, i.Archive)); err != nil {
			return fmt.Errorf("image %s: %w", name, err)
		}
		m.Images = append(m.Images, i)
	}
	return nil
}

// addTexts adds the licences, and the documents with the examples that they name.
func (r *inputs) addTexts() error {
	for _, name := range []string{"LICENSE", "NOTICE", "CHANGELOG.md"} {
		if err := r.copy(filepath.Join(r.source, name), name, 0o644); err != nil {
			return err
		}
	}
	if err := r.bundle("core5g-licences-"+r.version, filepath.Join(r.built, "licences"), "."); err != nil {
		return err
	}
	return r.bundle("core5g-docs-"+r.version, r.source, "README.md", "CHANGELOG.md", "docs", "manifests", "charts/core5g/README.md",
		"charts/core5g-operator/README.md", "charts/core5g-upf/README.md", "hack/README.md", "upf/README.md")
}

// bundle packs files and folders of a folder below one of the archive's name.
func (r *inputs) bundle(name, folder string, parts ...string) error {
	var all []entry
	for _, part := range parts {
		path := filepath.Join(folder, part)
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			all = append(all, entry{name: name + "/" + part, mode: 0o644, source: path})
			continue
		}
		prefix := name + "/" + part + "/"
		if part == "." {
			prefix = name + "/"
		}
		entries, err := entriesOf(path, prefix)
		if err != nil {
			return err
		}
		all = append(all, entries...)
	}
	return writeTarGz(filepath.Join(r.out, name+".tar.gz"), all)
}

func (r *inputs) copy(from, name string, mode os.FileMode) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	to := filepath.Join(r.out, name)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, mode)
}
