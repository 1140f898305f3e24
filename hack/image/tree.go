package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// node is one entry of the image's only layer.
type node struct {
	kind   nodeKind
	mode   int64
	owner  owner
	source string // a file's content: a path on this machine …
	text   string // … or the text itself, when source is empty
	size   int64
	target string // of a symbolic link
	xattr  string // security.capability
}

type nodeKind byte

const (
	directory nodeKind = iota
	regular
	symlink
)

// tree maps an absolute, clean path in the image to what stands there.
type tree map[string]node

// newTree collects what the recipe asks for.
func newTree(r *recipe, from sources) (tree, error) {
	t := tree{}
	for i, d := range r.Dirs {
		mode := int64(d.Mode)
		if mode == 0 {
			mode = 0o755
		}
		if err := t.add(path.Clean(d.Path), node{kind: directory, mode: mode, owner: d.Owner}); err != nil {
			return nil, fmt.Errorf("dirs[%d].path: %w", i, err)
		}
	}
	for i, f := range r.Files {
		if err := t.addFiles(f, from); err != nil {
			return nil, fmt.Errorf("files[%d].from: %w", i, err)
		}
	}
	for i, f := range r.Inline {
		mode := int64(f.Mode)
		if mode == 0 {
			mode = 0o644
		}
		n := node{kind: regular, mode: mode, owner: f.Owner, text: f.Text, size: int64(len(f.Text))}
		if err := t.add(path.Clean(f.To), n); err != nil {
			return nil, fmt.Errorf("inline[%d].to: %w", i, err)
		}
	}
	for i, l := range r.Symlinks {
		if err := t.add(path.Clean(l.Path), node{kind: symlink, mode: 0o777, target: l.Target}); err != nil {
			return nil, fmt.Errorf("symlinks[%d].path: %w", i, err)
		}
	}
	if r.Libs == "auto" {
		if err := t.addLibraries(from); err != nil {
			return nil, fmt.Errorf("libs: %w", err)
		}
	}
	return t, t.addParents()
}

// add refuses a second entry at a place, unless both say the same directory.
func (t tree) add(place string, n node) error {
	if old, taken := t[place]; taken && !(old.kind == directory && n.kind == directory) {
		return fmt.Errorf("%s is in the image already", place)
	}
	t[place] = n
	return nil
}

func (t tree) addFiles(f fileEntry, from sources) error {
	pattern := from.place(f.From)
	matches, err := filepath.Glob(pattern)
	if err != nil {
		return fmt.Errorf("%s: %w", f.From, err)
	}
	if len(matches) == 0 {
		return fmt.Errorf("%s: no such file; build it first", f.From)
	}
	into := strings.HasSuffix(f.To, "/")
	if len(matches) > 1 && !into {
		return fmt.Errorf("%s: matches %d files; end `to` with a / to put them into a directory", f.From, len(matches))
	}
	names, effective := f.Capabilities, true
	if len(f.Permitted) > 0 {
		names, effective = f.Permitted, false
	}
	xattr, err := capabilityXattr(names, effective)
	if err != nil {
		return err
	}
	for _, source := range matches {
		place := path.Clean(f.To)
		if into {
			place = path.Join(place, filepath.Base(source))
		}
		if err := t.addSource(source, place, f, xattr); err != nil {
			return err
		}
	}
	return nil
}

func (t tree) addSource(source, place string, f fileEntry, xattr string) error {
	// A link that the recipe names stands for what it points to; one inside a directory stays a link.
	top, err := os.Stat(source)
	if err != nil {
		return err
	}
	if !top.IsDir() {
		return t.addRegular(source, place, top, f, xattr)
	}
	return filepath.WalkDir(source, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(source, name)
		if err != nil {
			return err
		}
		info, err := os.Lstat(name)
		if err != nil {
			return err
		}
		to := path.Join(place, filepath.ToSlash(below))
		switch {
		case name == source || entry.IsDir():
			return t.add(to, node{kind: directory, mode: 0o755, owner: f.Owner})
		case entry.Type() == fs.ModeSymlink:
			target, err := os.Readlink(name)
			if err != nil {
				return err
			}
			return t.add(to, node{kind: symlink, mode: 0o777, owner: f.Owner, target: target})
		default:
			return t.addRegular(name, to, info, f, xattr)
		}
	})
}

func (t tree) addRegular(source, place string, info fs.FileInfo, f fileEntry, xattr string) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: neither a file nor a directory", source)
	}
	mode := int64(f.Mode)
	if mode == 0 {
		mode = int64(info.Mode().Perm())
	}
	return t.add(place, node{
		kind: regular, mode: mode, owner: f.Owner, source: source, size: info.Size(), xattr: xattr,
	})
}

// addParents adds the directories that the entries need, and refuses what stands below a non-directory.
func (t tree) addParents() error {
	for _, place := range t.places() {
		for parent := path.Dir(place); parent != "/"; parent = path.Dir(parent) {
			above, ok := t[parent]
			if ok && above.kind != directory {
				return fmt.Errorf("%s cannot stand below %s, which is no directory", place, parent)
			}
			if !ok {
				t[parent] = node{kind: directory, mode: 0o755}
			}
		}
	}
	if len(t) == 0 {
		return errors.New("files: the image would be empty")
	}
	return nil
}

// places are in the order of the archive: a directory comes before what it holds.
func (t tree) places() []string {
	return slices.Sorted(maps.Keys(t))
}
