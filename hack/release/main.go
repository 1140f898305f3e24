package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("write assemble, verify or key")
	}
	switch args[0] {
	case "assemble":
		return assembleCommand(args[1:])
	case "verify":
		return verifyCommand(args[1:])
	case "key":
		if len(args) != 2 {
			return errors.New("key: name one file, for the secret key")
		}
		return newKey(args[1])
	}
	return fmt.Errorf("%q: write assemble, verify or key", args[0])
}

func assembleCommand(args []string) error {
	var r inputs
	f := flag.NewFlagSet("assemble", flag.ContinueOnError)
	f.StringVar(&r.version, "version", "", "the version, as SemVer writes it: 1.2.3 or 1.2.3-rc.1")
	f.StringVar(&r.commit, "commit", "", "the commit that all was built from")
	f.StringVar(&r.source, "source", ".", "the sources: chart, LICENSE, NOTICE, documents")
	f.StringVar(&r.built, "built", "", "what was built: images/<os>-<arch>/<name>.tar with .cdx.json, plugin/<os>-<arch>/kubectl-core5g with .cdx.json, packages/<name>_<version>_<arch>.deb with .cdx.json, licences/, left-out: lines of image, platform, reason")
	f.StringVar(&r.helm, "helm", "helm", "the program")
	f.StringVar(&r.previous, "previous", "", "the manifest.json of the release before, whose digests the chart goes on to know")
	f.StringVar(&r.url, "url", "", "where the files will be, for krew")
	f.StringVar(&r.out, "out", "", "the folder to write, which must not be there or be empty")
	if err := f.Parse(args); err != nil {
		return err
	}
	for name, value := range map[string]string{"version": r.version, "commit": r.commit, "built": r.built, "out": r.out} {
		if value == "" {
			return fmt.Errorf("assemble: -%s is missing", name)
		}
	}
	key, err := keyOfEnvironment(os.Getenv)
	if err != nil {
		return err
	}
	m, err := r.assemble(key)
	if err != nil {
		return err
	}
	fmt.Printf("release %s: %d images, %d Debian packages, %d files in %s\n", m.Version, len(m.Images), len(m.Packages), len(m.Files), r.out)
	for _, l := range m.LeftOut {
		fmt.Printf("  without %s for %s: %s\n", l.Image, l.Platform, l.Reason)
	}
	if key == nil {
		fmt.Println("  not signed: " + keyFile + " names no key")
	}
	return nil
}

func verifyCommand(args []string) error {
	f := flag.NewFlagSet("verify", flag.ContinueOnError)
	key := f.String("key", "", "the public key that must have signed; without one no signature is looked at")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() != 1 {
		return errors.New("verify: name the folder of the files")
	}
	m, err := verify(f.Arg(0), *key)
	if err != nil {
		return err
	}
	signed := "signature not looked at: -key names no public key"
	if *key != "" {
		signed = "signed by " + strings.TrimSpace(*key)
	}
	fmt.Printf("release %s: %d images, %d files as they were made; %s\n", m.Version, len(m.Images), len(m.Files), signed)
	return nil
}
