package sessionmanagement

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// Config is how the program was started.
type Config struct {
	// Core is the name of the Core5G. Slice is that of a Slice with pods of its own, "" for the pods of all others.
	Core, Namespace, Slice string
	// ConfigurationFile replaces Kubernetes by a file.
	ConfigurationFile string
	// Pod and Address are the pod's own.
	Pod     string
	Address netip.Addr
	// Shards in the order of their numbers, from 1, the same for all pods.
	Shards []ShardService
	// SBIPort and N4Port are those of shard 0, which there is not: shard n listens on the n-th behind it.
	SBIPort, N4Port             uint16
	MetricsListen, HealthListen string
	// NRF is its base URI, "" for none. AMF, UDM, PCF and CHF are those of functions that it is not asked for.
	NRF, AMF, UDM, PCF, CHF string
	LogLevel                slog.Level
}

// ShardService is how others reach a shard, whoever holds it: by Name on the service based interface, by Address on N4.
type ShardService struct {
	Name    string
	Address netip.Addr
}

// The ports that Services have.
const (
	servicePort = 8000
	pfcpPort    = 8805
	mostShards  = 64
)

// ParseConfig reads the command line.
func ParseConfig(args []string, output io.Writer) (Config, error) {
	c := Config{SBIPort: servicePort, N4Port: pfcpPort}
	var level, address, list string
	f := flag.NewFlagSet("session-management", flag.ContinueOnError)
	f.SetOutput(output)
	f.StringVar(&c.Core, "core", "core5g", "name of the Core5G to serve")
	f.StringVar(&c.Namespace, "namespace", os.Getenv("POD_NAMESPACE"), "namespace of the objects (default $POD_NAMESPACE)")
	f.StringVar(&c.ConfigurationFile, "configuration", "", "YAML file of slices and UPF units, instead of Kubernetes")
	f.StringVar(&c.Pod, "pod", os.Getenv("POD_NAME"), "name of this pod (default $POD_NAME)")
	f.StringVar(&address, "address", os.Getenv("POD_IP"), "address of this pod, by which others reach it (default $POD_IP)")
	f.StringVar(&c.Slice, "slice", "", "the one Slice to serve; without it, all that have no pods of their own")
	f.StringVar(&list, "shards", os.Getenv("SHARDS"), "Service and address of each shard, the first first: name=address, with commas (default $SHARDS)")
	f.Func("sbi-ports", "port before that of shard 1 (default 8000)", port(&c.SBIPort))
	f.Func("n4-ports", "UDP port before that of shard 1 (default 8805)", port(&c.N4Port))
	f.StringVar(&c.MetricsListen, "metrics-listen", os.Getenv("METRICS_LISTEN"), "address of /metrics; empty for none (default $METRICS_LISTEN)")
	f.StringVar(&c.HealthListen, "health-listen", os.Getenv("HEALTH_LISTEN"), "address of /healthz and /readyz; empty for none (default $HEALTH_LISTEN)")
	f.StringVar(&c.NRF, "nrf", "", `base URI of the NRF (default http://<core>-nrf:8000; "none": functions are where -amf, -udm, -pcf and -chf say)`)
	f.StringVar(&c.AMF, "amf", "", "base URI of the AMF, where the NRF is not to be asked")
	f.StringVar(&c.UDM, "udm", "", `base URI of the UDM, where the NRF is not to be asked; "none": no subscriptions`)
	f.StringVar(&c.PCF, "pcf", "", `base URI of the PCF, where the NRF is not to be asked; "none": policy is the Slice's`)
	f.StringVar(&c.CHF, "chf", "", `base URI of the CHF, where the NRF is not to be asked; "none": usage is kept, and nothing is charged`)
	f.StringVar(&level, "log-level", "info", "debug, info, warn or error")
	if err := f.Parse(args); err != nil {
		return Config{}, err
	}
	if f.NArg() > 0 {
		return Config{}, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	var err error
	if c.Address, err = netip.ParseAddr(address); err != nil {
		return Config{}, fmt.Errorf("-address %q: write the pod's address, or set POD_IP", address)
	}
	if c.Shards, err = parseShards(list); err != nil {
		return Config{}, err
	}
	if err := c.LogLevel.UnmarshalText([]byte(level)); err != nil {
		return Config{}, fmt.Errorf("-log-level %q: write debug, info, warn or error", level)
	}
	return c, c.check()
}

func port(into *uint16) func(string) error {
	return func(text string) error {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil || n == 0 {
			return fmt.Errorf("%q is no port: write one from 1 to 65535", text)
		}
		*into = uint16(n)
		return nil
	}
}

func parseShards(list string) ([]ShardService, error) {
	var out []ShardService
	for text := range strings.SplitSeq(list, ",") {
		name, address, _ := strings.Cut(strings.TrimSpace(text), "=")
		a, err := netip.ParseAddr(address)
		if err != nil || name == "" {
			return nil, fmt.Errorf("-shards: %q: write name=address for each shard, for example core5g-smf-shard-1=10.96.7.1", text)
		}
		out = append(out, ShardService{Name: name, Address: a.Unmap()})
	}
	return out, nil
}

func (c *Config) check() error {
	switch {
	case c.ConfigurationFile == "" && c.Namespace == "":
		return errors.New("-namespace is empty: set it, or POD_NAMESPACE, or read a file with -configuration")
	case c.Pod == "" || strings.Contains(c.Pod, "/"):
		return errors.New("-pod is empty, or has a slash: set it, or POD_NAME")
	case len(c.Shards) > mostShards:
		return fmt.Errorf("-shards has %d: write at most %d", len(c.Shards), mostShards)
	case int(c.SBIPort)+len(c.Shards) > 65535 || int(c.N4Port)+len(c.Shards) > 65535:
		return errors.New("-sbi-ports or -n4-ports: there is no room for all shards behind it")
	}
	for _, u := range []struct {
		flag  string
		value *string
	}{{"nrf", &c.NRF}, {"amf", &c.AMF}, {"udm", &c.UDM}, {"pcf", &c.PCF}, {"chf", &c.CHF}} {
		if u.flag == "nrf" && *u.value == "" {
			*u.value = "http://" + c.Core + "-nrf:8000"
		}
		if *u.value == "" || *u.value == none {
			continue
		}
		*u.value = strings.TrimSuffix(*u.value, "/")
		if p, err := url.Parse(*u.value); err != nil || p.Scheme != "http" && p.Scheme != "https" || p.Host == "" {
			return fmt.Errorf("-%s %q: write http://host:port or https://host:port", u.flag, *u.value)
		}
	}
	if c.NRF == none {
		c.NRF = ""
	}
	return nil
}

// none switches a function off.
const none = "none"
