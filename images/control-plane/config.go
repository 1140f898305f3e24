package controlplane

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"

	accessmanagement "core5g.dev/core5g/images/access-management"
	"core5g.dev/core5g/images/access-management/terminator/program"
	"core5g.dev/core5g/images/nf/pod"
	sessionmanagement "core5g.dev/core5g/images/session-management"
	subscriberdata "core5g.dev/core5g/images/subscriber-data"
)

// Config is how the program was started: how each of its parts would have been.
type Config struct {
	pod.Config
	// Scheme of the API roots that the parts keep of each other: that of the core's other layout.
	Scheme string

	Terminator        program.Config
	AccessManagement  accessmanagement.Config
	SessionManagement sessionmanagement.Config
	SubscriberData    subscriberdata.Config
}

const servicePort = 8000

// flags of the program that are for several parts, or are called otherwise in one.
type flags struct {
	core, namespace, address     string
	set, amfShards, amf          string
	n2                           string
	smfShards, n4                string
	amfFile, smfFile, subscriber string
}

// ParseConfig reads the command line. What is wrong with a part's share of it, the part says.
func ParseConfig(args []string, output io.Writer) (Config, error) {
	var c Config
	var x flags
	f := flag.NewFlagSet("control-plane", flag.ContinueOnError)
	f.SetOutput(output)
	c.Flags(f)
	f.StringVar(&x.core, "core", "core5g", "name of the Core5G to serve")
	f.StringVar(&x.namespace, "namespace", os.Getenv("POD_NAMESPACE"), "namespace of the objects (default $POD_NAMESPACE)")
	f.StringVar(&x.address, "address", os.Getenv("POD_IP"), "address of this pod, from which N4 is spoken where it is a loopback address (default $POD_IP)")
	f.StringVar(&c.Scheme, "scheme", "http", "http or https: how the core's functions would be called in pods of their own, which is what stays of them in records")
	f.StringVar(&x.n2, "n2-listen", "", "address and port for gNBs (default :38412), as the N2 terminator's")
	f.StringVar(&x.set, "set", os.Getenv("AMF_SET"), "AMF Set ID (default $AMF_SET)")
	f.StringVar(&x.amfShards, "amf-shards", "", "number of shards of UEs (default 16)")
	f.StringVar(&x.amf, "amf-service", "", "name of the AMF's Service in the layout Distributed, which its NF instance is called by (default <core>-amf)")
	f.StringVar(&x.smfShards, "smf-shards", os.Getenv("SMF_SHARDS"), "Service and address of each shard of PDU sessions, the first first: name=address, with commas (default $SMF_SHARDS)")
	f.StringVar(&x.n4, "n4-ports", "", "UDP port before that of shard 1 (default 8805)")
	f.StringVar(&x.amfFile, "amf-configuration", "", "YAML file of PLMNs, tracking areas and slices, instead of Kubernetes")
	f.StringVar(&x.smfFile, "smf-configuration", "", "YAML file of slices and UPF units, instead of Kubernetes")
	f.StringVar(&x.subscriber, "subscribers", "", "YAML file of Core5G, Slice, Subscriber and Secret manifests, instead of Kubernetes")
	if err := pod.Parse(f, args); err != nil {
		return Config{}, err
	}
	if err := c.Check(); err != nil {
		return Config{}, err
	}
	if c.Scheme != "http" && c.Scheme != "https" {
		return Config{}, fmt.Errorf("-scheme %q: write http or https", c.Scheme)
	}
	return c, c.parts(x)
}

// parts are configured by command lines, as their own programs are.
func (c *Config) parts(x flags) (err error) {
	level := c.LogLevel.String()
	member := func(file string) []string {
		return append([]string{"-pod", c.Pod, "-core", x.core, "-namespace", x.namespace, "-address", x.address, "-nrf", pod.None, "-log-level", level, "-pcf", pod.None},
			some("-configuration", file)...)
	}
	shards := some("-shards", x.amfShards)
	terminator := append([]string{"-pod", c.Pod, "-log-level", level}, append(some("-set", x.set), some("-n2-listen", x.n2)...)...)
	if c.Terminator, err = program.ParseConfig(append(terminator, shards...), io.Discard); err != nil {
		return fmt.Errorf("N2: %w", err)
	}
	worker := append(member(x.amfFile), append(shards, some("-service", x.amf)...)...)
	if c.AccessManagement, err = accessmanagement.ParseConfig(worker, io.Discard); err != nil {
		return fmt.Errorf("AMF: %w", err)
	}
	sessions := append(member(x.smfFile), append([]string{"-chf", pod.None, "-shards", x.smfShards}, some("-n4-ports", x.n4)...)...)
	if c.SessionManagement, err = sessionmanagement.ParseConfig(sessions, io.Discard); err != nil {
		return fmt.Errorf("SMF: %w", err)
	}
	data := []string{"-pod", c.Pod, "-core", x.core, "-namespace", x.namespace, "-nrf", pod.None, "-withdraw", "-log-level", level}
	for _, nf := range []string{"ausf", "udm", "udr", "nssf"} {
		data = append(data, "-"+nf, c.Scheme+"://"+cmp.Or(x.core, "core5g")+"-"+nf+":"+strconv.Itoa(servicePort))
	}
	if c.SubscriberData, err = subscriberdata.ParseConfig(append(data, some("-subscribers", x.subscriber)...), io.Discard); err != nil {
		return fmt.Errorf("subscriber data: %w", err)
	}
	return nil
}

// some of a flag that has a value.
func some(flag, value string) []string {
	if value == "" {
		return nil
	}
	return []string{flag, value}
}
