package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// builder makes images of the recipes below root.
type builder struct {
	sources
	recipes string // the folder of recipes in it: images
	outDir  string
	prefix  string // of the image's name: core5g/
	tag     string
}

// built is the outcome for one image.
type built struct {
	archive string
	size    int64
	changed bool
}

// build makes the archive of one image, or leaves it alone when its inputs are those of the last time.
func (b *builder) build(name string) (built, error) {
	recipeFile := filepath.Join(b.recipes, name, "image.yaml")
	r, err := readRecipe(filepath.Join(b.root, recipeFile))
	if err != nil {
		return built{}, err
	}
	t, err := newTree(r, b.sources)
	if err != nil {
		return built{}, fmt.Errorf("%s: %w", recipeFile, err)
	}
	reference := b.prefix + name + ":" + b.tag
	inputs, err := fingerprint(r, t, reference, b.arch)
	if err != nil {
		return built{}, fmt.Errorf("%s: %w", recipeFile, err)
	}

	archive := filepath.Join(b.outDir, name+".tar")
	bill := filepath.Join(b.outDir, name+".cdx.json")
	stamp := filepath.Join(b.outDir, "."+name+".inputs")
	if old, err := os.ReadFile(stamp); err == nil && bytes.Equal(old, inputs) {
		info, err := os.Stat(archive)
		_, errBill := os.Stat(bill)
		if err == nil && errBill == nil {
			return built{archive: archive, size: info.Size()}, nil
		}
	}

	if err := os.MkdirAll(b.outDir, 0o755); err != nil {
		return built{}, err
	}
	// No stamp while the archive is in the making: a build that is cut short is done again.
	if err := os.Remove(stamp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return built{}, err
	}
	changed, err := b.write(r, t, reference, archive)
	if err != nil {
		return built{}, fmt.Errorf("%s: %w", recipeFile, err)
	}
	text, err := billOf(reference, r, t, b.sources)
	if err != nil {
		return built{}, fmt.Errorf("%s: %w", recipeFile, err)
	}
	if err := os.WriteFile(bill, text, 0o644); err != nil {
		return built{}, err
	}
	if err := os.WriteFile(stamp, inputs, 0o644); err != nil {
		return built{}, err
	}
	info, err := os.Stat(archive)
	if err != nil {
		return built{}, err
	}
	return built{archive: archive, size: info.Size(), changed: changed}, nil
}

// write replaces the archive at once, and only by one that differs.
func (b *builder) write(r *recipe, t tree, reference, archive string) (changed bool, err error) {
	layer, err := os.CreateTemp(b.outDir, ".layer-*")
	if err != nil {
		return false, err
	}
	defer os.Remove(layer.Name())
	defer layer.Close()
	if err := writeLayer(layer, t); err != nil {
		return false, err
	}
	if _, err := layer.Seek(0, io.SeekStart); err != nil {
		return false, err
	}

	next, err := os.CreateTemp(b.outDir, ".archive-*")
	if err != nil {
		return false, err
	}
	defer os.Remove(next.Name()) // after the rename there is nothing to remove
	defer next.Close()
	if err := writeArchive(next, r, reference, b.arch, layer); err != nil {
		return false, err
	}
	if err := next.Chmod(0o644); err != nil {
		return false, err
	}
	if err := next.Close(); err != nil {
		return false, err
	}
	same, err := sameContent(next.Name(), archive)
	if err != nil || same {
		return false, err
	}
	return true, os.Rename(next.Name(), archive)
}

// fingerprint changes whenever the archive might: with the recipe, with an entry of the tree, and with
// the size or time of a source.
func fingerprint(r *recipe, t tree, reference, arch string) ([]byte, error) {
	h := sha256.New()
	fmt.Fprintf(h, "5 %s %s %q %q %q %q %q %q %q\n", reference, arch, r.Packages, r.Entrypoint, r.Cmd, r.Workdir, r.User, environment(r.Env), environment(r.Labels))
	for _, place := range t.places() {
		n := t[place]
		fmt.Fprintf(h, "%q %d %o %v %q %q %q %q", place, n.kind, n.mode, n.owner, n.source, n.text, n.target, n.xattr)
		if n.source != "" {
			info, err := os.Stat(n.source)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(h, " %d %d", info.Size(), info.ModTime().UnixNano())
		}
		fmt.Fprintln(h)
	}
	return fmt.Appendf(nil, "%x\n", h.Sum(nil)), nil
}

func sameContent(a, b string) (bool, error) {
	sumA, err := sum(a)
	if err != nil {
		return false, err
	}
	sumB, err := sum(b)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return bytes.Equal(sumA, sumB), err
}

func sum(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return h.Sum(nil), err
}
