package security

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"maps"
	"net"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/e2e/knock"
	"core5g.dev/core5g/e2e/scene"
	"core5g.dev/core5g/operators/certificates"
)

// sbi are the functions' Secrets by component, and who of the visitors may knock.
var sbi = map[string]visitor{"nrf": asSMF, "amf": asSMF, "smf": asPCF, "pcf": asSMF, "chf": asSMF, "subscriber-data": asSMF}

// ports of the SBI where it is not 8000: shard 1 of the SMF has this one.
var ports = map[string]string{"smf": "8001"}

func object(component string) string { return core + "-" + component }

// secret is a function's certificate as its Secret has it.
func secret(ctx context.Context, name string) (map[string][]byte, error) {
	var s struct{ Data map[string]string }
	if err := k.JSON(ctx, &s, "get", "secret", name); err != nil {
		return nil, err
	}
	data := map[string][]byte{}
	for key, value := range s.Data {
		var err error
		if data[key], err = base64.StdEncoding.DecodeString(value); err != nil {
			return nil, fmt.Errorf("Secret %s, key %s is not base64", name, key) // without its content
		}
	}
	return data, nil
}

// serials of the functions' certificates, by component.
func serials(ctx context.Context) (map[string]string, error) {
	found := map[string]string{}
	for component := range sbi {
		data, err := secret(ctx, object(component)+"-tls")
		if err != nil {
			return nil, err
		}
		block, _ := pem.Decode(data[certificates.KeyCertificate])
		if block == nil {
			return nil, fmt.Errorf("Secret %s-tls holds no certificate", object(component))
		}
		leaf, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		found[component] = leaf.SerialNumber.Text(16)
	}
	return found, nil
}

func visitSBI(ctx context.Context, protocol string) (knock.Visit, error) {
	visit := knock.Visit{Doors: map[string]knock.Door{}}
	for component := range sbi {
		host, err := address(ctx, component)
		if err != nil {
			return visit, err
		}
		visit.Doors[component] = knock.Door{
			Protocol: protocol, Address: net.JoinHostPort(host, cmp.Or(ports[component], "8000")),
			Name: object(component) + "." + cluster.Namespace + ".svc",
		}
	}
	return visit, nil
}

// inUse waits until every function shows the certificate of its Secret to a visitor with one of the core,
// and answers it.
func inUse(ctx context.Context, want map[string]string, limit time.Duration) error {
	return cluster.Eventually(ctx, limit, func() error {
		visit, err := visitSBI(ctx, knock.HTTPS)
		if err != nil {
			return err
		}
		for _, v := range []visitor{asPCF, asSMF} {
			own, err := secret(ctx, core+"-pcf-tls")
			if err != nil {
				return err
			}
			visit.Certificate, visit.Key, visit.Authorities = own[certificates.KeyCertificate], own[certificates.KeyPrivate], own[certificates.KeyAuthorities]
			answers, err := v.try(ctx, visit)
			if err != nil {
				return err
			}
			for component, a := range answers {
				if sbi[component] != v {
					continue
				}
				if !a.Open {
					return fmt.Errorf("the SBI of %s does not answer: %s", component, a.Said)
				}
				if a.Serial != want[component] {
					return fmt.Errorf("%s shows certificate %s, its Secret has %s", component, a.Serial, want[component])
				}
			}
		}
		return nil
	})
}

// All functions speak https, with certificates of an issuer that the operator has had cert-manager make, and the
// UPF is not touched.
func TestMutualTLSWithAnIssuer(t *testing.T) {
	ctx := story(t, 8*time.Minute)
	upf := scene.Must[map[string]string](t)(running(ctx, ",app.kubernetes.io/component=upf"))
	_, err := k.HelmRun(ctx, "upgrade", cluster.Release, "charts/core5g", "--reset-then-reuse-values", "--wait", "--timeout", "3m",
		"--set", "core.spec.tls.mode=Mutual,core.spec.tls.authority=CertManager", "--set", "logLevel=Debug")
	check(t, err)
	check(t, k.WaitCondition(ctx, "core5g/"+core, "CertificatesReady", patience))
	check(t, ready(ctx))
	check(t, inUse(ctx, scene.Must[map[string]string](t)(serials(ctx)), patience))
	if now := scene.Must[map[string]string](t)(running(ctx, ",app.kubernetes.io/component=upf")); !maps.Equal(now, upf) {
		t.Errorf("the UPF was restarted: %v, was %v", now, upf)
	}
	check(t, attached(ctx))
	check(t, comesAnew(ctx))
}

// Nobody gets an answer in clear text, without a certificate, or with one of another authority, not even
// whom the network lets in.
func TestSBIRefusesWhoIsNotOfTheCore(t *testing.T) {
	ctx := story(t, 2*time.Minute)
	made := scene.Must[map[string][]byte](t)(certificates.NewAuthority("stranger", time.Now(), nil))
	authority := scene.Must[*certificates.Authority](t)(certificates.ReadAuthority(made))
	foreign, _, err := authority.Renew(nil, certificates.Certificate{
		DNSNames: []string{core + "-amf", core + "-amf." + cluster.Namespace + ".svc"}, Duration: time.Hour,
	}, time.Now())
	check(t, err)
	for _, tt := range []struct {
		name, protocol   string
		certificate, key []byte
	}{
		{"in clear text", knock.HTTP, nil, nil},
		{"without a certificate", knock.HTTPS, nil, nil},
		{"with another authority's certificate", knock.HTTPS, foreign[certificates.KeyCertificate], foreign[certificates.KeyPrivate]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			visit := scene.Must[knock.Visit](t)(visitSBI(ctx, tt.protocol))
			visit.Certificate, visit.Key = tt.certificate, tt.key
			for _, v := range []visitor{asPCF, asSMF} {
				answers := scene.Must[map[string]knock.Answer](t)(v.try(ctx, visit))
				for component, a := range answers {
					if sbi[component] != v {
						continue
					}
					if a.Open {
						t.Errorf("%s answers: %s", component, a.Said)
					}
					// Refused by the function, and not by something on the way.
					if tt.protocol == knock.HTTPS && a.Serial == "" {
						t.Errorf("%s shows no certificate: %s", component, a.Said)
					}
					t.Logf("%s: %s", component, a.Said)
				}
			}
		})
	}
}
