package sbitls

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func makeAuthority(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(240 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return authority{certificate, key}
}

func encode(kind string, raw []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw})
}

// issue writes the three files of an identity, as the kubelet does: all at once.
func (a authority) issue(t *testing.T, directory string, trust []authority, notAfter time.Time, names ...string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), DNSNames: names,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: notAfter,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	rawKey, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	var bundle []byte
	for _, b := range append(trust, a) {
		bundle = append(bundle, encode("CERTIFICATE", b.certificate.Raw)...)
	}
	version, err := os.MkdirTemp(directory, "version")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"tls.crt": encode("CERTIFICATE", raw), "tls.key": encode("EC PRIVATE KEY", rawKey), "ca.crt": bundle} {
		if err := os.WriteFile(filepath.Join(version, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(directory, name)
		if _, err := os.Lstat(link); err != nil {
			if err := os.Symlink(filepath.Join("..data", name), link); err != nil {
				t.Fatal(err)
			}
		}
	}
	fresh := filepath.Join(directory, "..data_tmp")
	if err := os.Symlink(filepath.Base(version), fresh); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(fresh, filepath.Join(directory, "..data")); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, directory string, optional bool) *Identity {
	t.Helper()
	i, err := Open(directory, optional, func(err error) { t.Log(err) })
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// serve answers with the caller's first name.
func serve(t *testing.T, i *Identity) net.Addr {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := "nobody"
		if len(r.TLS.PeerCertificates) > 0 {
			name = r.TLS.PeerCertificates[0].DNSNames[0]
		}
		_, _ = io.WriteString(w, name)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = i.Server()
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.Listener.Addr()
}

// call calls https://<host>/ at the address.
func call(t *testing.T, transport *http.Transport, host string, to net.Addr) (string, error) {
	t.Helper()
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, to.String())
	}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport, Timeout: 5 * time.Second}).Get("https://" + host + ":8000/")
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

// bare shows the certificate of a directory and checks nothing.
func bare(t *testing.T, directory string) *http.Transport {
	t.Helper()
	m, err := read(directory)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{m.certificate}}}
}

// anyError: what the called side refuses reaches the caller as an alert or as a broken connection.
const anyError = ""

var year = time.Now().Add(365 * 24 * time.Hour)

func TestBothSidesAreChecked(t *testing.T) {
	ours, theirs := makeAuthority(t), makeAuthority(t)
	issue := func(a authority, trust []authority, notAfter time.Time, names ...string) string {
		directory := t.TempDir()
		a.issue(t, directory, trust, notAfter, names...)
		return directory
	}
	nrf := issue(ours, nil, year, "core5g-nrf", "core5g-nrf.core5g.svc")
	amf := issue(ours, nil, year, "core5g-amf", "core5g-amf.core5g.svc")
	address := serve(t, open(t, nrf, false))
	lenient := serve(t, open(t, nrf, true))
	plain := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	for sentence, c := range map[string]struct {
		transport *http.Transport
		host      string
		to        net.Addr
		want      string
		wantError string
	}{
		"a peer of the core":                            {open(t, amf, false).Transport(), "core5g-nrf", address, "core5g-amf", ""},
		"by the Service's long name":                    {open(t, amf, false).Transport(), "core5g-nrf.core5g.svc", address, "core5g-amf", ""},
		"a server with another name":                    {open(t, amf, false).Transport(), "core5g-smf-internet", address, "", "core5g-smf-internet"},
		"a server by its address":                       {open(t, amf, false).Transport(), "127.0.0.1", address, "", "by the name of its Service"},
		"a client without a certificate":                {plain, "core5g-nrf", address, "", "certificate required"},
		"a client without one, where that is optional":  {plain.Clone(), "core5g-nrf", lenient, "nobody", ""},
		"a client of another authority":                 {open(t, issue(theirs, []authority{ours}, year, "core5g-amf", "core5g-amf.core5g.svc"), false).Transport(), "core5g-nrf", address, "", anyError},
		"the same, where certificates are optional":     {open(t, issue(theirs, []authority{ours}, year, "core5g-amf", "core5g-amf.core5g.svc"), false).Transport(), "core5g-nrf", lenient, "", anyError},
		"a client of another namespace, same authority": {bare(t, issue(ours, nil, year, "core5g-amf", "core5g-amf.elsewhere.svc")), "core5g-nrf", address, "", anyError},
		"the same client refuses the server":            {open(t, issue(ours, nil, year, "core5g-amf", "core5g-amf.elsewhere.svc"), false).Transport(), "core5g-nrf", address, "", "are not of .elsewhere.svc"},
		"a client whose certificate has expired":        {open(t, issue(ours, nil, time.Now().Add(-time.Minute), "core5g-amf", "core5g-amf.core5g.svc"), false).Transport(), "core5g-nrf", address, "", anyError},
		"a server of another authority": {open(t, amf, false).Transport(), "core5g-nrf",
			serve(t, open(t, issue(theirs, nil, year, "core5g-nrf", "core5g-nrf.core5g.svc"), false)), "", "unknown authority"},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := call(t, c.transport, c.host, c.to)
			if c.want != "" {
				if err != nil || got != c.want {
					t.Errorf("got %q, %v", got, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.wantError) {
				t.Errorf("got %q, %v, want an error with %q", got, err, c.wantError)
			}
		})
	}
}

// A certificate that was replaced is used by the next connection, on both sides, and one that cannot be
// read leaves the old one in use.
func TestRenewedFilesAreUsedWithoutARestart(t *testing.T) {
	first, second := makeAuthority(t), makeAuthority(t)
	server, client := t.TempDir(), t.TempDir()
	first.issue(t, server, nil, year, "core5g-nrf", "core5g-nrf.core5g.svc")
	first.issue(t, client, nil, year, "core5g-amf", "core5g-amf.core5g.svc")
	serving, calling := open(t, server, false), open(t, client, false)
	now := time.Now()
	clock := func() time.Time { return now }
	serving.now, calling.now = clock, clock
	address := serve(t, serving)
	reach := func(want string) {
		t.Helper()
		now = now.Add(2 * lookEvery)
		if got, err := call(t, calling.Transport(), "core5g-nrf", address); err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	reach("core5g-amf")
	before := serving.Leaf().SerialNumber
	// A new authority: first everybody learns of it, then one after the other gets a certificate of it.
	first.issue(t, server, []authority{second}, year, "core5g-nrf", "core5g-nrf.core5g.svc")
	reach("core5g-amf")
	first.issue(t, client, []authority{second}, year, "core5g-amf", "core5g-amf.core5g.svc")
	second.issue(t, server, []authority{first}, year, "core5g-nrf", "core5g-nrf.core5g.svc")
	reach("core5g-amf")
	second.issue(t, client, []authority{first}, year, "core5g-amf-renewed", "core5g-amf.core5g.svc")
	reach("core5g-amf-renewed")
	now = now.Add(2 * lookEvery)
	if serving.Leaf().SerialNumber.Cmp(before) == 0 {
		t.Error("the server shows its first certificate")
	}
	if err := os.WriteFile(filepath.Join(server, "..data", "tls.crt"), []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	reach("core5g-amf-renewed")
}

func TestEnvironment(t *testing.T) {
	if i, err := FromEnvironment(nil); i != nil || err != nil {
		t.Errorf("without a directory: %v, %v", i, err)
	}
	directory := t.TempDir()
	t.Setenv(DirectoryEnv, directory)
	if _, err := FromEnvironment(nil); err == nil {
		t.Error("an empty directory gave an identity")
	}
	makeAuthority(t).issue(t, directory, nil, year, "core5g-nrf", "core5g-nrf.core5g.svc")
	if _, err := FromEnvironment(nil); err != nil {
		t.Error(err)
	}
	t.Setenv(ClientCertificatesEnv, "perhaps")
	if _, err := FromEnvironment(nil); err == nil || !strings.Contains(err.Error(), "required or optional") {
		t.Errorf("got %v", err)
	}
}
