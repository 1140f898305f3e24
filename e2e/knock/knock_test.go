package knock

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"core5g.dev/core5g/operators/certificates"
)

func certified(t *testing.T, authority, name string) (own, key, bundle []byte) {
	t.Helper()
	data, err := certificates.NewAuthority(authority, time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := certificates.ReadAuthority(data)
	if err != nil {
		t.Fatal(err)
	}
	issued, _, err := a.Renew(nil, certificates.Certificate{DNSNames: []string{name}, Duration: time.Hour}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return issued[certificates.KeyCertificate], issued[certificates.KeyPrivate], issued[certificates.KeyAuthorities]
}

func try(t *testing.T, v Visit) map[string]Answer {
	t.Helper()
	answers, err := Try(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	return answers
}

func TestMutualTLS(t *testing.T) {
	const name = "nrf.core.svc"
	own, key, bundle := certified(t, "core", name)
	pair, err := tls.X509KeyPair(own, key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(bundle)
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	address := server.Listener.Addr().String()
	doors := map[string]Door{"https": {HTTPS, address, name}, "http": {HTTP, address, ""}, "misnamed": {HTTPS, address, "amf.core.svc"}}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}

	answers := try(t, Visit{Doors: doors, Certificate: own, Key: key, Authorities: bundle})
	if a := answers["https"]; !a.Open || a.Serial != leaf.SerialNumber.Text(16) {
		t.Errorf("with a certificate: %+v", a)
	}
	if a := answers["http"]; a.Open {
		t.Errorf("in clear text: %+v", a)
	}
	if a := answers["misnamed"]; a.Open {
		t.Errorf("another's certificate was believed: %+v", a)
	}
	if a := try(t, Visit{Doors: doors})["https"]; a.Open || a.Serial == "" {
		t.Errorf("without a certificate: %+v", a)
	}
	foreign, foreignKey, _ := certified(t, "other", name)
	if a := try(t, Visit{Doors: doors, Certificate: foreign, Key: foreignKey})["https"]; a.Open {
		t.Errorf("with a certificate of another authority: %+v", a)
	}
}

func TestConnections(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	upf, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer upf.Close()
	go func() {
		ask := make([]byte, 1500)
		for {
			n, from, err := upf.ReadFrom(ask)
			if err != nil {
				return
			}
			ask[1] = 2
			_, _ = upf.WriteTo(ask[:n], from)
		}
	}()
	silent, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	doors := map[string]Door{
		"listener": {TCP, listener.Addr().String(), ""},
		"upf":      {PFCP, upf.LocalAddr().String(), ""},
		"silent":   {PFCP, silent.LocalAddr().String(), ""},
		"unknown":  {"sctp", "127.0.0.1:1", ""},
	}
	answers := try(t, Visit{Doors: doors})
	for name, open := range map[string]bool{"listener": true, "upf": true, "silent": false, "unknown": false} {
		if answers[name].Open != open {
			t.Errorf("%s: %+v", name, answers[name])
		}
	}
	_ = listener.Close()
	if a := try(t, Visit{Doors: doors})["listener"]; a.Open {
		t.Errorf("a port that is closed: %+v", a)
	}
}
