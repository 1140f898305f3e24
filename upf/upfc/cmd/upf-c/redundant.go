package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"core5g.dev/core5g/upf/upfc/agent"
	"core5g.dev/core5g/upf/upfc/agent/store"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/fencing"
	"core5g.dev/core5g/upf/upfc/standby"
)

// member is this upf-c as a member of a redundant unit.
type member struct {
	cfg  *config.Config
	log  *slog.Logger
	a    *agent.Agent
	opt  standby.Options
	life string
}

func newMember(cfg *config.Config, log *slog.Logger, a *agent.Agent) (*member, error) {
	r := &cfg.Redundancy
	creds, err := standby.Credentials(r.ServerName, r.Certificate, r.Key, r.Authority)
	if err != nil {
		return nil, fmt.Errorf("redundancy: %w", err)
	}
	arbiter, err := standby.NewLease(r.Lease)
	if err != nil {
		return nil, err
	}
	return &member{cfg: cfg, log: log, a: a, opt: standby.Options{
		Name: r.Unit, Peer: r.Peer, TLS: creds, Terms: fencing.DefaultTerms(), Arbiter: arbiter, Log: log, Sessions: standby.MostSessions,
	}}, nil
}

// run serves the unit if it is this member's, else stands by until it is. It returns when another member serves the unit: the next
// life of this one, which begins anew, stands by.
func (m *member) run(ctx context.Context) error {
	for {
		if err := m.live(ctx); !errors.Is(err, standby.ErrFree) {
			return err
		}
		m.log.Info("the unit is free", "unit", m.opt.Name)
	}
}

// live is one life, with a name of its own.
func (m *member) live(ctx context.Context) error {
	var nonce [8]byte
	_, _ = rand.Read(nonce[:])
	m.life = fencing.Life(m.cfg.Redundancy.Member, hex.EncodeToString(nonce[:]))
	fence := fencing.NewUnit(m.opt.Terms, m.life, m.kept())
	unit := m.unit(fence)
	if unit.Claim(ctx) {
		m.log.Info("this member serves the unit", "unit", m.opt.Name, "life", m.life)
		return m.serve(ctx, unit, nil, nil)
	}
	if ctx.Err() != nil {
		return nil
	}
	// What an earlier life has left is of before another member served.
	if err := os.Remove(m.cfg.State.File); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("state.file: %w", err)
	}
	store.DropCounters(m.cfg.State.File)
	m.log.Info("this member stands by", "unit", m.opt.Name, "life", m.life)
	l, err := net.Listen("tcp", m.cfg.Redundancy.Listen.String())
	if err != nil {
		return fmt.Errorf("redundancy.listen: %w", err)
	}
	h := standby.NewHolder(m.opt, m.life)
	filling, filled := context.WithCancel(ctx)
	takeover := &agent.Takeover{Leave: func() error { return h.Leave(m.cfg.State.File) }}
	var fill sync.WaitGroup
	fill.Go(func() { takeover.Ahead = m.a.StandBy(filling, h) })
	fence, err = h.Hold(ctx, l)
	taken := time.Now()
	filled()
	fill.Wait()
	if err != nil {
		takeover.Ahead.Abandon()
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	if ahead := takeover.Ahead; ahead != nil {
		if err := ahead.Finish(h); err != nil {
			m.log.Error("upf-u is filled from the beginning", "err", err)
			takeover.Ahead = nil
		}
		m.log.Info("upf-u has what is held", "ahead", takeover.Ahead != nil, "took", time.Since(taken))
	}
	return m.serve(ctx, m.unit(fence), h, takeover)
}

// kept says whether an earlier life has left the unit's sessions.
func (m *member) kept() bool {
	left, err := store.Open(m.cfg.State.File, time.Now(), m.cfg.Heartbeat.ReleaseAfter)
	left.Close()
	return err == nil
}

func (m *member) unit(fence *fencing.Unit) *standby.Unit {
	return standby.NewUnit(m.opt, m.life, fence, func(g fencing.Grant) {
		switch {
		case g.Forward: // Link.Forward has said so
		case g.Epoch == 0:
			m.a.Link().Grant(0, 0)
		case g.Always:
			m.a.Link().Grant(g.Epoch, dataplane.GrantAlways)
		default:
			m.a.Link().Grant(g.Epoch, g.Until)
		}
	}, m.a.Link().HoldLine)
}

// serve is the unit's life. h has held it before; nil: nobody. When ctx ends, the standby takes over first, if there is one.
func (m *member) serve(ctx context.Context, unit *standby.Unit, h *standby.Holder, takeover *agent.Takeover) error {
	m.a.BeRedundant(unit, takeover)
	unit.Mirrors(m.a.Stored())
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	var over error
	var work sync.WaitGroup
	work.Go(func() {
		over = unit.Run(life)
		end()
	})
	work.Go(func() {
		select {
		case <-ctx.Done():
			if err := unit.HandOver(life, m.forward); err != nil {
				m.log.Warn("the unit is not handed over", "err", err)
			}
			end()
		case <-life.Done():
		}
	})
	if h != nil {
		work.Go(func() { m.greet(life, h) })
	}
	err := m.a.Run(life)
	end()
	work.Wait()
	return errors.Join(over, err)
}

// forward has upf-u answer no more.
func (m *member) forward(g fencing.Grant) error { return m.a.Link().Forward(g.Epoch, g.Until) }

// greet says to who has yielded that this member serves, and takes what was counted there until it ended.
func (m *member) greet(ctx context.Context, h *standby.Holder) {
	select {
	case <-m.a.Link().Serves():
	case <-ctx.Done():
	}
	m.a.AddLate(h.Served(ctx))
}
