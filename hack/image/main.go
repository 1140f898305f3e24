package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	b := &builder{}
	flag.StringVar(&b.root, "root", ".", "the repository")
	flag.StringVar(&b.recipes, "recipes", "images", "the folder of <name>/image.yaml, in the repository")
	flag.StringVar(&b.outDir, "out", "", "where archives go (default <root>/out/<recipes>)")
	flag.StringVar(&b.prefix, "prefix", "core5g/", "what stands before an image's name in its reference")
	flag.StringVar(&b.tag, "tag", "dev", "the image's tag")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: image [flags] [name or images/name …]\n\n"+
			"Builds out/images/<name>.tar of images/<name>/image.yaml; without a name, of every recipe.\n\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	if err := run(b, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(b *builder, names []string) error {
	root, err := filepath.Abs(b.root)
	if err != nil {
		return err
	}
	b.root = root
	if b.outDir == "" {
		b.outDir = filepath.Join(root, "out", b.recipes)
	}
	if len(names) == 0 {
		recipes, err := filepath.Glob(filepath.Join(root, b.recipes, "*", "image.yaml"))
		if err != nil {
			return err
		}
		if len(recipes) == 0 {
			return fmt.Errorf("no %s/*/image.yaml below %s", b.recipes, root)
		}
		for _, file := range recipes {
			names = append(names, filepath.Base(filepath.Dir(file)))
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
