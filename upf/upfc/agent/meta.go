package agent

import (
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/state"
)

// keepMeta stores META in the file alone.
func (a *Agent) keepMeta() {
	a.metaChange.Lock()
	defer a.metaChange.Unlock()
	blob, _ := a.metaBlob()
	a.store.KeepMeta(blob)
}

// metaBlob is META as it is now, with so many groups.
func (a *Agent) metaBlob() (blob []byte, groups int) {
	m := a.node.Meta(func(m *state.Meta) { m.PFDs, m.Groups = a.applications.List(), a.groups.list() })
	return state.EncodeMeta(&m), len(m.Groups)
}

// isSilent says whether upf-u answers nobody that there is no such tunnel.
func (a *Agent) isSilent() bool {
	a.metaChange.Lock()
	defer a.metaChange.Unlock()
	return a.silent
}

// writeMeta stores META.
func (a *Agent) writeMeta(conn *dataplane.Conn) error {
	a.metaChange.Lock()
	defer a.metaChange.Unlock()
	blob, groups := a.metaBlob()
	a.store.KeepMeta(blob)
	t := dataplane.NewBatch()
	silent := a.node.Silent()
	t.Meta(blob, silent)
	err := conn.Transact(t)
	if err == nil {
		a.silent = silent
		a.groups.stored(groups)
	}
	return err
}

// persistMeta stores META, in upf-u if it is there; a replay stores it otherwise.
func (a *Agent) persistMeta() {
	if conn := a.link.Current(); conn != nil {
		if err := a.writeMeta(conn); err != nil {
			a.log.Warn("META not stored", "err", err)
		}
	} else {
		a.keepMeta()
	}
}
