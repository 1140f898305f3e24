package main

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// handedOn are the files of a module, or of a jar, that its licence asks to hand on with it.
var handedOn = regexp.MustCompile(`(?i)^((un)?licen[sc]es?|copying|copyright|notices?|patents|authors)([.-].*)?$`)

// writeTexts writes the licences of what a release holds: go/<module>@<version>/, debian/<package>/copyright of
// what the bills in the folder images name, and java/<jar>/. A Debian package whose text this machine does not have is
// an error: it is installed where an image is made of it.
func writeTexts(root, images, folder string) error {
	if images == "" {
		images = filepath.Join(root, "out", "images")
	}
	modules, err := releasedModules(root)
	if err != nil {
		return err
	}
	for _, m := range modules {
		if err := copyTexts(m.folder, filepath.Join(folder, "go", m.name+"@"+m.version)); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	if err := copyTexts(strings.TrimSpace(string(goroot)), filepath.Join(folder, "go", "std")); err != nil {
		return fmt.Errorf("Go's library: %w", err)
	}
	packages, _, err := billed(images)
	if err != nil {
		return err
	}
	for _, s := range packages {
		// Java's artefacts are group:artefact, and jars without coordinates have their texts below, too.
		text, err := os.ReadFile(filepath.Join("/usr/share/doc", s.name, "copyright"))
		if errors.Is(err, fs.ErrNotExist) && (strings.Contains(s.name, ":") || !debianPackage(s.name)) {
			continue
		}
		if err != nil {
			return fmt.Errorf("the licence of the Debian package %s: %w", s.name, err)
		}
		if err := writeText(filepath.Join(folder, "debian", s.name, "copyright"), text); err != nil {
			return err
		}
	}
	jars, err := filepath.Glob(filepath.Join(root, "out", "bin", "database", "lib", "*.jar"))
	if err != nil {
		return err
	}
	for _, jar := range jars {
		name := strings.TrimSuffix(filepath.Base(jar), ".jar")
		if err := copyJarTexts(jar, filepath.Join(folder, "java", name)); err != nil {
			return fmt.Errorf("%s: %w", jar, err)
		}
	}
	return nil
}

// debianPackage tells whether dpkg has a package of this name.
func debianPackage(name string) bool {
	return exec.Command("dpkg-query", "--show", "--", name).Run() == nil
}

func copyTexts(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() || !handedOn.MatchString(entry.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(from, entry.Name()))
		if err != nil {
			return err
		}
		if err := writeText(filepath.Join(to, entry.Name()), text); err != nil {
			return err
		}
	}
	return nil
}

func copyJarTexts(jar, to string) error {
	archive, err := zip.OpenReader(jar)
	if err != nil {
		return err
	}
	defer archive.Close()
	for _, f := range archive.File {
		folder, name := path.Split(f.Name)
		if f.FileInfo().IsDir() || (folder != "" && folder != "META-INF/" && folder != "META-INF/license/") || !handedOn.MatchString(name) && folder != "META-INF/license/" {
			continue
		}
		in, err := f.Open()
		if err != nil {
			return err
		}
		text, err := io.ReadAll(in)
		in.Close()
		if err != nil {
			return err
		}
		if err := writeText(filepath.Join(to, name), text); err != nil {
			return err
		}
	}
	return nil
}

func writeText(file string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}
