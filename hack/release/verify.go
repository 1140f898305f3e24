package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"aead.dev/minisign"
	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// verify checks the files of a release, and nothing but them: signatures by the public key in keyPath, where one is
// named; that every file is there as it was made, and no other; and that chart, archives and manifest speak of the same images.
func verify(folder, keyPath string) (*contents, error) {
	if keyPath != "" {
		key, err := minisign.PublicKeyFromFile(keyPath)
		if err != nil {
			return nil, fmt.Errorf("%s: no public key of minisign: %w", keyPath, err)
		}
		for _, name := range []string{sumsFile, manifestFile} {
			if err := checkSignature(key, filepath.Join(folder, name)); err != nil {
				return nil, err
			}
		}
	}
	m, text, err := readManifest(filepath.Join(folder, manifestFile))
	if err != nil {
		return nil, err
	}
	found, err := filesOf(folder)
	if err != nil {
		return nil, err
	}
	if diff := cmp.Diff(m.Files, found); diff != "" {
		return nil, fmt.Errorf("the files are not those of the manifest (-manifest +found):\n%s", diff)
	}
	listed, err := os.ReadFile(filepath.Join(folder, sumsFile))
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(listed, sums(m, text)) {
		return nil, fmt.Errorf("%s and %s do not name the same files", sumsFile, manifestFile)
	}
	var wrong []error
	for _, i := range m.Images {
		if err := checkImage(folder, i); err != nil {
			wrong = append(wrong, fmt.Errorf("image %s: %w", i.Name, err))
		}
	}
	for _, p := range m.Packages {
		if err := checkPackage(folder, m.Version, p); err != nil {
			wrong = append(wrong, fmt.Errorf("package %s for %s: %w", p.Name, p.Arch, err))
		}
	}
	return m, errors.Join(append(wrong, checkCharts(folder, m))...)
}

// checkImage wants the archive whole, every blob by its digest, and of the digest and platforms that the manifest says.
func checkImage(folder string, want image) error {
	a, err := openArchive(filepath.Join(folder, want.Archive))
	if err != nil {
		return err
	}
	defer a.close()
	digest, err := a.index.Digest()
	if err != nil {
		return err
	}
	if digest.String() != want.Digest {
		return fmt.Errorf("%s holds %s, the manifest says %s", want.Archive, digest, want.Digest)
	}
	content, err := a.index.IndexManifest()
	if err != nil {
		return err
	}
	var platforms []string
	for _, d := range content.Manifests {
		if d.Platform == nil {
			return fmt.Errorf("%s: %s has no platform", want.Archive, d.Digest)
		}
		platforms = append(platforms, d.Platform.String())
	}
	if diff := cmp.Diff(want.Platforms, platforms); diff != "" {
		return fmt.Errorf("%s: platforms (-manifest +found):\n%s", want.Archive, diff)
	}
	return validate.Index(a.index)
}

// archived is the index in an OCI archive, which is unpacked for as long as it is looked at.
type archived struct {
	index  v1.ImageIndex
	folder string
}

func (a archived) close() { os.RemoveAll(a.folder) }

func openArchive(path string) (a archived, err error) {
	if a.folder, err = os.MkdirTemp("", "core5g-oci-*"); err != nil {
		return a, err
	}
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	if err := unpack(path, a.folder); err != nil {
		return a, fmt.Errorf("%s: %w", path, err)
	}
	outer, err := layout.ImageIndexFromPath(a.folder)
	if err != nil {
		return a, fmt.Errorf("%s: %w", path, err)
	}
	top, err := outer.IndexManifest()
	if err != nil {
		return a, fmt.Errorf("%s: %w", path, err)
	}
	if len(top.Manifests) != 1 || !top.Manifests[0].MediaType.IsIndex() {
		return a, fmt.Errorf("%s: want one index of platforms in it", path)
	}
	a.index, err = outer.ImageIndex(top.Manifests[0].Digest)
	return a, err
}

// unpack writes the files of an archive; os.Root keeps them in the folder.
func unpack(path, folder string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	for tr := tar.NewReader(f); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag == tar.TypeDir {
			continue
		}
		if err := unpackFile(root, h.Name, tr); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
	}
}

func unpackFile(root *os.Root, name string, from io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	to, err := root.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}

// checkCharts wants the charts of this version, and every image that they can make a pod of in the release, by the archive's
// digest; one that the release is without is said in the manifest.
func checkCharts(folder string, m *contents) error {
	if err := errors.Join(checkChart(folder, m, coreChart, m.Chart), checkChart(folder, m, operatorChart, m.OperatorChart)); err != nil {
		return err
	}
	var c chartOf
	if err := readEntries(filepath.Join(folder, m.UPFChart), map[string]any{upfChart + "/Chart.yaml": &c}); err != nil {
		return err
	}
	if c.Version != m.Version || c.AppVersion != m.Version {
		return fmt.Errorf("%s: version %s, appVersion %s, want %s of both", m.UPFChart, c.Version, c.AppVersion, m.Version)
	}
	return nil
}

func checkChart(folder string, m *contents, name, archive string) error {
	c, err := readChart(filepath.Join(folder, archive), name)
	if err != nil {
		return err
	}
	if c.Version != m.Version || c.AppVersion != m.Version || c.Tag != m.Version {
		return fmt.Errorf("%s: version %s, appVersion %s, images.tag %s, want %s of all", archive, c.Version, c.AppVersion, c.Tag, m.Version)
	}
	want := map[string]string{}
	for _, i := range m.Images {
		want[i.Name] = i.Digest
	}
	if diff := cmp.Diff(want, c.Digests[m.Version]); diff != "" {
		return fmt.Errorf("%s: images.digests (-manifest +chart):\n%s", archive, diff)
	}
	for _, name := range append([]string{"operator", "node-agent"}, c.Functions...) {
		said := slices.ContainsFunc(m.LeftOut, func(l leftOut) bool { return l.Image == name && l.Platform == "all" })
		if want[name] == "" && !said {
			return fmt.Errorf("%s can make pods of the image %s, which the release does not have", archive, name)
		}
	}
	return nil
}
