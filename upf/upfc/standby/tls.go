package standby

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// Credentials are those of a member, for both directions: certificate, key and authority in files, which are read anew for every
// connection, so that a renewed certificate needs no restart. Both sides' certificates are for name.
func Credentials(name, certificate, key, authority string) (*tls.Config, error) {
	own := func() (*tls.Certificate, error) {
		c, err := tls.LoadX509KeyPair(certificate, key)
		return &c, err
	}
	if _, err := own(); err != nil {
		return nil, err
	}
	if _, err := authorities(authority); err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		ServerName: name,
		// verify does, with the authorities as they are then.
		InsecureSkipVerify:   true,
		ClientAuth:           tls.RequireAnyClientCert,
		GetCertificate:       func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return own() },
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own() },
		VerifyConnection:     func(s tls.ConnectionState) error { return verify(s, name, authority) },
		// Over the line nothing is said after the handshake: what lay unread would make its end a reset.
		SessionTicketsDisabled: true,
	}, nil
}

func authorities(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s: no certificate in it: write the authority's, PEM encoded", file)
	}
	return pool, nil
}

func verify(s tls.ConnectionState, name, authority string) error {
	if len(s.PeerCertificates) == 0 {
		return errors.New("the other member has no certificate")
	}
	roots, err := authorities(authority)
	if err != nil {
		return err
	}
	between := x509.NewCertPool()
	for _, c := range s.PeerCertificates[1:] {
		between.AddCert(c)
	}
	_, err = s.PeerCertificates[0].Verify(x509.VerifyOptions{
		DNSName: name, Roots: roots, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	return err
}
