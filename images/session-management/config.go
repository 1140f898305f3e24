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
	"strings"
)

// Config is how the program was started.
type Config struct {
	// Core is the name of the Core5G; the names of its Services begin with it. Set distinguishes the pods of one Deployment: "" for
	// the one that serves all Slices.
	Core, Namespace string
	// ConfigurationFile replaces Kubernetes by a file.
	ConfigurationFile string
	// Pod and Address are the pod's own.
	Pod     string
	Address netip.Addr
	// Shards is how many there are; Service is the name of theirs, with the shard's number for %d.
	Shards  int
	Service string
	// SBIPort and N4Port are those of shard 0, which there is not: shard n listens on the n-th behind it.
	SBIPort, N4Port             uint16
	MetricsListen, HealthListen string
	// NRF is its base URI, "" for none. AMF, UDM and PCF are those of functions that it is not asked for.
	NRF, AMF, UDM, PCF string
	// N4Addresses are those of the shards' F-SEIDs, in the order of their numbers; none: what Service resolves to.
	N4Addresses []netip.Addr
	LogLevel    slog.Level
}

// The ports that Services have.
const (
	servicePort = 8000
	pfcpPort    = 8805
	mostShards  = 64
)

// ParseConfig reads the command line.
func ParseConfig(args []string, output io.Writer) (Config, error) {
	var c Config
	var level, address, n4, sbiPort, n4Port string
	f := flag.NewFlagSet("session-management", flag.ContinueOnError)
	f.SetOutput(output)
	f.StringVar(&c.Core, "core", "core5g", "name of the Core5G to serve")
	f.StringVar(&c.Namespace, "namespace", os.Getenv("POD_NAMESPACE"), "namespace of the objects (default $POD_NAMESPACE)")
	f.StringVar(&c.ConfigurationFile, "configuration", "", "YAML file of slices and UPF units, instead of Kubernetes")
	f.StringVar(&c.Pod, "pod", os.Getenv("POD_NAME"), "name of this pod (default $POD_NAME)")
	f.StringVar(&address, "address", os.Getenv("POD_IP"), "address of this pod, by which others reach it (default $POD_IP)")
	f.IntVar(&c.Shards, "shards", 4, "how many shards there are, the same for all pods")
	f.StringVar(&c.Service, "service", "", "name of the shards' Services, %d for the number (default <core>-smf-%d)")
	f.StringVar(&sbiPort, "sbi-ports", "8000", "port before that of shard 1")
	f.StringVar(&n4Port, "n4-ports", "8805", "UDP port before that of shard 1")
	f.StringVar(&n4, "n4-addresses", "", "addresses that UPFs send reports to, one a shard, with commas (default: what the Services' names resolve to)")
	f.StringVar(&c.MetricsListen, "metrics-listen", ":9090", "address of /metrics; empty for none")
	f.StringVar(&c.HealthListen, "health-listen", ":8081", "address of /healthz and /readyz; empty for none")
	f.StringVar(&c.NRF, "nrf", "", `base URI of the NRF (default http://<core>-nrf:8000; "none": functions are where -amf, -udm and -pcf say)`)
	f.StringVar(&c.AMF, "amf", "", "base URI of the AMF, where the NRF is not to be asked")
	f.StringVar(&c.UDM, "udm", "", `base URI of the UDM, where the NRF is not to be asked; "none": no subscriptions`)
	f.StringVar(&c.PCF, "pcf", "", `base URI of the PCF, where the NRF is not to be asked; "none": policy is the Slice's`)
	f.StringVar(&level, "log-level", "info", "debug, info, warn or error")
	if err := f.Parse(args); err != nil {
		return Config{}, err
	}
	if f.NArg() > 0 {
		return Config{}, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if c.Service == "" {
		c.Service = c.Core + "-smf-%d"
	}
	var err error
	if c.Address, err = netip.ParseAddr(address); err != nil {
		return Config{}, fmt.Errorf("-address %q: write the pod's address, or set POD_IP", address)
	}
	if n4 != "" {
		for text := range strings.SplitSeq(n4, ",") {
			a, err := netip.ParseAddr(strings.TrimSpace(text))
			if err != nil {
				return Config{}, fmt.Errorf("-n4-addresses: %q is no address", text)
			}
			c.N4Addresses = append(c.N4Addresses, a)
		}
	}
	_, sbiErr := fmt.Sscan(sbiPort, &c.SBIPort)
	_, n4Err := fmt.Sscan(n4Port, &c.N4Port)
	if err := c.LogLevel.UnmarshalText([]byte(level)); err != nil {
		return Config{}, fmt.Errorf("-log-level %q: write debug, info, warn or error", level)
	}
	return c, errors.Join(portError("-sbi-ports", sbiPort, sbiErr), portError("-n4-ports", n4Port, n4Err), c.check())
}

func portError(flag, text string, err error) error {
	if err != nil {
		return fmt.Errorf("%s %q: write a port, for example 8000", flag, text)
	}
	return nil
}

func (c *Config) check() error {
	switch {
	case c.ConfigurationFile == "" && c.Namespace == "":
		return errors.New("-namespace is empty: set it, or POD_NAMESPACE, or read a file with -configuration")
	case c.Pod == "" || strings.Contains(c.Pod, "/"):
		return errors.New("-pod is empty, or has a slash: set it, or POD_NAME")
	case c.Shards < 1 || c.Shards > mostShards:
		return fmt.Errorf("-shards %d: write 1 to %d", c.Shards, mostShards)
	case !strings.Contains(c.Service, "%d"):
		return fmt.Errorf("-service %q: write %%d where the shard's number belongs", c.Service)
	case len(c.N4Addresses) != 0 && len(c.N4Addresses) != c.Shards:
		return fmt.Errorf("-n4-addresses has %d, and there are %d shards: write one for each", len(c.N4Addresses), c.Shards)
	case int(c.SBIPort)+c.Shards > 65535 || int(c.N4Port)+c.Shards > 65535:
		return errors.New("-sbi-ports or -n4-ports: there is no room for all shards behind it")
	}
	for _, u := range []struct {
		flag  string
		value *string
	}{{"nrf", &c.NRF}, {"amf", &c.AMF}, {"udm", &c.UDM}, {"pcf", &c.PCF}} {
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
