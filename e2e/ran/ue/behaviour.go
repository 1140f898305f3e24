package ue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"core5g.dev/core5g/e2e/ran/gnb"
	"core5g.dev/core5g/e2e/ran/uenas"
	"core5g.dev/core5g/images/session-management/n1"
)

// Behaviour is what the UE does otherwise than a good one. The zero value is a good one.
type Behaviour struct {
	// IgnorePaging leaves pagings without an answer.
	IgnorePaging bool `json:"ignore_paging,omitempty"`
	// Ignore counts, by 5GSM message (see Ignorable), how many of the next ones are not taken; below 0: all of them.
	Ignore map[string]int `json:"ignore,omitempty"`
	// Repeat sends every 5GSM request so many times more, as if its answer had been lost: the same PTI, another COUNT.
	Repeat int `json:"repeat,omitempty"`
}

var ignorable = map[string]n1.MessageType{
	"establishment-accept": n1.EstablishmentAcceptType, "establishment-reject": n1.EstablishmentRejectType,
	"modification-command": n1.ModificationCommandType, "modification-reject": n1.ModificationRejectType,
	"release-command": n1.ReleaseCommandType, "release-reject": n1.ReleaseRejectType, "status": n1.StatusType,
}

// Ignorable lists what Behaviour.Ignore may name.
func Ignorable() []string { return slices.Sorted(maps.Keys(ignorable)) }

// Check says what is wrong with it.
func (b Behaviour) Check() error {
	for name := range b.Ignore {
		if _, known := ignorable[name]; !known {
			return fmt.Errorf("ignore: %q is not one of %s", name, strings.Join(Ignorable(), ", "))
		}
	}
	if b.Repeat < 0 || b.Repeat > 10 {
		return errors.New("repeat: write 0 to 10")
	}
	return nil
}

func (b Behaviour) clone() Behaviour {
	b.Ignore = maps.Clone(b.Ignore)
	return b
}

// ignores says whether a message is not taken, and counts it.
func (b *Behaviour) ignores(t n1.MessageType) bool {
	for name, left := range b.Ignore {
		if ignorable[name] != t || left == 0 {
			continue
		}
		if left > 0 {
			b.Ignore[name] = left - 1
		}
		return true
	}
	return false
}

// Behave changes the UE's behaviour from the next event on.
func (u *UE) Behave(ctx context.Context, b Behaviour) error {
	return u.command(ctx, func(done chan error) {
		u.behaviour = b.clone()
		u.reply(done, nil)
	})
}

// request sends a 5GSM request, as often as the behaviour says.
func (u *UE) request(plain []byte) {
	for range 1 + u.behaviour.Repeat {
		u.send(plain)
	}
}

// RepeatNAS sends the last NAS message once more, octet by octet, with the COUNT that it had (TS 33.501 6.4.3.1).
func (u *UE) RepeatNAS(ctx context.Context) error {
	return u.command(ctx, func(done chan error) {
		switch {
		case u.conn == nil:
			u.reply(done, ErrIdle)
		case u.last == nil:
			u.reply(done, errors.New("the UE has not sent any NAS message on this connection"))
		default:
			u.reply(done, u.conn.Send(u.last))
		}
	})
}

// RawSM is a 5GSM message of any octets.
type RawSM struct {
	PSI     uint8
	Payload []byte
	Request uint8         // request type of UL NAS TRANSPORT; 0: none
	Slice   *uenas.SNSSAI // nil: not said
	DNN     string        // "": not said
}

// SendSM sends octets as a 5GSM message, well formed or not. What the network answers is taken as the UE's state says.
func (u *UE) SendSM(ctx context.Context, m RawSM) error {
	return u.command(ctx, func(done chan error) {
		switch {
		case u.mm != registered:
			u.reply(done, ErrNotRegistered)
		case u.conn == nil:
			u.reply(done, ErrIdle)
		default:
			u.send(uenas.ULTransport(m.PSI, m.Payload, m.Request, m.Slice, m.DNN))
			u.reply(done, nil)
		}
	})
}

// Reselect takes an idle UE to another cell of its registration area, of which nobody hears (TS 38.304 5.2.4): it is paged in either. Whoever calls moves the
// UE in the tables of the gNBs.
func (u *UE) Reselect(ctx context.Context, cell *gnb.GNB) error {
	return u.command(ctx, func(done chan error) {
		if u.conn != nil {
			u.reply(done, ErrConnected)
			return
		}
		u.cell, u.cellUp, u.resume = cell, false, false
		u.reply(done, nil)
	})
}

// Camp takes the UE to another cell without a word to the one before: its gNB and the core still think it there. A
// registered UE then asks for service in the new one. Whoever calls moves the UE in the tables of the gNBs.
func (u *UE) Camp(ctx context.Context, cell *gnb.GNB) error {
	return u.command(ctx, func(done chan error) {
		if c := u.conn; c != nil {
			c.Desert()
			u.released(c, "left the cell without a word")
		}
		u.cell, u.cellUp = cell, false
		u.resume = u.mm == registered
		u.reply(done, nil)
	})
}
