package filling

// A standby's upf-u is filled ahead: with the rules of all sessions that the standby holds, and with their changes as they come. It is silent, so
// that nothing passes by them, and when the unit is taken over it can be granted an epoch at once.
//
//	while it stands by   rules without a blob, no armings, an empty META: for whoever reads upf-u back it is one that was being filled
//	before the grant     what the standby has heard last; armings of those URRs that have a quota
//	behind the grant     blobs, all armings, META (restore, replay): upf-u says nothing of its own until it has META
//
// What the new upf-u has counted since the grant is measured from what its slots said before it.

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"time"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/agent/sessions"
	"core5g.dev/core5g/upf/upfc/agent/store"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/state"
	"core5g.dev/core5g/upf/upfc/usage"
)

// Held is what a standby holds of a unit (standby.Holder).
type Held interface {
	// SetReady says whether there is a upf-u that could serve.
	SetReady(bool)
	// Anew has Changes begin with all that is held.
	Anew()
	// Changes are the sessions that have changed since they were asked for, so many at most (without a blob: there is none any more), and META as
	// it is. None: there were no changes.
	Changes(most int) (sessions []store.Entry, meta []byte)
	// Changed has a value when there may be Changes.
	Changed() <-chan struct{}
	// Counted is what a slot of the unit's upf-u said last.
	Counted(life uint8, slot uint32) usage.Counts
}

// Takeover is how this life came by its unit.
type Takeover struct {
	// Leave makes state.file what a upf-c of the unit would have left.
	Leave func() error
	// Ahead is the upf-u that was filled ahead; nil: none was.
	Ahead *Ahead
}

// Ahead fills the upf-u of a standby.
type Ahead struct {
	as     *sessions.Sessions // as which sessions are compiled: it knows of PFDs and groups what META says, and never runs
	log    *slog.Logger
	now    func() time.Time
	conn   *dataplane.Conn
	meta   []byte
	filled map[uint32]*aheadOf
	// Counters of slots before the grant, of those that were not 0.
	base map[uint32]usage.Counts
}

// aheadOf is what upf-u has of a session.
type aheadOf struct {
	blob   []byte // of which it was compiled; the standby's own
	life   uint8
	slots  []uint32 // of its URRs
	quotas []quota
}

// quota is a URR whose traffic may have to stop.
type quota struct {
	urr   *rules.URR
	meter usage.Meter
}

// aheadPiece is how many changes are asked for at a time.
const aheadPiece = replayPiece

// StandBy keeps a upf-u filled with what is held until ctx ends. It returns the one that is there then, nil when there is none; its connection is
// for Finish to use.
func (f *Filler) StandBy(ctx context.Context, held Held) *Ahead {
	for ctx.Err() == nil {
		conn, err := f.o.Dial(ctx, Nothing{})
		if err == nil {
			if ahead := f.standBy(ctx, conn, held); ahead != nil {
				return ahead
			}
			conn.Abandon()
			<-conn.Done()
		}
		f.o.Machine.Wait(redialAhead, ctx.Done())
	}
	return nil
}

// redialAhead is how often an absent upf-u of a standby is looked for.
const redialAhead = 100 * time.Millisecond

func (f *Filler) standBy(ctx context.Context, conn *dataplane.Conn, held Held) *Ahead {
	ahead, err := f.beginAhead(conn)
	if err != nil {
		f.o.Log.Error("the standby's upf-u keeps sessions of before", "err", err)
		f.o.Machine.Wait(-1, conn.Done(), ctx.Done())
		return nil
	}
	held.Anew()
	held.SetReady(true)
	for {
		if err := ahead.follow(held); err != nil && !conn.Lost() {
			// It is a upf-u that could serve all the same: it is filled when it has to.
			f.o.Log.Error("the standby's upf-u is not filled ahead", "err", err)
			f.o.Machine.Wait(-1, conn.Done(), ctx.Done())
			break
		}
		select {
		case <-held.Changed():
			continue
		case <-conn.Done():
		case <-ctx.Done():
			return ahead
		}
		break
	}
	if conn.Lost() {
		f.o.Log.Warn("the standby's upf-u is gone", "err", conn.Err())
		held.SetReady(false)
	}
	return nil
}

// Nothing hears a upf-u that is silent.
type Nothing struct{}

func (Nothing) URR(uint32, uint32)                        {}
func (Nothing) DownlinkData(uint32, uint16, uint8, uint8) {}
func (Nothing) ErrorIndication(netip.Addr, uint32)        {}
func (Nothing) Echo(netip.Addr, uint16)                   {}
func (Nothing) Station(abi.EvMac)                         {}
func (Nothing) Flow(abi.EvFlow)                           {}
func (Nothing) Trace(abi.EvTrace, []byte)                 {}

// beginAhead empties a upf-u whose unit another member serves.
func (f *Filler) beginAhead(conn *dataplane.Conn) (*Ahead, error) {
	if err := f.Clear(conn); err != nil {
		return nil, err
	}
	h := conn.Hello()
	ahead := &Ahead{as: f.o.Apart(), log: f.o.Log, now: f.o.Machine.Now, conn: conn, filled: map[uint32]*aheadOf{}}
	ahead.as.Note(&h)
	// A META of before would make whoever reads it back believe that it has all.
	t := dataplane.NewBatch()
	t.Meta(nil, true)
	return ahead, conn.Transact(t)
}

// follow gives upf-u what has changed.
func (h *Ahead) follow(held Held) error {
	for {
		sessions, meta := held.Changes(aheadPiece)
		if err := h.take(sessions, meta); err != nil || len(sessions) == 0 {
			return err
		}
	}
}

func (h *Ahead) take(sessions []store.Entry, meta []byte) error {
	if !bytes.Equal(meta, h.meta) {
		h.meta = bytes.Clone(meta)
		if h.adopt() {
			if err := h.as.TellDomains(h.conn); err != nil {
				return err
			}
			if err := h.again(); err != nil {
				return err
			}
		}
	}
	var gone []uint32
	var puts []store.Entry
	for _, e := range sessions {
		switch has := h.filled[e.Index]; {
		case e.Blob == nil && has != nil:
			gone = append(gone, e.Index)
			delete(h.filled, e.Index)
		case e.Blob == nil:
		case has != nil && bytes.Equal(has.blob, e.Blob):
			has.blob, has.life = e.Blob, e.Life
		default:
			puts = append(puts, e)
		}
	}
	if err := h.as.DeleteIndexes(h.conn, gone); err != nil {
		return err
	}
	return h.put(puts)
}

// adopt makes PFDs and groups those of META, and says whether what was compiled before has to be compiled again.
func (h *Ahead) adopt() bool {
	meta, err := state.DecodeMeta(h.meta)
	if err != nil {
		h.log.Error("META of the unit cannot be read", "err", err)
		return false
	}
	return h.as.ReplaceMeta(meta)
}

// again compiles all anew.
func (h *Ahead) again() error {
	list := make([]store.Entry, 0, aheadPiece)
	for index, has := range h.filled {
		if list = append(list, store.Entry{Index: index, Life: has.life, Blob: has.blob}); len(list) == cap(list) {
			if err := h.put(list); err != nil {
				return err
			}
			list = list[:0]
		}
	}
	return h.put(list)
}

// put installs the rules of sessions.
func (h *Ahead) put(list []store.Entry) error {
	t, batch := dataplane.NewBatch(), make([]store.Entry, 0, len(list))
	compiled := map[uint32]*aheadOf{}
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := h.conn.Transact(t)
		var refused *dataplane.Refused
		if errors.As(err, &refused) {
			err = h.putEach(batch)
		} else if err == nil {
			for _, e := range batch {
				h.filled[e.Index] = compiled[e.Index]
			}
		}
		t, batch = dataplane.NewBatch(), batch[:0]
		return err
	}
	for _, e := range list {
		put, has, err := h.compile(e)
		if err != nil {
			if err := h.drop(e.Index); err != nil {
				return err
			}
			continue
		}
		if t.Size()+put.Size() > batchMax {
			if err := flush(); err != nil {
				return err
			}
		}
		put.Add(t)
		batch, compiled[e.Index] = append(batch, e), has
	}
	return flush()
}

// putEach installs sessions one by one, of which upf-u did not take all at once. One may have what another has given up: that one's
// change is among those that come.
func (h *Ahead) putEach(list []store.Entry) error {
	for _, e := range list { // they may have each other's; nothing passes yet
		if err := h.drop(e.Index); err != nil {
			return err
		}
	}
	var losers []store.Entry
	for _, e := range list {
		for {
			holder, err := h.putOne(e)
			if err != nil {
				return err
			}
			if holder == nil {
				break
			}
			losers = append(losers, store.Entry{Index: *holder, Life: h.filled[*holder].life, Blob: h.filled[*holder].blob})
			if err := h.drop(*holder); err != nil {
				return err
			}
		}
	}
	for _, e := range losers { // what they lost they may have given up since
		if _, err := h.putOne(e); err != nil {
			return err
		}
	}
	return nil
}

// putOne installs a session if upf-u takes it; holder is who has what it wants.
func (h *Ahead) putOne(e store.Entry) (holder *uint32, err error) {
	put, has, err := h.compile(e)
	if err != nil {
		return nil, nil // it is left to who takes over
	}
	t := dataplane.NewBatch()
	put.Add(t)
	err = h.conn.Transact(t)
	var refused *dataplane.Refused
	switch {
	case err == nil:
		h.filled[e.Index] = has
	case !errors.As(err, &refused):
		return nil, err
	case (refused.Refusal == abi.RefusedFteid || refused.Refusal == abi.RefusedUeIp) && h.filled[refused.Holder] != nil:
		return &refused.Holder, nil
	default:
		h.log.Warn("the standby's upf-u does not take a session ahead", "index", e.Index, "err", err)
	}
	return nil, nil
}

// drop takes out what upf-u has of a session: nothing is forwarded by rules of before.
func (h *Ahead) drop(index uint32) error {
	if h.filled[index] == nil {
		return nil
	}
	delete(h.filled, index)
	return h.as.DeleteIndexes(h.conn, []uint32{index})
}

func (h *Ahead) compile(e store.Entry) (*sessions.Put, *aheadOf, error) {
	var s state.Session
	if err := state.DecodeSession(e.Blob, &s, nil); err != nil {
		return nil, nil, err
	}
	p, err := h.as.EncodeRules(e.Index, &s)
	if err != nil {
		return nil, nil, err
	}
	has := &aheadOf{blob: e.Blob, life: e.Life}
	for id, m := range s.Meters.All() {
		has.slots = append(has.slots, m.Slot)
		if u := s.Rules.URRs.Get(id); m.Exhausted || u.Rest().Quota.Has != 0 {
			has.quotas = append(has.quotas, quota{u, m})
		}
	}
	return p, has, nil
}

// Finish brings upf-u to what is held at last, when nothing changes any more, and lets go of the connection: it can be granted an epoch then. After
// an error it is filled as one that has nothing.
func (h *Ahead) Finish(held Held) error {
	defer h.Abandon()
	if err := h.follow(held); err != nil {
		return err
	}
	shm, at := h.conn.Shm(), h.now().UnixMilli()
	h.base = map[uint32]usage.Counts{}
	t := dataplane.NewBatch()
	for index, has := range h.filled {
		for _, slot := range has.slots {
			if c := usage.FromSlot(shm.URR(slot)); c != (usage.Counts{}) {
				h.base[slot] = c
			}
		}
		for _, q := range has.quotas {
			m, now := q.meter, h.base[q.meter.Slot]
			m.Move(q.urr, usage.Reading{Counts: held.Counted(has.life, m.Slot), At: at}, m.Slot, now)
			if t.Size()+armSize > batchMax {
				if err := h.conn.Transact(t); err != nil {
					return err
				}
				t = dataplane.NewBatch()
			}
			t.Arm(m.Arm(q.urr, usage.Reading{Counts: now, At: at}, index))
		}
	}
	if t.Records() == 0 {
		return nil
	}
	return h.conn.Transact(t)
}

// Abandon lets go of a upf-u that is not needed.
func (h *Ahead) Abandon() {
	if h != nil {
		h.conn.Abandon()
		<-h.conn.Done()
	}
}

// of says whether a upf-u is the one that was filled ahead.
func (h *Ahead) of(boot uint64) bool { return h != nil && h.conn.Hello().BootId == boot }

// has says whether upf-u has the session's rules.
func (h *Ahead) has(index uint32) bool { return h != nil && h.filled[index] != nil }

// before is what a slot of the upf-u that was filled ahead said before it was granted an epoch.
func (h *Ahead) before(slot uint32) usage.Counts { return h.base[slot] }
