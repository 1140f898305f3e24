package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"sync"
	"time"

	"core5g.dev/core5g/e2e/processes"
	"core5g.dev/core5g/e2e/ran/gnb"
	"core5g.dev/core5g/e2e/ran/gtpu"
	"core5g.dev/core5g/e2e/ran/n2"
	"core5g.dev/core5g/e2e/ran/ue"
	"core5g.dev/core5g/e2e/ran/uenas"
	"core5g.dev/core5g/e2e/ran/usim"
)

var snssai = uenas.SNSSAI{SST: sst, SD: [3]byte{1, 2, 3}, HasSD: true}

// session that every UE may have.
var session = ue.SessionConfig{PSI: 1, Slice: snssai, DNN: dnn}

// gnbCount is enough for handovers.
const gnbCount = 2

// access is the access network.
type access struct {
	log    *slog.Logger
	gnbs   []*gnb.GNB
	n3s    []*gtpu.Endpoint
	cancel context.CancelFunc
	ctx    context.Context
	wg     sync.WaitGroup
	// what all UEs have
	k, opc  usim.Key128
	homeKey *usim.HomeNetworkKey
}

// newAccess has gNBs connect to the core, which do as mode says when that is lost.
func newAccess(ctx context.Context, o options, mode gnb.LossMode) (a *access, err error) {
	a = &access{log: slog.New(slog.DiscardHandler)}
	if o.verbose {
		a.log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	a.ctx, a.cancel = context.WithCancel(ctx)
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	var errs [3]error
	a.k, errs[0] = usim.ParseKey128(key)
	a.opc, errs[1] = usim.ParseKey128(opc)
	a.homeKey, errs[2] = usim.ParseHomeNetworkKey(usim.NullScheme, 0, nil)
	if err := errors.Join(errs[:]...); err != nil {
		return a, err
	}
	terminators := make([]string, o.terminators)
	for n := range terminators {
		terminators[n] = at(terminatorAddress(n), n2Port)
	}
	for n := range gnbCount {
		n3, err := gtpu.Listen(netip.AddrFrom4([4]byte{127, 80, 100, byte(n + 1)}), a.log)
		if err != nil {
			return a, err
		}
		a.n3s = append(a.n3s, n3)
		tac := [3]byte{0, 0, byte(n + 1)}
		if o.state() { // where one of them dies, a UE that is idle is paged in the other one's cell
			tac = [3]byte{0, 0, 1}
		}
		a.gnbs = append(a.gnbs, gnb.New(gnb.Config{
			Name: fmt.Sprint("gnb-", n+1), ID: uint32(n + 1), MCC: mcc, MNC: mnc, TAC: tac, Slices: []uenas.SNSSAI{snssai},
			AMF: terminators, OnLoss: mode, ReleaseAfter: time.Millisecond, HoldLimit: time.Millisecond,
		}, n2.DialSCTP, n3, n3.Address().As4(), a.log))
	}
	gnb.NewArea(a.gnbs...)
	for n, g := range a.gnbs {
		a.wg.Go(func() { _ = a.n3s[n].Serve() })
		a.wg.Go(func() { g.Run(a.ctx) })
	}
	return a, a.connected(ctx)
}

// connected waits until all gNBs are.
func (a *access) connected(ctx context.Context) error {
	return processes.Await(ctx, "N2", func() error {
		for _, g := range a.gnbs {
			if s := g.Status(); s.State != "connected" {
				return fmt.Errorf("%s is %s: %s", s.Name, s.State, s.LastError)
			}
		}
		return nil
	})
}

func (a *access) close() {
	a.cancel()
	for _, n3 := range a.n3s {
		_ = n3.Close()
	}
	a.wg.Wait()
}

// phone is a UE.
type phone struct {
	*ue.UE
	off context.CancelFunc // without a word to the network
}

// ue n in the first gNB's cell.
func (a *access) ue(n int, wishes bool) *phone { return a.ueAt(n, wishes, 0) }

// ueAt a gNB, numbered from 0. With wishes it registers at once and asks for its session; without, it does what it is told.
func (a *access) ueAt(n int, wishes bool, cell int) *phone { return a.made(n, wishes, wishes, cell) }

// guest is a UE that comes when it is told to, and asks for nothing again.
func (a *access) guest(n int, session bool, cell int) *phone {
	return a.phone(n, session, false, false, cell)
}

// made is a UE that recovers, or asks for nothing again that it has lost.
func (a *access) made(n int, wishes, recovers bool, cell int) *phone {
	return a.phone(n, wishes, wishes, recovers, cell)
}

func (a *access) phone(n int, has, starts, recovers bool, cell int) *phone {
	c := ue.Config{
		SUPI: supi(n), MCC: mcc, MNC: mnc, K: a.k, OPc: a.opc, HomeKey: a.homeKey, IMEISV: "4370816125816151", Routing: "0", Requested: []uenas.SNSSAI{snssai},
		Autostart: starts, Recover: recovers,
	}
	if has {
		c.Sessions = []ue.SessionConfig{session}
	}
	ctx, off := context.WithCancel(a.ctx)
	p := &phone{ue.New(c, a.gnbs[cell], a.n3s[cell], a.log), off}
	a.wg.Go(func() { p.Run(ctx) })
	return p
}

// on switches a UE on.
func (a *access) on(p *phone) { a.gnbs[0].Add(p.UE) }
