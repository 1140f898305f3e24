package sessions

import (
	"reflect"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/agent/store"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/state"
)

// AdoptMeta makes what META has ours.
func (ss *Sessions) AdoptMeta(meta *state.Meta) {
	ss.o.Node.Adopt(meta)
	ss.o.Applications.Adopt(meta.PFDs)
	ss.groups.adopt(meta.Groups)
}

// ReplaceMeta makes PFDs and groups those of META, and says whether what was compiled before has to be compiled again.
func (ss *Sessions) ReplaceMeta(meta *state.Meta) bool {
	groups, changed := ss.groups.list(), ss.o.Applications.Replace(meta.PFDs)
	ss.groups.adopt(meta.Groups)
	now := ss.groups.list()
	return changed || len(now) < len(groups) || !reflect.DeepEqual(groups, now[:len(groups)])
}

// Adopt makes a session ours that was kept. s is where it is decoded, shm the memory of the life to which its
// meters are attached.
func (ss *Sessions) Adopt(shm *dataplane.Shm, index uint32, blob []byte, s *state.Session, life uint8) error {
	if err := state.DecodeSession(blob, s, ss.store.Known()); err != nil {
		return err
	}
	if err := ss.claimPairs(s); err != nil {
		return err
	}
	if err := ss.store.Adopt(index, s, blob, life); err != nil {
		ss.givePairs(s)
		return err
	}
	ss.KeepUEs(index, s.Rules)
	ss.keepBlock(index, s)
	ss.o.Reports.Adopt(index, s, shm)
	return nil
}

// GiveUp forgets a session that upf-u cannot hold any more.
func (ss *Sessions) GiveUp(index uint32, why error) {
	s := ss.o.Leases.Lock(index)
	if s == nil {
		return
	}
	defer s.Unlock()
	ss.o.Log.Error("session lost in a replay", "seid", pfcp.Hex(s.UPSEID), "err", why)
	ss.o.Recorder.SessionsDropped("replay", 1)
	ss.forget(s)
	ss.freeSlots(s)
}

// Resize makes room for what a upf-u has slots for.
func (ss *Sessions) Resize(h *abi.Hello) {
	ss.store.Resize(h.SessionsMax)
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.pairs.Resize(h.QerSlots / abi.LineSlots)
}

// Reset forgets all sessions, and what they have, and makes room for what a upf-u has slots for.
func (ss *Sessions) Reset(h *abi.Hello) {
	ss.store.Reset(h.SessionsMax)
	ss.mu.Lock()
	ss.pairs = store.Slots{}
	ss.pairs.Resize(h.QerSlots / abi.LineSlots)
	ss.mu.Unlock()
	ss.o.Chooser.Forget()
	ss.nat.reset()
	ss.o.Reports.Reset()
}
