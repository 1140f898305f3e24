package program

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/link"
	"core5g.dev/core5g/images/nf/loopback"
	"core5g.dev/core5g/images/nf/sbitls"
	"core5g.dev/core5g/operators/certificates"

	"github.com/free5gc/sctp"
	"github.com/google/go-cmp/cmp"
)

func TestConfig(t *testing.T) {
	t.Setenv("POD_NAME", "n2-0")
	t.Setenv("AMF_SET", "7")
	t.Setenv("SHARDS", "4")
	c, err := ParseConfig([]string{"-n2-listen", "127.0.0.1/127.0.0.2:38412", "-shards", "8"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if c.Pod != "n2-0" || c.Set != 7 || c.Shards != 8 || c.Workers != ":38400" || c.N2.String() != "127.0.0.1/127.0.0.2:38412" {
		t.Errorf("%+v", c)
	}
}

func TestWhatIsWrongOnTheCommandLine(t *testing.T) {
	good := map[string]string{"-pod": "p", "-set": "7"}
	for name, x := range map[string]struct{ flag, value, want string }{
		"no pod":                    {"-pod", "", "POD_NAME"},
		"a set of eleven bits":      {"-set", "1024", `"1024" is no AMF Set ID: write one from 0 to 1023`},
		"no shards":                 {"-shards", "0", "write one from 1 to 255"},
		"more than can be numbered": {"-shards", "256", "write one from 1 to 255"},
		"N2 without a port":         {"-n2-listen", "127.0.0.1", "-n2-listen \"127.0.0.1\": write address:port"},
		"workers without a port":    {"-workers-listen", "127.0.0.1", "-workers-listen \"127.0.0.1\": write address:port"},
		"a port that is none":       {"-workers-listen", ":x", "write address:port"},
		"a level that is none":      {"-log-level", "loud", "debug, info"},
	} {
		var args []string
		for flag, value := range good {
			if flag != x.flag {
				args = append(args, flag, value)
			}
		}
		if _, err := ParseConfig(append(args, x.flag, x.value), io.Discard); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want something with %q", name, err, x.want)
		}
	}
	if _, err := ParseConfig([]string{"-pod", "p"}, io.Discard); err == nil || !strings.Contains(err.Error(), "-set is missing") {
		t.Errorf("without a set: %v", err)
	}
	t.Setenv("SHARDS", "many")
	if _, err := ParseConfig([]string{"-pod", "p", "-set", "1"}, io.Discard); err == nil || !strings.Contains(err.Error(), "SHARDS:") {
		t.Errorf("shards of the environment: %v", err)
	}
}

const limit = 2 * time.Minute

// free address of the loopback interface.
func free(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("127.0.0.1:%d", loopback.Port(t))
}

func eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	for end := time.Now().Add(limit); ; time.Sleep(5 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

// credentials of a core, in a directory: the terminator's. A worker has others, and so has another function.
func credentials(t *testing.T, directory string) (worker, other *sbitls.Identity) {
	t.Helper()
	data, err := certificates.NewAuthority("test", time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	authority, err := certificates.ReadAuthority(data)
	if err != nil {
		t.Fatal(err)
	}
	of := func(service string) map[string][]byte {
		made, _, err := authority.Renew(nil, certificates.Certificate{DNSNames: []string{service, service + ".test.svc"}, Duration: time.Hour, RenewBefore: time.Minute}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	for name, content := range of("n2-workers") {
		if err := os.WriteFile(filepath.Join(directory, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	identity := func(made map[string][]byte) *sbitls.Identity {
		identity, err := sbitls.New(made[certificates.KeyCertificate], made[certificates.KeyPrivate], made[certificates.KeyAuthorities])
		if err != nil {
			t.Fatal(err)
		}
		return identity
	}
	return identity(of("core-amf")), identity(of("core-udm"))
}

// The program as its pod runs it: a worker comes with a certificate, and none comes without; a gNB connects, and hears of the end.
func TestTheProgram(t *testing.T) {
	directory := t.TempDir()
	identity, other := credentials(t, directory)
	t.Setenv(sctp.TransportEnv, "udp")
	t.Setenv(sbitls.DirectoryEnv, directory)
	t.Setenv(sbitls.ClientCertificatesEnv, "optional") // which is for others
	t.Setenv("WORKERS_SERVICE", "core-amf")
	n2, workers, health, metrics := free(t), free(t), free(t), free(t)
	c, err := ParseConfig([]string{
		"-pod", "n2-0", "-set", "7", "-shards", "3", "-n2-listen", n2, "-workers-listen", workers, "-health-listen", health, "-metrics-listen", metrics,
	}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, c, slog.New(slog.DiscardHandler)) }()
	get := func(url string) (string, error) {
		answer, err := http.Get(url)
		if err != nil {
			return "", err
		}
		defer func() { _ = answer.Body.Close() }()
		body, err := io.ReadAll(answer.Body)
		if answer.StatusCode != http.StatusOK {
			err = errors.New(answer.Status)
		}
		return string(body), err
	}
	eventually(t, "ready", func() error { _, err := get("http://" + health + "/readyz"); return err })

	if stranger, err := tls.Dial("tcp", workers, &tls.Config{InsecureSkipVerify: true}); err == nil {
		if _, err := stranger.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("a stranger is not turned away: %v", err)
		}
	}
	function := other.Client()
	function.ServerName = "n2-workers"
	if stranger, err := tls.Dial("tcp", workers, function); err == nil {
		if _, err := stranger.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("another function is not turned away: %v", err)
		}
		_ = stranger.Close()
	}
	config := identity.Client()
	config.ServerName = "n2-workers"
	conn, err := tls.Dial("tcp", workers, config)
	if err != nil {
		t.Fatal(err)
	}
	worker, frames := link.NewConn(conn), make(chan link.Frame, 10)
	defer worker.Close()
	go func() { _ = worker.Run(func(f link.Frame) error { frames <- f; return nil }) }()
	if err := worker.Post(&link.Hello{Version: link.Version, Worker: "w", Shards: 3}); err != nil {
		t.Fatal(err)
	}
	next := func() link.Frame {
		t.Helper()
		select {
		case f := <-frames:
			return f
		case <-time.After(limit):
			t.Fatal("no frame comes")
			return nil
		}
	}
	if welcome, ok := next().(*link.Welcome); !ok || !strings.HasPrefix(welcome.Terminator, "n2-0/") {
		t.Errorf("welcome %+v", welcome)
	}
	if diff := cmp.Diff(link.Frame(&link.Opened{Listed: true, Last: true}), next()); diff != "" {
		t.Errorf("the list (-want +got):\n%s", diff)
	}
	gnb, err := (&sctp.SocketConfig{}).Dial("sctp", nil, c.N2)
	if err != nil {
		t.Fatal(err)
	}
	if opened, ok := next().(*link.Opened); !ok || opened.Listed {
		t.Errorf("opened %+v", opened)
	}
	eventually(t, "metrics", func() error {
		text, err := get("http://" + metrics + "/metrics")
		if err == nil && !strings.Contains(text, "core5g_amf_n2_associations 1") {
			err = errors.New(text)
		}
		return err
	})
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	if _, _, _, err := gnb.SCTPRead(make([]byte, 100)); !errors.Is(err, io.EOF) {
		t.Errorf("the gNB reads %v at the end", err)
	}
}

func TestAnAddressThatIsTaken(t *testing.T) {
	t.Setenv(sctp.TransportEnv, "udp")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	c, err := ParseConfig([]string{"-pod", "p", "-set", "1", "-n2-listen", free(t), "-workers-listen", taken.Addr().String()}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), c, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "-workers-listen") {
		t.Errorf("Run: %v", err)
	}
}
