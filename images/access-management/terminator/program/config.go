package program

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"strconv"
	"time"

	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/nf/pod"

	"github.com/free5gc/sctp"
)

// Config is how the program was started.
type Config struct {
	pod.Config
	// N2 is where gNBs come, Workers where AMF workers do.
	N2      *sctp.SCTPAddr
	Workers string
	// WorkersService is the workers' Service, whose certificate they show; "": that of any function will do.
	WorkersService string
	// Shards of the set, numbered from 1, and its AMF Set ID.
	Shards, Set uint16
	// Linger is how long associations go on at its end.
	Linger time.Duration
}

const (
	defaultShards = 16
	mostSet       = 1<<10 - 1 // TS 23.003 2.10.1: ten bits
	noSet         = math.MaxUint16
)

// ParseConfig reads the command line.
func ParseConfig(args []string, output io.Writer) (Config, error) {
	c := Config{Shards: defaultShards, Set: noSet}
	var n2 string
	f := flag.NewFlagSet("n2-terminator", flag.ContinueOnError)
	f.SetOutput(output)
	c.Flags(f)
	f.StringVar(&n2, "n2-listen", ":38412", "address and port for gNBs; several addresses of one host with slashes, 10.0.0.1/10.0.1.1:38412. "+sctp.TransportEnv+"=kernel or udp says whose SCTP")
	f.StringVar(&c.Workers, "workers-listen", ":38400", "address and port for AMF workers, with TLS where SBI_TLS_DIR names a directory")
	f.StringVar(&c.WorkersService, "workers-service", os.Getenv("WORKERS_SERVICE"), "name of the workers' Service, whose certificate they are to show; none: any of the namespace (default $WORKERS_SERVICE)")
	f.DurationVar(&c.Linger, "linger", 0, "how long associations go on at its end, while gNBs that are told so let go of them")
	f.Func("shards", fmt.Sprintf("number of shards, that of the workers (default $SHARDS, or %d)", defaultShards), pod.Number(&c.Shards, "number of shards", 1, record.MostShards))
	f.Func("set", "AMF Set ID (default $AMF_SET)", pod.Number(&c.Set, "AMF Set ID", 0, mostSet))
	for name, flag := range map[string]string{"SHARDS": "shards", "AMF_SET": "set"} {
		if text := os.Getenv(name); text != "" {
			if err := f.Set(flag, text); err != nil {
				return Config{}, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	if err := pod.Parse(f, args); err != nil {
		return Config{}, err
	}
	if err := c.Check(); err != nil {
		return Config{}, err
	}
	if c.Set == noSet {
		return Config{}, errors.New("-set is missing: write the AMF Set ID of the Core5G, 0 to 1023, or set AMF_SET")
	}
	var err error
	if c.N2, err = sctp.ResolveSCTPAddr("sctp", n2); err != nil {
		return Config{}, fmt.Errorf("-n2-listen %q: write address:port, or :port for all addresses: %w", n2, err)
	}
	if _, port, err := net.SplitHostPort(c.Workers); err != nil || !isPort(port) {
		return Config{}, fmt.Errorf("-workers-listen %q: write address:port, or :port for all addresses", c.Workers)
	}
	return c, nil
}

func isPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil
}
