package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	logf "github.com/cert-manager/cert-manager/pkg/logs"
)

// settings is what the deployment decides.
type settings struct {
	namespace   string // of the webhook's Service, of its CA, and of the Secrets that ClusterIssuers name
	service     string // the webhook's Service
	webhookPort int
	healthPort  int
	metrics     string
}

func main() {
	var s settings
	flag.StringVar(&s.namespace, "namespace", "cert-manager", "where this runs, and where ClusterIssuers find their Secrets")
	flag.StringVar(&s.service, "webhook-service", "cert-manager-webhook", "the Service by which the API server reaches the webhook")
	flag.IntVar(&s.webhookPort, "webhook-port", 10250, "the port of the webhook")
	flag.IntVar(&s.healthPort, "health-port", 6080, "the port of /healthz and /livez")
	flag.StringVar(&s.metrics, "metrics-address", ":9402", "where /metrics is")
	klog.InitFlags(nil)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	logf.InitLogs()
	ctrl.SetLogger(logf.Log)
	if err := run(logf.NewContext(ctx, logf.Log), s); err != nil {
		fmt.Fprintln(os.Stderr, "cert-manager:", err)
		os.Exit(1)
	}
}

// run ends when one of the three does: the kubelet starts all of them again.
func run(ctx context.Context, s settings) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return runControllers(ctx, s) })
	group.Go(func() error { return runWebhook(ctx, s) })
	group.Go(func() error { return runInjector(ctx) })
	return group.Wait()
}
