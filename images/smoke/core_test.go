package smoke

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"core5g.dev/core5g/images/subscriber-data"
	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/nrf"
	"core5g.dev/core5g/operators/specs"
)

const binaries = "../../out/bin"

const (
	testSUPI = "imsi-208930000000001"
	testK    = "8baf473f2f8fd09487cccbd7097c6862"
	testOPc  = "8e27b6af0e692e750f32667a3b14605d"
)

var core = &api.Core5G{
	TypeMeta:   metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: "Core5G"},
	ObjectMeta: metav1.ObjectMeta{Name: "core5g", Namespace: "core5g"},
	Spec: api.Core5GSpec{
		PLMNs:          []api.PLMN{{MCC: "208", MNC: "93"}},
		TACs:           []api.TAC{"000001"},
		SliceCatalogue: []api.SNSSAI{{SST: 1, SD: "010203"}, {SST: 1, SD: "112233"}},
		AMF:            api.AMFSpec{Name: "AMF", DefaultDNN: "internet"},
		N2:             api.N2Spec{Transport: api.TransportSCTPOverUDP, Port: 38412},
		ControlPlane:   api.ControlPlaneFree5GC,
	},
}

var slice = &api.Slice{
	TypeMeta:   metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: "Slice"},
	ObjectMeta: metav1.ObjectMeta{Name: "internet", Namespace: "core5g"},
	Spec: api.SliceSpec{
		SNSSAI: api.SNSSAI{SST: 1, SD: "010203"},
		DataNetworks: []api.DataNetwork{{
			DNN: "internet", UEPools: []api.CIDR{"10.45.0.0/16"}, DNS: []api.IPAddress{"8.8.8.8"},
			AMBR:   api.AMBR{Uplink: "1 Gbps", Downlink: "2 Gbps"},
			FiveQI: 9,
			MTU:    1300,
			ARP: api.ARP{
				PriorityLevel: 8, PreemptionCapability: api.NotPreempt, PreemptionVulnerability: api.NotPreemptable,
			},
		}},
	},
}

var subscriber = &api.Subscriber{
	TypeMeta:   metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: "Subscriber"},
	ObjectMeta: metav1.ObjectMeta{Name: "ue-1", Namespace: "core5g"},
	Spec: api.SubscriberSpec{
		SUPI: testSUPI,
		Authentication: api.Authentication{
			SecretRef: api.SecretReference{Name: "keys"}, AMF: "8000",
		},
		Slices: []api.SubscribedSlice{{Name: "internet", Default: true}},
		AMBR:   api.AMBR{Uplink: "1 Gbps", Downlink: "2 Gbps"},
	},
}

var keys = &corev1.Secret{
	TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
	ObjectMeta: metav1.ObjectMeta{Name: "keys", Namespace: "core5g"},
	StringData: map[string]string{"k": testK, "opc": testOPc},
}

// coreProcesses are the network functions of one core.
type coreProcesses struct {
	t         *testing.T
	directory string
	nrf       *nrf.Client

	mu      sync.Mutex
	running map[string]*exec.Cmd
}

// startCore starts everything but the UPF. At the end of a failed test the logs are printed.
func startCore(t *testing.T) *coreProcesses {
	t.Helper()
	c := &coreProcesses{
		t: t, directory: t.TempDir(), running: map[string]*exec.Cmd{},
		nrf: &nrf.Client{BaseURL: "http://" + addresses[core.Name+"-nrf"] + ":8000", HTTP: nrf.NewHTTP()},
	}
	t.Cleanup(func() {
		if t.Failed() {
			c.printLogs()
		}
	})
	for _, nf := range []string{"database", "nrf", "pcf", "chf", "amf", "smf"} {
		c.start(nf)
	}
	c.startSubscriberData()
	return c
}

func (c *coreProcesses) objects(nf string) specs.FunctionObjects {
	db := specs.EmbeddedDatabase(core)
	switch nf {
	case "nrf":
		return specs.NRF(core, specs.Platform{}, db)
	case "pcf":
		return specs.PCF(core, specs.Platform{}, db)
	case "chf":
		return specs.CHF(core, specs.Platform{}, db)
	case "amf":
		return specs.AMF(core, specs.Platform{})
	}
	return specs.SMF(core, slice, specs.Platform{}, specs.SliceUserPlane{
		UPF: "upf", N4Address: addresses[upfName], N3Endpoint: "172.30.3.16", SMFAddress: addresses[smfName],
	})
}

func serviceOf(nf string) string {
	if nf == "smf" {
		return smfName
	}
	return core.Name + "-" + nf
}

// awaitListening waits until each function's SBI accepts connections.
func (c *coreProcesses) awaitListening(within time.Duration, nfs ...string) {
	c.t.Helper()
	await(c.t, within, func(ctx context.Context) error {
		for _, nf := range nfs {
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", addresses[serviceOf(nf)]+":8000")
			if err != nil {
				return err
			}
			_ = conn.Close()
		}
		return nil
	})
}

// start starts one function as its container would, but at its own address of the namespace.
func (c *coreProcesses) start(nf string) {
	c.t.Helper()
	var cmd *exec.Cmd
	name := serviceOf(nf)
	if nf == "database" {
		cmd = exec.Command(filepath.Join(binaries, "database/runtime/bin/java"), "-Xmx96m", "-XX:+UseSerialGC",
			"-XX:TieredStopAtLevel=1", "-cp", filepath.Join(binaries, "database/lib/*"), "dev.core5g.database.Main")
	} else {
		objects := c.objects(nf)
		container := objects.Deployment.Spec.Template.Spec.Containers[0]
		config := filepath.Join(c.directory, nf, "config")
		if err := os.MkdirAll(config, 0o755); err != nil {
			c.t.Fatal(err)
		}
		for file, text := range objects.ConfigMap.Data {
			text = strings.ReplaceAll(text, "0.0.0.0", addresses[name])
			if err := os.WriteFile(filepath.Join(config, file), []byte(text), 0o644); err != nil {
				c.t.Fatal(err)
			}
		}
		program, err := filepath.Abs(filepath.Join(binaries, "nf", nf))
		if err != nil {
			c.t.Fatal(err)
		}
		cmd = exec.Command(program, container.Command[1:]...)
		if nf == "chf" {
			cmd = c.withTmp(nf, cmd)
		}
		cmd.Dir = filepath.Dir(config)
		cmd.Env = os.Environ()
		for _, e := range container.Env {
			if e.ValueFrom == nil {
				cmd.Env = append(cmd.Env, e.Name+"="+e.Value)
			}
		}
	}
	log, err := os.OpenFile(filepath.Join(c.directory, nf+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	cmd.Stdout, cmd.Stderr = log, log
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.mu.Lock()
	c.running[nf] = cmd
	c.mu.Unlock()
	c.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

// withTmp gives a function a /tmp of its own, as its container has: free5GC's CHF writes each UE's charging data
// there, whatever its configuration says. The program may lie below /tmp itself, so it is opened before.
func (c *coreProcesses) withTmp(nf string, cmd *exec.Cmd) *exec.Cmd {
	c.t.Helper()
	program, err := os.Open(cmd.Path)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = program.Close() })
	if err := os.MkdirAll(c.tmp(nf), 0o755); err != nil {
		c.t.Fatal(err)
	}
	cmd = exec.Command("/bin/sh", append([]string{"-c", `mount --bind "$0" /tmp && exec /proc/self/fd/3 "$@"`, c.tmp(nf)}, cmd.Args[1:]...)...)
	cmd.ExtraFiles = []*os.File{program}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	return cmd
}

func (c *coreProcesses) tmp(nf string) string { return filepath.Join(c.directory, nf, "tmp") }

// end sends a signal and waits until the process has ended.
func (c *coreProcesses) end(nf string, signal syscall.Signal) time.Duration {
	c.t.Helper()
	c.mu.Lock()
	cmd := c.running[nf]
	c.mu.Unlock()
	start := time.Now()
	if err := cmd.Process.Signal(signal); err != nil {
		c.t.Fatalf("%s: %v", nf, err)
	}
	_, _ = cmd.Process.Wait()
	return time.Since(start)
}

func (c *coreProcesses) startSubscriberData() {
	c.t.Helper()
	var manifests bytes.Buffer
	for _, object := range []any{core, slice, subscriber, keys} {
		raw, err := yaml.Marshal(object)
		if err != nil {
			c.t.Fatal(err)
		}
		fmt.Fprintf(&manifests, "---\n%s", raw)
	}
	file := filepath.Join(c.directory, "subscribers.yaml")
	if err := os.WriteFile(file, manifests.Bytes(), 0o600); err != nil {
		c.t.Fatal(err)
	}
	config, err := subscriberdata.ParseConfig([]string{
		"-subscribers", file, "-listen", addresses[core.Name+"-udm"] + ":8000", "-metrics-listen", "", "-health-listen", "",
	}, os.Stderr)
	if err != nil {
		c.t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(c.directory, "subscriber-data.log"))
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- subscriberdata.Run(ctx, config, slog.New(slog.NewTextHandler(log, nil))) }()
	c.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			c.t.Errorf("subscriber data: %v", err)
		}
		_ = log.Close()
	})
}

func (c *coreProcesses) printLogs() {
	files, _ := filepath.Glob(filepath.Join(c.directory, "*.log"))
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		lines := strings.Split(string(raw), "\n")
		c.t.Logf("---- %s, the last lines\n%s", filepath.Base(file), strings.Join(lines[max(0, len(lines)-25):], "\n"))
	}
}

// awaitRegistered waits until exactly one function of each type is registered.
func (c *coreProcesses) awaitRegistered(within time.Duration, types ...string) {
	c.t.Helper()
	await(c.t, within, func(ctx context.Context) error {
		for _, nfType := range types {
			profiles, err := c.nrf.Discover(ctx, nfType)
			if err != nil {
				return err
			}
			if len(profiles) != 1 {
				return fmt.Errorf("%d functions of type %s are registered", len(profiles), nfType)
			}
		}
		return nil
	})
}

// await asks until the answer is no error.
func await(t *testing.T, within time.Duration, check func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		if err := check(ctx); err == nil {
			return
		} else if ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			t.Fatalf("after %v: %v", within, last)
		case <-tick.C:
		}
	}
}
