// Package standbytest makes the certificates that members of a redundant UPF show each other in tests.
package standbytest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Certificates are the files of a member's certificate for name, its key and its authority.
func Certificates(t testing.TB, name string) (certificate, key, authority string) {
	t.Helper()
	dir := t.TempDir()
	ca, caKey := make509(t, name+" authority", nil, nil)
	own, ownKey := make509(t, name, ca, caKey)
	private, err := x509.MarshalECPrivateKey(ownKey)
	if err != nil {
		t.Fatal(err)
	}
	write := func(file, kind string, b []byte) string {
		path := filepath.Join(dir, file)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("tls.crt", "CERTIFICATE", own.Raw), write("tls.key", "EC PRIVATE KEY", private), write("ca.crt", "CERTIFICATE", ca.Raw)
}

func make509(t testing.TB, name string, parent *x509.Certificate, by *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), BasicConstraintsValid: true,
	}
	if parent == nil {
		parent, by = c, key
		c.IsCA, c.KeyUsage = true, x509.KeyUsageCertSign
	} else {
		c.DNSNames = []string{name}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return c, key
}
