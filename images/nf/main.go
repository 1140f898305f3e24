package nf

import (
	"flag"
	"log/slog"
	"os"
	"strings"

	"core5g.dev/core5g/images/nf/memorylimit"
)

// Main is the main function of a network function of the type, such as "AMF": it reads the command line, as
// free5GC's own do, and ends the process when run has ended. Flags beside -c are to be defined before.
func Main(nfType string, run func(config string, log *slog.Logger) error) {
	name := strings.ToLower(nfType)
	config := flag.String("c", "./config/"+name+"cfg.yaml", "configuration `file`, in free5GC's format")
	flag.Parse()
	memorylimit.Respect(memorylimit.Files)
	log := slog.New(slog.NewTextHandler(os.Stderr, nil)).With("nf", name)
	if err := run(*config, log); err != nil {
		log.Error("cannot run", "error", err)
		os.Exit(1)
	}
}
