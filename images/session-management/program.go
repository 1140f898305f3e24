package sessionmanagement

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"time"

	"core5g.dev/core5g/images/associations"
	"core5g.dev/core5g/images/customresources"
	"core5g.dev/core5g/images/nf/discovery"
	"core5g.dev/core5g/images/nf/pod"
	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/sbitls"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/configuration/cluster"
	"core5g.dev/core5g/images/session-management/inspection"
	"core5g.dev/core5g/images/session-management/namf"
	"core5g.dev/core5g/images/session-management/nchf"
	"core5g.dev/core5g/images/session-management/npcf"
	"core5g.dev/core5g/images/session-management/nsmf"
	"core5g.dev/core5g/images/session-management/nudm"
	"core5g.dev/core5g/images/session-management/shard"
	"core5g.dev/core5g/images/signalling"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
)

// Run a pod of the SMF's own until ctx ends.
func Run(ctx context.Context, c Config, log *slog.Logger) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	around, err := c.Alone(ctx, group.Go, log)
	if err != nil {
		return err
	}
	group.Go(func() error { return RunWith(ctx, c, around) })
	return group.Wait()
}

// RunWith what is around the SMF, until ctx ends.
func RunWith(ctx context.Context, c Config, around *pod.Around) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	var current atomic.Pointer[configuration.Snapshot]
	registrar := newRegistrar(c, around, &current)
	p, err := newPod(ctx, group, c, around, registrar)
	if err != nil {
		return err
	}
	configure := func(s *configuration.Snapshot) {
		current.Store(s)
		p.Configure(s)
		registrar.Changed()
	}
	if err := follow(ctx, group, c, configure, around); err != nil {
		return err
	}
	if err := serveShards(ctx, group, c, around, p); err != nil {
		return err
	}
	group.Go(func() error {
		if err := inspect(p).Serve(ctx, c.Pod); err != nil { // people cannot look: sessions are served all the same
			around.Log.Error("nobody can look at sessions", "err", err)
		}
		return nil
	})
	if around.Shows != nil {
		around.Shows("GET "+associations.Path, p.ServeAssociations)
	}
	around.Answers(p.Alive, p.Ready)
	group.Go(func() error {
		p.Run(ctx)
		return nil
	})
	return group.Wait()
}

// inspect what the pod's store has.
func inspect(pod *shard.Pod) *inspection.Inspection {
	i := &inspection.Inspection{Store: pod.Store, Sealer: pod.Sealer, Configuration: pod.Configuration, Tracer: pod.Tracer}
	for _, id := range pod.Shards {
		i.Shards = append(i.Shards, inspection.Shard{Number: id.Number, Name: id.Name})
	}
	return i
}

// newPod with the session store and the functions that it asks.
func newPod(ctx context.Context, group *errgroup.Group, c Config, around *pod.Around, registrar *registrar) (*shard.Pod, error) {
	store, sealer, err := around.Store(ctx, c.keys())
	if err != nil {
		return nil, err
	}
	scheme, transport := around.Scheme(), around.Outgoing()
	shards := c.identities(scheme)
	// AMF, UDM, PCF and CHF are found by the NRF, or by the command line.
	finder := around.Finder(ctx, group.Go, discovery.Options{
		NRF: c.NRF, Fixed: c.Fixed(), Type: "SMF", InstanceID: shards[0].InstanceID, Ahead: nudm.Services(),
		Memory: pod.Memory(store, c.Holder()),
	})
	client := sbi.NewClient(transport, finder, around.Registry)
	o := shard.Options{
		Log: around.Log, Holder: c.Holder(), Set: c.set(), Shards: shards, Store: store, Sealer: sealer, AMF: namf.NewClient(client), Registry: around.Registry,
		Register: registrar.keep, Tracer: signalling.New(time.Now),
	}
	if around.Together == nil {
		o.Passing = shard.Passing{
			Root:      func(holder string, id shard.Identity) string { return c.rootAt(scheme, holder, id) },
			Transport: sbitls.Beside(around.Identity, c.Shards[0].Name),
			From:      sbitls.IsBeside(around.Identity, c.Shards[0].Name),
		}
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
func follow(ctx context.Context, group *errgroup.Group, c Config, configure func(*configuration.Snapshot), around *pod.Around) error {
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
	objects, err := customresources.Open(c.Namespace, around.Log)
	if err != nil {
		return err
	}
	watcher := cluster.NewWatcher(objects, c.Namespace, c.Core, around.Log, around.Registry)
	watcher.Serve(c.Slice)
	watcher.Follow(func(_, now *configuration.Snapshot) { configure(now) })
	around.Log.Info("reading the objects", "namespace", c.Namespace)
	return watcher.Begin(ctx, group.Go, objects)
}

// serveShards: each has a port of its own, at every pod.
func serveShards(ctx context.Context, group *errgroup.Group, c Config, around *pod.Around, p *shard.Pod) error {
	for _, id := range p.Shards {
		serve, err := around.Listen(net.JoinHostPort(c.Listen().String(), fmt.Sprint(int(c.SBIPort)+int(id.Number))), id.URI)
		if err != nil {
			return err
		}
		labelled := prometheus.WrapRegistererWith(prometheus.Labels{"shard": id.Name}, around.Registry)
		handler := p.Handler(id, around.Log.With("shard", id.Name), labelled, nsmf.Options{Binding: "bl=nf-instance; nfinst=" + id.InstanceID})
		group.Go(func() error { return serve(ctx, handler) })
	}
	return nil
}
