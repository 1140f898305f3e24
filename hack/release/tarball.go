package main

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// entry is a file of an archive: from a file on disk, or a text.
type entry struct {
	name   string
	mode   int64
	source string
	text   []byte
}

// entriesOf lists the regular files below a folder, under a prefix; programs keep that they can be run.
func entriesOf(folder, prefix string) ([]entry, error) {
	var all []entry
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is no regular file", path)
		}
		mode := int64(0o644)
		if info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		all = append(all, entry{name: prefix + filepath.ToSlash(name), mode: mode, source: path})
		return nil
	})
	return all, err
}

// writeTar writes entries by name, owned by root, at the beginning of time.
func writeTar(w io.Writer, entries []entry) error {
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	tw := tar.NewWriter(w)
	for _, e := range entries {
		if err := writeEntry(tw, e); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	return tw.Close()
}

func writeEntry(tw *tar.Writer, e entry) error {
	var content io.Reader = strings.NewReader(string(e.text))
	size := int64(len(e.text))
	if e.source != "" {
		f, err := os.Open(e.source)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		content, size = f, info.Size()
	}
	h := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: e.mode, Size: size, ModTime: time.Unix(0, 0).UTC(), Format: tar.FormatPAX}
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	_, err := io.Copy(tw, content)
	return err
}

func writeTarFile(path string, entries []entry) error {
	return create(path, func(w io.Writer) error { return writeTar(w, entries) })
}

func writeTarGz(path string, entries []entry) error {
	return create(path, func(w io.Writer) error {
		zw, err := gzip.NewWriterLevel(w, gzip.BestCompression)
		if err != nil {
			return err
		}
		if err := writeTar(zw, entries); err != nil {
			return err
		}
		return zw.Close()
	})
}

// create writes a file, with its folder, and leaves none behind that was not written to its end.
func create(path string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	err = write(f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		os.Remove(path)
	}
	return err
}
