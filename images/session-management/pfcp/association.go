package pfcp

import (
	"errors"
	"fmt"
	"time"

	wire "core5g.dev/core5g/upf/upfc/pfcp"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// How a unit is met:
//
//	Association Update ── accepted ──▶ Heartbeat ── stamp as it was ──▶ Ready
//	        │ cause 72                     │ another stamp: UnitRestarted, from the start
//	        ▼
//	Association Setup ── accepted ──▶ features, stamp (UnitRestarted where it is another) ──▶ Ready
//
// Any other end is an attempt in vain: NotAssociated, the requests that wait are not sent, a pause, from the start.

// RefusedError is an answer that accepts nothing.
type RefusedError struct {
	// Message is the request's.
	Message string
	// Cause of TS 29.244 8.2.1, Offending the type of the offending IE, 0 for none.
	Cause     uint8
	Offending uint16
}

func (r *RefusedError) Error() string {
	s := fmt.Sprintf("the UP function refuses the %s: %s", r.Message, wire.CauseName(r.Cause))
	if r.Offending != 0 {
		s += fmt.Sprintf(", offending IE %d", r.Offending)
	}
	return s
}

// refusal is nil for an answer that accepts.
func refusal(m *wire.Message) error {
	c, err := causeIn(m)
	if err != nil {
		return err
	}
	if c == ie.CauseRequestAccepted {
		return nil
	}
	r := &RefusedError{Message: wire.TypeName(m.Type - 1), Cause: c}
	if o := m.Elements.First(ie.OffendingIE); o != nil {
		r.Offending, _ = o.Uint16()
	}
	return r
}

// updatesRefused: after so many refusals for other reasons than that there is no association, it is set up.
const updatesRefused = 3

// meet begins anew with a unit.
func (e *Endpoint) meet(u *unit) {
	e.stop(u)
	if u.state != Away || u.failures == 0 {
		e.become(u, Meeting)
	}
	if u.Associated {
		e.update(u)
	} else {
		e.setUp(u)
	}
}

func (e *Endpoint) update(u *unit) {
	ies := append([]*ie.IE{e.node(u), cpFeatures()}, e.cfg.Association(u.NodeID)...)
	u.current = e.ask(u, message.MsgTypeAssociationUpdateRequest, ies, func(m *wire.Message, err error) {
		u.current = nil
		if err == nil {
			err = refusal(m)
		}
		if err == nil {
			err = e.named(u, m)
		}
		var r *RefusedError
		switch {
		case err == nil:
			u.refused = 0
			if f := m.Elements.First(ie.UPFunctionFeatures); f != nil {
				u.features = featuresOf(f)
			}
			e.verify(u)
		case errors.As(err, &r) && r.Cause == ie.CauseNoEstablishedPFCPAssociation:
			u.Associated = false
			e.setUp(u)
		default:
			if r != nil {
				if u.refused++; u.refused >= updatesRefused {
					u.refused, u.Associated = 0, false
				}
			}
			e.inVain(u, err)
		}
	})
}

// verify asks an updated unit for its Recovery Time Stamp: it may have restarted while nobody held the shard.
func (e *Endpoint) verify(u *unit) {
	u.current = e.askHeartbeat(u, func(stamp Stamp, serial uint64, err error) {
		u.current = nil
		switch {
		case err != nil:
			e.inVain(u, err)
		case e.saw(u, stamp, serial):
			e.meet(u)
		default:
			e.ready(u, Associated{Updated: true})
		}
	})
}

func (e *Endpoint) setUp(u *unit) {
	ies := []*ie.IE{
		e.node(u), e.cfg.Recovery.element(), cpFeatures(),
		// All sessions, whoever made them, are of records in the store: an association that the unit still has must not
		// take them with it.
		ie.New(ie.PFCPSessionRetentionInformation, nil),
	}
	ies = append(ies, e.cfg.Association(u.NodeID)...)
	var serial uint64
	u.current = e.ask(u, message.MsgTypeAssociationSetupRequest, ies, func(m *wire.Message, err error) {
		u.current = nil
		var stamp Stamp
		if err == nil {
			err = refusal(m)
		}
		if err == nil {
			err = e.named(u, m)
		}
		if err == nil {
			stamp, err = stampIn(m)
		}
		if err != nil {
			e.inVain(u, err)
			return
		}
		e.saw(u, stamp, serial)
		flags := m.Elements.First(ie.PFCPASRspFlags)
		retained := flags != nil && len(flags.Value) > 0 && flags.Value[0]&asrspPSREI != 0
		e.isSetUp(u, m, retained)
		e.ready(u, Associated{Retained: retained})
	})
	serial = u.current.serial
}

// isSetUp: there is an association with a unit that had none; m has the unit's features.
func (e *Endpoint) isSetUp(u *unit, m *wire.Message, retained bool) {
	u.Associated = true
	u.features = featuresOf(m.Elements.First(ie.UPFunctionFeatures))
	if u.had && !retained {
		u.emptied = true
		e.cut(u, errEmptied)
	}
}

var errEmptied = errors.New("the association with the unit was set up anew")

// asrspPSREI is a bit of PFCPASRsp-Flags (TS 29.244 8.2.142): PFCP Session Retained Indication.
const asrspPSREI = 0x01

// named checks that an answer is of the unit that was asked: at its address there may be another by now.
func (e *Endpoint) named(u *unit, m *wire.Message) error {
	id := m.Elements.First(ie.NodeID)
	if id == nil {
		return wire.Missing(ie.NodeID, wire.TypeName(m.Type))
	}
	name, err := id.NodeID()
	if err != nil {
		return err
	}
	if name = nodeName(name); name != u.NodeID {
		return fmt.Errorf("the UP function at %s calls itself %q: write this Node ID for it, not %q", u.Address, name, u.NodeID)
	}
	return nil
}

// ready: the unit can be used, if it can do what is required.
func (e *Endpoint) ready(u *unit, how Associated) {
	if lacks := u.features.lacks(e.cfg.Required); len(lacks) > 0 {
		e.inVain(u, &UnfitError{Unit: u.NodeID, Lacks: lacks})
		return
	}
	u.failures, u.missed, u.refused = 0, 0, 0
	e.unsaid(u)
	e.become(u, Ready)
	how.Unit, how.Features, how.Recovery = u.NodeID, u.features, u.Recovery
	how.Emptied = u.emptied
	u.had, u.emptied = true, false
	e.tell(how)
	u.timer = e.after(e.often(u, e.cfg.Heartbeat), func() { e.beat(u) })
	u.pump(e)
}

// inVain ends an attempt to meet a unit; there will be another one.
func (e *Endpoint) inVain(u *unit, err error) {
	e.stop(u)
	pause := e.pause(u)
	u.failures++
	u.silent = errors.Is(err, errSilence)
	e.become(u, Away)
	e.tell(NotAssociated{Unit: u.NodeID, Err: err, Again: pause})
	u.flush(e, err)
	u.timer = e.after(pause, func() { e.meet(u) })
}

// pause before the next attempt, a quarter of it by chance so that shards do not come all at once.
func (e *Endpoint) pause(u *unit) time.Duration {
	d := e.cfg.BackOff << min(u.failures, 20)
	if d <= 0 || d > e.cfg.BackOffMax {
		d = e.cfg.BackOffMax
	}
	if u.restores() {
		d = min(d, e.cfg.Often/looksInT1)
	}
	return d - time.Duration(e.cfg.Random.Int64N(int64(d)/4+1))
}

// lost: the unit has no association with us.
func (e *Endpoint) lost(u *unit) {
	if u.state != Ready {
		return
	}
	e.tell(AssociationLost{Unit: u.NodeID})
	u.failures = 0
	e.meet(u)
}

// askRelease ends the association (TS 29.244 6.2.8). The unit is forgotten, whatever it says.
func (e *Endpoint) askRelease(u *unit) {
	u.current = e.ask(u, message.MsgTypeAssociationReleaseRequest, []*ie.IE{e.node(u)}, func(m *wire.Message, err error) {
		u.current = nil
		if err == nil {
			err = refusal(m)
		}
		var r *RefusedError
		if errors.As(err, &r) && r.Cause == ie.CauseNoEstablishedPFCPAssociation {
			err = nil
		}
		e.forget(u, errRemoved)
		e.tell(Released{Unit: u.NodeID, Err: err})
		if u.again != nil {
			_ = e.AddUnit(*u.again) // looked at when it came
		}
	})
}
