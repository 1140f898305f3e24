// Command abigen writes the Go mirror of upf_abi.h.
//
// It reads the small part of C that the header is written in (object-like integer macros, enums,
// the X-macro of the drop reasons, structs of fixed-width members) and refuses everything else, so
// that a construct it does not know cannot be mirrored wrongly. Layout follows the ABIs of x86-64 and
// arm64, which are the same for these types, and Go's for both; the generated C file makes the compiler
// confirm each offset, the generated Go file makes the Go compiler confirm them too.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"log"
	"os"
	"path/filepath"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("abigen: ")
	header := flag.String("header", "upf_abi.h", "the header to read")
	goFile := flag.String("go", "zabi_linux.go", "the Go file to write")
	cFile := flag.String("c", "check/zabi_check.c", "the C file of assertions to write")
	verify := flag.Bool("verify", false, "write nothing; fail when a file differs from what would be written")
	flag.Parse()

	src, err := os.ReadFile(*header)
	if err != nil {
		log.Fatal(err)
	}
	h, err := parse(string(src))
	if err != nil {
		log.Fatalf("%s: %v", *header, err)
	}
	goSrc, err := format.Source(emitGo(h))
	if err != nil {
		log.Fatalf("generated Go does not parse: %v", err)
	}
	include, err := filepath.Rel(filepath.Dir(*cFile), *header)
	if err != nil {
		log.Fatal(err)
	}
	outputs := []struct {
		path string
		text []byte
	}{{*goFile, goSrc}, {*cFile, emitC(h, include)}}
	for _, o := range outputs {
		if err := put(o.path, o.text, *verify); err != nil {
			log.Fatal(err)
		}
	}
}

func put(path string, text []byte, verify bool) error {
	if !verify {
		return os.WriteFile(path, text, 0o644)
	}
	have, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Equal(have, text) {
		return fmt.Errorf("%s is not what the header says: run make generate", path)
	}
	return nil
}
