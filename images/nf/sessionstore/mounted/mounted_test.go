package mounted

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/images/nf/loopback"
	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/redisstore"

	"github.com/redis/go-redis/v9"
)

func files(pairs ...string) map[string][]byte {
	out := map[string][]byte{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = []byte(pairs[i+1])
	}
	return out
}

func TestWhatTheFilesLack(t *testing.T) {
	ca, certificate, key := certificates(t, "store")
	for name, c := range map[string]struct {
		files map[string][]byte
		want  string
	}{
		"nothing at all":            {files(), `no "addresses": write host:port`},
		"an address without a port": {files("addresses", "redis", "password", "x"), `"addresses" holds "redis": write host:port`},
		"a port that is none":       {files("addresses", "redis:0", "password", "x"), `"redis:0"`},
		"two servers":               {files("addresses", "a:1,b:2", "password", "x"), "write one, or those of the Sentinels"},
		"no password":               {files("addresses", "a:1"), `no "password"`},
		"replicas in words":         {files("addresses", "a:1", "password", "x", "replicas", "two"), `"replicas" holds "two"`},
		"a key without authority":   {files("addresses", "a:1", "password", "x", "tls.key", "k"), `no "ca.crt"`},
		"an authority that is none": {files("addresses", "a:1", "password", "x", "ca.crt", "k"), `"ca.crt" holds no certificate`},
		"half a pair": {files("addresses", "a:1", "password", "x", "ca.crt", string(ca), "tls.crt", string(certificate)),
			"tls.crt and tls.key are no pair"},
		"another's password": {files("addresses", "a:1", "password", "geheim", "replicas", "x"), "write how many"},
	} {
		_, err := Parse(c.files)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	a, err := Parse(files("addresses", " s0:26379\ns1:26379, s2:26379\n", "primary", "core5g\n", "username", "core5g", "password", "x\n",
		"sentinelPassword", "y", "replicas", "1", "ca.crt", string(ca), "tls.crt", string(certificate), "tls.key", string(key), "serverName", "store"))
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Addresses) != 3 || a.Addresses[1] != "s1:26379" || a.Primary != "core5g" || a.Password != "x" || a.SentinelPassword != "y" ||
		a.Replicas != 1 || a.Config == nil || len(a.Config.Certificates) != 1 || a.Config.ServerName != "store" {
		t.Errorf("all of it is read as %+v", a)
	}
}

func TestSealingKeys(t *testing.T) {
	one, two := strings.Repeat("1", 32), base64.StdEncoding.EncodeToString([]byte(strings.Repeat("2", 32)))+"\n"
	for name, c := range map[string]struct {
		files map[string][]byte
		want  string
	}{
		"no key":                      {files(), "no sealing key"},
		"a name that is no number":    {files("key", one), "name keys by numbers"},
		"a number in another writing": {files("01", one), "name keys by numbers"},
		"a short key":                 {files("1", "short"), "write 32 octets, or these in base64"},
		"the number of no key":        {files("1", one, "sealWith", "2"), "write the number of a key that is there"},
		"a number that is none":       {files("1", one, "sealWith", "x"), "write the number of a key that is there"},
	} {
		if _, err := ParseKeys(c.files); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	both, err := ParseKeys(files("1", one, "2", two))
	if err != nil {
		t.Fatal(err)
	}
	old, err := ParseKeys(files("1", one, "2", two, "sealWith", "1"))
	if err != nil {
		t.Fatal(err)
	}
	first, err := ParseKeys(files("1", one))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Open("k", both.Seal("k", []byte("x"))); !errors.Is(err, sessionstore.ErrUnreadable) {
		t.Errorf("the newest key is not used: %v", err)
	}
	if got, err := first.Open("k", old.Seal("k", []byte("x"))); err != nil || string(got) != "x" {
		t.Errorf("sealWith is not obeyed: %q, %v", got, err)
	}
}

// write puts files into a directory as the kubelet does.
func write(t *testing.T, directory string, content map[string][]byte) {
	t.Helper()
	for name, c := range content {
		if err := os.WriteFile(filepath.Join(directory, name), c, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// certificates are an authority, and a server's certificate and key for that name.
func certificates(t *testing.T, name string) (ca, certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
	return certificate, certificate, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})
}

// server runs redis-server with TLS alone, with two users, until the test ends.
func server(t *testing.T, certificate, key []byte) (address string) {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("no redis-server: hack/install-tools.sh session-store installs it")
	}
	dir := t.TempDir()
	write(t, dir, map[string][]byte{"tls.crt": certificate, "tls.key": key,
		"redis.conf": []byte("user default off\nuser core5g on >first >second ~core5g:* +@all\n")})
	port := loopback.Port(t)
	command := exec.Command(path, dir+"/redis.conf", "--bind", "127.0.0.1", "--port", "0", "--tls-port", strconv.Itoa(port), "--dir", dir,
		"--tls-cert-file", dir+"/tls.crt", "--tls-key-file", dir+"/tls.key", "--tls-auth-clients", "no",
		"--save", "", "--appendonly", "yes", "--maxmemory-policy", "noeviction")
	var said bytes.Buffer
	command.Stdout = &said
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

func await(t *testing.T, what string, try func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if err = try(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, err)
}

func TestOpenAndWhatChanges(t *testing.T) {
	ca, certificate, key := certificates(t, "store")
	address := server(t, certificate, key)
	access, keys := t.TempDir(), t.TempDir()
	write(t, access, files("addresses", address, "username", "core5g", "password", "first", "ca.crt", string(ca), "serverName", "store"))
	write(t, keys, files("1", strings.Repeat("1", 32)))
	var problems []error
	ctx := context.Background()
	var s *Store
	await(t, "open", func() (err error) {
		s, err = Open(ctx, access, keys, "core5g:test:", func(err error) { problems = append(problems, err) })
		return err
	})
	defer func() { _ = s.Close() }()
	if err := s.Check(ctx); err != nil {
		t.Error(err)
	}
	later := time.Now()
	soon := func() time.Time { later = later.Add(lookEvery); return later }
	s.access.clock, s.keys.clock = soon, soon

	write(t, access, files("password", "second"))
	if a := s.access.now(); a.Password != "second" {
		t.Error("a new password is not read")
	}
	sealed := s.Sealer().Seal("k", []byte("x"))
	write(t, keys, files("2", strings.Repeat("2", 32)))
	if got, err := s.Sealer().Open("k", sealed); err != nil || string(got) != "x" {
		t.Errorf("what the old key sealed: %q, %v", got, err)
	}
	if bytes.Equal(s.Sealer().Seal("k", nil)[:4], sealed[:4]) {
		t.Error("a new key is not used")
	}
	write(t, keys, files("3", "short"))
	for range 3 {
		_ = s.Sealer()
	}
	if len(problems) != 1 || !strings.Contains(problems[0].Error(), `sealing key "3"`) {
		t.Errorf("problems: %v", problems)
	}

	for name, c := range map[string]struct {
		change map[string][]byte
		prefix string
		is     error
		want   string
	}{
		"a wrong password":    {files("password", "third"), "core5g:test:", redisstore.ErrCredentials, ""},
		"another server name": {files("serverName", "elsewhere"), "core5g:test:", sessionstore.ErrUnavailable, "elsewhere"},
		"nobody listens":      {files("addresses", "127.0.0.1:1"), "core5g:test:", sessionstore.ErrUnavailable, "127.0.0.1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			write(t, directory, files("addresses", address, "username", "core5g", "password", "first", "ca.crt", string(ca), "serverName", "store"))
			write(t, directory, c.change)
			_, err := Open(ctx, directory, keys, c.prefix, nil)
			if err == nil || !strings.Contains(err.Error(), `sealing key "3"`) {
				t.Errorf("with a bad key: %v", err)
			}
			good := t.TempDir()
			write(t, good, files("1", strings.Repeat("1", 32)))
			_, err = Open(ctx, directory, good, c.prefix, nil)
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Open: %v, want %v, %q", err, c.is, c.want)
			}
		})
	}
	// Too few replicas, and an eviction policy.
	write(t, access, files("replicas", "1"))
	write(t, keys, files("3", strings.Repeat("3", 32)))
	replicated, err := Open(ctx, access, keys, "core5g:test:", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = replicated.Close() }()
	if err := replicated.Check(ctx); !errors.Is(err, redisstore.ErrReplicas) {
		t.Errorf("Check without a replica: %v", err)
	}
	c := redis.NewClient(&redis.Options{Addr: address, Username: "core5g", Password: "first", TLSConfig: s.access.now().Config.Clone(), DisableIdentity: true})
	defer func() { _ = c.Close() }()
	if err := c.ConfigSet(ctx, "maxmemory-policy", "allkeys-lru").Err(); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(ctx); !errors.Is(err, redisstore.ErrSettings) {
		t.Errorf("Check of a server that evicts: %v", err)
	}
}

func TestTheEnvironment(t *testing.T) {
	if _, err := FromEnvironment(context.Background(), "", nil); err == nil || !strings.Contains(err.Error(), "is not set") {
		t.Errorf("an empty environment: %v", err)
	}
}

// A store that is away is waited for; Secrets that lack something are not.
func TestAwait(t *testing.T) {
	access, keys := t.TempDir(), t.TempDir()
	write(t, access, files("addresses", "127.0.0.1:1", "password", "x"))
	for name, value := range map[string]string{DirectoryEnv: access, KeysEnv: keys, PrefixEnv: "core5g:test:"} {
		t.Setenv(name, value)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	log := slog.New(slog.DiscardHandler)
	if _, err := Await(ctx, "", log); err == nil || !strings.Contains(err.Error(), "no sealing key") {
		t.Errorf("without a key: %v", err)
	}
	write(t, keys, files("1", strings.Repeat("1", 32)))
	if _, err := Await(ctx, "", log); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without a store: %v", err)
	}
}
