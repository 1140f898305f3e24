package sessionmanagement

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"time"

	"core5g.dev/core5g/images/customresources"
	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/sbitls"
	"core5g.dev/core5g/images/nf/sessionstore/metered"
	"core5g.dev/core5g/images/nf/sessionstore/mounted"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/configuration/cluster"
	"core5g.dev/core5g/images/session-management/inspection"
	"core5g.dev/core5g/images/session-management/namf"
	"core5g.dev/core5g/images/session-management/nchf"
	"core5g.dev/core5g/images/session-management/npcf"
	"core5g.dev/core5g/images/session-management/nsmf"
	"core5g.dev/core5g/images/session-management/nudm"
	"core5g.dev/core5g/images/session-management/shard"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
)

// Run serves until ctx ends.
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
	var current atomic.Pointer[configuration.Snapshot]
	registrar := newRegistrar(c, identity, &current, registry, log)
	pod, err := newPod(ctx, group, c, identity, registrar, registry, log)
	if err != nil {
		return err
	}
	configure := func(s *configuration.Snapshot) {
		current.Store(s)
		pod.Configure(s)
		registrar.changed()
	}
	if err := follow(ctx, group, c, configure, registry, log); err != nil {
		return err
	}
	if err := serveShards(ctx, group, c, identity, pod, registry, log); err != nil {
		return err
	}
	group.Go(func() error {
		if err := inspect(pod).Serve(ctx, c.Pod); err != nil { // people cannot look: sessions are served all the same
			log.Error("nobody can look at sessions", "err", err)
		}
		return nil
	})
	health.Answers(nil, pod.Ready)
	group.Go(func() error {
		pod.Run(ctx)
		return nil
	})
	return group.Wait()
}

// inspect what the pod's store has.
func inspect(pod *shard.Pod) *inspection.Inspection {
	i := &inspection.Inspection{Store: pod.Store, Sealer: pod.Sealer, Configuration: pod.Configuration}
	for _, id := range pod.Shards {
		i.Shards = append(i.Shards, inspection.Shard{Number: id.Number, Name: id.Name})
	}
	return i
}

// newPod with the session store and the functions that it asks.
func newPod(ctx context.Context, group *errgroup.Group, c Config, identity *sbitls.Identity, registrar *registrar, registry prometheus.Registerer, log *slog.Logger) (*shard.Pod, error) {
	opened, err := mounted.Await(ctx, c.keys(), log)
	if err != nil {
		return nil, err
	}
	store, err := metered.New(opened, registry, time.Now)
	if err != nil {
		return nil, err
	}
	shards := c.identities(sbitls.Scheme(identity))
	transport := sbitls.Outgoing(identity)
	finder := newFinder(ctx, group, c, shards[0].InstanceID, transport, registry, log)
	client := sbi.NewClient(transport, finder, registry)
	o := shard.Options{
		Log: log, Holder: c.Holder(), Set: c.set(), Shards: shards, Store: store, Sealer: mounted.Sealing{Store: opened}, AMF: namf.NewClient(client), Registry: registry, Register: registrar.keep,
		Passing: shard.Passing{
			Root:      func(holder string, id shard.Identity) string { return c.rootAt(sbitls.Scheme(identity), holder, id) },
			Transport: sbitls.Beside(identity, c.Shards[0].Name),
		},
	}
	if c.Has("UDM") {
		o.UDM = nudm.NewClient(client)
	}
	if c.Has("PCF") {
		o.PCF = npcf.NewClient(client)
	}
	if c.Has("CHF") {
		o.CHF = nchf.NewClient(client)
	}
	return shard.New(o)
}

// follow the configuration: a file's, or the cluster's.
func follow(ctx context.Context, group *errgroup.Group, c Config, configure func(*configuration.Snapshot), registry prometheus.Registerer, log *slog.Logger) error {
	if c.ConfigurationFile != "" {
		text, err := os.ReadFile(c.ConfigurationFile)
		if err != nil {
			return err
		}
		snapshot, err := configuration.Parse(text)
		if err != nil {
			return fmt.Errorf("%s: %w", c.ConfigurationFile, err)
		}
		configure(snapshot)
		return nil
	}
	objects, err := customresources.Open(c.Namespace, log)
	if err != nil {
		return err
	}
	watcher := cluster.NewWatcher(objects, c.Namespace, c.Core, log, registry)
	watcher.Serve(c.Slice)
	watcher.Follow(func(_, now *configuration.Snapshot) { configure(now) })
	log.Info("reading the objects", "namespace", c.Namespace)
	return watcher.Begin(ctx, group.Go, objects)
}

// serveShards: each has a port of its own, at every pod.
func serveShards(ctx context.Context, group *errgroup.Group, c Config, identity *sbitls.Identity, pod *shard.Pod, registry prometheus.Registerer, log *slog.Logger) error {
	for _, id := range pod.Shards {
		listener, err := net.Listen("tcp", net.JoinHostPort(c.Listen().String(), fmt.Sprint(int(c.SBIPort)+int(id.Number))))
		if err != nil {
			return err
		}
		labelled := prometheus.WrapRegistererWith(prometheus.Labels{"shard": id.Name}, registry)
		handler := pod.Handler(id, log.With("shard", id.Name), labelled, nsmf.Options{Binding: "bl=nf-instance; nfinst=" + id.InstanceID})
		group.Go(func() error { return sbi.Serve(ctx, sbitls.Listen(listener, identity), handler) })
	}
	return nil
}
