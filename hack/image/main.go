package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

func main() {
	b := &builder{}
	flag.StringVar(&b.root, "root", ".", "the repository")
	flag.StringVar(&b.recipes, "recipes", "images", "the folder of <name>/image.yaml, in the repository")
	flag.StringVar(&b.outDir, "out", "", "where archives go (default <root>/out/<recipes>)")
	flag.StringVar(&b.arch, "arch", runtime.GOARCH, "the architecture to build for; another than this machine's needs the folder that hack/sysroot.sh makes")
	flag.StringVar(&b.prefix, "prefix", "core5g/", "what stands before an image's name in its reference")
	flag.StringVar(&b.tag, "tag", "dev", "the image's tag")
	rootfs := flag.String("rootfs", "", "write the one image's files into this folder, and no archive")
	programs := flag.Bool("programs", false, "make the programs that the recipes of the named images say how to make, and no archive")
	bill := flag.Bool("bill", false, "write the bill of materials of each named program, a file, beside it as <file>.cdx.json, and no archive")
	dockerfiles := flag.Bool("dockerfiles", false, "write the Dockerfiles beside the recipes, and no archive")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: image [flags] [name or images/name …]\n\n"+
			"Builds out/images/<name>.tar of images/<name>/image.yaml; without a name, of every recipe.\n\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	root, err := filepath.Abs(b.root)
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
	b.root = root
	if b.foreign() {
		b.system = filepath.Join(b.out(), "root")
		if _, err := os.Stat(b.system); err != nil {
			fmt.Fprintf(os.Stderr, "image: for %s: %v: run hack/sysroot.sh %s\n", b.arch, err, b.arch)
			os.Exit(1)
		}
	}
	do := func() error { return run(b, flag.Args()) }
	if *rootfs != "" {
		do = func() error { return writeRootfs(b, *rootfs, flag.Args()) }
	} else if *programs {
		do = func() error { return makePrograms(b, flag.Args()) }
	} else if *bill {
		do = func() error { return writeBills(b.tag, flag.Args()) }
	} else if *dockerfiles {
		do = func() error { return writeDockerfiles(b) }
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(b *builder, names []string) error {
	if b.outDir == "" {
		b.outDir = filepath.Join(b.out(), b.recipes)
	}
	if len(names) == 0 {
		var err error
		if names, err = b.all(); err != nil {
			return err
		}
	}
	for _, name := range names {
		name = filepath.Base(name) // images/amf/ is amf
		done, err := b.build(name)
		if err != nil {
			return err
		}
		state := "unchanged"
		if done.changed {
			state = "written"
		}
		fmt.Printf("image %-16s %6.1f MB  %s\n", name, float64(done.size)/1e6, state)
	}
	return nil
}

// all names the recipes that there are.
func (b *builder) all() ([]string, error) {
	recipes, err := filepath.Glob(filepath.Join(b.root, b.recipes, "*", "image.yaml"))
	if err != nil {
		return nil, err
	}
	if len(recipes) == 0 {
		return nil, fmt.Errorf("no %s/*/image.yaml below %s", b.recipes, b.root)
	}
	var names []string
	for _, file := range recipes {
		names = append(names, filepath.Base(filepath.Dir(file)))
	}
	return names, nil
}
