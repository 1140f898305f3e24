package accessmanagement

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"core5g.dev/core5g/images/access-management/configuration"
	"core5g.dev/core5g/images/access-management/configuration/cluster"
	"core5g.dev/core5g/images/access-management/namf"
	"core5g.dev/core5g/images/access-management/nausf"
	"core5g.dev/core5g/images/access-management/npcf"
	"core5g.dev/core5g/images/access-management/nsmf"
	"core5g.dev/core5g/images/access-management/nudm"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/worker"
	"core5g.dev/core5g/images/customresources"
	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/sbitls"
	"core5g.dev/core5g/images/nf/sessionstore/metered"
	"core5g.dev/core5g/images/nf/sessionstore/mounted"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
)

// Run serves until ctx ends. Then the shards are given up, while others are still answered: what comes for their UEs is passed on to the next holders.
func Run(ctx context.Context, c Config, log *slog.Logger) error {
	identity, err := sbitls.FromEnvironment(func(err error) { log.Error("SBI certificates", "err", err) })
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	health, registry, err := c.Observed(ctx, group.Go)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", c.SBI)
	if err != nil {
		return fmt.Errorf("-sbi-listen: %w", err)
	}
	defer func() { _ = listener.Close() }()
	pod, err := newPod(ctx, group, c, identity, registry, log)
	if err != nil {
		return err
	}
	registrar := newRegistrar(c, identity, pod.Settings, registry, log)
	configure := func(s *procedure.Settings) {
		pod.Configure(s)
		registrar.changed()
	}
	if err := follow(ctx, group, c, configure, registry, log); err != nil {
		return err
	}
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	group.Go(func() error { return sbi.Serve(serving, sbitls.Listen(listener, identity), pod.Handler()) })
	group.Go(func() error { return registrar.keep(ctx) })
	health.Answers(pod.Alive, pod.Ready)
	group.Go(func() error {
		defer stopServing()
		pod.Run(ctx)
		return nil
	})
	return group.Wait()
}

// newPod with the session store and the functions that it asks.
func newPod(ctx context.Context, group *errgroup.Group, c Config, identity *sbitls.Identity, registry prometheus.Registerer, log *slog.Logger) (*worker.Pod, error) {
	opened, err := mounted.Await(ctx, keys, log)
	if err != nil {
		return nil, err
	}
	store, err := metered.New(opened, registry, time.Now)
	if err != nil {
		return nil, err
	}
	transport := sbitls.Outgoing(identity)
	client := sbi.NewClient(transport, newFinder(ctx, group, c, transport, registry, log), registry)
	scheme, terminators := sbitls.Scheme(identity), newTerminators(c, identity)
	o := worker.Options{
		Log: log, Holder: c.Holder(), Set: set, Shards: c.Shards, Store: store, Sealer: mounted.Sealing{Store: opened}, InstanceID: c.instance(), URI: c.uri(scheme),
		AUSF: nausf.NewClient(client), UDM: nudm.NewClient(client), SMF: nsmf.NewClient(client), Callbacks: namf.NewClient(client), Registry: registry,
		Terminators: terminators.addresses, Dial: terminators.dial,
		Passing: worker.Passing{
			Root:      func(holder string) string { return c.rootAt(scheme, holder) },
			Transport: sbitls.Beside(identity, c.Service),
			From:      sbitls.IsBeside(identity, c.Service),
		},
	}
	if c.Has("PCF") {
		o.PCF = npcf.NewClient(client)
	}
	return worker.New(o)
}

// follow the configuration: a file's, or the cluster's.
func follow(ctx context.Context, group *errgroup.Group, c Config, configure func(*procedure.Settings), registry prometheus.Registerer, log *slog.Logger) error {
	if c.ConfigurationFile != "" {
		file, settings, err := configuration.Open(c.ConfigurationFile)
		if err != nil {
			return err
		}
		configure(settings)
		group.Go(func() error {
			file.Follow(ctx, configure, log)
			return nil
		})
		return nil
	}
	objects, err := customresources.Open(c.Namespace, log)
	if err != nil {
		return err
	}
	watcher := cluster.NewWatcher(objects, c.Namespace, c.Core, log, registry)
	configured := make(chan struct{})
	watcher.Follow(func(before, now *procedure.Settings) {
		configure(now)
		if before == nil {
			close(configured)
		}
	})
	log.Info("reading the objects", "namespace", c.Namespace)
	if err := watcher.Begin(ctx, group.Go, objects); err != nil {
		return err
	}
	select { // without a Core5G that can be used there is nobody to serve
	case <-configured:
	case <-ctx.Done():
	}
	return ctx.Err()
}
