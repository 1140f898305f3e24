package sessions

// Deletions of late. The last usage of a session is read when upf-u has deleted it, so that a upf-c that dies
// between upf-u's answer and its own would lose it. Therefore the session is put down as ending, with the
// request that ends it, before upf-u is asked; what its deletion is answered is put down before it is. Both are
// in the file that survives upf-c (store/kept.go), the counters are in upf-u's memory until a slot is given to
// another session, which happens after that. A repetition of the request (TS 29.244 6.4) is answered from
// there, for as long as repetitions come (state.Done).

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"core5g.dev/core5g/upf/upfc/agent/leases"
	"core5g.dev/core5g/upf/upfc/agent/store"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/state"
	"core5g.dev/core5g/upf/upfc/usage"
)

// An ending is a session with the request that deletes it in Last.
type ending struct {
	state.Session
	at   int64 // Unix milliseconds
	done bool  // upf-u has deleted it, and Last.Reports are what is told of it
}

const endingHead = 9 // at, done

// encode writes it over b.
func (e *ending) encode(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b[:0], uint64(e.at))
	if e.done {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	return state.AppendSession(b, &e.Session)
}

func (e *ending) decode(b []byte, known *state.Strings) error {
	if len(b) < endingHead || b[8] > 1 {
		return errors.New("a deletion is cut short")
	}
	e.at, e.done = int64(binary.LittleEndian.Uint64(b)), b[8] == 1
	return state.DecodeSession(b[endingHead:], &e.Session, known)
}

// finish makes the reports of a session that upf-u has deleted: what waits in its outbox, and the last usage.
func (e *ending) finish(shm *dataplane.Shm) {
	read := func(u *rules.URR, slot uint32) usage.Reading {
		return leases.Reading(shm, u, slot, time.UnixMilli(e.at))
	}
	var space [16]uint32
	last := usage.Begin(e.Rules, e.Meters, read).Report(usage.TriggerTermination, slices.AppendSeq(space[:0], e.Meters.IDs())...)
	if e.Last.Reports = last; len(e.Outbox) > 0 {
		e.Last.Reports = append(slices.Clone(e.Outbox), last...)
	}
	e.done = true
}

// deletedBefore answers a repetition of a request that deleted a session; false where it is none.
func (ss *Sessions) deletedBefore(m *pfcp.Message, answer *pfcp.Answer) bool {
	blob := ss.store.EndedOf(m.SEID)
	if blob == nil {
		return false
	}
	var e ending
	if err := e.decode(blob, ss.store.Known()); err != nil {
		ss.o.Log.Error("a deletion cannot be read", "seid", pfcp.Hex(m.SEID), "err", err)
		return false
	}
	if !e.done || !e.Last.Is(m.Sequence, m.Digest(), ss.o.Machine.Now()) || ss.o.Node.SpeaksForSession(e.Node, e.CPAddr, m.From.Addr()) != nil {
		return false
	}
	ss.o.Log.Info("a request that was executed before is answered", "seid", pfcp.Hex(m.SEID), "sequence", m.Sequence)
	s := ss.o.Leases.Beside(e.Session)
	answer.SEID = e.CPSEID
	ss.deleted(&answer.IEs, s, e.Last.Reports)
	return true
}

// AdoptEnded goes on with the deletions that an earlier upf-c put down. memory is what a life's meters refer to.
func (ss *Sessions) AdoptEnded(old *store.Left, memory func(life uint8) *dataplane.Shm) {
	for _, v := range old.Ended {
		w := store.Word(v)
		blob := old.Blob(w)
		if blob == nil {
			continue
		}
		var e ending
		if err := e.decode(blob, ss.store.Known()); err != nil {
			ss.o.Log.Error("a deletion that an earlier upf-c put down cannot be read", "err", err)
			continue
		}
		if ss.store.Present(e.UPSEID) || ss.o.Machine.Now().Sub(time.UnixMilli(e.at)) > keepEnded {
			continue // it did not happen, or nobody asks any more
		}
		if !e.done {
			e.finish(memory(w.Life()))
			ss.recordLeft(&e.Session)
		}
		if _, err := ss.store.PutEnded(e.UPSEID, e.encode(nil), w.Life()); err != nil {
			ss.o.Log.Error("a deletion cannot be stored", "err", err)
		}
	}
}

// keepEnded is longer than a repeated request is the same one.
const keepEnded = 2 * time.Minute
