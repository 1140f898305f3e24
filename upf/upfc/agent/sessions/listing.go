package sessions

// The list of a CP function's sessions, for one that has lost track of them: a page in the answer to an Association
// Update (package extension). A session keeps its index for as long as it lives, and the cursor is the first index that
// was not looked at; so whoever is there all the time is listed once, however many come and go meanwhile.

import (
	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/extension"
	"core5g.dev/core5g/upf/upfc/pfcp"
)

// listOctets is what an answer with a page takes at most: it fits a datagram over IPv6 with the least MTU, 1280.
const listOctets = 1200

// Page is the page that an Association Update Request asks for; nil when it asks for none. others are the other IEs of
// the answer.
func (ss *Sessions) Page(m *pfcp.Message, node string, others ...*ie.IE) (*ie.IE, error) {
	e := extension.Find(m.Elements, extension.ListSessions)
	if e == nil {
		return nil, nil
	}
	cursor, err := extension.ReadListSessions(e)
	if err != nil {
		return nil, err
	}
	room := listOctets - 8 - 5 - ss.o.Node.ID().MarshalLen() // header, cause
	for _, o := range others {
		room -= o.MarshalLen()
	}
	indexes, next := ss.store.Page(node, cursor, max(1, extension.PageFits(room)))
	page := extension.Page{Next: next, Sessions: make([]extension.Session, 0, len(indexes))}
	for _, index := range indexes {
		s := ss.o.Leases.Lock(index)
		if s == nil {
			continue // it is gone
		}
		if s.Node == node {
			page.Sessions = append(page.Sessions, extension.Session{CP: s.CPSEID, UP: s.UPSEID})
		}
		s.Unlock()
	}
	return page.IE(), nil
}
