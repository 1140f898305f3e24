package security

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/e2e/scene"
	"core5g.dev/core5g/operators/certificates"
)

const (
	// webhook is the Service, and the Secret of the operator's own certificate; managed is that of cert-manager's.
	webhook, managed = cluster.Release + "-operator-webhook", webhook + "-tls"
	authority        = webhook + "-ca"

	// overlapping wants addresses of the slice that `make up` has made.
	overlapping = `apiVersion: core5g.dev/v1alpha1
kind: Slice
metadata: {name: overlapping}
spec:
  snssai: {sst: 1, sd: "112233"}
  dataNetworks: [{dnn: internet, uePools: [10.45.128.0/17]}]
`
)

// refused is nil where whoever applies what is wrong hears so from the webhook.
func refused(ctx context.Context) error {
	_, err := k.Input(ctx, overlapping, "apply", "--dry-run=server", "-f", "-")
	switch {
	case err == nil:
		return errors.New("a Slice with another's UE pool is let through")
	case strings.Contains(err.Error(), `admission webhook "slices.core5g.dev" denied the request`) &&
		strings.Contains(err.Error(), "overlaps pool 10.45.0.0/16 of Slice "+slice):
		return nil
	}
	return err
}

// asked waits until the API server believes the certificate of the Secret, and the webhook refuses what is wrong. It
// returns the certificate's serial number, which is another than before.
func asked(ctx context.Context, name, before string) (serial string, err error) {
	err = cluster.Eventually(ctx, patience, func() error {
		held, err := secret(ctx, name)
		if err != nil {
			return err
		}
		block, _ := pem.Decode(held[certificates.KeyCertificate])
		if block == nil {
			return fmt.Errorf("Secret %s holds no certificate", name)
		}
		leaf, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return err
		}
		if serial = leaf.SerialNumber.Text(16); serial == before {
			return fmt.Errorf("Secret %s holds the certificate of before", name)
		}
		var configuration struct {
			Webhooks []struct {
				Name         string
				ClientConfig struct{ CABundle []byte }
			}
		}
		if err := k.JSON(ctx, &configuration, "get", "validatingwebhookconfiguration", cluster.Namespace+"-"+webhook); err != nil {
			return err
		}
		if len(configuration.Webhooks) == 0 {
			return errors.New("no webhook is configured")
		}
		for _, w := range configuration.Webhooks {
			pool := x509.NewCertPool()
			pool.AppendCertsFromPEM(w.ClientConfig.CABundle)
			if _, err := leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: webhook + "." + cluster.Namespace + ".svc"}); err != nil {
				return fmt.Errorf("the certificate of Secret %s by caBundle of %s: %w", name, w.Name, err)
			}
		}
		return refused(ctx)
	})
	return serial, err
}

// gone waits until nothing is left of the way to a certificate that is no longer taken.
func gone(ctx context.Context, objects ...string) error {
	return cluster.Eventually(ctx, patience, func() error {
		out, err := k.Run(ctx, append([]string{"get", "--ignore-not-found", "-o", "name"}, objects...)...)
		if left := strings.Fields(out); err == nil && len(left) > 0 {
			err = fmt.Errorf("%s is left", strings.Join(left, ", "))
		}
		return err
	})
}

// The webhook's certificate is cert-manager's to make, and its CA injector's to tell the API server of; and the
// operator's again. What is wrong is refused at each stop, and when cert-manager has made it anew, and nothing is
// left of the other way.
func TestWebhookCertificateOfCertManager(t *testing.T) {
	ctx := story(t, 8*time.Minute)
	revision := scene.Must[string](t)(k.Revision(ctx))
	own := scene.Must[string](t)(asked(ctx, webhook, ""))

	_, err := k.HelmRun(ctx, "upgrade", cluster.Release, "charts/core5g", "--reuse-values", "--wait", "--timeout", "3m",
		"--set", "webhook.certificates=CertManager")
	check(t, err)
	began := time.Now()
	check(t, k.WaitCondition(ctx, "certificate.cert-manager.io/"+webhook, "Ready", patience))
	serial := scene.Must[string](t)(asked(ctx, managed, own))
	check(t, gone(ctx, "secret/"+webhook, "secret/"+authority))
	t.Logf("refused with a certificate of cert-manager's %.1f s after the upgrade", time.Since(began).Seconds())

	operators := scene.Must[map[string]string](t)(runs(ctx, "app.kubernetes.io/component=operator"))
	_, err = k.Run(ctx, "delete", "secret", managed)
	check(t, err)
	began = time.Now()
	scene.Must[string](t)(asked(ctx, managed, serial))
	t.Logf("refused with the next certificate %.1f s after the Secret was deleted", time.Since(began).Seconds())
	if now := scene.Must[map[string]string](t)(runs(ctx, "app.kubernetes.io/component=operator")); !maps.Equal(now, operators) {
		t.Errorf("the operator was restarted: %v, was %v", now, operators)
	}

	_, err = k.HelmRun(ctx, "rollback", cluster.Release, revision, "--wait", "--timeout", "2m")
	check(t, err)
	began = time.Now()
	scene.Must[string](t)(asked(ctx, webhook, own))
	check(t, gone(ctx, "secret/"+managed, "certificate.cert-manager.io/"+webhook, "issuer.cert-manager.io/"+webhook))
	t.Logf("refused with a certificate of the operator's %.1f s after the rollback", time.Since(began).Seconds())
}
