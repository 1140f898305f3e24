package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

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
	store    *exec.Cmd
	replicas *replicas // in its place, where o.replicated
	pods     []*exec.Cmd
}

func newRig(ctx context.Context, o options) (*rig, error) {
	r := &rig{o: o, pods: make([]*exec.Cmd, o.pods)}
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
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}

// certificates: one for all, with all names.
func (r *rig) certificates(context.Context) error {
	now := time.Now()
	data, err := certificates.NewAuthority("bench", now, nil)
	if err != nil {
		return err
	}
	authority, err := certificates.ReadAuthority(data)
	if err != nil {
		return err
	}
	made, _, err := authority.Renew(nil, certificates.Certificate{
		DNSNames: []string{"localhost", shardName, shardName + ".bench.svc"}, Duration: 24 * time.Hour, RenewBefore: time.Hour,
	}, now)
	if err != nil {
		return err
	}
	for name, content := range made {
		if err := r.write("tls/"+name, content); err != nil {
			return err
		}
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
func (r *rig) killStore() {
	_ = r.store.Process.Kill()
	_ = r.store.Wait()
}

func (r *rig) startStore(ctx context.Context) (err error) {
	if r.o.replicated {
		r.replicas, err = startReplicas(ctx, r.dir)
		return err
	}
	data := filepath.Join(r.dir, "store")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return err
	}
	r.store = exec.Command("redis-server", "--bind", "127.0.0.1", "--port", storePort, "--dir", data, "--appendonly", "yes", "--save", "", "--requirepass", "bench",
		"--maxmemory-policy", "noeviction", "--appendfsync", "always")
	r.store.Stdout, r.store.Stderr = nil, nil
	if err := r.store.Start(); err != nil {
		return fmt.Errorf("redis-server: %w", err)
	}
	return await(ctx, "the session store", func() error {
		conn, err := net.Dial("tcp", "127.0.0.1:"+storePort)
		if err != nil {
			return err
		}
		return conn.Close()
	})
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
	return await(ctx, "the SMF", func() error { return r.ready(0) })
}

func podAddress(n int) string { return podNet + strconv.Itoa(n+1) }

func (r *rig) start(n int) error {
	c := exec.Command(r.o.program, "-namespace", "bench", "-pod", fmt.Sprint("smf-", n), "-address", podAddress(n), "-shards", shardName+"="+shardNode,
		"-configuration", filepath.Join(r.dir, "configuration.yaml"), "-nrf", "none", "-amf", r.amf.root, "-udm", "none", "-pcf", "none",
		"-metrics-listen", net.JoinHostPort(podAddress(n), strconv.Itoa(metricsPort)),
		"-health-listen", net.JoinHostPort(podAddress(n), strconv.Itoa(healthPort)), "-log-level", "warn")
	c.Env = append(os.Environ(), "SBI_TLS_DIR="+filepath.Join(r.dir, "tls"), "SBI_CLIENT_CERTIFICATES=required",
		"SESSION_STORE_DIR="+filepath.Join(r.dir, "store-secret"), "SESSION_STORE_KEYS_DIR="+filepath.Join(r.dir, "keys"), "SESSION_STORE_PREFIX=bench")
	if r.o.verbose {
		c.Stderr = os.Stderr
	}
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		return err
	}
	r.pods[n] = c
	return nil
}

// kill a pod without a word.
func (r *rig) kill(n int) {
	if c := r.pods[n]; c != nil {
		_ = c.Process.Kill()
		_ = c.Wait()
		r.pods[n] = nil
	}
}

func (r *rig) ready(n int) error {
	answer, err := http.Get(fmt.Sprintf("http://%s/readyz", net.JoinHostPort(podAddress(n), strconv.Itoa(healthPort))))
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		var b bytes.Buffer
		_, _ = b.ReadFrom(answer.Body)
		return errors.New(strings.TrimSpace(b.String()))
	}
	return nil
}

// holder of the shard.
func (r *rig) holder() (int, error) {
	for n, c := range r.pods {
		if c == nil {
			continue
		}
		answer, err := http.Get(fmt.Sprintf("http://%s/metrics", net.JoinHostPort(podAddress(n), strconv.Itoa(metricsPort))))
		if err != nil {
			return 0, err
		}
		b, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil {
			return 0, err
		}
		if strings.Contains(string(b), `core5g_session_store_lease_epoch{shard="smf/1"}`) {
			return n, nil
		}
	}
	return 0, errors.New("nobody holds the shard")
}

// cpu that the pods have used, and what they have resident.
func (r *rig) cpu() (time.Duration, int64) {
	var used time.Duration
	var octets int64
	for _, c := range r.pods {
		if c == nil {
			continue
		}
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.Process.Pid))
		if err != nil {
			continue
		}
		// Behind the name, which may have spaces: utime and stime are the 12th and 13th, rss the 22nd (proc(5)).
		f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		user, _ := strconv.ParseInt(f[11], 10, 64)
		system, _ := strconv.ParseInt(f[12], 10, 64)
		pages, _ := strconv.ParseInt(f[21], 10, 64)
		const tick = 10 * time.Millisecond // USER_HZ
		used += time.Duration(user+system) * tick
		octets += pages * int64(os.Getpagesize())
	}
	return used, octets
}

func await(ctx context.Context, what string, f func() error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
