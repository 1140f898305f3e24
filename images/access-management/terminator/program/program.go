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

// Run serves until ctx ends; then it shuts all associations down, so that gNBs hear of it.
func Run(ctx context.Context, c Config, log *slog.Logger) error {
	listeners, err := listen(c, log)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	health, registry, err := c.Observed(ctx, group.Go)
	if err != nil {
		listeners.close()
		return err
	}
	server := &terminator.Server{
		N2: listeners.n2, Workers: listeners.workers, Config: terminator.Config{Name: nameOf(c.Pod), Shards: c.Shards, Set: c.Set}, Log: log, Metrics: registry,
	}
	group.Go(func() error { return server.Run(ctx) })
	// It is ready without workers, too: a Service that took it away would cut off gNBs whose associations are well, and what they send waits.
	health.Answers(server.Alive, func() error { return nil })
	log.Info("waiting for gNBs and workers", "n2", listeners.n2.Addr().String(), "workers", listeners.workers.Addr().String(), "shards", c.Shards, "set", c.Set)
	return group.Wait()
}

type listeners struct {
	n2      *sctp.SCTPListener
	workers net.Listener
}

func (l listeners) close() { _, _ = l.n2.Close(), l.workers.Close() }

// listen where gNBs and workers come. Workers show a certificate also in a core whose other functions need none: whoever holds a shard has its UEs.
func listen(c Config, log *slog.Logger) (out listeners, err error) {
	var identity *sbitls.Identity
	if directory := os.Getenv(sbitls.DirectoryEnv); directory != "" {
		if identity, err = sbitls.Open(directory, false, func(err error) { log.Error("certificates", "err", err) }); err != nil {
			return out, err
		}
	}
	workers, err := net.Listen("tcp", c.Workers)
	if err != nil {
		return out, fmt.Errorf("-workers-listen: %w", err)
	}
	out.workers = sbitls.Listen(workers, identity)
	if out.n2, err = association.Listen("sctp", c.N2); err != nil {
		_ = workers.Close()
		return out, fmt.Errorf("-n2-listen: SCTP at %s: %w", c.N2, err)
	}
	return out, nil
}

// nameOf the pod and of its life: associations of another life are gone.
func nameOf(pod string) string {
	var life [4]byte
	_, _ = rand.Read(life[:]) // it never fails
	return pod + "/" + hex.EncodeToString(life[:])
}
