package main

// free5GC's CHF reaches its own rating function and account balance management over Diameter with TLS,
// within the same process, and panics where no certificate is configured. This makes one for the life of
// the process. It lives in memory, for the root file system is read-only.

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/free5gc/chf/pkg/factory"
)

// certificateLife is longer than a pod's.
const certificateLife = 10 * 365 * 24 * time.Hour

// secureDiameter gives the two Diameter ends a certificate unless the configuration names one.
func secureDiameter(c *factory.Configuration) error {
	if c.RfDiameter == nil || c.AbmfDiameter == nil || (c.RfDiameter.Tls != nil && c.AbmfDiameter.Tls != nil) {
		return nil
	}
	certificate, key, err := selfSigned(c.RfDiameter.HostIPv4, c.AbmfDiameter.HostIPv4)
	if err != nil {
		return fmt.Errorf("certificate for Diameter: %w", err)
	}
	files := &factory.Tls{}
	if files.Pem, err = memoryFile("certificate", "CERTIFICATE", certificate); err != nil {
		return err
	}
	if files.Key, err = memoryFile("key", "EC PRIVATE KEY", key); err != nil {
		return err
	}
	for _, end := range []*factory.Diameter{c.RfDiameter, c.AbmfDiameter} {
		if end.Tls == nil {
			end.Tls = files
		}
	}
	return nil
}

func selfSigned(hosts ...string) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "chf"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(certificateLife),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	if certificate, err = x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private); err != nil {
		return nil, nil, err
	}
	key, err = x509.MarshalECPrivateKey(private)
	return certificate, key, err
}

// memoryFile puts a PEM block into a memfd, which stays open as long as the process, and gives its path.
func memoryFile(name, kind string, der []byte) (string, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return "", os.NewSyscallError("memfd_create", err)
	}
	if err := pem.Encode(memfd(fd), &pem.Block{Type: kind, Bytes: der}); err != nil {
		return "", err
	}
	return fmt.Sprintf("/proc/self/fd/%d", fd), nil
}

// memfd writes to a descriptor without owning it, so that no finalizer closes it.
type memfd int

func (fd memfd) Write(b []byte) (int, error) { return unix.Write(int(fd), b) }
