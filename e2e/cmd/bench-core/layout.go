package main

import (
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"

	"core5g.dev/core5g/e2e/figures"
	"core5g.dev/core5g/e2e/processes"
)

// function is a pod of a core: a process.
type function struct {
	// name of the function, which its pods share, and of this pod.
	name, pod string
	// address of the pod, by which its health and metrics are asked for.
	address string
	program string
	args    []string
	// services that it answers for; "" of TLS: it has none.
	services []string
	// ready is asked at the start; without, nobody waits.
	ready bool
}

// layoutOf says which functions there are, in the order in which they are started.
var layoutOf = map[string]func(*core) []function{figures.Distributed: distributedLayout, figures.Fused: fusedLayout}

func layouts() []string { return slices.Sorted(maps.Keys(layoutOf)) }

// Services of the core, and the ports that all of them have.
const (
	amfService        = "core5g-amf"
	terminatorService = "core5g-amf-n2-workers"
	smfService        = "core5g-smf-shard-1"
	ausfService       = "core5g-ausf"
	udmService        = "core5g-udm"

	sbiPort     = 8000
	healthPort  = 8081
	metricsPort = 9090
	n2Port      = 38412
	workersPort = 38400

	unitNode = "127.80.6.1"
	// shardNode is whom upf-c takes the SMF for, whichever pod it is.
	shardNode = "127.80.3.100"
	storeHost = "127.80.7.1"
	dataHost  = "127.80.5.1"
	// mostPods of a function have addresses.
	mostPods = 99
)

func workerAddress(n int) string     { return fmt.Sprintf("127.80.1.%d", n+1) }
func terminatorAddress(n int) string { return fmt.Sprintf("127.80.2.%d", n+1) }
func smfAddress(n int) string        { return fmt.Sprintf("127.80.3.%d", n+1) }

// hosts are the Services, with the addresses of their pods.
func hosts(o options) map[string][]string {
	several := func(count int, address func(int) string) (out []string) {
		for n := range count {
			out = append(out, address(n))
		}
		return out
	}
	return map[string][]string{
		ausfService: {dataHost}, udmService: {dataHost}, amfService: several(o.workers, workerAddress), smfService: several(o.pods, smfAddress),
		terminatorService: several(o.terminators, terminatorAddress),
	}
}

func root(service string) string { return fmt.Sprintf("https://%s:%d", service, sbiPort) }

func at(host string, port int) string { return net.JoinHostPort(host, fmt.Sprint(port)) }

func (f *function) health() string { return at(f.address, healthPort) }

// observed are the flags by which all of core5g's functions are seen. They log as in a cluster, and less where people read it.
func (c *core) observed(f *function) []string {
	flags := []string{"-health-listen", f.health(), "-metrics-listen", at(f.address, metricsPort)}
	if c.o.verbose {
		flags = append(flags, "-log-level", "warn")
	}
	return flags
}

// distributedLayout is a pod a function.
func distributedLayout(c *core) []function {
	out := []function{c.unit(), c.subscriberData()}
	for n := range c.o.pods {
		out = append(out, c.smf(n))
	}
	for n := range c.o.terminators {
		out = append(out, c.terminator(n))
	}
	for n := range c.o.workers {
		out = append(out, c.worker(n))
	}
	return out
}

// fusedLayout is one pod, where gNBs look for an N2 terminator.
func fusedLayout(c *core) []function {
	f := function{name: fusedName, pod: "control-plane-0", address: terminatorAddress(0), program: "control-plane", ready: true}
	f.args = append(c.observed(&f), "-namespace", processes.Namespace, "-pod", f.pod, "-address", f.address, "-scheme", "https", "-set", "1016", "-n2-listen", at(f.address, n2Port),
		"-smf-shards", smfService+"="+f.address, "-amf-configuration", c.file("amf.yaml"), "-smf-configuration", c.file("smf.yaml"), "-subscribers", c.file("subscribers.yaml"))
	return []function{c.unit(), f}
}

// The functions that have UEs in memory.
const (
	amfName   = "amf"
	smfName   = "smf"
	fusedName = "control-plane"
)

// keeper of UEs, of the layout.
func (o *options) keeper() string {
	if o.layout == figures.Fused {
		return fusedName
	}
	return amfName
}

func (c *core) unit() function {
	return function{name: "upf-c", pod: "upf-0", address: unitNode, program: "upf-c", args: []string{"-config", c.file("upf-c.yaml")}, ready: true}
}

func (c *core) subscriberData() function {
	f := function{name: "subscriber-data", pod: "subscriber-data-0", address: dataHost, program: "subscriber-data", services: []string{ausfService, udmService}, ready: true}
	f.args = append(c.observed(&f), "-namespace", processes.Namespace, "-pod", f.pod, "-subscribers", c.file("subscribers.yaml"), "-listen", at(dataHost, sbiPort), "-nrf", "none",
		"-ausf", root(ausfService), "-udm", root(udmService), "-udr", root(udmService), "-nssf", root(udmService), "-withdraw")
	return f
}

func (c *core) smf(n int) function {
	f := function{name: smfName, pod: fmt.Sprint(smfName, "-", n), address: smfAddress(n), program: "session-management", services: []string{smfService}, ready: n == 0}
	f.args = append(c.observed(&f), "-namespace", processes.Namespace, "-pod", f.pod, "-address", f.address, "-shards", smfService+"="+shardNode, "-sbi-ports", fmt.Sprint(sbiPort-1),
		"-configuration", c.file("smf.yaml"), "-nrf", "none", "-amf", root(amfService), "-udm", root(udmService), "-pcf", "none", "-chf", "none")
	return f
}

func (c *core) terminator(n int) function {
	f := function{
		name: "n2-terminator", pod: fmt.Sprint("n2-", n), address: terminatorAddress(n), program: "n2-terminator", services: []string{terminatorService}, ready: true,
	}
	f.args = append(c.observed(&f), "-pod", f.pod, "-set", "1016", "-n2-listen", at(f.address, n2Port), "-workers-listen", at(f.address, workersPort))
	return f
}

func (c *core) worker(n int) function {
	f := function{name: amfName, pod: fmt.Sprint("amf-", n), address: workerAddress(n), program: "access-management", services: []string{amfService}, ready: true}
	f.args = append(c.observed(&f), "-namespace", processes.Namespace, "-pod", f.pod, "-address", f.address, "-configuration", c.file("amf.yaml"), "-nrf", "none",
		"-ausf", root(ausfService), "-udm", root(udmService), "-pcf", "none", "-smf", root(smfService), "-terminators", at(terminatorService, workersPort))
	return f
}

func (c *core) file(name string) string { return filepath.Join(c.dir, name) }
