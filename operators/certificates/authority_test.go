package certificates

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
	"time"
)

var want = Certificate{DNSNames: []string{"core5g-nrf", "core5g-nrf.core5g.svc"}, Duration: 90 * 24 * time.Hour, RenewBefore: 30 * 24 * time.Hour}

func makeAuthority(t *testing.T, now time.Time, earlier []byte) (*Authority, map[string][]byte) {
	t.Helper()
	data, err := NewAuthority("core5g", now, earlier)
	if err != nil {
		t.Fatal(err)
	}
	a, err := ReadAuthority(data)
	if err != nil {
		t.Fatal(err)
	}
	return a, data
}

func renew(t *testing.T, a *Authority, have map[string][]byte, now time.Time) (map[string][]byte, time.Time) {
	t.Helper()
	data, next, err := a.Renew(have, want, now)
	if err != nil {
		t.Fatal(err)
	}
	return data, next
}

// believes tells whether who has read one Secret takes the certificate of another.
func believes(t *testing.T, reader, shown map[string][]byte, now time.Time) error {
	t.Helper()
	pair, err := tls.X509KeyPair(shown[KeyCertificate], shown[KeyPrivate])
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(reader[KeyAuthorities])
	for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, DNSName: "core5g-nrf", KeyUsages: []x509.ExtKeyUsage{usage}}); err != nil {
			return err
		}
	}
	return nil
}

func TestCertificatesAreRenewedInTime(t *testing.T) {
	now := time.Now()
	a, _ := makeAuthority(t, now, nil)
	first, next := renew(t, a, nil, now)
	if err := believes(t, first, first, now); err != nil {
		t.Fatal(err)
	}
	if left := next.Sub(now); left < 59*24*time.Hour || left > 60*24*time.Hour {
		t.Errorf("looks again after %s, want 60 days", left)
	}
	if same, _ := renew(t, a, first, now.Add(59*24*time.Hour)); !Same(first, same) {
		t.Error("renewed a day too early")
	}
	later := now.Add(61 * 24 * time.Hour)
	second, _ := renew(t, a, first, later)
	if Same(first, second) {
		t.Fatal("not renewed")
	}
	if err := believes(t, first, second, later); err != nil {
		t.Errorf("who has not noticed yet: %v", err)
	}
	if err := believes(t, second, first, later); err != nil {
		t.Errorf("a peer that has not noticed yet: %v", err)
	}
	moved := want
	moved.DNSNames = []string{"elsewhere", "elsewhere.core5g.svc"}
	if other, _, err := a.Renew(first, moved, now); err != nil || Same(first, other) {
		t.Errorf("kept a certificate with other names (%v)", err)
	}
	if fresh, _ := renew(t, a, map[string][]byte{KeyCertificate: []byte("x"), KeyPrivate: []byte("y")}, now); believes(t, first, fresh, now) != nil {
		t.Error("rubbish was not replaced")
	}
}

// At every moment of a change of authorities everybody believes everybody, whether he has read his new
// Secret or not.
func TestAnAuthorityIsReplacedInTwoSteps(t *testing.T) {
	now := time.Now()
	old, oldData := makeAuthority(t, now.Add(-9*365*24*time.Hour), nil)
	before, _ := renew(t, old, nil, now)
	if !old.Ends(now) {
		t.Error("an authority with a year left should be replaced")
	}
	fresh, _ := makeAuthority(t, now, oldData[KeyAuthorities])
	if fresh.Ends(now) {
		t.Error("the new one too")
	}
	// Step one: the old certificate with both authorities.
	between, next := renew(t, fresh, before, now.Add(time.Minute))
	if string(between[KeyCertificate]) != string(before[KeyCertificate]) {
		t.Fatal("the certificate changed before everybody knew the new authority")
	}
	if next.After(now.Add(Propagation + time.Minute)) {
		t.Errorf("looks again only at %s", next)
	}
	// Step two: a certificate of the new authority.
	later := now.Add(Propagation + time.Minute)
	after, _ := renew(t, fresh, between, later)
	if string(after[KeyCertificate]) == string(before[KeyCertificate]) {
		t.Fatal("the certificate stays that of the old authority")
	}
	for name, pair := range map[string][2]map[string][]byte{
		"one has read step one, the other nothing":  {between, before},
		"one has read nothing, the other step one":  {before, between},
		"one has read step two, the other step one": {after, between},
		"one has read step one, the other step two": {between, after},
		"both have read step two":                   {after, after},
	} {
		if err := believes(t, pair[0], pair[1], later); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A third authority need not carry the first for ever.
	_, third := makeAuthority(t, now.Add(8*365*24*time.Hour), fresh.Bundle)
	if got := len(parseAll(third[KeyAuthorities])); got != 2 {
		t.Errorf("%d authorities are believed, want the new one and the one before", got)
	}
}

func TestReadAuthorityRefuses(t *testing.T) {
	now := time.Now()
	a, data := makeAuthority(t, now, nil)
	_, other := makeAuthority(t, now, nil)
	leaf, _ := renew(t, a, nil, now)
	for name, bad := range map[string]map[string][]byte{
		"nothing":          {},
		"a leaf":           leaf,
		"another's key":    {KeyCertificate: data[KeyCertificate], KeyPrivate: other[KeyPrivate]},
		"no key":           {KeyCertificate: data[KeyCertificate]},
		"a key of rubbish": {KeyCertificate: data[KeyCertificate], KeyPrivate: encode("EC PRIVATE KEY", []byte("x"))},
	} {
		if _, err := ReadAuthority(bad); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
