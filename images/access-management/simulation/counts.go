package simulation

import (
	"bytes"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/access-management/runner"
	"core5g.dev/core5g/images/access-management/security"
)

// counts are the NAS COUNTs of all keys (TS 33.501 6.4.3.1): none is used for two messages in a direction.
type counts struct {
	w *world
	// protected are messages that were, whether they have left or not; left are those that have.
	protected map[string]used
	left      map[keyCount][]byte
	// committed is the lowest uplink COUNT that a record allows, by key.
	committed map[string]uint32
	// opened are messages of UEs whose MAC was right, until it is seen what came of them.
	opened map[string]keyCount
}

type keyCount struct {
	key   string
	count uint32
}

type used struct{ keyCount }

func newCounts(w *world) *counts {
	return &counts{w: w, protected: map[string]used{}, left: map[keyCount][]byte{}, committed: map[string]uint32{}, opened: map[string]keyCount{}}
}

// leaves: a NAS message does.
func (c *counts) leaves(nas []byte) {
	x, is := c.protected[string(nas)]
	if !is {
		return
	}
	if was, again := c.left[x.keyCount]; again && !bytes.Equal(was, nas) {
		c.w.Fail("the downlink NAS COUNT %d of a key is used twice", x.count)
	}
	c.left[x.keyCount] = nas
}

// kept: a record is.
func (c *counts) kept(u *record.UE) {
	for _, s := range []*record.Security{u.Security, u.Coming} {
		if s != nil && s.Integrity != security.Null {
			c.committed[string(s.Key)] = max(c.committed[string(s.Key)], s.Uplink)
		}
	}
}

// handled: of a UE's message that was opened the record takes the COUNT no more.
func (c *counts) handled(h runner.Handled) {
	var nas []byte
	switch e := h.Event.(type) {
	case procedure.Initial:
		nas = e.Message.NAS
	case procedure.FromAccess:
		if m, is := e.Message.(*n2.UplinkNASTransport); is {
			nas = m.NAS
		}
	case procedure.Lend:
		nas = e.NAS
	}
	x, is := c.opened[string(nas)]
	delete(c.opened, string(nas))
	rec := h.Output.State.Record
	if !is || rec == nil {
		return
	}
	for _, s := range []*record.Security{rec.Security, rec.Coming} {
		if s != nil && string(s.Key) == x.key && s.Uplink <= x.count {
			c.w.Fail("%s: the uplink NAS COUNT %d of a key was taken, and can be taken again", rec.SUPI, x.count)
		}
	}
}

// watchedKeys are those of an AMF, and note what they are used for.
type watchedKeys struct {
	procedure.NAS
	c *counts
	v *view
}

func (k watchedKeys) Protect(s *record.Security, count uint32, header n1.SecurityHeader, plain []byte) []byte {
	out := k.NAS.Protect(s, count, header, plain)
	if s.Integrity == security.Null { // with a key that anybody has, and that is the same each time
		return out
	}
	k.c.protected[string(out)] = used{keyCount{string(s.Key), count}}
	return out
}

func (k watchedKeys) Open(s *record.Security, octets []byte) ([]byte, uint32, bool) {
	plain, count, ok := k.NAS.Open(s, octets)
	if ok && s.Integrity != security.Null && count < k.c.committed[string(s.Key)] && k.v.May() && !k.c.w.unsettled() {
		k.c.w.Fail("the uplink NAS COUNT %d of a key is taken twice", count)
	}
	if ok && s.Integrity != security.Null {
		k.c.opened[string(octets)] = keyCount{string(s.Key), count}
	}
	return plain, count, ok
}
