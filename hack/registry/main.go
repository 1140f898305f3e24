// Registry is an OCI registry for clusters that have none: distribution's own, the CNCF's, with its storage in a folder and no others. A release is
// pushed there as a reader would push it, and nodes pull from it (make e2e-release). A site has one already.
package main

import (
	"fmt"
	"os"

	"github.com/distribution/distribution/v3/registry"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem"
)

func main() {
	if err := registry.RootCmd.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "registry:", err)
		os.Exit(1)
	}
}
