package sessions

import (
	"context"
	"time"

	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/state"
)

// KeepMeta stores META in the file alone.
func (ss *Sessions) KeepMeta() {
	ss.metaChange.Lock()
	defer ss.metaChange.Unlock()
	blob, _ := ss.metaBlob()
	ss.store.KeepMeta(blob)
}

// metaBlob is META as it is now, with so many groups.
func (ss *Sessions) metaBlob() (blob []byte, groups int) {
	m := ss.o.Node.Meta(func(m *state.Meta) { m.PFDs, m.Groups = ss.o.Applications.List(), ss.groups.list() })
	return state.EncodeMeta(&m), len(m.Groups)
}

// isSilent says whether upf-u answers nobody that there is no such tunnel.
func (ss *Sessions) isSilent() bool {
	ss.metaChange.Lock()
	defer ss.metaChange.Unlock()
	return ss.silent
}

// WriteMeta stores META.
func (ss *Sessions) WriteMeta(conn *dataplane.Conn) error {
	ss.metaChange.Lock()
	defer ss.metaChange.Unlock()
	blob, groups := ss.metaBlob()
	ss.store.KeepMeta(blob)
	t := dataplane.NewBatch()
	silent := ss.o.Node.Silent()
	t.Meta(blob, silent)
	err := conn.Transact(t)
	if err == nil {
		ss.silent = silent
		ss.groups.stored(groups)
	}
	return err
}

// PersistMeta stores META, in upf-u if it is there; a replay stores it otherwise.
func (ss *Sessions) PersistMeta() {
	if conn := ss.o.Link.Current(); conn != nil {
		if err := ss.WriteMeta(conn); err != nil {
			ss.o.Log.Warn("META not stored", "err", err)
		}
	} else {
		ss.KeepMeta()
	}
}

// KeepAlive says in the file that upf-c lives, complains when something has found no room there, and lets upf-u answer what it has no
// session for once nobody restores any.
func (ss *Sessions) KeepAlive(ctx context.Context) {
	for ss.o.Machine.Wait(time.Second, ctx.Done()) {
		ss.store.Stamp(ss.o.Machine.Now())
		if ss.isSilent() && !ss.o.Node.Silent() {
			ss.PersistMeta()
		}
		if err := ss.store.NoRoom(); err != nil {
			ss.o.Log.Warn("some sessions end when upf-u and upf-c both die: there is no room in the file", "file", ss.o.Config.State.File, "err", err)
		}
	}
}
