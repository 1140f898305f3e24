// Command generate writes the dashboards of package dashboards as the JSON files that the chart ships.
//
// Usage: generate [-root <repository>]
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"core5g.dev/core5g/hack/dashboards"
)

func main() {
	root := flag.String("root", ".", "the repository's root")
	flag.Parse()
	if err := generate(filepath.Join(*root, dashboards.Folder)); err != nil {
		fmt.Fprintln(os.Stderr, "dashboards:", err)
		os.Exit(1)
	}
}

// generate replaces the folder, so that the file of a dashboard that is gone goes too.
func generate(folder string) error {
	files := map[string][]byte{}
	for _, d := range dashboards.All() {
		content, err := d.JSON()
		if err != nil {
			return err
		}
		files[d.UID+".json"] = content
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
