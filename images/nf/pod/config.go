package pod

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
)

// Config is how any pod was started.
type Config struct {
	// Pod is its name.
	Pod                         string
	MetricsListen, HealthListen string
	LogLevel                    slog.Level
}

// Flags of a pod.
func (c *Config) Flags(f *flag.FlagSet) {
	f.StringVar(&c.Pod, "pod", os.Getenv("POD_NAME"), "name of this pod (default $POD_NAME)")
	f.StringVar(&c.MetricsListen, "metrics-listen", os.Getenv("METRICS_LISTEN"), "address of /metrics; empty for none (default $METRICS_LISTEN)")
	f.StringVar(&c.HealthListen, "health-listen", os.Getenv("HEALTH_LISTEN"), "address of /healthz and /readyz; empty for none (default $HEALTH_LISTEN)")
	f.Func("log-level", "debug, info, warn or error (default info)", func(text string) error {
		if c.LogLevel.UnmarshalText([]byte(text)) != nil {
			return errors.New("write debug, info, warn or error")
		}
		return nil
	})
}

// Parse the command line into what has been declared. Nothing may be left of it.
func Parse(f *flag.FlagSet, args []string) error {
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	return nil
}

// Check what the command line says. An error says what to write instead.
func (c *Config) Check() error {
	if c.Pod == "" || strings.Contains(c.Pod, "/") {
		return errors.New("-pod is empty, or has a slash: set it, or POD_NAME")
	}
	return nil
}

// Log of the program.
func (c *Config) Log() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: c.LogLevel}))
}

// Number reads a flag that is one from least to most. what it is stands in the error, as in "no port".
func Number[T ~uint16](into *T, what string, least, most T) func(string) error {
	return func(text string) error {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil || n < uint64(least) || n > uint64(most) {
			return fmt.Errorf("%q is no %s: write one from %d to %d", text, what, least, most)
		}
		*into = T(n)
		return nil
	}
}
