package subscriberdata

import (
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/images/nf/pod"
	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/sbitls"
	"core5g.dev/core5g/operators/certificates"
)

// identity makes what a function shows, signed by the authority.
func identity(t *testing.T, authority *certificates.Authority, names ...string) *sbitls.Identity {
	t.Helper()
	data, _, err := authority.Renew(nil, certificates.Certificate{DNSNames: names, Duration: time.Hour, RenewBefore: time.Minute}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	i, err := sbitls.New(data[certificates.KeyCertificate], data[certificates.KeyPrivate], data[certificates.KeyAuthorities])
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestFunctionsAreCalledAsTheSchemeSays(t *testing.T) {
	authority := func() *certificates.Authority {
		data, err := certificates.NewAuthority("test", time.Now(), nil)
		if err != nil {
			t.Fatal(err)
		}
		a, err := certificates.ReadAuthority(data)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	ours, theirs := authority(), authority()
	amf := identity(t, ours, "core5g-amf.core5g.svc", "localhost")
	stranger := identity(t, theirs, "core5g-amf.core5g.svc", "localhost")
	us := identity(t, ours, "core5g-udm.core5g.svc")

	serve := func(as *sbitls.Identity) (port string) {
		listener, err := net.Listen("tcp", "localhost:0")
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ = net.SplitHostPort(listener.Addr().String())
		if as != nil {
			listener = tls.NewListener(listener, as.Server())
		}
		go func() {
			_ = sbi.Serve(t.Context(), listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.ProtoMajor == 2 {
					w.WriteHeader(http.StatusNoContent)
				}
			}))
		}()
		return port
	}
	tests := map[string]struct {
		identity, amf *sbitls.Identity
		scheme        string
		wantError     string
	}{
		"https, with a certificate":                 {us, amf, "https", ""},
		"http, in a core with TLS":                  {us, nil, "http", ""},
		"http, in a core without":                   {nil, nil, "http", ""},
		"https, to somebody with another authority": {us, stranger, "https", "unknown authority"},
		"https, without a certificate":              {nil, amf, "https", "Post"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			client := &http.Client{Transport: (&pod.Around{Identity: test.identity}).Calls()}
			defer client.CloseIdleConnections()
			resp, err := client.Post(test.scheme+"://localhost:"+serve(test.amf)+"/", "application/json", strings.NewReader("{}"))
			if err == nil {
				_ = resp.Body.Close()
			}
			switch {
			case test.wantError == "" && (err != nil || resp.StatusCode != http.StatusNoContent):
				t.Errorf("answer %v, error %v, want 204 over HTTP/2", resp, err)
			case test.wantError != "" && (err == nil || !strings.Contains(err.Error(), test.wantError)):
				t.Errorf("error %v, want %q in it", err, test.wantError)
			}
		})
	}
}
