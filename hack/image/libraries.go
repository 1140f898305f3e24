package main

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// addLibraries adds what the dynamically linked files of the tree load at their start, as ldd tells,
// at the place where the loader looks for it. What a program opens by name later (a DPDK driver) is
// not seen: list it among the files, and its own libraries come too.
func (t tree) addLibraries() error {
	for _, place := range t.places() {
		n := t[place]
		if n.kind != regular || n.source == "" {
			continue
		}
		dynamic, err := isDynamic(n.source)
		if err != nil {
			return err
		}
		if !dynamic {
			continue
		}
		libraries, err := ldd(n.source)
		if err != nil {
			return err
		}
		for _, library := range libraries {
			if _, ok := t[library]; ok {
				continue
			}
			info, err := os.Stat(library)
			if err != nil {
				return err
			}
			t[library] = node{kind: regular, mode: 0o755, source: library, size: info.Size()}
		}
	}
	return nil
}

// isDynamic says whether file is an ELF file that names libraries.
func isDynamic(file string) (bool, error) {
	f, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer f.Close()
	magic := make([]byte, len(elf.ELFMAG))
	if _, err := io.ReadFull(f, magic); err != nil || string(magic) != elf.ELFMAG {
		return false, nil //nolint:nilerr // a file too short for a magic number is no ELF file
	}
	e, err := elf.NewFile(f)
	if err != nil {
		return false, fmt.Errorf("%s: %w", file, err)
	}
	if e.Type != elf.ET_EXEC && e.Type != elf.ET_DYN {
		return false, nil
	}
	needed, err := e.DynString(elf.DT_NEEDED)
	if err != nil {
		return false, fmt.Errorf("%s: %w", file, err)
	}
	return len(needed) > 0, nil
}

func ldd(file string) ([]string, error) {
	var stderr bytes.Buffer
	cmd := exec.Command("ldd", file)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("ldd %s: %w: %s", file, err, strings.TrimSpace(stderr.String()))
	}
	libraries, err := parseLdd(string(out))
	if err != nil {
		return nil, fmt.Errorf("ldd %s: %w", file, err)
	}
	return libraries, nil
}

// parseLdd takes the paths out of lines such as
//
//	linux-vdso.so.1 (0x…)                                the kernel's own: no file
//	libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x…)
//	/lib64/ld-linux-x86-64.so.2 (0x…)                    the loader
//	libfoo.so.1 => not found
func parseLdd(out string) ([]string, error) {
	var libraries []string
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if name, place, ok := strings.Cut(line, " => "); ok {
			if strings.HasPrefix(place, "not found") {
				return nil, errors.New(name + " is not on this machine")
			}
			line = place
		}
		if place, _, ok := strings.Cut(line, " ("); ok && strings.HasPrefix(place, "/") {
			libraries = append(libraries, place)
		}
	}
	return libraries, nil
}
