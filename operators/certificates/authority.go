package certificates

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"
)

// Keys of a Secret of type kubernetes.io/tls, as cert-manager writes it too.
const (
	KeyCertificate = "tls.crt"
	KeyPrivate     = "tls.key"
	// KeyAuthorities are the certificates that peers are checked against.
	KeyAuthorities = "ca.crt"
)

const (
	// authorityLife is long: its end is the one moment that needs a plan.
	authorityLife = 10 * 365 * 24 * time.Hour
	// authorityRenewal is how long before its end an authority is replaced: longer than any certificate of it.
	authorityRenewal = 2 * 365 * 24 * time.Hour
	// backdate covers clocks that disagree.
	backdate = 5 * time.Minute
	// Propagation is how long pods may take to read a changed Secret: the kubelet looks once a minute or so.
	Propagation = 5 * time.Minute
)

// Authority signs the certificates of one core.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	// Bundle is the authority's own certificate, and those of earlier ones that are still believed.
	Bundle []byte
}

// NewAuthority makes an authority that is believed beside those of the bundle, which may be empty.
func NewAuthority(name string, now time.Time, earlier []byte) (map[string][]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := serialNumber()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name, Organization: []string{"core5g"}},
		NotBefore: now.Add(-backdate), NotAfter: now.Add(authorityLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	private, err := encodeKey(key)
	if err != nil {
		return nil, err
	}
	own := encode("CERTIFICATE", raw)
	bundle := slices.Clone(own)
	for _, c := range parseAll(earlier) {
		if c.IsCA && now.Before(c.NotAfter) {
			bundle = append(bundle, encode("CERTIFICATE", c.Raw)...)
		}
	}
	return map[string][]byte{KeyCertificate: own, KeyPrivate: private, KeyAuthorities: bundle}, nil
}

// ReadAuthority reads what NewAuthority made.
func ReadAuthority(data map[string][]byte) (*Authority, error) {
	certificates := parseAll(data[KeyCertificate])
	if len(certificates) == 0 || !certificates[0].IsCA {
		return nil, fmt.Errorf("key %q holds no certificate of an authority", KeyCertificate)
	}
	block, _ := pem.Decode(data[KeyPrivate])
	if block == nil {
		return nil, fmt.Errorf("key %q holds no private key", KeyPrivate)
	}
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("key %q holds no EC private key", KeyPrivate) // without the parser's words about its content
	}
	if !key.PublicKey.Equal(certificates[0].PublicKey) {
		return nil, errors.New("certificate and private key do not belong together")
	}
	bundle := data[KeyAuthorities]
	if len(parseAll(bundle)) == 0 {
		bundle = data[KeyCertificate]
	}
	return &Authority{certificate: certificates[0], key: key, Bundle: bundle}, nil
}

// Ends tells whether the authority should be replaced by now.
func (a *Authority) Ends(now time.Time) bool {
	return now.After(a.certificate.NotAfter.Add(-authorityRenewal))
}

// Certificate is what a function needs.
type Certificate struct {
	DNSNames              []string
	Duration, RenewBefore time.Duration
}

// Renew returns the content of a function's Secret as it should be now, made from what it holds: the same
// where nothing is due, with a longer list of authorities where only that has changed, or with a new
// certificate. next is when to look again.
func (a *Authority) Renew(have map[string][]byte, want Certificate, now time.Time) (data map[string][]byte, next time.Time, err error) {
	leaf := a.usable(have, want, now)
	if leaf == nil {
		if have, err = a.issue(want, now); err != nil {
			return nil, time.Time{}, err
		}
		leaf = parseAll(have[KeyCertificate])[0]
	}
	next = leaf.NotAfter.Add(-want.RenewBefore)
	if settled := a.settled(); leaf.CheckSignatureFrom(a.certificate) != nil && settled.Before(next) {
		next = settled
	}
	return map[string][]byte{
		KeyCertificate: have[KeyCertificate], KeyPrivate: have[KeyPrivate], KeyAuthorities: a.Bundle,
	}, next, nil
}

// settled is when every pod has read that the authority is to be believed.
func (a *Authority) settled() time.Time {
	return a.certificate.NotBefore.Add(backdate + Propagation)
}

// usable returns the certificate that is there, or nil where it must be made anew.
func (a *Authority) usable(have map[string][]byte, want Certificate, now time.Time) *x509.Certificate {
	certificates := parseAll(have[KeyCertificate])
	if len(certificates) == 0 || len(have[KeyPrivate]) == 0 {
		return nil
	}
	leaf := certificates[0]
	if !slices.Equal(leaf.DNSNames, want.DNSNames) || !now.Before(leaf.NotAfter.Add(-want.RenewBefore)) {
		return nil
	}
	if leaf.CheckSignatureFrom(a.certificate) == nil {
		return leaf
	}
	believed := slices.ContainsFunc(parseAll(a.Bundle), func(c *x509.Certificate) bool { return leaf.CheckSignatureFrom(c) == nil })
	if believed && now.Before(a.settled()) {
		return leaf // peers that have not heard of the new authority yet would refuse one of it
	}
	return nil
}

func (a *Authority) issue(want Certificate, now time.Time) (map[string][]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := serialNumber()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, DNSNames: want.DNSNames, Subject: pkix.Name{Organization: []string{"core5g"}},
		NotBefore: now.Add(-backdate), NotAfter: now.Add(want.Duration),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	private, err := encodeKey(key)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{KeyCertificate: encode("CERTIFICATE", raw), KeyPrivate: private}, nil
}

// Same tells whether two contents are the same.
func Same(a, b map[string][]byte) bool {
	return bytes.Equal(a[KeyCertificate], b[KeyCertificate]) && bytes.Equal(a[KeyPrivate], b[KeyPrivate]) &&
		bytes.Equal(a[KeyAuthorities], b[KeyAuthorities])
}

// End is when the first certificate of a Secret ends; false where there is none.
func End(data map[string][]byte) (time.Time, bool) {
	certificates := parseAll(data[KeyCertificate])
	if len(certificates) == 0 {
		return time.Time{}, false
	}
	return certificates[0].NotAfter, true
}

func serialNumber() (*big.Int, error) {
	// RFC 5280 4.1.2.2: unique, positive, at most 20 octets.
	return rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
}

func encode(kind string, raw []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw})
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	raw, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return encode("EC PRIVATE KEY", raw), nil
}

// parseAll returns the certificates of a bundle that can be read.
func parseAll(bundle []byte) (out []*x509.Certificate) {
	for {
		var block *pem.Block
		if block, bundle = pem.Decode(bundle); block == nil {
			return out
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			out = append(out, c)
		}
	}
}
