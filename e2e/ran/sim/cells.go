package sim

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"

	"core5g.dev/core5g/e2e/ran/gnb"
	"core5g.dev/core5g/e2e/ran/gtpu"
	"core5g.dev/core5g/e2e/ran/ue"
)

// cell is one gNB with its GTP-U entity.
type cell struct {
	gnb     *gnb.GNB
	n3      *gtpu.Endpoint
	address netip.Addr
}

// ErrNoGNB is the answer to a gNB that is not here.
var ErrNoGNB = errors.New("no such gNB")

// ErrNotConnected is the answer to what needs a UE's connection.
var ErrNotConnected = errors.New("the UE is idle, or not registered")

// CellStatus is one gNB's state.
type CellStatus struct {
	GNB gnb.Status `json:"gnb"`
	N3  N3Status   `json:"n3"`
}

func (c *cell) status() CellStatus {
	n := &c.n3.Counters
	return CellStatus{GNB: c.gnb.Status(), N3: N3Status{
		Address: c.address.String(), EchoRequests: n.EchoRequests.Load(), ErrorIndications: n.ErrorIndications.Load(),
		EndMarkers: n.EndMarkers.Load(), UnknownTEID: n.UnknownTEID.Load(), Malformed: n.Malformed.Load(), UnsupportedMessage: n.UnsupportedMessage.Load(),
	}}
}

// cell finds a gNB by its name or its ID; "" and "first" are the first.
func (s *Simulation) cell(name string) (*cell, error) {
	if name == "" || name == "first" {
		return s.cells[0], nil
	}
	for _, c := range s.cells {
		if x := c.gnb.Status(); x.Name == name || strconv.FormatUint(uint64(x.ID), 10) == name {
			return c, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", name, ErrNoGNB)
}

// GNB finds a gNB by its name or its ID.
func (s *Simulation) GNB(name string) (*gnb.GNB, error) {
	c, err := s.cell(name)
	if err != nil {
		return nil, err
	}
	return c.gnb, nil
}

// watch asks every gNB for the echo replies of an identifier: the UE may move meanwhile.
func (s *Simulation) watch(id uint16, to chan<- gtpu.Reply) (remove func()) {
	var all []func()
	for _, c := range s.cells {
		all = append(all, c.n3.Watches().Add(id, to))
	}
	return func() {
		for _, f := range all {
			f()
		}
	}
}

// Handover moves a connected UE. By "n2" the target may be the ID of a gNB that is not here, to see it refused.
func (s *Simulation) Handover(ctx context.Context, u *ue.UE, kind, target string, o gnb.HandoverOptions) (gnb.HandoverResult, error) {
	c := u.Connection()
	if c == nil {
		return gnb.HandoverResult{}, ErrNotConnected
	}
	t, err := s.cell(target)
	switch kind {
	case "xn":
		if err != nil {
			return gnb.HandoverResult{}, err
		}
		return c.HandOverXn(ctx, t.gnb, o)
	case "n2":
		id, numeric := strconv.ParseUint(target, 10, 24)
		switch {
		case err == nil:
			id = uint64(t.gnb.Status().ID)
		case numeric != nil:
			return gnb.HandoverResult{}, err
		}
		return c.HandOverN2(ctx, uint32(id), o)
	}
	return gnb.HandoverResult{}, fmt.Errorf("kind %q is neither xn nor n2", kind)
}

// Camp takes a UE to another cell without a word to the one where it is.
func (s *Simulation) Camp(ctx context.Context, u *ue.UE, target string) error {
	t, err := s.cell(target)
	if err != nil {
		return err
	}
	for _, c := range s.cells {
		c.gnb.Remove(u)
	}
	if err := u.Camp(ctx, t.gnb); err != nil {
		return err
	}
	t.gnb.Add(u)
	return nil
}
