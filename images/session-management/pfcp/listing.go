package pfcp

import (
	"errors"

	"core5g.dev/core5g/upf/upfc/extension"
	wire "core5g.dev/core5g/upf/upfc/pfcp"

	"github.com/wmnsk/go-pfcp/ie"
)

// ErrNoList: the unit cannot list sessions; core5g's can.
var ErrNoList = errors.New("the unit does not list its sessions")

// List asks a unit for a page of the sessions that it has of this shard, from cursor 0 on and then from each page's Next
// until that is 0 (package extension). done is called as Update's is; its error is ErrNoList where the unit knows no lists.
func (e *Endpoint) List(unit string, cursor uint64, done func(extension.Page, error)) {
	e.Update(unit, []*ie.IE{extension.NewListSessions(cursor)}, pageOf(unit, done))
}

// List is Endpoint.List. done is called in the Socket's goroutine, or in the caller's when the Socket has ended.
func (s *Socket) List(unit string, cursor uint64, done func(extension.Page, error)) {
	s.Update(unit, []*ie.IE{extension.NewListSessions(cursor)}, pageOf(unit, done))
}

func pageOf(unit string, done func(extension.Page, error)) func(wire.Elements, error) {
	return func(l wire.Elements, err error) {
		if err != nil {
			done(extension.Page{}, err)
			return
		}
		list := extension.Find(l, extension.SessionList)
		if list == nil {
			done(extension.Page{}, ErrNoList)
			return
		}
		p, err := extension.ReadPage(list)
		if err != nil {
			err = &NoAnswerError{Unit: unit, Kind: AssociationUpdate, Err: err}
		}
		done(p, err)
	}
}
