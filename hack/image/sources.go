package main

import (
	"path/filepath"
	"runtime"
	"strings"
)

// sources is where the files of images come from: the repository and this machine, or for another
// architecture its own output folder and a folder of its Debian packages (hack/sysroot.sh).
type sources struct {
	root   string // the repository
	arch   string // as Go names it
	system string // the folder that stands for /; empty: this machine
}

func (s sources) foreign() bool { return s.arch != runtime.GOARCH }

// out is the folder of what is built.
func (s sources) out() string {
	if s.foreign() {
		return filepath.Join(s.root, "out", s.arch)
	}
	return filepath.Join(s.root, "out")
}

// place is where a path of a recipe is: what is built is in out/, and out/<architecture>/ for another one.
func (s sources) place(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Join(s.system, path)
	}
	if below, ok := strings.CutPrefix(path, "out/"); ok {
		return filepath.Join(s.out(), below)
	}
	return filepath.Join(s.root, path)
}

// triple is how Debian names the folders of an architecture's libraries.
func (s sources) triple() string {
	switch s.arch {
	case "amd64":
		return "x86_64-linux-gnu"
	case "arm64":
		return "aarch64-linux-gnu"
	}
	return s.arch + "-linux-gnu"
}
