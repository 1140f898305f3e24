package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"core5g.dev/core5g/e2e/processes"
	"core5g.dev/core5g/images/nf/sbitls"
	"core5g.dev/core5g/operators/certificates"
	"core5g.dev/core5g/upf/upfc/agent"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/dataplane/fakeupfu"
	"core5g.dev/core5g/upf/upfc/metrics"

	"github.com/prometheus/client_golang/prometheus"
)

// Addresses on the loopback interface: pods of the SMF, their shard's Service, the unit.
const (
	podNet     = "127.78.0."
	shardNode  = "127.78.1.1"
	unitNode   = "127.78.2.1"
	storePort  = "6390"
	shardName  = "smf-shard-1"
	sbiPort    = 8001
	healthPort = 8081
	// metricsPort tells who holds the shard.
	metricsPort = 9090
)

// rig is everything.
type rig struct {
	o        options
	dir      string
	identity *sbitls.Identity
	amf      *amf
	upfu     *fakeupfu.UPFU
	endUPF   func()
	store    *processes.Process
	replicas *replicas // in its place, where o.replicated
	pods     []*processes.Process
}

func newRig(ctx context.Context, o options) (*rig, error) {
	r := &rig{o: o, pods: make([]*processes.Process, o.pods)}
	var err error
	if r.dir, err = os.MkdirTemp("", "bench-smf-"); err != nil {
		return nil, err
	}
	steps := []func(context.Context) error{r.certificates, r.startUPF, r.startStore, r.startAMF, r.startPods}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			r.close()
			return nil, err
		}
	}
	return r, nil
}

func (r *rig) close() {
	for n := range r.pods {
		r.kill(n)
	}
	if r.store != nil {
		r.killStore()
	}
	if r.replicas != nil {
		r.replicas.close()
	}
	if r.amf != nil {
		r.amf.close()
	}
	if r.endUPF != nil {
		r.endUPF()
	}
	_ = os.RemoveAll(r.dir)
}

func (r *rig) write(name string, content []byte) error {
	return processes.Write(filepath.Join(r.dir, name), content)
}

// certificates: one for all, with all names.
func (r *rig) certificates(context.Context) error {
	authority, err := processes.NewAuthority()
	if err != nil {
		return err
	}
	made, err := authority.Issue(filepath.Join(r.dir, "tls"), "localhost", shardName)
	if err != nil {
		return err
	}
	r.identity, err = sbitls.New(made[certificates.KeyCertificate], made[certificates.KeyPrivate], made[certificates.KeyAuthorities])
	return err
}

func (r *rig) startUPF(context.Context) error {
	socket := filepath.Join(r.dir, "upf.sock")
	var err error
	if r.upfu, err = fakeupfu.Start(socket); err != nil {
		return err
	}
	c, err := config.Parse([]byte(`
nodeID: ` + unitNode + `
pfcp: {listen: "` + unitNode + `:8805", advertise: ` + unitNode + `, dataplaneWait: 10s, controlPlaneSubnets: [127.0.0.0/8]}
heartbeat: {interval: 0s}
gtpu: {echo: {interval: 0s}} # nobody answers for the gNB
n3: {endpoints: [172.30.3.16/28]}
namedPools: true
dataplane: {socket: ` + socket + `}
`))
	if err != nil {
		return err
	}
	a := agent.New(c, slog.New(slog.DiscardHandler), metrics.NewRecorder(prometheus.NewRegistry()))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	r.endUPF = func() {
		cancel()
		<-ended
		r.upfu.Kill()
	}
	return nil
}

// killStore without a word.
func (r *rig) killStore() { r.store.Kill() }

func (r *rig) startStore(ctx context.Context) (err error) {
	if r.o.replicated {
		r.replicas, err = startReplicas(ctx, r.dir)
		return err
	}
	r.store, err = processes.Store{Host: "127.0.0.1", Port: storePort, Directory: filepath.Join(r.dir, "store")}.Start(ctx)
	return err
}

func (r *rig) startAMF(context.Context) error {
	var err error
	r.amf, err = newAMF(r)
	return err
}

func (r *rig) startPods(ctx context.Context) error {
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	files := map[string]string{
		"store-secret/addresses": "127.0.0.1:" + storePort, "store-secret/password": "bench", "keys/1": string(key),
		"configuration.yaml": `
slices:
- name: internet
  sst: 1
  sd: "010203"
  dataNetworks:
  - dnn: internet
    core: internet
    sessionTypes: [IPv4]
    ambr: {uplink: 1 Gbps, downlink: 1 Gbps}
    fiveQI: 9
    arp: {priorityLevel: 8}
    mtu: 1400
    units: [{nodeID: ` + unitNode + `, pools: [10.32.0.0/11]}]
units:
- {nodeID: ` + unitNode + `, address: "` + unitNode + `:8805"}
`,
	}
	if r.replicas != nil {
		files["store-secret/addresses"], files["store-secret/primary"], files["store-secret/replicas"] = r.replicas.addresses(), primaryName, "1"
	}
	for name, content := range files {
		if err := r.write(name, []byte(content)); err != nil {
			return err
		}
	}
	for n := range r.pods {
		if err := r.start(n); err != nil {
			return err
		}
	}
	return processes.Await(ctx, "the SMF", func() error { return r.ready(0) })
}

func podAddress(n int) string { return podNet + strconv.Itoa(n+1) }

func (r *rig) start(n int) error {
	c := processes.Command{
		Program: r.o.program,
		Args: []string{
			"-namespace", "bench", "-pod", fmt.Sprint("smf-", n), "-address", podAddress(n), "-shards", shardName + "=" + shardNode,
			"-configuration", filepath.Join(r.dir, "configuration.yaml"), "-nrf", "none", "-amf", r.amf.root, "-udm", "none", "-pcf", "none",
			"-metrics-listen", net.JoinHostPort(podAddress(n), strconv.Itoa(metricsPort)),
			"-health-listen", net.JoinHostPort(podAddress(n), strconv.Itoa(healthPort)), "-log-level", "warn",
		},
		Environment: []string{
			"SBI_TLS_DIR=" + filepath.Join(r.dir, "tls"), "SBI_CLIENT_CERTIFICATES=required",
			"SESSION_STORE_DIR=" + filepath.Join(r.dir, "store-secret"), "SESSION_STORE_KEYS_DIR=" + filepath.Join(r.dir, "keys"), "SESSION_STORE_PREFIX=bench",
		},
	}
	if r.o.verbose {
		c.Output = os.Stderr
	}
	var err error
	r.pods[n], err = processes.Start(c)
	return err
}

// kill a pod without a word.
func (r *rig) kill(n int) {
	if p := r.pods[n]; p != nil {
		p.Kill()
		r.pods[n] = nil
	}
}

func (r *rig) ready(n int) error {
	return processes.Ready(net.JoinHostPort(podAddress(n), strconv.Itoa(healthPort)))
}

// holder of the shard.
func (r *rig) holder(ctx context.Context) (int, error) {
	for n, c := range r.pods {
		if c == nil {
			continue
		}
		text, err := processes.Metrics(ctx, net.JoinHostPort(podAddress(n), strconv.Itoa(metricsPort)))
		if err != nil {
			return 0, err
		}
		if strings.Contains(text, `core5g_session_store_lease_epoch{shard="smf/1"}`) {
			return n, nil
		}
	}
	return 0, errors.New("nobody holds the shard")
}

// usage of the pods.
func (r *rig) usage() (all processes.Usage) {
	for _, p := range r.pods {
		if p == nil {
			continue
		}
		if u, err := p.Usage(); err == nil {
			all = all.Add(u)
		}
	}
	return all
}
