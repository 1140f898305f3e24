package subscriberdata

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"strings"

	"core5g.dev/core5g/images/nf/sessionstore/mounted"
	"core5g.dev/core5g/images/subscriberdatabase"
)

// Config is how the program was started.
type Config struct {
	// Pod names this process among its replicas.
	Pod string
	// Core is the name of the Core5G; the names of its Services begin with it.
	Core string
	// Namespace holds the objects.
	Namespace string
	// SubscribersFile replaces Kubernetes by a file of manifests.
	SubscribersFile string
	// Listen, MetricsListen and HealthListen are addresses to serve on.
	Listen, MetricsListen, HealthListen string
	// NRF is the base URI of the NRF; empty means that nothing is registered.
	NRF string
	// URIs of the Services under which the functions are registered.
	AUSF, UDM, UDR, NSSF string
	// DatabaseDirectory is where the Secret of a database of subscribers is mounted, "" for none; Cached is how many of its subscribers are in memory.
	DatabaseDirectory string
	Cached            int
	// Withdraw has AMFs deregister UEs whose Subscriber is deleted or barred.
	Withdraw bool
	LogLevel slog.Level
}

// Log of the program.
func (c *Config) Log() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: c.LogLevel}))
}

// ParseConfig reads the command line.
func ParseConfig(args []string, output io.Writer) (Config, error) {
	var c Config
	var level string
	f := flag.NewFlagSet("subscriber-data", flag.ContinueOnError)
	f.SetOutput(output)
	f.StringVar(&c.Pod, "pod", os.Getenv("POD_NAME"), "name of this pod among its replicas (default $POD_NAME)")
	f.StringVar(&c.Core, "core", "core5g", "name of the Core5G to serve")
	f.StringVar(&c.Namespace, "namespace", os.Getenv("POD_NAMESPACE"), "namespace of the objects (default $POD_NAMESPACE)")
	f.StringVar(&c.SubscribersFile, "subscribers", "", "YAML file of Core5G, Slice, Subscriber and Secret manifests, instead of Kubernetes")
	f.StringVar(&c.DatabaseDirectory, "subscriber-database", os.Getenv(subscriberdatabase.DirectoryEnv), "directory of the Secret that says where the database of subscribers is (default $"+subscriberdatabase.DirectoryEnv+"; none: there are no others than Subscriber objects)")
	f.IntVar(&c.Cached, "cached-subscribers", 100_000, "subscribers of the database in memory, about 0.4 kB each")
	f.StringVar(&c.Listen, "listen", ":8000", "address of the service based interface")
	f.StringVar(&c.MetricsListen, "metrics-listen", ":9090", "address of /metrics; empty for none")
	f.StringVar(&c.HealthListen, "health-listen", ":8081", "address of /healthz and /readyz; empty for none")
	f.StringVar(&c.NRF, "nrf", "", `base URI of the NRF (default http://<core>-nrf:8000; "none" registers nowhere)`)
	f.BoolVar(&c.Withdraw, "withdraw", false, "have AMFs deregister UEs whose Subscriber is deleted or barred; free5GC's forgets such a UE without a word to it, which then asks in vain")
	f.StringVar(&c.AUSF, "ausf", "", "URI under which the AUSF is registered (default http://<core>-ausf:8000)")
	f.StringVar(&c.UDM, "udm", "", "URI under which the UDM is registered (default http://<core>-udm:8000)")
	f.StringVar(&c.UDR, "udr", "", "URI under which the UDR is registered (default http://<core>-udr:8000)")
	f.StringVar(&c.NSSF, "nssf", "", "URI under which the NSSF is registered (default http://<core>-nssf:8000)")
	f.StringVar(&level, "log-level", "info", "debug, info, warn or error")
	if err := f.Parse(args); err != nil {
		return Config{}, err
	}
	if f.NArg() > 0 {
		return Config{}, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if err := c.LogLevel.UnmarshalText([]byte(level)); err != nil {
		return Config{}, fmt.Errorf("-log-level %q: write debug, info, warn or error", level)
	}
	if os.Getenv(mounted.DirectoryEnv) != "" && c.Pod == "" {
		return Config{}, errors.New("-pod is empty: set it, or POD_NAME, to a name that no other replica has")
	}
	if c.SubscribersFile == "" && c.Namespace == "" {
		return Config{}, errors.New("-namespace is empty: set it, or POD_NAMESPACE, or read a file with -subscribers")
	}
	if c.Cached < 1 {
		return Config{}, fmt.Errorf("-cached-subscribers %d: write 1 or more", c.Cached)
	}
	for _, u := range []struct {
		flag  string
		value *string
	}{{"nrf", &c.NRF}, {"ausf", &c.AUSF}, {"udm", &c.UDM}, {"udr", &c.UDR}, {"nssf", &c.NSSF}} {
		if *u.value == "" {
			*u.value = "http://" + c.Core + "-" + u.flag + ":8000"
		}
		if u.flag == "nrf" && *u.value == "none" {
			*u.value = ""
			continue
		}
		*u.value = strings.TrimSuffix(*u.value, "/")
		if parsed, err := url.Parse(*u.value); err != nil || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Host == "" || parsed.Path != "" {
			return Config{}, fmt.Errorf("-%s %q: write http://host:port or https://host:port", u.flag, *u.value)
		}
	}
	return c, nil
}
