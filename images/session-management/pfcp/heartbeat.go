package pfcp

import (
	"errors"
	"maps"
	"slices"
	"time"

	wire "core5g.dev/core5g/upf/upfc/pfcp"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// askHeartbeat asks a unit for its Recovery Time Stamp (TS 29.244 6.2.2). serial is the request's.
func (e *Endpoint) askHeartbeat(u *unit, done func(stamp Stamp, serial uint64, err error)) *transaction {
	var serial uint64
	t := e.ask(u, message.MsgTypeHeartbeatRequest, []*ie.IE{e.cfg.Recovery.element()}, func(m *wire.Message, err error) {
		var stamp Stamp
		if err == nil {
			stamp, err = stampIn(m)
		}
		done(stamp, serial, err)
	})
	serial = t.serial
	return t
}

// beat is a heartbeat to a unit that is Ready, and the next one after it.
func (e *Endpoint) beat(u *unit) {
	if u.current != nil || u.state != Ready {
		return
	}
	e.timers.stop(u.timer)
	u.timer = nil
	u.current = e.askHeartbeat(u, func(stamp Stamp, serial uint64, err error) {
		u.current = nil
		if err != nil {
			if u.missed++; u.missed >= e.cfg.Missed {
				e.pathDown(u, err)
			} else {
				e.beat(u)
			}
			return
		}
		u.missed = 0
		if e.saw(u, stamp, serial) {
			e.meet(u)
			return
		}
		u.timer = e.after(e.often(u, e.cfg.Heartbeat), func() { e.beat(u) })
	})
}

// often is how long a unit is left alone: no longer than Often where its sessions can be made again as they were. Packets wait for nothing
// but that the SMF finds it, once it is back.
func (e *Endpoint) often(u *unit, d time.Duration) time.Duration {
	if u.restores() {
		return min(d, e.cfg.Often)
	}
	return d
}

// restores says of a unit that was met that it can have its sessions again as they were (RESPS).
func (u *unit) restores() bool { return u.had && u.features.Has(RESPS) }

func (e *Endpoint) pathDown(u *unit, err error) {
	e.tell(PathDown{Unit: u.NodeID})
	e.become(u, Away)
	u.missed, u.failures, u.silent = 0, 1, true // so that it is away until it answers
	u.flush(e, err)
	e.meet(u)
}

// saw takes note of a unit's Recovery Time Stamp; true when it is another. serial is that of the request of ours that it
// answers, 0 for none. Messages overtake one another: an older stamp is believed only in the answer to a request that left
// after the newer one was learned, which is a unit whose clock was set back.
func (e *Endpoint) saw(u *unit, stamp Stamp, serial uint64) bool {
	old := u.Recovery
	if stamp == old || stamp == 0 {
		return false
	}
	if old != 0 && !newer(stamp, old) && serial <= u.learned {
		e.drop("old_stamp")
		return false
	}
	u.Recovery, u.learned = stamp, e.serial
	if old == 0 {
		return false
	}
	e.tell(UnitRestarted{Unit: u.NodeID, Old: old, New: stamp})
	if u.state == Ready { // nothing is sent before it has been met again
		u.failures = 0
		e.become(u, Meeting)
	}
	e.cut(u, errRestarted)
	return true
}

// cut ends what a unit that has lost its sessions was asked before. It may have done it and forgotten: an answer from then
// must not be taken for one of now.
func (e *Endpoint) cut(u *unit, why error) {
	for _, sequence := range slices.Sorted(maps.Keys(e.transactions)) {
		if t := e.transactions[sequence]; t.unit == u && t.owed {
			e.abandon(t)
			t.done(nil, nil, why)
		}
	}
}

var errRestarted = errors.New("the unit has restarted")

// heartbeat answers one of a unit's; whoever asks is told (TS 29.244 6.2.2.2).
func (e *Endpoint) heartbeat(m *wire.Message) {
	e.respond(m, nil, e.cfg.Recovery.element())
	stamp, err := stampIn(m)
	u := e.unitAt(m.From)
	if err != nil || u == nil {
		return
	}
	was := u.state
	switch restarted := e.saw(u, stamp, 0); {
	case restarted && was == Ready:
		e.meet(u)
	case u.state == Away && u.silent && u.current == nil:
		e.meet(u) // it is back, why wait
	}
}
