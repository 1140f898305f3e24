package main

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// addLibraries adds what the dynamically linked files of the tree load at their start, and what that
// loads, at the places where the loader looks by itself. It is read from the files, so that it works for
// another architecture than this machine's, too. What a program opens by name later (a DPDK driver) is
// not seen: list it among the files, and its own libraries come too.
func (t tree) addLibraries(from sources) error {
	there := map[string]bool{} // a library that the recipe brings is found by the program itself
	for place := range t {
		there[path.Base(place)] = true
	}
	var todo []string
	for _, place := range t.places() {
		if n := t[place]; n.kind == regular && n.source != "" {
			todo = append(todo, n.source)
		}
	}
	for len(todo) > 0 {
		file := todo[0]
		todo = todo[1:]
		loader, needed, err := links(file)
		if err != nil {
			return err
		}
		add := func(place, source string) error {
			info, err := os.Stat(source)
			if err != nil {
				return fmt.Errorf("%s needs %s: %w", file, place, err)
			}
			t[place] = node{kind: regular, mode: 0o755, source: source, size: info.Size()}
			there[path.Base(place)] = true
			todo = append(todo, source)
			return nil
		}
		if loader != "" && !there[path.Base(loader)] {
			if err := add(loader, from.place(loader)); err != nil {
				return err
			}
		}
		for _, name := range needed {
			if there[name] {
				continue
			}
			place, err := from.library(name)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			if err := add(place, from.place(place)); err != nil {
				return err
			}
		}
	}
	return nil
}

// library is where the loader finds a library, without a cache of its own.
func (s sources) library(name string) (string, error) {
	for _, folder := range []string{"/lib/" + s.triple(), "/usr/lib/" + s.triple(), "/lib64", "/lib", "/usr/lib64", "/usr/lib"} {
		place := path.Join(folder, name)
		if _, err := os.Stat(s.place(place)); err == nil {
			return place, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", fmt.Errorf("%s is not on this machine, nor in the recipe", name)
}

// links tells which loader an ELF program names, and which libraries an ELF file does; other files, and
// programs without libraries, name neither.
func links(file string) (loader string, needed []string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	magic := make([]byte, len(elf.ELFMAG))
	if _, err := io.ReadFull(f, magic); err != nil || string(magic) != elf.ELFMAG {
		return "", nil, nil //nolint:nilerr // a file too short for a magic number is no ELF file
	}
	e, err := elf.NewFile(f)
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", file, err)
	}
	if e.Type != elf.ET_EXEC && e.Type != elf.ET_DYN {
		return "", nil, nil
	}
	if needed, err = e.DynString(elf.DT_NEEDED); err != nil {
		return "", nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(needed) == 0 {
		return "", nil, nil
	}
	for _, part := range e.Progs {
		if part.Type != elf.PT_INTERP {
			continue
		}
		text, err := io.ReadAll(part.Open())
		if err != nil {
			return "", nil, fmt.Errorf("%s: %w", file, err)
		}
		loader = strings.TrimRight(string(text), "\x00")
	}
	return loader, needed, nil
}
