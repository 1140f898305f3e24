package main

import (
	"context"
	"fmt"

	config "github.com/cert-manager/cert-manager/internal/apis/config/webhook"
	"github.com/cert-manager/cert-manager/internal/webhook"
	logf "github.com/cert-manager/cert-manager/pkg/logs"
)

// runWebhook validates cert-manager's objects. It makes its certificate itself, from a CA in the Secret
// <service>-ca, which the injector then writes into the webhook's configuration.
func runWebhook(ctx context.Context, s settings) error {
	var c config.WebhookConfiguration
	c.SecurePort = int32(s.webhookPort)
	c.HealthzPort = int32(s.healthPort)
	c.MetricsListenAddress = "0" // the controllers serve metrics
	c.TLSConfig.Dynamic.SecretNamespace = s.namespace
	c.TLSConfig.Dynamic.SecretName = s.service + "-ca"
	c.TLSConfig.Dynamic.DNSNames = []string{
		s.service, s.service + "." + s.namespace, s.service + "." + s.namespace + ".svc",
	}
	server, err := webhook.NewCertManagerWebhookServer(logf.FromContext(ctx, "webhook"), c)
	if err != nil {
		return fmt.Errorf("webhook: %w", err)
	}
	if err := server.Run(ctx); err != nil {
		return fmt.Errorf("webhook: %w", err)
	}
	return nil
}
