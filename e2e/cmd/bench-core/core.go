package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"core5g.dev/core5g/e2e/processes"
	"core5g.dev/core5g/upf/upfc/dataplane/fakeupfu"
)

func isolate(ctx context.Context, o options) (done bool, status int, err error) {
	return processes.Isolate(ctx, hosts(o))
}

// core is everything but gNBs and UEs.
type core struct {
	o           options
	dir         string
	authority   *processes.Authority
	environment []string
	upfu        *fakeupfu.UPFU
	pods        map[string]*pod // by their names
	sessions    processes.Store
	store       *processes.Process
}

type pod struct {
	function
	*processes.Process
}

// whether it is ready.
func (p *pod) whether() error {
	if err := p.Ended(); err != nil {
		return err
	}
	return processes.Ready(p.health())
}

// start all functions, and wait until they are ready.
func start(ctx context.Context, o options) (c *core, err error) {
	c = &core{o: o, pods: map[string]*pod{}}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	if c.dir, err = os.MkdirTemp("", "bench-core-"); err != nil {
		return c, err
	}
	if c.authority, err = processes.NewAuthority(); err != nil {
		return c, err
	}
	if err := c.configure(); err != nil {
		return c, err
	}
	c.sessions = processes.Store{Host: storeHost, Port: "6379", Directory: c.file("store")}
	if c.environment, err = c.sessions.Secrets(c.dir); err != nil {
		return c, err
	}
	if c.store, err = c.sessions.Start(ctx); err != nil {
		return c, err
	}
	if c.upfu, err = fakeupfu.Start(c.file("upf.sock")); err != nil {
		return c, err
	}
	return c, c.startAll(ctx, layoutOf[o.layout](c))
}

func (c *core) startAll(ctx context.Context, list []function) error {
	for _, f := range list {
		if err := c.start(f); err != nil {
			return err
		}
	}
	for _, f := range list {
		if !f.ready {
			continue
		}
		if err := processes.Await(ctx, f.pod, func() error { return c.pods[f.pod].whether() }); err != nil {
			return err
		}
	}
	if c.o.pids {
		for _, name := range slices.Sorted(maps.Keys(c.pods)) {
			fmt.Printf("# %s is process %d\n", name, c.pods[name].PID())
		}
	}
	return nil
}

func (c *core) start(f function) error {
	command := processes.Command{Program: filepath.Join(c.o.binaries, f.program), Args: f.args, Environment: slices.Clone(c.environment)}
	if c.o.verbose {
		command.Output = os.Stderr
	}
	if len(f.services) > 0 {
		tls := c.file(filepath.Join("tls", f.name))
		if _, err := os.Stat(tls); err != nil {
			if _, err := c.authority.Issue(tls, f.services...); err != nil {
				return err
			}
		}
		command.Environment = append(command.Environment, "SBI_TLS_DIR="+tls, "SBI_CLIENT_CERTIFICATES=required")
	}
	p, err := processes.Start(command)
	if err != nil {
		return fmt.Errorf("%w: make bench-core builds it", err)
	}
	c.pods[f.pod] = &pod{f, p}
	return nil
}

func (c *core) close() {
	for _, p := range c.pods {
		p.Kill()
	}
	if c.store != nil {
		c.store.Kill()
	}
	if c.upfu != nil {
		c.upfu.Kill()
	}
	_ = os.RemoveAll(c.dir)
}

// usage of each function, of the pods that it has now.
func (c *core) usage() (map[string]processes.Usage, error) {
	out := map[string]processes.Usage{}
	var err error
	if out["session-store"], err = c.store.Usage(); err != nil {
		return nil, err
	}
	for _, p := range c.pods {
		u, err := p.Usage()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.pod, err)
		}
		out[p.name] = out[p.name].Add(u)
	}
	return out, nil
}

// ---- what the functions are told ---------------------------------------------------------------

// The network, and the keys that all UEs have.
const (
	mcc, mnc  = "208", "93"
	dnn       = "internet"
	sst       = 1
	sd        = "010203"
	key       = "8baf473f2f8fd09487cccbd7097c6862"
	opc       = "8e27b6af0e692e750f32667a3b14605d"
	firstMSIN = 1
)

// supi of the UE n, from 0.
func supi(n int) string { return fmt.Sprintf("imsi-%s%s%010d", mcc, mnc, firstMSIN+n) }

func (c *core) configure() error {
	for name, content := range map[string]string{
		"amf.yaml": fmt.Sprintf("plmns: [{mcc: %q, mnc: %q}]\ntacs: [\"000001\", \"000002\"]\nsliceCatalogue: [{sst: %d, sd: %q}]\namf: {name: AMF}\n", mcc, mnc, sst, sd),
		"smf.yaml": fmt.Sprintf(`
slices:
- name: internet
  sst: %d
  sd: %q
  dataNetworks:
  - dnn: %s
    core: internet
    sessionTypes: [IPv4]
    ambr: {uplink: 1 Gbps, downlink: 1 Gbps}
    fiveQI: 9
    arp: {priorityLevel: 8}
    mtu: 1400
    units: [{nodeID: %[4]s, pools: [10.32.0.0/11]}]
units:
- {nodeID: %[4]s, address: "%[4]s:8805"}
`, sst, sd, dnn, unitNode),
		"upf-c.yaml": fmt.Sprintf(`
nodeID: %[1]s
pfcp: {listen: "%[1]s:8805", advertise: %[1]s, dataplaneWait: 10s, controlPlaneSubnets: [127.0.0.0/8]}
heartbeat: {interval: 5s}
gtpu: {echo: {interval: 0s}} # nobody answers for the gNBs
n3: {endpoints: [172.30.3.16/28]}
namedPools: true
dataplane: {socket: %[2]s}
state: {file: %[2]s.state}
health: {listen: "%[3]s"}
metrics: {listen: "%[4]s"}
control: {socket: %[2]s.control}
`, unitNode, c.file("upf.sock"), at(unitNode, healthPort), at(unitNode, metricsPort)),
		"subscribers.yaml": c.subscribers(),
	} {
		if err := processes.Write(c.file(name), []byte(content)); err != nil {
			return err
		}
	}
	return nil
}

// subscribers of all UEs that there may be.
func (c *core) subscribers() string {
	var b strings.Builder
	fmt.Fprintf(&b, `
apiVersion: core5g.dev/v1alpha1
kind: Core5G
metadata: {name: core5g}
spec: {plmns: [{mcc: %q, mnc: %q}], tacs: ["000001", "000002"], sliceCatalogue: [{sst: %d, sd: %q}]}
---
apiVersion: core5g.dev/v1alpha1
kind: Slice
metadata: {name: internet}
spec:
  snssai: {sst: %[3]d, sd: %[4]q}
  dataNetworks: [{dnn: %s, uePools: [10.32.0.0/11]}]
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData: {k: %s, opc: %s}
`, mcc, mnc, sst, sd, dnn, key, opc)
	for n := range c.o.subscribers() {
		_, _ = io.WriteString(&b, fmt.Sprintf("---\napiVersion: core5g.dev/v1alpha1\nkind: Subscriber\nmetadata: {name: ue%d}\n"+
			"spec: {supi: %s, authentication: {secretRef: {name: keys}}, slices: [{name: internet, default: true}]}\n", n+1, supi(n)))
	}
	return b.String()
}
