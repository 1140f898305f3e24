package program

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net"
	"os"

	"core5g.dev/core5g/images/access-management/terminator"
	"core5g.dev/core5g/images/nf/pod"
	"core5g.dev/core5g/images/nf/sbitls"

	"github.com/free5gc/sctp"
	"golang.org/x/sync/errgroup"
)

// association is what SCTP asks for and bears (RFC 9260 15, RFC 6458 8.1). A gNB that answers nothing any more is given up after 0.5 + 1 + 3 * 1.5 s.
// Of the streams one is for what concerns no UE, UEs share the others (TS 38.412 7).
var association = sctp.SocketConfig{
	InitMsg:   sctp.InitMsg{NumOstreams: 32, MaxInstreams: 1024, MaxAttempts: 4, MaxInitTimeout: 1500},
	RtoInfo:   &sctp.RtoInfo{SrtoInitial: 500, SrtoMax: 1500, StroMin: 100},
	AssocInfo: &sctp.AssocInfo{AsocMaxRxt: 4},
}

// Run a terminator in a pod of its own until ctx ends.
func Run(ctx context.Context, c Config, log *slog.Logger) error {
	workers, err := listen(c, log)
	if err != nil {
		return err
	}
	defer func() { _ = workers.Close() }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	health, registry, err := c.Observed(ctx, group.Go)
	if err != nil {
		return err
	}
	group.Go(func() error {
		return RunWith(ctx, c, &pod.Around{Log: log, Registry: registry, Answers: health.Answers}, workers)
	})
	return group.Wait()
}

// RunWith what is around the terminator, until ctx ends; then it shuts all associations down, so that gNBs hear of it. Workers come to the listener.
func RunWith(ctx context.Context, c Config, around *pod.Around, workers net.Listener) error {
	n2, err := association.Listen("sctp", c.N2)
	if err != nil {
		return fmt.Errorf("-n2-listen: SCTP at %s: %w", c.N2, err)
	}
	server := &terminator.Server{
		N2: n2, Workers: workers, Config: terminator.Config{Name: nameOf(c.Pod), Shards: c.Shards, Set: c.Set}, Log: around.Log, Metrics: around.Registry, Linger: c.Linger,
	}
	// It is ready without workers, too: a Service that took it away would cut off gNBs whose associations are well, and what they send waits.
	around.Answers(server.Alive, func() error { return nil })
	around.Log.Info("waiting for gNBs and workers", "n2", n2.Addr().String(), "workers", workers.Addr().String(), "shards", c.Shards, "set", c.Set)
	return server.Run(ctx)
}

// listen where workers come. They show a certificate also in a core whose other functions need none: whoever holds a shard has its UEs.
// So another function's is none.
func listen(c Config, log *slog.Logger) (net.Listener, error) {
	var identity *sbitls.Identity
	if directory := os.Getenv(sbitls.DirectoryEnv); directory != "" {
		var err error
		if identity, err = sbitls.Open(directory, false, func(err error) { log.Error("certificates", "err", err) }); err != nil {
			return nil, err
		}
	}
	workers, err := net.Listen("tcp", c.Workers)
	if err != nil {
		return nil, fmt.Errorf("-workers-listen: %w", err)
	}
	return sbitls.ListenBeside(workers, identity, c.WorkersService), nil
}

// nameOf the pod and of its life: associations of another life are gone.
func nameOf(pod string) string {
	var life [4]byte
	_, _ = rand.Read(life[:]) // it never fails
	return pod + "/" + hex.EncodeToString(life[:])
}
