package registrations

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/free5gc/sctp"

	"core5g.dev/core5g/e2e/ran/ue"
	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/mounted"
)

// The layout Fused: the whole control plane is one process, of this test's own program, with a redis-server and a UPF beside it.

// programEnv has the test's program be the control plane.
const programEnv = "REGISTRATIONS_CONTROL_PLANE"

const prefix = "core5g:test:"

// fused is a control plane from the beginning of its process to the end.
type fused struct {
	s       *story
	files   string
	process *exec.Cmd
	ended   chan error
	output  *said
}

// said is what a process prints, which is read while it goes on.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// beginFused begins a story with a control plane that is one program.
func beginFused(t *testing.T) (*story, *fused) {
	t.Helper()
	redis, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("no redis-server: hack/install-tools.sh session-store installs it")
	}
	t.Parallel()
	s := newStory(t, 2*time.Minute)
	f := &fused{s: s, files: t.TempDir()}
	f.startStore(redis)
	s.writeSubscribers()
	unit := s.startUPF()
	f.write("amf.yaml", `{plmns: [{mcc: "208", mnc: "93"}], sliceCatalogue: [{sst: 1, sd: "010203"}, {sst: 1}], amf: {region: 2, set: 1}}`)
	f.write("smf.yaml", fmt.Sprintf(`
core: {name: core5g, plmns: [{mcc: "208", mnc: "93"}]}
slices:
- name: internet
  sst: 1
  sd: "010203"
  dataNetworks:
  - {dnn: internet, core: internet, units: [{nodeID: %s, pools: [10.45.0.0/24]}]}
- name: bare
  sst: 1
  dataNetworks:
  - {dnn: internet, core: bare, units: [{nodeID: %[1]s, pools: [10.46.0.0/24]}]}
units:
- {nodeID: %[1]s, address: %q}
`, nodeID, unit))
	f.start()
	s.terminators = []*n2Terminator{{name: "control-plane", n2: f.n2()}}
	s.startAccess()
	return s, f
}

func (f *fused) n2() string { return net.JoinHostPort(f.s.loopback(10).String(), "38412") }

func (f *fused) write(name, content string) {
	f.s.t.Helper()
	path := filepath.Join(f.files, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
		f.s.t.Fatal(err)
	}
}

// startStore until the test ends.
func (f *fused) startStore(program string) {
	s := f.s
	s.t.Helper()
	at := s.loopback(11).String()
	c := exec.Command(program, "--bind", at, "--port", "6379", "--dir", s.t.TempDir(), "--appendonly", "yes", "--save", "", "--requirepass", "test", "--maxmemory-policy", "noeviction")
	if err := c.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _, _ = c.Process.Kill(), c.Wait() })
	f.write("store/"+mounted.FileAddresses, at+":6379")
	f.write("store/"+mounted.FilePassword, "test")
	f.write("keys/1", string(make([]byte, sessionstore.KeySize)))
	s.until("the session store", func() bool {
		opened, err := mounted.Open(s.ctx, filepath.Join(f.files, "store"), filepath.Join(f.files, "keys"), prefix+"amf:", nil)
		if err == nil {
			s.store = opened
		}
		return err == nil
	})
}

// start the control plane, as the first or as another life of its pod.
func (f *fused) start() {
	s := f.s
	s.t.Helper()
	health := net.JoinHostPort(s.loopback(10).String(), "8081")
	f.output, f.ended = &said{}, make(chan error, 1)
	c := exec.Command(os.Args[0], "-pod", fmt.Sprintf("control-plane-%d-%d", os.Getpid(), s.number), "-address", s.loopback(9).String(), "-set", "1", "-amf-shards", fmt.Sprint(shardCount), "-n2-listen", f.n2(),
		"-smf-shards", "core5g-smf-shard-1="+s.loopback(9).String(), "-n4-ports", "8804", "-health-listen", health, "-metrics-listen", net.JoinHostPort(s.loopback(10).String(), "9090"),
		"-amf-configuration", filepath.Join(f.files, "amf.yaml"), "-smf-configuration", filepath.Join(f.files, "smf.yaml"), "-subscribers", s.file, "-log-level", "debug")
	c.Env = append(os.Environ(), programEnv+"=1", sctp.TransportEnv+"=udp",
		mounted.DirectoryEnv+"="+filepath.Join(f.files, "store"), mounted.KeysEnv+"="+filepath.Join(f.files, "keys"), mounted.PrefixEnv+"="+prefix)
	c.Stdout, c.Stderr = f.output, f.output
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	began := time.Now()
	if err := c.Start(); err != nil {
		s.t.Fatal(err)
	}
	f.process = c
	go func(ended chan error) {
		ended <- c.Wait()
		close(ended)
	}(f.ended)
	s.t.Cleanup(func() {
		_ = f.end(syscall.SIGKILL)
		if s.t.Failed() {
			s.t.Logf("the control plane said:\n%s", f.output)
		}
	})
	s.until("the control plane", func() bool {
		select {
		case err := <-f.ended:
			s.t.Fatalf("the control plane ended: %v\n%s", err, f.output)
		default:
		}
		answer, err := http.Get("http://" + health + "/readyz")
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK && len(s.upfc.Status().Associations) > 0
	})
	s.t.Logf("ready after %s", time.Since(began).Round(time.Millisecond))
}

// end the process with a signal, and say how it ended.
func (f *fused) end(signal os.Signal) error {
	if f.process == nil {
		return nil
	}
	_ = f.process.Process.Signal(signal)
	f.process = nil
	return <-f.ended
}

func TestFusedServesUEs(t *testing.T) {
	s, f := beginFused(t)
	s.comesAndGoes()
	f.counts(`core5g_sbi_calls_total{cause="",operation="CreateSMContext",part="amf",result="201"`, `core5g_sbi_requests_total{operation="CreateSMContext",part="smf"`,
		`core5g_amf_n2_associations{part="n2"} 2`, `core5g_authentications_total{part="subscriber-data",result="success"}`)
	if text := f.output.String(); strings.Contains(text, "level=ERROR") || strings.Contains(text, "panic") {
		t.Errorf("it complains:\n%s", text)
	}
}

// counts says what the metrics lack.
func (f *fused) counts(names ...string) {
	f.s.t.Helper()
	answer, err := http.Get("http://" + net.JoinHostPort(f.s.loopback(10).String(), "9090") + "/metrics")
	if err != nil {
		f.s.t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil || answer.StatusCode != http.StatusOK {
		f.s.t.Fatalf("metrics: %s, %v\n%s", answer.Status, err, text)
	}
	for _, name := range names {
		if !strings.Contains(string(text), name) {
			f.s.t.Errorf("no %s in the metrics:\n%s", name, text)
		}
	}
}

func TestFusedWithdrawsASubscription(t *testing.T) {
	s, _ := beginFused(t)
	s.withdraws()
}

// The whole control plane dies without a word, and begins anew in the same pod: UEs that were idle and UEs that were connected are served as before, with the sessions that
// they have.
func TestFusedDiesAndForgetsNobody(t *testing.T) {
	s, f := beginFused(t)
	phones := []*phone{s.attach(1), s.attach(2)}
	phones[0].idle()
	were, was := []ue.Status{phones[0].Status(), phones[1].Status()}, s.kept(2).N2.Terminator
	_ = f.end(syscall.SIGKILL)
	f.start()
	s.connects()
	for n, p := range phones {
		s.until("the UE to be served again", func() bool { // a UE that was connected comes back by itself, where its gNB has let go of it
			at := s.kept(n + 1).N2
			return p.ServiceRequest(s.ctx) == nil && at != nil && at.Terminator != was
		})
		p.same(were[n])
	}
	if n := len(s.upfu.Sessions()); n != 2 {
		t.Errorf("upf-u has %d sessions", n)
	}
	phones[0].idle()
	s.packet()
	phones[0].paged()
}

// A control plane that is asked to end gives everything up, and says that it ended well; the next one has it at once.
func TestFusedEndsWhenItIsAsked(t *testing.T) {
	s, f := beginFused(t)
	p := s.attach(1)
	p.idle()
	was := p.Status()
	if err := f.end(syscall.SIGTERM); err != nil {
		t.Errorf("it ended with %v", err)
	}
	f.start()
	s.connects()
	s.until("the UE to be served again", func() bool { return p.ServiceRequest(s.ctx) == nil })
	p.same(was)
}
