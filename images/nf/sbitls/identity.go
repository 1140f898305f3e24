package sbitls

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// DirectoryEnv names the directory with tls.crt, tls.key and ca.crt; without it there is no TLS.
	DirectoryEnv = "SBI_TLS_DIR"
	// ClientCertificatesEnv is "required", or "optional" in a core with functions that have none.
	ClientCertificatesEnv = "SBI_CLIENT_CERTIFICATES"

	// lookEvery is how long a change of the files may go unnoticed, at most.
	lookEvery = time.Second
)

// Identity is what a network function shows, and whom it believes. It is safe for concurrent use.
type Identity struct {
	directory string
	optional  bool
	now       func() time.Time

	mu      sync.Mutex
	looked  time.Time
	stamp   string
	current *material
	// problem is told why changed files are not used.
	problem func(error)

	once   sync.Once
	client *http.Client
}

// material is one consistent reading of the files.
type material struct {
	certificate tls.Certificate
	authorities *x509.CertPool
	// domain that the names of all peers end in.
	domain string
}

// FromEnvironment returns the identity that DirectoryEnv names, or nil where there is none. problem is told
// why files that have changed are not used.
func FromEnvironment(problem func(error)) (*Identity, error) {
	directory := os.Getenv(DirectoryEnv)
	if directory == "" {
		return nil, nil
	}
	optional := false
	switch v := os.Getenv(ClientCertificatesEnv); v {
	case "", "required":
	case "optional":
		optional = true
	default:
		return nil, fmt.Errorf("%s=%q: write required or optional", ClientCertificatesEnv, v)
	}
	return Open(directory, optional, problem)
}

// Open reads the identity of a directory. With optional, peers need not show a certificate, but what they
// show is checked.
func Open(directory string, optional bool, problem func(error)) (*Identity, error) {
	if problem == nil {
		problem = func(error) {}
	}
	i := &Identity{directory: directory, optional: optional, now: time.Now, problem: problem}
	stamp, err := i.stat()
	if err != nil {
		return nil, err
	}
	if i.current, err = read(directory); err != nil {
		return nil, err
	}
	i.stamp, i.looked = stamp, i.now()
	return i, nil
}

// stat is what changes with the files. The kubelet replaces all of a Secret's files at once, by a link.
func (i *Identity) stat() (string, error) {
	var out strings.Builder
	for _, name := range []string{"tls.crt", "tls.key", "ca.crt"} {
		path, err := filepath.EvalSymlinks(filepath.Join(i.directory, name))
		if err != nil {
			return "", err
		}
		info, err := os.Stat(path)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(&out, path, info.ModTime().UnixNano(), info.Size())
	}
	return out.String(), nil
}

// New is an identity that does not change, from the content of the three files.
func New(certificate, key, authorities []byte) (*Identity, error) {
	m, err := parse(certificate, key, authorities)
	if err != nil {
		return nil, err
	}
	return &Identity{now: time.Now, current: m}, nil
}

func read(directory string) (*material, error) {
	var content [3][]byte
	for n, name := range []string{"tls.crt", "tls.key", "ca.crt"} {
		var err error
		if content[n], err = os.ReadFile(filepath.Join(directory, name)); err != nil {
			return nil, err
		}
	}
	m, err := parse(content[0], content[1], content[2])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", directory, err)
	}
	return m, nil
}

func parse(chain, key, authorities []byte) (*material, error) {
	certificate, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return nil, fmt.Errorf("tls.crt and tls.key: %w", err)
	}
	m := &material{certificate: certificate, authorities: x509.NewCertPool()}
	if !m.authorities.AppendCertsFromPEM(authorities) {
		return nil, errors.New("ca.crt holds no certificate")
	}
	leaf, err := x509.ParseCertificate(certificate.Certificate[0])
	if err != nil {
		return nil, err
	}
	m.certificate.Leaf = leaf
	if m.domain = domain(leaf.DNSNames); m.domain == "" {
		return nil, fmt.Errorf("tls.crt has no name of a Service, as <service>.<namespace>.svc: %q", leaf.DNSNames)
	}
	return m, nil
}

// domain is .<namespace>.svc of the first name of a Service.
func domain(names []string) string {
	for _, name := range names {
		if strings.HasSuffix(name, ".svc") && strings.Count(name, ".") == 2 {
			return name[strings.Index(name, "."):]
		}
	}
	return ""
}

// material returns the newest usable reading. Files that do not fit together leave the old one in use: it
// may serve until it expires.
func (i *Identity) material() *material {
	i.mu.Lock()
	defer i.mu.Unlock()
	if now := i.now(); i.directory != "" && now.Sub(i.looked) >= lookEvery {
		i.looked = now
		i.look()
	}
	return i.current
}

func (i *Identity) look() {
	stamp, err := i.stat()
	if err == nil && stamp == i.stamp {
		return
	}
	if err == nil {
		var m *material
		if m, err = read(i.directory); err == nil {
			i.current, i.stamp = m, stamp
			return
		}
		i.stamp = stamp // say it once
	}
	i.problem(fmt.Errorf("the certificate in use stays: %w", err))
}

// Leaf is the certificate in use.
func (i *Identity) Leaf() *x509.Certificate { return i.material().certificate.Leaf }

// Server configures the side that is called.
func (i *Identity) Server() *tls.Config {
	c := &tls.Config{
		MinVersion: tls.VersionTLS12, // TS 33.210 6.2.1
		NextProtos: []string{"h2", "http/1.1"},
		ClientAuth: tls.RequireAnyClientCert,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return &i.material().certificate, nil
		},
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 {
				if i.optional {
					return nil
				}
				return errors.New("the peer shows no certificate")
			}
			return i.verify(s, x509.ExtKeyUsageClientAuth, "")
		},
	}
	if i.optional {
		c.ClientAuth = tls.RequestClientCert
	}
	return c
}

// Client configures the side that calls.
func (i *Identity) Client() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		// The standard verification knows no authorities that change: VerifyConnection does it.
		InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if s.ServerName == "" {
				return errors.New("a peer must be called by the name of its Service, not by an address")
			}
			return i.verify(s, x509.ExtKeyUsageServerAuth, s.ServerName)
		},
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return &i.material().certificate, nil
		},
	}
}

// verify checks a peer's chain and name. A certificate of the same authority for another namespace is no
// peer: an issuer may serve many.
func (i *Identity) verify(s tls.ConnectionState, usage x509.ExtKeyUsage, name string) error {
	m := i.material()
	leaf := s.PeerCertificates[0]
	options := x509.VerifyOptions{
		Roots: m.authorities, Intermediates: x509.NewCertPool(), DNSName: name, CurrentTime: i.now(),
		KeyUsages: []x509.ExtKeyUsage{usage},
	}
	for _, c := range s.PeerCertificates[1:] {
		options.Intermediates.AddCert(c)
	}
	if _, err := leaf.Verify(options); err != nil {
		return err
	}
	if !slices.ContainsFunc(leaf.DNSNames, func(n string) bool { return strings.HasSuffix(n, m.domain) }) {
		return fmt.Errorf("the peer's names %q are not of %s", leaf.DNSNames, m.domain)
	}
	return nil
}
