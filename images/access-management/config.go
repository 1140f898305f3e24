package accessmanagement

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"

	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/nf/pod"
)

// Config is how the program was started.
type Config struct {
	pod.Member
	// Shards are so many, the same for all pods and N2 terminators.
	Shards uint16
	// Service is the name by which others reach the AMF, whichever pod answers; SBI is where this one listens.
	Service string
	SBI     string
	// Terminators are where N2 terminators listen for workers, host:port. Each address of a host is one.
	Terminators []string
}

// The ports that Services have.
const (
	servicePort   = 8000
	workersPort   = 38400
	defaultShards = 16
)

// ParseConfig reads the command line.
func ParseConfig(args []string, output io.Writer) (Config, error) {
	c := Config{Shards: defaultShards}
	var terminators string
	f := flag.NewFlagSet("access-management", flag.ContinueOnError)
	f.SetOutput(output)
	c.Flags(f, "PLMNs, tracking areas and slices")
	c.Peer(f, "AUSF", "")
	c.Peer(f, "UDM", "")
	c.Peer(f, "PCF", "policy is the subscription's")
	c.Peer(f, "SMF", "")
	f.Func("shards", fmt.Sprintf("number of shards, that of the N2 terminators (default $SHARDS, or %d)", defaultShards), pod.Number(&c.Shards, "number of shards", 1, record.MostShards))
	f.StringVar(&c.Service, "service", "", "DNS name of the AMF's Service, by which others reach it (default <core>-amf)")
	f.StringVar(&c.SBI, "sbi-listen", "", "address and port of the service based interface; pods reach each other at the port (default :8000)")
	f.StringVar(&terminators, "terminators", "", "N2 terminators as host:port, with commas; a host is looked up again and again, and each of its addresses is one (default <core>-amf-n2-workers:38400)")
	if text := os.Getenv("SHARDS"); text != "" {
		if err := f.Set("shards", text); err != nil {
			return Config{}, fmt.Errorf("SHARDS: %w", err)
		}
	}
	if err := pod.Parse(f, args); err != nil {
		return Config{}, err
	}
	if err := c.Check(); err != nil {
		return Config{}, err
	}
	if c.Service == "" {
		c.Service = c.Core + "-amf"
	}
	if strings.ContainsAny(c.Service, ":/ ") {
		return Config{}, fmt.Errorf("-service %q: write the name of the Service alone, for example core5g-amf", c.Service)
	}
	if c.SBI == "" {
		c.SBI = net.JoinHostPort(c.Listen().String(), strconv.Itoa(servicePort))
	}
	if _, err := portOf(c.SBI); err != nil {
		return Config{}, fmt.Errorf("-sbi-listen %q: write address:port, or :port for all addresses", c.SBI)
	}
	if terminators == "" {
		terminators = net.JoinHostPort(c.Service+"-n2-workers", strconv.Itoa(workersPort))
	}
	var err error
	c.Terminators, err = parseTerminators(terminators)
	return c, err
}

func parseTerminators(list string) ([]string, error) {
	var out []string
	for text := range strings.SplitSeq(list, ",") {
		text = strings.TrimSpace(text)
		host, _, err := net.SplitHostPort(text)
		if err == nil && host == "" {
			err = errors.New("no host")
		}
		if err == nil {
			_, err = portOf(text)
		}
		if err != nil {
			return nil, fmt.Errorf("-terminators: %q: write host:port for each, with commas, for example core5g-amf-n2-workers:38400", text)
		}
		out = append(out, text)
	}
	return out, nil
}

// portOf an address, 1 to 65535.
func portOf(address string) (uint16, error) {
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		return 0, err
	}
	var port uint16
	err = pod.Number(&port, "port", 1, 1<<16-1)(text)
	return port, err
}
