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

// Simulation is a gNB, or several, with their UEs.
type Simulation struct {
	cfg   *config.Config
	log   *slog.Logger
	cells []*cell

	mu    sync.Mutex
	ues   []*entry // in the order of their indexes
	next  int
	ctx   context.Context // of Run; nil before
	group sync.WaitGroup
}

type entry struct {
	*ue.UE
	index  int
	first  *cell // where it is switched on
	cancel context.CancelFunc
	done   chan struct{}
}

// New waits for N3, opens its socket and makes the UEs.
func New(ctx context.Context, cfg *config.Config, dial n2.Dialer, log *slog.Logger) (*Simulation, error) {
	s := &Simulation{cfg: cfg, log: log, next: 1}
	var gnbs []*gnb.GNB
	for i, c := range cfg.Cells() {
		x, err := open(ctx, c, dial, log)
		if err != nil {
			s.close()
			key := "gnb"
			if i > 0 {
				key = fmt.Sprintf("neighbours[%d]", i-1)
			}
			return nil, fmt.Errorf("%s.%w", key, err)
		}
		s.cells, gnbs = append(s.cells, x), append(gnbs, x.gnb)
	}
	gnb.NewArea(gnbs...)
	for _, u := range cfg.UEs {
		if err := s.Add(u); err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

// open makes one gNB with its GTP-U socket.
func open(ctx context.Context, c config.Cell, dial n2.Dialer, log *slog.Logger) (*cell, error) {
	if c.N3Interface != "" {
		wait, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		if _, err := link.Wait(wait, c.N3Interface); err != nil {
			return nil, fmt.Errorf("n3.interface: %w", err)
		}
		if err := link.DisableOffloads(c.N3Interface); err != nil {
			return nil, fmt.Errorf("n3.interface: %w", err)
		}
	}
	n3, err := gtpu.Listen(c.N3Address, log)
	if err != nil {
		return nil, fmt.Errorf("n3.address: %w", err)
	}
	log = log.With("gnb", c.GNB.Name)
	return &cell{gnb: gnb.New(c.GNB, dial, n3, c.N3Address.As4(), log), n3: n3, address: c.N3Address}, nil
}

func (s *Simulation) close() {
	for _, c := range s.cells {
		c.n3.Close()
	}
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
	served := make(chan error, len(s.cells))
	for _, c := range s.cells {
		s.group.Go(func() { served <- c.n3.Serve() })
		s.group.Go(func() { c.gnb.Run(inner) })
	}
	var err error
	select {
	case err = <-served:
	case <-ctx.Done():
		s.leave(inner)
	}
	cancel()
	s.close()
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
	e.first.gnb.Add(e.UE)
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
	first, err := s.cell(c.Cell)
	if err != nil {
		return fmt.Errorf("%s: cell: %w", c.SUPI, err)
	}
	e := &entry{index: s.next, first: first}
	s.next++
	c.Device = s.device(e.index)
	e.UE = ue.New(c, first.gnb, first.n3, s.log)
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
	for _, c := range s.cells {
		c.gnb.Remove(e.UE)
	}
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
			Name: fmt.Sprintf("ue%d-%d", index, d.PSI), Address: d.Address, Address6: d.Address6, Ethernet: d.Ethernet, MTU: d.MTU,
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
	Ready bool       `json:"ready"`
	GNB   gnb.Status `json:"gnb"`
	N3    N3Status   `json:"n3"`
	// Neighbours are the other gNBs, if there are any.
	Neighbours []CellStatus `json:"neighbours,omitempty"`
	UEs        []ue.Status  `json:"ues"`
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
	first := s.cells[0].status()
	out := Status{GNB: first.GNB, N3: first.N3, UEs: []ue.Status{}, Ready: first.GNB.State == "connected"}
	for _, c := range s.cells[1:] {
		x := c.status()
		out.Neighbours = append(out.Neighbours, x)
		out.Ready = out.Ready && x.GNB.State == "connected"
	}
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
