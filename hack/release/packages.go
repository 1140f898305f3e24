package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// debianVersion is how Debian writes a version: a candidate, which comes before its release, has a tilde.
func debianVersion(version string) string {
	core, candidate, found := strings.Cut(version, "-")
	if !found {
		return core
	}
	return core + "~" + strings.ReplaceAll(candidate, "-", ".")
}

// addPackages adds the Debian packages, each with its bill.
func (r *inputs) addPackages(m *contents) error {
	found, err := filepath.Glob(filepath.Join(r.built, "packages", "*.deb"))
	if err != nil {
		return err
	}
	slices.Sort(found)
	for _, from := range found {
		p, err := readPackage(from)
		if err != nil {
			return err
		}
		p.Archive = "packages/" + filepath.Base(from)
		if err := r.copy(from, p.Archive, 0o644); err != nil {
			return err
		}
		if err := checkPackage(r.out, r.version, p); err != nil {
			return err
		}
		if err := r.copy(from+".cdx.json", "sbom/"+p.Name+"-"+r.version+"-linux-"+p.Arch+".cdx.json", 0o644); err != nil {
			return err
		}
		m.Packages = append(m.Packages, p)
	}
	return nil
}

// checkPackage wants the package to be what the manifest says, of the release's version.
func checkPackage(folder, version string, want debianPackage) error {
	got, err := readPackage(filepath.Join(folder, filepath.FromSlash(want.Archive)))
	if err != nil {
		return err
	}
	if got.Archive = want.Archive; got != want {
		return fmt.Errorf("%s is %+v, the manifest says %+v", want.Archive, got, want)
	}
	if got.Version != debianVersion(version) {
		return fmt.Errorf("%s is of version %s, want %s", want.Archive, got.Version, debianVersion(version))
	}
	return nil
}

// readPackage reads what a package says of itself: an archive of ar, in which control.tar.gz has the file control (deb(5)).
func readPackage(file string) (p debianPackage, err error) {
	wrong := func(err error) (debianPackage, error) {
		return p, fmt.Errorf("%s: no Debian package that can be read here: %w", file, err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return p, err
	}
	archive, ok := bytes.CutPrefix(text, []byte("!<arch>\n"))
	if !ok {
		return wrong(errors.New("it does not begin as ar's archives do"))
	}
	for len(archive) >= 60 {
		name := strings.TrimRight(string(archive[:16]), " /")
		size, err := strconv.ParseUint(strings.TrimSpace(string(archive[48:58])), 10, 31)
		if err != nil {
			return wrong(err)
		}
		archive = archive[60:]
		if uint64(len(archive)) < size {
			return wrong(fmt.Errorf("%s is cut off", name))
		}
		if name == "control.tar.gz" {
			control, err := controlFile(archive[:size])
			if err != nil {
				return wrong(err)
			}
			for line := range strings.Lines(control) {
				key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
				switch key {
				case "Package":
					p.Name = value
				case "Version":
					p.Version = value
				case "Architecture":
					p.Arch = value
				}
			}
			if p.Name == "" || p.Version == "" || p.Arch == "" {
				return wrong(fmt.Errorf("its control file says %+v", p))
			}
			return p, nil
		}
		archive = archive[min(uint64(len(archive)), size+size%2):]
	}
	return wrong(errors.New("no control.tar.gz"))
}

func controlFile(compressed []byte) (string, error) {
	zr, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return "", err
	}
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if err != nil {
			return "", fmt.Errorf("no file control: %w", err)
		}
		if path.Clean(h.Name) == "control" {
			text, err := io.ReadAll(io.LimitReader(tr, 1<<20))
			return string(text), err
		}
	}
}
