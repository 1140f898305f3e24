package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	manifestFile = "manifest.json"
	sumsFile     = "SHA256SUMS"
	publicFile   = "core5g.pub"
	signatureEnd = ".minisig"
)

// contents says what the files of a release are. It names every file but itself, SHA256SUMS and the signatures.
type contents struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Chart   string `json:"chart"`
	// OperatorChart and UPFChart are of the operator alone and of UPF units alone, for who has these as releases of their own.
	OperatorChart string    `json:"operatorChart"`
	UPFChart      string    `json:"upfChart"`
	Images        []image   `json:"images"`
	LeftOut       []leftOut `json:"leftOut,omitempty"`
	Plugins       []plugin  `json:"plugins"`
	// Packages are those for Debian.
	Packages []debianPackage `json:"packages,omitempty"`
	Files    []file          `json:"files"`
}

// image is one OCI archive, whose index of platforms has the digest.
type image struct {
	Name      string   `json:"name"`
	Archive   string   `json:"archive"`
	Digest    string   `json:"digest"`
	Platforms []string `json:"platforms"`
}

// leftOut is an image that the release does not have for a platform.
type leftOut struct {
	Image    string `json:"image"`
	Platform string `json:"platform"`
	Reason   string `json:"reason"`
}

type plugin struct {
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	Archive string `json:"archive"`
}

// debianPackage is a file that dpkg installs.
type debianPackage struct {
	Name string `json:"name"`
	// Version is as Debian writes it, a candidate's with a tilde.
	Version string `json:"version"`
	Arch    string `json:"arch"`
	Archive string `json:"archive"`
}

type file struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// versionForm is SemVer 2.0.0 without build metadata, which no tag of an image may have.
var versionForm = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*)?$`)

func checkVersion(version string) error {
	if !versionForm.MatchString(version) {
		return fmt.Errorf("version %q: write it as SemVer does, without a v and without build metadata: 1.2.3 or 1.2.3-rc.1", version)
	}
	return nil
}

// filesOf lists the files below a folder, by name, but those that speak of the list itself.
func filesOf(folder string) ([]file, error) {
	var all []file
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if name == manifestFile || name == sumsFile || strings.HasSuffix(name, signatureEnd) {
			return nil
		}
		if !entry.Type().IsRegular() {
			return fmt.Errorf("%s is no regular file", name)
		}
		sum, size, err := digestOf(path)
		all = append(all, file{name, size, sum})
		return err
	})
	slices.SortFunc(all, func(a, b file) int { return strings.Compare(a.Name, b.Name) })
	return all, err
}

func digestOf(path string) (sum string, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), size, err
}

// writeManifest writes manifest.json and SHA256SUMS over the files that are there.
func writeManifest(folder string, m *contents) error {
	var err error
	if m.Files, err = filesOf(folder); err != nil {
		return err
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if err := os.WriteFile(filepath.Join(folder, manifestFile), text, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, sumsFile), sums(m, text), 0o644)
}

// sums is the text of SHA256SUMS, as sha256sum reads it.
func sums(m *contents, manifestText []byte) []byte {
	own := sha256.Sum256(manifestText)
	all := append(slices.Clone(m.Files), file{Name: manifestFile, SHA256: hex.EncodeToString(own[:])})
	slices.SortFunc(all, func(a, b file) int { return strings.Compare(a.Name, b.Name) })
	var w bytes.Buffer
	for _, f := range all {
		fmt.Fprintf(&w, "%s  %s\n", f.SHA256, f.Name)
	}
	return w.Bytes()
}

func readManifest(path string) (*contents, []byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%s is not there: name a release's folder or its manifest", path)
	}
	if err != nil {
		return nil, nil, err
	}
	m := new(contents)
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	if err := strict.Decode(m); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, text, nil
}
