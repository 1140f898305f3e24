package accessmanagement

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"core5g.dev/core5g/images/access-management/configuration"
	"core5g.dev/core5g/images/access-management/configuration/cluster"
	"core5g.dev/core5g/images/access-management/inspection"
	"core5g.dev/core5g/images/access-management/namf"
	"core5g.dev/core5g/images/access-management/nausf"
	"core5g.dev/core5g/images/access-management/npcf"
	"core5g.dev/core5g/images/access-management/nsmf"
	"core5g.dev/core5g/images/access-management/nudm"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/worker"
	"core5g.dev/core5g/images/customresources"
	"core5g.dev/core5g/images/nf/discovery"
	"core5g.dev/core5g/images/nf/pod"
	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/sbitls"
	"core5g.dev/core5g/images/signalling"

	"golang.org/x/sync/errgroup"
)

// Run a worker in a pod of its own until ctx ends.
func Run(ctx context.Context, c Config, log *slog.Logger) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	around, err := c.Alone(ctx, group.Go, log)
	if err != nil {
		return err
	}
	group.Go(func() error {
		return RunWith(ctx, c, around, newTerminators(c, around.Identity))
	})
	return group.Wait()
}

// Terminators are those that the worker connects to.
type Terminators interface {
	// Addresses of all of them; it is asked again and again.
	Addresses(context.Context) ([]string, error)
	Dial(ctx context.Context, address string) (net.Conn, error)
}

// RunWith what is around the worker, until ctx ends. Then the shards are given up, while others are still answered: what comes for their UEs is passed on to
// the next holders.
func RunWith(ctx context.Context, c Config, around *pod.Around, n2 Terminators) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	serve, err := around.Listen(c.SBI, c.uri(around.Scheme()))
	if err != nil {
		return fmt.Errorf("-sbi-listen: %w", err)
	}
	p, err := newPod(ctx, group, c, around, n2)
	if err != nil {
		return err
	}
	registrar := newRegistrar(c, around, p.Settings)
	configure := func(s *procedure.Settings) {
		p.Configure(s)
		registrar.Changed()
	}
	if err := follow(ctx, group, c, configure, around); err != nil {
		return err
	}
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	group.Go(func() error { return serve(serving, p.Handler()) })
	group.Go(func() error { return registrar.keep(ctx) })
	group.Go(func() error {
		if err := inspect(p).Serve(ctx, c.Pod); err != nil { // people cannot look: UEs are served all the same
			around.Log.Error("nobody can look at UEs", "err", err)
		}
		return nil
	})
	around.Answers(p.Alive, p.Ready)
	group.Go(func() error {
		defer stopServing()
		p.Run(ctx)
		return nil
	})
	return group.Wait()
}

// newPod with the session store and the functions that it asks.
func newPod(ctx context.Context, group *errgroup.Group, c Config, around *pod.Around, n2 Terminators) (*worker.Pod, error) {
	store, sealer, err := around.Store(ctx, keys)
	if err != nil {
		return nil, err
	}
	scheme, transport := around.Scheme(), around.Outgoing()
	// AUSF, UDM, PCF and SMF are found by the NRF, or by the command line.
	finder := around.Finder(ctx, group.Go, discovery.Options{
		NRF: c.NRF, Fixed: c.Fixed(), Type: "AMF", InstanceID: c.instance(), Memory: pod.Memory(store, c.Holder()),
	})
	client := sbi.NewClient(transport, finder, around.Registry)
	o := worker.Options{
		Log: around.Log, Holder: c.Holder(), Set: set, Shards: c.Shards, Store: store, Sealer: sealer, InstanceID: c.instance(), URI: c.uri(scheme),
		AUSF: nausf.NewClient(client), UDM: nudm.NewClient(client), SMF: nsmf.NewClient(client), Callbacks: namf.NewClient(client), Registry: around.Registry,
		Tracer:      signalling.New(time.Now),
		Terminators: n2.Addresses, Dial: n2.Dial,
	}
	if around.Together == nil {
		o.Passing = worker.Passing{
			Root:      func(holder string) string { return c.rootAt(scheme, holder) },
			Transport: sbitls.Beside(around.Identity, c.Service),
			From:      sbitls.IsBeside(around.Identity, c.Service),
		}
	}
	if c.Has("PCF") {
		o.PCF = npcf.NewClient(client)
	}
	return worker.New(o)
}

// inspect what the pod's store has.
func inspect(p *worker.Pod) *inspection.Inspection {
	return &inspection.Inspection{
		Store: p.Store, Sealer: p.Sealer, Shards: p.Shards, Name: p.ShardName, Settings: p.Settings, GNB: p.GNB, Tracer: p.Tracer,
	}
}

// follow the configuration: a file's, or the cluster's.
func follow(ctx context.Context, group *errgroup.Group, c Config, configure func(*procedure.Settings), around *pod.Around) error {
	log := around.Log
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
	watcher := cluster.NewWatcher(objects, c.Namespace, c.Core, log, around.Registry)
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
