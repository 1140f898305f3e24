package accessmanagement

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/terminator/program"
	"core5g.dev/core5g/images/nf/loopback"
	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/sbitls"
	"core5g.dev/core5g/images/nf/sessionstore/mounted"
	"core5g.dev/core5g/images/ngapcause"
	"core5g.dev/core5g/operators/certificates"

	"github.com/free5gc/sctp"
	"github.com/google/go-cmp/cmp"
)

const limit = 2 * time.Minute

func eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	for end := time.Now().Add(limit); ; time.Sleep(10 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

// free address of the loopback interface.
func free(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("127.0.0.1:%d", loopback.Port(t))
}

func write(t *testing.T, directory, name string, content []byte) {
	t.Helper()
	path := filepath.Join(directory, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// startStore until the test ends, as the pods' Secrets say.
func startStore(t *testing.T, directory string) {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("no redis-server: hack/install-tools.sh session-store installs it")
	}
	address := free(t)
	_, port, _ := net.SplitHostPort(address)
	data := t.TempDir()
	command := exec.Command(path, "--bind", "127.0.0.1", "--port", port, "--dir", data, "--appendonly", "yes", "--save", "", "--requirepass", "test",
		"--maxmemory-policy", "noeviction")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	write(t, directory, "store/"+mounted.FileAddresses, []byte(address))
	write(t, directory, "store/"+mounted.FilePassword, []byte("test"))
	write(t, directory, "keys/1", bytes.Repeat([]byte{1}, 32))
	t.Setenv(mounted.DirectoryEnv, filepath.Join(directory, "store"))
	t.Setenv(mounted.KeysEnv, filepath.Join(directory, "keys"))
	t.Setenv(mounted.PrefixEnv, "core5g:test:")
}

// credentials of all pods, of one namespace.
func credentials(t *testing.T, directory string) *sbitls.Identity {
	t.Helper()
	data, err := certificates.NewAuthority("test", time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	authority, err := certificates.ReadAuthority(data)
	if err != nil {
		t.Fatal(err)
	}
	made, _, err := authority.Renew(nil, certificates.Certificate{
		DNSNames: []string{"localhost", "core5g-amf", "core5g-amf.test.svc"}, Duration: time.Hour, RenewBefore: time.Minute,
	}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range made {
		write(t, directory, "tls/"+name, content)
	}
	t.Setenv(sbitls.DirectoryEnv, filepath.Join(directory, "tls"))
	identity, err := sbitls.New(made[certificates.KeyCertificate], made[certificates.KeyPrivate], made[certificates.KeyAuthorities])
	if err != nil {
		t.Fatal(err)
	}
	return identity
}

// registry is an NRF that remembers the last profile.
type registry struct {
	mu      sync.Mutex
	profile map[string]any
	puts    int
	deleted bool
}

func (r *registry) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !strings.HasPrefix(q.URL.Path, "/nnrf-nfm/v1/nf-instances/"):
		w.WriteHeader(http.StatusNotFound)
		return
	case q.Method == http.MethodPut:
		r.profile = nil
		if json.NewDecoder(q.Body).Decode(&r.profile) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.puts++
	case q.Method == http.MethodDelete:
		r.deleted = true
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(r.profile)
}

// part is one of the programs at work.
type part struct {
	health, metrics string
	cancel          context.CancelFunc
	ended           chan error
}

func begin(t *testing.T, health, metrics string, run func(context.Context) error) *part {
	ctx, cancel := context.WithCancel(t.Context())
	p := &part{health: health, metrics: metrics, cancel: cancel, ended: make(chan error, 1)}
	go func() { p.ended <- run(ctx) }()
	return p
}

// end as a pod is told to.
func (p *part) end(t *testing.T) {
	t.Helper()
	p.cancel()
	select {
	case err := <-p.ended:
		if err != nil {
			t.Errorf("the program ends with %v", err)
		}
	case <-time.After(limit):
		t.Fatal("the program does not end")
	}
}

func get(url string) (string, error) {
	answer, err := http.Get(url)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, body)
	}
	return string(body), err
}

// ready as a pod is asked; a program that has ended says why.
func (p *part) ready() error {
	select {
	case err := <-p.ended:
		p.ended <- err
		return fmt.Errorf("the program has ended: %v", err)
	default:
	}
	_, err := get("http://" + p.health + "/readyz")
	return err
}

// measures says whether the metrics have all of these lines.
func (p *part) measures(lines ...string) error {
	text, err := get("http://" + p.metrics + "/metrics")
	for _, line := range lines {
		if err == nil && !strings.Contains(text, "\n"+line+"\n") {
			err = fmt.Errorf("no %s", line)
		}
	}
	return err
}

// holds counts the shards that a worker holds.
func (p *part) holds() int {
	text, _ := get("http://" + p.metrics + "/metrics")
	n := 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "core5g_amf_shard_held{") && strings.HasSuffix(line, " 1\n") {
			n++
		}
	}
	return n
}

const shards = 3

const written = `
plmns: [{mcc: "208", mnc: "93"}]
tacs: ["000001"]
sliceCatalogue: [{sst: 1, sd: "010203"}]
amf: {name: North, region: 1, set: 2, pointer: 3, capacity: 9}
`

func startWorker(t *testing.T, name, address, file, nrf, terminators string) *part {
	t.Helper()
	health, metrics := free(t), free(t)
	c, err := ParseConfig([]string{
		"-namespace", "test", "-pod", name, "-address", address, "-configuration", file, "-shards", fmt.Sprint(shards), "-terminators", terminators, "-nrf", nrf,
		"-health-listen", health, "-metrics-listen", metrics, "-log-level", "debug",
	}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	log := logOf(t, name)
	return begin(t, health, metrics, func(ctx context.Context) error { return Run(ctx, c, log) })
}

func startTerminator(t *testing.T, n2, workers string) *part {
	t.Helper()
	health, metrics := free(t), free(t)
	c, err := program.ParseConfig([]string{
		"-pod", "n2-0", "-set", "2", "-shards", fmt.Sprint(shards), "-n2-listen", n2, "-workers-listen", workers, "-health-listen", health, "-metrics-listen", metrics,
	}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	log := logOf(t, "n2-0")
	return begin(t, health, metrics, func(ctx context.Context) error { return program.Run(ctx, c, log) })
}

// lines are the test's log until the test ends: who logs behind the end of a test ends all of them.
type lines struct {
	mu sync.Mutex
	t  *testing.T // nil: it has ended
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.t != nil {
		l.t.Logf("%s", bytes.TrimSpace(b))
	}
	return len(b), nil
}

func logOf(t *testing.T, pod string) *slog.Logger {
	l := &lines{t: t}
	t.Cleanup(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.t = nil
	})
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug})).With("pod", pod)
}

// station is a gNB of which there is N2 alone.
type station struct {
	t    *testing.T
	conn *sctp.SCTPConn
}

// ngapPPID is 60 in network byte order (TS 38.412 7).
var ngapPPID = binary.NativeEndian.Uint32([]byte{0, 0, 0, 60})

func connect(t *testing.T, address string) *station {
	t.Helper()
	to, err := sctp.ResolveSCTPAddr("sctp", address)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := (&sctp.SocketConfig{InitMsg: sctp.InitMsg{NumOstreams: 4, MaxInstreams: 4}}).Dial("sctp", nil, to)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SubscribeEvents(sctp.SCTP_EVENT_DATA_IO); err != nil {
		t.Fatal(err)
	}
	return &station{t, conn}
}

// ask for something, and hear the answer.
func (s *station) ask(m n2.Message) n2.Message {
	s.t.Helper()
	s.say(m)
	for {
		answer := s.hear()
		if _, repeated := answer.(*n2.AMFConfigurationUpdate); !repeated {
			return answer
		}
		s.say(&n2.AMFConfigurationUpdateAcknowledge{})
	}
}

func (s *station) say(m n2.Message) {
	s.t.Helper()
	octets, err := n2.Write(m)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.conn.SCTPWrite(octets, &sctp.SndRcvInfo{PPID: ngapPPID}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *station) hear() n2.Message {
	s.t.Helper()
	if err := s.conn.SetReadDeadline(time.Now().Add(limit)); err != nil {
		s.t.Fatal(err)
	}
	b := make([]byte, n2.MaxOctets)
	n, _, _, err := s.conn.SCTPRead(b)
	if err != nil {
		s.t.Fatalf("the gNB hears nothing: %v", err)
	}
	m, fault := n2.Read(b[:n])
	if fault != nil {
		s.t.Fatal(fault)
	}
	return m
}

func setupRequest(t *testing.T, tac uint32) *n2.NGSetupRequest {
	p, err := n1.MakePLMN("208", "93")
	if err != nil {
		t.Fatal(err)
	}
	plmn := n2.PLMN(p)
	return &n2.NGSetupRequest{
		Node: n2.RANNode{Kind: n2.GNB, PLMN: plmn, ID: 1, Bits: 24}, Name: "gnb", DRX: n2.DRX128,
		TAs: []n2.SupportedTA{{TAC: n2.TAC(tac), PLMNs: []n2.PLMNSlices{{PLMN: plmn, Slices: []n2.SNSSAI{{SST: 1, SD: 0x010203, HasSD: true}}}}}},
	}
}

// Both programs as their pods run them, with a session store and mutual TLS: a gNB is set up, or told why not; the AMF is registered with the NRF by its
// pods, and stays so; a pod that ends gives its shards to the other, and the gNB hears nothing of it.
func TestThePrograms(t *testing.T) {
	t.Setenv(sctp.TransportEnv, "udp")
	directory := t.TempDir()
	startStore(t, directory)
	identity := credentials(t, directory)
	known := &registry{}
	nrf, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = sbi.Serve(t.Context(), nrf, known) }()
	write(t, directory, "amf.yaml", []byte(written))
	file, address, workers := filepath.Join(directory, "amf.yaml"), free(t), free(t)
	_, port, _ := net.SplitHostPort(workers)
	_, portN2, _ := net.SplitHostPort(address)
	terminator := startTerminator(t, ":"+portN2, workers) // all addresses, as a pod does
	network := loopback.Network()
	begins := func(name string) *part {
		return startWorker(t, name, map[string]string{"amf-0": network + ".1", "amf-1": network + ".2"}[name], file, "http://"+nrf.Addr().String(), "localhost:"+port)
	}
	one := begins("amf-0")
	eventually(t, "the terminator", terminator.ready)
	eventually(t, "a worker", one.ready)

	gnb := connect(t, address)
	answer, ok := gnb.ask(setupRequest(t, 1)).(*n2.NGSetupResponse)
	if !ok || answer.Name != "North" || answer.Capacity != 9 || len(answer.GUAMIs) != 1 || answer.GUAMIs[0].GUAMI.Pointer != 3 || len(answer.PLMNs) != 1 {
		t.Fatalf("NG Setup is answered by %#v", answer)
	}
	stranger := connect(t, address)
	if failure, ok := stranger.ask(setupRequest(t, 2)).(*n2.NGSetupFailure); !ok {
		t.Errorf("a gNB of another tracking area is answered %#v", failure)
	}
	if err := stranger.conn.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the profile", func() error {
		known.mu.Lock()
		defer known.mu.Unlock()
		got := map[string]any{}
		for _, name := range []string{"nfType", "nfSetIdList", "amfInfo", "recoveryTime"} {
			got[name] = known.profile[name]
		}
		plmn := map[string]any{"mcc": "208", "mnc": "93"}
		want := map[string]any{
			"nfType": "AMF", "nfSetIdList": []any{"set002.region01.amfset.5gc.mnc093.mcc208"}, "recoveryTime": "1970-01-01T00:00:00Z",
			"amfInfo": map[string]any{
				"amfRegionId": "01", "amfSetId": "002", "guamiList": []any{map[string]any{"plmnId": plmn, "amfId": "010083"}},
				"taiList": []any{map[string]any{"plmnId": plmn, "tac": "000001"}},
			},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return errors.New(diff)
		}
		return nil
	})

	// The configuration changes, and the gNB hears of it.
	write(t, directory, "amf.yaml", []byte(strings.Replace(written, "North", "South", 1)))
	update, ok := gnb.hear().(*n2.AMFConfigurationUpdate)
	if !ok || update.Name != "South" {
		t.Errorf("the gNB hears %#v", update)
	}
	gnb.say(&n2.AMFConfigurationUpdateAcknowledge{})

	two := begins("amf-1")
	eventually(t, "shards at both", func() error {
		if a, b := one.holds(), two.holds(); a+b != shards || b == 0 {
			return fmt.Errorf("%d and %d", a, b)
		}
		return two.ready()
	})
	request, err := http.NewRequest(http.MethodPost, "https://"+network+".2:8000/namf-loc/v1/imsi-208930000000001/provide-loc-info", strings.NewReader(`{"req5gsLoc": true}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	var answered *http.Response
	eventually(t, "an answer", func() (err error) { // a connection to a program that does not run for a second is given up
		if request.Body, err = request.GetBody(); err == nil {
			answered, err = sbitls.Beside(identity, "core5g-amf").RoundTrip(request)
		}
		return err
	})
	body, err := io.ReadAll(answered.Body)
	_ = answered.Body.Close()
	if err != nil || answered.StatusCode != http.StatusNotFound || !strings.Contains(string(body), "CONTEXT_NOT_FOUND") {
		t.Errorf("where nobody is: %s %s, %v", answered.Status, body, err)
	}

	one.end(t)
	eventually(t, "all shards at the other", func() error {
		if n := two.holds(); n != shards {
			return fmt.Errorf("%d", n)
		}
		return errors.Join(two.ready(), two.measures("core5g_amf_gnbs 1"), terminator.measures("core5g_amf_n2_associations 1", "core5g_amf_n2_workers 1"))
	})
	if acknowledged, ok := gnb.ask(&n2.NGReset{Cause: ngapcause.MiscUnspecified}).(*n2.NGResetAcknowledge); !ok {
		t.Errorf("NG Reset is answered %#v", acknowledged)
	}
	two.end(t)
	known.mu.Lock()
	if known.deleted || known.puts < 2 {
		t.Errorf("the profile was registered %d times; deleted: %v", known.puts, known.deleted)
	}
	known.mu.Unlock()
	terminator.end(t)
	if _, _, _, err := gnb.conn.SCTPRead(make([]byte, 100)); !errors.Is(err, io.EOF) {
		t.Errorf("the gNB reads %v at the end", err)
	}
}

// What makes no sense ends the program with a sentence, before anything is asked of anybody.
func TestAConfigurationThatIsWrong(t *testing.T) {
	directory := t.TempDir()
	startStore(t, directory)
	write(t, directory, "amf.yaml", []byte(`{plmns: []}`))
	c, err := ParseConfig([]string{
		"-namespace", "test", "-pod", "p", "-address", loopback.Network() + ".3", "-configuration", filepath.Join(directory, "amf.yaml"), "-nrf", "none", "-terminators", "127.0.0.1:1",
	}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), c, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "0 plmns: write 1 to 12") {
		t.Errorf("Run: %v", err)
	}
}
