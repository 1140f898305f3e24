package main

import (
	"context"
	"flag"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/miekg/dns"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func main() {
	listen := flag.String("listen", ":5353", "address to answer on, UDP and TCP")
	health := flag.String("health", ":8081", "address of /healthz and /readyz")
	domain := flag.String("domain", "cluster.local", "the cluster's domain")
	forward := flag.String("forward", "", "servers (host:port, with commas) for names outside the domain")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	var upstream []string
	if *forward != "" {
		upstream = strings.Split(*forward, ",")
	}
	if err := serve(ctx, *listen, *health, *domain, upstream); err != nil {
		slog.Error("cluster-dns ends", "err", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, listen, health, domain string, upstream []string) error {
	config, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}

	failed := make(chan error, 3)
	var ready atomic.Bool
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !ready.Load() {
			http.Error(w, "not all Services and EndpointSlices are known yet", http.StatusServiceUnavailable)
		}
	})
	probes := &http.Server{Addr: health, Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { failed <- probes.ListenAndServe() }()

	directory, err := watchDirectory(ctx, client)
	if err != nil {
		return err
	}
	zone := &zone{domain: dns.CanonicalName(domain), directory: directory, upstream: upstream}
	for _, network := range []string{"udp", "tcp"} {
		server := &dns.Server{Addr: listen, Net: network, Handler: zone}
		go func() { failed <- server.ListenAndServe() }()
	}
	ready.Store(true)
	slog.Info("answering", "listen", listen, "domain", zone.domain)
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return err
	}
}
