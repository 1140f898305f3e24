package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
	pem         []byte
}

// pair is a certificate with its key, in PEM.
type pair struct{ certificate, key []byte }

const lifetime = 10 * 365 * 24 * time.Hour

func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template, err := newTemplate(pkix.Name{CommonName: name})
	if err != nil {
		return nil, err
	}
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{certificate: certificate, key: key, pem: pemBlock("CERTIFICATE", der)}, nil
}

func newTemplate(subject pkix.Name) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		// A machine's clock may step back after its start.
		NotBefore: now.Add(-24 * time.Hour),
		NotAfter:  now.Add(lifetime),
		KeyUsage:  x509.KeyUsageDigitalSignature,
	}, nil
}

// client signs a certificate for a user of the API server.
func (a *authority) client(user string, groups ...string) (pair, error) {
	template, err := newTemplate(pkix.Name{CommonName: user, Organization: groups})
	if err != nil {
		return pair{}, err
	}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.sign(template)
}

// server signs a certificate for a server that is called by these names and addresses.
func (a *authority) server(name string, names []string, addresses []net.IP) (pair, error) {
	template, err := newTemplate(pkix.Name{CommonName: name})
	if err != nil {
		return pair{}, err
	}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.DNSNames = names
	template.IPAddresses = addresses
	return a.sign(template)
}

func (a *authority) sign(template *x509.Certificate) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return pair{}, err
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return pair{}, err
	}
	return pair{certificate: pemBlock("CERTIFICATE", der), key: keyPEM}, nil
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pemBlock("EC PRIVATE KEY", der), nil
}

func pemBlock(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// writePKI makes every key of the cluster and writes it below the state directory: pki/ holds what the
// daemons serve and check with, auth/ a kubeconfig for each client.
func (s *settings) writePKI() error {
	ca, err := newAuthority("core5g")
	if err != nil {
		return err
	}
	frontProxyCA, err := newAuthority("core5g-front-proxy")
	if err != nil {
		return err
	}
	serviceAccounts, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serviceAccountKey, err := encodeKey(serviceAccounts)
	if err != nil {
		return err
	}
	caKey, err := x509.MarshalECPrivateKey(ca.key.(*ecdsa.PrivateKey))
	if err != nil {
		return err
	}
	loopback, node := net.IPv4(127, 0, 0, 1), net.IP(s.nodeIP.AsSlice())
	apiserver, err := ca.server("kube-apiserver", []string{
		"kubernetes", "kubernetes.default", "kubernetes.default.svc",
		"kubernetes.default.svc." + clusterDomain, "localhost", nodeName,
	}, []net.IP{loopback, node, net.ParseIP(apiServiceIP)})
	if err != nil {
		return err
	}
	kubelet, err := ca.server(nodeName, []string{nodeName, "localhost"}, []net.IP{loopback, node})
	if err != nil {
		return err
	}
	toKubelet, err := ca.client("kube-apiserver-kubelet-client", "core5g:kubelet-api")
	if err != nil {
		return err
	}
	frontProxy, err := frontProxyCA.client("front-proxy-client")
	if err != nil {
		return err
	}

	for _, file := range []struct {
		name    string
		content []byte
	}{
		{"ca.crt", ca.pem}, {"ca.key", pemBlock("EC PRIVATE KEY", caKey)},
		{"front-proxy-ca.crt", frontProxyCA.pem},
		{"service-accounts.key", serviceAccountKey},
		{"apiserver.crt", apiserver.certificate}, {"apiserver.key", apiserver.key},
		{"kubelet.crt", kubelet.certificate}, {"kubelet.key", kubelet.key},
		{"apiserver-kubelet-client.crt", toKubelet.certificate}, {"apiserver-kubelet-client.key", toKubelet.key},
		{"front-proxy-client.crt", frontProxy.certificate}, {"front-proxy-client.key", frontProxy.key},
	} {
		if err := s.write(file.content, 0o600, "pki", file.name); err != nil {
			return err
		}
	}

	for _, c := range []struct {
		file   []string
		user   string
		groups []string
	}{
		{[]string{"kubeconfig"}, "core5g-admin", []string{"system:masters"}},
		{[]string{"auth", "kube-controller-manager"}, "system:kube-controller-manager", nil},
		{[]string{"auth", "kube-scheduler"}, "system:kube-scheduler", nil},
		{[]string{"auth", "kube-proxy"}, "system:kube-proxy", nil},
		{[]string{"auth", "kubelet"}, "system:node:" + nodeName, []string{"system:nodes"}},
		{[]string{"auth", "multus"}, "core5g:multus", nil},
	} {
		p, err := ca.client(c.user, c.groups...)
		if err != nil {
			return err
		}
		if err := s.write(kubeconfig(s.server(), ca.pem, c.user, p), 0o600, c.file...); err != nil {
			return err
		}
	}
	return nil
}

func kubeconfig(server string, ca []byte, user string, p pair) []byte {
	encode := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: core5g
contexts:
- name: core5g
  context: {cluster: core5g, user: %[1]q}
clusters:
- name: core5g
  cluster:
    server: %[2]s
    certificate-authority-data: %[3]s
users:
- name: %[1]q
  user:
    client-certificate-data: %[4]s
    client-key-data: %[5]s
`, user, server, encode(ca), encode(p.certificate), encode(p.key))
}
