package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"core5g.dev/core5g/e2e/ran/config"
	"core5g.dev/core5g/e2e/ran/gnb"
	"core5g.dev/core5g/e2e/ran/gtpu"
	"core5g.dev/core5g/e2e/ran/link"
	"core5g.dev/core5g/e2e/ran/n2"
	"core5g.dev/core5g/e2e/ran/tun"
	"core5g.dev/core5g/e2e/ran/ue"
)

// ErrNoUE is the answer to a SUPI that is not here.
var ErrNoUE = errors.New("no such UE")

// Simulation is one gNB with its UEs.
type Simulation struct {
	cfg *config.Config
	log *slog.Logger
	gnb *gnb.GNB
	n3  *gtpu.Endpoint

	mu    sync.Mutex
	ues   []*entry // in the order of their indexes
	next  int
	ctx   context.Context // of Run; nil before
	group sync.WaitGroup
}

type entry struct {
	*ue.UE
	index  int
	cancel context.CancelFunc
	done   chan struct{}
}

// New waits for N3, opens its socket and makes the UEs.
func New(ctx context.Context, cfg *config.Config, dial n2.Dialer, log *slog.Logger) (*Simulation, error) {
	if cfg.N3Interface != "" {
		wait, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		if _, err := link.Wait(wait, cfg.N3Interface); err != nil {
			return nil, fmt.Errorf("gnb.n3.interface: %w", err)
		}
		if err := link.DisableOffloads(cfg.N3Interface); err != nil {
			return nil, err
		}
	}
	n3, err := gtpu.Listen(cfg.N3Address, log)
	if err != nil {
		return nil, fmt.Errorf("gnb.n3.address: %w", err)
	}
	s := &Simulation{cfg: cfg, log: log, n3: n3, next: 1}
	s.gnb = gnb.New(cfg.GNB, dial, n3, cfg.N3Address.As4(), log)
	for _, u := range cfg.UEs {
		if err := s.Add(u); err != nil {
			n3.Close()
			return nil, err
		}
	}
	return s, nil
}

// Run lives until ctx ends. Then it takes leave of the network for every UE, for a moment at most.
func (s *Simulation) Run(ctx context.Context) error {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	s.mu.Lock()
	s.ctx = inner
	for _, e := range s.ues {
		s.startUE(e)
	}
	s.mu.Unlock()
	served := make(chan error, 1)
	s.group.Go(func() { served <- s.n3.Serve() })
	s.group.Go(func() { s.gnb.Run(inner) })
	var err error
	select {
	case err = <-served:
	case <-ctx.Done():
		s.leave(inner)
	}
	cancel()
	s.n3.Close()
	s.group.Wait()
	return err
}

// leave switches the UEs off, side by side.
func (s *Simulation) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for _, e := range s.list() {
		wg.Go(func() { _ = e.Deregister(ctx, true) })
	}
	wg.Wait()
}

func (s *Simulation) startUE(e *entry) {
	ctx, cancel := context.WithCancel(s.ctx)
	e.cancel, e.done = cancel, make(chan struct{})
	s.group.Go(func() {
		defer close(e.done)
		e.Run(ctx)
	})
	s.gnb.Add(e.UE)
}

// Add puts a UE into the cell.
func (s *Simulation) Add(c ue.Config) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.ues {
		if e.SUPI() == c.SUPI {
			return fmt.Errorf("%s is here already", c.SUPI)
		}
	}
	e := &entry{index: s.next}
	s.next++
	c.Device = s.device(e.index)
	e.UE = ue.New(c, s.gnb, s.n3, s.log)
	s.ues = append(s.ues, e)
	if s.ctx != nil {
		s.startUE(e)
	}
	return nil
}

// Remove switches a UE off and forgets it.
func (s *Simulation) Remove(ctx context.Context, supi string) error {
	e, err := s.find(supi)
	if err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_ = e.Deregister(wait, true)
	s.gnb.Remove(e.UE)
	s.mu.Lock()
	for i, x := range s.ues {
		if x == e {
			s.ues = append(s.ues[:i], s.ues[i+1:]...)
			break
		}
	}
	s.mu.Unlock()
	if e.cancel != nil {
		e.cancel()
		<-e.done
	}
	return nil
}

// device gives the maker of a UE's devices: named ue<index>-<session>, each with its own table.
func (s *Simulation) device(index int) ue.DeviceMaker {
	if s.cfg.Device == "none" {
		return nil
	}
	return func(d ue.DeviceConfig) (ue.Device, error) {
		c := tun.Config{
			Name: fmt.Sprintf("ue%d-%d", index, d.PSI), Address: d.Address, Address6: d.Address6, MTU: d.MTU,
			Table: 1000 + 16*index + int(d.PSI),
		}
		if s.cfg.Device == "netns" {
			c.Namespace = c.Name
		}
		return tun.Open(c)
	}
}

func (s *Simulation) list() []*entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*entry(nil), s.ues...)
}

func (s *Simulation) find(supi string) (*entry, error) {
	for _, e := range s.list() {
		if e.SUPI() == supi {
			return e, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", supi, ErrNoUE)
}

// UE finds a UE by its SUPI.
func (s *Simulation) UE(supi string) (*ue.UE, error) {
	e, err := s.find(supi)
	if err != nil {
		return nil, err
	}
	return e.UE, nil
}

// PLMN is the cell's network.
func (s *Simulation) PLMN() config.PLMN {
	return config.PLMN{MCC: s.cfg.GNB.MCC, MNC: s.cfg.GNB.MNC}
}

// Status is everything that the simulation says about itself.
type Status struct {
	Ready bool        `json:"ready"`
	GNB   gnb.Status  `json:"gnb"`
	N3    N3Status    `json:"n3"`
	UEs   []ue.Status `json:"ues"`
}

// N3Status is the state of the gNB's GTP-U entity.
type N3Status struct {
	Address            string `json:"address"`
	EchoRequests       uint64 `json:"echo_requests"`
	ErrorIndications   uint64 `json:"error_indications"`
	EndMarkers         uint64 `json:"end_markers"`
	UnknownTEID        uint64 `json:"unknown_teid"`
	Malformed          uint64 `json:"malformed"`
	UnsupportedMessage uint64 `json:"unsupported_message"`
}

// Status reads the state; supi "" means every UE.
func (s *Simulation) Status(supi string) Status {
	c := &s.n3.Counters
	out := Status{GNB: s.gnb.Status(), UEs: []ue.Status{}, N3: N3Status{
		Address: s.cfg.N3Address.String(), EchoRequests: c.EchoRequests.Load(), ErrorIndications: c.ErrorIndications.Load(),
		EndMarkers: c.EndMarkers.Load(), UnknownTEID: c.UnknownTEID.Load(), Malformed: c.Malformed.Load(), UnsupportedMessage: c.UnsupportedMessage.Load(),
	}}
	out.Ready = out.GNB.State == "connected"
	for _, e := range s.list() {
		if supi != "" && e.SUPI() != supi {
			continue
		}
		u := e.Status()
		out.Ready = out.Ready && u.Ready
		out.UEs = append(out.UEs, u)
	}
	return out
}

// WaitReady waits until the gNB is connected and the chosen UEs are what they wish to be.
func (s *Simulation) WaitReady(ctx context.Context, supi string) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !s.Status(supi).Ready {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}
